"""``pytest --posenc my_adapter.py``: a test per case, per law and for the evidence. Nothing heavy is imported until a target is named."""

from __future__ import annotations

from argparse import ArgumentTypeError
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from posenc import import_ours

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.calls.limits import Limits
    from conformance.calls.outcomes import Diagnosis, Result
    from conformance.run.questions import Judge, Question

JUDGES = pytest.StashKey["list[Judge]"]()
REFUSED = pytest.StashKey["list[str]"]()
UNTIL_THE_END = pytest.StashKey[ExitStack]()
READY = pytest.StashKey["dict[str, set[str]]"]()


class Wrong(Exception):  # noqa: N818  a verdict on somebody else's code
    """The implementation is wrong."""

    def __init__(self, result: Result, diagnosis: Diagnosis | None, saved: str) -> None:
        """Carry what was found."""
        super().__init__(result.check)
        self.result, self.diagnosis, self.saved = result, diagnosis, saved


class NotEnough(Exception):  # noqa: N818  no verdict on somebody else's code
    """What was judged is no evidence enough for a verdict."""


class Unusable(Exception):  # noqa: N818  no verdict either
    """The target can't be judged."""


class HarnessFailed(Exception):  # noqa: N818  nobody's code is wrong but ours
    """The harness itself failed."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("posenc", "conformance of positional encodings")
    group.addoption("--posenc", action="append", default=[], metavar="TARGET", help="Judge TARGET: a file, module:object, ...")
    group.addoption("--posenc-examples", type=int, default=12, metavar="N", help="How many examples each law gets (default 12).")
    group.addoption("--posenc-seed", type=int, default=None, metavar="N", help="The seed of all draws; without it every run draws anew.")
    group.addoption("--save-failures", type=_folder, metavar="DIR", help="Write counterexamples of laws there, as candidates for vectors.")
    group.addoption("--posenc-startup-seconds", type=float, default=120.0, metavar="S", help="How long a TARGET may take to start.")
    group.addoption("--posenc-call-seconds", type=float, default=30.0, metavar="S", help="How long one call may take.")
    group.addoption("--posenc-memory", type=int, default=8192, metavar="MIB", help="How much memory a worker may use; 0 is no limit.")
    group.addoption("--posenc-processes", type=int, default=512, metavar="N", help="How many processes a worker may run; 0 is no limit.")
    parser.addini("posenc", type="args", default=[], help="Targets to judge in every run.")


def _folder(name: str) -> Path:
    """Return a folder by its name: the empty one, as of a variable that isn't set, would be wherever pytest runs."""
    if not name:
        message = "folder must have a name, got ''"
        raise ArgumentTypeError(message)
    return Path(name)


def _find_ours() -> None:
    """Raise ``UsageError`` where the project's own packages stand in our place."""
    try:
        import_ours()
    except ImportError as error:
        message = f"--posenc: {error}"
        raise pytest.UsageError(message) from error


def _make_ready(folder: Path | None) -> None:
    """Raise ``UsageError`` where nothing can be saved, before anything is judged."""
    from conformance.spec import files

    try:
        if folder is not None:
            files.make_ready(folder)
    except files.OutputError as error:
        message = f"--save-failures: {error}"
        raise pytest.UsageError(message) from error


def _targets(config: pytest.Config) -> list[str]:
    return [*config.getini("posenc"), *config.getoption("posenc")]


def pytest_configure(config: pytest.Config) -> None:
    """Register the marks, where there is something to mark."""
    config.stash[JUDGES], config.stash[REFUSED] = [], []
    config.stash[UNTIL_THE_END] = ExitStack()
    config.stash[READY] = {}
    if _targets(config):
        _find_ours()
        from conformance.isolate.interrupts import heeded
        from conformance.run import any_seed

        _make_ready(config.getoption("save_failures"))
        # So that whatever ends the run ends the workers, and leaves its reports; xdist interrupts its processes once more when all is done.
        config.stash[UNTIL_THE_END].enter_context(heeded(to_the_end=hasattr(config, "workerinput")))
        if config.option.posenc_seed is None:  # processes that share the tests are given the options
            config.option.posenc_seed = any_seed()
        for mark, says in _marks().items():
            config.addinivalue_line("markers", f"{mark}: {says}")


def _marks() -> dict[str, str]:
    """Return every mark of a check, and what it says."""
    from refimpl.schemes import SCHEMES

    levels = {f"level_{level}": f"posenc checks of level {level}" for level in ("smoke", "core")}
    schemes = {f"scheme_{scheme}": f"posenc checks of {scheme}" for scheme in SCHEMES}
    return {"posenc": "a check of an implementation's conformance", **levels, **schemes}


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Say what is judged, and what is drawn."""
    return [f"posenc: {_seeded(config)}"] if _targets(config) else []


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say again what was drawn, also where no header is shown."""
    if _targets(config):
        terminalreporter.write_line(f"posenc: {_seeded(config)}")
    for reason in config.stash[REFUSED]:  # whatever was chosen of the tests
        terminalreporter.write_line(f"posenc: {reason}")
    for judge in config.stash[JUDGES]:
        for words in _notes(judge):
            terminalreporter.write_line(f"posenc: {judge.session.target}: {words}")


def _notes(judge: Judge) -> Iterator[str]:
    """Yield what the verdict on a target rests on, and what is worth knowing outside of it."""
    from conformance.checks.evidence.told import told as rests_on
    from conformance.show.terminal import clean

    report = judge.report
    if report.fault and len(report.results) == len(judge.questions):
        yield clean(report.fault)
    yield from (f"{label} {clean(words)}" for label, words in rests_on(replace(report, results=())))
    yield from map(clean, judge.session.at_hand)
    asked = {(question.task.descriptor.index, question.task.dtype): question.task for question in judge.asked}
    for key, task in asked.items():
        yield from (f"{task.descriptor.label}, {task.operation} in {task.dtype}: {clean(left)}" for left in judge.session.aftermath(*key))


def _seeded(config: pytest.Config) -> str:
    seed = config.getoption("posenc_seed")
    return f"seed {seed} (--posenc-seed {seed} draws the same again)"


def pytest_unconfigure(config: pytest.Config) -> None:
    """End every worker."""
    for judge in config.stash.get(JUDGES, []):
        judge.close()
    config.stash.get(UNTIL_THE_END, ExitStack()).close()


@pytest.hookimpl(tryfirst=True)
def pytest_keyboard_interrupt(excinfo: pytest.ExceptionInfo[BaseException]) -> None:
    """Leave out of the traceback what stands in no line, which pytest can't show: a signal comes at any instruction."""
    entry = excinfo.tb
    while entry.tb_next:
        if entry.tb_next.tb_lineno is None:
            entry.tb_next = entry.tb_next.tb_next
        else:
            entry = entry.tb_next


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add the checks of every target to what was collected, before anything is deselected."""
    collected = [item for target in _targets(config) for item in _collected(session, config, target)]
    refused = [item.reason for item in collected if isinstance(item, Refused)]
    if refused and len(refused) == len(collected):
        raise pytest.UsageError("\n".join(refused))
    items.extend(collected)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any, ids: list[str]) -> None:
    """Raise ``UsageError`` where a target was ready in one process of ``-n`` and not in another: they share no tests of it."""
    ready, targets = node.config.stash[READY], _targets(node.config)
    tests = [one for one in ids if not one.endswith("::target")]
    ready[node.gateway.id] = {target for target in targets if any(one.startswith(f"::{target}::") for one in tests)}
    for target in sorted(set().union(*ready.values())):
        without = [each for each in ready if target not in ready[each]]
        if without:
            message = f"{target} must start in every process of -n, got none in {without[0]}: judge it without -n if only one of it can run"
            raise pytest.UsageError(message)


def _limits(config: pytest.Config) -> Limits:
    """Return what a worker may use, or raise ``UsageError``."""
    from conformance.calls.limits import LimitError, Limits

    examples = config.getoption("posenc_examples")
    if examples < 1:
        message = f"--posenc-examples must be at least 1, got {examples}"
        raise pytest.UsageError(message)
    try:
        return Limits(*(config.getoption(f"posenc_{name}") for name in ("startup_seconds", "call_seconds", "memory", "processes")))
    except LimitError as error:
        message = f"--posenc-{error}"
        raise pytest.UsageError(message) from error


def _collected(session: pytest.Session, config: pytest.Config, target: str) -> list[pytest.Item]:
    """Return the tests of a target: where it can't be judged, one that fails and says so."""
    from conformance.isolate.session import Session
    from conformance.isolate.targets import TargetError
    from conformance.run.questions import Judge

    judge = Judge(Session(target, _limits(config)), examples=config.getoption("posenc_examples"), seed=config.getoption("posenc_seed"))
    config.stash[JUDGES].append(judge)
    collector = Target.from_parent(session, name=target, judge=judge)
    try:
        return list(collector.collect())
    except (TargetError, OSError) as error:  # the second where the system lets no further process start
        config.stash[REFUSED].append(str(error))
        return [Refused.from_parent(collector, name="target", reason=str(error))]


class Target(pytest.Collector):
    """A target, whose checks are its tests."""

    def __init__(self, *, judge: Judge, **settings: Any) -> None:
        """Keep the judge."""
        super().__init__(**settings)
        self.judge = judge

    def collect(self) -> Iterator[Check]:
        """Yield one test per check, in the order of the specification."""
        for question in self.judge.questions:
            yield Check.from_parent(self, name=question.name, question=question)


class Refused(pytest.Item):
    """A target that can't be judged, beside others that can."""

    def __init__(self, *, reason: str, **settings: Any) -> None:
        """Keep why."""
        super().__init__(**settings)
        self.reason = reason
        for mark in _marks():
            self.add_marker(mark)

    def runtest(self) -> None:
        """Say it."""
        raise Unusable(self.reason)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Say it in its own words."""
        return str(excinfo.value) if isinstance(excinfo.value, Unusable) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Return the title of a failure."""
        return Path(str(self.parent.name if self.parent else "")), None, self.name


class Check(pytest.Item):
    """One question to one implementation."""

    def __init__(self, *, question: Question, **settings: Any) -> None:
        """Take the marks of the question."""
        super().__init__(**settings)
        self.question = question
        self.judge: Judge = self.parent.judge  # type: ignore[union-attr]  # the parent is a Target
        for mark in ("posenc", f"scheme_{question.scheme}", f"level_{question.level}"):
            self.add_marker(mark)

    def runtest(self) -> None:
        """Judge; unsupported and not judged are skips with their reason, but that evidence isn't enough is no skip."""
        from conformance.calls.outcomes import HarnessError, NotJudged, Unsupported
        from conformance.run.questions import EVIDENCE

        result = self.judge.answer(self.question)
        if isinstance(result.outcome, NotJudged) and result.kind == EVIDENCE:
            raise NotEnough(result.outcome.reason)
        if isinstance(result.outcome, Unsupported | NotJudged):
            pytest.skip(result.outcome.reason)
        if isinstance(result.outcome, HarnessError):
            raise HarnessFailed(result.outcome.message)
        if result.convicts:
            raise Wrong(result, self.judge.diagnosis(self.question), self._saved(result))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Say what, where, how bad, and which mistake; a traceback of ours only where the fault is ours."""
        if isinstance(excinfo.value, NotEnough):
            return f"{excinfo.value}\nNo verdict: that what was asked passes is not enough to say that it conforms (docs/conforms.md)."
        if not isinstance(excinfo.value, Wrong):
            return super().repr_failure(excinfo, style)
        return "\n".join(told(excinfo.value))

    def reportinfo(self) -> tuple[Path, None, str]:
        """Return the title of a failure."""
        return Path(self.judge.session.target), None, self.name

    def _saved(self, result: Result) -> str:
        """Save what breaks a law, where that is wanted, and return where; what was found is told also where that fails."""
        folder: Path | None = self.config.getoption("save_failures")
        calls = self.judge.counterexamples.get(self.question.name, ())
        if folder is None or result.kind != "law" or not calls:
            return ""
        from conformance.run.candidates import save
        from conformance.spec.files import OutputError

        try:
            return str(save(folder, result.check, calls, seed=self.judge.seed))
        except (OSError, OutputError) as error:
            return f"nothing: {error}"


def told(wrong: Wrong) -> Iterator[str]:
    """Yield the lines that a failing test shows."""
    from conformance.calls.outcomes import is_fault
    from conformance.show.report import message
    from conformance.show.terminal import clean

    result, diagnosis = wrong.result, wrong.diagnosis
    if is_fault(result.outcome):
        yield clean(f"{result.operation} can't be judged: {result.outcome.message}")
        return
    yield f"{clean(message(result.outcome))}"
    if result.exposes:
        yield f"exposes   {clean(result.exposes)}"
    yield from (f"clue      {clue}" for clue in (() if diagnosis is None else diagnosis.description))
    if diagnosis is not None and diagnosis.named:
        yield f"{diagnosis.label:9} {diagnosis.name}: {diagnosis.does}"
        yield f"should    {diagnosis.should}"
        yield f"fix       {diagnosis.fix}"
        yield from (f"seen in   {thread}" for thread in diagnosis.threads)
        if diagnosis.also_fits:
            yield f"also fits {diagnosis.others()}"
        yield from (f"tell apart: {separating}" for separating in diagnosis.separate)
    if wrong.saved:
        yield f"saved     {wrong.saved}"
    if result.reproduction:
        yield "reproduce:"
        yield from (f"    {clean(line)}" for line in result.reproduction.rstrip().split("\n"))
