"""What is fuzzed: protocol lines, vector files, files of deviations, records, replies. Each is read, and what was accepted is checked."""

import copy
import datetime as dt
import hashlib
import json
import math
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from conformance.calls import outcomes
from conformance.calls.outcomes import Diagnosis, Failed, Reason, Report, Result
from conformance.protocol import lines as protocol
from conformance.protocol.errors import ProtocolError
from conformance.reports import lines as records
from conformance.reports.files import FORMATS
from conformance.reports.lines import RecordError
from conformance.show import baseline
from conformance.show.baseline import BaselineError
from conformance.spec import document, vectors
from conformance.spec.vectors import VectorError
from tools.generate.writer import write
from tools.soak import replies
from tools.soak.mutations import changed, damaged

BY_TREE = 0.5
MATCHING = 0.75
TEXT: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
DAY = dt.date(2026, 1, 1)
FILE = "binary.encode.yaml"
ATTESTED = "attested/binary.yaml"
MODEL = "models/stabilityai-stablelm-3b.yaml"
MAKERS: Mapping[str, Callable[[], Any]] = {
    "bool": lambda: True,
    "float": lambda: 1.5,
    "int": lambda: 64,
    "str": lambda: "memory",
    "Reason": lambda: Reason.VALUE,
}


class WrongError(Exception):
    """Something was accepted and came out wrong."""


@dataclass(frozen=True)
class Subject:
    """How to make one damaged thing, and how to read it; reading raises only ``refusals``."""

    make: Callable[[random.Random], bytes]
    read: Callable[[random.Random, bytes, Path], None]
    refusals: tuple[type[Exception], ...]


def _require(condition: object, what: str) -> None:
    if not condition:
        raise WrongError(what)


def _by_bytes_or_tree(chance: random.Random, whole: bytes, tree: Any, text: Callable[[Any], bytes]) -> bytes:
    """Damage the bytes, or the tree that they say, or both."""
    by_tree = chance.random() < BY_TREE
    if by_tree:
        whole = text(changed(chance, copy.deepcopy(tree)))
    return whole if by_tree and chance.random() < BY_TREE else damaged(chance, whole)


def _json(tree: Any) -> bytes:
    return json.dumps(tree).encode()


def _yaml(tree: Any) -> bytes:
    return write(tree).encode(errors="surrogatepass") if isinstance(tree, dict) else _json(tree)


def _messages() -> dict[str, dict[str, Any]]:
    """Return one message of each kind."""
    arrays = {"x": np.ones((1, 4), np.float32), "positions": np.array([3])}
    call = protocol.call("rope.rotate", "mine", "float32", arrays, {"base": 1e4, "layout": "half"})
    offered = {"operation": "rope.rotate", "label": "mine", "dtypes": ["float32"], "restrictions": {"layout": ["half"]}}
    replies = [{"results": {"result": protocol.tensor(np.arange(4.0))}}, {"unsupported": "too wide"}, {"error": "no"}]
    return {
        "describe_request": protocol.describe_request(0),
        "describe_reply": {"id": 0, "protocol": 1, "name": "mine", "implementations": [offered]},
        "call_request": protocol.call_request(1, [call]),
        "call_reply": {"id": 1, "replies": replies},
    }


MESSAGES = _messages()


def _line(chance: random.Random) -> bytes:
    kind = chance.choices(list(MESSAGES), weights=(1, 3, 3, 9))[0]
    return kind.encode() + b"\n" + _by_bytes_or_tree(chance, _json(MESSAGES[kind]), MESSAGES[kind], _json)


def _read_line(chance: random.Random, damage: bytes, folder: Path) -> None:  # noqa: ARG001  lines need neither
    kind, _, line = damage.partition(b"\n")
    said = protocol.message(kind.decode(), line)
    for name, tensor in _tensors(said):
        array = protocol.array(name, tensor)
        _require(list(array.shape) == tensor["shape"] and array.dtype.name == tensor["dtype"], "an array must be what its line says")
        _require(protocol.tensor(array) == tensor, "an array must be written as it was read")
    _require(protocol.message(kind.decode(), protocol.line(said)) == said, "a message must be written as it was read")


def _tensors(said: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for part in (*said.get("calls", ()), *said.get("replies", ())):
        yield from {**part.get("arrays", {}), **part.get("results", {})}.items()


def _small(name: str, cases: int) -> dict[str, Any]:
    """Return a vector file with its first and its last cases."""
    tree: dict[str, Any] = document.read((vectors.vectors_directory() / name).read_bytes())
    return {**tree, "cases": [*tree["cases"][:cases], *tree["cases"][cases:][-cases:]]}


TREES = {FILE: _small(FILE, 1), ATTESTED: _small(ATTESTED, 1), MODEL: _small(MODEL, 2)}
WHOLE = {name: _yaml(tree) for name, tree in TREES.items()}
SCHEMA = (vectors.vectors_directory() / vectors.SCHEMA).read_bytes()


def _file(chance: random.Random) -> bytes:
    name = chance.choices(list(TREES), weights=(3, 1, 1))[0]
    return name.encode() + b"\n" + _by_bytes_or_tree(chance, WHOLE[name], TREES[name], _yaml)


def _read_file(chance: random.Random, damage: bytes, folder: Path) -> None:
    name, _, contents = damage.partition(b"\n")
    files = {**WHOLE, vectors.SCHEMA: SCHEMA, name.decode(): contents}
    vouched = files if chance.random() < MATCHING else {**files, name.decode(): WHOLE[name.decode()]}
    _lay(folder, files, vouched)
    vectors.verify(folder)
    _require(vouched[name.decode()] == contents, "a file that its manifest doesn't vouch for must be refused")
    models = (vector for model in vectors.load_models(directory=folder) for vector in model.cases)
    read = [*vectors.load(directory=folder), *vectors.load_attested(directory=folder), *models]
    trees = [yaml.load(files[each], Loader=TEXT) for each in TREES]  # noqa: S506  it makes text only
    for vector, case in zip(read, [case for tree in trees for case in tree["cases"]], strict=True):
        _require(vector.id == case["id"], "a case must keep its name")
        _same_numbers(vector.inputs, case["inputs"])
        _same_numbers(vector.expected or {}, case.get("expected", {}))


def _same_numbers(arrays: Mapping[str, np.ndarray], said: Mapping[str, Any]) -> None:
    """Compare arrays with the text of the file, read by another reader."""
    for name, tensor in said.items():
        numbers = [float(leaf.replace(".inf", "inf")) for row in tensor["values"] for leaf in row]
        _require(arrays[name].ravel().tolist() == numbers, "an array must hold the numbers of the file")
        _require(arrays[name].shape == tuple(map(int, tensor["shape"])), "an array must have the shape of the file")


def _lay(folder: Path, files: Mapping[str, bytes], vouched: Mapping[str, bytes]) -> None:
    digests = {name: hashlib.sha256(contents).hexdigest() for name, contents in vouched.items()}
    manifest = write({"format": 1, "revision": 1, "files": digests}).encode()
    for name, contents in {**files, vectors.MANIFEST: manifest}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(contents)


def _outcomes() -> Iterator[outcomes.Outcome]:
    """Yield one outcome of every kind, each field filled."""
    for kind in outcomes.Outcome.__args__:
        types = {name: each if isinstance(each, str) else each.__name__ for name, each in kind.__annotations__.items()}
        yield kind(**{name: MAKERS[each]() for name, each in types.items()})


def _report() -> Report:
    """Return a report with every kind of outcome, a diagnosis, and an error that nothing allows."""
    about = ("mine", "rope.rotate", "rope.rotate/far", "vector", "float32", "float32")
    far = Result(*about, Failed(Reason.VALUE, "so"), math.inf, None, 9, 1, "", "print(1)\n", None, 0.5, ((0, 0.5), (9, math.inf)), 8)
    found = Diagnosis(("rope.rotate/degrees",), "takes degrees", "take radians", "don't", ("https://example.org",), ())
    results = (far, *(Result(*about, outcome) for outcome in _outcomes()))
    return Report("mine.py", {"posenc": "0.1.0", "seed": 7, "device": "cpu"}, results, {"mine:rope.rotate:float32": found})


REPORT = _report()
RECORD = [json.loads(line) for line in records.text([REPORT]).splitlines()]


def _record(chance: random.Random) -> bytes:
    return _by_bytes_or_tree(chance, _lines(RECORD), RECORD, _lines)


def _lines(tree: list[Any]) -> bytes:
    return "".join(f"{json.dumps(line)}\n" for line in tree).encode()


def _read_record(chance: random.Random, damage: bytes, folder: Path) -> None:
    path = folder / "record.jsonl"
    path.write_bytes(damage)
    read = records.read(path)
    _, render = FORMATS[chance.choice(list(FORMATS))]
    render(read).encode()
    path.write_text(records.text(read), encoding="utf-8")
    again = [(report.target, report.results, report.diagnoses) for report in records.read(path)]
    _require(again == [(report.target, report.results, report.diagnoses) for report in read], "a record must be written as it was read")


DEVIATIONS = {
    "format": 1,
    "deviations": [
        {"match": "mine:rope.rotate/far:float32", "outcome": "failed", "reason": "known"},
        {
            "match": "mine:rope.*[!x]*/*:float??",
            "outcome": "crashed",
            "reason": "known: so",
            "link": "https://example.org/1",
            "when": {"posenc": "<0.14,>=0.1", "device": "cpu"},
            "expires": "2026-12-31",
        },
    ],
}


def _deviations(chance: random.Random) -> bytes:
    return _by_bytes_or_tree(chance, _yaml(DEVIATIONS), DEVIATIONS, _yaml)


def _read_deviations(_: random.Random, damage: bytes, folder: Path) -> None:
    path = folder / "deviations.yaml"
    path.write_bytes(damage)
    known = baseline.Baseline(path, today=DAY)
    applied = known.applied(REPORT, last=True)
    _require(len(applied.results) >= len(REPORT.results), "no result may be lost")
    path.write_text(baseline.updated([REPORT], known.known), encoding="utf-8")
    again = baseline.Baseline(path, today=DAY)
    _require(not [*baseline.unmatched(again.known, [REPORT])] or known.known, "what was written must match what failed")


SUBJECTS: Mapping[str, Subject] = {
    "protocol lines": Subject(_line, _read_line, (ProtocolError,)),
    "vector files": Subject(_file, _read_file, (VectorError,)),
    "files of deviations": Subject(_deviations, _read_deviations, (BaselineError,)),
    "records": Subject(_record, _read_record, (RecordError,)),
    "replies of workers": Subject(replies.make, replies.read, replies.REFUSALS),
}
