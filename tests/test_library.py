"""What a call replaces in the standard library is told by its name, and is there for that code only."""

import builtins
import json
import os
import pathlib
import socket
import struct
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest

from conformance.isolate.library import Library

TOLD = "changes global state: names of the standard library"
#: Functions, a class, methods of classes, one that is inherited, one of C, one that `import` calls.
FUNCTIONS = {
    "json.dumps": json,
    "json.encoder.JSONEncoder.encode": json.JSONEncoder,
    "os.getpid": os,
    "struct.Struct": struct,
    "socket.socket.send": socket.socket,
    "threading.Thread.start": threading.Thread,
    "pathlib.Path.cwd": pathlib.Path,
    "time.monotonic": time,
    "builtins.sorted": builtins,
    "builtins.__import__": builtins,
    "sys.exit": sys,
}


@pytest.mark.parametrize("value", [None, np.zeros(2)], ids=["by nothing", "by an array"])
@pytest.mark.parametrize(("told", "holder"), FUNCTIONS.items(), ids=FUNCTIONS)
def test_what_is_replaced_is_told_and_put_back(told: str, holder: Any, value: object) -> None:
    library, name = Library(), told.rpartition(".")[2]
    was = getattr(holder, name)

    with library:
        setattr(holder, name, value)

    assert getattr(holder, name) == was
    assert list(library.since({})) == [f"{TOLD} ({told})"]


def test_what_is_deleted_is_told_and_put_back() -> None:
    library, was = Library(), os.getpid
    with library:
        del os.getpid, json.JSONEncoder.encode

    assert os.getpid is was
    assert list(library.since({})) == [f"{TOLD} (json.encoder.JSONEncoder.encode, os.getpid)"]


def test_what_is_replaced_is_there_again_for_who_replaced_it_and_told_once() -> None:
    library, right = Library(), json.dumps
    with library:
        json.dumps = str
    before = library.replaced
    with library:
        seen = json.dumps

    assert seen is str
    assert json.dumps is right
    assert list(library.since(before)) == []


def test_what_is_put_right_again_is_no_replacement_any_more() -> None:
    library, right = Library(), json.dumps
    with library:
        json.dumps = str
    with library:
        json.dumps = right

    assert library.replaced == {}


def test_many_names_are_told_by_some() -> None:
    library = Library()
    with library:
        json.dump = json.dumps = json.load = json.loads = os.getpid = None  # type: ignore[assignment]

    assert list(library.since({})) == [f"{TOLD} (json.dump, json.dumps, json.load and 2 more)"]


def test_a_name_of_numpy_that_is_replaced_is_told_and_put_back() -> None:
    library, right = Library(), np.asarray
    with library:
        np.asarray = None  # type: ignore[assignment]

    assert np.asarray is right
    assert list(library.since({})) == ["changes global state: names of NumPy (numpy.asarray)"]


def test_what_is_no_function_or_private_or_new_or_of_others_is_no_replacement(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library()
    with library:
        monkeypatch.setattr(sys, "argv", [])
        monkeypatch.setattr(json, "_default_encoder", None)
        monkeypatch.setattr(json, "further", np.zeros(2), raising=False)
        monkeypatch.setattr(np.linalg, "norm", np.sin)

    assert library.replaced == {}


def test_a_module_that_is_forgotten_or_replaced_is_told_and_put_back_and_so_again_for_who_did_it() -> None:
    library, had = Library(), sys.modules.copy()
    with library:
        del sys.modules["json"]
        sys.modules["socket"] = sys
        sys.modules["imported late"] = sys

    assert sys.modules == {**had, "imported late": sys}
    assert list(library.since({})) == ["changes global state: imported modules (json, socket)"]
    with library:
        seen = sys.modules.get("json"), sys.modules["socket"]
        sys.modules.update({name: had[name] for name in ("json", "socket")})

    del sys.modules["imported late"]
    assert seen == (None, sys)
    assert sys.modules == had
    assert library.replaced == {}


def test_modules_that_are_all_forgotten_are_put_back() -> None:
    library, modules, had = Library(), sys.modules, sys.modules.copy()
    with library:
        sys.modules.clear()
        sys.modules = {}

    assert sys.modules is modules
    assert sys.modules == had
    assert f" and {len(had) - 3} more)" in next(library.since({}))
