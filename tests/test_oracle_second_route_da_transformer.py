"""DA-Transformer a third time: the quotient as it is printed, with 60 digits."""

import pytest
from mpmath import exp, mpf, sqrt
from second_route import V, X, Y, golden, real, rounded, sixty_digits, whole

from conformance.oracle import Tensor

__all__ = ["sixty_digits"]


def factor(weight: float, saturation: float, distance: int) -> mpf:
    """Return ``(1 + e^v) / (1 + e^(v - w R))`` as it is printed."""
    return (1 + exp(mpf(saturation))) / (1 + exp(mpf(saturation) - mpf(weight) * distance))


def test_the_factor_is_the_printed_quotient() -> None:
    queries, keys, weights, limits = (9, 131_071), (0, 9, 131_060), (0.5, -0.25, 0.001953125), (1.0, 2.5, -3.0)
    inputs = {
        "query_positions": whole(*queries),
        "key_positions": whole(*keys),
        "distance_weight": real(*weights),
        "saturation": real(*limits),
    }
    expected = [factor(w, v, abs(m - n)) for w, v in zip(weights, limits, strict=True) for m in queries for n in keys]
    assert golden("da_transformer.rescale", inputs) == rounded(expected)


def test_known_values_of_the_sigmoid_are_met() -> None:
    inputs = {
        "query_positions": whole(0),
        "key_positions": whole(1, 2),
        "distance_weight": real(1.0, -1.0),
        "saturation": real(1.0, 1.0),
    }
    result = golden("da_transformer.rescale", inputs)
    assert result == pytest.approx((1.85914091, 2.71828183, 0.44323006, 0.17634276), rel=0.0, abs=5e-9)


def attention(*, causal: bool) -> tuple[dict[str, Tensor], list[list[mpf]]]:
    """Return inputs with two queries and two keys, and their weights."""
    queries, keys, where_q, where_k = (X, V), (Y, X), (9, 300), (299, 5)
    shape = (1, 1, 2, 8)
    inputs = {
        "q": real(*X, *V, shape=shape),
        "k": real(*Y, *X, shape=shape),
        "query_positions": whole(*where_q),
        "key_positions": whole(*where_k),
        "distance_weight": real(-0.0078125),
        "saturation": real(1.0),
    }
    rows = []
    for q, m in zip(queries, where_q, strict=True):
        dots = [sum(mpf(a) * mpf(b) for a, b in zip(q, k, strict=True)) for k in keys]
        scores = [max(dot, mpf(0)) * factor(-0.0078125, 1.0, abs(m - n)) / sqrt(8) for dot, n in zip(dots, where_k, strict=True)]
        powers = [exp(z) if n <= m or not causal else mpf(0) for z, n in zip(scores, where_k, strict=True)]
        rows.append([power / sum(powers) for power in powers])
    return inputs, rows


@pytest.mark.parametrize("causal", [False, True])
def test_weights_are_a_softmax_of_clipped_and_rescaled_logits(causal: bool) -> None:  # noqa: FBT001 - parametrized
    inputs, rows = attention(causal=causal)
    assert golden("da_transformer.weights", inputs, causal=causal) == rounded([share for row in rows for share in row])


@pytest.mark.parametrize("causal", [False, True])
def test_attention_averages_values_by_those_weights(causal: bool) -> None:  # noqa: FBT001 - parametrized
    inputs, rows = attention(causal=causal)
    learned = {name: inputs.pop(name) for name in ("query_positions", "key_positions", "distance_weight", "saturation")}
    inputs = {**inputs, "values": real(*V, *Y, shape=(1, 1, 2, 8)), **learned}
    expected = rounded([row[0] * v + row[1] * y for row in rows for v, y in zip(V, Y, strict=True)])
    assert golden("da_transformer.attend", inputs, causal=causal) == expected
