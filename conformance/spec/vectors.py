"""Read the vectors: named inputs and parameters with their golden results and the error allowed at each element."""

import contextlib
import difflib
import functools
import hashlib
import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.spec import files
from conformance.spec.directory import vectors_directory
from conformance.spec.document import DocumentError, contents, read
from conformance.spec.vector_cases import FORMAT, Model, Vector, VectorError, attested, check_identities, check_keys, generated, released

__all__ = ["Model", "Vector", "VectorError", "export", "load", "load_attested", "load_models", "of_models", "vectors_directory", "verify"]

MANIFEST = "manifest.yaml"
SCHEMA = "schema.json"
ATTESTED = "attested/"
MODELS = "models/"
PATTERNS = ("*.yaml", f"{ATTESTED}*.yaml", f"{MODELS}*.yaml", SCHEMA)
LONGEST_LINE = 500
MANIFEST_KEYS = frozenset({"format", "revision", "files"})


def load(operations: Collection[str] | None = None, *, directory: Path | None = None) -> list[Vector]:
    """Return the vectors of the operations named, or of all; only their files are read."""
    folder = _open(directory)
    present = folder.named("")
    chosen = present if operations is None else [_known(name, present) for name in dict.fromkeys(operations)]
    return [vector for name in chosen for vector in folder.vectors(f"{name}.yaml")]


def load_attested(*, directory: Path | None = None) -> list[Vector]:
    """Return numbers published elsewhere, allowed half a unit of their last printed digit at profile ``float64``."""
    folder = _open(directory)
    return [vector for name in folder.named(ATTESTED) for vector in folder.vectors(f"{ATTESTED}{name}.yaml")]


def load_models(*, directory: Path | None = None) -> list[Model]:
    """Return the released models, in the order of their files."""
    folder = _open(directory)
    return [_model(name, folder.contents(name)) for name in (f"{MODELS}{stem}.yaml" for stem in sorted(folder.named(MODELS)))]


def of_models(operations: Collection[str]) -> list[Vector]:
    """Return the vectors of released models, of the operations named."""
    return [vector for model in load_models() for vector in model.cases if vector.operation in operations]


def verify(directory: Path | None = None) -> int:
    """Check every file against manifest, loader and schema; return how many cases there are."""
    return _count(_verified(_open(directory)))


def export(path: Path, *, directory: Path | None = None) -> int:
    """Write all vectors as one JSON file, laid out as the YAML files are; return how many cases there are."""
    files.verify(path)
    documents = _verified(_open(directory))
    tree = {"format": FORMAT, "files": _without_infinity(documents)}
    files.write(path, json.dumps(tree, separators=(",", ":"), allow_nan=False) + "\n")
    return _count(documents)


def _verified(folder: "_Folder") -> dict[str, dict[str, Any]]:
    """Return every vector file as mappings and lists, checked."""
    documents = folder.documents()
    vectors = [vector for name, document in documents.items() for vector in _vectors(name, document)]
    check_identities(vectors)
    _check_references(documents)
    _check_schema(documents, json.loads(folder.contents(SCHEMA)))
    return documents


def _vectors(name: str, document: dict[str, Any]) -> list[Vector]:
    """Return the vectors of one file; whatever is wrong is said with its name."""
    with _named(name):
        vectors = list(_read(name, document))
        check_identities(vectors)
    return vectors


@contextlib.contextmanager
def _named(name: str) -> Iterator[None]:
    """Say whatever is wrong with a file with its name."""
    try:
        yield
    except VectorError as error:
        message = f"{name}: {_one_line(str(error))}"
        raise VectorError(message) from None


def _read(name: str, document: dict[str, Any]) -> Iterable[Vector]:
    if name.startswith(MODELS):
        return released(name, document).cases
    return attested(document) if name.startswith(ATTESTED) else generated(document)


def _check_references(documents: Mapping[str, dict[str, Any]]) -> None:
    """Raise where a model names a case that its file doesn't have."""
    for name, document in documents.items():
        for kind in document["kinds"] if name.startswith(MODELS) else ():
            for identity, stem in kind["cases"].items():
                if identity not in {case["id"] for case in documents.get(f"{MODELS}{stem}.yaml", {"cases": []})["cases"]}:
                    message = f"{name}: a case must be in the file that is named for it, got no {identity} in {MODELS}{stem}.yaml"
                    raise VectorError(message)


@functools.lru_cache(maxsize=256)
def _model(name: str, text: bytes) -> Model:
    document = _parse(name, text)
    with _named(name):
        return released(name, document)


@functools.lru_cache(maxsize=128)
def _parsed(name: str, text: bytes) -> tuple[Vector, ...]:
    return tuple(_vectors(name, _parse(name, text)))


def _one_line(told: str) -> str:
    """Return what is wrong as one line that can be read: names and values come from the file."""
    line = " ".join(told.split())
    return line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}..."


def _count(documents: Mapping[str, dict[str, Any]]) -> int:
    return sum(len(document["cases"]) for document in documents.values())


def _without_infinity(value: Any) -> Any:
    """Return the tree with infinities as text: JSON has no word for them."""
    if isinstance(value, dict):
        return {key: _without_infinity(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_infinity(item) for item in value]
    return str(value) if isinstance(value, float) and math.isinf(value) else value


def _known(name: str, present: Collection[str]) -> str:
    if name in present:
        return name
    near = difflib.get_close_matches(name, present, n=1)
    message = f"operation must have vectors, got {name}" + (f" (did you mean {near[0]}?)" if near else "")
    raise VectorError(message)


def _check_schema(documents: Mapping[str, dict[str, Any]], schema: dict[str, Any]) -> None:
    # Imported here because it takes long, and nothing but verification needs it.
    from jsonschema import Draft202012Validator

    validator = Draft202012Validator(schema)
    for name, document in documents.items():
        problem = next(validator.iter_errors(document), None)
        if problem is not None:
            message = f"{name}: {_one_line(f'{problem.json_path} must obey {SCHEMA}, got {problem.message[:200]}')}"
            raise VectorError(message)


@dataclass(frozen=True)
class _Folder:
    """A directory of vectors, with the SHA-256 that each of its files must have."""

    home: Path
    digests: dict[str, str]

    def named(self, prefix: str) -> list[str]:
        """Return the names of the vector files in the folder itself (``""``) or in ``attested/``."""
        inside = [name.removeprefix(prefix) for name in self.digests if name.startswith(prefix) and name.endswith(".yaml")]
        return [name.removesuffix(".yaml") for name in inside if "/" not in name]

    def vectors(self, name: str) -> list[Vector]:
        """Return the vectors of one file; the same bytes are parsed once."""
        return list(_parsed(name, self.contents(name)))

    def documents(self) -> dict[str, dict[str, Any]]:
        """Return every vector file as mappings and lists."""
        return {name: self.document(name) for name in self.digests if name.endswith(".yaml")}

    def document(self, name: str) -> dict[str, Any]:
        """Return one file as mappings and lists."""
        return _parse(name, self.contents(name))

    def contents(self, name: str) -> bytes:
        """Return the bytes of one file, or raise where they aren't those of the manifest."""
        found = _bytes(self.home / name, name)
        digest = hashlib.sha256(found).hexdigest()
        if digest != self.digests[name]:
            message = f"{name}: SHA-256 must be {self.digests[name]} (in {MANIFEST}), got {digest}; changed or truncated"
            raise VectorError(message)
        return found


def _open(directory: Path | None) -> _Folder:
    home = directory or vectors_directory()
    if not (home / MANIFEST).is_file():
        message = f"{MANIFEST}: must stand beside the vectors, got none in {home}"
        raise VectorError(message)
    folder = _Folder(home, _digests(_parse(MANIFEST, _bytes(home / MANIFEST, MANIFEST))))
    _check_listing(folder)
    return folder


def _digests(manifest: dict[str, Any]) -> dict[str, str]:
    check_keys(MANIFEST, manifest, MANIFEST_KEYS, MANIFEST_KEYS)
    if type(manifest["format"]) is not int or manifest["format"] != FORMAT:
        message = f"{MANIFEST}: format must be {FORMAT}, got {_one_line(repr(manifest['format']))} (written for another posenc)"
        raise VectorError(message)
    files = manifest["files"]
    if not isinstance(files, dict) or not all(isinstance(digest, str) for digest in files.values()):
        message = f"{MANIFEST}: files must map names to SHA-256, got {files!r}"
        raise VectorError(message)
    return files


def _check_listing(folder: _Folder) -> None:
    paths = {path.relative_to(folder.home).as_posix() for pattern in PATTERNS for path in folder.home.glob(pattern)} - {MANIFEST}
    for name in sorted(paths ^ set(folder.digests)):
        message = f"{name}: must be on disk and in {MANIFEST}, got {'an extra file' if name in paths else 'no such file'}"
        raise VectorError(message)


def _bytes(path: Path, name: str) -> bytes:
    try:
        return contents(path)
    except DocumentError as error:
        message = f"{name}: {error}"
        raise VectorError(message) from None


def _parse(name: str, text: bytes) -> dict[str, Any]:
    try:
        document = read(text)
    except DocumentError as error:
        message = f"{name}: {_one_line(str(error))}"
        raise VectorError(message) from None
    if not isinstance(document, dict):
        message = f"{name}: must be a mapping, got {type(document).__name__}"
        raise VectorError(message)
    return document
