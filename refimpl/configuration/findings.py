"""What a reading of a configuration consists of: kinds of layers, decisions with the keys that they come from, and findings with names."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from refimpl.schemes import ntk_aware
from refimpl.spec import Operation

#: The most characters of a value that a finding tells.
MOST = 300
#: The operation that turns to positions on several axes, and that of images, whose axes have parts of the head.
ON_AXES, ON_GRID = "mrope.rotate", "axial_rope.rotate"
#: The operation that logits are scaled by where the model's code does so itself.
SOFTMAX = "yarn.softmax_scale"
#: Which pairs follow which axis, in words.
ORDERS = {
    "": "in an order that posenc doesn't compute here",
    "contiguous": "one axis after the other",
    "interleaved": "in turns, and what is left follows the first",
    "first_last": "in turns but for the first, which comes last",
}
#: The same of an image, whose axes have parts of the head.
GRIDS = {
    "block": "all channels of one, then those of the next",
    "joined": "all pairs of one, then those of the next, over all channels that turn",
    "alternating": "in turns",
}
#: What has to be said of frequencies of an image.
LADDERS = {"tiled": "either member of a pair turns by an angle of its own: no rotation, but what the weights were trained with"}
Level = Literal["error", "warning", "missing"]


@dataclass(frozen=True)
class Decision:
    """What was read off a key, in words; an assumed value stands under no key of the configuration."""

    key: str
    value: object
    says: str
    assumed: bool = False


@dataclass(frozen=True)
class Finding:
    """What is wrong, or isn't read: an error leaves no numbers, and what is missing is a scheme that posenc doesn't have."""

    level: Level
    name: str
    key: str
    rule: str
    got: str
    link: str = ""
    follows: tuple[str, ...] = field(default=(), compare=False)
    """Other keys that it follows from: where one of these is refused, nothing is said of it."""

    @property
    def text(self) -> str:
        """Say it as every error of this project is said; what is missing is our fault, and breaks no rule."""
        if self.level == "missing":
            said = "isn't given" if self.got == repr(None) else f"is {self.got}"
            return f"{self.key} {said}: {self.rule}; posenc has no operation for it yet"
        nothing = "null" if "left out" in self.rule else "nothing: the key is missing, or null"
        got = nothing if self.got == repr(None) else self.got
        return f"{self.key} must {self.rule}, got {got}"


class Amount(str):
    """How many there are of something, in words of our own and not of the configuration."""

    __slots__ = ()
    __repr__ = str.__str__


def shown(value: object) -> str:
    """Return a value as it is written, cut where it is long."""
    text = repr(value)
    return text if len(text) <= MOST else f"{text[:MOST]}..."


def shared(sections: Sequence[int], order: str) -> str:
    """Say how many pairs follow each axis, and in which order."""
    pairs = " and ".join(filter(None, [", ".join(map(str, sections[:-1])), str(sections[-1])]))
    return f"{pairs} pairs follow the axes of the position, {ORDERS[order]}"


def called(name: str, names: Collection[str]) -> str:
    """Return what a kind is called among those of its model: not *every layer* where some of them don't turn."""
    return f"{name} with rotation" if f"{name} without rotation" in names else name


def first_ones(findings: Iterable[Finding], refused: Collection[str]) -> tuple[Finding, ...]:
    """Return findings without those that follow from a refused key, or from one within it: one message of it is enough."""

    def follows(finding: Finding) -> bool:
        return any(f"{key}.".startswith(f"{each}.") for each in finding.follows for key in refused)

    kept = [each for each in findings if (each.level == "error" or each.key not in refused) and not follows(each)]
    return tuple({(each.key, each.got) if each.level == "error" else each: each for each in reversed(kept)}.values())[::-1]


@dataclass
class Notes:
    """What is noted while a configuration is read."""

    decisions: list[Decision] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    @property
    def decided(self) -> tuple[Decision, ...]:
        """All decisions, each once."""
        return tuple({(each.key, each.says): each for each in self.decisions}.values())

    def decide(self, key: str, value: object, says: str) -> None:
        """Note what a key says."""
        self.decisions.append(Decision(key, value, says))

    def assume(self, key: str, value: object, says: str) -> None:
        """Note a value that no key gives."""
        self.decisions.append(Decision(key, value, says, assumed=True))

    def find(self, level: Level, name: str, key: str, value: object, rule: str, link: str = "", *, follows: Iterable[str] = ()) -> None:
        """Note what is wrong with a key, as it follows from other keys."""
        self.findings.append(Finding(level, name, key, rule, shown(value), link, tuple(follows)))


@dataclass(frozen=True)
class AttentionFactor:
    """What multiplies cosine and sine: an operation's result, or 1."""

    operation: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Temperature:
    """What multiplies queries: an operation of ours with its parameters."""

    operation: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True)
class Rotation:
    """How the heads of a layer turn: an operation of ours with its parameters, or none where posenc has no such operation yet."""

    head_dim: int
    channels: range
    layout: str
    rope_type: str
    operation: str | None
    parameters: Mapping[str, Any]
    factors: tuple[tuple[float, ...], tuple[float, ...]] | None = None
    attention: AttentionFactor = AttentionFactor()
    softmax: Mapping[str, Any] = field(default_factory=dict)
    """The parameters of what multiplies logits, where the model's code scales them itself."""
    sections: tuple[int, ...] = ()
    order: str = ""
    """Which pairs follow which axis, where positions have several and posenc has the rotation."""
    grid: Mapping[str, Any] = field(default_factory=dict)
    """The parameters of the rotation of an image, where positions are places in one; of no token alone."""
    direction: str = "positive"

    @property
    def scheme(self) -> str:
        """The scheme that turns: plain rope's operations take what posenc has none for."""
        return self.operation.partition(".")[0] if self.operation else "rope"

    @property
    def missing(self) -> bool:
        """Whether posenc has no operation for it, neither of tokens nor of places in an image."""
        return self.operation is None and not self.grid

    @property
    def on_axes(self) -> str | None:
        """The operation that turns to positions on several axes: on text it is plain rope, but for images."""
        return ON_GRID if self.grid else ON_AXES if self.order else None

    @property
    def base_on_axes(self) -> float:
        """The base of the rotation on several axes, which knows no scaling: the raised one, where the scaling does no more."""
        base: float = self.parameters["base"]
        raises = self.rope_type == "ntk_alpha"
        return ntk_aware.raised(base, self.parameters["factor"], self.parameters["head_dim"]) if raises else base

    def settled(self, operation: Operation) -> dict[str, Any]:
        """Return the parameters of an operation that the configuration settles."""
        given = ("mscale", "mscale_all_dim", "attention_factor", "short_mscale", "long_mscale")
        unset = {**dict.fromkeys(given), "slope": 0.1, "power": 1.0}
        axes = {"sections": self.sections, "order": self.order} if self.order else {}
        axes |= {"sides": (), **self.grid} if self.grid else {}
        every = {"layout": self.layout, "direction": self.direction, **unset, **self.attention.parameters, **self.parameters, **axes}
        every |= {"base": self.base_on_axes} if operation.name == ON_AXES else {}
        return {name: value for name, value in every.items() if name in operation.parameters}


@dataclass(frozen=True)
class Kind:
    """Layers that treat positions alike; ``layers`` is null where the configuration doesn't say which these are.

    Those that ``rest`` have attention without a rotation; ``head_dim`` is how many channels their heads have, where it is known.
    """

    name: str
    layers: tuple[int, ...] | None
    rotation: Rotation | None
    decisions: tuple[Decision, ...]
    findings: tuple[Finding, ...]
    rests: bool = False
    head_dim: int | None = None
    temperature: Temperature | None = None

    @property
    def at_rest(self) -> Rotation:
        """What layers without rotation do, as one: all channels of a head stay, of whatever width where it isn't known."""
        known = {} if self.head_dim is None else {"head_dim": self.head_dim}
        width = self.head_dim or 0
        return Rotation(width, range(width), "", "none", "none.rotate", known)


@dataclass(frozen=True)
class Reading:
    """A configuration, as it was understood.

    ``longest`` is how many positions it says that the model has, ``divided`` how wide heads are that share the hidden state.
    """

    model_type: str
    kinds: tuple[Kind, ...]
    findings: tuple[Finding, ...]
    longest: int | None = None
    divided: int | None = None

    @property
    def every_finding(self) -> tuple[Finding, ...]:
        """All findings, of the whole and of the kinds, each once."""
        return tuple(dict.fromkeys([*self.findings, *(each for kind in self.kinds for each in kind.findings)]))
