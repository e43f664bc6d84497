"""Biases whose rows may differ by a constant are judged without it, by golden values and by laws, however code gets at its last key."""

from pathlib import Path

import pytest

from conformance import run
from conformance.calls.status import Status

ADAPTER = """
import numpy as np
from conformance import Adapter

adapter = Adapter("reversed")


def row(num_heads, max_bias, keys):
    whole = 1 << (num_heads.bit_length() - 1)
    exponents = [max_bias * i / whole for i in range(1, whole + 1)]
    exponents += [max_bias * i / (2 * whole) for i in range(1, 2 * (num_heads - whole), 2)]
    return (2.0 ** -np.array(exponents))[:, None, None] * (np.arange(keys) - (keys - 1.0))


@adapter.implements("alibi.bias", slopes="code", form="reversed", positions="from_zero"{declared})
def bias(query_positions, key_positions, *, num_heads, max_bias, **_):
    queries, keys = len(query_positions), len(key_positions)
    {body}
"""
STYLES = {
    "of its own keys": ("", "return np.repeat(row(num_heads, max_bias, keys).astype(np.float32), queries, 1)"),
    "decoding": (', queries="at_end"', "return np.repeat(row(num_heads, max_bias, keys).astype(np.float32), queries, 1)"),
    "a part of the square": (
        "",
        "return np.repeat(row(num_heads, max_bias, max(queries, keys)).astype(np.float32), queries, 1)[..., :keys]",
    ),
}


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("style", STYLES)
def test_right_rows_conform_whatever_their_constant(style: str, seed: int, tmp_path: Path) -> None:
    declared, body = STYLES[style]
    path = tmp_path / "adapter.py"
    path.write_text(ADAPTER.format(declared=declared, body=body))

    report = run.check(str(path), level="core", seed=seed)

    assert [result.check for result in report.results if result.convicts] == []
    assert report.status == Status.CONFORMS
