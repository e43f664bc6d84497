"""RetNet a third time: a state that loses its share token by token, and pairs that turn as complex numbers, with 60 digits."""

import pytest
from second_route import X, golden, members, mp, real, rounded, turned, whole

mpf = mp.mpf


def left(share: mpf, query: int, key: int) -> mpf:
    """Return what a state holds of a key at a query: nothing before it came, then less by the share with every token."""
    held = mpf(0)
    for token in range(min(query, key), query + 1):
        held = held * (1 - share) + (token == key)
    return held


@pytest.mark.parametrize(("rates", "shares"), [
    ("doubling", [mpf(1) / 32, mpf(1) / 64, mpf(1) / 128]),
    ("spread", [mpf(1) / 32, mp.sqrt(mpf(1) / 32 / 512), mpf(1) / 512]),
])  # fmt: skip
def test_a_state_that_loses_its_share_with_every_token_holds_the_decay(rates: str, shares: list[mpf]) -> None:
    queries, keys = (9, 1_300), (0, 9, 10, 1_280)
    expected = [left(share, m, n) for share in shares for m in queries for n in keys]

    inputs = {"query_positions": whole(*queries), "key_positions": whole(*keys)}
    assert golden("retnet.decay", inputs, num_heads=3, rates=rates) == rounded(expected)


@pytest.mark.parametrize("layout", ["interleaved", "half", "interleaved_to_half"])
@pytest.mark.parametrize("base", [10_000.0, 100.0, 10_000.7])
def test_pairs_turn_by_roots_of_the_base_that_end_with_the_base_itself(layout: str, base: float) -> None:
    ratio = mp.root(mpf(base), 3)
    expected = [turned(X, members(layout, 4), [position / ratio**pair for pair in range(4)]) for position in (0, 3, 4_097)]

    inputs = {"x": real(*(X * 3), shape=(1, 1, 3, 8)), "positions": whole(0, 3, 4_097)}
    result = golden("retnet.rotate", inputs, head_dim=8, base=base, layout=layout, direction="positive")
    assert result == tuple(value for vector in expected for value in vector)


def test_a_single_pair_turns_by_one_radian() -> None:
    inputs = {"x": real(0.5, -1.25, shape=(1, 1, 1, 2)), "positions": whole(3)}

    result = golden("retnet.rotate", inputs, head_dim=2, base=10_000.0, layout="half", direction="positive")
    assert result == turned((0.5, -1.25), members("half", 1), [mpf(3)])
