"""Whatever a worker says, it is what a session can use or a clear line: no other field, type, length or depth gets past one place."""

import functools
import json
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conformance.calls.outcomes import Crashed, Outcome
from conformance.calls.subject import CallFailedError
from conformance.identify.asking import Refused, Strangers
from conformance.isolate import replies
from conformance.isolate.channel import ChannelError
from conformance.isolate.session import Session
from conformance.isolate.targets import TargetError
from conformance.run import check
from tools.faults import replying
from tools.faults.fault import Fault
from tools.soak import replies as said
from tools.soak.fuzz import batch

ARRAYS = (np.full((1, 1, 2, 4), 0.5), np.array([3, 9]))
PARAMETERS = {"head_dim": 4, "base": 100.0, "layout": "interleaved", "direction": "positive"}
CALL = "rope.rotate(head_dim=4, base=100.0, layout='interleaved', direction='positive') at positions [3, 9]"
#: What a worker says next, instead of the truth: as the faults have it, or without a field.
LIAR = f"""{textwrap.dedent(replying.LIAR)}
def without(name):
    told.append(lambda channel, header, values: honest(channel, {{key: header[key] for key in header if key != name}}, values))
"""


def changed(**fields: object) -> dict[str, Any]:
    return {**said.CALLED, **fields}


@pytest.mark.parametrize(
    ("reply", "complaint"),
    [
        (changed(status=None), "status must be one of error, malformed, misfit, unsupported, ok, got None"),
        (changed(status=["ok"]), r"status must be one of .*, got \['ok'\]"),
        ({name: value for name, value in said.CALLED.items() if name != "dtypes"}, "what is ok must have dtypes, got none"),
        (changed(exit_status=0), "what is ok must have nothing but .*, got 'exit_status'"),
        (changed(left=5), "left must be a list of text of at most 10000 letters, got 5"),
        (changed(left=[["the environment"]]), "left must be a list"),
        (changed(results={"query": 1}), "results must be a list"),
        (changed(dtypes={"query": 5}), "dtypes must be names with texts, got {'query': 5}"),
        (changed(repeats=-1), "repeats must be a count, got -1"),
        (changed(repeats=10**400), "repeats must be a count, got an integer of 1329 bits"),
        (changed(repeats=True), "repeats must be a count, got True"),
        (changed(unlike="x" * 3_000_000), r"unlike must be text of at most 10000 letters, got 'xxx.{60,90}x'$"),
        (changed(aliases=functools.reduce(lambda inner, _: [inner], range(900), [])), r"aliases must be a list .*, got \[\[\[\[.*\.\.\."),
        ({"status": "error", **said.EACH, "message": [1]}, r"message must be one line .*, got \[1\]"),
        ({"status": "unsupported", **said.EACH, "reason": "so"}, "what is unsupported must have declared, got none"),
    ],
)
def test_a_reply_of_another_form_is_refused_in_one_line(reply: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ChannelError, match=complaint) as refusal:
        replies.verify(reply, replies.CALLED)

    assert len(str(refusal.value)) < 300


@pytest.mark.parametrize(
    ("reply", "values", "complaint"),
    [
        (changed(results=["query"]), said.VALUES, "results, and what has a dtype, must be query, key, got"),
        (changed(results=["query", "query"]), said.VALUES, "must be query, key"),
        (changed(results=["query", "value"]), said.VALUES, "must be query, key"),
        (changed(dtypes={"query": "float32"}), said.VALUES, "must be query, key"),
        (said.CALLED, said.VALUES[:1], "a reply must hold 2 arrays, got 1"),
        (said.CALLED, [value.astype(np.int8) for value in said.VALUES], "results must be sent as float64 or int64, got 'int8'"),
        ({"status": "error", **said.EACH, "message": "no"}, said.VALUES, "a reply must hold 0 arrays, got 2"),
    ],
)
def test_results_that_are_not_those_of_the_operation_are_refused(reply: dict[str, Any], values: list[np.ndarray], complaint: str) -> None:
    replies.verify(reply, replies.CALLED)

    with pytest.raises(ChannelError, match=complaint):
        replies.verify_results(reply, values, said.RESULTS)


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"label": 5}, "implementations must be a list of implementations"),
        ({"operation": "rope.no_such"}, "implementations must be"),
        ({"dtypes": ["float128"]}, "implementations must be"),
        ({"profile": {"float32": "float32"}}, "implementations must be"),
        ({"takes": {**said.TAKES, "lowest": 10**400}}, "implementations must be"),
        ({"takes": {**said.TAKES, "positions": ["any"]}}, "implementations must be"),
        ({"takes": {}}, "implementations must be"),
        ({"restrictions": {"layout": "sideways"}}, "implementations must be"),
        ({"restrictions": {"base": 10**400}}, "implementations must be"),
        ({"restrictions": {"no_such": 1}}, "implementations must be"),
        ({"modifies_inputs": "no"}, "implementations must be"),
    ],
)
def test_a_worker_offers_only_what_exists(fields: dict[str, object], complaint: str) -> None:
    with pytest.raises(ChannelError, match=complaint):
        replies.verify({**said.READY, "implementations": [{**said.OFFERED, **fields}]}, replies.DECLARED)


def test_what_workers_say_has_its_form() -> None:
    for words, _, forms in said.SAID.values():
        replies.verify(json.loads(json.dumps(words)), forms)


def test_whatever_a_damaged_reply_says_it_is_used_or_refused_clearly() -> None:
    tally = batch(("replies of workers", 2, 0, 2_000))

    assert tally.failures == []
    assert tally.accepted > 20
    assert tally.refused > 1_000


@pytest.fixture
def liar(tmp_path: Path) -> Callable[[str], Outcome]:
    """Return how a call ends during which a worker prepares a lie, after which another call must be answered."""

    def ending(lie: str) -> Outcome:
        path = tmp_path / "liar.py"
        path.write_text(Fault("a lie", "", "", inside=f"if parameters['base'] == 100.0:\n    {lie}", outside=LIAR).source, encoding="utf-8")
        with Session(str(path)) as session:
            faulty = session.implementations[0]
            with pytest.raises(CallFailedError) as caught:
                session.request(faulty, "float32", ARRAYS, PARAMETERS)
            assert session.request(faulty, "float32", ARRAYS, {**PARAMETERS, "base": 200.0}).values["result"].shape == ARRAYS[0].shape
        return caught.value.outcome

    return ending


@pytest.mark.parametrize(
    ("lie", "words"),
    [
        (
            "frame([['float64', [1] * 70]], bytes(8))",
            "an array must be a known dtype and a shape, got ['float64', [1, 1, 1, 1, 1, 1, ...]]",
        ),
        ("frame([['float64', [2**40]]], bytes(8))", "an array must fit its frame, got 8796093022200 bytes more than the 8 there are"),
        ("frame([['float64', [-1]]], bytes(8))", "an array must be a known dtype and a shape, got ['float64', [-1]]"),
        ("field(call=5)", "a reply must carry the number of its call, got another"),
        ("without('call')", "a reply must carry the number of its call, got none"),
        ("field(left=[[1]])", "left must be a list of text of at most 10000 letters, got [[1]]"),
        ("without('results')", "what is ok must have results, got none"),
        ("field(unlike='x' * 10_000_000)", "a header must have at most 4194304 bytes, got 10000"),
    ],
)
def test_a_forged_reply_ends_its_call_and_no_other(liar: Callable[[str], Outcome], lie: str, words: str) -> None:
    ending = liar(lie)

    assert isinstance(ending, Crashed)
    assert f"sent garbage: {words}" in ending.message


def test_a_second_reply_is_never_taken_for_that_of_the_next_call(tmp_path: Path) -> None:
    twice = "told.append(lambda channel, header, values: [honest(channel, {**header, 'call': header['call'] + n}, values) for n in (0, 1)])"
    path = tmp_path / "liar.py"
    path.write_text(Fault("a lie", "", "", inside=twice, outside=LIAR).source, encoding="utf-8")
    with Session(str(path)) as session:
        faulty, healthy = session.implementations
        session.request(faulty, "float32", ARRAYS, PARAMETERS)
        slopes = session.request(healthy, "float32", (), {"num_heads": 4, "max_bias": 8.0}).values["result"]

        assert slopes.tolist() == [0.25, 0.0625, 0.015625, 0.00390625]
        assert list(session.late.values()) == [Crashed(f"sent an answer that nobody asked for; after {CALL}")]
        assert list(session.late) == [(faulty.index, "float32")]


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ("b'garbage' * 10", "a frame must start with b'PEC1', got b'garb'"),
        ("b'gar'", "a frame must be whole, got a part of one"),
        ("b'PEC1' + b'\\x09' + bytes(11) + b'{'", "a frame must be whole, got a part of one"),
    ],
    ids=["no frame", "less than a frame's start", "a part of a frame"],
)
def test_garbage_after_an_answer_is_told_as_garbage(tmp_path: Path, sent: str, words: str) -> None:
    path = tmp_path / "liar.py"
    inside = f"told.append(lambda channel, header, values: (honest(channel, header, values), channel.connection.send({sent})))"
    path.write_text(Fault("a lie", "", "", inside=inside, outside=LIAR).source, encoding="utf-8")

    report = check(str(path), cases=["rope.rotate/shifted", "alibi.slopes/six-heads"])
    with Session(str(path)) as session:
        session.request(session.implementations[0], "float32", ARRAYS, PARAMETERS)
        while session.open:
            session.notice()
        told = session.endings(0, "float32")

    convicted = [(result.operation, str(result.outcome)) for result in report.results if result.convicts]
    assert [operation for operation, _ in convicted] == ["rope.rotate"]
    assert f"sent garbage: {words}; after rope.rotate(" in convicted[0][1]
    assert told == (f"after its answer: sent garbage: {words}; after {CALL}",)


def test_first_words_that_are_forged_refuse_the_target(tmp_path: Path) -> None:
    path = tmp_path / "liar.py"
    forged = "worker.Worker.describe = lambda self: {'status': 'ready', 'adapter': ['liar']}"
    path.write_text(Fault("a lie", "", "", outside=f"{LIAR}{forged}").source, encoding="utf-8")

    with Session(str(path)) as session, pytest.raises(TargetError, match=r"sent garbage: adapter must be text .*, got \['liar'\]"):
        session.implementations  # noqa: B018  reading starts the worker


def test_an_undeclared_function_that_forges_its_answer_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "liar.py"
    path.write_text(f"{LIAR}\ndef f(x):\n    field(complex='yes')\n    return x\n", encoding="utf-8")

    with Strangers(f"{path}:f") as strangers, pytest.raises(Refused, match="sent garbage: complex must be true or false, got 'yes'"):
        strangers.answer(strangers.functions[0].index, [np.ones(2)], {}, "float32")


def test_a_refusal_of_ten_megabytes_is_told_in_few_words(tmp_path: Path) -> None:
    path = tmp_path / "wordy.py"
    path.write_text(Fault("words", "", "", "from conformance import Unsupported\nraise Unsupported('no ' * 5_000_000)").source)

    from conformance.calls.subject import CallRefusedError

    with Session(str(path)) as session, pytest.raises(CallRefusedError) as refusal:
        session.request(session.implementations[0], "float32", ARRAYS, PARAMETERS)

    assert str(refusal.value).startswith("no no no")
    assert len(str(refusal.value)) <= 500
