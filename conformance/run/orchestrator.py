"""Judge a target: stored vectors, golden cases drawn inside its declarations, laws, history, diagnosis, evidence, one report."""

import contextlib
import functools
import hashlib
import math
import platform
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from hypothesis.errors import HypothesisException

from conformance import laws
from conformance.adapt.selection import SelectionError, chooses, is_drawn
from conformance.calls.outcomes import INTERRUPTED, NOT_RUN, Diagnosis, NotJudged, Report, Result, Unsupported
from conformance.checks import golden_checks, law_checks, manner_checks, vector_checks
from conformance.checks.evidence.gathered import Gathered
from conformance.isolate.described import Descriptor
from conformance.isolate.session import Session
from conformance.isolate.targets import configured
from conformance.judge import reproduction
from conformance.judge.journal import Journal, Task
from conformance.run import asking_again, between_calls, by_values, history, settling, sharding
from conformance.run.case import Case, beside
from conformance.run.sharding import Shard
from conformance.spec.declarations import features, operations
from conformance.spec.profiles import CAST, HALVES, LOWERING
from conformance.spec.vectors import MANIFEST, Vector, load, of_models, vectors_directory
from conformance.version import __version__

#: How many examples each law gets, and how many vectors that it takes each implementation.
EXAMPLES = {"smoke": 5, "core": 12, "full": 120}
VECTORS = {"smoke": 3, "core": math.inf, "full": math.inf}
#: How many examples are enough for an implementation's further dtypes below level full, and where answers depend on
#: history, since each failure is repeated in a fresh worker anyway.
FEW = 4
#: The check that convicts what ends its worker between two calls.
AFTERWARDS = "nothing afterwards"
#: The check that says how a call ended that no other judges.
BESIDE = "calls between checks"
#: How many of the operations that a target offers are named where it is asked for another.
NAMED = 12

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Selection:
    """What is asked for: which checks, how many, at which profile."""

    schemes: Collection[str] | None
    operations: Collection[str] | None
    cases: Collection[str] | None
    profile: str | None
    level: str
    seed: int
    shard: Shard | None = None
    under: str | None = None
    by_configuration: bool = False

    def tasks(self, implementations: Sequence[Descriptor]) -> list[Task]:
        """Return one task per implementation and dtype."""
        wanted = [descriptor for descriptor in implementations if self._wants(descriptor.operation)]
        tasks = [task for descriptor in wanted for task in _tasks(descriptor, self.profile, under=self.under)]
        if self.under == CAST:  # each change of the dtype takes a new worker
            tasks.sort(key=lambda task: task.dtype)
        if self.shard is None:
            return tasks
        vectors = self.vectors(tasks, bad_input=False)
        return self.shard.tasks(tasks, lambda task: len(vectors[task.operation]))

    def left_out(self, implementations: Sequence[Descriptor]) -> list[Descriptor]:
        """Return the implementations that are wanted and can't be judged under the circumstance: they have no half precision."""
        if self.under not in LOWERING or (self.shard is not None and self.shard.number > 1):
            return []
        return [each for each in implementations if self._wants(each.operation) and not list(_tasks(each, self.profile, under=self.under))]

    def vectors(self, tasks: Sequence[Task], *, bad_input: bool) -> dict[str, list[Vector]]:
        """Return the vectors of every operation that a task offers."""
        chosen: dict[str, list[Vector]] = {task.operation: [] for task in tasks}
        stored = self.cases is None or not all(map(is_drawn, self.cases))
        for vector in [*self._of_models(tasks), *load(list(chosen))] if chosen and stored else []:
            wanted = self.cases is None or vector.id in self.cases
            if wanted and (bad_input or vector.error is None):
                chosen[vector.operation].append(vector)
        return chosen

    def _of_models(self, tasks: Sequence[Task]) -> list[Vector]:
        """Return the vectors of released models that are asked for, or that have all parameters of a task which leaves none open."""
        if self.cases is not None:
            return of_models({task.operation for task in tasks})
        closed = [task for task in tasks if operations()[task.operation].parameters.keys() <= task.descriptor.restrictions.keys()]
        given = [(task.operation, {**task.descriptor.restrictions}) for task in closed if task.descriptor.restrictions]
        every = of_models({operation for operation, _ in given}) if given else []
        return [vector for vector in every if (vector.operation, vector.parameters) in given]

    @property
    def examples(self) -> int:
        """How many examples each law gets; none where single cases are asked for."""
        return 0 if self.cases is not None else EXAMPLES[self.level]

    def unoffered(self, implementations: Sequence[Descriptor]) -> Iterator[str]:
        """Yield in words what is asked for by name and offered by nobody, with what is offered."""
        offered = list(dict.fromkeys(descriptor.operation for descriptor in implementations))
        named = dict.fromkeys([*(self.operations or ()), *(case.split("/", 1)[0] for case in self.cases or ())])
        operations = [name for name in named if not any(self._is(one, name) for one in offered)]
        schemes = [name for name in self.schemes or () if not any(one.startswith(f"{name}.") for one in offered)]
        rest = f" and {len(offered) - NAMED} more" if len(offered) > NAMED else ""
        for name in (*operations, *schemes):
            yield f"{name} isn't offered; what is: {', '.join(offered[:NAMED])}{rest}"

    def _is(self, operation: str, name: str) -> bool:
        return chooses((name,), operation, by_configuration=self.by_configuration)

    def _wants(self, operation: str) -> bool:
        scheme = operation.split(".", 1)[0]
        in_operations = self.operations is None or any(self._is(operation, name) for name in self.operations)
        in_cases = self.cases is None or any(case.split("/", 1)[0] == operation for case in self.cases)
        return (self.schemes is None or scheme in self.schemes) and in_operations and in_cases


def judge(session: Session, selection: Selection, progress: Progress) -> Report:
    """Return the report of all that a selection asks of a session; an interruption returns what there is, marked incomplete."""
    _verify(session)
    with session.fresh(hash_seed=1) as again:  # what depends on the order of a set answers otherwise there
        with contextlib.suppress(OSError):  # told where it is asked
            again.start()
        return _Run(session, again, selection, progress).report()


class _Run:
    """One run over one target."""

    def __init__(self, session: Session, again: Session, selection: Selection, progress: Progress) -> None:
        self.session = session
        self.again = again
        self.selection = selection
        self.journal = Journal()
        self.diagnoses: dict[str, Diagnosis] = {}
        self.gathered: list[Gathered] = []
        self.asked: list[Task] = []
        self.isolation = session.isolation
        self.cases = [Case(task) for task in selection.tasks(session.implementations)]
        self.vectors = selection.vectors([case.task for case in self.cases], bad_input=bool(session.about["rejects_bad_input"]))
        self.progress = _Steps(progress, sum(len(_vectors_for(case.task, self.vectors[case.task.operation])) + 2 for case in self.cases))

    def report(self) -> Report:
        """Run everything and return the report."""
        complete = True
        try:
            self._judge()
            self._explain()
        except KeyboardInterrupt:
            complete = False
            self._cut_short()
        results = sorted(map(self._seen_again, self._results()), key=sharding.order)
        evidence = sorted((gathered.evidence() for gathered in self.gathered), key=sharding.order)
        found = tuple(results), self.diagnoses, complete, tuple(evidence)
        return Report(self.session.target, self._header(), *found, reached=self.session.reached, warnings=self._warnings())

    def _cut_short(self) -> None:
        """Say of every case that wasn't asked all that its evidence is missing, also where golden values are enough, or there are none."""
        if self.selection.cases is not None:
            return
        begun = [gathered.task for gathered in self.gathered]
        self.gathered += [Gathered(case.task, self.selection.level) for case in self._fit() if case.task not in begun]
        for gathered in self.gathered:
            if gathered.task not in self.asked:
                gathered.ended = gathered.ended or INTERRUPTED

    def _warnings(self) -> tuple[str, ...]:
        return (*self.session.warnings, *self.selection.unoffered(self.session.implementations))

    def _judge(self) -> None:
        for case in self.cases:
            self._vectors(case)
            if not self._unfit(case):
                self._golden(case)
            asking_again.keep_apart(self.session, case)
        self.session.notice()
        if self.selection.by_configuration:
            asking_again.ask_other_kinds(self.again, self._fit())
        asking_again.ask_again(self.again, self._fit())
        for case in self._fit():
            self._inferring(case)
        self.again.close()
        for case in self._fit():
            self._laws(case)
            asking_again.ask_at_the_end(self.session, case)
            self.asked.append(case.task)
            asking_again.keep_apart(self.session, case)
        self.session.notice()

    def _explain(self) -> None:
        settling.settle(self.session, self._fit())
        for case in self._fit():
            case.blamed = history.verdict(self.session, self.journal, case)
            if case.flickers:
                settling.settle(self.session, [case])
            diagnosis = _diagnose(self.session, case)
            if diagnosis is not None:
                self.diagnoses[_name(case)] = diagnosis
        if not self.diagnoses:
            return
        from conformance.diagnosis.miscounted import miscounted
        from conformance.diagnosis.sides import of_sides

        every = {_name(case): case.checked for case in self._fit() if case.checked}
        self.diagnoses |= dict(of_sides(every, self.diagnoses))
        if (path := configured(self.session.target)[0]) is not None:
            self.diagnoses |= dict(miscounted(every, self.diagnoses, path))

    def _vectors(self, case: Case) -> None:
        subject = self.journal.subject(self.session, case.task)
        vectors = _vectors_for(case.task, self.vectors[case.task.operation])
        for checked in vector_checks.run(subject, case.task, vectors, enough=VECTORS[self.selection.level]):
            case.checked.append(checked)
            self.progress.step(checked.vector.id)
        self.progress.skip(len(vectors) - len(case.checked))
        if self.selection.cases is None and not vector_checks.futile(case.checked) and not case.unfit:
            asking_again.ask_siblings(case, subject)

    def _unfit(self, case: Case) -> str:
        """Return what is wrong with the adapter where nothing else came of a case; what is asked for by name is answered."""
        return case.unfit if self.selection.cases is None else ""

    def _fit(self) -> list[Case]:
        return [case for case in self.cases if not self._unfit(case)]

    def _golden(self, case: Case) -> None:
        """Judge by drawn cases: as many as the level asks for, and those that show a known mistake which isn't excluded yet."""
        self.progress.step(f"drawn cases of {case.task.operation}")
        subject, seed = self.journal.subject(self.session, case.task), self.selection.seed
        plain = self.session.subject(case.task.descriptor, case.task.dtype, case.task.profile)
        if self.selection.cases is not None:
            asked = golden_checks.asked_for(subject, plain, case.task, self.selection.cases, seed=seed, level=self.selection.level)
            case.checked.extend(asked)
            return
        gathered = Gathered(case.task, self.selection.level)
        self.gathered.append(gathered)
        if vector_checks.futile(case.checked):
            gathered.ended = NOT_RUN
            return
        gathered.ended = INTERRUPTED  # until all is asked
        for checked in golden_checks.judgements(subject, plain, case.task, gathered, seed=seed, level=self.selection.level):
            case.checked.append(checked)
            gathered.add(checked)
            if vector_checks.futile(case.checked):
                gathered.ended = NOT_RUN
                return
        gathered.ended = ""
        if self.selection.level != "smoke":
            case.checked.extend(golden_checks.otherwise(subject, case.task, gathered.checked, seed))
        if golden_checks.thorough(case.task, self.selection.level):
            case.checked.extend(golden_checks.gradients(plain, case.task, seed))

    def _inferring(self, case: Case) -> None:
        """Judge some calls that passed with gradients off, in the worker that is asked for nothing afterwards."""
        task, wanted = case.task, self.selection.cases is None and golden_checks.thorough(case.task, self.selection.level)
        if wanted and not vector_checks.futile(case.checked):
            subject = self.again.subject(task.descriptor, task.dtype, task.profile)
            case.checked.extend(manner_checks.inferring(subject, task, case.checked, isolated=self.again.isolated))

    def _laws(self, case: Case) -> None:
        self.progress.step(f"laws of {case.task.operation}")
        if self.selection.examples == 0 or vector_checks.futile(case.checked):
            return
        subject = self.journal.subject(self.session, case.task)
        try:
            case.found.extend(law_checks.run(subject, case.task, examples=self._examples(case), seed=self.selection.seed))
            if golden_checks.thorough(case.task, self.selection.level):
                plain = self.session.subject(case.task.descriptor, case.task.dtype, case.task.profile)
                case.found.extend(law_checks.whole_and_parts(plain, case.task, self.selection.seed))
        except (ArithmeticError, AttributeError, HypothesisException, LookupError, TypeError, ValueError) as error:
            case.broken = f"{type(error).__name__}: {error}"

    def _examples(self, case: Case) -> int:
        plain = self.selection.level == "full" or case.task.first
        return self.selection.examples if plain and not case.suspicious else min(self.selection.examples, FEW)

    def _results(self) -> Iterator[Result]:
        for case in self.cases:
            for check in case.checks:
                if check is not case.history or case.blamed is None:
                    yield check.result(self.session.opened, case.overruled(check))
            if case.blamed is not None:
                yield case.blamed
            yield from vector_checks.advisories(case.checked)
            yield from vector_checks.state(case.task, self._left(case))
            yield from vector_checks.memory(case.task, self.session.piled(case.task.descriptor.index, case.task.dtype))
            yield from manner_checks.aliases(case.task, case.checked)
            yield from self._afterwards(case)
            yield from self._beside(case)
            yield from self._not_run(case)
            if case.broken is not None:
                yield law_checks.broken(case.task, case.broken)
        for left in self.selection.left_out(self.session.implementations):
            dtype, reason = left.dtypes[0], Unsupported(f"it offers no half precision, in which {self.session.under} is judged")
            yield Result(left.label, left.operation, f"under {self.session.under}", "law", dtype, left.profile[dtype], reason)

    def _seen_again(self, result: Result) -> Result:
        """Return a result, with the command that shows it again where a program is wrong."""
        asked, program = self.selection, self.session.program
        if not program or not result.convicts:
            return result
        command = reproduction.of_program(program, result, seed=asked.seed, level=asked.level, profile=asked.profile)
        return replace(result, reproduction=command)

    def _left(self, case: Case) -> Iterable[str]:
        """Return what the calls of a case left changed, in whichever worker."""
        key = case.task.descriptor.index, case.task.dtype
        return dict.fromkeys(trace for session in (self.session, self.again) for trace in session.traces(*key))

    def _afterwards(self, case: Case) -> Iterator[Result]:
        """Yield what became of a worker after it had answered, where that isn't nothing."""
        task = case.task
        for session in (self.session, self.again):
            ending = session.afterwards(task.descriptor.index, task.dtype)
            if ending is not None:
                yield Result(task.descriptor.label, task.operation, AFTERWARDS, "law", task.dtype, task.profile, ending)
                return

    def _beside(self, case: Case) -> Iterator[Result]:
        """Yield how a call ended that no check judges, where nothing else says that one did."""
        task = case.task
        lost = self.session.lost(task.descriptor.index, task.dtype)
        told = case.tells_of_an_end or any(self._afterwards(case))
        for call, came in [] if told else list(lost.items())[:1]:
            yield Result(task.descriptor.label, task.operation, BESIDE, "law", task.dtype, task.profile, beside(call, came))

    def _not_run(self, case: Case) -> Iterator[Result]:
        """Yield the drawn cases and laws that a case wasn't asked any more, after it had ended its worker too often."""
        task, operation = case.task, operations()[case.task.operation]
        if self.selection.cases is not None or not vector_checks.futile(case.checked):
            return
        drawn = [golden_checks.name(task, number + 1) for number in range(golden_checks.enough(task, self.selection.level))]
        claimed = [check.name for check in laws.checks(operation, law_checks.declared(task.operation))]
        told = {*(checked.vector.id for checked in case.checked), *(found.finding.law for found in case.found)}
        told |= set() if case.blamed is None else {case.blamed.check}
        for kind, names in (("drawn", drawn), ("law", claimed)):
            for name in (each for each in names if each not in told):
                named = task.descriptor.label, task.operation, name, kind, task.dtype, task.profile
                yield Result(*named, NotJudged(NOT_RUN), examples=0)

    def _header(self) -> dict[str, object]:
        about = self.session.about
        return {
            "posenc": __version__,
            "adapter": about["adapter"],
            **about["versions"],
            "platform": platform.platform(terse=True),
            "device": about["device"],
            "level": self.selection.level,
            "seed": self.selection.seed,
            **({} if self.session.under is None else {"under": self.session.under}),
            **({} if self.selection.cases is None else {"cases": ", ".join(self.selection.cases)}),
            "limits": self.session.limits.words(),
            "isolation": self.isolation,
            **({} if self.selection.shard is None else {"shard": f"{self.selection.shard.number}/{self.selection.shard.of}"}),
            "vectors": _revision(),
        }


class _Steps:
    """Count what is done."""

    def __init__(self, progress: Progress, total: int) -> None:
        self.progress = progress
        self.total = total
        self.done = 0

    def step(self, text: str) -> None:
        """Say what comes next."""
        self.done += 1
        self.progress(self.done, self.total, text)

    def skip(self, count: int) -> None:
        """Count what isn't needed as done."""
        self.done += count


def _name(case: Case) -> str:
    return f"{case.task.descriptor.label}:{case.task.operation}:{case.task.dtype}"


def _revision() -> str:
    """Return what tells these vectors from others: the start of the manifest's SHA-256."""
    return hashlib.sha256((vectors_directory() / MANIFEST).read_bytes()).hexdigest()[:12]


def _verify(session: Session) -> None:
    has = session.about["circumstances"]
    if session.under is not None and session.under not in has:
        had = f"one that its framework has ({', '.join(has) or 'none'})"
        message = f"under must be {had}, got {session.under!r} for {session.target}"
        raise SelectionError(message)


def _tasks(descriptor: Descriptor, profile: str | None, *, under: str | None) -> Iterator[Task]:
    """Yield one task per dtype that makes a difference to the operation; of features whose arithmetic is lowered, the half ones."""
    real = features(operations()[descriptor.operation]) is not None
    for dtype in descriptor.dtypes if real or descriptor.takes_dtype else descriptor.dtypes[:1]:
        if under not in LOWERING or not real or dtype in HALVES:
            yield Task(descriptor, dtype, profile or descriptor.profile[dtype])


def _vectors_for(task: Task, vectors: Sequence[Vector]) -> list[Vector]:
    """Return the vectors for one dtype: bad input is refused whatever the dtype, so the first is enough."""
    return [vector for vector in vectors if vector.error is None or task.first]


def _diagnose(session: Session, case: Case) -> Diagnosis | None:
    """Return the diagnosis of wrong values, or of what calls leave behind: a known mistake first, then any name, then any."""
    ways = [functools.partial(_of_values, session, case), functools.partial(between_calls.diagnosis, session, case)]
    found = list[Diagnosis]()
    for diagnose in reversed(ways) if case.random else ways:
        diagnosis = diagnose()
        if diagnosis is not None:
            found.append(diagnosis)
            if diagnosis.named and _known(diagnosis):
                break
    return next((each for each in reversed(found) if each.named), next(iter(found), None))


def _known(diagnosis: Diagnosis) -> bool:
    """Whether all that is named are mistakes, conventions or habits of the catalogue, no number or declaration that was searched for."""
    from conformance.mutants.catalogue import KNOWN

    return KNOWN.keys() >= set(diagnosis.mutants)


def _of_values(session: Session, case: Case) -> Diagnosis | None:
    """Return what a case's wrong values show: what depends on history, or on hash order, shows nothing."""
    told = [checked for checked in case.checked if checked not in (*case.affected, *case.alike, *case.fickle)]
    return None if case.hashed else by_values.diagnosis(session, case.task, told)
