"""The vector files: whole, as the schema says, and refused by name as soon as anything is touched."""

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from few_vectors import few_vectors, seal
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.spec import vectors
from conformance.spec.arguments import is_position
from conformance.spec.document import MAXIMUM_BYTES, DocumentError, contents, read
from conformance.spec.profiles import PROFILES
from conformance.spec.vector_cases import attested, generated
from conformance.spec.vectors import VectorError, load, load_attested, load_models, vectors_directory, verify
from refimpl.schemes import SCHEMES, operations
from refimpl.spec import Operation, bind

OPERATIONS = operations()
EVERY = load()
GOOD = [vector for vector in EVERY if vector.error is None]
FILE = "alibi.slopes.yaml"
#: Schemes for which nobody has printed numbers, and why. The table must shrink: a scheme that has some, or is none, fails.
WITHOUT_ATTESTED_NUMBERS = {
    "axial_rope": "tests of vision models print outputs of whole models, or compare with another program on random numbers",
    "mixed_rope": "its authors print accuracies of whole models, and ports print the shapes of tables, or begin with random frequencies",
    "lerope": "its authors print losses of whole models, and code begins with exponents of 0, which give YaRN's numbers",
    "sincos_2d": "tests of vision models print outputs of whole models, or compare with another program's table",
    "temperature": "model cards and code have the formula alone",
    "partial_rope": "tests that print numbers give cosines and sines of their own, which belong to no frequencies (ONNX's to 0 and 1)",
    "proportional_rope": "its authors print perplexities of whole models, and ports compare with one another on random numbers",
    "da_transformer": "its authors published no code, no other implementation is known, and the pages found print the formula only",
    "xpos": "its authors print perplexities of whole models, and no page that was found prints numbers of queries or keys",
    "retnet": "its authors print perplexities of whole models, and tests of ports compare their three forms with one another",
    "self_extend": "its authors print accuracies of whole models, and the distances of a few tokens in a figure",
    "dual_chunk": "its authors print perplexities and accuracies of whole models, and the distances of a few tokens in a figure",
    "rerope": "its author prints losses of whole models, and code with it prints text",
    "resonance_rope": "its authors print accuracies and perplexities of whole models, and no other code with it was found",
    "resonance_yarn": "its authors print accuracies and perplexities of whole models, and no other code with it was found",
    "kerple": "its authors printed no learned numbers with their biases, and the ports found test shapes and symmetry only",
}
LISTED = {0, 1, 2, 9, 255, 256, 257, 2047, 2048, 2049, 4095, 4096, 4097, 65_535, 131_071, 1_048_575, 1_048_576}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the vectors with one operation only, to be tampered with."""
    return few_vectors(tmp_path / "vectors", FILE)


def edit(home: Path, change: Callable[[str], str]) -> None:
    text = (home / FILE).read_text()
    changed = change(text)
    assert changed != text
    (home / FILE).write_text(changed)
    seal(home)


def refusal(home: Path, check: Callable[..., object] = load) -> str:
    with pytest.raises(VectorError) as caught:
        check(directory=home)
    return str(caught.value)


def test_every_file_obeys_schema_and_manifest() -> None:
    assert verify() == len(EVERY) + len(load_attested()) + sum(len(model.cases) for model in load_models())


def test_every_operation_has_a_file_and_every_file_an_operation() -> None:
    assert {path.stem for path in vectors_directory().glob("*.yaml")} - {"manifest"} == set(OPERATIONS)


def test_every_scheme_has_attested_numbers_unless_none_are_published() -> None:
    attested_schemes = {vector.operation.split(".")[0] for vector in load_attested()}
    assert attested_schemes == set(SCHEMES) - set(WITHOUT_ATTESTED_NUMBERS)


def test_the_exceptions_are_schemes() -> None:
    assert set(WITHOUT_ATTESTED_NUMBERS) <= set(SCHEMES)


@pytest.mark.parametrize("name", OPERATIONS)
def test_the_file_of_an_operation_stays_below_a_megabyte(name: str) -> None:
    assert (vectors_directory() / f"{name}.yaml").stat().st_size < 1_000_000


def reached(vector: vectors.Vector) -> set[int]:
    """Return the positions of a vector, and its distances where there are two kinds of positions."""
    arrays = [array.ravel() for name, array in vector.inputs.items() if "positions" in name]
    distances = [np.subtract.outer(*arrays).ravel()] if len(arrays) == 2 else []
    return {abs(int(value)) for array in [*arrays, *distances] for value in array}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_listed_positions_are_covered(scheme: str) -> None:
    mine = [vector for vector in GOOD if vector.operation.startswith(f"{scheme}.")]
    assert set().union(*map(reached, mine)) >= LISTED


def own(operation: str) -> list[vectors.Vector]:
    """Return the vectors of an operation that have a result."""
    return [vector for vector in GOOD if vector.operation == operation]


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=lambda operation: operation.name)
def test_vectors_say_all_their_arrays_and_parameters(operation: Operation) -> None:
    for vector in (vector for vector in EVERY if vector.operation == operation.name):
        assert list(vector.inputs) == list(operation.arrays), vector.id
        assert set(vector.parameters) <= set(operation.parameters), vector.id
        assert vector.error or set(vector.parameters) == set(operation.parameters), vector.id


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=lambda operation: operation.name)
def test_good_vectors_are_complete(operation: Operation) -> None:
    for vector in own(operation.name):
        expected = vector.expected or {}
        arrays = {**vector.inputs, **expected}
        assert list(expected) == list(operation.results), vector.id
        bind({**operation.arrays, **operation.results}, {name: array.shape for name, array in arrays.items()}, vector.parameters)
        real = {name for name in expected if name not in operation.integers}
        assert not real or all(set(vector.allowed[profile]) == real for profile in PROFILES), vector.id


@pytest.mark.parametrize("operation", OPERATIONS)
def test_something_is_judged_at_float64(operation: str) -> None:
    for vector in own(operation):
        assert vector.equality == "exact" or any(np.isfinite(radii).any() for radii in vector.allowed["float64"].values()), vector.id


def is_coarse(array: np.ndarray) -> bool:
    """Whether bfloat16 and float16 hold all numbers: 8 significant bits, multiples of the least float16, none beyond the largest."""
    significant, least = np.frexp(array)[0] * 2.0**8, array * 2.0**24
    return bool(np.all((significant == np.round(significant)) & (least == np.round(least)) & (np.abs(array) < 2.0**16)))


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_real_input_is_exact_in_bfloat16_unless_it_is_a_position_or_tagged(operation: str) -> None:
    for vector in own(operation):
        reals = [array for name, array in vector.inputs.items() if array.dtype == np.float64 and not is_position(name)]
        assert all(map(is_coarse, reals)) == ("finer_input" not in vector.tags), vector.id


def test_most_vectors_have_real_inputs() -> None:
    assert sum(any(array.dtype == np.float64 for array in vector.inputs.values()) for vector in GOOD) > len(GOOD) / 2


def test_arrays_cannot_be_written_to() -> None:
    with pytest.raises(ValueError, match="read-only"):
        next(iter(GOOD[0].inputs.values()), next(iter((GOOD[0].expected or {}).values())))[...] = 0


def test_only_what_is_asked_for_is_read(copy: Path) -> None:
    (copy / "rope.rotate.yaml").write_text("tampered")
    seal(copy)
    assert load(["alibi.slopes"], directory=copy)


def test_our_reader_and_pyyaml_see_the_same(copy: Path) -> None:
    text = (copy / FILE).read_bytes()
    assert read(text) == yaml.safe_load(text)


def test_the_reader_does_without_the_c_library(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (copy / FILE).read_bytes()
    fast = read(text)
    monkeypatch.setattr("conformance.spec.document._Loader", yaml.SafeLoader)
    assert read(text) == fast


def test_an_unknown_operation_is_refused_with_the_near_miss() -> None:
    with pytest.raises(VectorError, match=r"operation must have vectors, got rope.rotat \(did you mean rope.rotate\?\)"):
        load(["rope.rotat"])


def test_a_flipped_digit_is_refused(copy: Path) -> None:
    text = (copy / FILE).read_text()
    (copy / FILE).write_text(text.replace("0.25", "0.26", 1))
    assert refusal(copy).startswith(f"{FILE}: SHA-256 must be ")


def test_a_truncated_file_is_refused(copy: Path) -> None:
    (copy / FILE).write_bytes((copy / FILE).read_bytes()[:-100])
    assert refusal(copy).endswith("changed or truncated")


def test_a_missing_file_is_refused(copy: Path) -> None:
    (copy / FILE).unlink()
    assert refusal(copy) == f"{FILE}: must be on disk and in manifest.yaml, got no such file"


def test_an_extra_file_is_refused(copy: Path) -> None:
    (copy / "mine.yaml").write_text("format: 1\n")
    assert refusal(copy) == "mine.yaml: must be on disk and in manifest.yaml, got an extra file"


def test_a_missing_manifest_is_refused(copy: Path) -> None:
    (copy / "manifest.yaml").unlink()
    assert refusal(copy).startswith("manifest.yaml: must stand beside the vectors")


def test_a_manifest_that_is_no_manifest_is_refused(copy: Path) -> None:
    (copy / "manifest.yaml").write_text("format: 1\nrevision: 1\nfiles: [1, 2]\n")
    assert refusal(copy).startswith("manifest.yaml: files must map names to SHA-256")


@pytest.mark.parametrize("said", ["2", "'1'", "[1]", "true"])
def test_a_manifest_of_another_format_is_refused(said: str, copy: Path) -> None:
    text = (copy / "manifest.yaml").read_text()
    (copy / "manifest.yaml").write_text(text.replace("format: 1\n", f"format: {said}\n"))
    assert refusal(copy).startswith("manifest.yaml: format must be 1, got ")


@pytest.mark.parametrize(("said", "words"), [("*a", "an alias"), ("&a {}", "an anchor"), ("!!python/name:os.system {}", "a tag")])
def test_a_manifest_is_read_as_strictly_as_a_file(said: str, words: str, copy: Path) -> None:
    (copy / "manifest.yaml").write_text(f"format: 1\nrevision: 1\nfiles: {said}\n")
    assert refusal(copy).startswith(f"manifest.yaml: line 3: {words} must not be used, got ")


TAMPERING = {
    "an extra key of a case": (lambda t: t.replace("    tags:", "    more: 1\n    tags:", 1), "alibi.slopes/.*unknown key, got 'more'"),
    "an extra key of the file": (lambda t: f"{t}spoiler: 1\n", "the file must have no unknown key, got 'spoiler'"),
    "an extra key of a tensor": (lambda t: t.replace("        shape:", "        unit: m\n        shape:", 1), "expected result .*'unit'"),
    "a missing key": (lambda t: t.replace("    equality: allowance\n", "", 1), "alibi.slopes/.*must have all its keys, got 'no equality'"),
    "an anchor": (lambda t: t.replace("tags: []", "tags: &a []", 1), "line .*anchor must not be used, got &a"),
    "an alias": (lambda t: t.replace("tags: []", "tags: *a", 1), "line .*an alias must not be used, got [*]a"),
    "a tag": (lambda t: t.replace("tags: []", "tags: !!set {}", 1), "line .*a tag must not be used"),
    "NaN": (lambda t: t.replace("[0.5", "[.nan", 1), "line .*must not be NaN"),
    "text for a number": (lambda t: t.replace("[0.5", "[1e-05", 1), "alibi.slopes/.*float64 only, got '1e-05'"),
    "an integer for a real": (lambda t: t.replace("[0.5", "[5", 1), "alibi.slopes/.*float64 only, got 5"),
    "an unknown dtype": (lambda t: t.replace("dtype: float64", "dtype: float8", 1), "alibi.slopes/.*dtype must be one of float64, int64"),
    "a short row": (lambda t: t.replace("[0.5, ", "[", 1), "alibi.slopes/.*must have 1 rows of"),
    "an unknown profile": (lambda t: t.replace("      float64:\n", "      float8:\n", 1), "alibi.slopes/.*profile must be one of"),
    "an unknown equality": (lambda t: t.replace("equality: allowance", "equality: roughly", 1), "alibi.slopes/.*equality must be one of"),
    "another format": (lambda t: t.replace("format: 1", "format: 2", 1), "format must be 1, got 2"),
    "a repeated key": (lambda t: t.replace("format: 1\n", "format: 1\nformat: 1\n", 1), "line .*a key must appear once, got 'format'"),
    "a list": (lambda _: "- 1\n", "must be a mapping, got list"),
    "nothing": (lambda _: "", "a document must say something"),
    "two documents": (lambda t: f"{t}---\nformat: 1\n", "a file must hold one document"),
    "no YAML": (lambda _: "{", "a document must be YAML"),
    "nesting": (lambda _: "a: " + "[" * 50 + "]" * 50, "nesting must be at most 12 deep"),
    "a reused id": (lambda t: t + t[t.index("  - id:") :], "a case id must be used once, got 'alibi.slopes/"),
}


def branches(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every path into a document."""
    keys = list(tree) if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else []
    for key in keys:
        yield (*path, key)
        yield from branches(tree[key], (*path, key))


def graft(tree: Any, path: tuple[Any, ...], value: object) -> Any:
    """The document with something else at the end of a path."""
    if not path:
        return value
    copied = tree.copy()
    copied[path[0]] = graft(tree[path[0]], path[1:], value)
    return copied


FILES = ("alibi.slopes.yaml", "t5.bucket.yaml", "attested/t5.yaml", "attested/rope.yaml")
DOCUMENTS = {name: read((vectors_directory() / name).read_bytes()) for name in FILES}
PATHS = [(name, path) for name, document in DOCUMENTS.items() for path in branches(document)]
ODD = [None, True, -1, 0.5, "x", "", "1/0", "9e99", [], [1], [[1]], [[None]], {}, {"a": 1}, math.inf, 2**62, [2**20, 2**20]]


@settings(deadline=None, max_examples=400)
@given(st.sampled_from(PATHS), st.sampled_from(ODD))
def test_whatever_stands_in_a_file_loads_or_is_refused(where: tuple[str, tuple[Any, ...]], odd: object) -> None:
    name, path = where
    parse = attested if name.startswith("attested") else generated
    found: object
    try:
        found = list(parse(graft(DOCUMENTS[name], path, odd)))
    except VectorError as error:
        found = str(error)
    assert found or path == ("cases",)


@pytest.mark.parametrize("name", TAMPERING)
def test_a_file_with_something_wrong_is_refused_by_name(name: str, copy: Path) -> None:
    change, words = TAMPERING[name]
    edit(copy, change)
    with pytest.raises(VectorError, match=rf"^{FILE}.*{words}"):
        load(directory=copy)


def test_a_file_too_large_is_refused(copy: Path) -> None:
    with (copy / FILE).open("ab") as stream:
        stream.write(b"#" * (MAXIMUM_BYTES + 1))
    assert refusal(copy) == f"{FILE}: a document must have at most {MAXIMUM_BYTES} bytes, got more"


@pytest.mark.parametrize("name", ["manifest.yaml", "schema.json"])
def test_a_file_beside_the_vectors_is_refused_by_size_too(name: str, copy: Path) -> None:
    with (copy / name).open("ab") as stream:
        stream.truncate(MAXIMUM_BYTES + 1)
    assert refusal(copy, verify) == f"{name}: a document must have at most {MAXIMUM_BYTES} bytes, got more"


def test_of_a_file_too_large_no_more_is_read_than_shows_it(tmp_path: Path) -> None:
    path = tmp_path / "large.yaml"
    with path.open("wb") as stream:
        stream.truncate(1 << 40)  # a sparse file: reading all of it would end the test
    with pytest.raises(DocumentError, match="must have at most"):
        contents(path)


def test_what_only_the_schema_knows_is_refused_by_verification(copy: Path) -> None:
    edit(copy, lambda text: text.replace('"https:', '"http:', 1))
    assert load(directory=copy)
    assert "$.source.address must obey schema.json" in refusal(copy, verify)


def test_the_export_is_json_of_the_same_layout_with_infinity_as_text(tmp_path: Path) -> None:
    names = (FILE, "rope.apply.yaml")
    home = few_vectors(tmp_path / "vectors", *names)
    count = vectors.export(tmp_path / "all.json", directory=home)
    text = (tmp_path / "all.json").read_text()
    tree = json.loads(text)

    assert sum(len(document["cases"]) for document in tree["files"].values()) == count
    assert tree["files"].keys() == set(names)
    for name in names:
        assert tree["files"][name] == json.loads(json.dumps(yaml.safe_load((home / name).read_bytes())).replace("Infinity", '"inf"'))
    assert '"max_bias":"inf"' in text
