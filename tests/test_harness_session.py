"""A session keeps its promises to those who call it."""

import signal
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from conformance.calls.limits import Limits
from conformance.calls.outcomes import Crashed, TimedOut
from conformance.calls.subject import CallFailedError, CallRefusedError
from conformance.isolate import process
from conformance.isolate.described import Descriptor
from conformance.isolate.session import Session
from conformance.isolate.targets import LibraryMissing, TargetError

ARRAYS = (np.full((1, 1, 2, 4), 0.5), np.array([3, 9]))
PARAMETERS = {"head_dim": 4, "base": 100.0, "layout": "interleaved", "direction": "positive"}
ARGUMENTS = (ARRAYS, PARAMETERS)


@pytest.fixture(autouse=True)
def _beside_the_miniatures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parent)


def children() -> int:
    return len(psutil.Process().children(recursive=True))


def only(session: Session) -> Descriptor:
    (descriptor,) = session.implementations
    return descriptor


def test_values_come_back_exactly_with_the_dtype_that_they_had() -> None:
    angles = np.outer([3, 9], [1.0, 0.1])
    expected = 0.5 * np.stack([np.cos(angles) - np.sin(angles), np.sin(angles) + np.cos(angles)], axis=-1).reshape(1, 1, 2, 4)
    with Session("miniatures:right") as session:
        reply = session.request(only(session), "float32", *ARGUMENTS)

    assert reply.dtypes == {"result": "float32"}
    assert reply.values["result"].tolist() == expected.astype(np.float32).astype(np.float64).tolist()


def test_a_crash_ends_the_call_and_the_next_one_runs_in_a_fresh_worker() -> None:
    with Session("miniatures:crash_by_exit") as session:
        descriptor = only(session)
        for _ in range(2):
            with pytest.raises(CallFailedError) as caught:
                session.request(descriptor, "float32", *ARGUMENTS)
            assert isinstance(caught.value.outcome, Crashed)

        assert session.starts == 2


def test_a_hang_is_ended_with_its_process() -> None:
    before = children()
    with Session("miniatures:hang", Limits(call_seconds=0.1)) as session:
        descriptor = only(session)
        with pytest.raises(CallFailedError) as caught:
            session.request(descriptor, "float32", *ARGUMENTS)

        assert caught.value.outcome == TimedOut(0.1)
        assert children() == before


def test_no_process_outlives_its_session() -> None:
    before = children()

    def interrupted() -> None:
        with Session("miniatures:right") as session:
            session.request(only(session), "float32", *ARGUMENTS)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()

    assert children() == before


@pytest.mark.parametrize("step", ["Channel", "Watch"])
def test_an_interruption_while_a_worker_is_started_leaves_no_process(step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = getattr(process, step)

    def interrupted(*arguments: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        return real(*arguments)

    monkeypatch.setattr(process, step, interrupted)
    before = children()
    with pytest.raises(KeyboardInterrupt), Session("miniatures:right") as session:
        session.start()

    assert children() == before


def test_a_session_starts_at_the_first_use_only() -> None:
    before = children()
    with Session("miniatures:right") as session:
        assert (session.starts, children()) == (0, before)


def test_a_restriction_refuses_the_call() -> None:
    arrays, parameters = ARGUMENTS
    with Session("miniatures:right") as session, pytest.raises(CallRefusedError, match="layout='half'; it declares 'interleaved'"):
        session.request(only(session), "float32", arrays, {**parameters, "layout": "half"})


def test_a_bad_target_is_an_error_of_the_parent() -> None:
    with Session("miniatures:empty") as session, pytest.raises(TargetError, match="at least one operation"):
        session.implementations  # noqa: B018  reading starts the worker


@pytest.mark.parametrize(
    ("source", "error", "words"),
    [
        ("import nosuchlibrary\n", LibraryMissing, "needs the module nosuchlibrary, which isn't installed"),
        ("import os\nprint('bye', flush=True)\nos._exit(3)\n", TargetError, "ended with exit status 3: bye"),
    ],
    ids=["an absent library", "an exit"],
)
def test_what_a_target_meets_while_loading_is_told_apart(tmp_path: Path, source: str, error: type[Exception], words: str) -> None:
    target = tmp_path / "mine.py"
    target.write_text(source)
    with Session(str(target)) as session, pytest.raises(error, match=words):
        session.implementations  # noqa: B018  reading starts the worker


def test_expected_values_are_never_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker gets arrays and parameters, and what is around the call: its request has no other field."""
    sent: list[dict[str, object]] = []
    with Session("miniatures:right") as session:
        descriptor = only(session)
        channel = session._running().channel  # noqa: SLF001  the wire itself is looked at
        send = channel.send

        def tap(header: dict[str, object], *rest: Any, **options: Any) -> None:
            sent.append(dict(header))
            send(header, *rest, **options)

        monkeypatch.setattr(channel, "send", tap)
        session.request(descriptor, "float32", *ARGUMENTS)

    assert [set(header) for header in sent] == [{"index", "dtype", "parameters", "call"}, {"leave"}]
