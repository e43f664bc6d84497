from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from conformance.adapt.adapter import Adapter, Unsupported
from conformance.in_process import InProcess
from conformance.mutants.building import altered
from tools import seeds

SLOPES = "alibi.slopes"


def session(function: Callable[..., Any]) -> InProcess:
    adapter = Adapter("mine", dtypes=("float64",))
    adapter.implements(SLOPES)(function)
    return InProcess(adapter)


def test_what_is_right_is_convicted_under_no_seed() -> None:
    drawn, convicted = seeds.what_is_drawn(session(altered(SLOPES)), 7, "core", laws=True)

    assert drawn > 50
    assert convicted == []


def test_a_law_that_convicts_is_told_with_operation_and_dtype() -> None:
    _, convicted = seeds.what_is_drawn(session(altered(SLOPES, result=np.negative)), 7, "core", laws=True)

    assert "mine: alibi.slopes in float64: slopes in unit interval: breaks a law" in convicted
    assert "mine: alibi.slopes in float64: alibi.slopes/drawn-1: wrong value" in convicted


def test_a_lower_level_draws_less() -> None:
    drawn = [seeds.what_is_drawn(session(altered(SLOPES)), 7, level, laws=True)[0] for level in ("smoke", "core")]

    assert drawn[0] < drawn[1]


def test_seeds_draw_other_examples() -> None:
    asked: list[list[int]] = []

    def noting(*, num_heads: int, **others: object) -> Any:
        asked[-1].append(num_heads)
        return altered(SLOPES)(num_heads=num_heads, **others)

    for seed in (1, 2, 1):
        asked.append([])
        seeds.what_is_drawn(session(noting), seed, "core", laws=False)

    assert asked[0] == asked[2] != asked[1]


def test_convictions_are_counted_once_per_seed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(seeds, "seed_after_seed", lambda *_, **__: iter([(10, ["a", "a"]), (20, []), (30, ["a", "b"])]))

    seeds.main(["mine", "--first", "4", "--count", "3"])
    first, *lines = capsys.readouterr().out.splitlines()

    assert first.startswith("mine: 3 seeds, 60 drawn cases and examples, 2 different convictions")
    assert lines == ["    2 of 3  a", "    1 of 3  b"]


def test_seeds_are_the_ones_that_are_asked_for(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(seeds, "whole_run", lambda *_: (1, []))
    monkeypatch.setattr(seeds, "what_is_drawn", lambda _, seed, *__, **___: (10 * seed, []))

    seeds.main(["mine", "--first", "0", "--count", "2"])
    seeds.main(["mine", "--first", "25", "--count", "2"])
    told = capsys.readouterr()

    assert [line.split(",")[1].strip() for line in told.out.splitlines()] == ["11 drawn cases and examples", "510 drawn cases and examples"]
    assert [line.split(",")[0] for line in told.err.splitlines()] == [f"mine: seed {seed}" for seed in (0, 1, 25, 26)]


def test_too_little_evidence_is_told_like_a_conviction() -> None:
    def refusing(**_: object) -> Any:
        raise Unsupported

    _, convicted = seeds.what_is_drawn(session(refusing), 7, "core", laws=False)

    assert convicted == ["mine: alibi.slopes in float64: not enough evidence"]
