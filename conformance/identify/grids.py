"""Recover a rotation to positions on several axes: the operations that are told their widths are run on the same ones."""

import numpy as np

from conformance.identify.asking import Refused
from conformance.identify.findings import Confidence, Identity, Seen
from conformance.identify.maps import TOLERANCE
from conformance.identify.probe import Probe
from conformance.identify.rules import giving, taking
from conformance.identify.turns import DTYPES

#: Where tokens stand, a multiple of it on every axis.
PLACES = np.array([0, 1, 3, 8, 101])


def rotate(probe: Probe) -> Identity:
    """Return the conventions and the base that give what a function gives."""
    axes = probe.settings["axes"]
    x = np.random.default_rng(0).integers(-16, 17, (1, 2, PLACES.size, sum(axes))) / 8
    arrays = {"x": x, "positions": PLACES[:, None] * (1 + 2 * np.arange(len(axes)))}
    value, dtype = _answered(probe, arrays)
    candidates = [operation for operation in taking("x", "positions") if "axes" in operation.parameters]
    told = {"head_dim": sum(axes), "axes": axes}
    found = giving(candidates, arrays, value, 8 * TOLERANCE[dtype], probe.settings, told)
    if found is None:
        return Identity(None, "not the rotation to positions on several axes in any known order")
    likely = {"axes": Seen(axes, confidence=Confidence.LIKELY)}
    return Identity(found.operation.name, found.words, {**found.parameters, **likely}, (), found.notes)


def _answered(probe: Probe, arrays: dict[str, np.ndarray]) -> tuple[np.ndarray, str]:
    """Return what the function returns in the first dtype that it takes."""
    refusal = Refused("the result has another shape than x")
    for dtype in DTYPES:
        try:
            value = probe.at(dtype)(**arrays)[0]
        except Refused as refused:
            refusal = refused
            continue
        if value.shape == arrays["x"].shape:
            return value, dtype
    raise refusal
