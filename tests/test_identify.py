"""What ``posenc identify`` recovers: every function of the bundled adapters, code as people write it, and what is no scheme."""

import functools
import json
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import identify_functions
import numpy as np
import pytest

from conformance.adapt.adapter import Adapter
from conformance.adapt.frameworks import FRAMEWORKS
from conformance.adapt.wording import told_with_place
from conformance.cli import main
from conformance.identify import inside, plans, screen
from conformance.identify.asking import Refused, Signature, Strangers, signature
from conformance.identify.asking import request as request_for
from conformance.identify.calls import takes
from conformance.identify.declaration import Place
from conformance.identify.described import WHOLE_TURNS
from conformance.identify.findings import Identity
from conformance.identify.following import restrictions, role, settings
from conformance.identify.inside import Stranger
from conformance.identify.recognise import Found, recognise
from conformance.identify.screen import Told
from conformance.in_process import assert_conforms
from conformance.isolate import targets
from conformance.spec.declarations import operations
from refimpl import schemes
from refimpl.forms.rotary import Rotary, rotate
from refimpl.spec import EvenCount, Operation, Positive, describe

FILE = Path(identify_functions.__file__)
#: Attention reads no encoding off its values; a shift of scores, a matrix and a permutation of weights are none.
OUT_OF_SCOPE = {"weights", "attend", "attend_turned", "attend_selected", "logits", "terms", "shift", "shift_matrix", "permute"}
#: No call of the first is tried yet. What leaves vectors alone is told in words.
UNTRIED = {
    "axial_rope.positions",
    "mrope.positions",
    "mixed_rope.rotate",
    "temperature.learned_scale",
    "none.rotate",
    "partial_rope.index_scores",
}
#: What encodes an image whose channels come first, has 64 patches and no more, or has three axes of one width and no other number.
OF_IMAGES = {"vit-mae", "rt-detr", "detr", "vjepa2"}
#: What an adapter leaves to its cases: these buckets exist in both directions only.
ALSO = {("deberta-v2", "bidirectional"): True}
#: What an adapter declares values of for which its model is slow enough already, where the code takes any; odd widths, of which a function
#: that is told of them and refuses them all shows no convention; spectra of two axes of which some need the sides of an image, which aren't
#: set; and a power that is one where the fastest pair is kept.
PICKED = {
    ("swin", "relative_bias.bias", "max_distance"), ("dinov3", "axial_rope.rotate", "sides"), ("speecht5", "sinusoidal.add", "odd"),
    ("numpy", "axial_rope.rotate", "ladder"),
    ("hunyuan", "ntk_aware.frequencies", "power"), ("hunyuan", "ntk_aware.rotate", "power"),
}  # fmt: skip
#: In how many parts the functions of an adapter are asked for.
PARTS = 3


class Here(Strangers):
    """Functions of this process, called as the worker calls them."""

    def __init__(self, function: Any) -> None:
        super().__init__("here")
        self.stranger = Stranger("here", function, FRAMEWORKS["numpy"](None), "numpy")

    @property
    def functions(self) -> tuple[Signature, ...]:
        return (signature(0, self.stranger.describe()),)

    def answer(
        self, _: int, arguments: Any, keywords: Mapping[str, Any], dtype: str, *, strided: bool = False
    ) -> tuple[list[np.ndarray], bool]:
        try:
            header, values = self.stranger.answer(*request_for(arguments, keywords, dtype, strided=strided), nullcontext())
        except Exception as error:
            raise Refused(told_with_place(error)) from error
        return values, bool(header["complex"])


def pasted(text: str) -> Adapter:
    """Return the adapter that a person pastes."""
    namespace: dict[str, Any] = {}
    exec(compile(text, "pasted.py", "exec"), namespace)  # noqa: S102  what a person pastes
    adapter = namespace["adapter"]
    assert isinstance(adapter, Adapter)
    return adapter


def verify(adapter: Adapter) -> None:
    """Raise unless every implementation conforms as it is declared: a form, once, judges all its sides."""
    for each in {(one.operation, one.form.call): one for one in adapter.implementations}.values():
        form = {"call": each.form.call, "axes": each.form.axes, "tables": each.form.tables}
        declared = {**each.takes.as_data(), **{name: said for name, said in form.items() if said is not None}}
        assert_conforms(each.function, each.operation, level="smoke", dtypes=each.dtypes, parameters=each.restrictions, **declared)


@functools.cache
def recognised(module: ModuleType, name: str, **given: Any) -> Found:
    """Return what is found of a function of a module."""
    here = Here(getattr(module, name))
    return recognise(here, here.functions[0], None, given)


def identity_of(module: ModuleType, name: str) -> Identity:
    """Return what it is."""
    identity = recognised(module, name).identity
    assert identity is not None
    return identity


@functools.cache
def told_of(module: ModuleType, name: str) -> Told:
    """Return what is told of it."""
    result = recognised(module, name)
    known = result.identity
    fates = settings(known, result.probe) if known and known.operation and result.probe else ()
    return Told(name, result, fates, Place(module.__name__, name))


def screen_of(module: ModuleType, name: str) -> str:
    """Return the screen of it."""
    return "\n".join(line for _, line in screen.lines(told_of(module, name)))


found = functools.partial(recognised, identify_functions)
told = functools.partial(told_of, identify_functions)


def shown(name: str) -> dict[str, Any]:
    identity = identity_of(identify_functions, name)
    return {"operation": identity.operation, **{key: seen.value for key, seen in identity.parameters.items()}}


@pytest.fixture(scope="module", params=["numpy", "ggml", "transformers", "equinox", "array_api_strict"])
def strangers(request: pytest.FixtureRequest) -> Iterator[Strangers]:
    with Strangers(request.param) as started:
        try:
            assert started.functions
        except targets.LibraryMissing as missing:
            pytest.skip(str(missing))
        yield started


def as_set(value: object) -> set[object]:
    return set(value) if isinstance(value, list | tuple | set | frozenset) else {value}


def disagreements(strangers: Strangers, known: Signature) -> Iterator[str]:
    assert known.declared is not None
    operation, declared = known.declared
    result = recognise(strangers, known, None, {})
    if result.identity is None or result.probe is None or result.identity.operation != operation:
        yield f"{known.label} {operation}: got {result.identity and result.identity.what}, tried {result.tried[:2]}"
        return
    for name, seen in result.identity.parameters.items():
        asked = result.probe.settings.get(role(name))
        if asked is not None and name not in declared and not seen.holds(asked):
            yield f"{known.label} {operation}: {name} was {asked}, seen {seen}"
    if strangers.target == "array_api_strict":
        return  # the same functions as numpy's, which are asked for every setting
    limits = restrictions(settings(result.identity, result.probe))
    if "axes" in limits and len(set(limits["axes"])) == 1:
        limits = {name: value for name, value in limits.items() if name != "axes"}  # its adapter refuses others by a predicate
    for name in {*declared, *limits}:
        left_out = name not in declared and name in limits and limits[name] is None  # float32 shows the quotient of two mscales only
        if (known.label, operation, name) in PICKED or left_out:
            continue
        expected = declared.get(name, ALSO.get((known.label, name), "anything"))
        if as_set(limits.get(name, "anything")) != as_set(expected):
            yield f"{known.label} {operation}: {name} is {limits.get(name)}, declared {expected}"


@pytest.mark.parametrize("part", range(PARTS))
def test_every_function_of_a_bundled_adapter_is_recovered_from_its_values(strangers: Strangers, part: int) -> None:
    declared = [(item, item.declared[0]) for item in strangers.functions if item.declared]
    tried = [(item, name) for item, name in declared if name not in UNTRIED and item.label not in OF_IMAGES]
    known = [item for item, name in tried if name.split(".")[1] not in OUT_OF_SCOPE]
    assert known

    assert [line for item in known[part::PARTS] or known for line in disagreements(strangers, item)] == []


SUM = {
    "operation": "sinusoidal.add", "layout": "interleaved", "scale": 1.0, "base": 10_000.0, "spacing": "paper", "odd": "error",
    "embedding_scale": "none",
}  # fmt: skip
ROPE = {"operation": "rope.rotate", "layout": "half", "direction": "positive", "base": 10_000.0}
XPOS = {**ROPE, "layout": "interleaved", "scale_base": 512.0, "centre": 0}
PART = {**ROPE, "operation": "partial_rope.rotate", "rotary_dim": 16, "head_dim": None}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("rope", {**ROPE, "base": 500_000.0}),
        ("tokens_before_heads", ROPE),
        ("from_an_offset", {**ROPE, "layout": "interleaved"}),
        ("last_channels", {**PART, "layout": "interleaved", "placement": "last"}),
        ("counted_from_one", {**ROPE, "offset": 1.0}),
        ("fading_queries", {**XPOS, "operation": "xpos.rotate_query"}),
        ("fading_queries_and_keys", {**XPOS, "operation": "xpos.rotate_query_key"}),
        ("interpolated", {**ROPE, "operation": "position_interpolation.rotate", "base": 1e6, "factor": 8.0}),
        (
            "fast_pairs",
            {**ROPE, "operation": "proportional_rope.rotate", "base": 1e6, "factor": 1.0, "head_dim": 64, "turned_pairs": 8},
        ),
        (
            "base_by_doublings",
            {**ROPE, "operation": "dynamic_ntk.rotate", "factor": 2.0, "original_length": 2_048, "growth": "doublings"},
        ),
        (
            "base_by_length",
            {**ROPE, "operation": "dynamic_ntk.rotate", "factor": 2.0, "original_length": 2_048, "growth": "tokens"},
        ),
        ("length_that_counts_for_nothing", {**ROPE, "base": 500_000.0}),
        ("single_angles", ROPE),
        ("half_angles", ROPE),
        ("running_product", ROPE),
        ("short_table", ROPE),
        ("cos_sin", {"operation": "rope.tables", "base": 10_000.0, "head_dim": 64}),
        ("apply", {"operation": "rope.apply", "layout": "half", "direction": "positive"}),
        (
            "paper_table",
            {"operation": "sinusoidal.encode", "layout": "interleaved", "scale": 1.0, "base": 10_000.0, "spacing": "paper", "odd": "error"},
        ),
        (
            "cosine_first",
            {
                "operation": "sinusoidal.encode",
                "layout": "halves_cosine_first",
                "scale": 0.5,
                "base": 10_000.0,
                "spacing": "endpoint",
                "odd": "error",
            },
        ),
        ("added", SUM),
        ("scaled_sum", {**SUM, "layout": "halves", "embedding_scale": "sqrt_dim"}),
        ("tokens_first_sum", SUM),
        ("moved_sum", {**SUM, "layout": "halves", "offset": 2.0}),
        (
            "moved_by_two",
            {
                "operation": "sinusoidal.encode",
                "layout": "halves",
                "scale": 1.0,
                "base": 10_000.0,
                "spacing": "paper",
                "offset": 2.0,
                "dim": 32,
            },
        ),
        ("digits_added", {"operation": "binary.add", "embedding_scale": "none"}),
        ("few_digits_added", {"operation": "binary.add", "embedding_scale": "sqrt_dim", "bits": 16}),
        ("first_rows_added", {"operation": "learned.add", "offset": 0, "outside": "raise", "embedding_scale": "sqrt_dim"}),
        ("nearest_rows_added", {"operation": "learned.add", "offset": 0, "outside": "clamp", "embedding_scale": "none"}),
        ("looked_up", {"operation": "learned.encode", "offset": 2, "outside": "raise"}),
        ("alibi", {"operation": "alibi.bias", "max_bias": 8.0, "slopes": "code", "form": "symmetric", "num_heads": 8}),
        ("buckets_inside", {"operation": None, "convention": "t5", "bidirectional": False, "num_buckets": 32, "max_distance": 128}),
        ("alibi_with_mask", {"operation": "alibi.bias", "max_bias": 8.0, "slopes": "code", "form": "row", "num_heads": 8}),
        ("of_the_paper", {"operation": "alibi.bias", "max_bias": 8.0, "slopes": "paper", "form": "row", "num_heads": 8}),
        ("steps_of_10000", {"operation": "temperature.scale", "floor_scale": 10_000, "attn_scale": 0.25, "shift": 0}),
        ("beyond_training", {"operation": "temperature.log_scale", "original_length": 3_000}),
        ("softer_and_softer", {"operation": None}),
        ("learned_power", {"operation": "kerple.bias", "form": "power"}),
        ("alibi_in_half_masked", {"operation": None, "max_bias": 8.0, "slopes": "code", "form": "row"}),
        (
            "llama3",
            {
                **ROPE,
                "operation": "llama3.rotate",
                "base": 500_000.0,
                "factor": 8.0,
                "original_length": 8_192,
                "low_freq_factor": 1.0,
                "high_freq_factor": 4.0,
            },
        ),
    ],
)
def test_code_as_people_write_it_shows_its_parameters(name: str, expected: dict[str, Any]) -> None:
    got = shown(name)

    assert {key: got.get(key) for key in expected} == expected
    assert set(got) - set(expected) <= {"tables", "order"}


@pytest.mark.parametrize(
    ("name", "parameter", "value"), [("quarter_whatever_is_asked", "rotary_dim", 16), ("usual_base_whatever_is_asked", "base", 32.0)]
)
def test_an_argument_that_counts_for_nothing_isnt_followed_where_its_value_is_asked_for(name: str, parameter: str, value: object) -> None:
    told = found(name)
    assert told.identity is not None
    assert told.probe is not None

    fates = settings(told.identity, told.probe)

    assert restrictions(fates)[parameter] == value


@pytest.mark.parametrize(("name", "operation"), [("yarn", "yarn.rotate"), ("yarn_of_whole_wavelengths", "resonance_yarn.rotate")])
def test_yarn_shows_its_factor_its_ramp_and_the_usual_attention_factor(name: str, operation: str) -> None:
    got = shown(name)

    assert {key: got[key] for key in ("operation", "base", "factor", "truncate", "original_length", "beta_fast", "beta_slow")} == {
        "operation": operation, "base": 1e4, "factor": 8.0, "truncate": True,
        "original_length": 4096, "beta_fast": 32.0, "beta_slow": 1.0,
    }  # fmt: skip
    assert got["attention_factor"] is None


def test_a_raised_base_is_seen_and_ntk_is_named_as_what_gives_the_same() -> None:
    identity = identity_of(identify_functions, "raised_base")

    assert identity.parameters["base"].holds(1e4 * 4 ** (64 / 62))
    assert any("ntk_aware.rotate: with base 10000, factor 4, fastest kept, power 1 it gives the same" in line for line in identity.unseen)


def test_ntk_that_slows_the_fastest_pair_too_is_named_as_what_gives_the_same() -> None:
    identity = identity_of(identify_functions, "all_slowed")

    assert any("ntk_aware.rotate: with base 10000, factor 8, fastest slowed, power 1 it gives the same" in line for line in identity.unseen)


def test_telechats_slope_of_the_attention_factor_is_told() -> None:
    got = shown("yarn_of_telechat")

    assert (got["operation"], got["slope"], got["attention_factor"]) == ("yarn.rotate", 0.07, None)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("random_matrix", "one matrix for all positions, not norm-preserving"),
        ("without_minus", "no rotation, as by the known mistake minus-forgotten: gives b sin the sign of a sin"),
        ("without_plus", "no rotation, as by the known mistake plus-forgotten: gives a sin the sign of b sin"),
        ("mirrored", "norm-preserving and in pairs, but some are mirrored (the determinant is -1): no rotation"),
        ("sheared", "no rotation: vectors of length 1 come out with lengths from 0.618 to 1.62"),
        ("learned_rotation", "a norm-preserving rotation of pairs, but its frequencies are on no known ladder: learned"),
        ("factor_per_pair", "on no known ladder: a factor for every pair"),
        ("tiled_under_neighbours", "the two rows of a pair turn by different angles"),
        ("mlp_bias", "a number of its own for every offset, on no line and in no buckets"),
        ("by_squares", "angles that are no multiples of the position"),
        ("by_small_cubes", "angles that are no multiples of the position"),
        ("unchanged", "it returns x unchanged at every position"),
        ("scaled_down", "one matrix for all positions, every vector 0.125 times as long: nothing depends on the position"),
        ("keys_turned_back", "not alike: queries are rope.rotate (direction positive), keys are rope.rotate (direction negative)"),
        ("keys_of_another_base", "not alike: queries are rope.rotate (base 10000), keys are rope.rotate (base 1000)"),
        ("keys_alone", "not alike: queries are no known scheme (it returns x unchanged at every position), keys are rope.rotate"),
        ("queries_turned_with_tables", "not alike: queries are rope.rotate"),
        ("only_zero", "only position 0 was accepted"),
        ("one_ratio", "but of 12 heads: of 12 heads, max_bias 12, slopes paper, form row"),
        ("learned_rows", "rows of no formula that is known"),
        ("overflowed", "added to x: "),
    ],
)
def test_what_is_no_known_scheme_is_told_with_the_reason(name: str, reason: str) -> None:
    identity = identity_of(identify_functions, name)

    assert identity.operation is None
    assert reason in identity.what


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("rope", "arithmetic of the angles: float64"),
        ("single_angles", "arithmetic of the angles: float32"),
        ("running_product", "arithmetic of the angles: float32"),
        ("half_angles", "arithmetic of the angles: float16"),
        ("short_table", "positions: right to 4095, not at twice that"),
        ("short_table", "real positions: refused"),
        ("rope", "real positions: accepted"),
        ("counted_from_one", "position offset: what is called 0 stands at 1"),
        ("tokens_before_heads", "it counts its rows from 0"),
        ("from_an_offset", "only the first position counts"),
        ("alibi_with_mask", "a causal mask is part of it"),
        ("learned_rows", "the last position that is taken is 511, as where a table has 512 rows from position 0 on"),
    ],
)
def test_reach_and_arithmetic_are_seen(name: str, line: str) -> None:
    identity = identity_of(identify_functions, name)

    assert any(seen.startswith(line) for seen in identity.seen)


def test_frequencies_beyond_half_a_turn_are_seen_at_positions_between_whole_ones() -> None:
    seen = identity_of(identify_functions, "octaves").seen

    assert "radians per position: 3.14159, 6.28319, 12.5664, 25.1327, 50.2655, 100.531" in seen
    assert not any("too coarse" in line or "coarser" in line for line in seen)


def test_nothing_is_said_of_reach_and_arithmetic_where_whole_turns_cant_be_told() -> None:
    seen = identity_of(identify_functions, "octaves_of_whole").seen

    assert seen[0] == WHOLE_TURNS
    assert not any(line.startswith(("positions", "arithmetic")) for line in seen)


def sharpened(*, head_dim: EvenCount, base: Positive = 10_000.0, sharpness: Positive, like: Any) -> Annotated[Any, "pair"]:
    """Return frequencies of no scheme that there is."""
    del like
    return base ** (-((2 * np.arange(head_dim // 2) / head_dim) ** sharpness))


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Operation]:
    made = describe("toy.rotate", Rotary(sharpened).operation(rotate))
    every = {**operations(), made.name: made}
    operations.cache_clear()
    monkeypatch.setattr(schemes, "operations", lambda: every)
    yield made
    operations.cache_clear()


def test_a_scheme_that_fills_a_form_is_identified_without_a_line_of_its_own(toy: Operation) -> None:
    parameters = {"base": 25_000.0, "sharpness": 1.3, "layout": "half"}
    here = Here(lambda x, positions: toy.function(x, positions, head_dim=x.shape[-1], **parameters))

    identity = recognise(here, here.functions[0], None, {}).identity

    assert identity is not None
    assert identity.operation == toy.name
    assert {name: identity.parameters[name].value for name in parameters} == parameters


PASTED = (
    "rope", "tokens_before_heads", "from_an_offset", "last_channels", "counted_from_one",
    "interpolated", "raised_base", "yarn", "cos_sin", "apply", "paper_table",
    "cosine_first", "added", "scaled_sum", "tokens_first_sum", "moved_sum", "moved_by_two", "looked_up", "waves_of_a_table", "alibi",
    "alibi_with_mask", "first_rows", "short_table", "bias", "steps_of_10000", "beyond_training",
    "fading_queries", "fading_queries_and_keys",
)  # fmt: skip


@pytest.mark.parametrize("name", PASTED)
def test_the_declaration_that_is_printed_conforms_when_it_is_pasted(name: str) -> None:
    text = told(name).declaration()
    assert text is not None
    assert "Unsupported" not in text

    verify(pasted(text))


def test_a_call_that_is_said_is_the_only_one_that_is_tried() -> None:
    here = Here(lambda a, b: identify_functions.rope(b, a))

    result = recognise(here, here.functions[0], plans.said("f(positions, x)"), {})

    assert result.identity is not None
    assert result.identity.operation == "rope.rotate"
    assert result.probe is not None
    assert result.probe.plan.arguments == ("positions", "x")


def test_a_setting_is_followed_where_no_name_says_what_the_other_arguments_are() -> None:
    assert "base=base" in str(told_of(identify_functions, "of_no_name").declaration())


def test_a_setting_that_is_given_is_what_the_function_is_called_with() -> None:
    result = found("rope", base=250.0)

    assert result.identity is not None
    assert result.identity.parameters["base"].holds(250.0)


def test_an_argument_that_is_followed_is_handed_on_and_restricts_nothing() -> None:
    declaration = told("rope").declaration()

    assert declaration is not None
    declared = 'layout="half", direction="positive", rows="shared", call="f(x, positions, base=base)"'
    assert f'adapter.implements( "rope.rotate", rope, {declared}, )' in " ".join(declaration.split())


def test_what_happens_outside_of_a_table_is_followed_where_code_is_told() -> None:
    here = Here(schemes.learned.encode)
    result = recognise(here, here.functions[0], None, {})

    assert result.identity is not None
    assert result.probe is not None
    assert "outside" not in restrictions(settings(result.identity, result.probe))


def test_a_table_that_refuses_real_positions_is_declared_so() -> None:
    declaration = told("waves_of_a_table").declaration()

    assert declaration is not None
    assert 'positions="whole", lowest=0, highest=4095)' in " ".join(declaration.split())
    assert "positions=" not in str(told("cosine_first").declaration())


def test_an_argument_that_only_the_first_call_of_a_width_reads_is_told() -> None:
    (base,) = (setting for setting in told("remembering").settings if setting.name == "base")

    assert base.note.startswith("counts in the first call of a width only")
    assert base.allowed is None


def command(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(["identify", *arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_the_command_prints_what_it_is_and_what_to_paste_within_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = command(capsys, f"{FILE}:interpolated")

    assert (status, err) == (0, "")
    assert "position_interpolation.rotate: base 1000000, factor 8" in out
    assert "from identify_functions import interpolated" in out
    assert all(len(line) <= 80 for line in out.splitlines())


def test_the_command_writes_json_and_ends_with_1_where_no_scheme_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = command(capsys, f"{FILE}:mlp_bias", "--json")

    (document,) = json.loads(out)
    assert status == 1
    assert document["operation"] is None
    assert document["declaration"] is None
    assert document["what"].startswith("a number of its own for every offset")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("x, positions, causal=True, eps=1e-6", "not seen: what causal, eps do (left at their defaults)"),
        ("x, positions, causal=True", "not seen: what causal does (left at its default)"),
        ("x, past_len=0", "called as f(x, offset) in float32"),
        ("x, pos_offset=0", "called as f(x, offset) in float32"),
    ],
)
def test_what_an_argument_is_called_by_is_told_or_that_no_call_gives_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: str, words: str
) -> None:
    begins = f" + {arguments[3:-2]}" if arguments.endswith("=0") else ""
    positions = f"numpy.arange(x.shape[-2]){begins}" if begins else "positions"
    code = f"def f({arguments}):\n    return rope.rotate(x, {positions}, head_dim=x.shape[-1], base=1e4, layout='half')\n"
    (tmp_path / "mine.py").write_text(f"import numpy\nfrom refimpl.schemes import rope\n\n{code}")

    assert main(["identify", f"{tmp_path}/mine.py:f", "--no-check"]) == 0

    assert words in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([f"{FILE}:interpolate"], "must name a function that exists, got no 'interpolate' (did you mean interpolated?)"),
        ([f"{FILE}:not_a_function"], "must be a function, got int 3"),
        ([f"{FILE}:raises"], "must answer some call, got nothing usable from f(x, positions): RuntimeError: never today"),
        (["no/such/file.py:rope"], "target must be a file that exists, got no/such/file.py"),
        (["no_such_module:rope"], "target must name a module that exists"),
        ([f"{FILE}:rope", "--call", "x, positions"], "--call must be like 'f(x, positions)', got 'x, positions'"),
        ([f"{FILE}:rope", "--call", "f(x, wheels)"], "--call must name x, q, k, v, positions"),
        ([f"{FILE}:rope", "--set", "bass=3"], "--set must name a setting, got 'bass' (did you mean base?)"),
        ([f"{FILE}:rope", "--set", "base"], "--set must be NAME=VALUE, got 'base'"),
        ([f"{FILE}:rope", "--framework", "nunpy"], "framework must be one of numpy, torch, jax"),
    ],
)
def test_a_mistake_gets_one_line_and_no_traceback(capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    status, out, err = command(capsys, *arguments)

    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "words"), [("ends_the_process", "the process ended with exit status 3"), ("never_answers", "no answer within 1 s")]
)
def test_a_function_that_ends_its_process_is_no_operation_and_no_wrong_usage(
    capsys: pytest.CaptureFixture[str], name: str, words: str
) -> None:
    status, out, err = command(capsys, f"{FILE}:{name}", "--call-seconds", "1")

    assert (status, err) == (1, "")
    assert f"  {screen.UNANSWERED}\n    tried f(x, positions): {words}\n" in out


def test_code_for_other_arrays_is_told_which_framework_to_add(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "tensors.py"
    path.write_text("def rope(x, positions):\n    return x.unsqueeze(0)\n")

    status, _, err = command(capsys, f"{path}:rope")

    assert status == 2
    assert err.endswith(": arrays of numpy were given; add --framework torch if it takes those of torch\n")


def test_a_file_named_after_a_library_is_no_sign_of_its_arrays(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "torch_code.py"
    path.write_text("def rope(x, positions):\n    raise ValueError\n")

    status, _, err = command(capsys, f"{path}:rope")

    assert status == 2
    assert "--framework" not in err


def test_a_function_that_returns_nothing_is_told_to_be_wrapped_where_it_writes_over_its_input(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    pytest.importorskip("torch")
    path = tmp_path / "in_place.py"
    path.write_text("import torch\n\n\ndef rope(x, positions):\n    x.mul_(positions[0])\n")

    status, _, err = command(capsys, f"{path}:rope")

    assert status == 2
    assert err.endswith("got None: is there a return? If it writes over its input, wrap it in a function that returns that\n")


def test_a_library_that_only_the_function_imports_is_seen() -> None:
    namespace: dict[str, Any] = {}
    exec("def rope(x):\n    import torch\n    return torch.cos(x)", namespace)  # noqa: S102  a function of another module

    assert inside.guessed(namespace["rope"]) == "torch"
    assert inside.guessed(identify_functions.rope) == "numpy"


NAMING = "import numpy as np\nimport torch\n\ndef own(x, positions):\n    {}\n\ndef helper(x):\n    return {}\n"


@pytest.mark.parametrize(
    ("body", "helper", "library"),
    [
        ("return np.cos(x)", "torch.cos(x)", "numpy"),
        ("return torch.cos(x)", "np.cos(x)", "torch"),
        ("return torch.from_numpy(np.cos(x))", "x", "torch"),
        ("return helper(x)", "np.cos(x)", "numpy"),
        ("return [np.cos(each) for each in x]", "torch.cos(x)", "numpy"),
        ("return x", "np.cos(x)", "torch"),
    ],
)
def test_the_library_that_a_function_names_goes_before_those_of_its_file(body: str, helper: str, library: str) -> None:
    pytest.importorskip("torch")
    namespace: dict[str, Any] = {}
    exec(NAMING.format(body, helper), namespace)  # noqa: S102  a function of another module

    assert inside.guessed(namespace["own"]) == library


@pytest.mark.parametrize(
    ("body", "asked", "library"),
    [
        ("return x.astype(np.float32)", "torch", "numpy"),
        ("raise TypeError(\"unsupported operand type(s) for *: 'Tensor' and 'jaxlib._jax.ArrayImpl'\")", "torch", "jax"),
        ("return x.unsqueeze(0)", "numpy", "torch"),
    ],
)
def test_code_that_gets_arrays_of_another_library_than_its_own_is_told_which_to_ask_for(
    body: str, asked: str, library: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    pytest.importorskip("torch")
    (tmp_path / "mixed.py").write_text(f"import numpy as np\nimport torch\n\ndef rope(x, positions):\n    {body}\n")

    status, _, err = command(capsys, f"{tmp_path / 'mixed.py'}:rope", "--framework", asked)

    assert status == 2
    assert err.endswith(f": arrays of {asked} were given; add --framework {library} if it takes those of {library}\n")


def test_functions_of_an_adapter_are_compared_with_what_it_declares(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = """
        from conformance import Adapter
        from identify_functions import rope
        adapter = Adapter("wrong")
        adapter.implements("rope.rotate", layout="interleaved", base=500_000.0)(lambda x, positions, **_: rope(x, positions))
        """
    (tmp_path / "identify_functions.py").write_bytes(FILE.read_bytes())
    (tmp_path / "wrong.py").write_text(textwrap.dedent(text), encoding="utf-8")

    status, out, _ = command(capsys, str(tmp_path / "wrong.py"))

    assert status == 1
    assert "declared with another value of layout" in out
    assert '@adapter.implements("rope.rotate", base=500000.0, layout="half", direction="positive", rows="shared")' in " ".join(out.split())


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("rope", {"rows": "shared"}),
        ("tokens_before_heads", {"positions": "from_zero"}),
        ("from_an_offset", {"positions": "consecutive"}),
        ("first_rows", {"positions": "from_zero", "highest": 4095}),
        ("short_table", {"rows": "shared", "lowest": 0, "highest": 4095}),
        ("refuses_negatives", {"rows": "shared", "lowest": 0, "highest": 4095}),
        ("apply", {"rows": "shared"}),
        ("alibi", {"positions": "from_zero"}),
        ("bias", {"positions": "from_zero", "queries": "at_end"}),
        ("alibi_with_mask", {"positions": "from_zero", "masked": True}),
        ("rows_of_the_length_before", {"positions": "whole", "lowest": 0}),
        ("looked_up_on_axes", {"positions": "whole", "rows": "shared", "lowest": 0, "highest": 4095}),
        ("moved_at_each_restart", {"rows": "shared"}),
        ("moved_by_two", {}),
    ],
)
def test_what_a_function_refuses_is_declared(name: str, said: dict[str, Any]) -> None:
    identity = identity_of(identify_functions, name)

    assert takes(identity).said() == said


def test_rows_of_positions_that_are_taken_and_turned_wrongly_are_declared_by_nothing() -> None:
    declaration = told("first_row_for_all").declaration()

    assert declaration is not None
    assert "rows=" not in declaration


LEAVING = """
import numpy as np
from conformance import Adapter
from refimpl.schemes import alibi, binary, rope

adapter = Adapter("leaving")

@adapter.implements("binary.encode")
def encode(positions, *, bits):
    np.cos = np.sin
    return binary.encode(positions, bits=bits)

@adapter.implements("rope.frequencies")
def frequencies(*, head_dim, base):
    if np.cos is np.sin:
        raise ValueError("the cosine is gone")
    return rope.frequencies(head_dim=head_dim, base=base, like=np.empty(0))
"""


def test_what_one_function_leaves_is_told_of_it_and_the_next_is_asked_in_a_fresh_process(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "leaving.py"
    path.write_text(LEAVING, encoding="utf-8")

    assert main(["identify", str(path), "--json"]) == 0
    first, second = json.loads(capsys.readouterr().out)

    assert first["left"] == ["changes global state: names of NumPy (numpy.cos)"]
    assert (second["left"], second["operation"]) == ([], "rope.frequencies")
