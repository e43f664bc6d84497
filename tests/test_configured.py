"""Functions that read a configuration are judged by it: for each kind of layers, as the operation that these compute."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from conformance import run
from conformance.adapt.configured import ConfigurationError, loaded
from conformance.calls.outcomes import Advisory, Report
from conformance.calls.status import Status
from conformance.cli import main
from conformance.isolate.targets import TargetError, configured
from conformance.reports.files import write
from conformance.reports.lines import read
from conformance.show.report import text

LLAMA = {"low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}
BASIC = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "max_position_embeddings": 131072}
STRETCHED = {**BASIC, "rope_theta": 500000.0, "rope_scaling": {"rope_type": "llama3", "factor": 8.0, **LLAMA}}
LINEAR = {**BASIC, "rope_theta": 1e6, "partial_rotary_factor": 0.5, "rope_scaling": {"type": "linear", "factor": 4.0}}
PHI: dict[str, Any] = {
    **BASIC,
    "model_type": "phi3",
    "partial_rotary_factor": 0.75,
    "rope_theta": 10000.0,
    "original_max_position_embeddings": 4096,
    "rope_scaling": {"type": "longrope", "short_factor": [1.0, 1, 1, 1, 1, 1], "long_factor": [1.0, 1.5, 2, 3, 5, 9]},
}
DYNAMIC = {**BASIC, "max_position_embeddings": 512, "rope_theta": 1e4, "rope_scaling": {"type": "dynamic", "factor": 8.0}}
PROPORTIONAL = {**BASIC, "rope_theta": 1e4, "rope_scaling": {"rope_type": "proportional", "partial_rotary_factor": 0.5}}
GEMMA = {
    **BASIC,
    "model_type": "gemma3_text",
    "head_dim": 16,
    "num_hidden_layers": 6,
    "rope_theta": 1e6,
    "rope_local_base_freq": 10000.0,
    "rope_scaling": {"rope_type": "linear", "factor": 8.0},
    "layer_types": ["sliding_attention"] * 5 + ["full_attention"],
}
#: Right for plain, linear and Llama 3's scaling, in the half layout, with channels that don't turn.
READER = """
import numpy as np
from posenc import Adapter

adapter = Adapter("mine")


def frequencies(configuration, base):
    c = configuration
    width = int((c.get("head_dim") or c["hidden_size"] // c["num_attention_heads"]) * c.get("partial_rotary_factor", 1))
    plain, scaling = base ** (-np.arange(0, width, 2) / width), c["rope_scaling"]
    if scaling.get("type", scaling.get("rope_type")) == "linear":
        return plain / scaling["factor"]
    turns = scaling["original_max_position_embeddings"] * plain / (2 * np.pi)
    low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
    kept = np.clip((turns - low) / (high - low), 0, 1)
    return plain * (kept + (1 - kept) / scaling["factor"])


def turned(x, positions, f, size=1.0):
    return by_angles(x, positions[..., None] * np.asarray(f, dtype=np.float64), size)


def by_angles(x, angles, size=1.0):
    angles = angles if angles.ndim == 2 else angles[:, None]
    cos, sin, n = size * np.cos(angles), size * np.sin(angles), angles.shape[-1]
    a, b, rest = x[..., :n], x[..., n : 2 * n], x[..., 2 * n :]
    return np.concatenate([a * cos - b * sin, a * sin + b * cos, rest], axis=-1).astype(x.dtype)
"""
ROTATE = """

@adapter.implements("config.rotate")
def rotate(x, positions, *, configuration):
    return turned(x, positions, frequencies(configuration, configuration["rope_theta"]))
"""
BY_LAYER = """

@adapter.implements("config.rotate")
def rotate(x, positions, *, configuration, layer):
    full = configuration["layer_types"][layer] == "full_attention"
    local = {**configuration, "rope_scaling": {"type": "linear", "factor": 1.0}}
    return turned(x, positions, frequencies(*((configuration, configuration["rope_theta"]) if full else (local, 10000.0))))
"""
BY_LENGTH = """

@adapter.implements("config.frequencies")
def chosen(*, configuration, length):
    scaling = configuration["rope_scaling"]
    long = length > configuration["original_max_position_embeddings"]
    factors = np.array(scaling["long_factor" if long else "short_factor"], dtype=np.float64)
    width = 2 * len(factors)
    return (configuration["rope_theta"] ** (-np.arange(0, width, 2) / width) / factors).astype(np.float32)


@adapter.implements("config.attention_factor")
def factor(*, configuration):
    trained = configuration["original_max_position_embeddings"]
    return (1 + np.log(configuration["max_position_embeddings"] / trained) / np.log(trained)) ** 0.5


@adapter.implements("config.rotate")
def rotate(x, positions, *, configuration, length):
    f = chosen(configuration=configuration, length=length).astype(np.float64)
    return turned(x, positions, f, factor(configuration=configuration))
"""
BY_STRETCH = """

@adapter.implements("config.rotate")
def rotate(x, positions, *, configuration, length):
    factor, trained, width = configuration["rope_scaling"]["factor"], configuration["max_position_embeddings"], 16
    stretch = factor * max(length, trained) / trained - (factor - 1)
    base = configuration["rope_theta"] * stretch ** (width / (width - 2))
    return turned(x, positions, base ** (-np.arange(0, width, 2) / width))
"""
BY_SHARE = """

@adapter.implements("config.rotate")
def rotate(x, positions, *, configuration):
    pairs = int(16 * configuration["rope_scaling"]["partial_rotary_factor"] // 2)
    every = configuration["rope_theta"] ** (-np.arange(0, 16, 2) / 16)
    return turned(x, positions, np.where(np.arange(8) < pairs, every, 0.0))
"""


def declared(declaration: str) -> str:
    return ROTATE.replace('"config.rotate"', f'"config.rotate", {declaration}')


def judged(folder: Path, code: str, configuration: Mapping[str, Any]) -> Report:
    (folder / "mine.py").write_text(READER + code)
    (folder / "config.json").write_text(json.dumps(configuration))
    return run.check(f"config:{folder / 'config.json'}:{folder / 'mine.py'}", level="smoke", seed=0)


@pytest.mark.parametrize(
    ("code", "configuration", "operations"),
    [
        (ROTATE, STRETCHED, {"llama3.rotate"}),
        (ROTATE, LINEAR, {"position_interpolation.rotate"}),
        (BY_LAYER, GEMMA, {"position_interpolation.rotate", "rope.rotate"}),
        (BY_LENGTH, PHI, {"longrope.rotate", "longrope.frequencies", "longrope.attention_factor"}),
        (BY_STRETCH, DYNAMIC, {"dynamic_ntk.rotate"}),
        (BY_SHARE, PROPORTIONAL, {"proportional_rope.rotate"}),
    ],
)
def test_code_that_reads_a_configuration_rightly_conforms(
    tmp_path: Path, code: str, configuration: Mapping[str, Any], operations: set[str]
) -> None:
    report = judged(tmp_path, code, configuration)
    assert report.status is Status.CONFORMS
    assert {each.operation for each in report.evidence} == operations


@pytest.mark.parametrize(
    ("code", "configuration", "operation"),
    [
        (ROTATE.replace('configuration["rope_theta"]', "10000.0"), STRETCHED, "llama3.rotate"),
        (ROTATE.replace("frequencies(configuration,", "frequencies({**configuration, 'partial_rotary_factor': 1},"), LINEAR, None),
        (BY_LAYER.replace("else (local, 10000.0)", "else (local, 1000000.0)"), GEMMA, "rope.rotate"),
        (BY_LAYER.replace("else (local, 10000.0)", "else (configuration, 10000.0)"), GEMMA, "rope.rotate"),
        (BY_LAYER.replace('configuration["layer_types"][layer] == "full_attention"', "layer > 2"), GEMMA, "rope.rotate"),
        (BY_LENGTH.replace("if long else", "if False else"), PHI, "longrope.frequencies"),
        (BY_STRETCH.replace("max(length, trained)", "trained"), DYNAMIC, "dynamic_ntk.rotate"),
        (BY_STRETCH.replace("max(length, trained)", "factor * trained"), DYNAMIC, "dynamic_ntk.rotate"),
        (BY_SHARE.replace("(-np.arange(0, 16, 2) / 16)", "(-np.arange(0, 16, 2) / 8)"), PROPORTIONAL, "proportional_rope.rotate"),
        (BY_SHARE.replace("np.where(np.arange(8) < pairs, every, 0.0)", "every"), PROPORTIONAL, "proportional_rope.rotate"),
    ],
)
@pytest.mark.usefixtures("unshrunk")
def test_code_that_misreads_a_configuration_is_convicted(
    tmp_path: Path, code: str, configuration: Mapping[str, Any], operation: str | None
) -> None:
    report = judged(tmp_path, code, configuration)
    convicted = {result.operation for result in report.results if result.convicts}
    assert report.status is Status.DIFFERS
    assert operation is None or operation in convicted


#: Both functions take the layer, and keep what they compute under a key, for layers of both kinds.
KEEPING = """
KEPT = {}


def of_layer(configuration, layer):
    full = configuration["layer_types"][layer] == "full_attention"
    local = {**configuration, "rope_scaling": {"type": "linear", "factor": 1.0}}
    return full, lambda: frequencies(*((configuration, configuration["rope_theta"]) if full else (local, 10000.0)))


def kept(key, compute):
    if key not in KEPT:
        KEPT[key] = compute()
    return KEPT[key]
"""
KEPT_ANGLES = """

@adapter.implements("config.rotate")
def rotate(x, positions, *, configuration, layer):
    full, f = of_layer(configuration, layer)
    angles = kept((positions.shape, positions.tobytes(), full), lambda: positions[..., None] * f())
    return by_angles(x, angles)
"""
KEPT_FREQUENCIES = """

@adapter.implements("config.frequencies")
def chosen(*, configuration, layer):
    full, f = of_layer(configuration, layer)
    return kept(("frequencies", full), f).astype(np.float32)
"""


@pytest.mark.parametrize("code", [KEPT_ANGLES, KEPT_FREQUENCIES])
def test_a_cache_that_both_kinds_of_layers_share_is_convicted_and_named(tmp_path: Path, code: str) -> None:
    report = judged(tmp_path, KEEPING + code.replace(", full)", ")"), GEMMA)
    history = [result for result in report.results if result.check == "history independence" and result.convicts]

    assert report.status is Status.DIFFERS
    assert any(f"{result.operation}/shared-by-kinds" in text(report) for result in history)
    assert any("of another implementation, mine, " in getattr(result.outcome, "message", "") for result in history)


def test_a_cache_that_is_keyed_by_the_kind_of_layers_conforms(tmp_path: Path) -> None:
    assert judged(tmp_path, KEEPING + KEPT_ANGLES + KEPT_FREQUENCIES, GEMMA).status is Status.CONFORMS


def test_a_table_as_long_as_the_configuration_says_conforms_although_the_factor_reaches_further(tmp_path: Path) -> None:
    bound = 'positions.max(initial=0) < configuration["max_position_embeddings"]'
    table = ROTATE.replace("    return", f"    assert {bound}\n    return")
    report = judged(tmp_path, table, {**STRETCHED, "rope_scaling": {"rope_type": "llama3", "factor": 32.0, **LLAMA}})
    assert report.status is Status.CONFORMS


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ('configuration["rope_scaling"]["factor"] *= 2', Status.DIFFERS),
        ('configuration.setdefault("head_dim", 16)', Status.CONFORMS),
    ],
)
def test_a_call_that_changes_the_configuration_is_convicted_where_later_calls_read_it(tmp_path: Path, change: str, status: Status) -> None:
    code = ROTATE.replace("    return", "    y =") + f"    {change}\n    return y\n"
    report = judged(tmp_path, code, STRETCHED)
    assert report.status is status
    changed = "rope_scaling.factor" if status is Status.DIFFERS else "head_dim"
    said = f"changes the configuration that it is given, which layers share: {changed}"
    assert said in {result.outcome.message for result in report.results if isinstance(result.outcome, Advisory)}


LATER = BY_LAYER.replace('configuration["layer_types"][layer] == "full_attention"', "layer > 2")
WITHOUT_ARRAYS = """

@adapter.implements("config.frequencies")
def chosen(*, configuration, layer):
    full = FULL
    return 1e6 ** (-np.arange(0, 16, 2) / 16) / 8 if full else 10000.0 ** (-np.arange(0, 16, 2) / 16)
"""


@pytest.mark.parametrize("where", ["x.shape[-2] > 3", "positions.size == 1"])
def test_no_layer_is_blamed_for_what_depends_on_the_sizes_by_which_layers_take_turns(tmp_path: Path, where: str) -> None:
    code = BY_LAYER.replace("    return", f"    positions = positions + ({where})\n    return")
    told = [(found.does, *found.description) for found in judged(tmp_path, code, GEMMA).diagnoses.values()]
    assert told
    assert "only in layer" not in str(told)


def test_the_layers_that_alone_are_wrong_are_told(tmp_path: Path) -> None:
    (found,) = judged(tmp_path, LATER, GEMMA).diagnoses.values()
    assert found.mutants == ("rope.rotate/as=full_attention",)
    assert "only in layers 3, 4 (counted from 0), not in 1, 2" in found.does


def test_no_layers_are_told_where_all_of_a_kind_are_wrong(tmp_path: Path) -> None:
    (found,) = judged(tmp_path, BY_LAYER.replace("else (local, 10000.0)", "else (local, 1000000.0)"), GEMMA).diagnoses.values()
    assert "layer" not in "; ".join((found.does, *found.description))


@pytest.mark.parametrize(("full", "wrong"), [("layer > 3", ", layer 4"), ("layer in (0, 5)", ""), ("layer in (2, 5)", ", layer 2")])
def test_a_later_layer_is_convicted_by_what_takes_no_arrays_and_named(tmp_path: Path, full: str, wrong: str) -> None:
    report = judged(tmp_path, WITHOUT_ARRAYS.replace("FULL", full), GEMMA)
    assert {result.implementation for result in report.results if result.convicts} == {f"mine, sliding_attention{wrong}"}


def test_layers_are_asked_one_by_one_only_where_code_is_told_which(tmp_path: Path) -> None:
    right = judged(tmp_path, WITHOUT_ARRAYS.replace("FULL", "layer == 5"), GEMMA)
    sliding = {**GEMMA, "layer_types": ["sliding_attention"] * 6}
    untold = judged(tmp_path, WITHOUT_ARRAYS.replace(", layer)", ")").replace("FULL", "False"), sliding)
    assert [len({result.implementation for result in report.results}) for report in (right, untold)] == [5, 1]
    assert right.status is untold.status is Status.CONFORMS


def test_only_the_wrong_kind_of_layers_is_convicted(tmp_path: Path) -> None:
    report = judged(tmp_path, BY_LAYER.replace("else (local, 10000.0)", "else (local, 1000000.0)"), GEMMA)
    assert {result.implementation for result in report.results if result.convicts} == {"mine, sliding_attention"}


def test_channels_that_must_not_turn_convict_where_they_change(tmp_path: Path) -> None:
    changed = ROTATE.replace("return turned(", "return changed(turned(").replace('"]))', '"])))')
    report = judged(tmp_path, changed + "\n\ndef changed(y):\n    y[..., -1] += 1\n    return y\n", LINEAR)
    assert report.status is Status.DIFFERS
    assert all("channels that don't turn" in str(result.outcome) for result in report.results if result.convicts)


@pytest.mark.parametrize(
    "change",
    [
        "y[..., 8:] = y[..., 8:][..., ::-1].copy()",
        "y[..., 8:] = y[:, ::-1, :, 8:].copy()",
        "y[..., 8:] = y[:, :, ::-1, 8:].copy()",
    ],
    ids=["channels", "heads", "tokens"],
)
def test_channels_that_must_not_turn_convict_where_they_change_places(tmp_path: Path, change: str) -> None:
    changed = ROTATE.replace("return turned(", "return changed(turned(").replace('"]))', '"])))')
    report = judged(tmp_path, changed + f"\n\ndef changed(y):\n    {change}\n    return y\n", LINEAR)
    assert report.status is Status.DIFFERS


GIVEN = f"""{BY_LENGTH.partition('@adapter.implements("config.attention_factor")')[0]}
def given(scaling, long):
    return scaling.get("attention_factor") or scaling["long_mscale" if long else "short_mscale"]


@adapter.implements("config.attention_factor")
def factor(*, configuration, length):
    return given(configuration["rope_scaling"], length > configuration["original_max_position_embeddings"])


@adapter.implements("config.rotate")
def rotate(x, positions, *, configuration, length):
    f = chosen(configuration=configuration, length=length).astype(np.float64)
    return turned(x, positions, f, factor(configuration=configuration, length=length))
"""
ONE, TWO = ({**PHI, "rope_scaling": {**PHI["rope_scaling"], **keys}} for keys in (
    {"attention_factor": 1.25}, {"short_mscale": 1.25, "long_mscale": 1.5},
))  # fmt: skip


@pytest.mark.parametrize("configuration", [ONE, TWO], ids=["one factor", "two factors"])
def test_code_that_multiplies_by_what_is_given_beside_two_lists_conforms(tmp_path: Path, configuration: Mapping[str, Any]) -> None:
    report = judged(tmp_path, GIVEN, configuration)
    assert report.status is Status.CONFORMS
    assert {each.operation for each in report.evidence} == {"longrope.rotate", "longrope.frequencies", "longrope.attention_factor"}


@pytest.mark.parametrize(
    ("wrong", "configuration", "mistake"),
    [
        ("(1 + np.log(131072 / 4096) / np.log(4096)) ** 0.5", ONE, "given-ignored"),
        ("scaling['attention_factor'] * (1 + np.log(131072 / 4096) / np.log(4096)) ** 0.5", ONE, "given-multiplied"),
        ("scaling['short_mscale' if long else 'long_mscale']", TWO, "mscales-swapped"),
        ("scaling['long_mscale']", TWO, "long-mscale-always"),
        ("scaling['short_mscale']", TWO, "short-mscale-always"),
    ],
)
@pytest.mark.usefixtures("unshrunk")
def test_code_that_misreads_what_is_given_beside_two_lists_is_convicted_of_it(
    tmp_path: Path, wrong: str, configuration: Mapping[str, Any], mistake: str
) -> None:
    code = GIVEN.replace('scaling.get("attention_factor") or scaling["long_mscale" if long else "short_mscale"]', wrong)
    report = judged(tmp_path, code, configuration)
    named = {name for found in report.diagnoses.values() for name in found.mutants}
    assert report.status is Status.DIFFERS
    assert {f"longrope.attention_factor/{mistake}", f"longrope.rotate/{mistake}"} <= named


def test_what_posenc_has_no_operation_for_gets_no_verdict(tmp_path: Path) -> None:
    report = judged(tmp_path, ROTATE, {**BASIC, "rope_theta": 1e4, "rope_scaling": {"type": "yarn_log", "factor": 2.0}})
    assert report.status is Status.NOT_JUDGED
    assert any("posenc has no operation for it yet" in str(result.outcome) for result in report.results)


def test_kinds_of_which_no_key_says_the_layers_get_no_verdict(tmp_path: Path) -> None:
    bases = {name: {"rope_type": "default", "rope_theta": base} for name, base in (("full_attention", 5e5), ("sliding_attention", 1e4))}
    report = judged(tmp_path, ROTATE, {**BASIC, "model_type": "mellum", "rope_parameters": bases})
    assert report.status is Status.NOT_JUDGED
    assert any("must say which layers are of the kind sliding_attention" in str(result.outcome) for result in report.results)


RESTING = {**STRETCHED, "model_type": "smollm3", "num_hidden_layers": 4, "no_rope_layer_interval": 4}
BY_SWITCH = """

@adapter.implements("config.rotate")
def rotate(x, positions, *, configuration, layer):
    rests = (layer + 1) % configuration["no_rope_layer_interval"] == 0
    return x if rests else turned(x, positions, frequencies(configuration, configuration["rope_theta"]))
"""
STAYING = """

@adapter.implements("config.rotate")
def rotate(x, positions):
    return x
"""
NUMBERS = """

@adapter.implements("config.frequencies")
def numbers(*, configuration):
    return frequencies(configuration, configuration["rope_theta"])
"""


def test_layers_without_rotation_are_judged_as_layers_that_leave_vectors_alone(tmp_path: Path) -> None:
    report = judged(tmp_path, BY_SWITCH, RESTING)
    assert report.status is Status.CONFORMS
    assert {each.operation for each in report.results if "without rotation" in each.implementation} == {"none.rotate"}


def test_code_that_turns_layers_without_rotation_is_convicted_of_that(tmp_path: Path) -> None:
    code = BY_SWITCH.replace("x if rests else", "turned(x, positions, frequencies(configuration, 12345.0)) if rests else")
    report = judged(tmp_path, code, RESTING)
    assert {each.operation for each in report.results if each.convicts} == {"none.rotate"}
    assert "every pair keeps its length" in " ".join(text(report).split())
    assert "pairs lie half a head apart" in " ".join(text(report).split())


def test_the_base_by_which_code_turns_layers_without_rotation_is_told(tmp_path: Path) -> None:
    code = BY_SWITCH.replace("x if rests else", "turned(x, positions, 5e6 ** (-np.arange(0, 16, 2) / 16)) if rests else")
    (told,) = judged(tmp_path, code, RESTING).diagnoses.values()
    assert told.mutants == ("none.rotate/turned,base=5000000",)
    assert "channels half a head apart" in told.does


MULTIMODAL: dict[str, Any] = {
    **BASIC,
    "head_dim": 12,
    "model_type": "qwen3_vl_text",
    "rope_theta": 1e6,
    "rope_scaling": {"rope_type": "default", "mrope_section": [2, 2, 2], "mrope_interleaved": True},
}
ON_AXES = """

@adapter.implements("config.rotate_on_axes")
def on_axes(x, positions, *, configuration):
    sections = configuration["rope_scaling"]["mrope_section"]
    width = 2 * sum(sections)
    followed = FOLLOWED
    angles = positions[..., followed] * 1e6 ** (-np.arange(0, width, 2) / width)
    angles = angles if angles.ndim == 2 else angles[:, None]
    cos, sin = np.cos(angles), np.sin(angles)
    a, b, rest = x[..., : width // 2], x[..., width // 2 : width], x[..., width:]
    return np.concatenate([a * cos - b * sin, a * sin + b * cos, rest], axis=-1).astype(x.dtype)
"""


def test_code_for_positions_with_axes_is_judged_as_multimodal_rope(tmp_path: Path) -> None:
    right = ON_AXES.replace("FOLLOWED", "np.arange(width // 2) % 3")
    report = judged(tmp_path, right, MULTIMODAL)
    assert report.status is Status.CONFORMS
    assert {each.operation for each in report.evidence} == {"mrope.rotate"}


def test_code_that_takes_sections_for_blocks_is_told_which_order_it_computes(tmp_path: Path) -> None:
    wrong = ON_AXES.replace("FOLLOWED", "np.repeat(np.arange(3), sections)")
    report = judged(tmp_path, wrong, {**MULTIMODAL, "rope_scaling": {**MULTIMODAL["rope_scaling"], "mrope_section": [3, 2, 1]}})
    assert report.status is Status.DIFFERS
    (told,) = report.diagnoses.values()
    assert told.mutants == ("mrope.rotate/order=contiguous",)
    assert told.should == "compute the order that the configuration says"
    assert told.fix == "read the order off the configuration"


def test_the_layout_that_code_computes_may_be_declared_of_its_function_of_a_configuration(tmp_path: Path) -> None:
    wrong = ON_AXES.replace("FOLLOWED", "np.arange(width // 2) % 3").replace('on_axes"', 'on_axes", layout="interleaved"')
    (told,) = judged(tmp_path, wrong, MULTIMODAL).diagnoses.values()
    assert told.fix.startswith('declare layout="half" in implements("config.rotate_on_axes", layout="half")')


def test_a_length_is_offered_where_something_depends_on_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert [main(["show", name]) for name in ("config.rotate_on_axes", "config.rotate")] == [0, 0]
    on_axes, plain = capsys.readouterr().out.split("\nconfig.rotate\n")
    assert "  length:" in plain
    assert "  length:" not in on_axes
    assert all(f"  {operation}" in on_axes for operation in ("mrope.rotate", "axial_rope.rotate"))
    assert main(["show", "config.attention_factor"]) == 0
    assert "  length: how long the sequence is" in capsys.readouterr().out


IMAGES = """
import numpy as np

from posenc import Adapter

adapter = Adapter("patches")


@adapter.implements("{operation}")
def rotate(x, positions, *, configuration, layer):
    places = positions if positions.ndim == 3 else positions[None]
    width = x.shape[-1] // 2
    frequencies = 10_000.0 ** (-2 * np.arange(width // 2) / width)
    angles = np.concatenate([places[..., axis, None] * frequencies for axis in {axes}], axis=-1)[:, None]
    first, second = x[..., :width], x[..., width:]
    cos, sin = np.cos(angles), np.sin(angles)
    return np.concatenate([first * cos - second * sin, first * sin + second * cos], axis=-1).astype(x.dtype)
"""


@pytest.mark.parametrize(
    ("operation", "axes", "status", "said"),
    [
        ("config.rotate_on_axes", "(0, 1)", 0, "patches conforms"),
        ("config.rotate_on_axes", "(1, 0)", 1, "axial_rope.rotate/axes-exchanged"),
        ("config.rotate", "(0, 1)", 2, "got places in an image, for which there is config.rotate_on_axes"),
    ],
)
def test_patches_of_an_image_are_judged_by_the_configuration_of_their_encoder(
    operation: str, axes: str, status: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, config = tmp_path / "patches.py", tmp_path / "config.json"
    path.write_text(IMAGES.replace("{operation}", operation).replace("{axes}", axes), encoding="utf-8")
    config.write_text(json.dumps({"model_type": "qwen2_vl_vision", "embed_dim": 32, "hidden_size": 64, "num_heads": 2}), encoding="utf-8")

    assert main(["check", str(path), "--config", str(config), "--level", "smoke", "--seed", "0"]) == status
    told = capsys.readouterr()
    assert said.replace("patches conforms", "patches.py conforms") in " ".join((told.out + told.err).split())


def test_where_nothing_turns_vectors_must_stay_and_there_are_no_frequencies(tmp_path: Path) -> None:
    nothing = {**BASIC, "model_type": "nemotron_h"}
    assert judged(tmp_path, STAYING, nothing).status is Status.CONFORMS
    with pytest.raises(TargetError, match=r"must have layers that turn for config\.frequencies to be judged, got none"):
        judged(tmp_path, NUMBERS, nothing)


def test_a_check_and_its_reports_tell_the_warnings_of_the_configuration(tmp_path: Path) -> None:
    report = judged(tmp_path, ROTATE, {**STRETCHED, "rope_teta": 1.0})
    words = ("misspelt-key: rope_teta must be a key that is read (did you mean rope_theta?), got 1.0",)
    assert report.status is Status.CONFORMS
    assert report.warnings == words
    assert f"warning      {words[0][:40]}" in text(report)
    write([report], tmp_path / "report")
    assert all("rope" in name.read_text() and "teta" in name.read_text() for name in (tmp_path / "report").iterdir())
    assert [each.warnings for each in read(tmp_path / "report" / "record.jsonl")] == [words]


def test_a_check_tells_what_posenc_has_no_operation_for(tmp_path: Path) -> None:
    scaling = {"type": "linear", "factor": 4.0, "mrope_section": [2, 3, 3]}
    report = judged(tmp_path, ROTATE, {**BASIC, "model_type": "qwen2_vl", "rope_theta": 1e6, "rope_scaling": scaling})
    assert any("posenc has no operation for it yet" in words for words in report.warnings)


@pytest.mark.parametrize(
    ("code", "configuration", "message"),
    [
        (ROTATE, {**STRETCHED, "rope_scaling": {"rope_type": "lama3"}}, r"config.json: rope_scaling.rope_type must be .* got 'lama3'"),
        (ROTATE.replace("configuration):", "config):"), STRETCHED, r"rotate \(mine.py:\d+\) must be a function of x, positions with the"),
        (ROTATE.replace("x, positions, *", "*"), STRETCHED, "must be a function of x, positions with the keywords"),
        (ROTATE.replace('"config.rotate"', '"config.turn"'), STRETCHED, "must offer one of config.rotate, .* got config.turn"),
        (ROTATE.replace('"config.rotate"', '"config.rotate", call="f(x, positions)"'), STRETCHED, "config.rotate must be called as it is"),
        (ROTATE, {**STRETCHED, "rope_scaling": {"rope_type": "default"}, "position_embedding_type": "alibi", "model_type": "x"}, "rope"),
        (declared('axes="batch token head channel"'), STRETCHED, "config.rotate: axes must be those"),
        (declared('tables="thrice"'), STRETCHED, "config.rotate: tables must be one of"),
        (declared('layot="half"'), STRETCHED, "must declare no parameter but .* got 'layot'"),
        (declared("base=10000.0"), STRETCHED, "the configuration says the others, got 'base'"),
    ],
)
def test_what_cannot_be_judged_by_a_configuration_says_why(
    tmp_path: Path, code: str, configuration: Mapping[str, Any], message: str
) -> None:
    with pytest.raises(TargetError, match=message):
        judged(tmp_path, code, configuration)


def test_without_a_configuration_the_command_is_told(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(READER + ROTATE)
    with pytest.raises(TargetError, match=r"must be judged by a configuration, `posenc check \S*mine.py --config CONFIG.json`, got none"):
        run.check(str(tmp_path / "mine.py"))


def test_a_target_names_its_configuration() -> None:
    assert configured("config:a.json:b.py:c") == (Path("a.json"), "b.py:c")
    assert configured("b.py") == (None, "b.py")


def test_a_key_that_stands_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text('{"rope_theta": 1, "rope_theta": 2}')
    with pytest.raises(ConfigurationError, match="every key must stand once, got 'rope_theta' twice"):
        loaded(path)


def test_a_function_of_a_configuration_is_picked_by_the_name_that_it_is_offered_by(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(READER + ROTATE)
    (tmp_path / "config.json").write_text(json.dumps(STRETCHED))
    target = f"config:{tmp_path / 'config.json'}:{tmp_path / 'mine.py'}"
    picked = run.check(target, level="smoke", seed=0, operations=["config.rotate"])
    other = run.check(target, level="smoke", seed=0, operations=["config.frequencies"])
    assert (picked.status, {result.operation for result in picked.results}) == (Status.CONFORMS, {"llama3.rotate"})
    assert (other.status, other.warnings) == (Status.NOTHING_RAN, ("config.frequencies isn't offered; what is: llama3.rotate",))


@pytest.mark.parametrize("selected", [{"operations": ["rope.rotate"]}, {"schemes": ["rope"]}, {"cases": ["rope.rotate/far"]}])
def test_what_a_target_does_not_offer_is_told_with_what_it_offers(tmp_path: Path, selected: Mapping[str, Any]) -> None:
    (tmp_path / "mine.py").write_text(
        "from posenc import Adapter\nadapter = Adapter('mine')\nadapter.implements('binary.encode', lambda positions, *, bits: positions)\n"
    )
    report = run.check(str(tmp_path / "mine.py"), level="smoke", seed=0, **selected)
    name = next(iter(selected.values()))[0].partition("/")[0]
    assert report.status is Status.NOTHING_RAN
    assert f"warning      {name} isn't offered; what is: binary.encode" in text(report)


def test_functions_of_a_configuration_are_listed_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("config.rotate", "config.frequencies", "config.attention_factor"):
        assert main(["show", name]) == 0
        shown = capsys.readouterr().out
        assert all(f"  {word}:" in shown for word in ("configuration", "layer"))
        assert f"llama3.{name.partition('.')[2]}" in shown or name == "config.attention_factor"
        assert main(["list"]) == 0
        assert f"  {name}\n" in capsys.readouterr().out


MIDDLE = """
import numpy as np

from posenc import Adapter

adapter = Adapter("patches")


@adapter.implements("config.rotate_on_axes")
def rotate(x, positions, *, configuration):
    sides = np.array(configuration["image_size"]) // configuration["patch_size"]
    coordinates = (positions if positions.ndim == 3 else positions[None]) / {side}
    width = x.shape[-1] // 2
    angles = (2 * np.pi * coordinates[..., None] * 100.0 ** (-2 * np.arange(width // 2) / width)).reshape(*coordinates.shape[:2], width)
    cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
    first, second = x[..., :width], x[..., width:]
    return np.concatenate([first * cos - second * sin, first * sin + second * cos], axis=-1).astype(x.dtype)
"""


@pytest.mark.parametrize(("side", "mistakes"), [("sides", ()), ("sides.max()", ("axial_rope.rotate/longest-side-for-all",))])
def test_code_of_patches_that_count_from_the_middle_is_judged_inside_it(side: str, mistakes: tuple[str, ...], tmp_path: Path) -> None:
    dino = {"model_type": "dinov3_vit", "hidden_size": 96, "num_attention_heads": 2, "image_size": [80, 112], "patch_size": 16}

    report = judged(tmp_path, MIDDLE.replace("{side}", side), dino)

    (evidence,) = report.evidence
    assert [each.mutants for each in report.diagnoses.values()] == [mistakes] * bool(mistakes)
    assert evidence.covered["positions"] == "-6 to 6"
