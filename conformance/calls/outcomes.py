"""What can come out of one check: every outcome is a type, and nothing is a boolean."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TypeGuard

from conformance.calls.status import Status


class Reason(Enum):
    """Why a check failed."""

    MALFORMED = "not a result"
    ADAPTER = "a fault of the adapter"
    SHAPE = "wrong shape"
    DTYPE = "wrong dtype"
    VALUE = "wrong value"
    NOT_FINITE = "not finite"
    INPUT_MODIFIED = "modifies its input"
    HISTORY = "depends on what was called before"
    HASH_ORDER = "depends on hash order"
    NOT_DETERMINISTIC = "not deterministic"
    LAW = "breaks a law"
    ACCEPTED_BAD_INPUT = "accepts bad input"
    STALE = "is no known deviation any more"


@dataclass(frozen=True)
class Passed:
    """Right, within the allowance of the required profile."""


@dataclass(frozen=True)
class Failed:
    """Wrong, and how: what, where, how bad."""

    reason: Reason
    message: str


@dataclass(frozen=True)
class Errored:
    """Raised an exception on an input that it said it supports."""

    message: str


#: What is told of a failure whose call, asked again where nothing was called before, is answered rightly.
ALONE = "the same call passes in a fresh worker"
#: How it is told that a worker could be started once, and no more.
UNSTARTED = "its worker can't be started"
NO_WORKER = "the system starts no worker again"


@dataclass(frozen=True)
class Crashed:
    """Ended its process, or sent garbage."""

    message: str

    @property
    def unstarted(self) -> bool:
        """Whether nothing was called, since there was no worker: what ended the last one is told elsewhere."""
        return self.message.startswith(UNSTARTED)


@dataclass(frozen=True)
class TimedOut:
    """Gave no answer in time; ``message`` says what else is known, where the same call was answered another time."""

    seconds: float
    message: str = ""

    def words(self) -> str:
        """Return how long was waited."""
        return f"no answer within {self.seconds:g} s" + (f"; {self.message}" if self.message else "")


@dataclass(frozen=True)
class Exhausted:
    """Used more memory (in MiB) or ran more processes than it may, with everything that it started; ``message`` says what else is known."""

    resource: str
    limit: int
    message: str = ""

    @property
    def of_memory(self) -> bool:
        """Whether it was memory."""
        return self.resource == "memory"

    def words(self) -> str:
        """Return what was used, and the limit."""
        used = f"used more than {self.limit} MiB of memory" if self.of_memory else f"ran more than {self.limit} {self.resource} at once"
        return used + (f"; {self.message}" if self.message else "")


#: How the reason begins where a call isn't made because posenc has nothing to judge it by; the rest says what helps.
UNJUDGED = "posenc can't judge this call: "


@dataclass(frozen=True)
class Unsupported:
    """Not taken: out of the declared range, or (``raised``) refused by the code itself inside of it."""

    reason: str
    raised: bool = False


@dataclass(frozen=True)
class NotJudged:
    """The allowance is too wide to say anything at this profile."""

    reason: str


@dataclass(frozen=True)
class Advisory:
    """Worth knowing, outside the verdict."""

    message: str


@dataclass(frozen=True)
class Waived:
    """Wrong in a way that is known: why, where it is told, and what came out."""

    reason: str
    link: str
    message: str


@dataclass(frozen=True)
class HarnessError:
    """Our own fault."""

    message: str

    @property
    def unstarted(self) -> bool:
        """Whether nothing was called, since the system started no further worker."""
        return self.message.startswith(NO_WORKER)


Outcome = Passed | Failed | Errored | Crashed | TimedOut | Exhausted | Unsupported | NotJudged | Advisory | Waived | HarnessError


def is_fault(outcome: Outcome) -> TypeGuard[Failed]:
    """Whether it is a fault of the adapter, and no verdict on what it adapts."""
    return isinstance(outcome, Failed) and outcome.reason is Reason.ADAPTER


#: What ends the process of an implementation.
FATAL = (Crashed, TimedOut, Exhausted)
CONVICTIONS = (Failed, Errored, *FATAL)
#: After an implementation has ended so many workers, by its calls or after its answers, the rest of what it would be asked is not run.
FUTILE = 3
NOT_RUN = f"not run after {FUTILE} crashes or time-outs"


#: What Python and libraries say of code whose parts don't fit together, and what is to be looked at where every call says it.
UNFIT = re.compile(r"^(TypeError|AttributeError|IndexError):|broadcast|shape|dimension")
#: What code raises that is still to be written, where it isn't a library that lacks something, and the file where it does.
UNWRITTEN = re.compile(r"^NotImplementedError(?!: (?:Could not run|The operator))\b.*\(([^()]+):\d+ in ")
#: What a debugger raises that has nobody to talk to.
STOPPED = re.compile(r"^(?:bdb\.)?BdbQuit")
#: What they say of arrays on another device than those that they meet, or on one that isn't there.
DEVICE = re.compile(r"same device|(compiled|built) with CUDA|NVIDIA driver|CUDA GPUs|CUDA-capable device|MPS backend")
#: What they say of code that takes arrays to have more axes, or fewer.
RANKS = re.compile(r"values to unpack|axes don't match array|too many subscripts|correct number of indices")
#: What they say of code that can't run whatever it is given.
UNDEFINED = ("NameError", "UnboundLocalError", "ImportError", "ModuleNotFoundError", "SystemExit", "EOFError")
#: What Python says of a module that isn't there.
ABSENT = re.compile(r"^ModuleNotFoundError: No module named '(\w+)")
KNOBS = "what a function is given is said by framework=, call=, axes= and tables="
#: What they say of an array that code takes for a number, and what is declared where that is how many tokens there are.
COUNTED = re.compile(
    r"truth value of an array|Boolean value of Tensor|can be converted to (Python scalars|a scalar)|must be Number, not Tensor"
)
TOKENS = "; where it takes how many tokens there are, declare positions='from_zero', and call= with tokens, query_tokens or key_tokens"
#: What they say of arrays that code for another library is given.
FOREIGN = re.compile(r"'\w*Tensor' (object has no attribute|and ')|\w*Tensor' object is not callable|ArrayImpl' object does not")
#: What torch says of a module that is called before its own parts are there.
UNMADE = re.compile(r"has no attribute '(_backward_hooks|_parameters|_modules)'")
INIT = "its __init__ must first call super().__init__()"
#: What is said of a result of another shape.
SHAPES, NUMBER = re.compile(r"must have shape \((.*?)\), got \((.*?)\)"), re.compile(r"\d+")
#: What is told of code that replaces what others import.
REPLACES = re.compile(r"changes global state: .*(imported modules|names of )")


def unanswered(operation: str, outcomes: Iterable[Outcome]) -> Failed | None:
    """Return why nothing can be judged, where no call gave a result of the right axes, and all say the same or don't fit; else ``None``."""
    came = [outcome for outcome in outcomes if isinstance(outcome, (Passed, Waived, HarnessError, *CONVICTIONS))]
    raised = [outcome.message for outcome in came if isinstance(outcome, Errored)]
    faults = [outcome for outcome in came if is_fault(outcome)]
    misshapen = [outcome.message for outcome in came if isinstance(outcome, Failed) and _on_other_axes(outcome)]
    if not came or len(raised) + len(faults) + len(misshapen) < len(came):
        return None
    if not all(map(_is_unfit, raised)) and not (len(raised) == len(came) > 1 and _same(raised)):
        return None
    if faults:
        return faults[0]
    told = f"every call raises {raised[0]}{_hint(operation, raised[0])}" if raised else f"{misshapen[0]}; {_axes(operation)}"
    return Failed(Reason.ADAPTER, told)


def _same(raised: Sequence[str]) -> bool:
    """Whether every call raises the same, whatever it is given, also where nothing was called before."""
    return len(set(raised)) == 1 and ALONE not in raised[0]


def _on_other_axes(failed: Failed) -> bool:
    """Whether a result has another number of axes than it must have."""
    found = SHAPES.search(failed.message) if failed.reason is Reason.SHAPE else None
    return found is not None and len(NUMBER.findall(found[1])) != len(NUMBER.findall(found[2]))


def _axes(operation: str) -> str:
    """Return which axes results must have."""
    # Imported here because it takes long, and the pytest plugin must import nothing heavy.
    from conformance.spec.declarations import operations

    known = operations().get(operation)
    several = ", ".join(f"{name} ({axes})" for name, axes in known.results.items()) if known else "every axis"
    return f"every call must return {several} unless axes= declares others"


def _hint(operation: str, message: str) -> str:
    """Return what to do where every call raises, or nothing where the exception says all."""
    if unwritten := UNWRITTEN.search(message):
        return f": fill in {unwritten[1]}"
    if STOPPED.search(message):
        return ": remove breakpoint()"
    if absent := ABSENT.search(message):
        return f": install {absent[1]} beside posenc"
    if COUNTED.search(message):
        return TOKENS
    if message.startswith(UNDEFINED) or not _is_unfit(message):
        return ""
    return f"; {_unmade(message) or _on_axes(operation, message) or _for_others(message) or KNOBS}"


def _is_unfit(message: str) -> bool:
    return message.startswith(UNDEFINED) or any(known.search(message) for known in (UNFIT, UNWRITTEN, STOPPED, RANKS, DEVICE, COUNTED))


def _unmade(message: str) -> str:
    return INIT if UNMADE.search(message) else ""


def _on_axes(operation: str, message: str) -> str:
    """Return which axes arrays have, where code takes them to have more or fewer; nothing where it doesn't."""
    # Imported here because it takes long, and the pytest plugin must import nothing heavy.
    from conformance.spec.declarations import operations

    known = operations().get(operation)
    if known is None or not known.arrays or not RANKS.search(message):
        return ""
    several = ", ".join(f"{name} ({axes})" for name, axes in known.arrays.items())
    merged = ", as axes='batch token (head head_dim)'" if known.arrays.get("x") == "batch head token head_dim" else ""
    return f"it gets {several} unless axes= declares others{merged}"


def _for_others(message: str) -> str:
    """Return what to declare where code names arrays, or a device, that it is given as none of its own; nothing where it doesn't."""
    if DEVICE.search(message):
        return "it gets arrays on the device that Adapter(..., device=...) declares, else on the CPU"
    library = "jax" if "Tensor" in message and "jax" in message else "numpy"
    return f'if it takes arrays of {library}, declare Adapter(..., framework="{library}")' if FOREIGN.search(message) else ""


#: The name of a convention: code is right inside a narrower declaration.
TOO_WIDELY = "declared-too-widely"


@dataclass(frozen=True)
class Diagnosis:
    """The known mistake, or convention, whose output matches what the implementation returned; without a name, what is known of it.

    ``separate`` says of what also fits which input would tell it from the first; ``numbers`` are those that code takes for parameters,
    whatever is asked for.
    """

    mutants: tuple[str, ...]
    does: str
    should: str
    fix: str
    threads: tuple[str, ...] = ()
    also_fits: tuple[str, ...] = ()
    kind: str = "mistake"
    separate: tuple[str, ...] = ()
    description: tuple[str, ...] = ()
    numbers: Mapping[str, float] = field(default_factory=dict)

    @property
    def named(self) -> bool:
        """Whether it is a mistake that has a name."""
        return bool(self.mutants)

    @property
    def advises(self) -> bool:
        """Whether it says what to do: of a mistake that has a name, or by a fix."""
        return self.named or bool(self.fix)

    @property
    def name(self) -> str:
        """All its names in one."""
        return " + ".join(self.mutants)

    @property
    def label(self) -> str:
        """What a report calls it: a convention that wasn't declared, a format that is too small, or a mistake."""
        return self.kind if self.kind in ("convention", "precision") else "mistake"

    @property
    def narrows(self) -> bool:
        """Whether it says no more than that code is right where less is asked of it."""
        return self.name.endswith(f"/{TOO_WIDELY}")

    def others(self, most: int | None = None) -> str:
        """Return what also fits in one line, or the first few and how many more."""
        rest = "" if most is None or len(self.also_fits) <= most else f" and {len(self.also_fits) - most} more"
        return ", ".join(self.also_fits[:most]) + rest


@dataclass(frozen=True)
class Result:
    """One check of one implementation, with all that the report says about it.

    ``size`` counts the numbers in its inputs; ``logits`` says by position what the error is in attention logits, where the check can tell;
    ``call`` describes a call that fails and is too long to be pasted.
    """

    implementation: str
    operation: str
    check: str
    kind: str
    dtype: str
    profile: str
    outcome: Outcome
    ratio: float | None = None
    profile_met: str | None = None
    farthest: int | None = None
    examples: int = 1
    exposes: str = ""
    reproduction: str | None = None
    earlier: str | None = None
    seconds: float = 0.0
    errors_by_position: tuple[tuple[int, float], ...] = ()
    size: int = 0
    logits: tuple[tuple[int, float], ...] = ()
    call: str | None = None
    gradient: bool = False
    ordinary: bool = True

    @property
    def convicts(self) -> bool:
        """Whether this result alone makes the implementation non-conforming."""
        return isinstance(self.outcome, CONVICTIONS)

    @property
    def of(self) -> tuple[str, str]:
        """Which implementation it is of."""
        return self.implementation, self.operation


#: What is missing where nothing was drawn at all.
NOTHING_DRAWN = "no golden case was drawn: the stored vectors alone never suffice"
INTERRUPTED = "the run was interrupted: what was not asked is missing"


@dataclass(frozen=True)
class Evidence:
    """What a verdict on one operation of one implementation at one dtype rests on.

    ``golden`` counts the drawn cases that were judged by golden values, ``values`` their elements; ``refused`` counts calls inside the
    declaration that the code refused. ``excluded`` and ``not_excluded`` name the known mistakes that these cases would have convicted,
    and those that they would not; ``alike`` are those of the latter that show nothing within the declaration, as far as was looked.
    ``covered`` says what was drawn, in words, by parameter or axis. ``missing`` says why it isn't enough and what helps; nothing
    where it is enough. ``left_out`` says which values of parameters a predicate of the declaration never takes.
    """

    implementation: str
    operation: str
    dtype: str
    golden: int
    values: int
    refused: int = 0
    excluded: tuple[str, ...] = ()
    not_excluded: tuple[str, ...] = ()
    alike: tuple[str, ...] = ()
    covered: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Report:
    """Everything one run found: the header says what was run with, the results what came out, the evidence what that rests on.

    ``refused`` says why a target can't be judged at all; ``reached`` says who of it imported or opened what holds right answers.
    ``warnings`` are what the configuration that judges it is warned of, and what was asked for that the target doesn't offer.
    """

    target: str
    header: dict[str, object]
    results: tuple[Result, ...]
    diagnoses: dict[str, Diagnosis] = field(default_factory=dict)
    complete: bool = True
    evidence: tuple[Evidence, ...] = ()
    refused: str = ""
    reached: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def status(self) -> Status:
        """What the run came to."""
        if self.refused:
            return Status.WRONG_USAGE
        if not self.complete:
            return Status.INTERRUPTED
        outcomes = [result.outcome for result in self.results if not isinstance(result.outcome, Advisory)]
        if any(isinstance(outcome, HarnessError) for outcome in outcomes):
            return Status.HARNESS_FAILED
        wrong = [result for result in self.results if result.convicts]
        if wrong:
            answered = {result.of for result in self.results if isinstance(result.outcome, Passed)}
            unfit = all(is_fault(result.outcome) and result.of not in answered for result in wrong)
            return Status.WRONG_USAGE if unfit else Status.DIFFERS
        if any(isinstance(outcome, Passed) for outcome in outcomes):
            return Status.NOT_JUDGED if self.lacking else Status.CONFORMS
        return Status.NOT_JUDGED if outcomes else Status.NOTHING_RAN

    @property
    def fault(self) -> str:
        """What is wrong with the adapter where nothing else came of any call; nothing where single cases were asked for."""
        came = [result for result in self.results if not isinstance(result.outcome, Advisory | NotJudged | Unsupported)]
        faults = [f"{result.operation} can't be judged: {result.outcome.message}" for result in came if is_fault(result.outcome)]
        return faults[0] if self.complete and not self.selected and faults and len(faults) == len(came) else ""

    def blamed(self) -> "Report":
        """Return it with the failures of an implementation that nothing came of, where no diagnosis says why, as faults of the adapter.

        Code that replaces what is imported may fail for that: no declaration is to blame.
        """
        if self.selected or not self.complete:
            return self
        known = {diagnosed.rsplit(":", 1)[0] for diagnosed, diagnosis in self.diagnoses.items() if diagnosis.advises}
        replacing = {each.of for each in self.results if isinstance(each.outcome, Advisory) and REPLACES.search(each.outcome.message)}
        every = {each.of for each in self.results} - replacing
        found = {of: unanswered(of[1], (each.outcome for each in self.results if each.of == of)) for of in every}
        faults = {of: fault for of, fault in found.items() if fault is not None and ":".join(of) not in known}
        blamed = (replace(each, outcome=faults[each.of]) if each.convicts and each.of in faults else each for each in self.results)
        return replace(self, results=tuple(blamed))

    @property
    def selected(self) -> bool:
        """Whether single cases were asked for by their names: these are answered, and no evidence is asked for."""
        return "cases" in self.header

    @property
    def lacking(self) -> tuple[Evidence, ...]:
        """The evidence that isn't enough for a verdict, also of what passed checks without any."""
        if self.selected:
            return ()
        known = {(each.implementation, each.operation): each for each in self.evidence}
        passed = (result for result in self.results if isinstance(result.outcome, Passed))
        bare = {(r.implementation, r.operation): r.dtype for r in passed if (r.implementation, r.operation) not in known}
        why = NOTHING_DRAWN if self.complete else INTERRUPTED
        without = (Evidence(*names, dtype, golden=0, values=0, missing=(why,)) for names, dtype in bare.items())
        return (*(each for each in self.evidence if each.missing), *without)
