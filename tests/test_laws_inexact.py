"""An equation says itself what its sides may differ by, and what a reply may be off by is what the oracle allows."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from law_subjects import reference

from conformance.calls.outcomes import Reason
from conformance.laws import running
from conformance.laws.inexact import Inexact, exact
from conformance.laws.judging import Check, compare
from conformance.laws.trial import Checker, Example, Sides, Trial, same
from conformance.oracle import Tensor, answer
from conformance.spec.arguments import Arguments

Equation = Callable[[Inexact, Inexact], Inexact]
EQUATIONS: dict[str, Equation] = {
    "sum": lambda x, y: 3 * x + y,
    "difference": lambda x, y: x - 2.0 * y,
    "product": lambda x, y: x * y,
    "square": lambda x, _: x * x,
    "matrix": lambda x, y: x @ y.transposed,
    "total": lambda x, y: (x * y).total(),
    "norm": lambda x, _: x.norm(),
    "part": lambda x, y: x[..., :1] - y[:, 1:],
}


@pytest.mark.parametrize("name", EQUATIONS)
def test_errors_that_stay_within_bounds_stay_within_those_of_the_equation(name: str) -> None:
    numbers = np.random.default_rng(5)
    x, y = numbers.uniform(-2, 2, size=(2, 3, 4))
    error = 0.25
    told = EQUATIONS[name](Inexact(x, np.full_like(x, error)), Inexact(y, np.full_like(y, error)))

    for _ in range(50):
        strayed = (values + numbers.choice([-error, error, 0.0], size=values.shape) for values in (x, y))
        result = EQUATIONS[name](*map(exact, strayed)).values
        assert np.all(np.abs(result - told.values) <= told.error)


def test_what_is_not_judged_makes_no_result_judged_that_it_is_part_of() -> None:
    endless = Inexact(np.zeros((2, 2)), np.array([[np.inf, 0.0], [0.0, 0.0]]))
    zeros = exact(np.zeros((2, 2)))

    assert np.array_equal(np.isposinf((endless * zeros).error), np.isposinf(endless.error))
    assert np.isposinf((endless @ zeros).error).tolist() == [[True, True], [False, False]]


def test_numbers_without_errors_must_be_the_same() -> None:
    assert not same(exact(np.ones(2)), np.ones(2)).allowed.any()


@pytest.mark.parametrize("profile", ["float32", "bfloat16-model"])
def test_a_reply_may_be_off_by_what_the_oracle_allows_and_the_rounding_of_its_dtype(profile: str) -> None:
    parameters = {"head_dim": 2, "base": 10_000.0}
    call = Arguments({"positions": np.array([1, 257])}, parameters)
    trial = Trial(reference("rope.tables", "float32", profile), Example(call, {}, 1, (1, 1), parameters))
    radii = answer("rope.tables", {"positions": Tensor((2,), (1, 257))}, parameters).allowed[profile]["cos"]

    final = trial.allowed(call, "cos").ravel() - np.array(radii)

    assert np.all(final > 0.0)
    assert np.all(final <= 2.0**-24)


def _called(trial: Trial) -> Iterator[Sides]:
    trial.reply(trial.arguments)
    yield from ()


@pytest.mark.parametrize(("law", "examples"), [(lambda _: iter(()), 0), (lambda _: iter([same(exact(np.ones(2)), 1.0)]), 0), (_called, 1)])
def test_a_law_that_makes_no_call_passes_no_example(law: Checker, examples: int) -> None:
    parameters = {"head_dim": 2, "base": 10_000.0}
    example = Example(Arguments({"positions": np.array([1, 257])}, parameters), {}, 1, (1, 1), parameters)

    finding = running.once(reference("rope.tables", "float32", "float32"), Check("a law", law, Reason.LAW), example)

    assert (finding.examples, finding.refused, finding.failure) == (examples, 1 - examples, None)


@pytest.mark.parametrize(
    ("left", "right", "words"),
    [
        (np.nan, 1.0, "nan on one side, 1 on the other at (0,) of result, which must be finite"),
        (1.0, np.inf, "1 on one side, inf on the other at (0,) of result, which must be finite"),
        (2.0, 1.0, "2 on one side, 1 on the other at (0,) of result, off by 1, 4 times the allowed error"),
    ],
)
def test_a_side_that_is_not_finite_is_told_in_words(left: float, right: float, words: str) -> None:
    assert compare(Sides(np.array([left]), np.array([right]), np.array([0.25]))).message == words
