"""Code that is wrong inside a narrow declaration is convicted there, or gets no verdict; its right twins conform."""

from pathlib import Path

import pytest

from conformance import run
from conformance.calls.outcomes import Report
from conformance.calls.status import Status

HERE = Path(__file__).parent
SEEDS = (0, 1)
WRONG = {
    "base_of_10000": "rope.rotate/base-ignored",
    "base_of_500000": "rope.rotate/base=500000",
    "without_rope": "rope.attend/not-turned",
    "past_forgotten": "rope.attend/query-from-start",
    "thirds_reversed": "alibi.bias/slopes-of-thirds",
    "printed_row": "alibi.bias/slopes=paper",
    "printed_40_heads": "alibi.bias/slopes=paper",
    "divided_bias": "alibi.attend/scaled-with-the-logits",
    "divided_symmetric": "alibi.attend/scaled-with-the-logits",
    "wrong_buckets": "t5.bias/linear",
    "doubled": "t5.bias/max-distance-doubled",
    "doubled_buckets": None,
    "clamped_yarn": None,
    "reads_the_vectors": None,
    "known_by_length_and_last": "rope.rotate/positions-of-the-first-call",
}
RIGHT = (
    "right_base",
    "right_million",
    "right_attention",
    "right_decoding",
    "right_slopes",
    "right_reversed",
    "right_row",
    "right_40_heads",
    "right_printed",
    "right_bias",
    "right_buckets",
    "right_yarn",
    "right_rotation",
)


@pytest.fixture(autouse=True)
def beside_the_adapters(monkeypatch: pytest.MonkeyPatch, unshrunk: None) -> None:
    monkeypatch.chdir(HERE)
    monkeypatch.syspath_prepend(HERE)


def checked(name: str, seed: int) -> Report:
    return run.check(f"narrow_code:{name}", level="core", seed=seed)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("name", "mistake"), WRONG.items())
def test_wrong_code_is_convicted_inside_its_declaration_and_named_where_known(name: str, mistake: str | None, seed: int) -> None:
    report = checked(name, seed)
    assert report.status == Status.DIFFERS
    if mistake is not None:
        assert [diagnosis.name for diagnosis in report.diagnoses.values()] == [mistake]


@pytest.mark.parametrize("name", RIGHT)
def test_right_code_conforms_inside_its_declaration(name: str) -> None:
    report = checked(name, 0)
    assert report.status == Status.CONFORMS, [result for result in report.results if result.convicts] or report.lacking


def test_code_that_refuses_nearly_every_call_gets_no_verdict_and_is_told_what_is_missing() -> None:
    report = checked("identity_refusing_narrowly", 0)
    assert report.status == Status.NOT_JUDGED
    (evidence,) = report.lacking
    assert any("were refused: 'position 0 only'" in words for words in evidence.missing)


def test_code_that_refuses_nearly_every_call_is_convicted_by_the_few_it_answers_wrongly() -> None:
    assert checked("identity_refusing", 0).status == Status.DIFFERS


def test_what_a_declaration_keeps_from_being_called_is_said_not_to_be_excluded() -> None:
    (evidence,) = checked("past_forgotten_from_zero", 0).evidence
    assert "query-at-zero" in evidence.alike
