"""The bundled adapters, each in its worker: what they offer, how it differs (the table of docs/findings.md), and what of it is right."""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from conformance.calls.outcomes import NotJudged, Passed
from conformance.calls.subject import CallRefusedError
from conformance.diagnosis.diagnose import Observation, diagnose
from conformance.isolate.described import Descriptor
from conformance.isolate.session import Session
from conformance.isolate.targets import BUNDLED, LibraryMissing
from conformance.judge.judge import Judgement, compare, exact_in
from conformance.mutants.catalogue import MUTANTS
from conformance.spec.vectors import Vector, load
from refimpl.schemes import mrope, operations

VECTORS = [vector for vector in load() if vector.error is None]
OFFERED = {
    "numpy": set(operations()),
    "array_api_strict": set(operations()),
    "ggml": {
        "partial_rope.rotate", "rope.rotate", "rope.gradient", "yarn.rotate", "position_interpolation.rotate", "longrope.rotate",
        "axial_rope.rotate", "mrope.rotate",
    },
    "transformers": {
        "alibi.bias", "alibi.slopes", "axial_rope.positions", "axial_rope.rotate", "dynamic_ntk.frequencies",
        "dynamic_ntk.rotate", "learned.add", "learned.encode", "llama3.frequencies", "llama3.rotate",
        "lerope.rotate", "longrope.attention_factor",
        "longrope.frequencies", "longrope.rotate", "mrope.positions", "mrope.rotate", "none.attend_selected",
        "ntk_aware.frequencies", "ntk_aware.rotate", "partial_rope.attend_turned", "partial_rope.index_scores", "partial_rope.rotate",
        "position_interpolation.frequencies", "position_interpolation.rotate", "proportional_rope.frequencies",
        "proportional_rope.rotate", "relative_bias.bias", "rope.apply", "rope.attend",
        "rope.frequencies", "rope.gradient", "rope.permute", "rope.rotate", "rope.rotate_query_key", "rope.tables",
        "rope.weights", "shaw.attend",
        "shaw.weights", "sincos_2d.encode",
        "sinusoidal.add", "sinusoidal.encode", "t5.bias", "t5.bucket", "temperature.learned_scale", "temperature.scale",
        "transformer_xl.attend",
        "transformer_xl.shift", "transformer_xl.weights", "yarn.attention_factor", "yarn.frequencies", "yarn.rotate",
        "yarn.softmax_scale",
    },
    "transformers4": {"shaw.attend", "shaw.weights", "transformer_xl.attend", "transformer_xl.shift", "transformer_xl.weights"},
    "mlx": {
        "alibi.bias", "alibi.slopes", "partial_rope.rotate", "position_interpolation.rotate", "rope.rotate", "sinusoidal.encode",
    },
    "mlx_lm": {"llama3.rotate", "longrope.rotate", "position_interpolation.rotate", "proportional_rope.rotate", "yarn.rotate"},
    "equinox": {"rope.rotate"},
    "torchtune": {
        "axial_rope.rotate", "llama3.frequencies", "llama3.rotate", "rope.frequencies", "rope.rotate", "rope.tables", "t5.bias",
    },
    "litgpt": {
        "llama3.rotate", "partial_rope.rotate", "position_interpolation.rotate", "rope.rotate", "yarn.attention_factor",
        "yarn.frequencies", "yarn.rotate", "yarn.softmax_scale",
    },
    "keras_hub": {
        "alibi.bias", "alibi.slopes", "axial_rope.rotate", "learned.encode", "llama3.rotate", "longrope.rotate", "mrope.rotate",
        "ntk_aware.rotate", "partial_rope.rotate", "position_interpolation.rotate", "proportional_rope.rotate", "rope.rotate",
        "sincos_2d.encode", "sinusoidal.encode", "t5.bias", "t5.bucket", "yarn.rotate",
    },
    "sglang": {
        "dynamic_ntk.rotate", "llama3.rotate", "longrope.rotate", "mrope.rotate", "ntk_aware.rotate", "partial_rope.rotate",
        "position_interpolation.rotate", "proportional_rope.rotate", "rope.rotate", "rope.rotate_query_key", "yarn.rotate",
    },
    "vllm": {
        "dynamic_ntk.rotate", "llama3.rotate", "longrope.rotate", "mrope.rotate", "ntk_aware.rotate", "partial_rope.rotate",
        "position_interpolation.rotate", "proportional_rope.rotate", "rope.rotate", "rope.rotate_query_key", "yarn.rotate",
    },
}
#: What rounds positions in half precision, and is judged in float32 here.
HALVES = {("keras_hub", "esm"), ("keras_hub", "roformer")}


class Difference(NamedTuple):
    """A row of the table of docs/findings.md: the ``name`` that an implementation of a target gets for what it does otherwise."""

    target: str
    label: str
    name: str
    under: str | None

    @property
    def dtype(self) -> str:
        """What it is called in: under what lowers arithmetic that is half precision."""
        return "float32" if self.under is None else "bfloat16"

    @property
    def convention(self) -> bool:
        """Whether it is right where it is declared, as the adapter declares it."""
        return MUTANTS[self.name].kind == "convention"


FINDINGS = Path(__file__).parents[1] / "docs" / "findings.md"
ROW = re.compile(r"^\| `(\w+)(?: --under (\w+))?` \| `([\w.-]+)` \| `(\S+)` \|", re.MULTILINE)
DIFFERENCES = [
    Difference(target, label, name, under or None) for target, under, label, name in ROW.findall(FINDINGS.read_text(encoding="utf-8"))
]


Start = Callable[..., Session]


@pytest.fixture(scope="module")
def start() -> Iterator[Start]:
    """Start each target once, or skip where its library is absent."""
    running: dict[tuple[str, str | None], Session] = {}

    def started(target: str, under: str | None = None) -> Session:
        session = running.setdefault((target, under), Session(target, under=under))
        try:
            assert session.implementations
        except LibraryMissing as missing:
            pytest.skip(str(missing))
        return session

    yield started
    for session in running.values():
        session.close()


@pytest.fixture(params=BUNDLED)
def session(request: pytest.FixtureRequest, start: Start) -> Session:
    return start(request.param)


def judged(session: Session, implementation: Descriptor, dtype: str, vector: Vector) -> Judgement | None:
    profile = implementation.profile[dtype]
    try:
        reply = session.subject(implementation, dtype, profile).call(list(vector.inputs.values()), vector.parameters)
    except CallRefusedError:
        return None
    return compare(vector, reply, dtype, profile)


def judgements(session: Session, implementation: Descriptor) -> dict[str, Judgement]:
    chosen = [vector for vector in VECTORS if vector.operation == implementation.operation]
    asked = [(dtype, vector) for dtype in implementation.dtypes for vector in chosen if exact_in(vector, dtype)]
    found = {f"{vector.id} at {dtype}": judged(session, implementation, dtype, vector) for dtype, vector in asked}
    return {name: judgement for name, judgement in found.items() if judgement is not None}


def test_every_adapter_offers_what_it_says(session: Session) -> None:
    assert {implementation.operation for implementation in session.implementations} == OFFERED[session.target]


def test_every_adapter_reports_the_version_of_its_library(session: Session) -> None:
    assert session.about["versions"][session.target][0].isdecimal()


def deviates(session: Session, implementation: Descriptor) -> bool:
    """Return whether a row says that an implementation is wrong in this scheme; what is wrong in one operation may be so in another."""
    scheme = implementation.operation.partition(".")[0]
    wrong = {(row.target, row.label, row.name.partition(".")[0]) for row in DIFFERENCES if not (row.convention or row.under)}
    return (session.target, implementation.label, scheme) in wrong


@pytest.mark.parametrize("session", [name for name in BUNDLED if name != "equinox"], indirect=True)
def test_what_no_row_calls_wrong_meets_the_vectors(session: Session) -> None:
    wrong, right = [], 0
    for implementation in session.implementations:
        halves = (session.target, implementation.label) in HALVES
        found = {} if deviates(session, implementation) else judgements(session, implementation)
        asked = {name: one for name, one in found.items() if not halves or name.endswith("float32")}
        right += sum(isinstance(judgement.outcome, Passed) for judgement in asked.values())
        wrong += [f"{implementation.label}: {name}" for name, one in asked.items() if not isinstance(one.outcome, Passed | NotJudged)]

    assert wrong == []
    assert right >= 20


def observed(session: Session, implementation: Descriptor, forced: Mapping[str, object], dtype: str) -> Iterator[Observation]:
    """Yield what comes back for every vector in a dtype if some parameters aren't those that it asks for."""
    subject = session.subject(implementation, dtype, implementation.profile[dtype])
    for vector in VECTORS:
        if vector.operation == implementation.operation and exact_in(vector, dtype):
            try:
                reply = subject.call(list(vector.inputs.values()), {**vector.parameters, **forced})
            except CallRefusedError:
                continue
            yield Observation(vector, dict(reply.values), dtype, implementation.takes.masked)


@pytest.mark.parametrize("row", DIFFERENCES, ids=lambda row: f"{row.target}-{row.label}-{row.name}")
def test_what_differs_is_named(start: Start, row: Difference) -> None:
    session, mutant = start(row.target, row.under), MUTANTS[row.name]
    implementation = only(session, mutant.operation, row.label)

    told = diagnose(mutant.operation, list(observed(session, implementation, mutant.forces, row.dtype)), implementation.profile[row.dtype])

    assert told is not None
    assert row.name in told.mutants


def test_every_target_of_the_table_is_there_and_every_row_once() -> None:
    assert {row.target for row in DIFFERENCES} < set(BUNDLED)
    assert len(DIFFERENCES) == len(set(DIFFERENCES)) > 20


def only(session: Session, operation: str, label: str) -> Descriptor:
    return next(one for one in session.implementations if (one.operation, one.label) == (operation, label))


def test_torchtune_trains_code_llama_by_another_base_with_lora_than_without() -> None:
    """The builder of attention with LoRA isn't told the base (docs/findings.md)."""
    torch, models = (pytest.importorskip(name) for name in ("torch", "torchtune.models.code_llama2"))

    with torch.device("meta"):
        whole, adapted = models.code_llama2_7b(), models.lora_code_llama2_7b(["q_proj"])

    assert [model.layers[0].attn.pos_embeddings.base for model in (whole, adapted)] == [1_000_000, 10_000]


def test_the_queries_of_keras_hubs_gpt_neox_stay_at_position_0_while_it_decodes() -> None:
    """The step's queries are turned without its position (docs/findings.md)."""
    torch = pytest.importorskip("torch")
    os.environ.setdefault("KERAS_BACKEND", "torch")
    attention = pytest.importorskip("keras_hub.src.models.gpt_neo_x.gpt_neo_x_attention")
    layer = attention.GPTNeoXAttention(num_heads=2, hidden_dim=16, rotary_percentage=1.0, max_sequence_length=8)
    tokens, mask = torch.randn(1, 6, 16, generator=torch.Generator().manual_seed(0)), torch.ones(1, 6, 6).tril().bool()
    layer.build(tokens.shape)
    whole, _ = layer(tokens, attention_mask=mask)
    cache = torch.zeros(1, 2, 6, 2, 8)
    for step in range(6):
        last, cache = layer(tokens[:, step : step + 1], attention_mask=mask[:, step : step + 1], cache=cache, cache_update_index=step)

    assert float((last - whole[:, -1:]).detach().abs().max()) > 1e-3


def test_the_class_token_of_llama_4_stands_at_zero_and_its_first_patch_at_one() -> None:
    """The adapter declares patches alone: no call mixes a 0 on one axis with others, which the library has no waves for."""
    torch, models = (pytest.importorskip(name) for name in ("torch", "conformance.adapters.transformers_axial"))
    vector = next(vector for vector in VECTORS if vector.id == "axial_rope.rotate/released-class-token")
    x, positions = vector.inputs["x"], vector.inputs["positions"]

    turned = models.rotate_by_waves(torch.tensor(x, dtype=torch.float32), torch.tensor(positions), **vector.parameters)

    expected = (vector.expected or {})["result"]
    assert (np.abs(turned.numpy() - expected) <= vector.allowed["float32"]["result"] + 2.0**-24 * np.abs(expected)).all()
    assert np.array_equal(turned[..., -1, :].numpy(), x[..., -1, :])


def test_the_centres_of_the_patches_of_dinov3_are_whole_numbers_of_half_patches_from_the_middle() -> None:
    """The adapter gives the library coordinates in the place of its grid's, which are those of ``sides`` and such positions."""
    torch, models = (pytest.importorskip(name) for name in ("torch", "transformers.models.dinov3_vit.modeling_dinov3_vit"))
    rows, columns = np.divmod(np.arange(5 * 7), 7)

    centres = models.get_patches_center_coordinates(5, 7, dtype=torch.float64, device=torch.device("cpu"))

    rounded = 4 * 7 * 2.0**-53  # a sum, a quotient, twice that and a difference, each rounded near 1, times the side
    assert np.allclose(centres.numpy() * (5, 7), np.stack([2 * rows + 1 - 5, 2 * columns + 1 - 7], axis=-1), rtol=0, atol=rounded)


def test_omdet_turbo_flattens_the_grid_by_columns() -> None:
    """A grid of two rows and three columns, whose sines of the column ought to repeat from row to row (docs/findings.md)."""
    model = pytest.importorskip("transformers.models.omdet_turbo.modeling_omdet_turbo").OmDetTurboHybridEncoder

    sines = model.build_2d_sincos_position_embedding(3, 2, embed_dim=4)[0][:, 0]

    assert np.allclose(sines.numpy(), np.sin([0, 0, 1, 1, 2, 2]), rtol=0, atol=2.0**-24)  # a unit of float32 below 1


def test_transformers_begins_text_after_a_long_video_among_its_frames() -> None:
    """A video of three steps in time, 50 positions apart, of two rows and columns: text stands at 101, 102 and so on (docs/findings.md)."""
    torch, models = (pytest.importorskip(name) for name in ("torch", "conformance.adapters.transformers_mrope_positions"))
    clip = {"text": (0,), "times": (3,), "heights": (2,), "widths": (2,), "tokens_per_second": 25, "seconds": 2.0}

    places = models.by_qwen2_5_vl(torch.arange(14), **clip).tolist()

    assert places[8:12] == [[100, row, column] for row in range(2) for column in range(2)]
    assert places[12:] == [[2, 2, 2], [101, 101, 101]]


def test_transformers_begins_text_after_the_video_of_the_public_report_at_31() -> None:
    """15 tokens of text, then 84 steps of 12 rows and 16 columns, 4 positions apart: text begins at 348 (docs/findings.md)."""
    torch, models = (pytest.importorskip(name) for name in ("torch", "conformance.adapters.transformers_mrope_positions"))
    clip = {"text": (15,), "times": (84,), "heights": (12,), "widths": (16,), "tokens_per_second": 2, "seconds": 2.0}
    last = 15 + 84 * 12 * 16

    assert models.by_qwen2_5_vl(torch.arange(last + 1), **clip)[last].tolist() == [31, 31, 31]
    assert mrope.positions(np.arange(last + 1), **clip)[last].tolist() == [348, 348, 348]


def turned_by_equinox(session: Session, base: float) -> np.ndarray:
    parameters = {"head_dim": 8, "base": base, "layout": "half", "direction": "positive"}
    subject = session.subject(only(session, "rope.rotate", "equinox"), "float32", "float32")
    return subject.call([np.ones((1, 1, 4, 8)), np.arange(4)], parameters).values["result"][0, 0]


def turned_exactly(base: float) -> np.ndarray:
    angles = np.arange(4)[:, None] * base ** (-2 * np.arange(4) / 8)
    return np.concatenate([np.cos(angles) - np.sin(angles), np.cos(angles) + np.sin(angles)], axis=-1)


def test_equinox_uses_the_base_of_whichever_layer_was_called_first(start: Start) -> None:
    with start("equinox").fresh() as session:
        first, second = turned_by_equinox(session, 500_000.0), turned_by_equinox(session, 10_000.0)

    assert np.abs(first - turned_exactly(500_000.0)).max() < 1e-6
    assert np.array_equal(first, second)


@pytest.mark.parametrize(
    ("label", "operation", "arrays", "parameters"),
    [
        ("gpt-j", "rope.tables", [np.array([-1])], {"head_dim": 4, "base": 10_000.0}),
        ("gpt-j", "rope.tables", [np.array([1 << 20])], {"head_dim": 128, "base": 10_000.0}),
        ("gpt-j", "rope.tables", [np.array([1])], {"head_dim": 4, "base": 500_000.0}),
        (
            "mpt",
            "alibi.bias",
            [np.array([1]), np.array([-1])],
            {"num_heads": 2, "max_bias": 8.0, "form": "reversed"},
        ),
        (
            "musicgen",
            "sinusoidal.encode",
            [np.array([1])],
            {"dim": 2, "base": 1e4, "layout": "halves_cosine_first", "spacing": "endpoint", "odd": "error", "scale": 1.0},
        ),
    ],
)
def test_what_a_library_can_not_do_is_unsupported_not_wrong(
    start: Start, label: str, operation: str, arrays: list[np.ndarray], parameters: dict[str, object]
) -> None:
    session = start("transformers")

    with pytest.raises(CallRefusedError):
        session.subject(only(session, operation, label), "float32", "float32").call(arrays, parameters)
