"""What the reports say, from results made by hand."""

import io
import json
import re
from collections.abc import Callable, Sequence

import pytest

from conformance.calls.outcomes import (
    UNSTARTED,
    Advisory,
    Crashed,
    Diagnosis,
    Errored,
    Evidence,
    Exhausted,
    Failed,
    HarnessError,
    NotJudged,
    Outcome,
    Passed,
    Reason,
    Report,
    Result,
    TimedOut,
    Unsupported,
    Waived,
)
from conformance.calls.status import ORDER, Status
from conformance.reports import badge, junit, lines, markdown, page
from conformance.show import record, report, terminal
from conformance.show.summary import convictions, precision, verdict
from refimpl.spec import Law

DIAGNOSIS = Diagnosis(
    mutants=("rope.rotate/degrees",),
    does="takes the angle in degrees",
    should="take the angle in radians",
    fix="drop the conversion",
    threads=("https://example.org/one", "https://example.org/two"),
    also_fits=("rope.rotate/other",),
)


def result(outcome: Outcome, check: str = "rope.rotate/far", **changes: object) -> Result:
    """Return one vector's result of ``mine``, changed as told."""
    said: dict[str, object] = {
        "implementation": "mine",
        "operation": "rope.rotate",
        "kind": "vector",
        "dtype": "float32",
        "profile": "float32",
    }
    return Result(check=check, outcome=outcome, **{**said, **changes})  # type: ignore[arg-type]  # keywords of Result


def wrong(check: str = "rope.rotate/far", **changes: object) -> Result:
    """Return a wrong value, 200 times the allowed."""
    return result(Failed(Reason.VALUE, "8 of 12 differ"), check, **{"ratio": 200.0, "size": 12, **changes})


def right(check: str = "rope.rotate/near", **changes: object) -> Result:
    """Return a right value."""
    return result(Passed(), check, **{"ratio": 0.4, "profile_met": "float32", "farthest": 9, **changes})


def enough(of: Result, **changes: object) -> Evidence:
    """Return evidence that is enough for what a result is about, changed as told."""
    said: dict[str, object] = {"golden": 24, "values": 9_000, "excluded": ("degrees", "not-turned")}
    return Evidence(of.implementation, of.operation, of.dtype, **{**said, **changes})  # type: ignore[arg-type]  # keywords of Evidence


def a_report(*results: Result, **changes: object) -> Report:
    """Return a report on ``mine.py``, with evidence enough for whatever is in it."""
    known = {(each.implementation, each.operation, each.dtype): each for each in map(enough, results)}
    said: dict[str, object] = {"header": {"posenc": "0.1.0", "seed": 7}, "evidence": tuple(known.values())}
    return Report("mine.py", results=results, **{**said, **changes})  # type: ignore[arg-type]  # keywords of Report


def screen(*results: Result, verbose: bool = False, **changes: object) -> str:
    """Return the screen of a report on ``mine.py``, with what was wrapped joined again."""
    return " ".join(report.text(a_report(*results, **changes), verbose=verbose).split())


def test_the_verdict_is_the_first_line() -> None:
    first = [report.text(a_report(outcome)).splitlines()[0] for outcome in (right(), wrong(), result(Unsupported("no")))]

    said = ("conforms", "does not conform", "no verdict: nothing that ran could be judged (all unsupported)")
    assert first == [f"mine.py {words}" for words in said]


SHAPE = Failed(Reason.SHAPE, "result must have shape (2, 4), got (2, 3)")
NAN = Failed(Reason.NOT_FINITE, "3 of 8 not finite; first at (0,): nan")


@pytest.mark.parametrize("outcome", [SHAPE, NAN], ids=["another shape", "NaN"])
def test_what_has_no_size_is_told_as_what_it_is(outcome: Failed) -> None:
    shown = screen(wrong(), result(outcome, "shape", kind="law", ratio=float("inf")))
    assert f"how bad {report.message(outcome)}, in shape" in shown


def test_precision_tells_the_cases_whose_error_has_no_size() -> None:
    told = "not finite, or of another shape, in 1 of its cases"

    assert f"mine: float32 meets no profile, worst 0.50; to 9; {told}" in screen(right(ratio=0.5), result(NAN))
    assert f"200 times the allowed error; wrong from position 3; {told}" in screen(wrong(errors_by_position=((3, 200.0),)), result(SHAPE))
    assert told not in screen(wrong(), right(ratio=0.5))


FORMS = {"HTML": page.text, "Markdown": markdown.text, "JUnit": junit.text, "the terminal": lambda reports: report.text(reports[0])}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_every_form_of_a_report_tells_its_notes(form: Callable[[Sequence[Report]], str]) -> None:
    aside = result(Advisory("leaves a thread running"), "state", kind="advisory")
    words = " ".join(form([a_report(right(), result(NAN), aside, reached=("mine reads vectors",))]).split())

    assert "not finite, or of another shape, in 1 of its cases" in words
    assert "leaves a thread running" in words
    assert "right answers are at hand: mine reads vectors" in words


def test_the_json_document_has_the_number_of_cases_whose_error_has_no_size() -> None:
    assert [row["unmeasured"] for row in record.document(a_report(right(), result(NAN)))["precision"]] == [1]


def test_an_endless_multiple_of_nothing_is_not_told() -> None:
    exact = result(Failed(Reason.LAW, "0.5 on one side"), "identity at origin", kind="law", ratio=float("inf"))

    assert "how bad" not in screen(wrong(), exact)
    larger = wrong("rope.rotate/x", ratio=900.0, size=99)
    assert "how bad up to 900 times the allowed error at float32, in rope.rotate/x" in screen(wrong(), exact, larger)
    endless = wrong(ratio=float("inf"), errors_by_position=((0, float("inf")),))
    assert "meets no profile, wrong where it must be exact" in screen(endless)


def test_what_is_wrong_without_positions_meets_no_profile_and_is_told_apart_from_right_code() -> None:
    shown = screen(wrong(), right(implementation="other"))

    assert "rope.rotate float32 0.40; to 9 rope.rotate mine: float32 meets no profile, 200 times the allowed error" in shown


@pytest.mark.parametrize("reason", [Reason.ADAPTER, Reason.DTYPE, Reason.MALFORMED])
def test_what_gives_no_values_is_neither_hinted_at_nor_measured(reason: Reason) -> None:
    shown = screen(result(Failed(reason, "got None"), exposes="positions in half precision"))

    assert "look for" not in shown
    assert "PRECISION" not in shown


def test_what_cases_expose_is_not_told_where_all_are_wrong() -> None:
    every = [wrong(f"rope.rotate/{name}", exposes="positions in half precision") for name in ("far", "near", "odd", "million")]

    assert "look for" not in screen(*every)
    assert "look for positions in half precision" in screen(*every, right())


def test_a_command_that_shows_a_failure_again_is_shown_in_lines_that_can_be_pasted() -> None:
    command = "posenc protocol replay rope.rotate/far \\\n    --command 'node my rope.js'\n"
    shown = screen(wrong(reproduction=command))

    assert "reproduce posenc protocol replay rope.rotate/far \\ --command 'node my rope.js'" in shown


def test_what_is_wrong_comes_before_how_precise_it_is() -> None:
    shown = screen(wrong(errors_by_position=((0, 0.1), (1, 200.0))), right())

    assert 0 < shown.index("WRONG") < shown.index("PRECISION") < shown.index("vectors:")


def test_a_diagnosis_is_told_in_full() -> None:
    shown = screen(wrong(), diagnoses={"mine:rope.rotate:float32": DIAGNOSIS})

    for words in (
        "mistake rope.rotate/degrees",
        "does takes",
        "should take",
        "fix drop",
        *DIAGNOSIS.threads,
        "also fits rope.rotate/other",
    ):
        assert words in shown


@pytest.mark.parametrize(
    ("outcome", "option"), [(TimedOut(30.0), "call-seconds"), (Exhausted("memory", 99), "memory"), (Exhausted("processes", 9), "processes")]
)
def test_an_exceeded_limit_is_no_wrong_value_and_says_which_option_allows_more(outcome: Outcome, option: str) -> None:
    shown = screen(result(outcome), right())

    assert f"limit no value came, so none is wrong: allow more with --{option}, or declare no calls that need more" in shown
    assert "meets no profile" not in shown
    assert "limit" not in screen(wrong())


def test_a_limit_that_earlier_calls_have_filled_is_told_so() -> None:
    shown = screen(result(Exhausted("memory", 99, "the same call passes in a fresh worker")))

    assert "limit what earlier calls leave adds up: have them leave nothing, or allow more with --memory" in shown


def test_what_ended_a_worker_stands_before_what_had_none_any_more() -> None:
    later = result(Crashed(f"{UNSTARTED} again: the device is gone"), "rope.rotate/far", size=4)
    crash = result(Crashed("the process ended with signal SIGABRT"), "rope.rotate/wide", size=4000)

    shown = screen(later, crash)

    assert "shown by rope.rotate/wide" in shown
    assert "a crash: the process ended with signal SIGABRT" in shown


@pytest.mark.parametrize(
    "message",
    [
        "MemoryError: Unable to allocate 260. GiB for an array (mine.py:6 in rotate)",
        "RuntimeError: [enforce fail at alloc_cpu.cpp:127] DefaultCPUAllocator: can't allocate memory: you tried to allocate 6 bytes",
        "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 6 bytes.",
    ],
)
def test_an_array_for_which_there_is_no_memory_is_told_as_a_limit(message: str) -> None:
    said = "limit no value came, so none is wrong: allocate less, or allow more with --memory where the machine has it, or declare"
    assert said in screen(result(Errored(message)))


@pytest.mark.parametrize(("name", "told"), [("rope.rotate/declared-too-widely", True), ("rope.rotate/layout=half", False)])
def test_what_a_case_was_made_to_expose_is_told_beside_a_narrower_declaration(name: str, *, told: bool) -> None:
    diagnosis = Diagnosis((name,), "does", "should", "fix", kind="convention")
    shown = screen(wrong(exposes="positions broadcast along the heads"), diagnoses={"mine:rope.rotate:float32": diagnosis})
    assert ("look for positions broadcast along the heads" in shown) == told


def test_what_a_case_was_made_to_expose_is_not_told_of_one_that_gave_no_value() -> None:
    assert "look for" not in screen(result(TimedOut(0.5), exposes="positions in half precision"))


@pytest.mark.parametrize(("kinds", "told"), [(("vector", "drawn"), True), (("drawn", "drawn"), False)])
def test_what_some_of_the_wrong_drawn_cases_expose_is_told_only_beside_stored_ones(kinds: tuple[str, str], *, told: bool) -> None:
    first, second = kinds
    results = (wrong(kind=first, exposes="views of arrays"), wrong("rope.rotate/drawn-1", kind=second))
    assert ("look for views of arrays" in screen(*results)) == told


def test_a_convention_is_not_called_a_mistake() -> None:
    convention = Diagnosis(("layout=half",), "conforms as layout=half", "you declared layout=interleaved", "declare it", kind="convention")
    shown = screen(wrong(), diagnoses={"mine:rope.rotate:float32": convention})

    assert "convention layout=half does conforms as layout=half should you declared layout=interleaved" in shown
    assert "mistake" not in shown


def test_positions_of_the_precision_are_said_to_be_distances_from_zero() -> None:
    assert "profile met; |position|)" in screen(wrong())


def test_an_unknown_mistake_is_said_to_be_unknown() -> None:
    assert "mistake none of the known ones gives these values" in screen(wrong())
    assert "mistake none of the known ones gives these values" in screen(wrong(), result(Errored("ValueError: no")))


def test_what_is_seen_of_an_unknown_mistake_counts_nothing_that_is_counted_below_and_is_not_called_known() -> None:
    seen = Diagnosis((), "", "", "", kind="unknown", description=("wrong only where head_dim is 80", "only the last channel is wrong"))
    shown = screen(wrong(), diagnoses={"mine:rope.rotate:float32": seen})

    assert "gives these values clues wrong only where head_dim is 80 only the last channel is wrong shown by" in shown


def test_the_smallest_failing_input_is_shown() -> None:
    report_ = a_report(wrong("rope.rotate/large", size=4096), wrong("rope.rotate/small", size=4), wrong("isometry", kind="law", size=2))

    assert convictions(report_)[0].smallest.check == "rope.rotate/small"


def test_a_failure_at_the_edge_does_not_stand_for_a_clear_one() -> None:
    report_ = a_report(wrong("rope.rotate/edge", size=2, ratio=1.1), wrong("rope.rotate/clear", size=40))

    assert convictions(report_)[0].smallest.check == "rope.rotate/clear"


def test_the_worst_is_told_in_multiples_of_the_allowed() -> None:
    shown = screen(wrong("rope.rotate/small", ratio=20.0), wrong("rope.rotate/far", ratio=3456.0, size=99))

    assert "up to 3.46e+03 times the allowed error at float32, in rope.rotate/far" in shown


def test_a_multiple_that_says_nothing_is_told_in_words_and_once() -> None:
    small, far = wrong("rope.rotate/small", ratio=20.0), wrong("rope.rotate/far", ratio=1.43e45, size=99)

    assert "how bad more than 1,000,000 times the allowed error at float32, in rope.rotate/far" in screen(small, far)
    assert "how bad" not in screen(far, wrong("rope.rotate/x", ratio=3e9, size=4))


def test_exceptions_are_told_beside_wrong_values() -> None:
    raised = [result(Errored(f"IndexError: {place}"), f"rope.rotate/{place}", size=99) for place in (512, 513)]

    assert "raises in 2 of the 3 failing checks, such as IndexError: 512" in screen(wrong("rope.rotate/small"), *raised)
    assert "raises in" not in screen(*raised)


def test_a_broken_law_shows_its_equation_and_its_call() -> None:
    broken = result(
        Failed(Reason.LAW, "left 1.0, right 2.0"), "isometry", kind="law", ratio=30.0, reproduction="call(\n    x)\n", examples=20
    )
    shown = report.text(a_report(broken))

    assert Law.ISOMETRY.value in " ".join(shown.split())
    assert "    call(\n        x)\n" in shown


def test_history_dependence_shows_the_earlier_call() -> None:
    history = result(Failed(Reason.HISTORY, "right when called first"), "history independence", kind="law", earlier="rope.rotate/base-500")
    shown = screen(history)

    assert "depends on what was called before: right when called first" in shown
    assert "after rope.rotate/base-500" in shown


def test_code_that_keeps_something_is_told_so_beside_its_wrong_values() -> None:
    history = result(Failed(Reason.HISTORY, "right when called first"), "history independence", kind="law")
    clue = "clues earlier calls change later answers (history independence): look for what the code keeps between calls"

    assert clue in screen(wrong(), history)
    assert "clues" not in screen(history)
    assert "clues" not in screen(wrong(), wrong("rope.rotate/near"))


def test_a_long_reproduction_becomes_a_command_unless_asked_for() -> None:
    long = wrong(reproduction="\n".join(f"line {number}" for number in range(40)))

    assert "reproduce posenc check mine.py --case rope.rotate/far --verbose" in screen(long)
    assert "line 39" in screen(long, verbose=True)
    assert "reproduce posenc check mine.py --case rope.rotate/far --under meta" in screen(long, header={"under": "meta"})


def test_a_command_that_is_too_wide_is_continued_so_that_it_can_be_pasted() -> None:
    shown = report.text(a_report(wrong("rope.rotate_query_key/drawn-1234", kind="drawn")))

    assert max(map(len, shown.splitlines())) <= 80
    assert "  reproduce  posenc check mine.py \\\n             --case rope.rotate_query_key/drawn-1234 --seed 7 --verbose\n" in shown


def test_a_case_that_was_asked_for_is_not_told_to_be_asked_for() -> None:
    assert "reproduce" not in screen(wrong(), header={"seed": 7, "cases": "rope.rotate/far"}, verbose=True)


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (Errored("KeyError: 'base'"), "an exception: KeyError: 'base'"),
        (Crashed("ended by SIGSEGV"), "a crash: ended by SIGSEGV"),
        (TimedOut(30.0), "no answer within 30 s"),
        (Exhausted("memory", 4096), "used more than 4096 MiB of memory"),
        (Exhausted("processes", 64), "ran more than 64 processes at once"),
        (Failed(Reason.DTYPE, "float16"), "wrong dtype: float16"),
    ],
)
def test_every_conviction_is_told_as_what_it_is(outcome: Outcome, words: str) -> None:
    assert words in screen(result(outcome))


def test_a_harness_error_is_not_a_verdict() -> None:
    broken = a_report(result(HarnessError("the channel closed")), right())

    assert broken.status == 3
    assert "mine.py no verdict: the harness itself failed" in report.text(broken)
    assert "the harness itself failed at rope.rotate/far: the channel closed" in report.text(broken)


def test_the_reach_ends_before_the_first_wrong_position() -> None:
    row = precision(a_report(wrong(errors_by_position=((1, 0.2), (2049, 200.0))), right(errors_by_position=((9, 0.4), (4096, 0.5)))))[0]

    assert (row.reach, row.wrong_from) == (9, 2049)


def test_rotations_of_one_arithmetic_say_together_how_far_and_what_it_does_to_logits() -> None:
    near = right("rope.rotate/a", logits=((9, 1e-6),), farthest=131_071)
    far = right("yarn.rotate/a", operation="yarn.rotate", logits=((4096, 0.0012),), farthest=1_048_576)
    half = right(dtype="bfloat16", profile="bfloat16-model", profile_met="bfloat16-table", logits=((9, 0.02),), farthest=9)
    shown = screen(near, far, half)

    assert "float32 angles: within the allowed error up to 1,048,576; logits are then off by 0.001 at 4,096" in shown
    assert "bfloat16 tables: within the allowed error up to 9; logits are then off by 0.02 at 9" in shown


def test_a_wrong_rotation_says_from_where_and_what_it_does_to_logits() -> None:
    shown = screen(wrong(errors_by_position=((1, 0.2), (257, 200.0)), logits=((1, 1e-6), (257, 0.35))))

    assert "float32 results: wrong from position 257; logits are then off by 0.3 at 257" in shown
    assert "arithmetic" not in shown


def test_what_is_right_again_beyond_a_wrong_position_is_told() -> None:
    assert "wrong from position 257, though not everywhere" in screen(wrong(errors_by_position=((1, 0.2), (257, 200.0), (1024, 0.1))))
    assert "though" not in screen(wrong(errors_by_position=((1, 0.2), (257, 200.0), (1024, 8.0))))


@pytest.mark.parametrize(
    ("positions", "words"),
    [
        ((-1,), "wrong at position -1"),
        ((-300, -1), "wrong at negative positions from -1 down"),
        ((-1, 300, 301), "wrong from position 300 and at position -1"),
        ((-2049, 2049), "wrong from position 2,049"),
        ((-2, 0), "wrong from position 0"),
    ],
)
def test_padding_at_minus_one_is_not_told_as_position_one(positions: tuple[int, ...], words: str) -> None:
    shown = screen(wrong(errors_by_position=((1, 0.2), *((position, 200.0) for position in positions))))

    assert words.replace(" ", "") in re.sub(r"\s", "", shown)
    assert "position 1" not in shown


def test_nothing_is_said_about_logits_where_nothing_can_tell_them() -> None:
    biased = right("alibi.bias/far", operation="alibi.bias", logits=((9, 0.5),))

    assert "logits off" not in screen(right(), biased)


def test_nan_at_a_position_makes_it_wrong() -> None:
    broken = result(Failed(Reason.NOT_FINITE, "nan"), errors_by_position=((0, 0.0), (5, float("nan"))))

    assert precision(a_report(broken))[0].wrong_from == 5


def test_the_profile_met_is_the_weakest_over_all_vectors() -> None:
    row = precision(a_report(right(), right("rope.rotate/b", profile_met="float32-loose-frequencies", ratio=0.9)))[0]

    assert (row.met, row.worst) == ("float32-loose-frequencies", 0.9)


def test_no_profile_is_met_where_one_vector_meets_none() -> None:
    assert precision(a_report(right(), wrong()))[0].met is None


def test_what_drawn_cases_alone_show_meets_the_profile_that_they_were_asked_at() -> None:
    drawn = result(Passed(), "rope.rotate/drawn-1", kind="drawn", ratio=0.3, profile="bfloat16-model")

    assert precision(a_report(drawn))[0].met == "bfloat16-model"
    assert precision(a_report(drawn, right()))[0].met == "float32"
    assert precision(a_report(drawn, wrong("rope.rotate/drawn-2", kind="drawn")))[0].met is None


def test_a_declared_profile_is_shown() -> None:
    assert "mine declares float32-loose-frequencies" in screen(
        right(profile="float32-loose-frequencies", profile_met="float32-loose-frequencies")
    )


def test_counts_have_denominators_and_reasons() -> None:
    shown = screen(
        right(),
        result(Unsupported("layout='half'")),
        result(Unsupported("layout='half'")),
        result(NotJudged("too wide")),
        result(Passed(), "isometry", kind="law", examples=20),
    )

    assert "vectors: 1 of 4 passed, 0 failed, 2 unsupported, 1 not judged" in shown
    assert "laws: 1 of 1 passed" in shown
    assert "20 examples" in shown
    assert "unsupported (2): layout='half'" in shown
    assert "not judged (1): too wide" in shown


def test_many_reasons_are_summed_up() -> None:
    shown = screen(*(result(Unsupported(f"reason {number}")) for number in range(9)))

    assert "unsupported (5): 5 other reasons" in shown


def test_an_advisory_is_outside_the_verdict() -> None:
    told = a_report(right(), result(Advisory("wider result dtype float64")))

    assert told.status == 0
    assert "wider result dtype float64" in report.text(told)


def test_an_interrupted_run_says_so() -> None:
    assert "mine.py no verdict: interrupted before everything was run" in screen(right(), complete=False)
    assert "mine.py does not conform (interrupted before everything was run)" in screen(right(), wrong(), complete=False)


@pytest.mark.parametrize(
    ("results", "status"),
    [((), 4), ((result(Advisory("note")),), 4), ((result(Unsupported("no")),), 5), ((result(Waived("known", "", "wrong")),), 5)],
)
def test_what_gave_no_verdict_has_a_status_and_words_of_its_own_in_every_report(results: tuple[Result, ...], status: int) -> None:
    told = a_report(*results)
    words = verdict(told)

    assert told.status == status
    assert words.startswith("no verdict: nothing")
    for text in (report.text(told), markdown.text([told]), page.text([told]), badge.text([told]), lines.text([told]), record.text(told)):
        assert told.status.words in text


def test_no_two_statuses_share_their_words() -> None:
    assert len({status.words for status in Status}) == len(Status)
    assert sorted(ORDER) == sorted(Status)


def test_one_screen_is_enough_for_many_failures() -> None:
    results = [
        wrong(f"{operation}/case-{number}", operation=operation)
        for operation in ("rope.rotate", "rope.apply", "rope.tables")
        for number in range(40)
    ]
    shown = report.text(a_report(*results, diagnoses={"mine:rope.rotate:float32": DIAGNOSIS}))

    assert len(shown.splitlines()) <= 50


def test_no_line_is_wider_than_the_screen() -> None:
    results = [wrong(exposes="a very long explanation " * 9), right(), result(Unsupported("because " * 30)), result(Advisory("note " * 40))]
    shown = report.text(a_report(*results, diagnoses={"mine:rope.rotate:float32": DIAGNOSIS}))

    assert max(map(len, shown.splitlines())) <= 80


def test_control_characters_of_an_implementation_are_escaped() -> None:
    shown = report.text(a_report(result(Failed(Reason.VALUE, "\x1b[2J\rgone\u202e"), implementation="mi\x07ne", exposes="[bold]x[/bold]")))

    assert not set(shown) & {"\x1b", "\r", "\x07", "\u202e"}
    assert r"\x1b[2J\rgone\u202e" in shown
    assert "[bold]x[/bold]" in shown


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        """Say so."""
        return True


def test_markup_of_an_implementation_is_not_read_on_a_terminal() -> None:
    stream = Terminal()
    terminal.write(report.lines(a_report(result(Errored("[red]x[/red] :smile:")))), stream)

    assert "[red]x[/red] :smile:" in stream.getvalue()


def test_progress_is_shown_on_a_terminal_only_and_taken_away() -> None:
    watched, piped = Terminal(), io.StringIO()
    for stream in (watched, piped):
        progress = terminal.Progress("mine\x1b.py", stream)
        progress(1, 9, "rope.rotate")
        progress.clear()

    assert piped.getvalue() == ""
    assert "1 of 9, rope.rotate" in watched.getvalue()
    assert watched.getvalue().endswith("\r\x1b[K")
    assert "mine\\x1b.py" in watched.getvalue()


def test_the_document_holds_every_result_and_only_finite_numbers() -> None:
    told = a_report(wrong(ratio=float("inf")), right(), diagnoses={"mine:rope.rotate:float32": DIAGNOSIS})
    line = record.text(told)
    document = json.loads(line, parse_constant=pytest.fail)

    assert line.count("\n") == 1
    assert [entry["check"] for entry in document["results"]] == ["rope.rotate/far", "rope.rotate/near"]
    assert document["results"][0]["outcome"] == {"kind": "failed", "reason": "wrong value", "message": "8 of 12 differ"}
    assert document["results"][0]["ratio"] is None
    assert document["wrong"][0]["diagnosis"]["mutants"] == ["rope.rotate/degrees"]
    assert (document["verdict"], document["exit_status"], document["target"]) == ("does not conform", 1, "mine.py")


def test_the_counts_of_the_document_add_up() -> None:
    outcomes = [
        Passed(),
        Failed(Reason.VALUE, ""),
        Errored(""),
        Crashed(""),
        TimedOut(1.0),
        Exhausted("memory", 1),
        Unsupported(""),
        NotJudged(""),
        Advisory(""),
        Waived("", "", ""),
        HarnessError(""),
    ]
    found = dict(record.document(a_report(*map(result, outcomes)))["counts"])

    assert found.pop("total") == 11
    assert set(found.values()) == {1}
    assert len(found) == 11


def test_a_refused_bad_input_says_nothing_about_precision() -> None:
    assert precision(a_report(right(), result(Passed(), "rope.rotate/odd-width")))[0].met == "float32"


def test_all_that_conforms_of_an_operation_shares_one_line_unless_more_is_asked_for() -> None:
    results = [right(implementation=name, dtype=dtype) for name in ("one", "two") for dtype in ("float32", "float64")]
    short, long = (report.text(a_report(*results), verbose=verbose).splitlines() for verbose in (False, True))

    assert sum(line.startswith("rope.rotate") for line in short) == 1
    assert sum(line.startswith("rope.rotate") for line in long) == 4


def test_what_is_right_and_what_is_wrong_are_told_apart() -> None:
    bad = wrong(implementation="falcon", errors_by_position=((2049, 200.0),))
    shown = screen(right(errors_by_position=((9, 0.4),)), right(dtype="float16", profile="float16-model", profile_met="float16-table"), bad)

    assert "rope.rotate float32 0.40, float16 0.40 (float16-table); to 9" in shown
    assert "rope.rotate falcon: float32 meets no profile, 200 times the allowed error; wrong from position 2,049" in shown


def test_a_law_that_was_not_judged_is_named() -> None:
    assert "not judged (1): inverse: nothing was drawn" in screen(right(), result(NotJudged("nothing was drawn"), "inverse", kind="law"))


def test_a_gradient_whose_cotangent_alone_is_overwritten_is_not_called_wrong() -> None:
    modified = Failed(Reason.INPUT_MODIFIED, "inputs must stay as they are, got cotangent changed")
    gradient = result(modified, "rope.rotate/drawn-1-gradient", kind="drawn", gradient=True)

    assert "the gradient is wrong" not in screen(right(), gradient)


def test_where_only_a_gradient_is_wrong_the_precision_says_so_and_keeps_that_of_the_values() -> None:
    gradient = wrong("rope.rotate/drawn-1-gradient", kind="drawn", gradient=True, errors_by_position=((0, 200.0),), logits=((0, 0.5),))
    shown = screen(right(logits=((9, 1e-6),), farthest=9), gradient)

    assert "mine: float32 meets float32, worst 0.40; to 9; the gradient is wrong from position 0" in shown
    assert "float32 angles: within the allowed error up to 9; logits are then off by 1e-06 at 9" in shown
    for form in FORMS.values():
        assert "the gradient is wrong from position 0" in " ".join(form([a_report(right(), gradient)]).split())


def test_of_failures_that_are_as_clear_one_with_numbers_of_ordinary_size_is_shown() -> None:
    tiny, plain = wrong("rope.rotate/tiny", size=2, ordinary=False), wrong("rope.rotate/plain", size=12)

    assert convictions(a_report(tiny, plain))[0].smallest is plain
    assert convictions(a_report(tiny, wrong("rope.rotate/plain", ratio=2.0)))[0].smallest is tiny


def test_values_that_a_predicate_never_takes_are_told_in_the_verdict_and_below() -> None:
    narrow = a_report(right(), evidence=(enough(right(), left_out={"head_dim": "80, 96", "base": "100"}),))
    told = "a predicate of its declaration (when=, or a function in place of values) takes no head_dim 80, 96; no base 100"

    assert verdict(narrow) == "conforms (a predicate leaves out values of base, head_dim)"
    assert all(told in " ".join(form([narrow]).replace("\\_", "_").split()) for form in FORMS.values())
    assert record.document(narrow)["evidence"][0]["left_out"] == {"head_dim": "80, 96", "base": "100"}
    assert "predicate" not in screen(right())


def test_an_interrupted_run_says_that_no_mistake_was_looked_for() -> None:
    assert "not looked for: the run was interrupted" in screen(wrong(), complete=False)
    assert "none of the known ones gives these values" in screen(wrong())
