"""``posenc explain``: what it prints, and its exit status."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_configuration import BROKEN

from conformance import cli
from refimpl import configuration as config
from tools.generate.models import published
from tools.released import RELEASED

BY_ID = {entry["id"]: entry for entry in RELEASED}


def written(folder: Path, configuration: object) -> str:
    path = folder / "config.json"
    path.write_text(json.dumps(configuration), encoding="utf-8")
    return str(path)


def model(folder: Path, name: str) -> str:
    return written(folder, published(BY_ID[name]))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("google/gemma-4-E4B (vision)", "the two channels of a pair lie half of an axis's channels apart"),
        ("moonshotai/Kimi-K2.6 (vision)", "the first axis of the positions is the width"),
        ("Qwen/Qwen2-VL-7B-Instruct (vision)", "axial_rope.rotate(head_dim=80, base=10000.0, axes=(40, 40), order=joined, ladder=own)"),
    ],
)
def test_it_says_how_the_axes_of_an_image_share_a_head(name: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", model(tmp_path, name)]) == 0
    assert said in " ".join(capsys.readouterr().out.split())


def test_it_says_in_words_which_pairs_are_slowed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = cli.main(["explain", model(tmp_path, "meta-llama/Llama-3.1-8B-Instruct")])
    out = " ".join(capsys.readouterr().out.split())

    assert status == 0
    assert "every layer (layers 0 to 31)" in out
    assert "turns all 128 channels of a head; the two channels of a pair lie 64 apart" in out
    assert "base 500,000" in out
    assert "pairs 0 to 28 keep their frequency; pairs 29 to 34 are divided by 1.207 to 5.257; pairs 35 to 63 are divided by 8" in out
    assert "because rope_theta: the base is 500,000" in out
    assert "assumed partial_rotary_factor: all 128 channels of a head turn" in out
    assert "https://github.com/Blaizzy/mlx-vlm/pull/1710" in out


def paragraphs(out: str) -> list[str]:
    """Return what is printed of each kind, each difference and each finding, every one as a line."""
    return [" ".join(each.split()) for each in re.split(r"\n(?=\S)", out)]


def of_kinds(out: str) -> dict[str, str]:
    """Return what is printed of every kind of layers."""
    found = {}
    for paragraph in paragraphs(out):
        heading, turns, says = paragraph.partition(" turns ")
        for name in re.split(r" \([^)]*\)(?: and )?| and ", heading) if turns else ():
            found[name.removesuffix(" with rotation")] = turns + says
    return found


#: What is printed for what the facts of a model say of a kind, by key.
WORDS: dict[str, Callable[[Any], str]] = {
    "operation": "computed {}(".format,
    "first": "turns channels {} to ".format,
    "base": "base {:,.10g} ".format,
    "attention_factor": "cosine and sine times {:.10g} (attention factor)".format,
    "softmax": "which is {:.6g} / sqrt(".format,
    "sections": lambda sections: f"{', '.join(map(str, sections[:-1]))} and {sections[-1]} pairs follow the axes",
    "layout": {
        "half": " apart", "interleaved": "pairs are neighbours", "interleaved_to_half": "pairs are read as neighbours and written"
    }.__getitem__,
}


def words(expected: dict[str, Any]) -> list[str]:
    """Return what must be printed of a kind with these facts, in which no number ends in a point and a zero."""
    numbers = {**expected.get("parameters", {}), **(expected.get("temperature") or {}), **expected.get("grid", {})}
    said = [f"{key}={value}".removesuffix(".0") for key, value in numbers.items() if not isinstance(value, list)]
    width = expected.get("head_dim")
    if width is not None:
        said.append(f"all {width} channels of a head;" if expected.get("turning", width) == width else f" of a head of {width};")
    return said + [of(expected[key]) for key, of in WORDS.items() if expected.get(key) is not None]


@pytest.mark.parametrize("entry", RELEASED, ids=lambda entry: entry["id"])
def test_every_model_is_told_on_eighty_columns_as_its_facts_have_it(
    entry: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = cli.main(["explain", written(tmp_path, published(entry))])
    out = capsys.readouterr().out

    assert status in (0, 5) or entry.get("findings") or any("finding" in kind for kind in entry["expected"].values())
    assert [line for line in out.splitlines() if len(line) > 80 and " " in line.strip()] == []
    told = of_kinds(out)
    for name, expected in entry["expected"].items():
        short = re.sub(r"\.0(?=[,)])", "", told[name])
        assert [each for each in words(expected) if each not in short] == []


def test_the_kinds_of_layers_are_told_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["explain", model(tmp_path, "google/gemma-3-27b")])
    out = capsys.readouterr().out

    assert "sliding_attention (52 layers: 0, 1, 2, 3, 4, 6, 7, ... 61)" in out
    assert "linear: all pairs are divided by 8" in out


QWEN_1M = {
    "model_type": "qwen2", "hidden_size": 3584, "num_attention_heads": 28, "num_hidden_layers": 28, "rope_theta": 10000000.0,
    "dual_chunk_attention_config": {"chunk_size": 262144, "local_size": 8192, "original_max_position_embeddings": 262144},
}


def test_chunks_in_which_positions_begin_anew_are_told_with_who_reads_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = cli.main(["explain", written(tmp_path, QWEN_1M)])
    out = " ".join(capsys.readouterr().out.split())

    assert status == 0
    assert "dual_chunk_attention_config: beyond position 262144 positions begin anew in every chunk" in out
    assert "dual_chunk.weights(chunk_size=262144, local_size=8192)" in out
    assert "differs dual_chunk_attention_config: vLLM reads it, transformers doesn't" in out


@pytest.mark.parametrize("sizes", [True, {"chunk_size": 8, "local_size": 8}, {"local_size": "9"}, {"chunk_size": 1024}])
def test_chunks_without_sizes_are_refused(sizes: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = cli.main(["explain", written(tmp_path, {**QWEN_1M, "dual_chunk_attention_config": sizes})])
    out = " ".join(capsys.readouterr().out.split())

    assert status == 1
    assert "bad-chunks: dual_chunk_attention_config must have a chunk_size and a local_size below it, in tokens, got" in out


def test_one_layer_is_explained_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = model(tmp_path, "google/gemma-3-27b")

    assert cli.main(["explain", path, "--layer", "5"]) == 0
    assert "sliding_attention (" not in capsys.readouterr().out
    assert cli.main(["explain", path, "--layer", "62"]) == 2
    assert "--layer must be from 0 to 61, got 62" in capsys.readouterr().err


def test_json_has_the_frequencies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = cli.main(["explain", model(tmp_path, "openai/gpt-oss-20b"), "--json"])
    told = json.loads(capsys.readouterr().out)
    rotation = told["kinds"][0]["rotation"]

    assert (status, told["exit_status"], told["format"]) == (0, 0, 1)
    assert rotation["operation"] == "yarn.frequencies"
    assert rotation["attention_factor"] == pytest.approx(1.34657359)
    assert len(rotation["frequencies"]) == 32
    assert [each["key"] for each in told["differences"]] == ["head_dim", "rope_scaling.truncate"]


def test_the_scale_of_the_softmax_is_computed_where_deepseek_s_attention_has_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", model(tmp_path, "deepseek-ai/DeepSeek-V3")]) == 0
    told = capsys.readouterr().out
    assert "1.87385 / sqrt(192)" in told
    assert "yarn.softmax_scale(qk_head_dim=192, factor=40, mscale_all_dim=1.0)" in told

    for name, scale in (("deepseek-ai/DeepSeek-V3", 1.87385421 / 192**0.5), ("openai/gpt-oss-20b", None)):
        cli.main(["explain", model(tmp_path, name), "--json"])
        assert json.loads(capsys.readouterr().out)["kinds"][0]["rotation"]["softmax_scale"] == pytest.approx(scale)


@pytest.mark.parametrize(
    ("model_type", "keys", "said"),
    [
        ("deepseek_v32", {"index_topk": 2048}, "(partial_rope.index_scores, layout=half, placement=first)"),
        ("glm_moe_dsa", {"index_topk": 2048}, "(partial_rope.index_scores, layout=interleaved, placement=first)"),
        ("glm_moe_dsa", {"index_topk": 9, "indexer_rope_interleave": False}, "(partial_rope.index_scores, layout=half, placement=first)"),
        ("deepseek_v4", {"index_topk": 512}, "(partial_rope.index_scores, layout=interleaved, placement=last)"),
    ],
)
def test_an_indexer_is_told_with_its_own_layout_and_how_many_keys_it_picks(
    model_type: str, keys: dict[str, Any], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cli.main(["explain", written(tmp_path, {"model_type": model_type, "num_hidden_layers": 2, "qk_rope_head_dim": 64, **keys})])
    told = " ".join(capsys.readouterr().out.split())

    assert said in told
    assert "index_topk: attention sees no more keys than that" in told


@pytest.mark.parametrize(
    ("model_type", "keys", "said"),
    [
        ("hy_v4", {"index_topk": 2048}, "layout=half, placement=last), at the frequencies of the attention beside it, in 3 of these 6"),
        ("hy_v4", {"indexer_types": ["full"] * 6}, "because indexer_types: 6 of 6 layers have an indexer of their own"),
        ("axk2", {"index_topk": 2048}, "index_topk: attention sees no more keys than that"),
        ("axk2", {"index_topk": 2048}, "partial_rope.index_scores, layout=half, placement=first"),
        ("axk2", {"index_topk": 2048}, "attention over these is none.attend_selected"),
        ("qwen4_exp", {"indexer_n_heads": 4, "indexer_budget": 64}, "an indexer picks blocks of keys by scores of its own ("),
        ("qwen4_exp", {"indexer_n_heads": 4, "indexer_head_dim": 32}, "indexer_head_dim must be a number of channels, at least those"),
        ("minimax_m3_vl", {"layer_types": [*["full_attention"] * 5, "minimax_m3_sparse"]}, "of a block of keys the largest of"),
        ("minimax_m3_vl", {"sparse_attention_config": {"sparse_attention_freq": [0, 0, 0, 1, 1, 1]}}, "minimax_m3_sparse (layers 3 to 5)"),
        ("dots3_note", {"head_dim": 256}, "an indexer picks keys by scores of its own"),
        ("dots3_note", {"head_dim": 256, "use_dsa": 0}, "bad-value: use_dsa must be true or false, got 0"),
        ("dots3_note", {"head_dim": 256, "use_dsa": False}, "because use_dsa: attention sees all keys: no layer has an indexer"),
    ],
)
def test_an_indexer_is_told_as_its_model_type_has_it(
    model_type: str, keys: dict[str, Any], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said in explained(tmp_path, capsys, model_type, rope_theta=1e4, **keys)


def test_of_one_layer_the_ways_are_told_in_which_libraries_differ_on_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, told = model(tmp_path, "meta-llama/Llama-4-Scout-17B-16E"), []
    for layer in ("0", "3"):
        cli.main(["explain", path, "--layer", layer])
        told.append("mlx-vlm ignored the" in capsys.readouterr().out)

    assert told == [True, False]


@pytest.mark.parametrize(
    ("model_type", "keys"),
    [
        ("qwen4_exp", {}),
        ("minimax_m3_vl", {"layer_types": ["full_attention"] * 6}),
        ("dots3_note", {"head_dim": 256, "use_dsa": False}),
        ("dots3_note", {"head_dim": 256, "layer_types": ["full_attention"] * 6, "per_layer_config": {}}),
    ],
)
def test_where_no_layer_has_an_indexer_none_is_told(
    model_type: str, keys: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = explained(tmp_path, capsys, model_type, rope_theta=1e4, index_topk=512, **keys)

    assert "an indexer picks" not in told
    assert "because index_topk" not in told


def explained(tmp_path: Path, capsys: pytest.CaptureFixture[str], model_type: str, **keys: Any) -> str:
    cli.main(["explain", written(tmp_path, {"model_type": model_type, "num_hidden_layers": 6, "qk_rope_head_dim": 64, **keys})])
    return " ".join(capsys.readouterr().out.split())


KINDS_OF_V4 = ["sliding_attention", "sliding_attention", "compressed_sparse_attention", "heavily_compressed_attention"]
KINDS_OF_V4 += ["compressed_sparse_attention", "sliding_attention"]


@pytest.mark.parametrize("keys", [{"compress_ratios": [0, 0, 4, 128, 4, 0]}, {"layer_types": KINDS_OF_V4}])
def test_only_layers_of_compressed_sparse_attention_have_an_indexer(
    keys: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main, compress = explained(tmp_path, capsys, "deepseek_v4", index_topk=512, **keys).split(" compress (layers 2 to 4) ")

    assert "index" not in main
    assert "in 2 of these 3 layers: those of ratio 4" in compress


@pytest.mark.parametrize(
    ("model_type", "keys"),
    [("deepseek_v4", {"compress_ratios": [0, 128] * 3}), ("dots3_note", {"layer_types": ["sliding_attention"] * 6})],
)
def test_layers_without_an_indexer_are_told_of_none(
    model_type: str, keys: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "index" not in explained(tmp_path, capsys, model_type, index_topk=512, **keys)


def test_where_no_key_says_the_ratio_of_a_layer_the_indexer_is_told_with_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "in layers of compressed sparse attention (ratio 4) alone" in explained(tmp_path, capsys, "deepseek_v4")


@pytest.mark.parametrize("model_type", ["mistral_large4", "glm5_next"])
def test_an_indexer_does_not_turn_where_its_layer_does_not(
    model_type: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = explained(tmp_path, capsys, model_type, rope_theta=1e4, indexer_rope_interleave=True, qk_nope_head_dim=64)
    resting = told.partition("without rotation")[2]

    assert "picks keys by scores of its own, and doesn't turn, as the attention beside it doesn't" in resting
    assert "layout=" not in resting


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"indexer_types": ["full", *["shared"] * 5]}, "in 1 of these 6 layers: the others take the keys that another picked"),
        ({"index_topk_pattern": "FSSFSS"}, "in 2 of these 6 layers"),
        ({"index_topk_pattern": "FSSFS"}, "index_topk_pattern must have an entry for each of the 6 layers, got 5 entries"),
        ({"index_topk_pattern": ["F"] * 7}, "index_topk_pattern must have an entry for each of the 6 layers, got 7 entries"),
        ({"index_topk_pattern": 4}, "index_topk_pattern must be a list with an entry for each layer, got 4"),
        ({"index_topk_freq": 4}, "in 3 of these 6 layers"),
        ({"index_topk_freq": 4, "index_skip_topk_offset": 4}, "in 4 of these 6 layers"),
        ({"indexer_types": ["full"] * 6}, "because indexer_types: 6 of 6 layers have an indexer of their own"),
        ({"indexer_types": ["full"] * 5}, "indexer_types must have an entry for each of the 6 layers, got 5 entries"),
    ],
)
def test_layers_that_share_an_indexer_are_not_told_as_having_one(
    keys: dict[str, Any], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said in explained(tmp_path, capsys, "glm_moe_dsa", **keys)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"indexer_rope_interleave": 1}, "bad-value: indexer_rope_interleave must be true or false, got 1"),
        ({"indexer_rope_interleave": "true"}, "bad-value: indexer_rope_interleave must be true or false, got 'true'"),
        ({"index_head_dim": 32}, "bad-width: index_head_dim must be a number of channels, at least those that turn (64), got 32"),
        ({"index_head_dim": "128"}, "bad-width: index_head_dim must be a number of channels, at least those that turn (64), got '128'"),
    ],
)
def test_a_wrong_value_of_an_indexer_is_one_error(
    keys: dict[str, Any], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = explained(tmp_path, capsys, "glm_moe_dsa", **keys)

    assert told.count("error ") == 1
    assert said in told
    assert "layout=half" not in told


@pytest.mark.parametrize(
    ("model_type", "value", "differs"), [("glm_moe_dsa", "false", 1), ("glm_moe_dsa", "true", 0), ("deepseek_v32", "true", 1)]
)
def test_a_layout_that_transformers_does_not_read_is_a_difference(
    model_type: str, value: str, differs: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = explained(tmp_path, capsys, model_type, indexer_rope_interleave=value == "true")

    assert told.count("differs indexer_rope_interleave: vLLM reads it; transformers 5.23 doesn't") == differs


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("index_nheads", "index_n_heads"),
        ("index_n_head", "index_n_heads"),
        ("index_top_k", "index_topk"),
        ("index_head_dims", "index_head_dim"),
        ("indexers_types", "indexer_types"),
        ("indexer_rope_interleaved", "indexer_rope_interleave"),
        ("index_ropes_interleave", "indexer_rope_interleave"),
    ],
)
def test_a_misspelt_key_of_an_indexer_is_warned_of(key: str, meant: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = explained(tmp_path, capsys, "glm_moe_dsa", **{key: 1})

    assert f"misspelt-key: {key} must be a key that is read (did you mean {meant}?)" in told


def test_keys_of_published_indexers_are_no_misspellings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    of_glm = {"index_topk_freq": 4, "index_topk_pattern": None, "index_skip_topk_offset": 2, "index_kpool": 16}
    of_others = {"index_kpool_always_select_tail": True, "index_block_size": 128, "index_topk_blocks": 16, "index_local_blocks": 1}
    of_qwen4 = {"indexer_n_heads": 4, "indexer_kv_heads": 1, "indexer_head_dim": 128, "indexer_budget": 64, "indexer_compress_ratio": 4}

    assert "warning" not in explained(tmp_path, capsys, "glm_moe_dsa", **of_glm, **of_others, **of_qwen4)


def test_a_model_without_an_indexer_is_told_of_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["explain", model(tmp_path, "deepseek-ai/DeepSeek-V3")])

    assert "indexer" not in capsys.readouterr().out


def test_what_depends_on_the_length_is_told_for_short_and_long_sequences(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scaling = {"type": "su", "short_factor": [1.0] * 8, "long_factor": [2.0] * 8}
    phi = {"model_type": "phi3", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "rope_theta": 10000.0}
    path = written(tmp_path, {**phi, "max_position_embeddings": 131072, "original_max_position_embeddings": 4096, "rope_scaling": scaling})
    cli.main(["explain", path])
    whole = capsys.readouterr().out
    cli.main(["explain", path, "--length", "5000"])

    assert "longrope up to 4096 positions: all pairs keep their frequency" in whole
    assert "longrope beyond 4096 positions: all pairs are divided by 2" in whole
    assert "longrope at 5000 positions: all pairs are divided by 2" in capsys.readouterr().out


@pytest.mark.parametrize("entry", BROKEN, ids=lambda entry: entry["id"])
def test_a_broken_configuration_is_told_by_name_with_its_key_and_value(
    entry: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = cli.main(["explain", written(tmp_path, entry["configuration"])])

    assert status == {"error": 1, "warning": 1, "missing": 5}[entry["level"]]
    key, value, missing = entry["key"], entry["value"], entry["level"] == "missing"
    begins = f"{entry['level']} {entry['finding']}: {key} " + (f"is {value!r}: " if missing else "must ")
    nothing = "null" if entry["finding"].startswith(("null-", "refused-null")) else "nothing: the key is missing, or null"
    got = value if entry["finding"] == "wrong-length" else nothing if value is None else repr(value)
    ends = "; posenc has no operation for it yet" if missing else f", got {got}"
    told = [each for each in paragraphs(capsys.readouterr().out) if each.startswith(begins)]
    assert [re.sub(r" https://\S+$", "", each)[-len(ends) :] for each in told] == [ends]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "must be a JSON file"),
        ("version https://git-lfs.github.com/spec/v1", "got a pointer of Git LFS: fetch the file that it stands for"),
        ("<!DOCTYPE html>", "got a web page: download the file itself"),
        ("GGUF", "got weights in GGUF: give config.json of the model"),
        ("[1]", "must be a JSON object"),
        ("", "got an empty file, or one that ends too early: download it again (line 1)"),
        ('{"a": 1,\n}', "got a comma before a closing bracket: take it out"),
        ("{'a': 1}", "got single quotes: write double ones (line 1)"),
        ('{"a": None}', "got a word of Python: write null, true or false (line 1)"),
        ('{\n// llama\n"a": 1}', "got a comment: take it out (line 2)"),
        ("model_type: llama", "got a name without quotes, as in YAML: write it in double quotes (line 1)"),
        ('{"a": }', "got JSONDecodeError: Expecting value"),
        ("# a page", "got JSONDecodeError: Expecting value"),
        ('{"rope_theta": 1, "rope_theta": 2}', "every key must stand once, got 'rope_theta' twice"),
        ("\x00\xff", "must be a JSON file"),
        ("[" * 100_000, "must be a JSON"),
    ],
)
def test_what_cant_be_read_is_wrong_usage(text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(text.encode("latin-1"))

    assert cli.main(["explain", str(path)]) == 2
    assert said in capsys.readouterr().err


def test_nothing_in_a_configuration_moves_the_cursor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    named = {"model_type": "\x1b[2Jllama", "head_dim": 64, "layer_types": ["\x1b[1A_attention"], "rope_theta\x1b[2J": 1, "rope_theta": 1e6}

    assert cli.main(["explain", written(tmp_path, named)]) == 1
    assert "\x1b" not in capsys.readouterr().out


def test_a_file_of_more_keys_than_any_model_has_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keys = {f"k{number}": 0 for number in range(300_000)}

    assert cli.main(["explain", written(tmp_path, {"model_type": "llama", "head_dim": 64, "rope_theta": 1e6, **keys})]) == 2
    assert "an object must have at most 10000 keys, got 300003" in capsys.readouterr().err


@pytest.mark.parametrize("base", [1e-320, 0.5, 1])
def test_a_base_that_makes_frequencies_grow_is_an_error(base: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", written(tmp_path, {"model_type": "llama", "head_dim": 64, "rope_theta": base})]) == 1
    assert f"no-base: rope_theta must be a number above 1, at most 1e+15, got {base!r}" in " ".join(capsys.readouterr().out.split())


QWEN = {"model_type": "qwen", "hidden_size": 4096, "num_attention_heads": 32, "rotary_emb_base": 10000}


def test_the_first_dynamic_rule_of_qwen_is_told_with_its_steps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", written(tmp_path, {**QWEN, "use_dynamic_ntk": True, "seq_length": 2048})]) == 0
    text = capsys.readouterr().out
    assert "original_length=2048,factor=2.0,growth=doublings)" in "".join(text.split())
    assert "are divided by 1.018 to 3\n" in text
    assert cli.main(["explain", written(tmp_path, {**QWEN, "use_dynamic_ntk": True})]) == 1
    assert "seq_length must be given for doublings, got nothing: the key is missing, or null" in " ".join(capsys.readouterr().out.split())


def test_queries_that_grow_without_steps_are_told_with_the_length_that_they_grow_from(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["explain", written(tmp_path, {**QWEN, "use_logn_attn": True, "seq_length": 2048})]) == 0
    assert "  queries   times temperature.log_scale(original_length=2048)\n" in capsys.readouterr().out
    assert cli.main(["explain", written(tmp_path, {**QWEN, "use_logn_attn": True})]) == 1
    shown = " ".join(capsys.readouterr().out.split())
    assert "seq_length must be given for use_logn_attn, got nothing: the key is missing, or null" in shown


@pytest.mark.parametrize(("key", "value"), [("floor_scale", 0), ("floor_scale", 81.5), ("attn_scale", -0.1), ("attn_scale", "0.1")])
def test_a_temperature_that_breaks_the_operation_s_rule_is_an_error(
    key: str, value: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = {"model_type": "llama4_text", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 4, "rope_theta": 1e4}

    assert cli.main(["explain", written(tmp_path, {**model, "attn_temperature_tuning": True, key: value})]) == 1
    told = capsys.readouterr().out
    assert f"bad-value: {key} must be " in told
    assert "temperature.scale" not in told


OF_LLAMA = {"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32, "num_hidden_layers": 4, "rope_theta": 1e4}
SLIDES = ("sliding_attention",)
SLIDING = {"rope_type": "default", "rope_theta": 1e4}


@pytest.mark.parametrize("entry", [entry for entry in BROKEN if entry["level"] == "error"], ids=lambda entry: entry["id"])
def test_an_error_of_the_whole_leaves_no_numbers_of_any_layer(entry: dict[str, Any]) -> None:
    reading = config.read(entry["configuration"])

    for kind in reading.kinds:
        assert kind.rotation is None or not any(finding.level == "error" for finding in (*reading.findings, *kind.findings))


@pytest.mark.parametrize("model_type", ["bloom", "gpt2", "t5", "bert"])
def test_layers_of_models_that_learn_or_add_positions_are_told_not_to_turn(
    model_type: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    learned = {"model_type": model_type, "hidden_size": 768, "num_attention_heads": 12, "num_hidden_layers": 2}
    status = cli.main(["explain", written(tmp_path, learned)])

    assert status == 0
    assert "turns     no channel\n  assumed   model_type: these layers don't turn in this model type" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"rope_scaling": {"rope_type": "linear", "factor": "4.0"}}, "rope_scaling.factor must be a number, got '4.0'"),
        (
            {"model_type": "qwen3", "layer_types": ["full_attention"] * 3},
            "layer_types must have an entry for each of the 4 layers, got 3 entries",
        ),
        (
            {
                "model_type": "gemma3_text", "layer_types": [*SLIDES, "full_attention"] * 2,
                "rope_parameters": {SLIDES[0]: SLIDING, "full": SLIDING},
            },
            ("rope_parameters.full_attention must be given for these layers (did you mean it by full?), "
            "got nothing: the key is missing, or null"),
        ),
        (
            {"rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096, "attn_factor": 0.8}},
            "attn_factor must be left out: by it vLLM multiplies yarn's attention factor; transformers doesn't read it, got 0.8",
        ),
    ],
)
def test_what_is_wrong_is_told_in_the_words_of_a_configuration(
    changed: dict[str, Any], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["explain", written(tmp_path, {**OF_LLAMA, **changed})]) == 1
    assert words in " ".join(capsys.readouterr().out.split())


YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096}
LONGROPE = {"rope_type": "longrope", "short_factor": [1] * 64, "long_factor": [2] * 64, "original_max_position_embeddings": 4096}
IN_RULE_S_PLACE = "replaces the factor that the rule computes"
UNSET = "which doesn't set the attention factor"


@pytest.mark.parametrize(
    ("scaling", "said", "unsaid"),
    [
        (YARN, "factor is 4.0", IN_RULE_S_PLACE),
        ({**YARN, "attention_factor": 1.3}, f"attention_factor is 1.3: it {IN_RULE_S_PLACE}", "multipl"),
        ({**YARN, "mscale": 1, "mscale_all_dim": 0.5, "attention_factor": 1.3}, f"mscale_all_dim is 0.5, {UNSET}", "the ratio replaces"),
        ({**YARN, "mscale": 1, "mscale_all_dim": 0.5}, f"in its denominator; the ratio {IN_RULE_S_PLACE}", UNSET),
        ({**YARN, "mscale": 0.7}, f"mscale is 0.7, {UNSET}", IN_RULE_S_PLACE),
        ({**YARN, "mscale_all_dim": 0.7}, f"mscale_all_dim is 0.7, {UNSET}", IN_RULE_S_PLACE),
        ({**YARN, "factor": None}, "factor isn't given, but derived: the ratio of max_position_embeddings to", IN_RULE_S_PLACE),
        ({**YARN, "slope": 9}, "rope_scaling.slope must be a key that yarn reads", "slope is 9"),
        ({**YARN, "extrapolation_factor": 2}, "by it vLLM multiplies the weight of yarn's frequencies", IN_RULE_S_PLACE),
        ({**LONGROPE, "attention_factor": 1.2}, f"cosine and sine are multiplied by 1.2: it {IN_RULE_S_PLACE}", "replaces the ratio"),
        ({**LONGROPE, "short_mscale": 1.2, "long_mscale": 1.3}, f"by 1.2, long ones by 1.3: each {IN_RULE_S_PLACE}", "must be left out"),
        ({**LONGROPE, "short_mscale": 1.2, "long_mscale": 1.3, "attention_factor": 2}, "unread-factor: ", "multiplied by 2"),
        ({**LONGROPE, "factor": 2}, "that of 8192 positions, trained on 4096: factor replaces the ratio of the lengths", IN_RULE_S_PLACE),
        (LONGROPE, "the attention factor is that of 16384 positions, trained on 4096", "replaces"),
    ],
)
def test_a_given_factor_is_said_to_replace_or_to_multiply(
    scaling: dict[str, Any], said: str, unsaid: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cli.main(["explain", written(tmp_path, {**OF_LLAMA, "max_position_embeddings": 16384, "rope_scaling": scaling})])
    told = " ".join(capsys.readouterr().out.split())

    assert said in told
    assert unsaid not in told


def test_what_sets_the_softmax_s_scale_alone_is_told_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    deepseek = {"model_type": "deepseek_v3", "qk_rope_head_dim": 64, "qk_nope_head_dim": 128}
    cli.main(["explain", written(tmp_path, {**OF_LLAMA, **deepseek, "rope_scaling": {**YARN, "mscale_all_dim": 0.7}})])
    told = " ".join(capsys.readouterr().out.split())

    assert f"mscale_all_dim is 0.7, {UNSET}" in told
    assert "mscale_all_dim is 0.7: it multiplies ln(factor) in the scale of the softmax" in told
