"""Compare both sides of a law for one example, and say in words what differs."""

from dataclasses import dataclass

import numpy as np

from conformance.calls.outcomes import Outcome, Reason
from conformance.calls.subject import CallFailedError, CallRefusedError
from conformance.laws.trial import Checker, Sides, Trial, Violation


@dataclass(frozen=True)
class Check:
    """A law by name, what falsifies it, and what is wrong where it is broken."""

    name: str
    falsify: Checker
    reason: Reason


@dataclass(frozen=True)
class Verdict:
    """What one example said about one law: the error as a multiple of the allowed, and words where it is above 1."""

    ratio: float
    message: str | None = None
    reason: Reason | None = None
    outcome: Outcome | None = None


def judge(trial: Trial, check: Check) -> Verdict | None:
    """Return what an example says about a law, or ``None`` where it needs none of the subject's calls, or one that is refused."""
    trial.calls.clear()
    try:
        with np.errstate(all="ignore"):
            worst = max((compare(sides) for sides in check.falsify(trial)), key=lambda verdict: verdict.ratio, default=Verdict(0.0))
    except CallRefusedError:
        return None
    except CallFailedError as error:
        return Verdict(np.inf, str(error.outcome), None, error.outcome)
    except Violation as violation:
        return Verdict(np.inf, str(violation), violation.reason)
    if not trial.calls:
        return None
    return Verdict(worst.ratio, worst.message, check.reason) if worst.message else worst


def compare(sides: Sides) -> Verdict:
    """Return the largest difference of two sides as a multiple of what is allowed, and words where that is above 1."""
    left, right, allowed = np.broadcast_arrays(sides.left, sides.right, sides.allowed)
    if not left.size:
        return Verdict(0.0)
    ratios = ratio(left, right, allowed)
    where = np.unravel_index(int(np.argmax(ratios)), ratios.shape)
    worst = float(ratios[where])
    if worst <= 1.0:
        return Verdict(worst)
    return Verdict(worst, _words(sides.of, tuple(int(i) for i in where), (left[where], right[where]), worst))


def ratio(left: np.ndarray, right: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Return the difference over the allowed: 0 where both are 0, endless where nothing is allowed or a side isn't finite."""
    off = np.abs(left - right)
    ratios = np.where(off == 0.0, 0.0, off / allowed)
    unjudged = np.isposinf(allowed) & np.isfinite(off)
    return np.where(unjudged, 0.0, np.where(np.isnan(ratios), np.inf, ratios))


def _words(of: str, where: tuple[int, ...], sides: tuple[float, float], worst: float) -> str:
    left, right = (float(side) for side in sides)
    times = "where no error is allowed" if np.isinf(worst) else f"{worst:.3g} times the allowed error"
    off = f"off by {abs(left - right):.3g}, {times}" if np.isfinite(left) and np.isfinite(right) else "which must be finite"
    place = f" at {where}" if where else ""
    return f"{left:.9g} on one side, {right:.9g} on the other{place} of {of}, {off}"
