"""Laws of every operation: what is right of any function, whatever it computes."""

import contextlib
from collections.abc import Iterator

import numpy as np

from conformance.calls.manner import OFTEN, PLAIN, Manner
from conformance.calls.outcomes import Errored, Reason
from conformance.calls.subject import CallFailedError, CallRefusedError, Reply
from conformance.isolate.traces import difference, raised
from conformance.laws.draw import seen_by_all
from conformance.laws.trial import Sides, Trial, Violation
from conformance.spec.arguments import Arguments
from conformance.spec.choices import agree
from conformance.spec.constraints import constrained
from conformance.spec.profiles import FORMATS
from refimpl.spec import axis_names

SIZES = ("head_dim", "axes", "sections", "dim", "num_heads", "num_buckets")
#: So many of the elements that differ most are put to the oracle.
MOST = 4
GROWING = {"token", "query", "key", "offset"}


def shape(trial: Trial) -> Iterator[Sides]:
    """Every result has the axes that the operation declares, and nothing else is returned."""
    reply = trial.reply(trial.arguments)
    if set(reply.values) != set(trial.operation.results):
        message = f"results must be {', '.join(trial.operation.results)}, got {', '.join(reply.values) or 'nothing'}"
        raise Violation(Reason.SHAPE, message)
    for name, value in reply.values.items():
        expected = trial.shape(trial.arguments, name)
        if value.shape != expected:
            message = f"{name} must have shape {expected}, got {value.shape}"
            raise Violation(Reason.SHAPE, message)
    yield from ()


def dtype(trial: Trial) -> Iterator[Sides]:
    """A result is at least as wide as the dtype of the real input; a result of integers has an integer dtype."""
    reply = trial.reply(trial.arguments)
    for name in trial.operation.results:
        wrong = _wrong_dtype(trial, name, reply.dtypes.get(name, ""))
        if wrong:
            message = f"{name} must have {wrong}, got {reply.dtypes.get(name)}"
            raise Violation(Reason.DTYPE, message)
    yield from ()


def _wrong_dtype(trial: Trial, name: str, got: str) -> str | None:
    if name in trial.operation.integers:
        return None if "int" in got else "an integer dtype"
    if got not in FORMATS:
        return "a floating dtype"
    real = [array for array in trial.operation.arrays if array not in trial.operation.integers | trial.operation.numbers]
    lost = FORMATS[got][0] < FORMATS[trial.subject.dtype][0]
    return f"dtype {trial.subject.dtype}" if real and lost else None


def inputs_unmodified(trial: Trial) -> Iterator[Sides]:
    """The arrays that were passed hold afterwards what they held before."""
    words = modification(trial.reply(trial.arguments))
    if words:
        raise Violation(Reason.INPUT_MODIFIED, words)
    yield from ()


def modification(reply: Reply) -> str:
    """Return in words what a call changed of its inputs, with what it wrote there where that is its result."""
    written = [alias for alias in reply.aliases if alias.rsplit(" ", 1)[-1] in reply.modified]
    return f"inputs must stay as they are, got {', '.join((', '.join(reply.modified) + ' changed', *written))}" if reply.modified else ""


def determinism(trial: Trial) -> Iterator[Sides]:
    """The same call gives the same bits."""
    first, second = trial.reply(trial.arguments), _again(trial)
    for name, value in first.values.items():
        if not same_bits(value, second.values[name]):
            raise Violation(Reason.NOT_DETERMINISTIC, difference(name, value, second.values[name]))
    if trial.patience.left and all(array.any() for array in trial.arguments.arrays.values()):
        trial.patience.left -= 1
        unlike = _again(trial, OFTEN).unlike
        if unlike:
            raise Violation(Reason.NOT_DETERMINISTIC, unlike)
    yield from ()


def _again(trial: Trial, manner: Manner = PLAIN) -> Reply:
    """Return the answer to a call that was answered before; an exception is another answer then."""
    try:
        return trial.ask(trial.arguments, manner)
    except CallFailedError as failure:
        if not isinstance(failure.outcome, Errored):
            raise
        raise Violation(Reason.NOT_DETERMINISTIC, raised(failure.outcome.message)) from failure


def same_bits(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two results are the same, NaN being NaN."""
    return one.shape == other.shape and bool(np.array_equal(one, other, equal_nan=one.dtype.kind == "f"))


def batch_independence(trial: Trial) -> Iterator[Sides]:
    """Each row of a batch (or each token, where there is no batch) has the result that it has alone."""
    axis = _independent_axis(trial)
    if axis is None:
        return
    entry = -1 if axis == "batch" or not trial.subject.counted else 0
    axes, arrays = trial.operation.arrays, trial.arguments.arrays
    alone = Arguments({name: _take(axes[name], axis, entry, array) for name, array in arrays.items()}, trial.arguments.parameters)
    whole, part = trial.reply(trial.arguments), trial.reply(alone)
    for name in trial.operation.results:
        value = trial.values(trial.arguments, name)
        kept = _take(trial.operation.results[name], axis, entry, value)
        yield from equal_but_for_noise(trial, alone, (kept, trial.values(alone, name)), name, (whole, part))


def _independent_axis(trial: Trial) -> str | None:
    """Return the axis along which results don't depend on each other, the batch where there is one."""
    if trial.operation.arrays.get("relative_positions"):
        return "..."
    results = " ".join(trial.operation.results.values()).replace("[", "").replace("]", "").split()
    candidates = [axis for axis in ("batch", "token", "offset", "query") if axis in results and _has(trial, axis)]
    return candidates[0] if candidates else None


def _has(trial: Trial, axis: str) -> bool:
    return any(axis in (axis_names(axes, trial.arguments.arrays[name].ndim) or ()) for name, axes in trial.operation.arrays.items())


def _take(axes: str, axis: str, entry: int, array: np.ndarray) -> np.ndarray:
    """Return the last entry along an axis (or the first), keeping the axis."""
    names = ("...",) if axes == "..." else axis_names(axes, array.ndim) or ()
    return np.take(array, [entry], axis=names.index(axis)) if axis in names else array


def equal_but_for_noise(
    trial: Trial,
    call: Arguments,
    sides: tuple[np.ndarray, np.ndarray],
    name: str,
    replies: tuple[Reply, Reply],
    other: tuple[Arguments, np.ndarray] | None = None,
) -> Iterator[Sides]:
    """Yield nothing for the same bits, else where both sides differ most, with twice what the oracle allows these elements.

    Of two calls that differ the rows may differ by a constant, where that is free. Where one side is of an ``other`` call, whose roundings
    may be larger, as those of a bias that counts from a later key, it is allowed what that call's elements, by their flat indices, are.
    """
    if same_bits(*sides):
        return
    left, right = sides
    changed = replies[0].dtypes.get(name) != replies[1].dtypes.get(name)
    free = call is not trial.arguments and trial.free_rows(call)
    if free:
        left, right = left - _first(left), right - _first(right)
    most = _farthest_apart(left, right)
    whole, places = (call, np.arange(left.size)) if other is None else other
    allowed = np.zeros(most.size) if changed else trial.allowed(call, name, most) + trial.allowed(whole, name, places[most])
    if free and not changed:
        allowed = allowed + 2 * trial.allowed(call, name, most - most % left.shape[-1])
    yield Sides(left.ravel()[most], right.ravel()[most], allowed, name)


def _farthest_apart(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the flat indices of the elements that differ most, as a share of their size too, those that aren't finite first."""
    with np.errstate(all="ignore"):
        off = np.nan_to_num(np.abs(left - right), nan=np.inf, posinf=np.inf).ravel()
        share = off / (np.abs(left) + np.abs(right)).ravel()
    alike = np.equal(left, right).ravel()
    ranked = (np.argsort(np.where(alike, -1.0, np.nan_to_num(by, nan=np.inf)), kind="stable")[::-1] for by in (off, share))
    return np.unique(np.concatenate([order[:MOST] for order in ranked]))


def _first(rows: np.ndarray) -> np.ndarray:
    """Return the first number of each row; nothing is taken off where that is hidden."""
    first = rows[..., :1]
    return np.where(np.isfinite(first), first, 0.0)


def history_independence(trial: Trial) -> Iterator[Sides]:
    """A call gives the same before and after calls with other parameters and longer inputs."""
    before = trial.reply(trial.arguments)
    with contextlib.suppress(CallRefusedError):
        trial.ask(interlude(trial))
    after = trial.ask(trial.arguments)
    for name in trial.operation.results:
        value = trial.values(trial.arguments, name)
        again = np.asarray(after.values[name], dtype=np.float64)
        if again.shape != value.shape:
            message = f"{name} must keep shape {value.shape} whatever was called before, got {again.shape}"
            raise Violation(Reason.HISTORY, message)
        yield from equal_but_for_noise(trial, trial.arguments, (value, again), name, (before, after))


def interlude(trial: Trial) -> Arguments:
    """Return a call of the same width with other parameters and longer inputs."""
    call, drawn = trial.arguments, trial.example.parameters
    sized = {*SIZES, *" ".join(trial.operation.arrays.values()).split()}
    kept = {name: value for name, value in call.parameters.items() if name in sized}
    parameters = {**drawn, **kept}
    arrays = {name: _longer(trial, name, array) for name, array in call.arrays.items()}
    chosen = parameters if agree(parameters) else call.parameters
    return _visible(Arguments(constrained(trial.operation.name, arrays, chosen), chosen))


def _visible(call: Arguments) -> Arguments:
    return Arguments(seen_by_all(call.arrays), call.parameters) if call.parameters.get("causal") else call


def _longer(trial: Trial, name: str, array: np.ndarray) -> np.ndarray:
    """Return twice the array along each axis of tokens; positions go on where they ended."""
    axes = trial.operation.arrays[name]
    names = ("token",) if axes == "..." else axis_names(axes, array.ndim) or ()
    goes_on = name.endswith("positions") and name != "relative_positions"
    for index, axis in enumerate(names):
        if axis in GROWING:
            more = array + (array.max() - array.min() + 1) if goes_on else array
            array = np.concatenate([array, more], axis=index)
    return array
