"""The cases of learned exponents on YaRN's frequencies: YaRN's own with numbers for them, and what exponents add."""

from collections.abc import Callable, Iterator
from typing import Any

from refimpl.cases import yarn
from refimpl.cases.digits import named, narrowed
from refimpl.spec import Case

#: What multiplies cosine and sine in YaRN; nothing does here.
FACTORS = {"attention_factor", "mscale", "mscale_all_dim", "slope"}
BLENDED = [case for case in (*yarn.FREQUENCY_CASES, *yarn.ROTATE_CASES) if FACTORS.isdisjoint(case.arguments)]

UNSTRETCHED: dict[str, Any] = {"factor": 1.0, "original_length": 4_096}
MISTRAL: dict[str, Any] = {"head_dim": 64, "factor": 2_048.0, "original_length": 512}


def learned(operation: str, **positions: Any) -> Iterator[Case]:
    """Yield the cases of the exponents."""
    build: Callable[..., Case] = named(operation, head_dim=8, factor=4.0, original_length=64, **positions)
    yield build("no-exponents", "exponents taken for factors: pairs that stop", exponents=[0.0] * 4)
    yield build("unstretched", "exponents ignored where nothing is stretched", exponents=[0.5, -0.25, 1.5, -1.0], **UNSTRETCHED)
    yield build("one-exponent", "an exponent at the place of another pair, or shared by all", exponents=[0.0, 1.0, 0.0, 0.0])
    yield build("equal-exponents", "2 or the base in the place of e", exponents=[0.5] * 4)
    yield build("minus-one", "one plus the exponent in the place of its power", exponents=[-1.0] * 4, **UNSTRETCHED)
    yield build("rising", "exponents in reverse order", exponents=[-1.0, -0.5, 0.25, 0.75])
    yield build("large", "exponents clamped", exponents=[1.5, -6.0, 4.0, 7.5])
    yield build("mistral-large-4", "YaRN's frequencies without the exponents at the width of a released model", **MISTRAL)
    yield from narrowed(build, {"exponents": (4,)}, ending="-exponents")
    yield build("one-per-channel", "a list that is as long as the head", exponents=[0.25] * 8,
                error="axis 'pair' of exponents must be 4, got 8")
    yield build("too-few", "a list that is repeated or padded", exponents=[0.25] * 2, error="axis 'pair' of exponents must be 4, got 2")


CASES = (
    *BLENDED,
    *learned("frequencies"),
    *learned("rotate", positions=[1, 9]),
)
