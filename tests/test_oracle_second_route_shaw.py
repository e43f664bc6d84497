"""Shaw's operations a third time, with mpmath at 60 digits: the oracle's golden values are its correctly rounded binary64."""

from collections.abc import Callable, Sequence

import pytest
from second_route import V, X, Y, golden, mp, real, rounded, whole

from conformance.oracle import Tensor

exp, matrix, mpf, sqrt = mp.exp, mp.matrix, mp.mpf, mp.sqrt
WIDTH, LARGEST = 3, 2
QUERIES, KEYS, VALUES = ([list(row[i : i + WIDTH]) for i in range(0, 6, WIDTH)] for row in (X, Y, V))
AT_QUERY, AT_KEY = (131_070, 131_073), (131_069, 131_072)
NUMBERS = [float((7 * i * i + 3 * i) % 23 - 11) / 8 for i in range(2 * 15)]
KEY_TABLE, VALUE_TABLE = ([NUMBERS[start + i : start + i + WIDTH] for i in range(0, 15, WIDTH)] for start in (0, 15))
#: The row of every query and key, by hand: n - m is -1, 2; -4, -1.
ROWS = {
    ("key_minus_query", "symmetric"): [[1, 4], [0, 1]],
    ("query_minus_key", "symmetric"): [[3, 0], [4, 3]],
    ("key_minus_query", "lower_closed"): [[1, 3], [0, 1]],
    ("query_minus_key", "lower_closed"): [[3, 0], [3, 3]],
}
EVERY = pytest.mark.parametrize(("sign", "clip"), ROWS)
MASKS = pytest.mark.parametrize("causal", [False, True])


def table(rows: Sequence[Sequence[float]], clip: str) -> Tensor:
    """Return the table that a clip needs."""
    used = rows if clip == "symmetric" else rows[:-1]
    return real(*(number for row in used for number in row), shape=(len(used), WIDTH))


def inputs(clip: str) -> dict[str, Tensor]:
    """Return two queries and two keys, with both tables."""
    arrays = {name: real(*(x for row in rows for x in row), shape=(1, 1, 2, WIDTH)) for name, rows in (("q", QUERIES), ("k", KEYS))}
    return arrays | {
        "v": real(*(x for row in VALUES for x in row), shape=(1, 1, 2, WIDTH)),
        "key_table": table(KEY_TABLE, clip),
        "value_table": table(VALUE_TABLE, clip),
        "query_positions": whole(*AT_QUERY),
        "key_positions": whole(*AT_KEY),
    }


def logits(rows: Sequence[Sequence[int]]) -> matrix:
    """Return eq. 5: the content's product and the edge's, each a matrix product, then the scale."""
    content = matrix(QUERIES) * matrix(KEYS).T
    by_row = matrix(QUERIES) * matrix(KEY_TABLE).T
    return matrix([[(content[m, n] + by_row[m, rows[m][n]]) / sqrt(WIDTH) for n in range(2)] for m in range(2)])


def shares(rows: Sequence[Sequence[int]], *, causal: bool) -> matrix:
    """Return the softmax of the logits, by its definition."""
    scores = logits(rows)
    powers = matrix([[exp(scores[m, n]) if AT_KEY[n] <= AT_QUERY[m] or not causal else mpf(0) for n in range(2)] for m in range(2)])
    return matrix([[powers[m, n] / (powers[m, 0] + powers[m, 1]) for n in range(2)] for m in range(2)])


def by_distance(weights: matrix, rows: Sequence[Sequence[int]]) -> matrix:
    """Return the weights that every row of the table gets."""
    return matrix([[sum((weights[m, n] for n in range(2) if rows[m][n] == r), mpf(0)) for r in range(len(KEY_TABLE))] for m in range(2)])


@EVERY
def test_logits_are_two_products_over_one_root(sign: str, clip: str) -> None:
    arrays = {name: array for name, array in inputs(clip).items() if name not in ("v", "value_table")}

    result = golden("shaw.logits", arrays, max_distance=LARGEST, sign=sign, clip=clip)

    assert result == rounded(list(logits(ROWS[sign, clip])))


@MASKS
@EVERY
def test_weights_are_a_softmax_of_the_logits(sign: str, clip: str, *, causal: bool) -> None:
    arrays = {name: array for name, array in inputs(clip).items() if name not in ("v", "value_table")}

    result = golden("shaw.weights", arrays, max_distance=LARGEST, sign=sign, clip=clip, causal=causal)

    assert result == rounded(list(shares(ROWS[sign, clip], causal=causal)))


@MASKS
@EVERY
def test_attention_gathers_weights_by_distance_and_multiplies_the_table_once(sign: str, clip: str, *, causal: bool) -> None:
    weights = shares(ROWS[sign, clip], causal=causal)
    expected = weights * matrix(VALUES) + by_distance(weights, ROWS[sign, clip]) * matrix(VALUE_TABLE)

    result = golden("shaw.attend", inputs(clip), max_distance=LARGEST, sign=sign, clip=clip, causal=causal)

    assert result == rounded(list(expected))


def grouped(edge: Callable[[int, int], mpf]) -> list[mpf]:
    """Return the logits of four heads on two key heads, one query and one key, of width 1."""
    return [x * (y + edge(0, 0)) for x, y in ((X[0], Y[0]), (X[1], Y[0]), (X[2], Y[1]), (X[3], Y[1]))]


def test_consecutive_query_heads_share_a_key_head_and_all_share_the_table() -> None:
    arrays = {
        "q": real(*X[:4], shape=(1, 4, 1, 1)),
        "k": real(*Y[:2], shape=(1, 2, 1, 1)),
        "key_table": real(*NUMBERS[:5], shape=(5, 1)),
        "query_positions": whole(9),
        "key_positions": whole(10),
    }

    result = golden("shaw.logits", arrays, max_distance=2, sign="key_minus_query", clip="symmetric")

    assert result == rounded(grouped(lambda *_: mpf(NUMBERS[3])))
