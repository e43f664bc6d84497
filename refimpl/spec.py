"""The words that a scheme file uses to declare itself: axes, parameters, operations, laws, cases."""

import functools
import inspect
import math
import re
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from refimpl.arrays import Array, integers, nonnegative, one_library, reals
from refimpl.attention import Layer
from refimpl.errors import SpecificationError

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Number:
    """The values that a numeric parameter may take; an even width is ``Number(minimum=2, multiple_of=2)``."""

    minimum: float | None = None
    above: float | None = None
    multiple_of: int = 1
    maximum: float | None = None

    def check(self, name: str, value: float) -> None:
        """Raise ``SpecificationError`` unless the value obeys."""
        if not math.isfinite(value):
            message = f"{name} must be finite, got {value!r}"
        elif self.above is not None and value <= self.above:
            message = f"{name} must be greater than {self.above:g}, got {value!r}"
        elif self.minimum is not None and value < self.minimum:
            message = f"{name} must be at least {self.minimum:g}, got {value!r}"
        elif self.maximum is not None and value > self.maximum:
            message = f"{name} must be at most {self.maximum:g}, got {value!r}"
        elif value % self.multiple_of if self.multiple_of != 1 else False:
            message = f"{name} must be {'even' if self.multiple_of == 2 else f'a multiple of {self.multiple_of}'}, got {value!r}"
        else:
            return
        raise SpecificationError(message)


Widths = Annotated[tuple[int, ...], Number(minimum=2, multiple_of=2)]
Sections = Annotated[tuple[int, ...], Number(minimum=0)]
Count = Annotated[int, Number(minimum=1)]
EvenCount = Annotated[int, Number(minimum=2, multiple_of=2)]
Positive = Annotated[float, Number(above=0.0)]

INTEGER = "integer"
NUMBER = "number"
FROM_ZERO = "from zero"
Positions = Annotated[Array, "[batch] token", INTEGER]
CountedPositions = Annotated[Array, "[batch] token", INTEGER, FROM_ZERO]
AxisPositions = Annotated[Array, "[batch] token axis", INTEGER]
#: On so many axes stands a token where no parameter says it: an image has rows and columns.
SIDES = 2
BatchedQueryPositions = Annotated[Array, "[batch] query", INTEGER]
BatchedKeyPositions = Annotated[Array, "[batch] key", INTEGER]


class Law(Enum):
    """An equation that every correct implementation satisfies; ``conformance.laws`` knows how to falsify each."""

    LINEAR = "f(a x + b y) = a f(x) + b f(y)"
    ISOMETRY = "|f(x)| = |x|, times the attention factor where there is one"
    IDENTITY_AT_ORIGIN = "f at position 0 changes nothing but the declared layout and factor"
    COMPOSITION = "R_a R_b = R_(a + b)"
    RELATIVE = "<R_m q, R_n k> depends on m - n only"
    INVERSE = "R_(-m) R_m = 1: the gradient undoes the rotation"
    TABLES_ON_CIRCLE = "cos^2 + sin^2 = 1"
    GEOMETRIC = "frequencies fall by one constant ratio from 1"
    TRANSLATION = "a common shift of all positions changes nothing"
    MOVES_ALONG = "a common shift of all positions changes nothing, or, where outputs don't turn back, no length of an output"
    ROW_CONSTANT = "the form equals the row form up to a constant per (head, query) row"
    HOMOGENEOUS = "twice the distance is twice the bias"
    MULTIPLIES = "over two stretches one after the other a head keeps the product of what it keeps over each"
    MONOTONE = "a larger distance never gives a larger value, or never a smaller one where a learned weight rewards distance"
    ZERO_AT_ORIGIN = "distance 0 has bucket 0, or bias 0"
    SATURATION = "beyond the largest distance nothing changes any more"
    MIRROR = "a later key lands num_buckets / 2 above the earlier key at the same distance"
    WEIGHED = "scores with head weights a u + b w are a times those with u and b times those with w"
    LOOKUP = "every number is an entry of the table, and a constant added to the table is added to the result"
    WEIGHTS_SUM_TO_ONE = "every row of attention weights is non-negative and sums to 1"
    CONSTANT_VALUES = "attention over equal values returns that value"
    CAUSAL = "a hidden key changes nothing"
    SELECTED = "only the order of the scores counts, and where every key is selected not even that"
    SHIFT_MATRIX = "M(offset) encode(p) = encode(p + offset)"
    CONSTANT_NORM = "the squared norm of an encoding is half its width (times scale)"
    DOT_PRODUCT = "<encode(p), encode(q)> depends on p - q only"
    BOUNDED = "every value lies between -1 and 1, or between the bounds that a learned saturation sets"
    ORTHOGONAL = "the matrix times its transpose is the identity"
    PASSES = "channels that are not rotated keep their values"
    REDUCES_TO_ROPE = "with factor 1, or all channels, the scheme is plain rope"
    REDUCES_TO_NONE = "with learned tables or weights of zeros positions change nothing"
    BETWEEN = "each frequency lies between theta / factor and theta"
    RATIO_FALLS = "the ratio to plain rope never rises with the pair"
    INTERPOLATES = "with every frequency divided by s, position s p gives what position p gives without"
    WHOLE_WAVELENGTHS = "the wavelength of every pair is a whole number of positions"
    NEAREST = "each wavelength lies between those of plain rope and of rope slowed by the whole factor, give or take half a position"
    FALLS = "no pair turns faster than the pair before it"
    GROUP_TRANSLATION = "a common shift of all positions by whole groups, or chunks, changes nothing"
    WITHIN_WINDOW = "where a window or a chunk holds every distance, or groups hold one position, the scheme is plain rope"
    HOWEVER_MANY = "the frequency of a pair that turns doesn't depend on how many turn; that of the others is 0"
    EXPONENTIAL = "each frequency is e to its exponent times what it is with exponents of 0"
    APART = "an exponent changes the frequency of its own pair alone"
    PLAIN_WITHIN_LENGTH = "up to the original length the scheme is plain rope"
    SLOWS_WITH_LENGTH = "no pair turns faster in a longer sequence"
    SWITCHES = "up to the original length the short factors count and no others, beyond it the long ones"
    INCONSISTENT_CACHE = "a key turned in a sequence of the original length does not fit a query turned in a longer one"
    GROWS = "a longer context never has a smaller attention factor"
    STRETCHES_ADD = "f(a b)^2 - 1 = (f(a)^2 - 1) + (f(b)^2 - 1) for the attention factor f of contexts stretched by a, by b, and by both"
    SLOPES_IN_UNIT_INTERVAL = "slopes lie in (0, 1) and start at 2^(-max_bias / n), n heads or the largest power of two"
    OVERRIDE = "an attention factor that is given is returned"
    SYMMETRIC = "exchanging the positions of query and key keeps the value between them"
    MEMORY = "a segment after its memory gives the rows of one long segment, whatever later keys hold"
    ADDITIVE = "the logits of two queries with their biases add up"
    GLOBAL_QUERY = "the global terms are the content terms of a query that equals the biases"
    SHIFT_IS_GATHER = "every meaningful element of the shift is the score of its distance"
    STEPWISE = "token by token, in chunks or after a rejected draft, results are those of one call; keys that a mask hides may be left out"
    HEADS = "each head gives the same alone as among other heads"
    NESTED = "a head twice as wide has all frequencies of the original, and twice as many heads have all of its slopes"
    REACH = "frequencies reach 1 / base one step past the last pair; the last slope of a series is 2^(-max_bias)"
    SHARPENS = "a later query never has a smaller scale"
    RISES_TWICE = "from position 0 to (n + 1)^2 - 1 the scale rises by twice as much as to n, and at 0 it is the bias"
    UNTOUCHED = "queries of the first step, or within the original length, keep their scale"
    LOGARITHMIC = "doubling the factor adds a constant"
    HALVES = "four times the width halves the scale"
    UNSTRETCHED = "the scale is one over the root of the width where nothing is stretched, or no strength is set"
    SQUARE_OF_GROWTH = "the scale is the square of a number that grows with the logarithm of the factor"
    UNIQUE = "different positions have different codes"
    PERIODIC = "channel k repeats after 2^(k + 1) positions, and not before"
    BINARY_VALUE = "the sum of channel k times 2^k is the position"
    OUTSIDE = "a position outside the table is refused"
    ADDS = "two inputs at the same positions differ afterwards as they did before, times what embeddings are multiplied by"
    COUNTS_ON = "past the last grid tokens stand one after the other, on all axes alike: decoding adds one number"
    FOLLOWS = "a grid begins, and text goes on after it, one past the largest position before"
    MOVED_BY_TEXT = "text in front of everything moves every position by its length"
    COVERS = "every step in time of a grid has each of its rows and columns once"
    LIES_IN_BLOCKS = "patch i of a block stands floor(i / merge) rows and i mod merge columns from the first, at multiples of merge"
    ALIKE = "the same is added to all tokens at one position, in every row of a batch"
    RESTORED = "after the conversion back every row is where it was"
    PAIRED = "permuted queries and keys, turned in the other layout, have the scores that they had before"
    COLUMNS = "the rows of a single column, or of a bias, move as they do beside other columns"
    PERMUTATION = "reordering keys together with their values changes nothing, reordering queries reorders the result"


@dataclass(frozen=True)
class Source:
    """Where a scheme is printed."""

    title: str
    address: str
    equations: str

    @property
    def where(self) -> str:
        """Return the place in words; bare numbers are those of equations."""
        if not self.equations[:1].isdigit():
            return self.equations
        return f"equation{'' if self.equations.isdigit() else 's'} {self.equations}"


class Case:
    """Named inputs and parameters, with the mistake that they expose.

    ``name`` starts with the operation (``rotate/far-and-slow``). Keywords that name an array of the operation give
    its values (nested lists, or ``"dense"`` / ``"sparse"`` to be filled with dyadic numbers); ``sizes`` gives the
    axes that nothing else fixes; ``error`` is the message that a bad input must raise; ``equality="row_constant"`` allows
    a constant per row; everything else is a parameter.
    """

    def __init__(
        self,
        name: str,
        *,
        exposes: str,
        tags: tuple[str, ...] = (),
        sizes: Mapping[str, int] | None = None,
        error: str | None = None,
        equality: str | None = None,
        **arguments: object,
    ) -> None:
        """Keep what was said; nothing is computed here."""
        self.name = name
        self.exposes = exposes
        self.tags = tags
        self.sizes = dict(sizes or {})
        self.error = error
        self.equality = equality
        self.arguments = arguments

    @property
    def operation(self) -> str:
        """The part of the name before the slash."""
        return self.name.split("/", 1)[0]


@dataclass(frozen=True)
class Scheme:
    """All that a scheme file says beyond its functions.

    ``meanings`` says of every array and parameter what it is, with its unit; ``conventions`` says of every choice (``layout=half``) who
    uses it; ``notes`` are the sentences that a reader of the literature needs, where it errs or code departs from it, with the evidence;
    ``layer`` returns how the scheme acts in attention (``refimpl.attention.Layer``).
    """

    name: str
    operations: tuple[Callable[..., Any], ...]
    source: Source
    laws: Mapping[str, tuple[Law, ...]]
    cases: tuple[Case, ...]
    summary: str = ""
    meanings: Mapping[str, str] = field(default_factory=dict)
    conventions: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    layer: Callable[..., Layer] | None = None


@dataclass(frozen=True)
class Parameter:
    """One keyword of an operation, read off the signature; of a tuple of integers ``rule`` is that of each."""

    name: str
    kind: type
    default: object
    required: bool
    optional: bool
    choices: tuple[str, ...]
    rule: Number | None

    def check(self, value: object) -> None:
        """Raise ``SpecificationError`` unless the value is allowed."""
        if value is None and self.optional:
            return
        if self.choices:
            if value not in self.choices:
                message = f"{self.name} must be one of {', '.join(self.choices)}, got {value!r}"
                raise SpecificationError(message)
            return
        if self.kind is tuple:
            self._check_each(value)
            return
        accepted = (int, float) if self.kind is float else (self.kind,)
        if not isinstance(value, accepted) or (isinstance(value, bool) and self.kind is not bool):
            article = "an" if self.kind is int else "a"
            message = f"{self.name} must be {article} {self.kind.__name__}, got {value!r}"
            raise SpecificationError(message)
        if self.rule is not None:
            self.rule.check(self.name, value)  # type: ignore[arg-type]  # a number, as checked above

    def _check_each(self, value: object) -> None:
        """Raise ``SpecificationError`` unless the value is a tuple of integers that are allowed."""
        if not isinstance(value, tuple) or not all(type(each) is int for each in value):
            message = f"{self.name} must be a tuple of integers, got {value!r}"
            raise SpecificationError(message)
        for each in value if self.rule is not None else ():
            self.rule.check(f"each of {self.name}", each)  # type: ignore[union-attr]  # not null, as looked up above


@dataclass(frozen=True)
class Operation:
    """The contract of one function, read off its signature: arrays with axes, parameters, results with axes.

    ``integers`` names the integer arrays; ``numbers`` those that hold integers or reals, and are integers where every value is;
    ``from_zero`` those that hold no negative number.
    """

    name: str
    function: Callable[..., Any]
    arrays: Mapping[str, str]
    parameters: Mapping[str, Parameter]
    results: Mapping[str, str]
    integers: frozenset[str]
    takes_like: bool
    numbers: frozenset[str] = frozenset()
    from_zero: frozenset[str] = frozenset()

    @property
    def summary(self) -> str:
        """The first line of the docstring."""
        return (inspect.getdoc(self.function) or "").split("\n", 1)[0]


def describe(name: str, function: Callable[..., Any]) -> Operation:
    """Read an operation off a function's signature."""
    hints = get_type_hints(function, include_extras=True)
    arrays: dict[str, str] = {}
    parameters: dict[str, Parameter] = {}
    whole = {name for name, hint in hints.items() if INTEGER in get_args(hint)}
    numbers, from_zero = (frozenset(name for name, hint in hints.items() if mark in get_args(hint)) for mark in (NUMBER, FROM_ZERO))
    signature = inspect.signature(function)
    for argument in signature.parameters.values():
        if argument.name == "like":
            continue
        if argument.kind is inspect.Parameter.KEYWORD_ONLY:
            parameters[argument.name] = _parameter(argument, hints[argument.name])
        else:
            arrays[argument.name] = _axes(hints[argument.name])
    if "return" in whole:
        whole = whole - {"return"} | {"result"}
    results, takes_like = _results(hints["return"]), "like" in signature.parameters
    return Operation(name, function, arrays, parameters, results, frozenset(whole), takes_like, numbers, from_zero)


def _axes(hint: object) -> str:
    return str(get_args(hint)[1])


def _results(hint: object) -> dict[str, str]:
    if isinstance(hint, type) and issubclass(hint, tuple):
        fields = get_type_hints(hint, include_extras=True)
        return {name: _axes(field) for name, field in fields.items()}
    return {"result": "" if hint is float else _axes(hint)}


def _parameter(argument: inspect.Parameter, hint: object) -> Parameter:
    optional = get_origin(hint) in (Union, types.UnionType)
    inner = next(a for a in get_args(hint) if a is not type(None)) if optional else hint
    rule = None
    if get_origin(inner) is Annotated:
        inner, rule = get_args(inner)[:2]
    choices = tuple(str(c) for c in get_args(inner)) if get_origin(inner) is Literal else ()
    return Parameter(
        name=argument.name,
        kind=str if choices else get_origin(inner) or inner,  # type: ignore[arg-type]  # what is left of the hint is a class
        default=None if argument.default is inspect.Parameter.empty else argument.default,
        required=argument.default is inspect.Parameter.empty,
        optional=optional,
        choices=choices,
        rule=rule,
    )


def fixed_size(axis: str, parameters: Mapping[str, object]) -> int | None:
    """Return the size that parameters give an axis, or ``None``: the axis bears a parameter's name, or is derived."""
    if axis.isdecimal():
        return int(axis)
    if axis == "axis":
        return next((len(value) for value in parameters.values() if isinstance(value, tuple)), SIDES)
    if axis == "projection":
        sizes = [parameters.get(name) for name in ("num_heads", "head_dim")]
        return math.prod(size for size in sizes if isinstance(size, int)) if None not in sizes else None
    derived = {"pair": ("head_dim", 2), "head": ("num_heads", 1)}
    if axis == "pair" and "dim" in parameters:
        derived["pair"] = ("dim", 2)
    name, divisor = derived.get(axis, (axis, 1))
    value = parameters.get(name)
    return value // divisor if isinstance(value, int) and not isinstance(value, bool) else None


@functools.cache
def axis_names(axes: str, rank: int) -> tuple[str, ...] | None:
    """Return the axis names of an array of that rank (``[batch] token`` may have one or two), or ``None`` if none fits."""
    if axes == "...":
        return tuple(f"_{i}" for i in range(rank))
    every = axes.replace("[", "").replace("]", "").split()
    least = re.sub(r"\[[^\]]*\]", "", axes).split()
    for names in (every, least):
        if len(names) == rank:
            return tuple(names)
    return None


def bind(axes: Mapping[str, str], shapes: Mapping[str, tuple[int, ...]], parameters: Mapping[str, object]) -> dict[str, int]:
    """Return the size of every axis, or raise where two arguments disagree about one."""
    sizes: dict[str, tuple[int, str]] = {}
    for name, shape in shapes.items():
        names = axis_names(axes[name], len(shape))
        if names is None:
            message = f"{name} must have axes ({', '.join(axes[name].split())}), got shape {tuple(shape)}"
            raise SpecificationError(message)
        if axes[name] == "...":
            continue
        for axis, size in zip(names, shape, strict=True):
            fixed = fixed_size(axis, parameters)
            if fixed is not None and size != fixed:
                message = f"axis '{axis}' of {name} must be {fixed}, got {size}"
                raise SpecificationError(message)
            known, owner = sizes.setdefault(axis, (size, name))
            if known != size:
                message = f"axis '{axis}' is {size} in {name} but {known} in {owner}"
                raise SpecificationError(message)
    return {axis: size for axis, (size, _) in sizes.items()}


def operation(function: Function) -> Function:
    """Check every call of a scheme's function against its own signature: parameters, axes, integer positions."""
    contract = describe(function.__name__, function)

    @functools.wraps(function)
    def checked(*arrays: Array, **parameters: Any) -> Any:
        check(contract, arrays, parameters)
        return function(*arrays, **parameters)

    return checked  # type: ignore[return-value]  # wraps keeps the signature


def check(contract: Operation, arrays: tuple[Array, ...], parameters: Mapping[str, Any]) -> None:
    """Raise ``SpecificationError`` unless arrays and parameters obey the operation's signature."""
    if len(arrays) != len(contract.arrays):
        message = f"{contract.name} must get {len(contract.arrays)} arrays ({', '.join(contract.arrays)}), got {len(arrays)}"
        raise SpecificationError(message)
    for name, value in parameters.items():
        if name in contract.parameters:
            contract.parameters[name].check(value)
        elif not (name == "like" and contract.takes_like):
            message = f"{contract.name} must get only {', '.join(contract.parameters)}, got {name}"
            raise SpecificationError(message)
    for parameter in contract.parameters.values():
        if parameter.required and parameter.name not in parameters:
            message = f"{contract.name} must get {parameter.name}, got nothing"
            raise SpecificationError(message)
    named = dict(zip(contract.arrays, arrays, strict=True))
    one_library(named)
    for name, array in named.items():
        if name in contract.integers:
            integers(name, array)
        else:
            reals(name, array, whole=name in contract.numbers)
        if name in contract.from_zero:
            nonnegative(name, array)
    shapes = {name: tuple(array.shape) for name, array in named.items()}
    defaults = {name: parameter.default for name, parameter in contract.parameters.items()}
    bind(contract.arrays, shapes, {**defaults, **parameters})
