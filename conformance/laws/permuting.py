"""Laws of weights that move to another layout: they come back, pairs stay pairs, and every head and column goes alone."""

from collections.abc import Iterator, Mapping

import numpy as np

from conformance.laws.trial import Checker, Sides, Trial, exactly
from conformance.spec.arguments import Parameters
from refimpl.spec import Law

OPPOSITE = {"interleaved_to_half": "half_to_interleaved", "half_to_interleaved": "interleaved_to_half"}


def restored(trial: Trial) -> Iterator[Sides]:
    """Rows that were moved are moved back by the other conversion."""
    call = trial.arguments
    back = call.with_arrays(weight=trial.values(call)).with_parameters(conversion=OPPOSITE[call.parameters["conversion"]])
    yield exactly(trial.values(back), call.arrays["weight"])


def paired(trial: Trial) -> Iterator[Sides]:
    """Each pair turned by a whole number of its own, so that nothing is rounded, queries and keys keep their products."""
    call, rule = trial.arguments, trial.arguments.parameters
    keys = call.with_arrays(weight=trial.example.others["weight"])
    before, after = str(rule["conversion"]).split("_to_")
    moved = scores(trial.values(call), trial.values(keys), after, rule)
    yield exactly(moved, scores(call.arrays["weight"], keys.arrays["weight"], before, rule))


def scores(q: np.ndarray, k: np.ndarray, layout: str, rule: Parameters) -> np.ndarray:
    """Return the products of all columns of two weights, head by head."""
    (turned, rest), (other, beside) = (split(each, layout, rule) for each in (q, k))
    pairs = np.arange(turned.shape[1])[:, None]
    turns = (pairs + 1) + (pairs + 2) * 1j
    return np.asarray(np.einsum("hpi,hpj->hij", turned * turns, other.conj()).real + np.einsum("hci,hcj->hij", rest, beside))


def split(weight: np.ndarray, layout: str, rule: Parameters) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs of every head and column as complex numbers, and the channels that rest."""
    heads = weight.astype(np.float64).reshape(rule["num_heads"], rule["head_dim"], -1)
    channels = part(rule)
    own = heads[:, channels]
    first, second = np.split(own, 2, axis=1) if layout == "half" else (own[:, ::2], own[:, 1::2])
    return first + 1j * second, np.delete(heads, channels, axis=1)


def part(rule: Parameters) -> np.ndarray:
    """Return the channels of a head that turn."""
    width = rule["rotary_dim"] or rule["head_dim"]
    return np.arange(width) + (0 if rule["placement"] == "first" else rule["head_dim"] - width)


def heads(trial: Trial) -> Iterator[Sides]:
    """The rows of the first head, and of the last, alone are those that they have among all heads."""
    call, width = trial.arguments, trial.whole("head_dim")
    for own in (slice(width), slice(-width, None)):
        alone = call.with_arrays(weight=call.arrays["weight"][own]).with_parameters(num_heads=1)
        yield exactly(trial.values(alone), trial.values(call)[own])


def passes(trial: Trial) -> Iterator[Sides]:
    """The rows of channels that don't turn are where they were."""
    call, rule = trial.arguments, trial.arguments.parameters
    came, given = (each.reshape(rule["num_heads"], rule["head_dim"], -1) for each in (trial.values(call), call.arrays["weight"]))
    yield exactly(np.delete(came, part(rule), axis=1), np.delete(given, part(rule), axis=1))


def columns(trial: Trial) -> Iterator[Sides]:
    """The last column as a bias, and as a weight of one column, has the rows that it has among others."""
    call = trial.arguments
    weight, came = call.arrays["weight"], trial.values(call)
    if weight.ndim == 1:
        yield exactly(trial.values(call.with_arrays(weight=weight[:, None]))[:, 0], came)
        return
    yield exactly(trial.values(call.with_arrays(weight=weight[:, -1:])), came[:, -1:])
    yield exactly(trial.values(call.with_arrays(weight=weight[:, -1])), came[:, -1])


LAWS: Mapping[Law, Checker] = {
    Law.RESTORED: restored,
    Law.PAIRED: paired,
    Law.HEADS: heads,
    Law.PASSES: passes,
    Law.COLUMNS: columns,
}
