"""Which operation computes a rope type, and what its keys are called there."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from refimpl.configuration import spellings
from refimpl.configuration.defaults import DIVIDING
from refimpl.configuration.families import Family
from refimpl.configuration.findings import SOFTMAX, Amount, AttentionFactor, Notes
from refimpl.configuration.sections import LEAST, MOST, Section, agreed, is_number, near_miss
from refimpl.errors import SpecificationError
from refimpl.schemes import SCHEMES, yarn
from refimpl.spec import Operation, Parameter, describe

#: Kinds of values in the words of JSON.
JSON = {"be a float": "be a number", "be an int": "be a whole number", "be a bool": "be true or false"}
ORIGINAL, LONGEST, TRAINED = spellings.ORIGINAL_LENGTH, spellings.MAX_LENGTH[0], spellings.TRAINED_LENGTH[0]
#: Keys of the longest length, which stand beside the mapping, in the order in which they are looked up.
LENGTHS = {LONGEST: spellings.MAX_LENGTH, TRAINED: spellings.TRAINED_LENGTH}
DOUBLING, GROWING = "use_dynamic_ntk", "training_seqlen"
#: What a number does that a configuration gives in place of a computed one.
REPLACES = "replaces the factor that the rule computes"
#: Where YaRN's two strengths multiply the logarithm.
MSCALES = {"mscale": "in the numerator of the attention factor", "mscale_all_dim": "in its denominator"}
#: LongRoPE's own factors of short and of long sequences, and what they are parameters of.
SCALES, FACTOR_OF_LISTS = ("short_mscale", "long_mscale"), "longrope.attention_factor"
RATIO = "https://github.com/huggingface/transformers/issues/38224"


@dataclass(frozen=True)
class Rule:
    """A rope type that posenc has: its scheme, the parameters that keys give, those keys that must be there, and what else is read."""

    scheme: str
    keys: Mapping[str, str] = field(default_factory=dict)
    required: frozenset[str] = frozenset()
    attention: frozenset[str] = frozenset()
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Parameters that no key gives."""
    ordered: tuple[str, str] | None = None
    """Two keys, of which the second must be greater."""

    def reads(self) -> frozenset[str]:
        """Return every key that counts."""
        return frozenset({*self.keys, *self.attention, *self.required})


LLAMA3 = {"factor": "factor", "low_freq_factor": "low_freq_factor", "high_freq_factor": "high_freq_factor", ORIGINAL: "original_length"}
YARN = {"factor": "factor", ORIGINAL: "original_length", "beta_fast": "beta_fast", "beta_slow": "beta_slow", "truncate": "truncate"}
RULES = {
    "default": Rule("rope"),
    "linear": Rule("position_interpolation", {"factor": "factor"}, frozenset({"factor"})),
    "llama3": Rule(
        "llama3", LLAMA3, frozenset({"factor", "low_freq_factor", "high_freq_factor"}), ordered=("low_freq_factor", "high_freq_factor")
    ),
    "yarn": Rule(
        "yarn",
        YARN,
        frozenset({"factor"}),
        attention=frozenset({"attention_factor", "mscale", "mscale_all_dim"}),
        ordered=("beta_slow", "beta_fast"),
    ),
    "longrope": Rule(
        "longrope",
        {ORIGINAL: "original_length"},
        frozenset({"short_factor", "long_factor"}),
        attention=frozenset({"factor", "attention_factor", *SCALES}),
    ),
    "dynamic": Rule(
        "dynamic_ntk", {"factor": "factor", LONGEST: "original_length"}, frozenset({"factor"}), fixed={"growth": "tokens"}
    ),
    "doublings": Rule("dynamic_ntk", {TRAINED: "original_length"}, fixed={"factor": 2.0, "growth": "doublings"}),
    "proportional": Rule("proportional_rope", {"factor": "factor"}),
    "ntk_alpha": Rule(
        "ntk_aware", {"alpha": "factor"}, frozenset({"alpha"}), attention=frozenset({"factor"}), fixed={"fastest": "kept"}
    ),
    "ntk": Rule("ntk_aware", {"factor": "factor"}, frozenset({"factor"}), fixed={"fastest": "slowed"}),
    "ntk-mixed": Rule("ntk_aware", {"factor": "factor", "mixed_b": "power"}, frozenset({"factor", "mixed_b"}), fixed={"fastest": "slowed"}),
}
#: Keys of a mapping that are read whatever its type is, and that one of the types reads.
ALWAYS = spellings.COMMON | spellings.POSITION_AXES | {spellings.SLOPE}
EVERY = ALWAYS.union(*(rule.reads() for rule in RULES.values()))
#: Rules of types whose weights hold exponents of the frequencies, by what the rule is without these.
LEARNED = {"yarn": "lerope"}
#: Rules that are no rope types: other keys say them.
UNNAMED = frozenset({"doublings", "grown-doublings", "lerope", "ntk-mixed", "ntk_alpha"})

#: Between which sizes a number lies that must be positive, in words.
SIZES = f"from {LEAST:g} to {MOST:g}"
#: Names of rope types that leave frequencies as they are.
UNSCALED = frozenset({"default", "mrope"})
#: Rope types that posenc has no operation for yet, and what they would do.
WITHOUT = {
    "grown-doublings": "raises the base with every doubling of the sequence, and multiplies cosine and sine by a logarithm of its length",
    "axial": "turns a part of the head for each axis of an image, in a way of its own",
    "yarn_log": "blends frequencies geometrically",
    "lerope": "multiplies other frequencies than yarn's, or cosine and sine too, by numbers that the weights hold (LeRoPE)",
}


def declared(name: str) -> Operation:
    """Return the operation of a name."""
    scheme, _, wanted = name.partition(".")
    return describe(name, next(function for function in SCHEMES[scheme].operations if function.__name__ == wanted))


def rope_type(rope: Section | None, family: Family, notes: Notes) -> str | None:
    """Return the rope type under the name that its rule has; of an unknown one nothing."""
    given = rope.given(("rope_type", "type")) if rope else []
    if rope is None or not given:
        return _untyped(rope, family, notes)
    wrong = next((pair for pair in given if not isinstance(pair[1], str)), None)
    if wrong is not None:
        notes.find("error", "unknown-type", *wrong, "be the name of a rope type")
        return None
    named = [(key, spellings.ALIASES.get(value, value)) for key, value in given]
    if len(types := {value for _, value in named}) > 1 and types != {"mrope", "default"}:
        keys, values = (list(each) for each in zip(*given, strict=True))
        notes.find("error", "two-types", " and ".join(keys), values, "name the same rope type")
        return None
    verify_null_type(rope, family, notes)
    key, name = next((pair for pair in named if pair[1] == "mrope"), named[0])
    said = next(value for other, value in given if other == key)
    known = {*RULES, *WITHOUT, *spellings.ALIASES, "mrope", "xdrope"} - UNNAMED
    if name in known:
        meant = _meant(name, rope, family)
        if meant == "ntk_alpha" and not family.alpha:
            rule = "be left out: transformers reads it for HunYuan's types alone, and raises an error here, where there is no factor"
            notes.find("warning", "unread-alpha", rope.name("alpha"), rope.get("alpha"), rule)
        means = "" if meant == said or name in UNSCALED else f", which means {meant} here"
        notes.decide(key, said, f"the rope type is {said}{means}")
        return meant
    close = near_miss(name.lower(), known)
    hint = f" (did you mean {close}?)" if close else ""
    notes.find("error", "unknown-type", key, said, f"be a rope type ({', '.join(sorted(known))}){hint}")
    return None


def verify_null_type(rope: Section, family: Family, notes: Notes) -> None:
    """Warn of a rope type that is null, at which transformers raises an error, whatever stands beside it."""
    key = "rope_type" if "rope_type" in rope.values else "type"
    if rope.values.get(key, key) is None and family.grid is None:
        rule = "be the name of a rope type, or left out: transformers raises an error at a null"
        notes.find("warning", "null-type", rope.name(key), None, rule)


def _meant(name: str, rope: Section, family: Family) -> str:
    """Return the rope type that a name means beside the other keys."""
    if name in ("mrope", "default"):
        return "axial" if family.grid is not None else "default"
    if name == "yarn" and family.longrope_by_yarn and rope.get("long_factor") is not None:
        return "longrope"
    if name == "ntk" and rope.get("mixed_b") is not None:
        return "ntk-mixed"
    name = "dynamic" if name == "xdrope" else name
    raised = name == "dynamic" and rope.get("alpha") is not None and (family.alpha or rope.get("factor") is None)
    return "ntk_alpha" if raised else name


def _untyped(rope: Section | None, family: Family, notes: Notes) -> str | None:
    """Return the type of a mapping that names none: default, unless it has the keys of a scaling."""
    scaled = [key for key in rope.values if key not in spellings.COMMON | spellings.POSITION_AXES] if rope else []
    if rope and scaled:
        close = near_miss("rope_type", scaled, cutoff=0.7)
        hint = f" (did you mean that by {close}?)" if close else ""
        rule = f"be given as rope_type or type beside {', '.join(scaled)}{hint}"
        notes.find("error", "no-type", rope.name("rope_type"), rope.get(close) if close else None, rule)
        return None
    if rope is not None:
        verify_null_type(rope, family, notes)
    if family.grid is not None:
        notes.assume("rope_type", "axial", "the rope type is axial, as in this model type")
        return "axial"
    notes.assume("rope_type", "default", "the rope type is default: frequencies aren't scaled")
    return "default"


def with_doublings(name: str, section: Section, family: Family, notes: Notes) -> str:
    """Return the rule of ``use_dynamic_ntk``, which only code of Qwen's first models reads, or of TeleChat's ``training_seqlen``."""
    if name == "default" and section.get(GROWING) is not None:
        return "grown-doublings"
    for key, value in section.given((DOUBLING,)):
        if value is True and not family.doubles:
            notes.find("warning", "ignored-key", key, value, "be left out: only code of Qwen's first models (model_type qwen) reads it")
        elif value is True:
            notes.decide(key, value, "the base rises with every doubling of the sequence beyond the trained length")
            return "doublings"
    return name


def verify_taken(name: str, section: Section, rope: Section, own: Family, notes: Notes) -> None:
    """Find a rope type that code of the model type raises an error at, and warn of what it raises an error without."""
    if own.taken is not None and name not in ("default", *own.taken):
        key, value = rope.given(("rope_type", "type"))[0]
        rule = f"be {', '.join((*own.taken, 'default'))}, or left out: transformers 5.23 raises an error at any other for this model type"
        notes.find("error", "not-default", key, value, rule)
        return
    without = "without it transformers raises an error for this model type"
    for key, unasked in own.keys_asked.items():
        outside = key in spellings.WITHIN and section.get(key) is not None
        unread = {*rope.values, *section.values}.difference(EVERY, spellings.READ, spellings.WITHIN)
        told = outside or any(near_miss(other, (key,), cutoff=0.75) for other in unread)
        if name not in unasked and rope.get(key) is None and not told:
            notes.find("warning", "asked-key", rope.name(key), None, f"be given beside {name}: {without}")
    null = section.values.get("head_dim", own) is None and not own.refuses_null and not own.resolves
    if name in DIVIDING and (null or (own.widthless and not section.given(spellings.HEAD_DIM))) and not own.needs_width:
        notes.find("warning", "asked-key", section.name("head_dim"), None, f"be given beside {name}: {without}")


def verify_keys(name: str, rope: Section, notes: Notes) -> None:
    """Warn of keys of the mapping that its rope type doesn't read."""
    rule = RULES.get(name)
    known = ALWAYS | (rule.reads() if rule else frozenset()) | ({ORIGINAL} if rope.get(spellings.SLOPE) else frozenset())
    for key, value in rope.values.items():
        if key in known or value is None:
            continue
        if key in spellings.OF_VLLM:
            says = f"be left out: by it vLLM multiplies {spellings.OF_VLLM[key]}; transformers doesn't read it"
            notes.find("warning", "ignored-key", rope.name(key), value, says)
            continue
        close = "" if key in EVERY else _meant_key(key, known if rule else EVERY)
        if close:
            told = [rope.name(close)] if rule and close in rule.required and rope.get(close) is None else []
            says = f"be a key that {name} reads (did you mean {close}?)"
            notes.find("warning", "misspelt-key", rope.name(key), value, says, follows=told)
        elif rule is not None:
            reads = ", ".join(sorted(rule.reads())) or "none"
            notes.find("warning", "ignored-key", rope.name(key), value, f"be a key that {name} reads ({reads})")
    if name == "ntk_alpha" and rope.get("factor") not in (None, 1):
        notes.find("warning", "ignored-key", rope.name("factor"), rope.get("factor"), "be 1 beside alpha, which alone counts")


def _misspelt(rule: Rule, rope: Section) -> list[tuple[str, str]]:
    """Return the keys that nobody reads, each with the key of a rule that it may mean."""
    return [(key, _meant_key(key, ALWAYS | rule.reads())) for key, value in rope.values.items() if value is not None and key not in EVERY]


def _meant_key(key: str, known: frozenset[str]) -> str:
    """Return the known key that another may mean: one that is close, or that stands behind a prefix."""
    ends = [each for each in known if key.endswith(f"_{each}")]
    return near_miss(key, known, cutoff=0.75) or max(ends, key=len, default="")


def with_factor(name: str, section: Section, rope: Section, notes: Notes) -> Section:
    """Return the mapping of yarn with the ratio of the lengths where its factor is there and null, as transformers takes it."""
    longest = section.given(spellings.MAX_LENGTH)
    original = (*rope.given((ORIGINAL,)), *section.given((ORIGINAL,)), *longest)
    if name != "yarn" or rope.values.get("factor", name) is not None or not longest:
        return rope
    (key, after), (_, before) = longest[0], original[0]
    if not (is_number(before) and is_number(after) and before > 0):
        return rope
    rule = f"be given: where it is null transformers takes the ratio of {key} to {ORIGINAL} ({after / before:g})"
    notes.find("warning", "factor-from-lengths", rope.name("factor"), None, rule)
    notes.assume(rope.name("factor"), after / before, f"factor isn't given, but derived: the ratio of {key} to {ORIGINAL}")
    return replace(rope, values={**rope.values, "factor": after / before})


def parameters(name: str, section: Section, rope: Section, notes: Notes) -> dict[str, Any] | None:
    """Return what the operation of a rope type gets besides width and base; null where a key lacks or breaks a rule."""
    rule, before = RULES[name], len(notes.findings)
    contract = declared(f"{rule.scheme}.frequencies").parameters
    values: dict[str, Any] = {}
    for key in sorted(key for key in rule.required if rope.get(key) is None):
        hint = next((f" (did you mean it by {other}?)" for other, meant in _misspelt(rule, rope) if meant == key), "")
        notes.find("error", "missing-key", rope.name(key), None, f"be given for {name}{hint}")
    for key, parameter in rule.keys.items():
        found = original_length(section, rope, notes) if key == ORIGINAL else next(iter(_given(key, section, rope)), None)
        if found is not None:
            values[parameter] = checked(found, contract[parameter], notes)
        elif key == "truncate" and key in rope.values:
            values[parameter] = False
            notes.decide(rope.name(key), None, "truncate is False: transformers takes null for that")
        elif not contract[parameter].required and key not in rule.required:
            values[parameter] = contract[parameter].default
            notes.assume(key, values[parameter], f"{key} is {values[parameter]}, which code takes where it isn't given")
        elif key in LENGTHS:
            notes.find("error", "missing-key", section.name(key), None, f"be given for {name}")
    if any(each.level == "error" for each in notes.findings[before:]):
        return None
    return {**values, **rule.fixed} if _in_order(rule, rope, values, notes) else None


def verify_band(section: Section, rope: Section, width: int, base: float, given: Mapping[str, Any], notes: Notes) -> None:
    """Find a yarn that puts no pair of the head between its betas: there are no numbers of it."""
    try:
        yarn.band(width, base, given["original_length"], (given["beta_fast"], given["beta_slow"]), truncate=given["truncate"])
    except SpecificationError as error:
        key, value = original_length(section, rope, Notes()) or (rope.name(ORIGINAL), None)
        rule = str(error).partition(" must ")[2].rpartition(", got ")[0]
        notes.find("error", "no-pairs", key, value, rule)


def _given(key: str, section: Section, rope: Section) -> list[tuple[str, Any]]:
    """Return what a key says; the longest length stands beside the mapping."""
    return section.given(LENGTHS[key]) if key in LENGTHS else rope.given((key,))


def checked(found: tuple[str, Any], parameter: Parameter, notes: Notes, does: str = "") -> Any:
    """Return a value that the operation's own rule allows, and note what it does; or note that it isn't allowed."""
    key, value = found
    if isinstance(value, int | float) and not isinstance(value, bool) and not is_number(value):
        notes.find("error", "bad-value", key, value, f"be a number of at most {MOST:g}, and of at least {LEAST:g} where it isn't 0")
        return None
    value = int(value) if parameter.kind is int and isinstance(value, float) and value.is_integer() else value
    try:
        replace(parameter, name=key).check(value)
    except SpecificationError as error:
        rule = str(error).removeprefix(f"{key} must ").rsplit(", got ", 1)[0]
        notes.find("error", "bad-value", key, value, JSON.get(rule, rule))
        return None
    notes.decide(key, value, f"{parameter.name} is {value}{does}")
    return value


def _in_order(rule: Rule, rope: Section, values: Mapping[str, Any], notes: Notes) -> bool:
    """Whether the two ends of a blend are in order; they may be one where they are rounded outwards."""
    if rule.ordered is None:
        return True
    low, high = (values[rule.keys[key]] for key in rule.ordered)
    key = rope.name(rule.ordered[1])
    if high == low and rule.scheme == "llama3":
        says = f"be greater than {rule.ordered[0]} ({low:g}): no pair is blended, each keeps its frequency or is slowed by the whole factor"
        notes.find("warning", "no-band", key, high, says)
    elif high < low or (high == low and values.get("truncate") is not True):
        notes.find("error", "wrong-order", key, high, f"be greater than {rule.ordered[0]} ({low:g})")
        return False
    return True


def original_length(section: Section, rope: Section, notes: Notes) -> tuple[str, Any] | None:
    """Return the trained length: inside or outside the mapping; without one, what most code takes is the longest length."""
    found = agreed(rope.given((ORIGINAL,)) + section.given((ORIGINAL,)), "two-lengths", "the original length", notes)
    if found is None and (longest := section.given(spellings.MAX_LENGTH)):
        rule = f"be given: without it code takes {longest[0][0]} ({longest[0][1]})"
        notes.find("warning", "no-original-length", rope.name(ORIGINAL), None, rule)
        return longest[0]
    if found is None:
        notes.find("error", "missing-key", rope.name(ORIGINAL), None, "be given")
    return found


def verify_ratio(section: Section, rope: Section, notes: Notes) -> None:
    """Warn where the factor of yarn isn't the ratio of the two lengths: some code takes the one, some the other."""
    factor, original, longest = rope.get("factor"), rope.get(ORIGINAL), section.given(spellings.MAX_LENGTH)
    if not (is_number(factor) and is_number(original) and longest and is_number(longest[0][1]) and original > 0):
        return
    ratio = longest[0][1] / original
    if ratio not in (1, factor):
        rule = f"be the ratio of {longest[0][0]} to {ORIGINAL} ({ratio:g}), which some code takes instead"
        notes.find("warning", "factor-not-ratio", rope.name("factor"), factor, rule, RATIO, follows=(rope.name(ORIGINAL), longest[0][0]))


def factors(rope: Section, pairs: int, notes: Notes) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
    """Return the two lists of longrope: a positive number for every pair that turns."""
    lists = []
    for key in ("short_factor", "long_factor"):
        value = rope.get(key)
        if value is None:  # told with the keys that must be there
            continue
        wrong = (index for index, each in enumerate(value) if not is_number(each) or each <= 0) if isinstance(value, list) else ()
        if not isinstance(value, list):
            notes.find("error", "bad-list", rope.name(key), value, f"be a list of numbers {SIZES}")
        elif (index := next(iter(wrong), None)) is not None:
            notes.find("error", "bad-list", f"{rope.name(key)}[{index}]", value[index], f"be a number {SIZES}")
        elif len(value) != pairs:
            rule = f"have a number for each of the {pairs} pairs"
            notes.find("error", "wrong-length", rope.name(key), Amount(f"{len(value)} numbers"), rule)
        else:
            notes.decide(rope.name(key), value, f"{key} has a number for each of the {pairs} pairs")
            lists.append(tuple(map(float, value)))
    return (lists[0], lists[1]) if len(lists) == 2 else None


def attention(
    name: str, section: Section, rope: Section, family: Family, rule: Mapping[str, Any] | None, notes: Notes
) -> AttentionFactor | None:
    """Return what multiplies cosine and sine, beside the parameters of a rule."""
    if name == "yarn":
        return _of_yarn(rope, family, notes, latent=section.get("qk_rope_head_dim") is not None or family.latent is not None)
    if name == "longrope":
        return _of_longrope(section, rope, rule, notes)
    return AttentionFactor()


def _of_yarn(rope: Section, family: Family, notes: Notes, *, latent: bool) -> AttentionFactor | None:
    """Return the attention factor of yarn; latent attention scales its logits by ``mscale_all_dim`` besides."""
    contract, roles = declared("yarn.attention_factor").parameters, _roles(rope)
    values = {name: checked(found, contract[name], notes, does) for name, does in roles.items() for found in rope.given((name,))}
    _verify_mscales(rope, notes, latent=latent, replaced="attention_factor" in values)
    for key, value in rope.given(("rope_type", "type"))[:1]:
        if value in spellings.SLOPES:
            values["slope"] = spellings.SLOPES[value]
            notes.decide(key, value, f"the attention factor grows by {values['slope']} ln(factor)")
    if family.attention_factor is not None and "attention_factor" not in rope.values:
        notes.assume("attention_factor", family.attention_factor, f"the attention factor is 1, as in this model type: it {REPLACES}")
        values["attention_factor"] = family.attention_factor
    return AttentionFactor("yarn.attention_factor", values)


def _verify_mscales(rope: Section, notes: Notes, *, latent: bool, replaced: bool) -> None:
    """Warn of strengths of yarn that aren't read, or that code reads in two ways; ``replaced`` is whether a number replaces their ratio."""
    for key, value in rope.given(("mscale",)):
        beside = rope.get("mscale_all_dim")
        if replaced:
            notes.find("warning", "unread-mscale", key, value, "be left out, as attention_factor counts")
        elif beside is None:
            notes.find("warning", "unread-mscale", key, value, "stand beside mscale_all_dim to be read")
        elif 0 in (value, beside) and (value, beside) != (1, 0):  # with these a 0 that counts as set gives the same factor
            rule = "be above 0, and so must mscale_all_dim: transformers takes a 0 in either for both unset, other code for set"
            notes.find("warning", "unread-mscale", key, value, rule)
    for key, value in rope.given(("mscale_all_dim",)):
        if not value or rope.get("mscale") is not None:
            continue
        if not latent:
            notes.find("warning", "unread-mscale", key, value, "stand beside mscale to be read")
        elif not replaced:
            rule = "stand beside mscale: DeepSeek's own code takes 1 for that and divides, transformers doesn't divide"
            notes.find("warning", "unread-mscale", key, value, rule)


def _roles(rope: Section) -> dict[str, str]:
    """Return the keys that can set the attention factor of yarn, each with what it does beside the others."""
    ratio = {name: f": it multiplies ln(factor) {where}; the ratio {REPLACES}" for name, where in MSCALES.items()}
    counts = rope.get("attention_factor") is None and all(map(rope.get, MSCALES))
    unread = dict.fromkeys(MSCALES, ", which doesn't set the attention factor")
    return {"factor": "", **(ratio if counts else unread), "attention_factor": f": it {REPLACES}"}


def softmax(section: Section, rope: Section, head_dim: int, notes: Notes) -> dict[str, Any]:
    """Return the parameters of what DeepSeek's attention multiplies logits by; none where mscale_all_dim isn't set, or is 0."""
    roles = {"factor": "", "mscale_all_dim": ": it multiplies ln(factor) in the scale of the softmax"}
    if not section.get("qk_rope_head_dim") or not all(map(rope.get, roles)):
        return {}
    contract = declared(SOFTMAX).parameters
    return {"qk_head_dim": head_dim} | {name: checked(rope.given((name,))[0], contract[name], notes, does) for name, does in roles.items()}


def _of_longrope(section: Section, rope: Section, rule: Mapping[str, Any] | None, notes: Notes) -> AttentionFactor | None:
    """Return the attention factor of longrope: one for each list where such are given, else that of the two lengths."""
    scales = _scales(rope, notes)
    if scales is None:
        return None
    factor, longest = rope.given(("factor",)), section.given(spellings.MAX_LENGTH)
    if scales:
        trained = 2 if rule is None else rule["original_length"]  # an error of it is told already
        most = next((round(value) for _, value in longest if is_number(value) and value >= 1), trained)
        return AttentionFactor(FACTOR_OF_LISTS, {"original_length": trained, "max_length": most, **scales})
    original = original_length(section, rope, Notes())
    if original is None:
        return None
    if not (factor or longest):
        notes.find("error", "missing-key", spellings.MAX_LENGTH[0], None, "be given, for the attention factor")
        return None
    longest_key, length = factor[0] if factor else longest[0]
    for key, value, least in ((*original, 1), (longest_key, length, LEAST)):
        if not is_number(value) or value < least:
            notes.find("error", "bad-value", key, value, f"be a number of at least {least:g}")
            return None
    length = length * original[1] if factor else length
    derived = ": factor replaces the ratio of the lengths" if factor else ""
    notes.decide(longest_key, length, f"the attention factor is that of {length:g} positions, trained on {original[1]}{derived}")
    return AttentionFactor(FACTOR_OF_LISTS, {"original_length": original[1], "max_length": round(length)})


def _scales(rope: Section, notes: Notes) -> dict[str, float] | None:
    """Return the factors of short and of long sequences that replace the computed one, if any are given; nothing where they are wrong."""
    both, one = rope.given(SCALES), rope.given(("attention_factor",))
    rule = f"be a number {SIZES}{', and short_mscale and long_mscale both' if both else ''}"
    for key, value in one if both else []:
        notes.find("warning", "unread-factor", key, value, "be left out, as short_mscale and long_mscale count")
    found = both or one
    if not found:
        return {}
    if (both and len(both) != len(SCALES)) or not all(is_number(value) and value > 0 for _, value in found):
        notes.find("error", "bad-value", *found[0], rule)
        return None
    short, long = found[0][1], found[-1][1]
    alone = f"cosine and sine are multiplied by {short}: it {REPLACES}"
    each = f"short sequences multiply cosine and sine by {short:g}, long ones by {long:g}: each {REPLACES}"
    notes.decide(*found[0], each if both else alone)
    return dict(zip(SCALES, (float(short), float(long)), strict=True))
