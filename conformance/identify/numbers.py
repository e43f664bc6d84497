"""Recover what a function without positions gives: frequencies of pairs, slopes of heads, or one factor."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from conformance.identify import rotary, turns
from conformance.identify.asking import Refused
from conformance.identify.findings import ANOTHER, LISTED, WITH_NUMBER, Identity, Seen
from conformance.identify.ladders import Ladder, followed, rule
from conformance.identify.probe import Probe
from conformance.identify.rules import giving, taking
from refimpl.spec import Operation

TOLERANCE = 1e-6
#: Slopes are told apart where bfloat16 rounds them.
SLOPE = 2.0**-8
EXACT = 2.0**-24
#: A length that no width is.
COUNT = 5


def identify(probe: Probe) -> Identity:
    """Return what a function that takes settings only, or factors of pairs besides, is."""
    value = one(probe)
    if probe.takes("length") and _counted(probe, value):
        message = "there are as many results as the length says: rows, one for each token"
        raise Refused(message)
    if value.ndim == 0 or (value.size == 1 and not {"width", "num_heads"} & set(probe.settings)):
        return _factor(probe, float(value.reshape(())))
    if value.ndim != 1:
        return Identity(None, f"one array of shape {value.shape}, which is neither frequencies nor slopes")
    if probe.takes("num_heads"):
        return slopes(value, probe.settings)
    return frequencies(value, probe)


def _counted(probe: Probe, value: np.ndarray) -> bool:
    """Whether the shape of what comes back follows the length."""
    try:
        return one(probe.having(length=COUNT)).shape != value.shape
    except Refused:
        return False


def one(probe: Probe) -> np.ndarray:
    """Return the only result, without axes of one."""
    values = probe(**_factors(probe))
    value = np.stack(values) if _listed(values, probe) else values[0]
    if len(values) != 1 and not _listed(values, probe) and not _with_number(values):
        message = f"it gave {len(values)} results"
        raise Refused(message)
    if not np.all(np.isfinite(value)):
        message = "it gave numbers that aren't finite"
        raise Refused(message)
    if not np.any(value):
        message = "it gave zeros only"
        raise Refused(message)
    return np.asarray(value.squeeze())


def _listed(values: Sequence[np.ndarray], probe: Probe) -> bool:
    """Whether there is a number for every head, or every pair, and not one array of them."""
    asked = (probe.settings.get("num_heads"), int(probe.settings.get("width", 0)) // 2)
    return len(values) > 1 and len(values) in asked and not any(value.ndim for value in values)


def _with_number(values: Sequence[np.ndarray]) -> bool:
    """Whether an array comes with one number, as frequencies do with an attention factor."""
    return len(values) == 2 and values[0].ndim == 1 and values[1].size == 1


def _factors(probe: Probe) -> dict[str, np.ndarray]:
    return turns.of_pairs(probe, int(probe.settings.get("width", 64)) // 2)


def told(identity: Identity, probe: Probe) -> Identity:
    """Return what a function is with what it returns, where that is a list of numbers."""
    values = probe(**_factors(probe))
    if _with_number(values):
        number = f"it returns {values[1].item():.6g} besides, which may be an attention factor: the adapter leaves it out"
        return replace(identity, view=WITH_NUMBER, seen=(*identity.seen, number))
    if not _listed(values, probe):
        return identity
    return replace(identity, view=LISTED, seen=(f"it returns a list of {len(values)} numbers", *identity.seen))


def frequencies(value: np.ndarray, probe: Probe) -> Identity:
    """Return the identity of radians per position."""
    width = int(probe.settings.get("width", 2 * value.size))
    if width != 2 * value.size:
        return Identity(None, f"{value.size} numbers for a width of {width}: frequencies are half as many")
    ladders, told = [*_ladders(value, probe)], {"head_dim": width}
    candidates, narrower = taking(*probe.plan.probed, axes=["pair"]), [*_narrower(probe, width, ladders[0])]
    wide = [replace(ladder, settings={**ladder.settings, "head_dim": width}) for ladder in ladders]
    found, said = rule([*wide, *narrower], candidates, told, probe.settings) if narrower else (None, ())
    everywhere = not narrower or found is not None
    if found is None:
        found, said = rule(ladders, candidates, told, probe.settings)
    if found is None:
        listed = ", ".join(f"{theta:.6g}" for theta in value)
        return Identity(None, "frequencies on no known ladder", {}, (f"radians per position: {listed}",))
    shown = found.parameters if everywhere else {**found.parameters, "head_dim": Seen(width, why=ANOTHER)}
    return Identity(found.operation.name, found.words, shown, said, found.notes, follows=followed(found, ladders, told))


def _narrower(probe: Probe, width: int, whole: Ladder) -> Iterator[Ladder]:
    """Yield the frequencies of half the width in the same call, where the function is told of it and is given nothing else."""
    if not probe.takes("width") or _factors(probe):
        return
    try:
        value = one(probe.having(width=width // 2))
    except Refused:
        return
    if value.shape == (width // 4,):
        yield Ladder(value, np.full(value.shape, EXACT), {**whole.settings, "head_dim": width // 2})


def _ladders(value: np.ndarray, probe: Probe) -> Iterator[Ladder]:
    """Yield the frequencies without factors, and with some on both sides of the length at which others may count."""
    error, arrays = np.full(value.shape, EXACT), _factors(probe)
    several = len(arrays) == rotary.PAIR
    settings = {name: probe.settings[name] for name in rotary.AROUND[0] if several or probe.takes(name)}
    yield Ladder(value, error, settings, arrays)
    lists = turns.lists(arrays, value.size)
    for around in rotary.AROUND if several else ({},) if lists else rotary.LONGER if probe.takes("length") else ():
        yield Ladder(one(probe.having(**around, **lists)), error, {**settings, **around}, lists)


def slopes(value: np.ndarray, asked: Mapping[str, Any]) -> Identity:
    """Return the identity of one number per head."""
    known = taking(axes=["head"]) if np.all(value != 0) else []
    found = giving(known, {}, value, SLOPE * np.abs(value), asked, {"num_heads": value.size})
    if found is None:
        listed = ", ".join(f"{slope:.6g}" for slope in value)
        return Identity(None, "a slope per head, of no known rule", seen=(f"slopes: {listed}",))
    shown = {"num_heads": Seen(value.size), **found.parameters}
    return Identity(found.operation.name, f"slopes of {value.size} heads, {found.words}", shown, (), found.notes)


def _factor(probe: Probe, value: float) -> Identity:
    """Return the identity of one number."""
    told = {*probe.plan.needs, *probe.plan.optional.values()}
    found = giving([one for one in taking(axes=[""]) if _required(one) <= told], {}, value, 4 * TOLERANCE, probe.settings)
    if found is None:
        return Identity(None, f"one number, {value:.6g}, that no known rule gives")
    return Identity(found.operation.name, found.operation.summary, found.parameters, (), found.notes)


def _required(operation: Operation) -> set[str]:
    """Return the parameters that a call must set, without which one number means nothing."""
    return {name for name, parameter in operation.parameters.items() if parameter.required}
