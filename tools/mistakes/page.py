"""The page of one scheme's mistakes: by topic, each with what it does, how to see it, how to repair it, and who met it."""

from collections.abc import Iterable, Iterator, Sequence

from conformance.mutants.told import anchor
from refimpl.spec import Scheme
from tools.mistakes.known import REPORTED, Mistake, mistakes
from tools.mistakes.topics import Topic, sorted_by_topic, topics
from tools.pages.markdown import code, escaped, joined, link, section, sentence
from tools.pages.thread import met

NOTICE = "<!-- Written by `make mistakes` from the mutants and the catalogue; edit those. -->"
OPENING = """Every mistake below is a program. `posenc check YOURS`, where `YOURS` is your adapter, finds code that behaves like it, and
names the mistake if the values show which one it is. The commands below run a case or a law that shows it. A case outside of what
your adapter declares isn't run: then use `--operation` in place of `--case`, which runs all cases inside.

A heading such as `layout=half` is a convention: right code has it where weights were trained so, and it is a mistake only where your
adapter declares another one, or none. *Met by* links public reports. *From* says what a mistake without a report is modelled on."""
UNDECLARED = """A convention of released code that no parameter declares; [a file of known deviations](../deviations.md) accepts it."""
SHOWN = 3
#: What people call a scheme, where its name in the table is another.
CALLED = {
    "rope": "RoPE (rotary position embedding)",
    "partial_rope": "partial RoPE (rotary_dim, partial_rotary_factor)",
    "proportional_rope": "proportional rope (p-RoPE, Gemma 4's full attention)",
    "axial_rope": "axial RoPE (2-D and 3-D, vision)",
    "mixed_rope": "RoPE-Mixed (learned 2-D frequencies, vision)",
    "mrope": "M-RoPE (multimodal rope: Qwen-VL, GLM-V, Ernie-VL)",
    "xpos": "xPos (length-extrapolatable transformer, LeX)",
    "retnet": "RetNet (retention with decay)",
    "sinusoidal": "sinusoidal positional encoding",
    "sincos_2d": "2-D sinusoidal encoding (MAE, ViT, DETR)",
    "alibi": "ALiBi (attention with linear biases)",
    "t5": "T5's relative position bias",
    "relative_bias": "learned relative position bias",
    "da_transformer": "DA-Transformer (distance-aware attention)",
    "kerple": "KERPLE (kernelized relative position embedding)",
    "position_interpolation": "position interpolation (linear RoPE scaling)",
    "longrope": "LongRoPE (Phi-3's su scaling)",
    "yarn": "YaRN",
    "ntk_aware": "NTK-aware scaling",
    "dynamic_ntk": "dynamic NTK scaling",
    "ntk_by_parts": "NTK-by-parts scaling",
    "llama3": "Llama 3's rope scaling (rope_type llama3)",
    "lerope": "LeRoPE (learned frequencies, Mistral Large 4)",
    "resonance_rope": "Resonance RoPE",
    "resonance_yarn": "Resonance YaRN",
    "rerope": "ReRoPE (rectified rotary position embeddings)",
    "self_extend": "SelfExtend",
    "dual_chunk": "Dual chunk attention (DCA, ChunkLlama)",
    "shaw": "Shaw's relative position representations",
    "transformer_xl": "Transformer-XL relative position encoding",
    "binary": "binary positional encoding",
    "learned": "learned position embeddings",
    "temperature": "attention temperature (Llama 4, Ministral 3, log-n scaling)",
    "none": "attention without positional encoding (NoPE)",
}


def page(scheme: Scheme) -> str:
    """Return the whole page."""
    told = sorted_by_topic(mistakes(scheme.name), topics())
    above = f"{link('All mistakes', '../mistakes.md')} · {link(f'what {scheme.name} is', f'../schemes/{scheme.name}.md')}"
    return joined(
        NOTICE,
        f"# Known mistakes in {CALLED.get(scheme.name, scheme.name)}",
        above,
        sentence(escaped(scheme.summary)),
        OPENING,
        contents(told),
        *(section(topic.title, escaped(topic.says), *(described(scheme, mistake) for mistake in held)) for topic, held in told.items()),
    )


def contents(told: dict[Topic, list[Mistake]]) -> str:
    """Return the table of contents, two levels deep."""
    return "\n".join(line for topic, held in told.items() for line in _lines(topic, held))


def _lines(topic: Topic, held: Sequence[Mistake]) -> Iterator[str]:
    yield f"- **{link(topic.title, '#' + anchor(topic.title))}**"
    yield f"  <br>{' · '.join(link(mistake.title, '#' + mistake.anchor) for mistake in held)}"


def described(scheme: Scheme, mistake: Mistake) -> str:
    """Return one mistake."""
    parts = [line for line in (_what(scheme, mistake), _fix(mistake), _seen(mistake), _met(mistake)) if line]
    return joined(f"### {mistake.title}", "\n".join(f"- {part}" for part in parts))


def _what(scheme: Scheme, mistake: Mistake) -> str:
    if mistake.kind == "convention":
        said = scheme.conventions.get(mistake.slug, "")
        kind = "A convention, right where it is declared." if mistake.forced else UNDECLARED
        return f"{kind} {sentence(escaped(said)) if said else f'It {escaped(mistake.first.does)}.'}"
    return f"It {_each(mistake.does)}. It should {_each(each.should for each in mistake.shown)}."


def _fix(mistake: Mistake) -> str:
    fixes = [mistake.first.fix] if mistake.kind == "convention" else (each.fix for each in mistake.shown)
    return f"**Fix**: {_each(fixes)}."


def _each(said: Iterable[str]) -> str:
    """Return once what differs between the operations that show a mistake."""
    return escaped("; or ".join(dict.fromkeys(said)))


def _seen(mistake: Mistake) -> str:
    """Return how to see it: the command for one case or law, and what else convicts it."""
    if not mistake.cases:
        return f"**See it**: {code(f'posenc check YOURS --operation {mistake.first.operation}')}, law {_named(mistake.laws)}."
    first, *others = mistake.cases
    also = [f"also {_named(others[:SHOWN])}{' and more' if len(others) > SHOWN else ''}"] if others else []
    laws = [f"law {_named(mistake.laws)}"] if mistake.laws else []
    return f"**See it**: {'; '.join([code(f'posenc check YOURS --case {first}'), *also, *laws])}."


def _named(names: Sequence[str]) -> str:
    return ", ".join(code(name) for name in names)


def _met(mistake: Mistake) -> str:
    threads = ", ".join(met(mistake.threads, mistake.scheme))
    origins = escaped("; ".join(mistake.origins))
    if mistake.elsewhere is not None:
        reported = link(code(mistake.elsewhere.scheme), mistake.elsewhere.address)
        origins = REPORTED.sub(f"reported for {reported}", origins, count=1)
    return f"**Met by**: {threads}{f' ({origins})' if origins else ''}." if threads else f"**From**: {origins}." if origins else ""
