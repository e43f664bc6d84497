"""Golden values of released models: files that hold what their configurations say, proven again by two other routes."""

import dataclasses
import json
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from few_vectors import few_vectors, seal
from second_route import members, mp, turned
from test_oracle_second_route_slowed import FREQUENCIES, grown

from conformance import run
from conformance.calls.outcomes import Passed
from conformance.calls.status import Status
from conformance.cli import main
from conformance.pictures import digest
from conformance.pictures import models as picture
from conformance.show import models as show
from conformance.show import terminal
from conformance.spec.vector_cases import Layers
from conformance.spec.vectors import Model, Vector, VectorError, load_models, vectors_directory, verify
from refimpl import configuration as config
from refimpl.configuration import words
from refimpl.configuration.computing import scale_of
from tools.generate import mint
from tools.generate.models import published, slug
from tools.released import RELEASED

EXAMPLES = Path(__file__).parents[1] / "examples"
MODELS = load_models()
CASES = {case.id: case for model in MODELS for case in model.cases}
ENTRIES = {entry["id"]: entry for entry in RELEASED}
FILE, OTHER = "models/meta-llama-llama-3-1-8b-instruct.yaml", "models/meta-llama-llama-3-2-11b-vision-instruct.yaml"


def short(case: Vector) -> str:
    return case.operation.partition(".")[2]


def values(case: Vector) -> np.ndarray:
    return (case.expected or {})["result"]


def test_sixty_models_have_golden_values_in_forty_kilobytes_each() -> None:
    files = list((vectors_directory() / "models").iterdir())

    assert len(MODELS) == len(files) >= 60
    assert sum(path.stat().st_size for path in files) < 40_000 * len(files)


def test_every_model_whose_layers_turn_by_an_operation_of_ours_has_a_file() -> None:
    turning = {name for name, entry in ENTRIES.items() if any(turns(kind) for kind in config.read(published(entry)).kinds)}

    assert {model.name for model in MODELS} == turning


def turns(kind: config.Kind) -> bool:
    """Whether layers turn by an operation of ours."""
    return kind.rotation is not None and not kind.rotation.missing


def test_the_bytes_are_fresh() -> None:
    for name, text in mint.texts(["models"], processes=1).items():
        assert (vectors_directory() / name).read_text(encoding="utf-8") == text, name


def test_a_fact_is_said_once() -> None:
    told = [(case.operation, dict(case.parameters), but_for_x(case)) for case in CASES.values()]

    assert all(each not in told[:place] for place, each in enumerate(told))


def but_for_x(case: Vector) -> dict[str, list[float]]:
    """Return the arrays that a configuration or a position settles."""
    return {name: array.tolist() for name, array in case.inputs.items() if name != "x"}


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_a_model_holds_its_configuration_and_cases_of_each_kind_that_turns(model: Model) -> None:
    entry, reading = ENTRIES[model.name], config.read(model.configuration)

    assert model.configuration == published(entry)
    assert list(model.source) == (entry["source"] if isinstance(entry["source"], list) else [entry["source"]])
    assert [kind.name for kind in model.kinds] == [kind.name for kind in reading.kinds]
    for told, kind in zip(model.kinds, reading.kinds, strict=True):
        found = [short(CASES[identity]) for identity in told.cases]
        assert told.layers == kind.layers
        assert all(CASES[identity] in next(m for m in MODELS if slug(m.name) == stem).cases for identity, stem in told.cases.items())
        always = {"rotate"} if kind.rotation and kind.rotation.grid else {"frequencies", "rotate"}
        assert always <= {*found} if turns(kind) else {*found} <= {"scale"}
        assert bool({"scale", "log_scale"} & {*found}) == (kind.temperature is not None)


def kinds() -> list[Any]:
    """Return the kinds that have cases and of which the configuration says the layers."""
    found = [(model, told) for model in MODELS for told in model.kinds if told.cases and (told.layers or len(model.kinds) == 1)]
    return [pytest.param(model, told, id=f"{model.name}: {told.name}") for model, told in found]


@pytest.mark.parametrize(("model", "told"), kinds())
def test_what_the_configuration_gives_is_within_the_float64_allowance(model: Model, told: Layers) -> None:
    """The way in: from the mapping to a whole head, with the channels that don't turn."""
    for case in (CASES[identity] for identity in told.cases):
        layer, length = (told.layers or (0,))[0], case.parameters.get("length")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", config.ConfigurationWarning)
            if short(case) == "frequencies":
                got = config.frequencies(model.configuration, layer=layer, length=length, like=np.zeros(0))
            elif short(case) == "attention_factor":
                got = np.asarray(config.attention_factor(model.configuration, layer=layer, length=length))
            elif short(case) == "softmax_scale":
                got = np.asarray(scale_of(config.chosen(config.read(model.configuration), layer).rotation))
            elif short(case) in ("scale", "log_scale"):
                got = np.asarray(config.scale(model.configuration, case.inputs["positions"], layer=layer))
            else:
                got = read_and_turned(model.configuration, told, case, layer)
        radius = case.allowed["float64"]["result"]
        assert (np.abs(got - values(case)) <= radius + np.spacing(np.abs(values(case)) + radius) / 2).all()


def read_and_turned(configuration: Any, told: Layers, case: Vector, layer: int) -> np.ndarray:
    first, last = told.channels
    assert told.head_dim is not None
    x = case.inputs["x"]
    head = np.full((*x.shape[:-1], told.head_dim), 0.375)
    head[..., first : last + 1] = x
    by_length = partial(config.rotate, length=case.parameters.get("length"))
    rotate = config.rotate_on_axes if {"sections", "axes"} & {*case.parameters} else by_length
    got = np.asarray(rotate(configuration, head, case.inputs["positions"], layer=layer))
    passed = np.delete(got, range(first, last + 1), axis=-1)
    assert (passed == 0.375).all()
    return got[..., first : last + 1]


@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.id)
def test_a_golden_value_is_what_sixty_digits_and_complex_numbers_give(case: Vector) -> None:
    scheme, p = case.operation.partition(".")[0], case.parameters
    if short(case) == "attention_factor":
        found: Sequence[float] = [float(lengthened(p) if scheme == "longrope" else grown(**p))]
    elif short(case) == "softmax_scale":
        found = [float((mp.log(p["factor"]) * p["mscale_all_dim"] / 10 + 1) ** 2 / mp.sqrt(p["qk_head_dim"]))]
    elif short(case) == "scale":
        steps = [(position + p["shift"]) // p["floor_scale"] for position in case.inputs["positions"].tolist()]
        found = [float(1 + mp.mpf(p["attn_scale"]) * mp.log(1 + step)) for step in steps]
    elif short(case) == "log_scale":
        logarithms = [mp.log(position + 1, p["original_length"]) for position in case.inputs["positions"].tolist()]
        found = [float(max(mp.mpf(1), each)) for each in logarithms]
    elif short(case) == "frequencies":
        found = [float(theta) for theta in thetas_of(case, scheme)]
    elif scheme == "axial_rope":
        found = products_of_members(case) if p["ladder"] == "tiled" else products_of_patches(case)
    else:
        found = complex_products(case, {"mrope": "rope"}.get(scheme, scheme))

    assert values(case).ravel().tolist() == list(found)


def by_lists(*, head_dim: int, base: float, original_length: int, length: int, **lists: Sequence[float]) -> list[Any]:
    """Return a radian's share of every pair's period, which the list of the length makes longer."""
    factors, step = lists["long_factors" if length > original_length else "short_factors"], mp.root(mp.mpf(base), head_dim // 2)
    return [1 / (step**pair * mp.mpf(factor)) for pair, factor in enumerate(factors)]


ROUTES: dict[str, Callable[..., Any]] = {**FREQUENCIES, "longrope": by_lists}


def thetas_of(case: Vector, scheme: str) -> list[Any]:
    lists = {name: values for name, values in but_for_x(case).items() if name != "positions"}
    not_of_pairs = ("layout", "direction", "max_length", "short_mscale", "long_mscale")
    return ROUTES[scheme](**{name: value for name, value in case.parameters.items() if name not in not_of_pairs}, **lists)


def lengthened(p: Mapping[str, Any]) -> Any:
    """Return LongRoPE's attention factor: what is given, or a root of a ratio of logarithms."""
    given = p["long_mscale" if p["length"] > p["original_length"] else "short_mscale"]
    return mp.mpf(given) if given is not None else mp.sqrt(mp.log(p["max_length"]) / mp.log(p["original_length"]))


UNSET = ("mscale", "mscale_all_dim", "attention_factor")


def complex_products(case: Vector, scheme: str) -> list[float]:
    p, found = case.parameters, list[float]()
    thetas = thetas_of(case, scheme)
    if scheme == "longrope":
        size = lengthened(p)
    else:
        size = grown(**{name: p[name] for name in ("factor", *UNSET, "slope")}) if scheme == "yarn" else 1
    for row, position in zip(case.inputs["x"][0, 0].tolist(), case.inputs["positions"].tolist(), strict=True):
        places = [position[axis] for axis in followed(p)] if isinstance(position, list) else [position] * len(thetas)
        angles = [place * theta for place, theta in zip(places, thetas, strict=True)]
        found += turned(row, members(str(p["layout"]), len(thetas)), angles, size)
    return found


def products_of_patches(case: Vector) -> list[float]:
    """Return patches turned by pairs of a half of the head for each axis, as their libraries lay these out."""
    p, found = case.parameters, list[float]()
    half, own = p["head_dim"] // 2, p["head_dim"] // 4
    in_blocks = (half, 2, 1) if p["layout"] == "interleaved" else (half, 1, own)
    by_axis, by_pair, within = {"block": in_blocks, "joined": (own, 1, half), "alternating": (1, 2, half)}[p["order"]]
    every = [(axis, n) for axis in (0, 1) for n in range(own)]
    pairs = [(first := axis * by_axis + n * by_pair, first + within) for axis, n in every]
    steps = [mp.mpf(2 * n + axis) / half if p["ladder"] == "in_turns" else mp.mpf(n) / own for axis, n in every]
    whole = [2 * mp.pi / side for side in p["sides"]] or [1, 1]
    for row, places in zip(case.inputs["x"][0, 0].tolist(), case.inputs["positions"].tolist(), strict=True):
        angles = [whole[axis] * places[axis] * mp.mpf(p["base"]) ** -step for (axis, _), step in zip(every, steps, strict=True)]
        found += turned(row, zip(pairs, pairs, strict=True), angles)
    return found


def products_of_members(case: Vector) -> list[float]:
    """Return patches of which each channel is a part of a product of its own, by its place in the half of its axis's channels."""
    p, found = case.parameters, list[float]()
    for row, places in zip(case.inputs["x"][0, 0].tolist(), case.inputs["positions"].tolist(), strict=True):
        for axis, width in enumerate(p["axes"]):
            own = row[axis * width : (axis + 1) * width]
            for channel in range(width):
                pair, half = mp.mpc(*own[channel - channel % 2 :][:2]), width // 2
                product = pair * mp.expj(places[axis] * mp.mpf(p["base"]) ** (-mp.mpf(channel % half) / half))
                found.append(float(product.imag if channel % 2 else product.real))
    return found


def followed(p: Mapping[str, Any]) -> list[int]:
    """Return the axis of every pair, as Qwen2-VL, HunYuan-VL, ERNIE 4.5 VL and Qwen3-VL have them."""
    if p["order"] == "contiguous":
        return [axis for axis, pairs in enumerate(p["sections"]) for _ in range(pairs)]
    t, h, w = p["sections"]
    if p["order"] == "first_last":
        return [1, 2] * h + [0] * t
    axes = [0] * (t + h + w)
    axes[1 : 3 * h : 3], axes[2 : 3 * w : 3] = [1] * h, [2] * w
    return axes


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """The vectors of two models, the second of which has no case of its own."""
    return few_vectors(tmp_path / "vectors", FILE, OTHER)


def refusal(home: Path, file: str, old: str, new: str, check: Callable[..., object] = verify) -> str:
    text = (home / file).read_text(encoding="utf-8")
    assert old in text
    (home / file).write_text(text.replace(old, new, 1), encoding="utf-8")
    seal(home)
    with pytest.raises(VectorError) as caught:
        check(directory=home)
    return str(caught.value)


def test_models_alone_are_read_and_verified(two: Path) -> None:
    first, second = load_models(directory=two)

    assert (first.name, second.name) == ("meta-llama/Llama-3.1-8B-Instruct", "meta-llama/Llama-3.2-11B-Vision-Instruct")
    assert verify(two) == len(first.cases)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("model: meta", "modell: meta", "must have no unknown key"),
        ("format: 1", "format: 2", "format must be 1, got 2"),
        ("  - name:", "  - nam:", "a kind of layers must have no unknown key, got 'nam'"),
        ("head_dim: 128", "head_dim: wide", "head_dim must be integers of at least 0, got ['wide']"),
        ("layers: [0", "layers: [-1", "layers must be integers of at least 0"),
        ("channels: [0, 127]", "channels: 127", "channels must be a list, got int"),
        ("missing: []", "missing: [1]", "an entry of missing must be text, got 1"),
        ("  - operation: llama3.frequencies\n    id", "  - id", "operation must be text, got None"),
        ("original_length: 8192\n", "original_length: [a]\n", "parameter original_length must be one value"),
    ],
)
@pytest.mark.parametrize("check", [verify, load_models])
def test_a_model_is_read_as_strictly_as_an_operation(two: Path, old: str, new: str, words: str, check: Callable[..., object]) -> None:
    told = refusal(two, FILE, old, new, check)

    assert told.startswith(f"{FILE}: ")
    assert words in told


def test_a_case_that_is_named_must_be_in_the_file_that_is_named(two: Path) -> None:
    told = refusal(two, OTHER, "llama3.rotate/meta", "llama3.rotate/nobody")

    assert told.startswith(f"{OTHER}: a case must be in the file that is named for it, got no llama3.rotate/nobody-llama")


def test_a_case_of_an_operation_s_own_file_names_no_operation(tmp_path: Path) -> None:
    home, file = few_vectors(tmp_path / "vectors", "alibi.slopes.yaml"), "alibi.slopes.yaml"

    assert "must have no unknown key, got 'operation'" in refusal(home, file, "    tags", "    operation: alibi.slopes\n    tags")


def test_a_model_cannot_be_written_to() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        MODELS[0].name = "another"  # type: ignore[misc]  # that is the question


def test_the_loop_that_is_shown_finds_every_case(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    page = (EXAMPLES.parent / "docs" / "configurations.md").read_text(encoding="utf-8")
    (loop,) = re.findall(r"```python\n(from pathlib.*?)```", page, re.DOTALL)
    monkeypatch.chdir(EXAMPLES.parent)

    exec(compile(loop, "configurations.md", "exec"), {})  # noqa: S102  the page's own code

    told = [line.split()[2] for line in capsys.readouterr().out.splitlines()]
    assert told == ["llama3.frequencies", "llama3.rotate", "llama3.rotate"] * 2


def asked(target: str, **options: Any) -> list[str]:
    """Return which stored cases of models a run judged, and not as unsupported."""
    report = run.check(target, level="smoke", seed=0, **options)
    assert report.status is Status.CONFORMS or options
    return [result.check for result in report.results if result.check in CASES and isinstance(result.outcome, Passed)]


READER = str(EXAMPLES / "numpy_configured.py")
ROTATE = "llama3.rotate/meta-llama-llama-3-1-8b-instruct"


def test_a_configuration_that_equals_a_model_s_is_asked_the_model_s_cases_first() -> None:
    assert asked(f"config:{EXAMPLES / 'llama-3.1-8b.json'}:{READER}") == [ROTATE, f"{ROTATE}-last"]


def test_a_configuration_that_equals_none_is_asked_none(tmp_path: Path) -> None:
    other = {**json.loads((EXAMPLES / "llama-3.1-8b.json").read_text(encoding="utf-8")), "rope_theta": 500001.0}
    (tmp_path / "config.json").write_text(json.dumps(other), encoding="utf-8")

    assert asked(f"config:{tmp_path / 'config.json'}:{READER}") == []


def test_code_with_parameters_of_its_own_is_asked_none_unless_by_name() -> None:
    assert asked("numpy", operations=["llama3.rotate"]) == []
    assert {*asked("numpy", cases=[ROTATE])} == {ROTATE}


def printed(lines: Any) -> list[str]:
    return [line for _, line in terminal.folded(lines, 80)]


def test_the_list_of_models_names_each_with_what_its_layers_compute() -> None:
    listed = printed(show.listing())

    assert [line.split(":")[0].strip() for line in listed if line.startswith("  ") and line[2] != " "] == [model.name for model in MODELS]
    assert "  google/gemma-3-27b: rope (sliding_attention), position_interpolation" in listed
    assert "  Qwen/Qwen3-8B: rope" in listed
    assert max(map(len, listed)) <= 80


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_a_model_is_shown_with_what_explain_says_its_sources_frequencies_and_cases(model: Model) -> None:
    lines = printed(show.describe(model.name))
    shown = "".join("".join(lines).split())
    reading = config.read(model.configuration)
    explained = [text for _, text in words.lines(reading, reading.kinds, None, np.zeros(0))]

    assert max(map(len, lines)) <= 80
    assert [each for each in (*model.source, *explained) if "".join(each.split()) not in shown] == []
    assert all(identity in shown for kind in model.kinds for identity in kind.cases)
    assert f"models/{slug(model.name)}.yaml" in shown


def test_the_table_of_frequencies_is_that_of_the_golden_case() -> None:
    lines = printed(show.describe("Qwen/Qwen3-8B"))
    rows = {int(line.split()[0]): line.split()[1:] for line in lines if re.fullmatch(r" +\d+ +\S+ +\S+", line)}
    frequencies = values(CASES["rope.frequencies/mistralai-mistral-7b-instruct-v0-3"])

    assert [*rows] == [*range(0, 64, 8), 63]
    for pair, (frequency, wavelength) in rows.items():
        assert float(frequency) == pytest.approx(frequencies[pair], rel=1e-6)
        assert float(wavelength.replace(",", "")) == pytest.approx(2 * np.pi / frequencies[pair], rel=1e-3)


@pytest.mark.parametrize(
    ("name", "close"),
    [("Qwen/Qwen3-8b", "Qwen/Qwen3-8B"), ("Llama-3.1-8B", "Llama-3.1-8B-Instruct"), ("gema-3-27b", "gemma-3-27b"), ("zzz", None)],
)
def test_an_unknown_model_is_told_what_is_close(name: str, close: str | None, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "model", name]) == Status.WRONG_USAGE
    hint = f" (did you mean {close}?)" if close else ""
    assert capsys.readouterr().err == f"posenc: model must be one that `posenc list models` names, got {name!r}{hint}\n"


def test_a_model_may_be_named_without_whose_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "model", "Qwen3-8B"]) == 0
    assert capsys.readouterr().out.startswith("Qwen/Qwen3-8B: qwen3\n")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["show", "model"], "model must be one that `posenc list models` names, got nothing"),
        (["show", "rope", "Qwen3-8B"], "a second name must stand behind `model` only, got 'Qwen3-8B'"),
        (["show", "model", "Qwen3-8B", "--length", "9"], "--length must be asked of a scheme, got a model"),
        (["list", "model"], "what is listed must be `models` or nothing, got 'model'"),
    ],
)
def test_what_is_asked_for_otherwise_is_one_line(words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == Status.WRONG_USAGE
    assert capsys.readouterr().err == f"posenc: {told}\n"


def test_models_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "models"]) == 0
    out = capsys.readouterr().out
    assert "  Qwen/Qwen3-8B: rope\n" in out
    assert "  meta-llama/Llama-4-Scout-17B-16E: llama3 (every layer with rotation)\n" in out


def test_a_model_s_case_is_shown_and_replayed_as_any_other(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", ROTATE]) == 0
    assert "  input positions 5" in capsys.readouterr().out
    assert main(["protocol", "replay", ROTATE]) == 0
    assert f'"operation":"{ROTATE.partition("/")[0]}"' in capsys.readouterr().out


def test_a_picture_has_each_kind_its_wavelengths_and_the_lengths() -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    figure = picture.draw(show.named("allenai/Olmo-3.1-32B-Instruct"))
    wavelengths, ratios = figure.axes
    legend = [text.get_text() for each in figure.legends for text in each.get_texts()]

    assert figure.get_suptitle() == "allenai/Olmo-3.1-32B-Instruct: how many tokens a pair takes to turn once"
    assert legend == ["sliding_attention: rope", "full_attention: yarn", "original length 8192", "longest length 65536"]
    assert wavelengths.get_yscale() == ratios.get_yscale() == "log"
    plain, scaled = (np.asarray(line.get_ydata()) for line in wavelengths.lines[:2])
    assert (scaled / plain)[[0, -1]] == pytest.approx([1, 8])
    assert digest(figure) == digest(picture.draw(show.named("Olmo-3.1-32B-Instruct")))


def test_pairs_that_do_not_turn_are_said_so_and_not_drawn() -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    figure = picture.draw(show.named("gemma-4-31B"))
    (cut,) = [np.asarray(line.get_ydata()) for line in figure.axes[0].lines if str(line.get_label()).startswith("full_attention")]

    assert [int(np.isfinite(cut).sum()), cut.size] == [64, 256]
    assert len(figure.axes) == 1
    assert "   255   0                         doesn't turn" in printed(show.describe("gemma-4-31B"))


def test_a_picture_of_an_encoder_of_images_has_the_pairs_of_each_axis() -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    first, second = picture.draw(show.named("mistral-community/pixtral-12b (vision)")).axes[0].get_lines()
    shown = [[place for place, wave in enumerate(line.get_ydata()) if not np.isnan(wave)] for line in (first, second)]
    assert shown == [[*range(16)], [*range(16, 32)]]
    assert second.get_ydata()[16] == pytest.approx(2 * np.pi * 10_000 ** (1 / 32))


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_a_picture_is_written_beside_nothing_else(tmp_path: Path, suffix: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    path = tmp_path / f"model{suffix}"

    assert main(["show", "model", "gpt-oss-20b", "--plot", str(path)]) == 0
    assert capsys.readouterr().out == f"wrote {path}\n"
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
