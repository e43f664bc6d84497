"""Ways to call a function: which role each argument plays, guessed from its signature, or said by the person who asks."""

import ast
import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from conformance.adapt.selection import SelectionError
from conformance.calls.form import MADE, parsed
from conformance.identify.asking import Argument, Signature
from conformance.spec.declarations import operations
from conformance.spec.words import PROBED, SETTINGS, roles
from refimpl.spec import Operation

#: What a function that takes these arrays can be.
KINDS: Mapping[tuple[str, ...], str] = {
    ("x", "positions"): "rotary",
    ("x",): "rotary",
    ("x", "tokens"): "rotary",
    ("x", "offset"): "rotary",
    ("q", "k", "query_positions", "key_positions"): "pair",
    ("q", "k", "positions"): "pair",
    ("q", "k", "offset"): "pair",
    ("q", "k"): "pair",
    ("q", "k", "tokens"): "pair",
    ("q", "k", "v"): "attention",
    ("q", "k", "v", "positions"): "attention",
    ("q", "k", "v", "query_positions", "key_positions"): "attention",
    ("x", "positions", "cotangent"): "gradient",
    ("x", "cos", "sin"): "apply",
    ("q", "k", "cos", "sin"): "apply",
    ("x", "waves"): "apply",
    ("q", "k", "waves"): "apply",
    ("x", "angles"): "apply",
    ("q", "k", "angles"): "apply",
    ("x", "height", "across"): "image",
    ("q", "k", "height", "across"): "image",
    ("height", "across"): "image",
    ("side",): "image",
    ("x", "positions", "short_factors", "long_factors"): "rotary",
    ("x", "positions", "factors"): "rotary",
    ("x", "positions", "exponents"): "rotary",
    ("like", "positions"): "encode",
    ("like", "tokens"): "encode",
    ("positions",): "encode",
    ("tokens",): "encode",
    ("positions", "table"): "lookup",
    ("x", "positions", "table"): "sum",
    ("x", "table"): "sum",
    ("relative_positions",): "bucket",
    ("query_positions", "key_positions"): "bias",
    ("query_tokens", "key_tokens"): "bias",
    ("key_tokens",): "bias",
    ("table", "query_positions", "key_positions"): "bias",
    ("table", "query_tokens", "key_tokens"): "bias",
    ("table", "tokens"): "bias",
    ("short_factors", "long_factors"): "numbers",
    ("exponents",): "numbers",
    (): "numbers",
}
#: The arrays that counts of tokens stand for.
COUNTED = {
    "query_tokens": ("query_positions",),
    "key_tokens": ("key_positions",),
    "tokens": ("query_positions", "key_positions"),
    "height": ("positions",),
    "across": (),
    "side": ("positions",),
}
SIDES = {"height", "across", "side"}
#: The name that a role has in an operation, where it is another one.
SPELLED = {"head_dim": "width", "dim": "width", "offset": "shift"}
#: How a role is written for people, where its own name means something else to them.
WRITTEN = {"width": "dim", "across": "width", "side": "grid_size"}
#: What code without telling names is tried as, by the number of its arguments.
USUAL: Mapping[int, tuple[tuple[str, ...], ...]] = {
    1: (("x",), ("positions",), ("num_heads",), ("width",)),
    2: (("x", "positions"), ("query_positions", "key_positions"), ("tokens", "width"), ("query_tokens", "key_tokens"), ("x", "offset")),
    3: (
        ("q", "k", "positions"),
        ("x", "cos", "sin"),
        ("num_heads", "query_tokens", "key_tokens"),
        ("table", "query_positions", "key_positions"),
    ),
    4: (("q", "k", "query_positions", "key_positions"),),
}
#: Names of arguments of which no call is tried, and what a person can write.
OTHERWISE: Mapping[str, str] = {
    "qkv mixed_qkv qkv_states fused_qkv packed_qkv": "queries, keys and values in one array aren't tried: write a function that takes x, "
    "puts x, x, x where they stand in that array, and returns the first of the three",
    "height width grid_h grid_w grid_height grid_width": "of the sides of a grid only the height and the width, "
    "beside vectors or a width, are tried: write an adapter with positions='grid' and call='f(x, height, width)'",
    "frames num_frames n_frames grid_t grid_d grid_depth grid_frames grid_size_t grid_size_d depth temporal_size": "frames aren't tried: "
    "for a function that turns vectors write an adapter with positions='grid' and call='f(x, frames, height, width)'; "
    "no operation gives a table of them",
    "sections mrope_section mrope_sections": "write a function of x, positions and sections whose positions are ([batch], token, axis) "
    "or (axis, [batch], token)",
    "attention_mask attn_mask mask padding_mask key_padding_mask": "masks aren't tried: write a function that makes a mask which hides "
    "nothing and hands it on, of the other arguments, or of num_heads and key_length where a bias is made from the mask",
    "dtype device": "a dtype or a device isn't handed on: write a function of the other arguments that hands it on",
    "freqs inv_freq inv_freqs frequencies": "frequencies that a function is given aren't tried: "
    "write a function of dim and base that makes them, hands them on, and returns what comes back",
}
#: What to do where no call with so many arguments is left to try.
OTHER_WAY = "write a function around it of x and positions, of positions, of dim, or of what else it encodes, and identify that"
#: What code can do that takes the rows of its tokens from tables of all positions.
CACHES = (
    "tables of all positions with the row of each token aren't tried: write an adapter with "
    "call='f(q, k, cos_cache, sin_cache, position_ids)', and tables='tiled' or 'repeated' where they have a column for each channel"
)
#: What may be left out where code has a default for it.
HANDED_ON = frozenset(" ".join(names for names in OTHERWISE if set(names.split()) & {"mask", "dtype"}).split())


@dataclass(frozen=True)
class Plan:
    """Roles of the positional arguments and of the keywords; ``optional`` are settings that may be left out.

    ``guessed`` says that no name told the roles: what shows then is the function's only if it is known.
    """

    arguments: tuple[str, ...]
    keywords: Mapping[str, str] = field(default_factory=dict)
    optional: Mapping[str, str] = field(default_factory=dict)
    guessed: bool = False

    @property
    def needs(self) -> tuple[str, ...]:
        """Every role that a call must fill."""
        return (*self.arguments, *self.keywords.values())

    @property
    def probed(self) -> tuple[str, ...]:
        """The roles that probing fills with arrays or counts."""
        return tuple(role for role in self.needs if role in PROBED)

    @property
    def given_tables(self) -> bool:
        """Whether cosines and sines are given, or the angles of which they are."""
        return bool({"cos", "waves", "angles"} & set(self.probed))

    @property
    def kind(self) -> str | None:
        """What the function can be, by the arrays that it takes."""
        if self.probed == ("tokens",) and "num_heads" in self.needs:
            return "bias"
        whole = any("batch" not in " ".join(known.arrays.values()).split() for known in self.operations())
        given = "given" if whole and SIDES.isdisjoint(self.probed) else None
        return next((kind for arrays, kind in KINDS.items() if set(arrays) == set(self.probed)), given)

    @property
    def arrays(self) -> tuple[str, ...]:
        """The arrays of an operation that probing fills, or of which it says how many there are."""
        return tuple(array for role in self.probed for array in COUNTED.get(role, (role,)))

    def operations(self) -> list[Operation]:
        """Return the operations that take exactly these arrays."""
        return [known for known in operations().values() if {*known.arrays} == {*self.arrays}]

    @property
    def told(self) -> bool:
        """Whether an operation on these arrays has all these settings."""
        asked = {role for role in self.needs if role in SETTINGS}
        return any(asked <= {SPELLED.get(name, name) for name in known.parameters} for known in self.operations())

    def words(self) -> str:
        """Return the call as one would write it."""
        places = [WRITTEN.get(role, role) for role in self.arguments]
        named = {name: WRITTEN.get(role, role) for name, role in self.keywords.items()}
        return f"f({', '.join([*places, *(f'{name}={role}' if name != role else name for name, role in named.items())])})"


def said(form: str) -> Plan:
    """Return the plan that a person writes as ``f(x, positions, base=base)``."""
    call = parsed(form)
    if call is None:
        message = f"--call must be like 'f(x, positions)', got {form!r}"
        raise SelectionError(message)
    names = [ast.unparse(value) for value in (*call.args, *(keyword.value for keyword in call.keywords))]
    keywords = [str(keyword.arg) for keyword in call.keywords]
    meant = [chosen for chosen in itertools.product(*map(_meant, names)) if len(set(chosen)) == len(chosen)]
    plans = [Plan(chosen[: len(call.args)], dict(zip(keywords, chosen[len(call.args) :], strict=True))) for chosen in meant]
    known = [plan for plan in plans if plan.kind is not None]
    if known:
        return min(known, key=lambda plan: plan.kind == "given")  # what only an added scheme takes goes last
    message = f"--call must take arrays that posenc identify tries together, got {form!r}: write an adapter for others"
    raise SelectionError(message)


def candidates(signature: Signature) -> Iterator[Plan]:
    """Yield ways to call a function, the likeliest first, none twice."""
    seen: list[Plan] = []
    usual = () if otherwise(signature) else _usual(signature)  # a name says that it is none of these
    for ways in (itertools.chain(_named(signature), _contracts(signature)), usual):
        for plan in () if seen else itertools.chain.from_iterable((_of_tables(way), way) for way in ways):
            if plan.kind is not None and plan not in seen:
                seen.append(plan)
                yield plan


def _of_tables(plan: Plan) -> Plan:
    """Return how a maker of tables is called that takes vectors for their dtype only."""
    first = tuple("like" if role == "x" else role for role in plan.arguments)
    return replace(plan, arguments=first, keywords={name: "like" if role == "x" else role for name, role in plan.keywords.items()})


def otherwise(signature: Signature) -> str:
    """Return how to write a function that takes what no call is tried of; nothing where no name says so."""
    arguments = (*signature.positional, *signature.keywords)
    names = {argument.name for argument in arguments if argument.required or argument.name not in HANDED_ON}
    if any({"x", "q"} & set(roles(name)) for name in names):
        names = {name for name in names if "angles" not in roles(name)}
    known = [told for known, told in OTHERWISE.items() if not names.isdisjoint(known.split())]
    asked = {role for argument in arguments if argument.required for role in roles(argument.name)}
    return "; ".join([*known, *([CACHES] if {"cos", "sin", "positions"} <= asked else [])])


def how(signature: Signature, tried: Collection[str] = ()) -> str:
    """Return how to have a function tried: by a call of as many arguments that wasn't, by an adapter, or by a function around it."""
    arguments = (*signature.positional, *signature.keywords)
    needed = [argument for argument in arguments if argument.required] or arguments
    named = tuple(role for argument in needed for role in roles(argument.name)[:1])
    told = bool(needed) and len({*named}) == len(needed)
    if told and Plan(named).kind is None:
        for known in operations().values():
            if len(known.arrays) == len(needed) and all({*roles(argument.name)} & {*known.arrays} for argument in needed):
                return f"write an adapter of {known.name}, which isn't tried"
    usual = () if named else USUAL.get(len(needed) or 2 * signature.any_positional, ())
    for chosen in (named,) if told else (*usual, *(each[::-1] for each in usual)):
        by_name = [(argument.name, role) for argument, role in zip(needed, chosen, strict=False) if argument in signature.keywords]
        call = Plan(chosen[: len(chosen) - len(by_name)], dict(by_name))
        if call.kind is not None and call.words() not in tried:
            return f"say how it is called with --call, as in --call '{call.words()}'"
    return OTHER_WAY


def contract(operation: str) -> Plan:
    """Return how an operation of the specification is called."""
    known = operations()[operation]
    names = {name: SPELLED.get(name, name) for name in known.parameters}
    return Plan(tuple(known.arrays), names)


def _meant(name: str) -> tuple[str, ...]:
    """Return the roles that a name in a call may have: the one of that name, then those that it has in signatures."""
    meant = tuple(dict.fromkeys(((name,) if name in {**PROBED, **SETTINGS} else ()) + roles(name)))
    if not meant and any(name in (*MADE, *known.arrays) for known in operations().values()):
        message = f"--call can't ask for {name}: no function that takes it is looked for; write an adapter"
        raise SelectionError(message)
    if not meant:
        message = f"--call must name {', '.join(PROBED)} or a setting, got {name!r}"
        raise SelectionError(message)
    return meant


def _named(signature: Signature) -> Iterator[Plan]:
    """Yield what the names of the arguments say, with places that may be left out and then without them."""
    turning = any({"x", "q"} & set(roles(argument.name)) for argument in signature.positional)
    every = (*signature.positional, *signature.keywords)
    places = [argument for argument in every if not argument.required and _probed(argument.name, turning=turning)]
    for count in range(len(places), -1, -1):
        for given in itertools.combinations(places, count):
            yield from _filled(signature, given)
    sized = [argument for argument in signature.positional if {"width", "num_heads"} & set(roles(argument.name))]
    if not any(argument.required for argument in (*signature.positional, *signature.keywords)):
        yield from _filled(signature, sized[:1])  # what gives numbers may have a usual size
    lengths = [argument for argument in (*signature.positional, *signature.keywords) if not argument.required and _length(argument.name)]
    if turning and lengths:  # what takes it from the positions unless it is told
        yield from _filled(signature, (*places, lengths[0]))


def _length(name: str) -> bool:
    return "length" in roles(name)


def _filled(signature: Signature, given: Sequence[Argument]) -> Iterator[Plan]:
    """Yield what the names of the arguments say that must be given, or are, each in every role that it may have.

    The roles that an operation has together come first.
    """
    needed = [argument for argument in signature.positional if argument.required or argument in given]
    keywords = [argument for argument in signature.keywords if argument.required or argument in given]
    if signature.any_positional or not all(roles(argument.name) for argument in [*needed, *keywords]):
        return
    left = [argument.name for argument in (*signature.positional, *signature.keywords) if argument not in (*needed, *keywords)]
    optional = _left_out(left, [role for argument in (*needed, *keywords) for role in roles(argument.name)[:1]])
    plans = []
    for chosen in itertools.product(*(roles(argument.name) for argument in [*needed, *keywords])):
        if len(set(chosen)) == len(chosen):
            first = _by_position(signature, chosen[: len(needed)], [argument.name for argument in needed])
            rest = dict(zip([argument.name for argument in keywords], chosen[len(needed) :], strict=True))
            plans.append(Plan(first[0], {**first[1], **rest}, optional))
    yield from sorted(plans, key=lambda plan: not plan.told)


def _left_out(names: Sequence[str], given: Sequence[str]) -> dict[str, str]:
    """Return the settings that may be left out; of two names for the same, the one that may mean something else does."""
    found = {name: role for name in names for role in _first(name) if role in SETTINGS}
    for name, role in found.items():
        every = [*found.values(), *given]
        others = [other for other in roles(name) if other in SETTINGS and other not in every]
        found[name] = others[0] if others and every.count(role) > 1 else role
    return found


def _first(name: str) -> tuple[str, ...]:
    """Return the likeliest role of an argument that may be left out: that of its own name, but where it may be a count of tokens."""
    likely = roles(name)
    return (name,) if name in likely and "tokens" not in likely else likely[:1]


def _by_position(signature: Signature, chosen: tuple[str, ...], names: list[str]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the roles of what stands first without a gap, and of what comes after one by name."""
    order = [argument.name for argument in signature.positional]
    count = next((i for i, name in enumerate(names) if order[i] != name), len(names))
    return chosen[:count], dict(zip(names[count:], chosen[count:], strict=True))


def _probed(name: str, *, turning: bool) -> bool:
    """Whether probing fills an argument that has a default: places do, where there are vectors to turn."""
    return turning and bool(set(roles(name)) & {"positions", "offset"})


def _contracts(signature: Signature) -> Iterator[Plan]:
    """Yield the operations of the specification, where the function takes any keyword or any argument, the simplest first."""
    if not (signature.any_keyword or signature.any_positional):
        return
    first = tuple(argument.name for argument in signature.positional)
    named = {argument.name for argument in signature.keywords}
    plans = [plan for plan in map(contract, operations()) if set(plan.needs) <= {*PROBED, *SETTINGS}]
    for plan in sorted(plans, key=lambda plan: len(plan.keywords)):
        fits = signature.any_positional or plan.arguments == first
        if fits and (signature.any_keyword or set(plan.keywords) <= named) and named - {"dtype"} <= set(plan.keywords):
            yield plan


def _usual(signature: Signature) -> Iterator[Plan]:
    """Yield what is usual for so many arguments, whatever they are called."""
    needed = [argument for argument in signature.positional if argument.required]
    keywords = {argument.name: next(iter(roles(argument.name)), "") for argument in signature.keywords if argument.required}
    if all(keywords.values()) and not signature.any_positional:
        names = [argument.name for argument in needed]
        left = [argument.name for argument in (*signature.positional, *signature.keywords) if not argument.required]
        for chosen in USUAL.get(len(needed), ()):
            yield Plan(_as_named(chosen, names), keywords, _left_out(left, [*chosen, *keywords.values()]), guessed=True)


def _as_named(chosen: tuple[str, ...], names: Sequence[str]) -> tuple[str, ...]:
    """Return roles with keys before queries where the first two names say so."""
    keys_first = chosen[:2] == ("q", "k") and all(role in roles(name) for role, name in zip(("k", "q"), names, strict=False))
    return ("k", "q", *chosen[2:]) if keys_first else chosen
