"""Ask for what passed once more: with views, in arrays that held other numbers, and for its gradient; tell what shares memory."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, cycle, islice

import numpy as np

from conformance.adapt.embedding import natural
from conformance.calls.manner import EXPANDED, MODES, NO_GRAD, PARTS, REVERSED, SWAPPED, TRACKED, TURNS, Manner, swappable
from conformance.calls.outcomes import Advisory, Passed, Result
from conformance.calls.subject import Subject
from conformance.calls.takes import Takes
from conformance.checks.evidence import known
from conformance.checks.law_checks import declared
from conformance.checks.vector_checks import Checked, check
from conformance.golden.answers import UnprovableError, golden
from conformance.golden.calls import generator
from conformance.golden.features import dyadic
from conformance.golden.large import Large
from conformance.golden.neighbours import FULL, placed_otherwise
from conformance.judge.journal import Task
from conformance.spec.arguments import Arguments, is_position, members_apart, rows_of_their_own
from conformance.spec.constraints import constrained
from conformance.spec.declarations import operations
from conformance.spec.vectors import Vector
from refimpl.spec import Law, Operation, axis_names

#: How many calls with unlike conventions are asked for once more; how many failures of calls in turn are enough.
MOST, ENOUGH = 4, 2
#: So many rows there are where one is placed otherwise than those beside it, and the first two are alike, or the first and the last.
ROWS = 3
#: Over which axes people broadcast, the likeliest first.
BROADCAST = ("batch", "head", "query_head", "key_head", "token", "query", "key")
#: How cotangent and features are views, as those of a model that swaps heads and tokens: the first calls have several of both.
VIEWED = f"{SWAPPED} {TURNS[0]}"
#: Whether a cotangent is the same number everywhere, and in which views it and the features are, in turn.
COTANGENTS = ((False, VIEWED), (True, ""), (False, ""))
OPPOSITE = {"positive": "negative", "negative": "positive"}


def strided(subject: Subject, task: Task, checked: Sequence[Checked]) -> Iterator[Checked]:
    """Yield the judgement of some calls that passed, made with strided views, and of the largest with others, unless that is ruled out."""
    if "strided" not in subject.manners or task.takes.contiguous:
        return
    real = [each for each in checked if any(_several(array) for array in each.vector.inputs.values())]
    for each in dict.fromkeys((*_passed(real), *sorted(_passed(real, len(real)), key=_rows)[-1:])):
        for way in (f"{way} {turn}" for way in (SWAPPED, PARTS) for turn in TURNS):
            yield check(subject, task, replace(each.vector, id=f"{each.vector.id}-{way.replace(' ', '-')}"), Manner(views=way))
    for each in dict.fromkeys(each for each, _ in _telling(task, _passed(real, len(real)), _flipped)):
        yield check(subject, task, replace(each.vector, id=f"{each.vector.id}-{REVERSED}"), Manner(views=REVERSED))
    unlike = [each for each in _passed(real, len(real)) if _unlike_rows(each)]
    for each in dict.fromkeys((*_passed(real)[:1], *unlike[:1])):
        vector = None if task.descriptor.modifies_inputs else _repeated(task, each.vector)
        if vector is not None:
            yield check(subject, task, vector, Manner(views=EXPANDED))


def _several(array: np.ndarray) -> bool:
    return array.dtype.kind == "f" and array.size > 1


def _repeated(task: Task, vector: Vector) -> Vector | None:
    """Return the golden values of a call whose arrays hold the same numbers for each batch row, head or token; a cotangent is 1."""
    axes = operations()[task.operation].arrays
    arrays = {name: _once(axes[name], array) if _several(array) else array for name, array in vector.inputs.items()}
    if "cotangent" in arrays:
        arrays["cotangent"] = np.ones_like(arrays["cotangent"])
    call = Arguments(arrays, vector.parameters)
    return _golden(task, task.operation, call, f"{vector.id}-{EXPANDED}", "numbers that are there once and broadcast")


def _once(axes: str, array: np.ndarray) -> np.ndarray:
    """Return an array that is the same along its first axis of those over which people broadcast, and of which there is more than one."""
    names = axis_names(axes, array.ndim) or ()
    along = next((names.index(axis) for axis in BROADCAST if axis in names and array.shape[names.index(axis)] > 1), None)
    return array if along is None else np.repeat(array.take([0], axis=along), array.shape[along], axis=along)


def refilled(subject: Subject, task: Task, checked: Sequence[Checked]) -> Iterator[Checked]:
    """Yield the judgement of calls that passed, made in arrays that had held the numbers of another one when that was answered."""
    if "refilled" not in subject.manners:
        return
    operation, takes = operations()[task.operation], task.takes
    natural_ones = _passed([each for each in checked if _as_it_is(operation, _call(each), takes)], len(checked))
    decoding = [each for each in natural_ones if _tokens(operation, each) == 1]
    telling = (_telling(task, some, lambda call: _others(operation, call, takes)) for some in (natural_ones, decoding))
    for number, (each, other) in enumerate(chain.from_iterable(telling), start=1):
        vector = replace(each.vector, id=f"{each.vector.id}-refilled-{number}")
        yield check(subject, task, vector, Manner(before=tuple(other.arrays.values())))
    for number, (each, other) in enumerate(_telling(task, natural_ones, lambda call: _between_ends(operation, call)), start=1):
        identity, exposes = f"{each.vector.id}-between-{number}", "an array taken for one with the same ends"
        golden_one = _golden(task, task.operation, other, identity, exposes)
        if golden_one is not None:
            yield check(subject, task, golden_one, Manner(before=tuple(each.vector.inputs.values())))


def alike(subject: Subject, task: Task, checked: Sequence[Checked]) -> Iterator[Checked]:
    """Yield the judgement of calls in which all rows of the batch but one are placed as the first is: not all code looks at each."""
    operation = operations()[task.operation]
    for each in _passed([each for each in checked if _as_it_is(operation, _call(each), task.takes)], len(checked)):
        own = {name: array for name, array in each.vector.inputs.items() if "[batch]" in operation.arrays[name]}
        own = {name: array for name, array in own.items() if rows_of_their_own(operation.arrays[name], array)}
        rows = min(map(len, own.values()), default=0)
        other = next((row for row in range(1, rows) if any(not np.array_equal(array[row], array[0]) for array in own.values())), None)
        if rows < ROWS or other is None:
            continue
        for place in (1, rows - 1):
            taken = [other if row == place else 0 for row in range(rows)]
            call = _call(each).with_arrays(**{name: array[taken] for name, array in own.items()})
            vector = _golden(task, task.operation, call, f"{each.vector.id}-rows-{place}", "rows that are taken for equal by some of them")
            if vector is not None:
                yield check(subject, task, vector)
        return


def _tokens(operation: Operation, each: Checked) -> int:
    """Return how many tokens a call has that are turned, encoded or asked with."""
    names = ((operation.arrays[name], array) for name, array in each.vector.inputs.items() if is_position(name))
    return min((array.shape[-2 if axes.endswith(" axis") else -1] for axes, array in names if array.ndim), default=0)


def _telling(
    task: Task, checked: Sequence[Checked], others: Callable[[Arguments], Iterator[Arguments]]
) -> Iterator[tuple[Checked, Arguments]]:
    """Yield calls with others that are like them but for an array, and whose right answer would be convicted there: one for each array."""
    told = set[str]()
    for each in checked:
        for other in others(_call(each)):
            changed = " ".join(name for name, array in other.arrays.items() if array is not each.vector.inputs[name])
            if changed not in told and _unlike(task, each.vector, other):
                told.add(changed)
                yield each, other


def _unlike(task: Task, vector: Vector, other: Arguments) -> bool:
    """Whether the answer to another call would be a wrong one to this."""
    found = known.answer(task.operation, known.unaltered(task), other.arrays, other.parameters)
    return found is not None and known.convicted(vector, found, task)


def _flipped(call: Arguments) -> Iterator[Arguments]:
    """Yield the call with each array in turn from its end to its start."""
    for name, array in call.arrays.items():
        yield call.with_arrays(**{name: np.flip(array)})


def _others(operation: Operation, call: Arguments, takes: Takes) -> Iterator[Arguments]:
    """Yield calls of the same shapes that the code takes as they are, and that differ in their positions, or in one other array."""
    yield from (other for _, other in placed_otherwise(operation, call, takes) if _as_it_is(operation, other, takes))
    for name, array in _numbers(call):
        yield from _suiting(operation, call, name, np.roll(array, 1))


def _between_ends(operation: Operation, call: Arguments) -> Iterator[Arguments]:
    """Yield calls that differ in one array between its first and last tokens, or rows: not all caches look there."""
    for name, array in _numbers(call):
        changed, between = array.copy(), np.s_[..., 1:-1, :] if array.ndim > 1 else np.s_[1:-1]
        changed[between] = np.roll(array[between], 1)
        yield from _suiting(operation, call, name, changed)


def _suiting(operation: Operation, call: Arguments, name: str, changed: np.ndarray) -> Iterator[Arguments]:
    """Yield the call with another array, unless that breaks a rule which the call keeps: right code may overflow there, or raise."""
    other = call.with_arrays(**{name: changed})
    kept, held = (constrained(operation.name, dict(each.arrays), each.parameters) for each in (call, other))
    if all(np.array_equal(held[each], other.arrays[each]) for each in held if np.array_equal(kept[each], call.arrays[each])):
        yield other


def _numbers(call: Arguments) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the real arrays of a call that are no positions."""
    yield from ((name, array) for name, array in call.arrays.items() if array.dtype.kind == "f" and not is_position(name))


def tracked(subject: Subject, task: Task, checked: Sequence[Checked]) -> Iterator[Checked]:
    """Yield the judgement of some calls that passed, made as in training, where the library differentiates."""
    if "differentiated" in subject.manners:
        for each in _passed(checked, 2):
            yield check(subject, task, replace(each.vector, id=f"{each.vector.id}-{TRACKED}"), Manner(views=TRACKED))


def inferring(subject: Subject, task: Task, checked: Sequence[Checked], *, isolated: bool = True) -> Iterator[Checked]:
    """Yield the judgement of some calls that passed plainly, made with gradients off, where the library differentiates; of all what fails.

    What code keeps of a call in inference mode can't be differentiated, nor written to, later: an ``isolated`` process alone is asked
    for that, behind all other calls.
    """
    if "differentiated" in subject.manners:
        plain = [each for each in checked if not each.manner.unlike_plain]
        in_turn = _in_turn(subject, task, [each for each in checked if each in plain or each.manner.before])
        yield from islice((each for each in in_turn if each.failed), ENOUGH)
        for mode in MODES if isolated else (NO_GRAD,):
            for each in _passed(plain, 2):
                yield _in_mode(subject, task, each, mode)


def _in_turn(subject: Subject, task: Task, checked: Sequence[Checked]) -> Iterator[Checked]:
    """Yield the judgement of all drawn calls that passed, but large ones, with gradients off, each right behind what it is beside."""
    passed = [each for each in checked if isinstance(each.judgement.outcome, Passed) and each.vector.drawn and each.reply is not None]
    named = {each.vector.id: each for each in passed}
    for each in passed:
        of = named.get("-".join(each.vector.id.split("-")[:2]), each)
        yield from (_in_mode(subject, task, one, NO_GRAD) for one in dict.fromkeys((of, each)))


def _in_mode(subject: Subject, task: Task, each: Checked, mode: str) -> Checked:
    return check(subject, task, replace(each.vector, id=f"{each.vector.id}-{mode}"), Manner(views=mode, before=each.manner.before))


def gradients(subject: Subject, task: Task, checked: Sequence[Checked], seed: int) -> Iterator[Checked]:
    """Yield the judgement of gradients of some calls that passed, where the library differentiates and the oracle knows the gradient.

    Cotangents are any, of which some are strided views, or the same number everywhere, which is there once where a result is summed.
    """
    if "differentiated" not in subject.manners:
        return
    operation, takes = operations()[task.operation], task.takes
    eligible = [each for each in checked if _as_it_is(operation, _call(each), takes) and adjoint(operation, _call(each), np.zeros(0))]
    asked = dict.fromkeys((*_passed(eligible, 2), *_longest(eligible)))
    for each, (summed, views) in zip(asked, cycle(COTANGENTS), strict=False):
        shape = each.vector.inputs["x"].shape
        cotangent = np.ones(shape) if summed else dyadic(generator(operation, "cotangent", seed, each.vector.id), shape)
        name, call = adjoint(operation, _call(each), cotangent) or (task.operation, _call(each))
        vector = _golden(task, name, call, f"{each.vector.id}-gradient", "a wrong gradient")
        if vector is not None:
            viewed = "" if takes.contiguous else views
            yield check(subject, task, _as_gradient(vector, each.vector), Manner(views=viewed, cotangents=(cotangent,)))


def large_gradients(subject: Subject, task: Task, calls: Iterable[tuple[str, Large]], seed: int) -> Iterator[Checked]:
    """Yield the judgement of gradients of calls with many rows, heads and tokens, by the elements that were chosen of their results."""
    operation, takes = operations()[task.operation], task.takes
    if "differentiated" not in subject.manners or "x" not in operation.arrays:
        return
    for name, each in calls:
        identity = f"{name}-gradient"
        cotangent = dyadic(generator(operation, "cotangent", seed, identity), each.arguments.arrays["x"].shape)
        adjoined = adjoint(operation, each.arguments, cotangent) if _as_it_is(operation, each.arguments, takes) else None
        vector = None if adjoined is None else _golden(task, *adjoined, identity, "a wrong gradient of many heads or tokens", each.at)
        if vector is not None:
            asked = replace(vector, operation=task.operation, inputs=each.arguments.arrays, parameters=each.arguments.parameters)
            yield check(subject, task, asked, Manner(views=VIEWED if each.strided else "", cotangents=(cotangent,)))


def _longest(checked: Sequence[Checked]) -> Iterator[Checked]:
    """Yield the call whose features are the longest along each axis in turn."""
    passed = [each for each in checked if isinstance(each.judgement.outcome, Passed) and not each.vector.at]
    for axis in range(max((each.vector.inputs["x"].ndim for each in passed), default=0)):
        yield max(passed, key=lambda each: each.vector.inputs["x"].shape[axis : axis + 1])


def _call(checked: Checked) -> Arguments:
    """Return the call that was judged."""
    return Arguments(checked.vector.inputs, checked.vector.parameters)


def _golden(
    task: Task, operation: str, call: Arguments, identity: str, exposes: str, at: Mapping[str, np.ndarray] | None = None
) -> Vector | None:
    """Return golden values, of all elements or of those that are chosen; none where the oracle has none."""
    try:
        return golden(operation, call, identity=identity, exposes=exposes, profiles=(task.profile,), at=at)
    except UnprovableError:
        return None


def _as_it_is(operation: Operation, call: Arguments, takes: Takes) -> bool:
    """Whether a call is made as it is: one that is put into longer inputs, or split by rows, gives the gradient of another."""
    batched = any(is_position(name) and rows_of_their_own(operation.arrays[name], array) for name, array in call.arrays.items())
    return natural(operation, call.arrays, takes) and not (takes.one_row and batched)


def adjoint(operation: Operation, call: Arguments, cotangent: np.ndarray) -> tuple[str, Arguments] | None:
    """Return the call that gives the gradient in ``x``: of its twin, else of itself in the other direction, if either is one."""
    scheme = operation.name.split(".", 1)[0]
    twin = operations().get(f"{scheme}.gradient")
    if twin is not None and list(twin.arrays) == [*operation.arrays, "cotangent"]:
        return twin.name, call.with_arrays(cotangent=cotangent)
    direction = OPPOSITE.get(str(call.parameters.get("direction")))
    turns = Law.LINEAR in declared(operation.name) and list(operation.results.values()) == [operation.arrays.get("x")]
    turns = turns and not members_apart(call.parameters)
    if direction is None or not turns or "cotangent" in operation.arrays or call.parameters.get("layout") == "interleaved_to_half":
        return None
    return operation.name, call.with_arrays(x=cotangent).with_parameters(direction=direction)


def _as_gradient(vector: Vector, of: Vector) -> Vector:
    """Return the golden values of a gradient as what is expected of the call that it is the gradient of."""
    return replace(vector, operation=of.operation, inputs=of.inputs, parameters=of.parameters)


def aliases(task: Task, checked: Sequence[Checked]) -> Iterator[Result]:
    """Yield what is worth knowing of results that share memory with an input, where the declaration doesn't say that it is written to."""
    told = dict.fromkeys(alias for each in checked if each.reply is not None for alias in each.reply.aliases)
    if told and not task.descriptor.modifies_inputs:
        message = f"{', '.join(told)}: what is written to the one changes the other"
        label, operation = task.descriptor.label, task.operation
        yield Result(label, operation, "aliasing", "advisory", task.dtype, task.profile, Advisory(message))


def _passed(checked: Sequence[Checked], least: int = 1) -> list[Checked]:
    """Return drawn calls that passed plainly, one of each combination of conventions.

    First come those with several heads, tokens and rows, then the largest. Where these are fewer than that, others follow.
    """
    plain = [each for each in checked if isinstance(each.judgement.outcome, Passed) and each.vector.drawn and not each.vector.at]
    arrays = {each: each.vector.inputs.values() for each in plain}
    plain.sort(key=lambda each: (sum(map(swappable, arrays[each])), _axes(each), sum(array.size for array in arrays[each])), reverse=True)
    kinds: dict[str, Checked] = {}
    for each in plain:
        kinds.setdefault(str([value for value in each.vector.parameters.values() if isinstance(value, str | bool)]), each)
    chosen = list(kinds.values())[:MOST]
    return [*chosen, *[each for each in plain if each not in chosen][: max(least - len(chosen), 0)]]


def _axes(each: Checked) -> int:
    """Return how many axes of all arrays are longer than 1: along the others no stride shows."""
    return sum(size > 1 for array in each.vector.inputs.values() for size in array.shape)


def _rows(each: Checked) -> int:
    """Return how many rows the batch has."""
    return max((len(array) for array in each.vector.inputs.values() if array.ndim == FULL), default=0)


def _unlike_rows(each: Checked) -> bool:
    """Whether rows of the batch have positions of their own."""
    every, placed = operations()[each.vector.operation].arrays, ((n, a) for n, a in each.vector.inputs.items() if is_position(n))
    return any(rows_of_their_own(every[name], array) and len(array) > 1 for name, array in placed)
