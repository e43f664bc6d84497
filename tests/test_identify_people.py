"""What ``posenc identify`` says of functions that newcomers brought, and of the adapters that they pasted."""

import functools
from typing import Any

import identify_people
import pytest
from test_identify import Here, pasted, verify

from conformance.identify.declaration import Place
from conformance.identify.findings import Confidence, Identity
from conformance.identify.following import settings
from conformance.identify.recognise import Found, recognise
from conformance.identify.screen import Told, lines


@functools.cache
def found(name: str) -> Found:
    here = Here(getattr(identify_people, name))
    return recognise(here, here.functions[0], None, {})


def identity(name: str) -> Identity:
    known = found(name).identity
    assert known is not None
    return known


@functools.cache
def told(name: str) -> Told:
    result, known = found(name), identity(name)
    fates = settings(known, result.probe) if known.operation and result.probe else ()
    return Told(name, result, fates, Place("identify_people", name))


def screen(name: str) -> str:
    return "\n".join(line for _, line in lines(told(name)))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("by_last_position", {"operation": "longrope.rotate", "base": 1e4, "original_length": 3_000, "max_length": 131_072}),
        ("by_length", {"operation": "longrope.rotate", "original_length": 4_096, "max_length": 1}),
        ("retention", {"operation": "retnet.rotate", "base": 1e4}),
        ("one_list", {"operation": "longrope.rotate_searched", "base": 1e4, "start_tokens": 0}),
    ],
)
def test_a_function_that_people_bring_is_recognised_and_its_pasted_adapter_conforms(name: str, expected: dict[str, Any]) -> None:
    shown = {"operation": identity(name).operation, **{key: value.value for key, value in identity(name).parameters.items()}}

    assert {key: shown.get(key) for key in expected} == expected
    verify(pasted(str(told(name).declaration())))


@pytest.mark.parametrize("name", ["by_last_position", "by_length", "always_long", "one_list"])
def test_a_number_of_which_many_values_give_the_same_is_never_certain(name: str) -> None:
    wide = [seen for seen in identity(name).parameters.values() if isinstance(seen.value, int) and seen.low != seen.high]

    assert wide
    assert Confidence.CERTAIN not in [seen.confidence for seen in wide]
    assert all(seen.value < 1 << 21 for seen in wide)


@pytest.mark.parametrize(
    ("name", "words"),
    [("tables_of_lists", "up to 4096 tokens, against base 10000"), ("always_long", "length can't be seen")],
)
def test_values_of_longrope_whose_lists_or_length_cant_be_handed_on_have_no_adapter(name: str, words: str) -> None:
    assert (identity(name).operation, identity(name).values_of) == (None, "longrope.rotate")
    assert words in screen(name)
    assert told(name).declaration() is None
