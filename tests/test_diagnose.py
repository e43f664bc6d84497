import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from conformance.calls.outcomes import Diagnosis
from conformance.diagnosis import candidates
from conformance.diagnosis.candidates import answer
from conformance.diagnosis.diagnose import Observation, diagnose, explain
from conformance.golden.answers import golden
from conformance.mutants import masking
from conformance.mutants.catalogue import MUTANTS
from conformance.mutants.rotary import Rotary
from conformance.mutants.rounding import rounded
from conformance.spec.arguments import Arguments
from conformance.spec.declarations import operations
from conformance.spec.vectors import Vector, load

Function = Callable[..., Any]
#: Which functions are known mistakes, and the answers of these that are kept: of one operation after the other.
KNOWN = {id(mutant.function) for mutant in MUTANTS.values()}
MOST = 4_000
ANSWERS: dict[tuple[int, str], dict[str, np.ndarray] | None] = {}


@functools.cache
def vectors(operation: str) -> tuple[Vector, ...]:
    return tuple(vector for vector in load([operation]) if vector.error is None)


def observe(operation: str, function: Function, dtype: str = "float32") -> list[Observation]:
    """Return what a function gives for every vector that it answers, rounded to the dtype."""
    return [seen for vector in vectors(operation) if (seen := answered(vector, function, dtype)) is not None]


def answered(vector: Vector, function: Function, dtype: str) -> Observation | None:
    values = candidates.answer(function, vector)
    return None if values is None else Observation(vector, {name: in_dtype(value, dtype) for name, value in values.items()}, dtype)


@pytest.fixture
def answered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every known mistake answer each vector once, whichever of them is hidden."""
    monkeypatch.setattr(candidates, "answer", once)


def once(function: Function, vector: Vector) -> dict[str, np.ndarray] | None:
    key = id(function), vector.id
    if len(ANSWERS) > MOST:
        ANSWERS.clear()
    if id(function) in KNOWN and key not in ANSWERS:
        ANSWERS[key] = answer(function, vector)
    return ANSWERS[key] if key in ANSWERS else answer(function, vector)


def in_dtype(values: np.ndarray, dtype: str) -> np.ndarray:
    if values.dtype.kind == "i":
        return values
    with np.errstate(over="ignore"):
        return values.astype(np.float32).astype(np.float64) if dtype == "float32" else rounded(values, dtype)


def right(operation: str, change: Callable[[np.ndarray, Vector], np.ndarray] = lambda values, _: values) -> list[Observation]:
    """Return right answers at float32, or what ``change`` makes of them."""
    return [
        Observation(
            vector, {name: change(in_dtype(values, "float32"), vector) for name, values in (vector.expected or {}).items()}, "float32"
        )
        for vector in vectors(operation)
    ]


def named(diagnosis: Diagnosis | None) -> tuple[str, ...]:
    return () if diagnosis is None else (" + ".join(diagnosis.mutants), *diagnosis.also_fits)


def float32_rotation(*, layout: str | None = None, table: Function = np.asarray, angle: Function = np.asarray) -> Function:
    """Return rope in genuine float32 steps, as an implementation would run it."""

    def rotate(x: np.ndarray, positions: np.ndarray, *, head_dim: int, base: float, direction: str, **parameters: Any) -> np.ndarray:
        pairs = layout or parameters["layout"]
        inverse = np.float32(1) / np.float32(base) ** (np.arange(0, head_dim, 2, dtype=np.float32) / np.float32(head_dim))
        angles = angle(positions.astype(np.float32)[..., None] * inverse).astype(np.float32)
        cos, sin = (table(function(angles)).astype(np.float32) for function in (np.cos, np.sin))
        cos, sin = (each if each.ndim == 2 else each[:, None] for each in (cos, -sin if direction == "negative" else sin))
        half = head_dim // 2
        a, b = (x[..., :half], x[..., half:]) if pairs == "half" else (x[..., 0::2], x[..., 1::2])
        turned = (a.astype(np.float32) * cos - b.astype(np.float32) * sin, a.astype(np.float32) * sin + b.astype(np.float32) * cos)
        return np.stack(turned, axis=-1).reshape(x.shape) if pairs == "interleaved" else np.concatenate(turned, axis=-1)

    return rotate


def only(observations: Sequence[Observation], **parameters: object) -> list[Observation]:
    return [seen for seen in observations if all(seen.vector.parameters[name] == value for name, value in parameters.items())]


@pytest.mark.usefixtures("answered_once")
@pytest.mark.parametrize("name", MUTANTS)
def test_every_mutant_is_named_from_its_output_alone(name: str) -> None:
    mutant = MUTANTS[name]

    assert name in named(diagnose(mutant.operation, observe(mutant.operation, mutant.function), "float32"))


@pytest.mark.parametrize("operation", operations())
def test_nothing_is_named_where_everything_is_right(operation: str) -> None:
    assert len(right(operation)) >= 12
    assert diagnose(operation, right(operation), "float32") is None


#: One operation of every scheme, with real results, and one whose candidates are many.
UNLIKE = (*{name.split(".")[0]: name for name in reversed(operations()) if name != "t5.bucket"}.values(), "rope.rotate")


@pytest.mark.parametrize("operation", UNLIKE)
@pytest.mark.parametrize("size", [1e-3, 1.0])
def test_nothing_is_named_for_a_mistake_that_nobody_knows(operation: str, size: float) -> None:
    noise = np.random.default_rng(0)

    assert diagnose(operation, right(operation, lambda values, _: values + size * noise.standard_normal(values.shape)), "float32") is None


def test_a_bucket_that_nobody_knows_is_not_named() -> None:
    assert diagnose("t5.bucket", right("t5.bucket", lambda values, _: values ^ 1), "float32") is None


def test_one_wrong_element_that_no_mutant_explains_hides_the_mutant() -> None:
    seen = observe("rope.rotate", MUTANTS["rope.rotate/degrees"].function)
    seen[-1].got["result"].ravel()[0] += 1.0

    assert diagnose("rope.rotate", seen, "float32") is None


def test_genuine_float32_code_is_right() -> None:
    assert diagnose("rope.rotate", observe("rope.rotate", float32_rotation()), "float32") is None


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"angle": np.deg2rad}, "degrees"),
        ({"layout": "half"}, "layout=half"),
        ({"table": lambda values: rounded(values, "bfloat16")}, "bfloat16-tables"),
        ({"table": lambda values: rounded(values, "float16")}, "float16-tables"),
        ({"angle": lambda values: rounded(values, "bfloat16")}, "bfloat16-angles"),
    ],
)
def test_a_mistake_is_named_in_genuine_float32_code(change: dict[str, Any], name: str) -> None:
    diagnosis = diagnose("rope.rotate", observe("rope.rotate", float32_rotation(**change)), "float32")

    assert diagnosis is not None
    assert diagnosis.mutants == (f"rope.rotate/{name}",)
    assert diagnosis.also_fits == ()


def test_what_is_named_is_not_said_to_fit_besides() -> None:
    seen = right("rope.rotate", lambda values, _: 1.5 * values)
    few = [one for one in seen if one.vector.id in ("rope.rotate/shifted-half", "rope.rotate/single-token")]

    diagnosis = diagnose("rope.rotate", few, "float32")

    assert diagnosis is not None
    assert (diagnosis.mutants, diagnosis.also_fits) == (("rope.rotate/result*1.5",), ())


def test_an_undeclared_convention_is_named_as_one() -> None:
    seen = only(observe("rope.rotate", float32_rotation(layout="half")), layout="interleaved")
    diagnosis = diagnose("rope.rotate", seen, "float32")

    assert diagnosis is not None
    assert diagnosis.kind == "convention"
    assert diagnosis.does == 'computes layout="half" whatever is asked for'
    assert 'declare layout="half" in implements("rope.rotate", layout="half")' in diagnosis.fix


def test_two_undeclared_conventions_are_named_together() -> None:
    function = MUTANTS["rope.rotate/layout=half"].function
    seen = observe("rope.rotate", lambda *arrays, **p: function(*arrays, **{**p, "direction": "negative"}))
    diagnosis = diagnose("rope.rotate", only(seen, layout="interleaved", direction="positive"), "float32")

    assert diagnosis is not None
    assert set(diagnosis.mutants) == {"rope.rotate/layout=half", "rope.rotate/direction=negative"}


def test_a_mistake_under_an_undeclared_convention_is_named_with_it() -> None:
    seen = only(observe("rope.rotate", float32_rotation(layout="half", angle=np.deg2rad)), layout="interleaved")
    diagnosis = diagnose("rope.rotate", seen, "float32")

    assert diagnosis is not None
    assert diagnosis.mutants == ("rope.rotate/layout=half", "rope.rotate/degrees")


def test_the_bias_of_falcon_is_named_as_its_form_and_as_three_roundings() -> None:
    def falcon(query_positions: np.ndarray, key_positions: np.ndarray, *, num_heads: int, **_: object) -> np.ndarray:
        whole = 1 << (num_heads.bit_length() - 1)
        exponents = [8 * h / whole for h in range(1, whole + 1)] + [4 * h / whole for h in range(1, 2 * (num_heads - whole), 2)]
        per_key = rounded(2.0 ** -np.array(exponents), "bfloat16")[:, None] * rounded(key_positions, "bfloat16")
        return np.repeat(rounded(per_key, "bfloat16")[:, None], query_positions.size, axis=1)

    diagnosis = diagnose("alibi.bias", only(observe("alibi.bias", falcon), slopes="code", form="column", max_bias=8.0), "float32")

    assert diagnosis is not None
    assert diagnosis.mutants == ("alibi.bias/form=falcon",)
    assert diagnosis.also_fits == ("alibi.bias/bfloat16-slopes-key-index-product",)


@pytest.mark.parametrize("name", ["falcon-bias-undivided", "falcon-all-cut"])
def test_what_goes_wrong_with_falcon_s_form_alone_is_named_first(name: str) -> None:
    seen = only(observe("alibi.weights", MUTANTS[f"alibi.weights/{name}"].function), form="falcon")
    diagnosis = diagnose("alibi.weights", seen, "float32")

    assert diagnosis is not None
    assert diagnosis.mutants == (f"alibi.weights/{name}",)


@pytest.mark.parametrize(("dtype", "profile"), [("bfloat16", "bfloat16-model"), ("float16", "float16-model")])
@pytest.mark.parametrize("name", ["layout=half", "degrees", "base-ignored", "positions-ignored"])
def test_mistakes_are_named_in_half_models_too(name: str, dtype: str, profile: str) -> None:
    seen = observe("rope.rotate", MUTANTS[f"rope.rotate/{name}"].function, dtype)

    assert f"rope.rotate/{name}" in named(diagnose("rope.rotate", seen, profile))


@pytest.mark.parametrize("name", ["dynamic_ntk.rotate", "longrope.rotate"])
@pytest.mark.parametrize(
    ("kind", "size"), [("positions", lambda positions: int(positions.max()) + 1), ("tokens", lambda positions: positions.shape[-1])]
)
def test_code_that_takes_the_length_from_its_call_is_named_as_that(name: str, kind: str, size: Callable[[np.ndarray], int]) -> None:
    def rotate(x: np.ndarray, positions: np.ndarray, *given: np.ndarray, **parameters: Any) -> np.ndarray:
        result: np.ndarray = operations()[name].function(x, positions, *given, **{**parameters, "length": size(positions)})
        return result

    assert f"{name}/length-from-{kind}" in named(diagnose(name, observe(name, rotate), "float32"))


@pytest.mark.parametrize("name", ["dynamic_ntk.rotate", "longrope.rotate"])
@pytest.mark.parametrize(
    "size",
    [
        lambda positions, _: positions.max(),
        lambda positions, _: positions[..., -1].max(),
        lambda positions, _: positions[..., -1].max() + 1,
        lambda positions, _: np.atleast_2d(positions)[0].max() + 1,
        lambda positions, length: min(length, positions.max() + 1),
    ],
    ids=["largest", "last", "last plus 1", "of the first row", "smaller of both"],
)
def test_what_is_said_of_a_length_from_positions_is_true_of_each_rule_that_few_calls_show(
    name: str, size: Callable[[np.ndarray, int], Any]
) -> None:
    def rotate(x: np.ndarray, positions: np.ndarray, *given: np.ndarray, length: int, **parameters: Any) -> np.ndarray:
        taken = max(1, int(size(positions, length)))
        return np.asarray(operations()[name].function(x, positions, *given, length=taken, **parameters))

    few = [one for one in observe(name, rotate) if one.vector.id.endswith(("/first-positions", "/short-in-long", "/short-in-long-half"))]
    diagnosis = diagnose(name, few, "float32")

    assert diagnosis is not None
    assert diagnosis.mutants == (f"{name}/length-from-positions",)
    assert diagnosis.does == "takes the length of the sequence from the positions of the call"
    assert diagnosis.fix.startswith("take the length as an argument; where it is the largest position plus 1, ")


@pytest.mark.parametrize(("number", "added"), [(-1e4, False), (-100.0, False), (-10.0, True)])
def test_a_mask_that_is_a_number_is_told_as_one(number: float, added: bool) -> None:  # noqa: FBT001  a case
    made = Rotary(soften=functools.partial(masking.numbered, number=number, added=added)).of("rope.attend")
    rng = np.random.default_rng(0)
    q, k = (rng.standard_normal((1, 2, 5, 8)) * 200 for _ in range(2))
    arrays = {"q": q, "k": k, "v": rng.standard_normal((1, 2, 5, 8)), "query_positions": np.arange(5), "key_positions": np.arange(5)}
    rule = {"head_dim": 8, "base": 10_000.0, "layout": "half", "direction": "positive", "causal": True}
    call = Arguments(arrays, rule)
    vector = golden("rope.attend", call, identity="rope.attend/drawn-1", exposes="", profiles=["float64"])
    seen = [Observation(vector, {"result": np.asarray(made(*arrays.values(), **rule))}, "float64")]

    found = explain("rope.attend", seen, "float64")
    assert found is not None
    assert found.does.startswith("masks with a number")


@pytest.mark.parametrize(("axes", "advised"), [("", True), ("axis batch token", False)])
def test_an_order_of_axes_that_is_declared_isnt_advised(axes: str, advised: bool) -> None:  # noqa: FBT001  what is expected
    raised = [(vector, "IndexError: too many indices") for vector in load(["mrope.rotate"])[:3]]

    told = explain("mrope.rotate", (), "float32", raised, (), axes)

    assert ("axis first declares axes=" in "".join(told.description if told is not None else ())) is advised
