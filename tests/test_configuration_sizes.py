"""Numbers of a configuration that nothing can be computed with are told as such, whatever key has them."""

import contextlib
import io
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance import cli
from conformance.adapt import configured
from conformance.calls.status import Status

MODEL = {"hidden_size": 4096, "num_attention_heads": 32, "max_position_embeddings": 131_072, "model_type": "llama"}
GIVEN: dict[str, Any] = {"factor": 8.0, "original_max_position_embeddings": 4_096}
RULES: dict[str, dict[str, Any]] = {
    "linear": {"factor": 8.0},
    "dynamic": {"factor": 8.0},
    "yarn": {**GIVEN, "beta_fast": 32.0, "beta_slow": 1.0, "attention_factor": 1.2, "mscale": 1.0, "mscale_all_dim": 1.0},
    "llama3": {**GIVEN, "low_freq_factor": 1.0, "high_freq_factor": 4.0},
    "longrope": {**GIVEN, "short_factor": [1.0] * 64, "long_factor": [2.0] * 64},
}
SIZES = (10**400, -(10**400), float("inf"), float("nan"), 5e-324, 1e308)


def changed() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every key with every size, and the configuration that has it."""
    for size in SIZES:
        yield f"rope_theta of {size!s:.5}", MODEL | {"rope_theta": size}
        for name, rule in RULES.items():
            for key, value in rule.items():
                scaling = {"rope_type": name, **rule, key: [size] * 64 if isinstance(value, list) else size}
                yield f"{key} of {name}, {size!s:.5}", MODEL | {"rope_theta": 10_000.0, "rope_scaling": scaling}


def explained(path: Path, configuration: dict[str, Any]) -> tuple[int, str]:
    """Return the status of ``posenc explain`` and all that it prints."""
    path.write_text(json.dumps(configuration), encoding="utf-8")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed), warnings.catch_warnings():
        warnings.simplefilter("error")
        return cli.main(["explain", str(path)]), printed.getvalue()


def test_a_number_that_nothing_can_be_computed_with_is_an_error(tmp_path: Path) -> None:
    every = {name: explained(tmp_path / "config.json", configuration) for name, configuration in changed()}
    assert {name: told for name, told in every.items() if told[0] != Status.DIFFERS or "\nerror " not in told[1]} == {}
    assert {name for name, (_, printed) in every.items() if "can't be computed" in printed or "internal error" in printed} == set()


def test_numbers_of_released_sizes_are_no_error(tmp_path: Path) -> None:
    for name, rule in RULES.items():
        status, printed = explained(tmp_path / "config.json", MODEL | {"rope_theta": 1e8, "rope_scaling": {"rope_type": name, **rule}})
        assert status in (Status.CONFORMS, Status.DIFFERS)
        assert "\nerror " not in printed


def test_a_file_that_is_too_large_is_told_by_its_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(configured, "MOST_BYTES", 10)
    status, printed = explained(tmp_path / "config.json", MODEL)
    assert (status, printed) == (Status.WRONG_USAGE, "posenc: config.json must be a file of at most 10 bytes, got a longer one\n")
