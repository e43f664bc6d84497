"""Indexers, which pick the keys that attention sees by scores of their own: which layers have one, and how it turns."""

from dataclasses import replace

from refimpl.configuration.families import Family, Indexer
from refimpl.configuration.findings import Notes, Rotation
from refimpl.configuration.layers import FULL, Layer, each
from refimpl.configuration.sections import Section

INTERLEAVE = "indexer_rope_interleave"
#: What a layout is told with that code of the model type doesn't take from the key.
UNREAD = "which not all code reads"
SAYS = {
    "index_n_heads": "so many heads of an indexer share one key of each token",
    "index_head_dim": "each head of an indexer has so many channels, of which as many turn as of the attention beside it",
    **dict.fromkeys(("index_block_size", "indexer_compress_ratio"), "a block has so many keys"),
    "index_topk_blocks": "attention sees no more blocks of keys than that, those that score highest",
    "index_local_blocks": "so many blocks, up to the one of the query, are always seen",
    "indexer_n_heads": "so many heads of an indexer share one key of each token",
    "indexer_head_dim": "each head of an indexer has so many channels, of which as many turn as of the attention beside it",
    "indexer_budget": "attention sees the blocks that score highest, no more keys than that, and those after the last whole block",
    "index_topk": "attention sees no more keys than that, those that score highest: no shorter sequence shows a mistake of the indexer",
}
#: The keys by which DeepSeek-V4 says the kinds of its layers, and what those with an indexer have there.
SPARSE = {"layer_types": "compressed_sparse_attention", "compress_ratios": 4}
#: The keys of the channels of an indexer's head.
WIDTHS = ("index_head_dim", "indexer_head_dim")
#: The words for a layer that takes what another layer's indexer picked.
SHARED = ("shared", "S")


def owners(section: Section, layers: int | None, own: Family, notes: Notes) -> frozenset[int] | None:
    """Return which layers have an indexer of their own, where the configuration says it of some."""
    for key, value in section.given((INTERLEAVE, *filter(None, (own.indexer.switch if own.indexer else "",)))):
        if type(value) is not bool:
            notes.find("error", "bad-value", key, value, "be true or false")
    if own.indexer is not None and own.indexer.sparse:
        for key, sparse in SPARSE.items():
            if entries := each(section, key, layers, Notes()):
                return frozenset(index for index, entry in enumerate(entries) if entry == sparse)
    if own.indexer is None or not own.indexer.shared or layers is None:
        return None
    found = _schedule(section, layers, own.indexer, notes)
    if found is None:
        return None
    key, value, types = found
    owning = frozenset(index for index, name in enumerate(types) if name not in SHARED)
    (notes.assume if value is None else notes.decide)(key, value, f"{len(owning)} of {layers} layers have an indexer of their own")
    return owning


def _schedule(section: Section, layers: int, indexer: Indexer, notes: Notes) -> tuple[str, object, list[object]] | None:
    """Return the key that says which indexers are shared, its value, and the type of each layer's."""
    if types := each(section, "indexer_types", layers, notes):
        return section.name("indexer_types"), types, list(types)
    if indexer.every is not None:
        return None if section.get("indexer_types") else ("indexer_types", None, _types(layers, 2, indexer.every))
    pattern, every, first = (section.get(key) for key in ("index_topk_pattern", "index_topk_freq", "index_skip_topk_offset"))
    if pattern is not None:
        listed = replace(section, values={"index_topk_pattern": list(pattern) if isinstance(pattern, str) else pattern})
        types = each(listed, "index_topk_pattern", layers, notes)
        return (section.name("index_topk_pattern"), pattern, list(types)) if types else None
    first = 2 if first is None else first
    if type(every) is not int or every < 2 or type(first) is not int:
        return None
    return section.name("index_topk_freq"), every, _types(layers, first, every)


def _types(layers: int, first: int, every: int) -> list[object]:
    return ["full" if max(index - first + 1, 0) % every == 0 else "shared" for index in range(layers)]


def tell(
    layer: Layer, indices: tuple[int, ...] | None, owning: frozenset[int] | None, section: Section, own: Family, notes: Notes,
    *, rotation: Rotation | None, turns: bool,
) -> None:
    """Tell how the indexer of these layers turns queries and keys of its own, and how many keys it picks, where they have one."""
    having = len(indices or ()) if owning is None else len(owning.intersection(indices or ()))
    if own.indexer is not None and (not _has(layer, section, own.indexer, notes) or (indices and not having)):
        return
    layout = _layout(section, own.indexer, notes) if turns else ""
    if own.indexer is not None:
        does = ", and doesn't turn, as the attention beside it doesn't"
        if turns:
            of = f"layout={layout}, placement={own.indexer.placement}"
            of = f"{of}; {own.indexer.blocks}: no operation of posenc" if own.indexer.blocks else f"partial_rope.index_scores, {of}"
            does = f" ({of}), at the frequencies of the attention beside it"
        where = _where(own.indexer, having, len(indices or ()), known=owning is not None)
        picks = "blocks of keys" if own.indexer.blocks else "keys"
        seen = "" if own.indexer.blocks or own.indexer.sparse else "; attention over these is none.attend_selected"
        notes.assume("indexer", layout or None, f"an indexer picks {picks} by scores of its own{does}{where}{seen}")
    for key, value in section.given(SAYS):
        notes.decide(key, value, SAYS[key.rpartition(".")[2]])
    for key, value in section.given(WIDTHS):
        turning = len(rotation.channels) if rotation else 1
        if type(value) is not int or value < turning:
            notes.find("error", "bad-width", key, value, f"be a number of channels, at least those that turn ({turning})")


def _has(layer: Layer, section: Section, indexer: Indexer, notes: Notes) -> bool:
    """Whether layers of a kind have an indexer, where keys or their kind say it."""
    if layer.kind in indexer.without:
        return False
    on = section.get(indexer.switch) if indexer.switch else None
    if on is False:
        notes.decide(section.name(indexer.switch), on, "attention sees all keys: no layer has an indexer")
        return False
    if indexer.switch and on is None and layer.kind == FULL and section.get("per_layer_config") is not None:
        return False  # in a new file layers with an indexer have a kind of their own
    asked = not indexer.asked or section.get(indexer.asked) is not None
    return asked and (not indexer.kinds or layer.kind in indexer.kinds)


def _layout(section: Section, indexer: Indexer | None, notes: Notes) -> str:
    """Return the layout that a key says, or else the model type."""
    usual = indexer.layout if indexer else ""
    for key, value in section.given((INTERLEAVE,)):
        if type(value) is not bool:
            return usual
        layout = "interleaved" if value else "half"
        notes.decide(key, value, f"an indexer has layout={layout}{f', {UNREAD}' if usual not in ('', layout) else ''}")
        return layout
    return usual


def _where(indexer: Indexer, having: int, among: int, *, known: bool) -> str:
    """Say which layers of a kind have an indexer, where not all have one."""
    if indexer.sparse and not known:
        return ", in layers of compressed sparse attention (ratio 4) alone"
    if having == among:
        return ""
    which = "those of ratio 4" if indexer.sparse else "the others take the keys that another picked"
    return f", in {having} of these {among} layers: {which}"
