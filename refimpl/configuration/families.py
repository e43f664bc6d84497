"""What a model type says beyond its keys, read off the code of transformers 5.23.0 and the models' own."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from refimpl.configuration.defaults import (
    ASKED,
    FULL_HEAD_DIM_OF,
    HEAD_DIM_OF,
    KINDS,
    LATENT_OF,
    NEEDING_WIDTH,
    NESTING,
    NULLABLE,
    NULLS_REFUSED,
    ORIGINAL_OF,
    REFUSED,
    RESOLVING,
    ROPES,
    ROUNDING,
    SECTIONS_OF,
    SHARING_WHOLE,
    SIZES_OF,
    SWITCHED_ON,
    TAKEN,
    TAKING_WIDTH,
    UNEVEN,
    WIDTHLESS,
    Kinds,
)
from refimpl.configuration.readers import ALPHA, OTHER_TYPES, OUTSIDE, SPELT
from refimpl.configuration.unturned import IMAGES, UNTURNED, UNTURNED_IMAGES

FULL = ("full_attention",)
SLIDING = ("sliding_attention",)


@dataclass(frozen=True)
class Grid:
    """How the axes of an image share the pairs of a head: equally, in an order of ``axial_rope``, none where it has no such rotation."""

    order: str = ""
    ladder: str = "own"
    first: str = "height"
    """What the first axis of the positions is."""
    axes: int = 2
    """How many axes there are; channels that three axes can't share equally don't turn."""
    measured: tuple[int, int] | None = None
    """The usual sizes of an image and of a patch, where patches are counted in parts of the image's sides."""
    windows: tuple[int, tuple[int, ...]] | None = None
    """The usual side of a window, and the layers that usually see the whole image, where the others see windows."""


@dataclass(frozen=True)
class Indexer:
    """How an indexer turns its queries and keys, and which layers have one."""

    layout: str
    placement: str = "first"
    """Which end of its heads turns."""
    without: tuple[str, ...] = ()
    """The kinds that have none."""
    sparse: bool = False
    """Whether, of the layers that compress, only those of compressed sparse attention have one."""
    shared: bool = False
    """Whether keys may say that layers take what another layer's indexer picked."""
    every: int | None = None
    """Where no key says it, the first layer has one of its own, and from the second on one of so many."""
    blocks: str = ""
    """What its scores are of where it picks blocks of keys, which no operation computes."""
    asked: str = ""
    """The key without which there is none."""
    switch: str = ""
    """The key that says of old files whether layers of full attention have one."""
    kinds: tuple[str, ...] = ()
    """The kinds that have one, where it isn't all but those without."""


@dataclass(frozen=True)
class Family:
    """The defaults of a model type; ``None`` is what most types do."""

    layout: str = "half"
    direction: str = "positive"
    base: float | None = None
    base_before: str = ""
    """The key that transformers 4.57 took for the base before all others, and 5.23 doesn't read."""
    raised_before: str = ""
    """The key with which transformers 4.57 raised the base as for a sequence eight times as long, and 5.23 doesn't."""
    base_mapping: bool = False
    """Whether the base stands in a mapping of its own."""
    base_fixed: bool = False
    """Whether the type's code has its base in it, and reads no key."""
    base_in_attention: bool = False
    """Whether the base stands in a mapping of attention's own."""
    plain_base: float | None = None
    """The base of the kinds that the scaling leaves alone."""
    one_base_before: bool = False
    """Whether transformers 4.57 took the base that stands for all kinds, where 5.23 gives some their own."""
    kind_bases: Mapping[str, float] = field(default_factory=dict)
    """The bases of kinds for which a key of their own gives one, or the mapping, and no key beside it."""
    plain: tuple[str, ...] = ()
    """The kinds that a flat scaling leaves alone."""
    unturned: tuple[str, ...] = ()
    """The kinds that don't turn."""
    head_dim: int | None = None
    refuses_null: bool = False
    """Whether the class raises an error where the key of that is null."""
    needs_width: bool = False
    """Whether attention fails where that key is null or missing."""
    takes_width: bool = False
    """Whether the class takes that key for the width that turns, beside latent attention."""
    shares_whole: bool = False
    """Whether, beside latent attention, a fraction is that of a whole head."""
    nests: bool = False
    """Whether the class reads a mapping that is nested by kinds of layers."""
    widthless: bool = False
    """Whether the class has null for it where the key is missing."""
    resolves: bool = False
    """Whether the class divides the hidden state where the key is null."""
    uneven: bool = False
    """Whether the type's class has a hidden state that its heads can't share equally."""
    original: int | None = None
    """The original length, where a scaling needs one and no key says it."""
    sections: tuple[int, ...] = ()
    """How many pairs follow each axis, where no key says it."""
    sizes: tuple[int, int] | None = None
    """The channels of the hidden state and the number of heads, where a part of a model says neither."""
    twice: bool = False
    """Whether attention is twice as wide as the hidden state, so that its heads share so many channels."""
    full_head_dim: int | None = None
    """The channels of a head in layers of full attention, where these have others."""
    latent: tuple[int, int] | None = None
    """The channels of a head of latent attention that don't turn, and those that do."""
    sliding_latent: tuple[int, int] | None = None
    """The same of layers that slide, where these have others: the channels that don't turn, and all."""
    kinds: Kinds | None = None
    """The kinds of layers, where no key says them."""
    rope: Mapping[str, Any] = field(default_factory=dict)
    """The mapping of the rope type, where none is given."""
    nested: bool = False
    """Whether the type's code reads of `rope_parameters` only what is nested by kinds of layers."""
    unread: tuple[str, ...] = ()
    """Keys beside the mapping that the type's code doesn't read, though most code does."""
    whole: bool = False
    """Whether the type's code turns whole heads, whatever a fraction says, unless something is scaled."""
    fraction: float | None = None
    rounds: bool = False
    """Whether one channel more turns where the part that turns is odd."""
    rotary_dim: int | None = None
    null_fraction: bool = False
    """Whether a fraction that is null counts beside the channels that turn, so that all do."""
    projected: int | None = None
    """So many channels turn at least, of half of projection_dim divided among the heads."""
    switch: str = ""
    """The key that is false where no layer turns."""
    alibi: bool = False
    """Whether a key may say that a bias stands in the place of the rotation."""
    asked: tuple[str, Any] | None = None
    """The key that must have a value for any layer to turn, and the value."""
    biased: Mapping[int, str] = field(default_factory=dict)
    """What models of a hidden size have in the place of a rotation; an empty word where they turn."""
    windowless: str = ""
    """What layers do where `sliding_window` is null, whatever their kind: turn, or rest."""
    alpha: bool = True
    """Whether the type's code reads the `alpha` of dynamic scaling."""
    picks: str = ""
    """The key that says which layers have attention, unless `layer_types` does."""
    picked: tuple[int, ...] = ()
    """The layers that the class has where that key is missing."""
    last_full: bool = False
    """Whether the last layer has full attention, whatever its kind is said to be."""
    picks_alone: bool = False
    """Whether the type's code reads no `layer_types` beside that key."""
    derived: int | None = None
    """How many layers the class's own list of kinds has, where that key is made of such a list, and isn't read."""
    cycles: bool = False
    """Whether the number of layers is that of a stack, unless a key says so many, and stacks run in cycles."""
    period: tuple[int, int] | None = None
    """Every so many layers one has attention, and which one of these, where keys don't say it."""
    before: tuple[str, ...] = ()
    """The kinds of the layers before the first period."""
    numbered: bool = False
    """Whether a mapping of linear attention may number the layers of both kinds."""
    pattern: int | None = None
    """Every so many layers one has full attention, and the others slide."""
    full_first: bool = False
    """Whether the first layer of a pattern is the full one, not the last."""
    without_every: int | None = None
    """Every so many layers one doesn't turn."""
    resting: int | None = None
    """Every so many layers, counted from the last, one doesn't turn, unless a list says which; of its bases only a 0 is read."""
    turns: bool = True
    told: bool = False
    """Whether a key said why no layer turns."""
    attends: bool = True
    """Whether any layer has attention."""
    mapped: bool = True
    """Whether the type's code reads a scaling."""
    taken: tuple[str, ...] | None = None
    """The rope types beside default that the type's code takes, where it raises an error at all others."""
    refused: tuple[str, ...] = ()
    """What of a mapping the type's code raises an error at: that it is flat, its old name, the default rope type."""
    keys_asked: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Keys of a mapping without which the type's code raises an error, each with the rope types beside which it doesn't."""
    one_base_flat: bool = False
    """Whether beside a flat mapping all kinds have the base that stands for all."""
    base_outside: bool = False
    """Whether a base and a fraction within a flat mapping aren't read."""
    projected_after: bool = False
    """Whether hidden states turn, before queries and keys are made of them."""
    grid: Grid | None = None
    """How a head is shared among the axes, where positions are places in an image."""
    trailing: bool = False
    """Whether the last channels of a head turn, not the first."""
    values_turn: bool = False
    """Whether values turn as keys do, and outputs turn back."""
    values_kept: bool = False
    """Whether values turn as keys do, and outputs stay."""
    values_asked: bool = False
    """Whether values turn where `rotary_value` says so, and outputs stay."""
    attention_factor: float | None = None
    longrope_by_yarn: bool = False
    """Whether an old file says `yarn` and means `longrope`."""
    temperature: bool = False
    """Whether queries of layers that don't turn grow with the logarithm of their position."""
    types: tuple[str, ...] = ()
    """Names of rope types that this type's code takes, and that of others doesn't."""
    switched_on: tuple[str, ...] = ()
    """Keys that are true where they are missing."""
    doubles: bool = False
    """Whether use_dynamic_ntk raises the base with every doubling of the sequence."""
    axes: tuple[str, ...] = ("time", "height", "width")
    """What the axes of positions are, where a configuration says how many pairs follow each."""
    axes_order: str = ""
    """Which pairs follow time, height and width, where the type's code turns by them, whatever the keys say."""
    image_keys: Mapping[str, int] = field(default_factory=dict)
    """What the code that counts positions of images and videos reads besides the size of a merged patch, with its defaults."""
    image_twins: Mapping[str, str] = field(default_factory=dict)
    """What other code reads in the place of one of these."""
    dense_turn: bool = False
    """Whether layers before the pattern whose feed-forward part is dense turn, if all of these have full attention."""
    indexer: Indexer | None = None
    """The indexer that picks keys, where there is one."""
    learned: bool = False
    """Whether weights hold exponents of the frequencies, and by how much queries grow with the logarithm of their position."""
    spelt: Mapping[str, str] = field(default_factory=dict)
    """Other spellings of common keys."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Other names of kinds, under which the mapping has their rotation."""

    def divides_turning(self, channels: range) -> bool:
        """Whether a proportional rotation shares out the channels that turn alone: those of latent attention, but for some types."""
        return channels.start > 0 and not self.trailing and not self.shares_whole


NEOX = ("rope_theta", "partial_rotary_factor")
INTERLEAVED = Family("interleaved")
LATENT = Family("interleaved_to_half")
GEMMA3 = Family(base=1e6, plain_base=1e4, plain=SLIDING, pattern=6, nested=True)
EXAONE4 = Family(pattern=4, unturned=FULL, windowless="turn")
ERNIE_VL = Family("interleaved", base=5e5, axes_order="first_last", image_keys={"temporal_merge_size": 2})
MODERNBERT = Family(base=160_000.0, kind_bases={"sliding_attention": 1e4}, pattern=3, full_first=True, nested=True, unread=("rope_theta",))
NESTED = Family(nested=True)
GEMMA4 = Family(nested=True, last_full=True)
IMAGE = Family(grid=Grid("joined"))
OTHER_IMAGE = Family(grid=Grid())
LLAMA4 = Family("interleaved", base=5e5, without_every=4, temperature=True)
WITHOUT = Family(turns=False)
NO_ATTENTION = Family(turns=False, attends=False)
CONFORMER = Family(asked=("position_embeddings_type", "rotary"), unread=(*NEOX, "head_dim"), mapped=False, projected_after=True)
MIXFORMER = Family(base_fixed=True, mapped=False, rotary_dim=32)
GLM4V = Family("interleaved", axes_order="contiguous")
MULTIMODAL = Family(base=1e6, axes_order="contiguous")
HUNYUAN_VL = Family(axes=("position", "width", "height", "image"), axes_order="contiguous")
BLOCKS_OF_MINIMAX = "of a block of keys the largest of the products"
BLOCKS_OF_QWEN = "the means of blocks of keys turn as the first key of each, and products are clipped at 0 and added up"
OF_OMNI = {"position_id_per_seconds": 25}
TWINS = {"tokens_per_second": "position_id_per_seconds"}
DEEPSEEK_V4 = {"sliding_attention": "main", "compressed_sparse_attention": "compress", "heavily_compressed_attention": "compress"}
#: Model types that turn, with nothing else of their own.
PLAIN = frozenset(
    {
        *("arcee", "aria", "chameleon", "deepseek", "deepseek_ocr2", "dia_decoder", "dia_encoder", "diffllama", "doge"),
        *("dots1", "esmc", "eurobert", "exaone", "falcon_h1", "gemma", "gemma2", "granite", "granite_docling", "granite_swa"),
        *("granite4_vision", "granitemoe", "granitemoe_swa", "granitemoeshared", "higgs_audio_v2", "hunyuan_v1_dense"),
        *("hunyuan_v1_moe", "hyperclovax"),
        *("idefics", "internlm2", "internlm3", "jais2", "jetmoe", "llama", "mimi", "mimo", "minicpm3"),
        *("ministral", "ministral3", "mistral", "mistral3", "molmo2", "moshi", "olmo", "olmo2", "olmoe"),
        *("qwen2", "qwen2_moe", "qwen3", "qwen3_moe", "seed_oss", "starcoder2", "t5_gemma_module", "t5gemma", "telechat"),
        *("telechat3", "unlimited_ocr"),
        *("vaultgemma", "voxtral_realtime", "yi"),
    }
)

#: Model types whose code turns whole heads, whatever a fraction or another width says.
WHOLE = frozenset(
    {
        *("afmoe", "apertus", "arcee", "aria", "bitnet", "blt", "blt_global_transformer", "blt_local_decoder", "blt_local_encoder"),
        "blt_patcher",
        *("chameleon", "cohere", "cohere2", "cohere2_moe", "cosmos3_edge", "csm", "csm_depth_decoder", "cwm", "dbrx"),
        *("deepseek_ocr2", "dia_decoder", "dia_encoder", "diffllama", "doge", "dots1", "embedding_gemma2", "emu3", "ernie4_5"),
        *("ernie4_5_moe", "ernie4_5_moe_vl", "ernie4_5_vl_moe"),
        *("esmc", "eurobert", "exaone4", "exaone_moe", "falcon", "falcon_h1", "flex_olmo", "flint", "gemma", "gemma2", "gemma3"),
        *("gemma3n", "gemma4", "gemma4_unified", "gpt_oss", "granite", "granite4_vision", "granite_docling", "granite_swa"),
        *("granitemoe", "granitemoe_swa", "granitemoehybrid"),
        *("granitemoeshared", "gte", "helium", "hrm", "hunyuan_v1_dense", "hunyuan_v1_moe", "hunyuan_vl", "hy_v3", "hyperclovax"),
        *("idefics", "jais2", "jetmoe", "jina_embeddings_v3", "kolibri1", "lfm2", "lfm2_moe", "lfm3", "llama", "llama4", "mimi"),
        *("minimax", "ministral", "ministral3", "mistral", "mixtral", "mllama", "modernbert", "modernbert-decoder"),
        *("modernbert_decoder", "molmo2", "moshi", "muse_glimmer", "muse_spark", "nanochat", "nomic_bert", "olmo", "olmo2"),
        *("olmo3", "olmoe", "paddleocr_vl", "phimoe", "qwen2", "qwen2_5_omni", "qwen2_5_vl", "qwen2_moe", "qwen2_vl", "qwen3"),
        *("qwen3_moe", "qwen3_omni_moe", "qwen3_vl", "qwen3_vl_moe", "seed_oss", "smollm3", "starcoder2"),
        *("t5_gemma_module", "t5gemma", "t5gemma2", "t5gemma2_decoder"),
        *("unlimited_ocr", "vaultgemma", "voxtral_realtime", "zamba2"),
    }
)

#: Encoders of images of whose heads a part turns, if a fraction says so; the others turn whole heads.
SHARED_IMAGES = frozenset({"efficientloftr"})

FAMILIES = {
    **dict.fromkeys((*UNTURNED, *UNTURNED_IMAGES), WITHOUT),
    **dict.fromkeys(IMAGES, IMAGE),
    **dict.fromkeys(("edgetam_video", "efficientloftr", "sam2_video"), Family("interleaved", grid=Grid())),
    **dict.fromkeys(("falcon_mamba", "mamba", "mamba2", "resnet", "rwkv", "xlstm"), NO_ATTENTION),
    "afmoe": Family(pattern=4, unturned=FULL),
    "axk1": LATENT,
    "axk2": Family("interleaved_to_half", indexer=Indexer("half")),
    "apertus": Family(base=12e6),
    "bailing_hybrid": Family("interleaved_to_half", base=6e6),
    "baichuan": Family(base_fixed=True, mapped=False, biased={4096: "", 5120: "ALiBi"}),
    "bamba": Family(fraction=0.5, picks="attn_layer_indices", unread=("partial_rotary_factor",)),
    "bitnet": Family(base=5e5),
    "blt": Family("interleaved", base=5e5),
    "blt_global_transformer": Family("interleaved", base=5e5),
    "blt_local_decoder": Family("interleaved", base=5e5),
    "blt_local_encoder": Family("interleaved", base=5e5),
    "blt_patcher": INTERLEAVED,
    "chatglm": Family("interleaved", base_fixed=True, mapped=False, fraction=0.5),
    "clvp_encoder": Family(base_fixed=True, mapped=False, projected=32, values_kept=True, switch="use_rotary_embedding"),
    "codegen": Family("interleaved", base_fixed=True, mapped=False, rotary_dim=64),
    "cohere": Family("interleaved", base=5e5),
    "cohere2": Family("interleaved", base=1e4, pattern=4, unturned=FULL, windowless="rest"),
    "cohere2_moe": Family("interleaved", pattern=4, unturned=FULL, dense_turn=True, windowless="rest", unread=("rope_scaling",)),
    "cosmos3_edge": Family(base=1e8, axes_order="interleaved"),
    "csm": Family(base=5e5),
    "csm_depth_decoder": Family(base=5e5),
    "cwm": Family(base=1e6),
    "dbrx": Family(base_in_attention=True),
    **dict.fromkeys(("deepseek_ocr2", "unlimited_ocr"), Family(unread=("head_dim",))),
    "deepseek_v2": INTERLEAVED,
    "deepseek_v3": LATENT,
    "deepseek_v32": Family("interleaved_to_half", indexer=Indexer("half")),
    "dots3_note": Family(
        "interleaved_to_half", base=8e7, kind_bases={"sliding_attention": 5e4}, trailing=True, sliding_latent=(192, 256),
        one_base_flat=True,
        indexer=Indexer("interleaved", without=SLIDING, switch="use_dsa"),
    ),
    "deepseek_v4": Family(
        "interleaved", base=1e4, kind_bases={"compress": 160_000.0}, fraction=0.125, plain=("main",), trailing=True, values_turn=True,
        attention_factor=1.0, labels=DEEPSEEK_V4, base_outside=True,
        indexer=Indexer("interleaved", "last", without=("main",), sparse=True),
    ),
    "diffusion_gemma": GEMMA4,
    "dinov3_vit": Family(base=100.0, grid=Grid("joined", measured=(224, 16))),
    "embedding_gemma2": GEMMA4,
    "emu3": Family(base=1e6),
    "eomt_dinov3": Family(base=100.0, grid=Grid("joined", measured=(640, 16))),
    "ernie4_5": Family("interleaved", base=5e5),
    "ernie4_5_moe": Family("interleaved", base=5e5),
    "ernie4_5_moe_vl": ERNIE_VL,
    "ernie4_5_vl_moe": ERNIE_VL,
    "esm": Family(asked=("position_embedding_type", "rotary"), unread=("partial_rotary_factor",), mapped=False),
    "exaone4": EXAONE4,
    "exaone4_5": EXAONE4,
    "exaone_moe": EXAONE4,
    "falcon": Family(alibi=True),
    "flex_olmo": Family(base=5e5),
    "flint": Family(unturned=FULL, windowless="rest"),
    "gemma3": GEMMA3,
    "gemma3n": Family(base=1e6, plain_base=1e4, plain=SLIDING, pattern=5, nested=True),
    "gemma4": GEMMA4,
    "gemma4_unified": GEMMA4,
    "gemma4_vision": Family(base=100.0, grid=Grid("block")),
    "glm": Family("interleaved", fraction=0.5),
    "glm4": Family("interleaved", fraction=0.5),
    "glm4_moe": Family(fraction=0.5),
    "glm4_moe_lite": LATENT,
    "glm4v": GLM4V,
    "glm4v_moe": Family(fraction=0.5, axes_order="contiguous"),
    "glm5_next": Family(turns=False, labels={"full_attention": "indexed_attention"}, indexer=Indexer("", shared=True)),
    "glm_moe_dsa": Family("interleaved_to_half", indexer=Indexer("interleaved", shared=True)),
    "glm_ocr": GLM4V,
    "gpt_neox": Family(fraction=0.25, unread=NEOX),
    "gpt_neox_japanese": Family(unread=NEOX),
    "gpt_oss": Family(base=150_000.0),
    "granitemoehybrid": Family(asked=("position_embedding_type", "rope")),
    "gptj": Family("interleaved", base_fixed=True, mapped=False, rotary_dim=64),
    "gte": Family(base=160_000.0),
    "helium": Family("interleaved", base=1e5),
    "hrm": Family(cycles=True),
    "hunyuan_vl": HUNYUAN_VL,
    "hy_v3": Family(base=11_158_840.0),
    "hy_v4": Family(indexer=Indexer("half", "last", shared=True, every=4)),
    "inkling": WITHOUT,
    "inkling2": WITHOUT,
    "inkling2_vision": Family("interleaved", grid=Grid("block", first="width")),
    "internlm": Family(base_mapping=True, mapped=False, unread=NEOX),
    "jamba": Family(turns=False, period=(8, 4)),
    "jina_embeddings_v3": Family(base=20_000.0),
    "kimi_k2": LATENT,
    "kimi_k25_vision": Family(grid=Grid("alternating", first="width")),
    "kimi_linear": Family(turns=False, numbered=True),
    "kolibri1": Family(pattern=5, unturned=FULL, windowless="turn"),
    "lfm2": Family(base=1e6, picks="full_attn_idxs", base_before="theta"),
    "lfm2_moe": Family(base=1e6),
    "lfm3": Family(base=1e6, nested=True),
    "lfm3_vl_vision": Family(base=1e6, grid=Grid("joined")),
    "longcat_flash": Family("interleaved_to_half", base=1e7),
    "llama4": LLAMA4,
    "llama4_vision": Family("interleaved", grid=Grid("block", first="width")),
    "mellum": Family(nested=True, unread=("partial_rotary_factor",)),
    "minimax": Family(base=1e6),
    "mimo_v2_flash": Family(base=5e6, kind_bases={"sliding_attention": 1e4}, fraction=0.334),
    "minimax_m1": Family(picks="attn_type_list"),
    "minimax_m2": Family(base=5e6, null_fraction=True),
    "minimax_m3_vl": Family(base=5e6, indexer=Indexer("half", kinds=("minimax_m3_sparse",), blocks=BLOCKS_OF_MINIMAX)),
    "minimax_m3_vl_vision": Family(grid=Grid("joined", first="time", axes=3)),
    "minimax_text_01": Family(picks="attn_type_list"),
    "mistral4": LATENT,
    "mistral_large4": Family(
        "interleaved_to_half", without_every=4, learned=True, indexer=Indexer("interleaved", shared=True),
    ),
    "mixformer-sequential": MIXFORMER,
    "mixtral": Family(base=1e6),
    "mllama": Family(
        base=5e5, unturned=("cross_attention",), picks="cross_attention_layers", picked=(3, 8, 13, 18, 23, 28, 33, 38), picks_alone=True,
    ),
    "modernbert": MODERNBERT,
    "modernbert-decoder": MODERNBERT,
    "modernbert_decoder": MODERNBERT,
    "moonshine": Family("interleaved", fraction=0.9),
    "muse_glimmer": Family(base=1e4, resting=4),
    "muse_spark": Family(base=1e4, resting=4),
    "nanochat": Family(direction="negative"),
    "nemotron": Family(fraction=0.5),
    "nemotron_h": Family(turns=False, picks="hybrid_override_pattern"),
    "nomic_bert": Family(base=1_000.0, unread=("rotary_emb_base", "rotary_emb_fraction", "rotary_emb_interleaved")),
    "olmo3": Family(base=5e5, kind_bases={"sliding_attention": 5e5}, one_base_before=True, plain=SLIDING, pattern=4, nested=True),
    "openelm": Family(mapped=False, unread=NEOX),
    "paddleocr_vl": Family(base=5e5, axes_order="contiguous"),
    "persimmon": Family(fraction=0.5),
    "phi": Family(fraction=0.5),
    "phi-msft": MIXFORMER,
    "phi3": Family(longrope_by_yarn=True),
    "phi3small": Family(base=1e6, unread=NEOX),
    "phi4_multimodal": Family(longrope_by_yarn=True),
    "phimoe": Family(base=1e6),
    "pixtral": Family(grid=Grid("joined", "in_turns")),
    "qwen": Family(mapped=False, unread=("rope_theta",), doubles=True),
    "qwen2_5_omni": Family(base=1e6, axes_order="contiguous", image_keys={**OF_OMNI, "seconds_per_chunk": 2}, image_twins=TWINS),
    "qwen2_5_vl": Family(base=1e6, axes_order="contiguous", image_keys={"tokens_per_second": 4}),
    "qwen2_vl": MULTIMODAL,
    "qwen3_5": Family(fraction=0.25, axes_order="interleaved"),
    "qwen3_5_moe": Family(fraction=0.25, axes_order="interleaved"),
    "qwen3_next": Family(fraction=0.25),
    "qwen3_omni_moe": Family(base=1e6, axes_order="interleaved", image_keys=OF_OMNI),
    "qwen3_vl": Family(base=5e5, axes_order="interleaved"),
    "qwen3_vl_moe": Family(base=5e5, axes_order="interleaved"),
    "qwen4_exp": Family(axes_order="interleaved", indexer=Indexer("half", asked="indexer_n_heads", blocks=BLOCKS_OF_QWEN)),
    "recurrent_gemma": Family(fraction=0.5, picks="block_types"),
    "roformer": Family("interleaved", base_fixed=True, mapped=False, values_asked=True),
    "sam3_vit": Family("interleaved", grid=Grid("block", first="width", windows=(24, (7, 15, 23, 31)))),
    "seamless_m4t": CONFORMER,
    "seamless_m4t_v2": WITHOUT,
    "smollm3": Family(base=2e6, without_every=4),
    "solar_open": Family(base=1e6),
    "stablelm": Family(fraction=0.25, unread=("rope_pct",)),
    "stablelm_epoch": Family(fraction=0.25, mapped=False, unread=("partial_rotary_factor",)),
    "step3p5_vision": Family(grid=Grid("joined", first="width")),
    **dict.fromkeys(("t5gemma2", "t5gemma2_decoder"), GEMMA3),
    "youtu": LATENT,
    "wav2vec2-bert": CONFORMER,
    "wav2vec2-conformer": CONFORMER,
    "zamba": Family(turns=False, twice=True, period=(6, 4), before=("linear_attention", "linear_attention", "hybrid")),
    "zamba2": Family(
        twice=True, asked=("use_mem_rope", True), picks="hybrid_layer_ids", picked=(6, 12, 18, 24, 30, 36, 42, 47, 51), derived=54,
        raised_before="use_long_context",
    ),
    "zaya": Family(base=5e6),
    "vjepa2": Family("interleaved", base_fixed=True, grid=Grid("block", "tiled", first="time", axes=3)),
}


def family(model_type: str) -> Family:
    """Return what a model type says; of one that isn't in the table, what most say."""
    name = plain_name(model_type)
    found = FAMILIES.get(name, OTHER_IMAGE if of_images(model_type) else Family())
    tables = {"head_dim": HEAD_DIM_OF, "full_head_dim": FULL_HEAD_DIM_OF, "latent": LATENT_OF, "sizes": SIZES_OF, "kinds": KINDS}
    tables |= {"original": ORIGINAL_OF}
    classed: dict[str, Any] = {"rope": ROPES.get(name, {}), "sections": SECTIONS_OF.get(name, ()), "uneven": name in UNEVEN}
    classed |= {"rounds": name in ROUNDING, "widthless": name in WIDTHLESS, "resolves": name in RESOLVING or not is_known(name)}
    classed |= {"taken": TAKEN.get(name), "refused": REFUSED.get(name, ()), "keys_asked": ASKED.get(name, {})}
    classed |= {"whole": turns_whole(name), "needs_width": name in NEEDING_WIDTH, "takes_width": name in TAKING_WIDTH}
    classed |= {"nests": name in NESTING or not is_known(name), "shares_whole": name in SHARING_WHOLE}
    of_class: dict[str, Any] = {field: table.get(name) for field, table in tables.items()}
    classed |= {"switched_on": SWITCHED_ON.get(name, ()), "types": tuple(other for other, types in OTHER_TYPES.items() if name in types)}
    refuses_null = name in NULLS_REFUSED or (name in HEAD_DIM_OF and name not in NULLABLE)
    alpha = name in ALPHA or not is_known(name)
    return replace(found, **of_class, **classed, spelt=SPELT.get(name, {}), refuses_null=refuses_null, alpha=alpha)


def of_images(model_type: str) -> bool:
    """Whether the name of a model type says that it is an encoder of images, and no part beside one that reads text."""
    return model_type.removesuffix("_model").endswith("_vision")


def is_known(model_type: str) -> bool:
    """Whether the tables have a model type."""
    return plain_name(model_type) in {*FAMILIES, *PLAIN}


def has_class(model_type: str) -> bool:
    """Whether the tables have a model type, and transformers a class for it."""
    return is_known(model_type) and plain_name(model_type) not in OUTSIDE


def turns_whole(model_type: str) -> bool:
    """Whether the code of a model type turns whole heads, whatever a fraction or another width says."""
    name = plain_name(model_type)
    return name in WHOLE or (name in FAMILIES and FAMILIES[name].grid is not None and name not in SHARED_IMAGES)


def plain_name(model_type: str) -> str:
    """Return a model type without what marks the part of it that reads text."""
    return model_type.removesuffix("_model").removesuffix("_text")
