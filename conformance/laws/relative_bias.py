"""Laws of the plain relative bias: nothing is rounded, so nothing may differ."""

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from conformance.arguments import Arguments
from conformance.laws.trial import Checker, Sides, Trial
from refimpl.spec import Law


def translation(trial: Trial) -> Iterator[Sides]:
    """A common shift of all positions changes nothing."""
    call = trial.arguments
    moved = call.with_arrays(**{name: call.arrays[name] + trial.example.shift for name in ("query_positions", "key_positions")})
    left = trial.values(call)
    yield Sides(left, trial.values(moved), np.zeros_like(left))


def saturation(trial: Trial) -> Iterator[Sides]:
    """Beyond the largest distance the bias is that of the outermost row, whatever the distance."""
    call, first = trial.arguments, trial.arguments.parameters["sign"] == "key_minus_query"
    far = trial.whole("max_distance") + call.arrays["key_positions"].max()
    moved = call.with_arrays(query_positions=call.arrays["query_positions"] + far)
    left = trial.values(moved)
    outermost = call.arrays["table"][0 if first else -1]
    yield Sides(left, np.broadcast_to(outermost[:, None, None], left.shape), np.zeros_like(left))


def exact(trial: Trial, call: Arguments, _: str) -> np.ndarray:
    """Return that an entry of a table is the same whenever it is read."""
    return np.zeros_like(trial.values(call))


LAWS: Mapping[Law, Checker] = {}

#: The same law where an operation's arguments or results have another form.
SPECIAL: Mapping[tuple[str, Law], Checker] = {
    ("relative_bias.bias", Law.TRANSLATION): translation,
    ("relative_bias.bias", Law.SATURATION): saturation,
}

#: What computing twice may change.
NOISE: Mapping[str, Callable[[Trial, Arguments, str], np.ndarray]] = {"relative_bias.bias": exact}
