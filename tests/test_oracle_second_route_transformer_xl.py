"""Transformer-XL a third time, with mpmath at 60 digits: the oracle's golden values are its correctly rounded binary64."""

from collections.abc import Callable
from typing import Any

import pytest
from second_route import V, X, Y, golden, mp, real, rounded, whole

from conformance.oracle import Tensor

cos, exp, matrix, mpf, pi, sin, sqrt = mp.cos, mp.exp, mp.matrix, mp.mpf, mp.pi, mp.sin, mp.sqrt
WEIGHT = (0.5, -1.0, 0.25, 1.5, -0.75, 2.0, 1.125, -0.5)
U, BIAS = (0.75, -0.5), (-1.25, 0.375)
QUERIES, KEYS = (9, 300), (5, 257, 300)
PARAMETERS: dict[str, Any] = {"dim": 4, "base": 500.0, "layout": "halves", "sign": "query_minus_key", "clamp_length": None}
CONVENTIONS = [
    {},
    {"layout": "interleaved"},
    {"sign": "key_minus_query"},
    {"clamp_length": 44},
    {"clamp_length": 3, "sign": "key_minus_query", "layout": "interleaved"},
]


def inputs() -> dict[str, Tensor]:
    """Return one head of two channels, two queries and three keys."""
    return {
        "q": real(*X[:4], shape=(1, 1, 2, 2)),
        "k": real(*Y[:6], shape=(1, 1, 3, 2)),
        "position_weight": real(*WEIGHT, shape=(4, 1, 2)),
        "content_bias": real(*U, shape=(1, 2)),
        "position_bias": real(*BIAS, shape=(1, 2)),
        "query_positions": whole(*QUERIES),
        "key_positions": whole(*KEYS),
    }


def wave(delta: int, *, layout: str) -> matrix:
    """Return the sinusoid as shifted cosines: a sine is a cosine a quarter turn later."""
    slow = mpf(500) ** mpf("-0.5")
    sines, cosines = [cos(delta * f - pi / 2) for f in (1, slow)], [cos(delta * f) for f in (1, slow)]
    return matrix(sines + cosines if layout == "halves" else [sines[0], cosines[0], sines[1], cosines[1]])


def relative_key(query: int, key: int, *, layout: str, sign: str, clamp_length: int | None, **_: Any) -> matrix:
    """Return the projected sinusoid as a product of matrices."""
    away = query - key if clamp_length is None else min(query - key, clamp_length)
    projection = matrix([[mpf(WEIGHT[2 * i + d]) for i in range(4)] for d in range(2)])
    return projection * wave(away if sign == "query_minus_key" else -away, layout=layout)


def four_terms(row: int, column: int, parameters: dict[str, Any]) -> list[mpf]:
    """Return the terms of one pair, each a product of a row and a column."""
    q, k = matrix(X[2 * row : 2 * row + 2]), matrix(Y[2 * column : 2 * column + 2])
    r = relative_key(QUERIES[row], KEYS[column], **parameters)
    return [(one.T * other)[0] for one, other in ((q, k), (q, r), (matrix(U), k), (matrix(BIAS), r))]


def every(what: Callable[[int, int], mpf]) -> list[list[mpf]]:
    """Return a number for every query and key."""
    return [[what(row, column) for column in range(len(KEYS))] for row in range(len(QUERIES))]


def logits(parameters: dict[str, Any]) -> list[list[mpf]]:
    """Return the sums over the root of two."""
    return every(lambda row, column: sum(four_terms(row, column, parameters)) / sqrt(2))


def shares(parameters: dict[str, Any], *, causal: bool) -> list[list[mpf]]:
    """Return the softmax by sums of exponentials."""
    powers = [
        [exp(z) if n <= m or not causal else mpf(0) for z, n in zip(row, KEYS, strict=True)]
        for row, m in zip(logits(parameters), QUERIES, strict=True)
    ]
    return [[power / sum(row) for power in row] for row in powers]


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize("term", ["content_content", "content_position", "global_content", "global_position"])
def test_every_term_is_a_row_times_a_column(term: str, convention: dict[str, Any]) -> None:
    place = ["content_content", "content_position", "global_content", "global_position"].index(term)
    expected = every(lambda row, column: four_terms(row, column, PARAMETERS | convention)[place])
    found = golden("transformer_xl.terms", inputs(), term, **PARAMETERS | convention)
    assert found == rounded([value for row in expected for value in row])


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_logits_are_the_sum_scaled_once(convention: dict[str, Any]) -> None:
    expected = rounded([value for row in logits(PARAMETERS | convention) for value in row])
    assert golden("transformer_xl.logits", inputs(), **PARAMETERS | convention) == expected


@pytest.mark.parametrize("causal", [False, True])
def test_weights_are_a_softmax_of_the_sums(causal: bool) -> None:  # noqa: FBT001 - parametrized
    expected = rounded([share for row in shares(PARAMETERS, causal=causal) for share in row])
    assert golden("transformer_xl.weights", inputs(), **PARAMETERS, causal=causal) == expected


@pytest.mark.parametrize("causal", [False, True])
def test_attend_averages_values(causal: bool) -> None:  # noqa: FBT001 - parametrized
    given = inputs()
    arrays = {"q": given.pop("q"), "k": given.pop("k"), "v": real(*V[:6], shape=(1, 1, 3, 2)), **given}
    rows = shares(PARAMETERS, causal=causal)
    expected = rounded([sum(share * V[2 * n + d] for n, share in enumerate(row)) for row in rows for d in range(2)])
    assert golden("transformer_xl.attend", arrays, **PARAMETERS, causal=causal) == expected


def test_a_sine_is_a_cosine_a_quarter_turn_later() -> None:
    assert abs(wave(7, layout="halves")[1] - sin(7 * mpf(500) ** mpf("-0.5"))) < mpf(10) ** -55


def test_the_shift_writes_every_query_one_place_further() -> None:
    queries, distances = 3, 5
    scores = [[row * distances + column + 1.0 for column in range(distances)] for row in range(queries)]
    line = [number for row in scores for number in (0.0, *row)]
    expected = tuple(line[queries:])
    table = real(*(number for row in scores for number in row), shape=(1, 1, queries, distances))

    assert golden("transformer_xl.shift", {"scores": table}, memory=2) == expected
    assert expected[:distances] == (scores[0][2], scores[0][3], scores[0][4], 0.0, scores[1][0])
