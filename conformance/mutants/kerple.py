"""What goes wrong with KERPLE's bias: the logarithm, the power, the distance, and which of two learned numbers is which."""

from collections.abc import Callable, Iterator

import numpy as np

from conformance.mutant import Mutant
from conformance.mutants.building import Mistake, altered, conventions, moving
from conformance.mutants.composing import assembled
from conformance.mutants.positions import RELATIVE_SLUGS, index, position_mutants
from conformance.mutants.rounding import to
from refimpl.arrays import Array
from refimpl.schemes import kerple

BIAS = "kerple.bias"
AUTHORS = "the authors' code (chijames/KERPLE at 73f1ee2, megatron/mpu/layers.py)"
COPIED = "in the style of formulas copied without a term"
HEADS = "in the style of head orders that change on one device"
Step = Callable[[Array], Array]
Grown = Callable[[Array, Array, str], Array]


def exact(values: Array) -> Array:
    """Keep the numbers as they are."""
    return values


def between(query: Array, key: Array) -> Array:
    """Return how far every query is from every key."""
    return np.abs(query[:, None] - key[None, :])


def before(query: Array, key: Array) -> Array:
    """Return how far every key lies before every query, and 0 where it comes after."""
    return np.maximum(query[:, None] - key[None, :], 0.0)


@assembled
def bias_function(
    *,
    place: Step = exact,
    distance: Callable[[Array, Array], Array] = between,
    reach: Step = exact,
    first: Step = exact,
    second: Step = exact,
    grown: Grown = kerple.grown,
    product: Step = exact,
) -> Callable[..., Array]:
    """Return the bias with some steps replaced."""

    def bias(query_positions: Array, key_positions: Array, r1: Array, r2: Array, *, form: str) -> Array:
        with np.errstate(all="ignore"):
            apart = reach(distance(place(query_positions.astype(np.float64)), place(key_positions.astype(np.float64))))
            factor, rate = first(r1)[:, None, None], second(r2)[:, None, None]
            return product(-factor * grown(apart[None], rate, form))

    return bias


def in_log(logarithm: Callable[[Array, Array], Array]) -> Grown:
    """Return what another logarithm makes of rate and distance, beside the right power."""
    return lambda distance, rate, form: logarithm(rate, distance) if form == "log" else kerple.grown(distance, rate, form)


def in_power(power: Callable[[Array, Array], Array]) -> Grown:
    """Return what another power makes of exponent and distance, beside the right logarithm."""
    return lambda distance, rate, form: power(rate, distance) if form == "power" else kerple.grown(distance, rate, form)


MISTAKES: tuple[tuple[Mistake, Callable[..., Array]], ...] = (
    (
        Mistake(
            "sign-flipped",
            does="rewards far keys",
            should="penalise them: subtract",
            fix="negate the bias",
            origin="in the style of signs lost where a kernel becomes a bias",
        ),
        altered(BIAS, result=np.negative),
    ),
    (
        Mistake(
            "numbers-exchanged",
            does="takes r1 for r2 and r2 for r1",
            should="multiply by r1; r2 belongs to the distance",
            fix="in ParallelKerpleLog bias_p is r1 and bias_a r2, in ParallelKerplePower bias_a is r1 and bias_p r2",
            origin=f"the names in the two modules of {AUTHORS}, which are crossed",
        ),
        altered(BIAS, arrays=lambda arrays, _: {**arrays, "first": arrays["second"], "second": np.minimum(arrays["first"], 2.0)}),
    ),
    (
        Mistake(
            "distance-signed",
            does="uses query minus key with its sign, so that later keys have a logarithm of less than 1",
            should="use the distance",
            fix="take the magnitude",
            origin=COPIED,
        ),
        bias_function(distance=np.subtract.outer),
    ),
    (
        Mistake(
            "future-at-distance-zero",
            does="gives later keys a bias of 0",
            should="give them the bias of their distance",
            fix="take the magnitude of the distance, and hide later keys by a mask",
            origin=f"torch.tril in {AUTHORS}, which hides later keys",
        ),
        bias_function(distance=before),
    ),
    (
        Mistake(
            "distance-from-one",
            does="counts a token as one away from itself",
            should="give a token distance 0 from itself, where the bias is 0",
            fix="don't add 1 to the distance; the logarithm has its own",
            origin="in the style of off-by-one boundaries",
        ),
        bias_function(reach=lambda apart: apart + 1.0),
    ),
    (
        Mistake(
            "distance-normalised",
            does="divides the distance by the number of keys",
            should="use the distance in tokens",
            fix="don't normalise",
            origin="in the style of functional interpolation, which does",
        ),
        bias_function(distance=lambda query, key: between(query, key) / key.shape[0]),
    ),
    (
        Mistake(
            "distance-ends-at-127",
            does="lets the distance end at 127",
            should="use every distance",
            fix="don't clip the distance",
            origin="in the style of T5's largest distance",
        ),
        bias_function(reach=lambda apart: np.minimum(apart, 127.0)),
    ),
    (
        Mistake(
            "one-inside-missing",
            does="returns r1 ln(r2 |m - n|), and 0 at distance 0",
            should="add 1 before the logarithm",
            fix="use log1p",
            origin=COPIED,
        ),
        bias_function(grown=in_log(lambda rate, apart: np.where(apart > 0, np.log(np.maximum(rate * apart, 1e-300)), 0.0))),
    ),
    (
        Mistake(
            "rate-outside",
            does="returns r1 r2 ln(1 + |m - n|)",
            should="multiply the distance by r2, inside of the logarithm",
            fix="move r2 into the logarithm",
            origin=COPIED,
        ),
        bias_function(grown=in_log(lambda rate, apart: rate * np.log1p(apart))),
    ),
    (
        Mistake(
            "logarithm-of-two",
            does="takes the logarithm to base 2",
            should="take the natural logarithm",
            fix="use log, or multiply by ln 2",
            origin="in the style of kernels that compute exp2 and log2",
        ),
        bias_function(grown=in_log(lambda rate, apart: np.log2(1.0 + rate * apart))),
    ),
    (
        Mistake(
            "logarithm-of-ten",
            does="takes the logarithm to base 10",
            should="take the natural logarithm",
            fix="use log",
            origin="in the style of languages whose log10 is called log",
        ),
        bias_function(grown=in_log(lambda rate, apart: np.log10(1.0 + rate * apart))),
    ),
    (
        Mistake(
            "one-in-bfloat16",
            does="adds 1 in bfloat16 before the logarithm",
            should="compute in float32 and cast last",
            fix="compute the logarithm in float32, by log1p",
            kind="precision",
            origin=f"{AUTHORS}, which computes in the dtype of the scores",
        ),
        bias_function(grown=in_log(lambda rate, apart: np.log(to("bfloat16")(1.0 + rate * apart)))),
    ),
    (
        Mistake(
            "one-in-float16",
            does="adds 1 in float16 before the logarithm",
            should="compute in float32 and cast last",
            fix="compute the logarithm in float32, by log1p",
            kind="precision",
            origin=f"{AUTHORS}, which computes in the dtype of the scores",
        ),
        bias_function(grown=in_log(lambda rate, apart: np.log(to("float16")(1.0 + rate * apart)))),
    ),
    (
        Mistake(
            "logarithm-of-power",
            does="returns r1 ln(1 + |m - n|^r2)",
            should="multiply the distance by r2",
            fix="don't raise: b ln(1 + a d^p) has p = 1 for this form, and r2 is its a",
            origin="in the style of the paper's logarithm with three numbers, of which the wrong one is left out",
        ),
        bias_function(grown=in_log(lambda rate, apart: np.log1p(apart**rate))),
    ),
    (
        Mistake(
            "distance-as-base",
            does="raises r2 to the distance",
            should="raise the distance to r2",
            fix="exchange the arguments of pow",
            origin="in the style of arguments of pow that are exchanged",
        ),
        bias_function(grown=in_power(lambda rate, apart: np.where(apart > 0, rate ** np.minimum(apart, 1000.0), 0.0))),
    ),
    (
        Mistake(
            "exponent-ignored",
            does="multiplies the distance by r1 and reads no exponent",
            should="raise the distance to r2",
            fix="use both learned numbers",
            origin="in the style of ALiBi with learned slopes",
        ),
        bias_function(grown=in_power(lambda rate, apart: apart + 0.0 * rate)),
    ),
    (
        Mistake(
            "exponent-rounded",
            does="rounds the exponent to an integer",
            should="raise to real exponents",
            fix="use a power of real numbers",
            origin="in the style of powers by repeated products",
        ),
        bias_function(grown=in_power(lambda rate, apart: apart ** np.rint(rate))),
    ),
    (
        Mistake(
            "factor-raised-too",
            does="returns (r1 |m - n|)^r2",
            should="raise the distance alone",
            fix="multiply after the power",
            origin="in the style of brackets that move",
        ),
        altered(
            BIAS,
            arrays=lambda arrays, chosen: (
                {**arrays, "first": arrays["first"] ** arrays["second"]} if chosen["form"] == "power" else arrays
            ),
        ),
    ),
    (
        Mistake(
            "shifted-power",
            does="returns (1 + |m - n|)^r2 - 1",
            should="raise the distance itself",
            fix="don't add 1: that belongs to the logarithm",
            origin="in the style of powers kept away from 0, where their gradient is infinite",
        ),
        bias_function(grown=in_power(lambda rate, apart: (1.0 + apart) ** rate - 1.0)),
    ),
    (
        Mistake(
            "raised-to-a-hundredth",
            does="raises learned numbers below 0.01 to 0.01",
            should="use the numbers that are given",
            fix="keep training inside of the domain where it trains, not in the bias",
            kind="convention",
            origin=f"{AUTHORS}: eps = 1e-2 in both modules",
        ),
        bias_function(first=lambda r1: np.maximum(r1, 0.01), second=lambda r2: np.maximum(r2, 0.01)),
    ),
    (
        Mistake(
            "rate-below-two",
            does="keeps r2 of the logarithm at 2 or below",
            should="use every r2 above 0: only an exponent ends at 2",
            fix="clamp by form",
            threads=("https://github.com/chijames/KERPLE/issues/3",),
            origin="in the style of the thread: only the initial numbers of the logarithm lie below 2",
        ),
        bias_function(second=lambda r2: np.minimum(r2, 2.0)),
    ),
    (
        Mistake(
            "exponentiated",
            does="takes the learned numbers for logarithms, and exponentiates them",
            should="use the numbers themselves",
            fix="store the numbers, or call this with their powers",
            origin="in the style of positive parameters kept as logarithms",
        ),
        bias_function(first=np.exp, second=np.exp),
    ),
    (
        Mistake(
            "softened",
            does="puts the learned numbers through a softplus",
            should="use the numbers themselves",
            fix="apply the softplus outside",
            origin="in the style of parameters kept positive by a softplus",
        ),
        bias_function(first=lambda r1: np.logaddexp(0.0, r1), second=lambda r2: np.logaddexp(0.0, r2)),
    ),
    (
        Mistake(
            "first-head-for-all",
            does="uses the first head's numbers for all",
            should="use two numbers per head",
            fix="index the learned numbers by head",
            origin=COPIED,
        ),
        bias_function(first=lambda r1: np.broadcast_to(r1[:1], r1.shape), second=lambda r2: np.broadcast_to(r2[:1], r2.shape)),
    ),
    (
        Mistake(
            "heads-in-reverse",
            does="gives the heads their numbers in reverse",
            should="give head h its own",
            fix="keep the order of the heads",
            origin=HEADS,
        ),
        bias_function(first=lambda r1: r1[::-1], second=lambda r2: r2[::-1]),
    ),
    (
        Mistake(
            "scaled-with-the-logits",
            does="divides the bias by sqrt(64) with the logits",
            should="add the bias after the scale",
            fix="scale q k only, then add the bias",
            origin="in the style of biases added before the scale; the width 64 is ours",
        ),
        bias_function(product=lambda bias: bias / 8.0),
    ),
    (
        Mistake(
            "multiplicative",
            does="returns the factor e^b that multiplies weights, in place of the bias b that is added to logits",
            should="return the bias itself",
            fix="take no exponential, or its logarithm",
            origin="in the style of kernels that multiply: the paper has both",
        ),
        bias_function(product=np.exp),
    ),
    (
        Mistake(
            "no-bias",
            does="returns no bias at all",
            should="add the bias at every step",
            fix="build the bias over the keys of the cache, not over the query's length",
            origin="in the style of decoding without a mask",
        ),
        bias_function(product=np.zeros_like),
    ),
    (
        Mistake(
            "query-index",
            does="uses the index of the query for its position",
            should="use the query's true position",
            fix="offset the query by the length of the cache",
            origin="in the style of biases built for whole sequences",
        ),
        moving(BIAS, index, only="query_positions"),
    ),
    (
        Mistake(
            "key-index",
            does="uses the index of the key for its position",
            should="use the key's true position",
            fix="take positions from the mask (cumsum), not from the column",
            origin="in the style of left padding that is forgotten",
        ),
        moving(BIAS, index, only="key_positions"),
    ),
)

#: What is kept in a half format, and the step that then rounds.
ROUNDED = {"positions": "place", "distances": "reach", "numbers": "second"}


def half_mutants() -> Iterator[Mutant]:
    """Return positions, distances, or r2, in bfloat16 and in float16."""
    for dtype in ("bfloat16", "float16"):
        for part, step in ROUNDED.items():
            mistake = Mistake(
                f"{dtype}-{part}",
                does=f"rounds {part} to {dtype}",
                should="compute the bias in float32 and cast last",
                fix="subtract integer positions, and compute in float32",
                kind="precision",
                origin=f"{'' if part == 'distances' else 'in the style of '}{AUTHORS}, whose distances have the dtype of the scores",
            )
            yield mistake.at(BIAS, bias_function(**{step: to(dtype)}))


def mutants() -> Iterator[Mutant]:
    """Return all mutants of KERPLE."""
    yield from conventions(BIAS, {})
    for mistake, function in MISTAKES:
        yield mistake.at(BIAS, function)
    yield from position_mutants(BIAS, [slug for slug in RELATIVE_SLUGS if slug not in ("positions-frozen", "first-row-for-all")])
    yield from half_mutants()
