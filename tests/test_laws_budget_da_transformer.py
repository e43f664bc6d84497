"""What the laws allow a factor of DA-Transformer covers the oracle's ball, and is not more than eight times wider."""

import numpy as np
import pytest
from law_subjects import reference
from test_laws_budget import ROUGHER, assert_covers, radius

from conformance.arguments import Arguments
from conformance.laws.attention import share_error
from conformance.laws.distance_aware import factor_error, scores
from conformance.laws.trial import Example, Trial

LEARNED = {"distance_weight": np.array([0.3125, -0.25, 0.0625]), "saturation": np.array([1.0, -0.5, 2.0])}
PLACES = {"query_positions": np.array([0, 9]), "key_positions": np.array([1, 5, 20])}


def trial(name: str, call: Arguments, profile: str) -> Trial:
    """Return a trial of the exact reference at a profile."""
    return Trial(reference(name, "float64", profile), Example(call, {}, 0, (1, 1), dict(call.parameters)))


@pytest.mark.parametrize("profile", ROUGHER)
def test_the_error_of_a_factor_covers_the_ball(profile: str) -> None:
    call = Arguments({**PLACES, **LEARNED}, {})
    name = "da_transformer.rescale"

    allowed = factor_error(trial(name, call, profile), call)

    assert_covers(allowed, radius(name, call.arrays, {}, profile))


@pytest.mark.parametrize("profile", ROUGHER)
def test_the_error_of_weights_covers_the_ball(profile: str) -> None:
    q, k = np.array([[[[0.5, 0.25], [0.125, -0.75]]]]), np.array([[[[0.5, 0.5], [0.25, 1.0], [-1.0, 0.5]]]])
    learned = {name: values[:1] for name, values in LEARNED.items()}
    call = Arguments({"q": q, "k": k, **PLACES, **learned}, {"causal": False})
    name = "da_transformer.weights"
    put = trial(name, call, profile)

    allowed = put.values(call) * share_error(put, scores(put, call))

    assert np.all(allowed >= radius(name, call.arrays, call.parameters, profile))
