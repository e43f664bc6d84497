import functools
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest

from conformance.calls.outcomes import Diagnosis
from conformance.mutants import for_operation
from conformance.mutants.building import altered
from conformance.mutants.catalogue import MUTANTS
from conformance.spec.declarations import operations
from tools.accuracy import __main__ as command
from tools.accuracy import answers, beside, record, score
from tools.accuracy.answers import Answer, Answered
from tools.accuracy.held_out import held_out
from tools.accuracy.hidden import Exhibit, Verdict, asked, judge
from tools.accuracy.trials import Trial, declarations, sampled, trials

ROTATE = "rope.rotate"
TRIAL = Trial(f"{ROTATE}/degrees", ROTATE, "float32")


@functools.cache
def sample() -> list[Answered]:
    """Return the answers to one trial in two hundred, the same every time."""
    return [answers.answered(trial) for trial in command.known(list(operations()), Fraction(1, 200))]


@functools.cache
def sample_held_out() -> list[Answered]:
    return [beside.answered(trial) for trial in command.unknown(list(operations()), Fraction(1, 120))]


def test_of_a_sample_97_in_100_are_named_right_first() -> None:
    wrong = list(score.confused(sample(), *record.WRONG, Answer.NOT_NAMED, Answer.AMONG, Answer.LISTED))

    assert len(sample()) >= 30
    assert answers.share(sample(), answers.RIGHT) >= command.AIM, "\n".join(wrong)


def test_of_a_sample_none_is_given_a_wrong_name_that_stands_alone() -> None:
    assert list(score.confused(sample(), Answer.MISNAMED)) == []


def test_of_a_sample_of_mistakes_that_no_table_knows_none_is_given_a_wrong_name_that_stands_alone() -> None:
    assert len(sample_held_out()) >= 4
    assert list(score.confused(sample_held_out(), Answer.MISNAMED)) == []


def test_the_harness_learns_nothing_but_values() -> None:
    verdict = judge(Exhibit(ROTATE, "float32", {}, MUTANTS[TRIAL.name].function))

    assert verdict.convicted_by is not None
    assert verdict.convicted_by.startswith(f"{ROTATE}/")
    assert verdict.ratio > answers.ENOUGH
    assert answers.names(verdict.diagnosis) == (TRIAL.name,)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_what_is_right_is_not_convicted_in_any_dtype(dtype: str) -> None:
    verdict = judge(Exhibit("alibi.slopes", dtype, {}, altered("alibi.slopes")))

    assert verdict == Verdict(None, verdict.ratio, None)
    assert verdict.ratio <= 1


def test_calls_are_drawn_where_the_vectors_of_a_declaration_leave_open_which_mistake_it_is() -> None:
    mutant = MUTANTS["alibi.bias/bfloat16-slopes"]
    exhibit = Exhibit(mutant.operation, "float32", {"slopes": "paper", "form": "column"}, mutant.function)

    assert judge(exhibit).diagnosis is None
    assert answers.names(judge(exhibit, drawn=True).diagnosis) == (mutant.name,)


def test_what_only_a_law_shows_is_caught_and_not_shown() -> None:
    unseen = altered(ROTATE, arrays=lambda arrays, given: {**arrays, "x": arrays["x"] * (1 + (given["base"] == 32.0))})
    verdict = judge(Exhibit(ROTATE, "float32", {}, unseen))

    assert all(vector.parameters["base"] != 32.0 for vector in asked(ROTATE, {}))
    assert verdict.convicted_by == "law:isometry"
    assert answers.unnamed(verdict) is Answer.BY_LAW


def verdict_of(*names: str) -> Verdict:
    first, *others = names
    said = Diagnosis(tuple(first.split(" + ")), "does", "should", "fix", also_fits=tuple(others))
    return Verdict(f"{ROTATE}/shifted", 1e6, said)


@pytest.mark.parametrize(
    ("names", "answer"),
    [
        ((TRIAL.name,), Answer.FIRST),
        ((TRIAL.name, "rope.rotate/turned-twice"), Answer.FIRST),
        (("rope.rotate/turned-twice", TRIAL.name), Answer.AMONG),
        (("a", "b", "c", TRIAL.name), Answer.LISTED),
        (("rope.rotate/turned-twice",), Answer.MISNAMED),
        ((f"rope.rotate/layout=half + {TRIAL.name}",), Answer.MISNAMED),
        (("rope.rotate/turned-twice", "rope.rotate/not-turned"), Answer.ALSO),
    ],
)
def test_names_are_compared_with_what_is_hidden(monkeypatch: pytest.MonkeyPatch, names: Sequence[str], answer: Answer) -> None:
    monkeypatch.setattr(answers, "judge", lambda *_, **__: verdict_of(*names))

    assert answers.answered(TRIAL) == Answered(TRIAL, "mistake", answer, tuple(names))


@pytest.mark.parametrize(
    ("ratio", "convicted_by", "answer"),
    [
        (0.5, None, Answer.PASSED),
        (0.5, "law:isometry", Answer.BY_LAW),
        (0.5, "a", Answer.RAISED),
        (9.0, "a", Answer.SMALL),
        (11.0, "a", Answer.NOT_NAMED),
    ],
)
def test_what_is_not_named_says_whether_it_could_have_been(
    monkeypatch: pytest.MonkeyPatch, ratio: float, convicted_by: str | None, answer: Answer
) -> None:
    monkeypatch.setattr(answers, "judge", lambda *_, **__: Verdict(convicted_by, ratio, None))

    assert answers.answered(TRIAL).answer is answer


def test_an_equal_that_is_named_first_is_right_only_where_the_hidden_one_is_said_to_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    trial = Trial("rope.weights/layout=interleaved_to_half", "rope.weights", "float32")
    equal = "rope.weights/layout=interleaved"
    monkeypatch.setattr(answers, "judge", lambda *_, **__: verdict_of(equal, trial.name))

    assert answers.answered(trial).answer is Answer.TOLD

    monkeypatch.setattr(answers, "judge", lambda *_, **__: verdict_of(equal))

    assert answers.answered(trial).answer is Answer.MISNAMED


def test_what_is_no_number_in_both_tells_nothing_apart() -> None:
    angles, positions = (MUTANTS[f"rope.weights/float16-{what}"].function for what in ("angles", "positions"))

    assert not answers.inseparable(Trial("", "rope.weights", "float32"), angles, positions)
    assert answers.inseparable(Trial("", "rope.weights", "bfloat16"), angles, positions)


def test_mistakes_that_no_vector_tells_apart_are_found() -> None:
    known = {name: MUTANTS[name].function for name in ("rope.rotate/degrees", "rope.rotate/turned-twice")}
    twin = altered(ROTATE, arrays=lambda arrays, _: {**arrays, "positions": 2 * arrays["positions"]})

    assert answers.equals(ROTATE, known) == []
    assert answers.equals(ROTATE, {**known, "twin": twin}) == [("rope.rotate/turned-twice", "twin")]


@pytest.mark.parametrize("operation", operations())
def test_every_mistake_is_put_in_four_dtypes_and_under_every_declaration_that_it_does_not_conform_to(operation: str) -> None:
    asked_for = list(trials(operation))
    own = for_operation(operation)

    assert len({trial.words for trial in asked_for}) == len(asked_for)
    assert sum(not trial.declared for trial in asked_for) == 4 * len(own)
    assert all(asked(operation, declared) for declared in declarations(operation))
    for mutant in own:
        declared = [trial.declared for trial in asked_for if trial.name == mutant.name and trial.declared]
        conforming = [choice for choice in declarations(operation)[1:] if mutant.forces and mutant.forces.items() <= choice.items()]
        assert len(declared) == len(declarations(operation)) - 1 - len(conforming)
        assert all(choice not in declared for choice in conforming)


def test_a_sample_is_the_same_share_whatever_else_is_asked() -> None:
    words = [f"trial {number}" for number in range(1000)]
    halves = [sampled(each, Fraction(1, 2), 0) for each in words]

    assert all(sampled(each, Fraction(1), 3) for each in words)
    assert 400 < sum(halves) < 600
    assert halves == [sampled(each, Fraction(1, 2), 2) for each in words]
    assert halves == [not sampled(each, Fraction(1, 2), 1) for each in words]


@pytest.mark.parametrize("operation", operations())
def test_mistakes_that_no_table_knows_are_new(operation: str) -> None:
    assert len(held_out(operation)) >= 4
    assert not held_out(operation).keys() & MUTANTS.keys()


def test_two_functions_are_the_same_where_they_agree_beside_the_vectors() -> None:
    twice = altered(ROTATE, arrays=lambda arrays, _: {**arrays, "positions": 2 * arrays["positions"]})

    assert beside.same(ROTATE, twice, MUTANTS["rope.rotate/turned-twice"].function)
    assert not beside.same(ROTATE, twice, altered(ROTATE))


def test_what_speaks_only_of_numbers_that_all_vectors_ask_for_is_compared_there() -> None:
    def where_32_is_asked(used: float) -> Any:
        return altered("yarn.weights", parameters=lambda given: {**given, "beta_fast": (used,)[int(given["beta_fast"] != 32)]})

    assert beside.same("yarn.weights", where_32_is_asked(16.0), where_32_is_asked(16.0))
    assert not beside.same("yarn.weights", where_32_is_asked(16.0), where_32_is_asked(32 / 3))


def test_a_name_for_what_no_table_knows_is_wrong_where_it_does_something_else(monkeypatch: pytest.MonkeyPatch) -> None:
    words = "uses five more than positions"
    other = altered(ROTATE, arrays=lambda arrays, _: {**arrays, "positions": arrays["positions"] + 4})
    monkeypatch.setattr(beside, "judge", lambda *_, **__: verdict_of("rope.rotate/positions+4"))
    monkeypatch.setattr(beside, "explained", lambda *_: [type("Explanation", (), {"function": staticmethod(other)})])

    assert beside.answered(Trial(words, ROTATE, "float32")).answer is Answer.MISNAMED

    monkeypatch.setattr(beside, "explained", lambda *_: [type("Explanation", (), {"function": staticmethod(held_out(ROTATE)[words])})])

    assert beside.answered(Trial(words, ROTATE, "float32")).answer is Answer.FIRST


EVERY = [Answered(TRIAL, "mistake", answer, ("rope.rotate/turned-twice",)) for answer in Answer]


def test_every_answer_is_counted_once() -> None:
    head, row, every = score.table(EVERY, "scheme")
    counts = dict(zip(head, row, strict=True))

    assert int(counts["trials"]) == len(Answer)
    assert int(counts["shown"]) == sum(int(counts[name]) for name in ("first", "three", "more", "none", "also", "wrong"))
    assert counts["scheme"] == "rope"
    assert counts["right"] == "28.57 %"
    assert every[1:] == row[1:]


def test_precision_and_value_are_counted_apart() -> None:
    kinds = [Answered(TRIAL, kind, Answer.FIRST) for kind in ("mistake", "convention", "precision")]

    assert [each.kind for each in score.of_kind(kinds, "value")] == ["mistake", "convention"]
    assert [each.kind for each in score.of_kind(kinds, "precision")] == ["precision"]


def test_rates_are_of_what_is_shown_and_of_what_is_caught() -> None:
    found = [Answered(TRIAL, "mistake", answer) for answer in (Answer.FIRST, Answer.SMALL, Answer.PASSED)]

    assert score.verdict(found) == "Named right first: 100.00 % of what is shown, 50.00 % of what is caught."
    assert score.rate([Answered(TRIAL, answers.HELD_OUT, answer) for answer in (Answer.FIRST, Answer.NOT_NAMED)]) == "100.00 %"
    assert score.rate([]) == "-"


def test_tables_fit_a_screen() -> None:
    many = [Answered(Trial(f"{name}/x", name, "float32"), "mistake", Answer.FIRST) for name in operations() for _ in range(300)]

    assert max(map(len, score.aligned(many, "scheme"))) <= 80


def run(monkeypatch: pytest.MonkeyPatch, answer: Answer, *arguments: str) -> int:
    def said(trial: Trial) -> Answered:
        return Answered(trial, "mistake", answer, ("rope.apply/other",))

    monkeypatch.setattr(answers, "answered", said)
    monkeypatch.setattr(beside, "answered", said)
    return command.main(["--scheme", "binary", *arguments])


def test_the_command_succeeds_where_every_name_is_right(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, Answer.FIRST) == 0
    assert "100.00 %" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (Answer.MISNAMED, "a wrong name must not stand alone, got rope.apply/other for binary.encode/"),
        (Answer.AMONG, "mistakes of value must be named right first in 97 % of the trials, got 0.00 %"),
    ],
)
def test_the_command_fails_where_names_are_wrong(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], answer: Answer, told: str
) -> None:
    assert run(monkeypatch, answer) == 1
    assert told in capsys.readouterr().out


def test_the_record_says_what_was_asked_and_what_was_wrong(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    assert run(monkeypatch, Answer.ALSO, "--sample", "1/4", "--record", str(tmp_path / "accuracy.md")) == 1

    text = (tmp_path / "accuracy.md").read_text(encoding="utf-8")

    assert "`python -m tools.accuracy --scheme binary --sample 1/4`" in text
    assert "rope.apply/other" in text
    assert "cores" in text


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--scheme", "rop"), "scheme must be one of rope, "),
        (("--scheme", "rop"), "got 'rop' (did you mean rope?)"),
        (("--sample", "2"), "a share must be over 0 and up to 1, like 1/20, got '2'"),
        (("--sample", "some"), "a share must be over 0 and up to 1, like 1/20, got 'some'"),
        (("--sample", "1/0"), "a share must be over 0 and up to 1, like 1/20, got '1/0'"),
    ],
)
def test_a_wrong_request_is_refused_in_a_line(capsys: pytest.CaptureFixture[str], arguments: Sequence[str], told: str) -> None:
    with pytest.raises(SystemExit) as end:
        command.main(arguments)

    assert end.value.code == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(("trials", "not_named", "short"), [(6, 0, 0), (6, 1, 0), (6, 2, 1), (60, 2, 1), (100, 3, 0), (100, 4, 1)])
def test_a_rate_falls_short_by_more_than_one_trial(trials: int, not_named: int, short: int) -> None:
    found = [Answered(TRIAL, "between calls", Answer.NOT_NAMED if i < not_named else Answer.FIRST) for i in range(trials)]

    assert len(list(command.shortcomings([], found, []))) == short
