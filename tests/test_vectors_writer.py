"""Whatever the writer writes, a YAML 1.1 reader reads back: the same floats, the same text, the same tree."""

import math
import struct
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from conformance.spec.document import DocumentError, read
from tools.generate.writer import scalar, write

LEAVES = st.none() | st.booleans() | st.integers(min_value=-(2**63), max_value=2**63 - 1) | st.floats(allow_nan=False) | st.text()
BRANCHES = st.recursive(LEAVES, lambda branch: st.lists(branch, max_size=4) | st.dictionaries(st.text(), branch, max_size=4))
TREES = st.dictionaries(st.text(), BRANCHES, min_size=1, max_size=4)


@settings(deadline=None)
@given(st.floats(allow_nan=False))
@example(1e-05)
@example(1e22)
@example(5e-324)
@example(-0.0)
@example(math.inf)
def test_a_float_comes_back_bit_for_bit(value: float) -> None:
    for reader in (yaml.safe_load, lambda text: read(text.encode())):
        back = reader(scalar(value))
        assert type(back) is float
        assert struct.pack("d", back) == struct.pack("d", value)


@settings(deadline=None)
@given(st.text())
@example("no")
@example("Null")
@example("1e-05")
@example("a: b")
@example(" #")
@example("trailing ")
@example("\x85\ufeff\u2028")
def test_a_text_comes_back(value: str) -> None:
    for reader in (yaml.safe_load, lambda text: read(text.encode())):
        assert reader(write({"key": value})) == {"key": value}


@settings(deadline=None)
@given(st.integers(min_value=-(2**63), max_value=2**63 - 1))
def test_an_integer_comes_back(value: int) -> None:
    assert yaml.safe_load(scalar(value)) == read(scalar(value).encode()) == value


@settings(deadline=None)
@given(TREES)
def test_a_tree_comes_back(tree: dict[str, Any]) -> None:
    assert yaml.safe_load(write(tree)) == tree


def test_nan_is_refused() -> None:
    with pytest.raises(ValueError, match="must not be NaN"):
        scalar(math.nan)


def test_one_row_is_one_line() -> None:
    assert write({"rows": [[1.0, None], [-2.5, 1e-7]], "none": []}) == "rows:\n  - [1.0, null]\n  - [-2.5, 1.0e-07]\nnone: []\n"


@pytest.mark.parametrize("word", ["yes", "off", "y"])
def test_a_word_that_versions_of_yaml_read_differently_is_quoted(word: str) -> None:
    assert scalar(word) == f'"{word}"'


@settings(deadline=None)
@given(st.binary(max_size=64))
def test_garbage_is_refused_or_read_but_never_breaks_the_reader(text: bytes) -> None:
    try:
        value = read(text)
    except DocumentError:
        return
    assert value is None or isinstance(value, str | int | float | bool | list | dict)
