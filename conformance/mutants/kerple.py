"""What goes wrong with KERPLE's bias alone: the logarithm, the power, and which of two learned numbers is which."""

from collections.abc import Callable, Iterator

import numpy as np

from conformance.mutants.bias import Pieces
from conformance.mutants.building import Arrays, Function, Mistake, Parameters, altered
from conformance.mutants.rounding import to
from conformance.spec.mutant import Mutant
from refimpl.arrays import Array
from refimpl.schemes import kerple

BIAS = "kerple.bias"
AUTHORS = "the authors' code (chijames/KERPLE at 73f1ee2, megatron/mpu/layers.py)"
COPIED = "in the style of formulas copied without a term"
Grown = Callable[[Array, Array], Array]


def bias(*, log: Grown | None = None, power: Grown | None = None, each: Callable[[Array], Array] | None = None) -> Function:
    """Return the bias with another logarithm or power, of rate and distance; ``each`` changes every learned number."""

    def steps(query: Array, key: Array, second: Array, form: str) -> Array:
        mistaken, apart = log if form == "log" else power, np.abs(key - query) * 1.0
        rate = (second if each is None else each(second))[:, None, None]
        return kerple.grown(apart, rate, form) if mistaken is None else mistaken(rate, apart)

    return Pieces(steps=steps, weight=None if each is None else lambda first: -each(first)).of(BIAS)


def signed(query: Array, key: Array, second: Array, form: str) -> Array:
    """Return what grows with the query's position less the key's, with its sign."""
    return kerple.grown(query - key * 1.0, second[:, None, None], form)


def raised(arrays: Arrays, chosen: Parameters) -> Arrays:
    """Raise what multiplies a power too."""
    return {**arrays, "first": arrays["first"] ** arrays["second"]} if chosen["form"] == "power" else arrays


MISTAKES: tuple[tuple[Mistake, Function], ...] = (
    (Mistake("numbers-exchanged", "takes r1 for r2 and r2 for r1", "multiply by r1; r2 belongs to the distance",
             "in ParallelKerpleLog bias_p is r1 and bias_a r2, in ParallelKerplePower bias_a is r1 and bias_p r2",
             origin=f"the names in the two modules of {AUTHORS}, which are crossed"),
     altered(BIAS, arrays=lambda arrays, _: {**arrays, "first": arrays["second"], "second": np.minimum(arrays["first"], 2.0)})),
    (Mistake("distance-signed", "uses query minus key with its sign, so that later keys get the logarithm of a number below 1",
             "use the distance", "take the magnitude", origin=COPIED), Pieces(steps=signed).of(BIAS)),
    (Mistake("one-inside-missing", "returns r1 ln(r2 |m - n|), and 0 at distance 0", "add 1 before the logarithm", "use log1p",
             origin=COPIED), bias(log=lambda rate, apart: np.where(apart > 0, np.log(np.maximum(rate * apart, 1e-300)), 0.0))),
    (Mistake("rate-outside", "returns r1 r2 ln(1 + |m - n|)", "multiply the distance by r2, inside of the logarithm",
             "move r2 into the logarithm", origin=COPIED), bias(log=lambda rate, apart: rate * np.log1p(apart))),
    (Mistake("logarithm-of-two", "takes the logarithm to base 2", "take the natural logarithm", "use log, or multiply by ln 2",
             origin="in the style of kernels that compute exp2 and log2"), bias(log=lambda rate, apart: np.log2(1.0 + rate * apart))),
    (Mistake("logarithm-of-ten", "takes the logarithm to base 10", "take the natural logarithm", "use log",
             origin="in the style of languages whose log10 is called log"), bias(log=lambda rate, apart: np.log10(1.0 + rate * apart))),
    (Mistake("logarithm-of-power", "returns r1 ln(1 + |m - n|^r2)", "multiply the distance by r2",
             "don't raise: b ln(1 + a d^p) has p = 1 for this form, and r2 is its a",
             origin="in the style of the paper's logarithm with three numbers, of which the wrong one is left out"),
     bias(log=lambda rate, apart: np.log1p(apart**rate))),
    (Mistake("distance-as-base", "raises r2 to the distance", "raise the distance to r2", "exchange the arguments of pow",
             origin="in the style of arguments of pow that are exchanged"),
     bias(power=lambda rate, apart: np.where(apart > 0, rate ** np.minimum(apart, 1000.0), 0.0))),
    (Mistake("exponent-ignored", "multiplies the distance by r1 and reads no exponent", "raise the distance to r2",
             "use both learned numbers", origin="in the style of ALiBi with learned slopes"),
     bias(power=lambda rate, apart: apart + 0.0 * rate)),
    (Mistake("exponent-rounded", "rounds the exponent to an integer", "raise to real exponents", "use a power of real numbers",
             origin="in the style of powers by repeated products"), bias(power=lambda rate, apart: apart ** np.rint(rate))),
    (Mistake("factor-raised-too", "returns (r1 |m - n|)^r2", "raise the distance alone", "multiply after the power",
             origin="in the style of brackets that move"),
     altered(BIAS, arrays=raised)),
    (Mistake("shifted-power", "returns (1 + |m - n|)^r2 - 1", "raise the distance itself", "don't add 1: that belongs to the logarithm",
             origin="in the style of powers kept away from 0, where their gradient is infinite"),
     bias(power=lambda rate, apart: (1.0 + apart) ** rate - 1.0)),
    (Mistake("raised-to-a-hundredth", "raises learned numbers below 0.01 to 0.01", "use the numbers that are given",
             "clamp the learned numbers in training, not where the bias is computed", kind="convention",
             origin=f"{AUTHORS}: eps = 1e-2 in both modules"), bias(each=lambda learned: np.maximum(learned, 0.01))),
    (Mistake("rate-below-two", "keeps r2 of the logarithm at 2 or below", "use every r2 above 0: only an exponent ends at 2",
             "clamp by form", threads=("https://github.com/chijames/KERPLE/issues/3",),
             origin="in the style of the thread: only the initial numbers of the logarithm lie below 2"),
     bias(log=lambda rate, apart: np.log1p(np.minimum(rate, 2.0) * apart))),
    (Mistake("exponentiated", "takes the learned numbers for logarithms, and exponentiates them", "use the numbers themselves",
             "store the numbers, or call this with their exponentials", origin="in the style of positive parameters kept as logarithms"),
     bias(each=np.exp)),
    (Mistake("softened", "puts the learned numbers through a softplus", "use the numbers themselves", "apply the softplus outside",
             origin="in the style of parameters kept positive by a softplus"), bias(each=lambda learned: np.logaddexp(0.0, learned))),
    (Mistake("multiplicative", "returns the factor e^b that multiplies weights, in place of the bias b that is added to logits",
             "return the bias itself", "take no exponential, or its logarithm",
             origin="in the style of kernels that multiply: the paper has both"), Pieces(product=np.exp).of(BIAS)),
)


def half(dtype: str) -> Iterator[Mutant]:
    """Return the sum inside of the logarithm, and every learned number, in a half format."""
    narrow, origin = to(dtype), f"in the style of {AUTHORS}, which computes in the dtype of the scores"
    last = ("compute in float32 and cast last", "compute the logarithm in float32, by log1p")
    inside = bias(log=lambda rate, apart: np.log(narrow(1.0 + rate * apart)))
    yield Mistake(f"one-in-{dtype}", f"adds 1 in {dtype}", *last, kind="precision", origin=origin).at(BIAS, inside)
    numbers = bias(each=narrow)
    yield Mistake(f"{dtype}-numbers", f"rounds learned numbers to {dtype}", *last, kind="precision", origin=origin).at(BIAS, numbers)


def mutants() -> Iterator[Mutant]:
    """Return the mutants of KERPLE that are its own."""
    for mistake, function in MISTAKES:
        yield mistake.at(BIAS, function)
    for dtype in ("bfloat16", "float16"):
        yield from half(dtype)
