"""What drawn golden cases are evidence of: which known mistakes they would have convicted, and whether that is enough."""

import ast
import itertools
import re
from collections.abc import Callable, Mapping

import numpy as np
import pytest

from conformance.calls.outcomes import Evidence
from conformance.calls.subject import CallRefusedError, Reply, Subject
from conformance.calls.takes import Takes
from conformance.checks import golden_checks
from conformance.checks.evidence import known
from conformance.checks.evidence.enough import FURTHER, GOLDEN
from conformance.checks.evidence.gathered import Gathered
from conformance.isolate.described import Descriptor
from conformance.judge.journal import Task
from conformance.spec.declarations import operations
from conformance.spec.vectors import Vector, load

Refuses = Callable[[Mapping[str, np.ndarray], Mapping[str, object]], str | None]


def a_task(operation: str = "rope.rotate", *, dtype: str = "float32", takes: Takes | None = None, **restrictions: object) -> Task:
    """Return a task of an implementation that takes float32 first, then float64."""
    profile = {"float32": "float32", "float64": "float64"}
    descriptor = Descriptor(0, "mine", operation, ("float32", "float64"), profile, takes or Takes(), False, restrictions, False)  # noqa: FBT003  in the order of its fields
    return Task(descriptor, dtype, profile[dtype])


def taken(arrays: Mapping[str, np.ndarray], parameters: Mapping[str, object]) -> str | None:
    """Refuse nothing."""
    del arrays, parameters
    return None


def subject(task: Task, refuses: Refuses = taken, *, declared: bool = False) -> Subject:
    """Return right code that refuses what it is told to refuse."""

    def call(arrays: object, parameters: Mapping[str, object]) -> Reply:
        named = dict(zip(operations()[task.operation].arrays, arrays, strict=True))  # type: ignore[call-overload]  # arrays in order
        reason = refuses(named, parameters)
        if reason is not None:
            raise CallRefusedError(reason, declared=declared)
        answer = known.answer(task.operation, known.unaltered(task), named, parameters)
        assert answer is not None
        return known.reply(answer, task.dtype)

    return Subject(operations()[task.operation], task.dtype, task.profile, call, task.descriptor.restrictions, task.descriptor.takes)


def gather(task: Task, refuses: Refuses = taken, *, count: int = 12, level: str = "core", declared: bool = False) -> Evidence:
    """Return the evidence of right code after some drawn cases and those that are further asked for."""
    code, gathered, stream = subject(task, refuses, declared=declared), Gathered(task, level), golden_checks.drawn(task, 7)
    for number, arguments in [*itertools.islice(stream, count)]:
        gathered.add(golden_checks.check(code, task, golden_checks.name(task, number), arguments))
    for number, arguments in gathered.further(stream):
        gathered.add(golden_checks.check(code, task, golden_checks.name(task, number), arguments))
    return gathered.evidence()


@pytest.mark.parametrize("operation", ["rope.rotate", "alibi.bias", "t5.bucket", "none.attend"])
def test_right_code_that_takes_everything_has_evidence_enough(operation: str) -> None:
    found = gather(a_task(operation))

    assert found.missing == ()
    assert len(found.excluded) > 8 * len(found.not_excluded)
    assert found.golden >= GOLDEN["core"]


def test_a_convention_that_is_declared_is_no_mistake() -> None:
    every = {mutant.name for mutant in known.mistakes(a_task())}
    narrow = {mutant.name for mutant in known.mistakes(a_task(layout="half", direction={"positive"}))}

    assert every - narrow == {"rope.rotate/layout=half", "rope.rotate/direction=positive"}
    assert "rope.rotate/layout=half" in {mutant.name for mutant in known.mistakes(a_task(layout={"half", "interleaved"}))}


def test_stored_vectors_would_convict_every_known_mistake_with_room_to_spare() -> None:
    task = a_task("alibi.slopes")
    vectors = [vector for vector in load(["alibi.slopes"]) if vector.error is None]

    left = [mutant for mutant in known.mistakes(task) if not any(convicts(vector, mutant.function, task) for vector in vectors)]

    assert left == []
    assert not any(convicts(vector, known.unaltered(task), task) for vector in vectors)


def convicts(vector: Vector, function: Callable[..., object], task: Task) -> bool:
    return known.convicted(vector, known.answer(task.operation, function, vector.inputs, vector.parameters), task)


def test_a_mistake_that_raises_is_convicted_by_it() -> None:
    def raising(*_: object, **__: object) -> None:
        raise IndexError

    vector = next(vector for vector in load(["rope.rotate"]) if vector.error is None)

    assert known.answer("rope.rotate", raising, vector.inputs, vector.parameters) is None
    assert convicts(vector, raising, a_task())


def test_a_mistake_that_shows_nothing_within_the_declaration_is_told_apart() -> None:
    found = gather(a_task("rope.rotate", layout="half", takes=Takes(lowest=0)))

    assert "negative-positions-clamped" in found.alike
    assert set(found.alike) <= set(found.not_excluded)
    assert found.missing == ()


def test_a_mistake_whose_calls_are_refused_would_not_have_been_noticed() -> None:
    def beyond(arrays: Mapping[str, np.ndarray], _: Mapping[str, object]) -> str | None:
        return "only to 2047" if arrays["positions"].max(initial=0) > 2047 else None

    found = gather(a_task("rope.rotate", layout="half"), beyond, count=24)

    assert "clamped-at-2048" in found.not_excluded
    assert "clamped-at-2048" not in found.alike


def test_of_code_that_refuses_nearly_everything_no_convention_is_said_to_make_no_difference() -> None:
    def few(arrays: Mapping[str, np.ndarray], _: Mapping[str, object]) -> str | None:
        return "one token only" if arrays["positions"].shape[-1] > 1 else None

    found = gather(a_task("rope.rotate"), few, count=24)

    assert "direction=negative" not in found.alike
    assert "layout=half" not in found.alike


def test_calls_that_a_declaration_leaves_out_hide_no_mistake() -> None:
    def beyond(arrays: Mapping[str, np.ndarray], _: Mapping[str, object]) -> str | None:
        return "its own predicate" if arrays["positions"].max(initial=0) > 2047 else None

    found = gather(a_task("rope.rotate", layout="half"), beyond, count=24, declared=True)

    assert found.refused == 0
    assert "clamped-at-2048" in found.alike


def test_code_that_refuses_everything_is_told_what_to_declare() -> None:
    found = gather(a_task(), lambda *_: "only position 0")

    assert found.golden == 0
    (told,) = found.missing
    assert told.startswith(f"all {found.refused} drawn calls were refused: 'only position 0'; declare what the code takes (its parameters,")


@pytest.mark.parametrize(
    ("refuses", "words"),
    [
        (lambda arrays, _: "too far" if arrays["positions"].max(initial=0) > 99 else None, "declare highest="),
        (lambda _, parameters: "no" if parameters["layout"] != "half" else None, "declare layout='half'"),
    ],
)
def test_code_that_refuses_more_than_a_quarter_is_told_the_declaration_that_says_so(refuses: Refuses, words: str) -> None:
    (told,) = gather(a_task(), refuses, count=30).missing

    assert "drawn calls inside the declaration were refused" in told
    assert words in told


@pytest.mark.parametrize(("level", "dtype", "needed"), [("core", "float32", 8), ("smoke", "float32", 4), ("core", "float64", FURTHER)])
def test_too_few_golden_cases_are_no_evidence(level: str, dtype: str, needed: int) -> None:
    def evidence(count: int) -> Evidence:
        task = a_task("alibi.slopes", dtype=dtype)
        gathered = Gathered(task, level)
        for number, arguments in itertools.islice(golden_checks.drawn(task, 7), count):
            gathered.add(golden_checks.check(subject(task), task, golden_checks.name(task, number), arguments))
        return gathered.evidence()

    assert evidence(needed - 1).missing[0].startswith(f"{needed - 1} of {needed - 1} drawn calls were judged, {needed} must be")
    assert not any("must be" in words for words in evidence(needed).missing)


def test_a_declaration_in_which_no_mistake_shows_is_too_narrow() -> None:
    found = gather(a_task("rope.rotate", layout="half", direction="positive", takes=Takes(lowest=0, highest=0)))

    (told,) = found.missing
    assert "known mistakes show within the declaration" in told


def test_every_call_that_a_declaration_has_is_enough() -> None:
    found = gather(a_task("alibi.slopes", num_heads=8, max_bias=8.0, slopes="code"))

    assert found.missing == ()
    assert 0 < found.golden < GOLDEN["core"]


def test_what_was_covered_is_said_by_parameter_position_and_axis() -> None:
    found = gather(a_task(layout="half", head_dim={16, 64}, takes=Takes(lowest=0, highest=500)))

    assert found.covered["layout"] == "half"
    assert found.covered["head_dim"] == "16, 64"
    assert found.covered["positions"].split(" to ")[0] == "0"
    assert int(found.covered["positions"].split(" to ")[1]) <= 500
    assert "token" in found.covered


def test_how_many_numbers_were_covered_is_said_where_axes_have_no_names() -> None:
    found = gather(a_task("t5.bucket", convention="t5"))

    assert int(found.covered["count"].split(" to ")[0].replace(",", "")) >= 1
    assert not [name for name in found.covered if name.startswith("_")]


def test_mistakes_are_asked_of_the_first_dtype_only() -> None:
    found = gather(a_task(dtype="float64"))

    assert found.excluded == found.not_excluded == ()
    assert found.missing == ()


NOT_AGREEING: tuple[tuple[str, dict[str, object], str], ...] = (
    ("axial_rope.rotate", {"ladder": "linear", "sides": ()}, "sides must be given with the ladder linear, got ()"),
    ("axial_rope.rotate", {"ladder": "tiled", "layout": "half"}, "layout must be interleaved with the ladder tiled, got half"),
    ("axial_rope.rotate", {"axes": [[32, 32]], "sides": [3, 4, 5]}, "sides must be as many as axes (2) or none, got (3, 4, 5)"),
    ("axial_rope.rotate", {"axes": (32, 32), "head_dim": 80}, "axes must add up to head_dim (80), got (32, 32)"),
    ("t5.bucket", {"convention": "deberta", "bidirectional": False}, "bidirectional must be true where convention is deberta, got False"),
    ("t5.bias", {"num_buckets": 9, "bidirectional": True}, "num_buckets must be even and at least 4 where bidirectional, got 9"),
    ("yarn.rotate", {"beta_fast": 1.0, "beta_slow": 32.0}, "beta_fast must be at least beta_slow (32), got 1.0"),
    ("partial_rope.rotate", {"head_dim": 64, "rotary_dim": 128}, "rotary_dim must be at most head_dim (64), got 128"),
    ("axial_rope.positions", {"heights": (4, 3), "merge": 2}, "heights must be multiples of merge (2), got (4, 3)"),
    ("mrope.rotate", {"sections": (16, 24, 24), "head_dim": 64}, "sections must add up to half of head_dim (32), got (16, 24, 24)"),
    ("mrope.rotate", {"sections": (1, 16, 1), "order": "interleaved"}, "sections must leave every axis its pairs in turns of 3"),
    ("mrope.positions", {"text": (1,), "times": (1, 2)}, "text, times, heights and widths must list as many grids, got (1,), (1, 2)"),
    ("dual_chunk.weights", {"local_size": 8, "chunk_size": 4}, "local_size must be below chunk_size (4), got 8"),
    ("ntk_aware.rotate", {"power": 0.5, "fastest": "kept"}, "power must be 1 where the fastest pair is kept, got 0.5"),
    ("sinusoidal.encode", {"odd": "error", "dim": {7, 9}}, "dim must be even, got"),
    (
        "llama3.rotate",
        {"low_freq_factor": 4.0, "high_freq_factor": 1.0},
        "high_freq_factor must be greater than low_freq_factor (4), got 1.0",
    ),
)


@pytest.mark.parametrize(("operation", "together", "reason"), NOT_AGREEING, ids=lambda value: value if isinstance(value, str) else "")
def test_values_that_do_not_agree_are_named_with_the_reason_and_what_would_do(
    operation: str, together: dict[str, object], reason: str
) -> None:
    taken = operations()[operation].parameters.keys() - together.keys()
    beside = {name: value for name, value in {"base": 10_000.0, "layout": "half"}.items() if name in taken}
    (said,) = gather(a_task(operation, **beside, **together)).missing
    first, _, changes = said.partition("; declare ")

    assert re.fullmatch(r"no call could be drawn: {}=.* and {}=.*".format(*together), first.split(" do not agree ")[0])
    assert f" do not agree ({reason}" in first
    assert not any(f"{name}=" in said for name in beside)
    for name, change in zip(together, changes.split(", or "), strict=True):
        other = ast.literal_eval(change.removeprefix(f"{name}=").split(" or ")[0])
        assert next(golden_checks.drawn(a_task(operation, **{**beside, **together, name: other}), 7))


def test_values_that_the_reference_takes_but_no_call_is_drawn_of_are_not_said_to_contradict_each_other() -> None:
    (said,) = gather(a_task("axial_rope.rotate", ladder="linear", base=1e6)).missing

    apart = "ladder='linear' and base=1000000.0 are never drawn together"
    assert said.startswith(f"no call could be drawn: {apart}; declare ladder='in_turns' or 'own'")


def test_a_value_beyond_those_that_are_tried_is_told_to_be_declared_with_others() -> None:
    (said,) = gather(a_task("partial_rope.rotate", rotary_dim=1024)).missing

    assert "rotary_dim=1024 agrees with no value that is tried of other parameters (rotary_dim must be at most head_dim" in said
    assert next(golden_checks.drawn(a_task("partial_rope.rotate", rotary_dim=1024, head_dim=2048), 7))
