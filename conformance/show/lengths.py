"""What a scheme can say over a length, in numbers: how much of its circles it uses, how it decays, how far it reaches."""

from collections.abc import Callable, Iterator

import numpy as np

from conformance.adapt.selection import SelectionError
from conformance.show.terminal import Line
from refimpl import analysis
from refimpl.schemes import SCHEMES
from refimpl.spec import Law

LEAST, MOST = 2, 1 << 20
BLOCK = 4_096
PAPER_WIDTH = 512
HEAD_WIDTH = 128
HEADS = 8
GAPS = (1.0, 4.0, 16.0)
ROWS = 32
SLOW = 0.1
#: Any array of the library in which the numbers are made.
HERE = np.zeros(())


def describe(scheme: str, length: int) -> Iterator[Line]:
    """Yield what the scheme says over that many positions; raise ``SelectionError`` where it has nothing to say."""
    known = {name: say for name in SCHEMES for law, say in SAID.items() if _claims(name, law)}
    if scheme not in known:
        message = f"--length must go with one of {', '.join(known)}, got {scheme!r}"
        raise SelectionError(message)
    if not LEAST <= length <= MOST:
        message = f"length must be between {LEAST} and {MOST}, got {length}"
        raise SelectionError(message)
    return known[scheme](scheme, length)


def _claims(scheme: str, law: Law) -> bool:
    return any(law in laws for laws in SCHEMES[scheme].laws.values())


def circles(scheme: str, length: int) -> Iterator[Line]:
    """Yield wavelength, turns and share of the circle per pair, then the answer in sentences."""
    seen = analysis.circle_coverage(length=length, dim=PAPER_WIDTH, like=HERE)
    pairs = len(seen.share)
    chosen = sorted({*range(0, pairs, pairs // ROWS), pairs - 1})
    yield "head", f"{scheme} over {length} positions: every {pairs // ROWS}th of {pairs} pairs"
    yield "quiet", f"{'pair':>6} {'wavelength':>14} {'turns':>12} {'circle used':>12}"
    for pair in chosen:
        yield "", f"{pair:>6} {seen.wavelength[pair]:>14,.1f} {seen.turns[pair]:>12,.4f} {seen.share[pair]:>12.2%}"
    yield "", ""
    yield from (("", line) for line in _density(seen.turns, length))


def _density(turns: np.ndarray, length: int) -> Iterator[str]:
    """Say how many pairs are dense, and how many sparse."""
    pairs, whole, slow = len(turns), int(np.sum(turns >= 1)), int(np.sum(turns < SLOW))
    yield f"Dense, the low dimensions: {whole} of {pairs} pairs use their whole circle; the fastest makes {turns[0]:,.1f} turns."
    yield (
        f"Sparse, the high dimensions: {pairs - whole} of {pairs} pairs never complete a turn within {length} positions; {slow} use less "
        f"than {SLOW:.0%} of their circle, the last {min(turns[-1], 1):.2%}."
    )


def envelopes(scheme: str, length: int) -> Iterator[Line]:
    """Yield the actual envelope beside RoFormer's bound, and where either rises."""
    envelope, bound = _over(analysis.alignment, length), _over(analysis.abel_bound, length)
    yield "head", f"{scheme} over {length} positions, head {HEAD_WIDTH} wide, base 10000"
    yield "", "envelope: mean cos(s theta_j), equal queries and keys; bound: RoFormer's mean |S_i|"
    yield "quiet", f"{'distance':>9} {'envelope':>10} {'bound':>10}"
    for distance in _spread(length):
        yield "", f"{distance:>9} {envelope[distance]:>10.4f} {bound[distance]:>10.4f}"
    yield "", ""
    yield "", f"Envelope: {_falling(envelope)}"
    yield "", f"Bound: {_falling(bound)}"
    yield "", "Closer tokens have larger products as a tendency, not as a law."


def _over(measure: Callable[..., np.ndarray], length: int) -> np.ndarray:
    """Return the measure at every distance, a block at a time: a million distances by 64 pairs would fill the memory."""
    distances = analysis.whole_distances(length, like=HERE)
    return np.concatenate([measure(distances[start : start + BLOCK], head_dim=HEAD_WIDTH) for start in range(0, length, BLOCK)])


def _falling(values: np.ndarray) -> str:
    """Say whether the sequence decays, and where it does not."""
    first, steps = analysis.first_rise(values), len(values) - 1
    if first is None:
        return f"falls on every one of {steps} steps."
    return f"first rises from distance {first} to {first + 1}, and on {analysis.count_rises(values)} of {steps} steps."


def _spread(length: int) -> list[int]:
    """Return 0, then distances in steps of 1, 2 and 5 per decade, then the last."""
    steps = [digit * 10**decade for decade in range(len(str(length))) for digit in (1, 2, 5)]
    return sorted({0, length - 1, *(step for step in steps if step < length)})


def reaches_of_heads(scheme: str, length: int) -> Iterator[Line]:
    """Yield per head the distance at which the bias outweighs a lead in logits."""
    reaches = [analysis.alibi_reach(num_heads=HEADS, logit_gap=gap, like=HERE) for gap in GAPS]
    yield "head", f"{scheme} over {length} positions, {HEADS} heads"
    yield "", "the distance in tokens at which the bias outweighs a key's lead in logits"
    yield "quiet", f"{'head':>6} {'slope':>10}" + "".join(f"{f'lead {gap:g}':>13}" for gap in GAPS)
    for head in range(HEADS):
        yield "", f"{head:>6} {GAPS[0] / reaches[0][head]:>10.6f}" + "".join(f"{reach[head]:>13,.0f}" for reach in reaches)
    yield "", ""
    yield from (("", _reaching(gap, reach, length)) for gap, reach in zip(GAPS, reaches, strict=True))


def _reaching(gap: float, reach: np.ndarray, length: int) -> str:
    """Say in which heads a lead survives to the far end."""
    heads, far = int(np.sum(reach > length - 1)), length - 1
    return f"A lead of {gap:g} survives a distance of {far} in {heads} of {HEADS} heads: slopes below {gap / far:.3g}."


#: What is said of a scheme that claims a law: dot products of the encodings, frequencies on one ratio, slopes of heads.
SAID: dict[Law, Callable[[str, int], Iterator[Line]]] = {
    Law.DOT_PRODUCT: circles,
    Law.GEOMETRIC: envelopes,
    Law.SLOPES_IN_UNIT_INTERVAL: reaches_of_heads,
}
