"""From what a person types to an adapter: a bundled name, a file, ``file:object`` or ``module:object``."""

import importlib
import importlib.util
import inspect
import re
import sys
import traceback
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib.machinery import PathFinder
from itertools import takewhile
from pathlib import Path
from types import ModuleType
from typing import Any

from conformance.adapt import signatures
from conformance.adapt.adapter import Adapter, AdapterError, Implementation, near_file, near_miss
from conformance.adapt.arrays import NumPy
from conformance.adapt.frameworks import DISTRIBUTIONS, FRAMEWORKS
from conformance.adapt.results import LARGEST_INTEGER
from conformance.adapt.wording import told
from conformance.protocol.errors import CommandError, ProgramEndedError
from conformance.spec.choices import FILLING, as_several, fills
from conformance.spec.declarations import operations, schemes
from conformance.spec.shown import shown
from refimpl.spec import Operation, Parameter

IMPLEMENTS = "@adapter.implements('OPERATION', ...) says what a function offers"
#: What to write instead, by what an exception says.
MEANT = {
    "'Adapter' object is not callable": IMPLEMENTS,
    "Adapter.implements() takes from 2 to 3 positional arguments": "say by name what restricts it, as layout=..., direction=...",
    "Adapter.__init__() missing 1 required positional argument: 'name'": "write Adapter('NAME', ...)",
    "from 'posenc' (": "posenc has Adapter, Session, Unsupported and assert_conforms",
    "name 'Adapter' is not defined": "write from posenc import Adapter",
    "Adapter.implements() missing": "make one first, adapter = Adapter('NAME'), and write @adapter.implements('OPERATION', ...)",
}
#: What Python says of a function that is called without its arguments.
MISSING = re.compile(r"(\w+)\(\) missing \d+ required")
RELATIVE = "attempted relative import with no known parent"
#: What else a declaration says by keyword.
DECLARED = tuple(each.name for each in inspect.signature(Adapter.implements).parameters.values() if each.kind is each.KEYWORD_ONLY)
#: What stands below is run where a file is a program, and not where it is imported.
AS_PROGRAM = re.compile(r"^if __name__ *==", re.MULTILINE)
#: Bundled adapters by name; a module must not be called like the library that it adapts.
BUNDLED = {
    "numpy": "conformance.adapters.numpy_reference",
    "array_api_strict": "conformance.adapters.array_api_strict_reference",
    "ggml": "conformance.adapters.ggml_kernels",
    "mlx": "conformance.adapters.mlx_layers",
    "mlx_lm": "conformance.adapters.mlx_lm_models",
    "transformers": "conformance.adapters.transformers_models",
    "transformers4": "conformance.adapters.transformers4_models",
    "equinox": "conformance.adapters.equinox_layers",
    "vllm": "conformance.adapters.vllm_models",
    "torchtune": "conformance.adapters.torchtune_layers",
    "litgpt": "conformance.adapters.litgpt_layers",
    "keras_hub": "conformance.adapters.keras_hub_configured",
    "sglang": "conformance.adapters.sglang_models",
}

#: Parameters that say how long an axis of another name is, and what is the longest axis that arrays are made of here.
COUNTING = ("axes", "num_heads", "rotary_dim")
LARGEST_SIZE = 1 << 16

#: How many files of a directory are named.
FEW = 5
#: What a target that is a program starts with.
COMMAND = "command:"
#: What a target starts with that is judged by a configuration: ``config:FILE.json:TARGET``.
CONFIGURATION = "config:"


class TargetError(Exception):
    """The target can't be used, and why, in one line."""


class LibraryMissing(TargetError):  # noqa: N818  a circumstance, not a mistake
    """The target needs a library that isn't installed."""


def load(target: str) -> Adapter:
    """Return the adapter that the target names, checked against the operations that exist."""
    path, plain = configured(target)
    adapter = _adapter(plain)
    if not adapter.implementations:
        message = f"{target} must offer at least one operation, got an adapter without implementations: {IMPLEMENTS}"
        raise TargetError(message)
    adapter = _without_configuration(adapter, plain) if path is None else _by_configuration(adapter, path)
    verify(adapter, f"{plain}: ")
    return adapter


def configured(target: str) -> tuple[Path | None, str]:
    """Return the configuration by which a target is judged, if there is one, and the target."""
    path, ending, plain = target.removeprefix(CONFIGURATION).partition(".json:")
    return (Path(f"{path}.json"), plain) if target.startswith(CONFIGURATION) and ending else (None, target)


def _by_configuration(adapter: Adapter, path: Path) -> Adapter:
    from conformance.adapt.configured import ConfigurationError, by_configuration

    try:
        return by_configuration(adapter, path)
    except ConfigurationError as error:
        raise TargetError(str(error)) from error


def _without_configuration(adapter: Adapter, target: str) -> Adapter:
    """Return an adapter without what only a configuration can judge."""
    found = [one for one in adapter.implementations if not str(one.operation).startswith("config.")]
    if not found:
        message = f"{target} must be judged by a configuration, `posenc check {target} --config CONFIG.json`, got none"
        raise TargetError(message)
    return adapter if len(found) == len(adapter.implementations) else replace(adapter, implementations=found)


def verify(adapter: Adapter, place: str = "") -> None:
    """Raise ``TargetError`` where an adapter names an operation, parameter or value that doesn't exist, or one thing twice.

    ``place`` says where the adapter stands, before what names no function.
    """
    known = set[tuple[str, str, str]]()
    for implementation in adapter.implementations:
        try:
            _check_declared(implementation)
        except TargetError as error:
            message = f"{place}{error}"
            raise TargetError(message) from error
        _check_function(implementation)
        names = {(implementation.label, implementation.operation, dtype) for dtype in implementation.dtypes}
        if names & known:
            told = f"{implementation.label!r} twice for {implementation.operation}: give one of them a label=... of its own"
            message = f"{place}label must differ between implementations of one operation, got {told}"
            raise TargetError(message)
        known |= names


def framework(adapter: Adapter) -> NumPy:
    """Return the adapter's array library, or raise ``LibraryMissing``."""
    return library(adapter.framework, adapter.device)


def library(name: str, device: str | None = None) -> NumPy:
    """Return the array library of a name, or raise ``LibraryMissing``."""
    try:
        return FRAMEWORKS[name](device)
    except ModuleNotFoundError as error:
        raise LibraryMissing(_needs(name, error)) from error


def _adapter(target: str) -> Adapter:
    if target in BUNDLED:
        return _named(target, _imported(target, lambda: importlib.import_module(BUNDLED[target])), "adapter")
    if target.startswith(COMMAND):
        return _program(target.removeprefix(COMMAND))
    if _names_a_file(target):
        return _only(target, _imported(target, lambda: _execute(Path(target))))
    if target and Path(target).is_dir():
        files = sorted(path.name for path in Path(target).glob("*.py"))
        package = f": a module of the package is taken as {Path(target).name}.MODULE:adapter" if "__init__.py" in files else ""
        message = f"target must be a file, got the directory {target}, which has {_few(files) or 'no *.py'}{package}"
        raise TargetError(message)
    place, colon, name = target.rpartition(":")
    if colon and place and name:
        return _named(target, module(place), name)
    known = f"a file, file:object, module:object or one of {', '.join(BUNDLED)}"
    message = f"target must be {known}, got {target!r}{_meant_by(target)}"
    raise TargetError(message)


def _names_a_file(name: str) -> bool:
    """Whether a name is that of a Python file, or of any that is there; a name that no file can have is refused."""
    try:
        return Path(name).is_file() or name.endswith(".py")
    except OSError as error:
        message = f"target must have a name that its folder can hold, got {shown(name)}"
        raise TargetError(message) from error


def _meant_by(target: str) -> str:
    """Return what a target may be meant as: an object of a module that is here or installed, which no misspelt adapter is."""
    if target in operations():
        return f", an operation: `posenc check TARGET --operation {target}` judges a target by it, `posenc show {target}` says what it is"
    if target in FRAMEWORKS:
        return f", a framework: `posenc init NAME --framework {target}` writes an adapter of yours to fill in"
    parts = target.split(".")
    if all(map(str.isidentifier, parts)) and (len(parts) > 1 or not Path(f"{target}.py").is_file()):
        spec = importlib.util.find_spec(parts[0])
        folders = [Path(each).parent for each in (spec and spec.submodule_search_locations) or ()]
        for folder in (Path.cwd(), *folders):
            for count in range(len(parts), 0, -1):
                place = folder.joinpath(*parts[:count])
                file = next(filter(Path.is_file, (place.with_suffix(".py"), place / "__init__.py")), None)
                if file is not None:
                    return _inside(".".join(parts[:count]), ".".join(parts[count:]) or "adapter", file)
    defined = re.compile(rf"^(def|class) {re.escape(target)}\b", re.MULTILINE)
    here = sorted(_files_here())
    with_it = next((name for name in here if defined.search(Path(name).read_text(encoding="utf-8", errors="replace"))), None)
    return f" (did you mean {with_it}:{target}?)" if with_it else near_miss(target, [*BUNDLED, *here])


def _inside(module_: str, name: str, file: Path) -> str:
    """Return the object of a module that a target may be meant as, if the module's text has a word of that name."""
    if re.search(rf"\b{name.partition('.')[0]}\b", file.read_text(encoding="utf-8", errors="replace")):
        return f" (did you mean {module_}:{name}?)"
    return f", and {module_} has no {name}: name what is meant in it, as {module_}:NAME, or write an adapter with `posenc init NAME`"


def _few(names: list[str]) -> str:
    return f"{', '.join(names[:FEW])}{f' and {len(names) - FEW} more' if len(names) > FEW else ''}"


def _files_here() -> list[str]:
    return [path.name for path in Path.cwd().glob("*.py")]


def module(name: str) -> ModuleType:
    """Return the module that a file or a dotted name holds, or raise ``TargetError``."""
    if _names_a_file(name):
        return _imported(name, lambda: _execute(Path(name)))
    if name.startswith("."):
        message = f"target must name a module from its outermost package on, got {name!r}"
        raise TargetError(message)
    _search_here()
    return _imported(name, lambda: importlib.import_module(name))


def _program(words: str) -> Adapter:
    from conformance.protocol import command

    try:
        return command.adapter(words)
    except (AdapterError, CommandError) as error:
        raise TargetError(str(error)) from error
    except ProgramEndedError as error:
        message = f"command {words!r} must answer describe, got nothing usable: {error}"
        raise TargetError(message) from error


def _execute(path: Path) -> ModuleType:
    if path.exists() or path.is_symlink():
        kind = "" if path.is_file() else "a folder" if path.is_dir() else "no regular file" if path.exists() else "a link to nothing"
        message = f"target must be a regular file, got {path}, {kind}"
    else:
        kind, message = "missing", f"target must be a file that exists, got {path}{near_file(path)}"
    if kind:
        raise TargetError(message)
    sys.path.insert(0, str(path.resolve().parent))
    name = f"posenc_target_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        explained = "`posenc explain` says what a configuration means, and --config judges an adapter by it"
        hint = f" ({explained})" if path.suffix == ".json" else ""
        message = f"target must be a Python file, got {path}{hint}"
        raise TargetError(message)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _search_here() -> None:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)


def _imported(target: str, action: Callable[[], ModuleType]) -> ModuleType:
    try:
        return action()
    except TargetError:
        raise
    except AdapterError as error:
        message = f"{target}: {error}"
        raise TargetError(message) from error
    except ModuleNotFoundError as error:
        if target not in BUNDLED and f"{target}.".startswith(f"{error.name}."):
            message = f"target must name a module that exists, got {target!r}"
            raise TargetError(message) from error
        raise LibraryMissing(_needs(target, error)) from error
    except ImportError as error:
        kind = LibraryMissing if target in BUNDLED else TargetError
        raise kind(_broken(target, error)) from error
    except (Exception, SystemExit) as error:
        raise TargetError(_broken(target, error)) from error


def _needs(who: str, error: ModuleNotFoundError) -> str:
    missing = (error.name or who).split(".", 1)[0]
    beside = near_miss(missing, [path.stem for path in Path(who).parent.glob("*.py")]) if Path(who).is_file() else ""
    if beside:
        return f"{who} needs {missing}{beside}"
    if str(Path(traceback.__file__).parent) not in sys.path:
        return f"{who} must leave Python's own modules where they are searched (sys.path), and then needs {missing}"
    if who in BUNDLED or missing in FRAMEWORKS:
        return f"{who} needs {missing}: pip install {DISTRIBUTIONS.get(missing, missing)}"
    return f"{who} needs the module {missing}, which isn't installed"


def _broken(target: str, error: BaseException) -> str:
    own = list[traceback.FrameSummary]()
    with suppress(OSError):  # of a working folder that the target has left, and that is gone
        file = Path(target).resolve()
        own = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename) == file]
    hints = (meant for words, meant in MEANT.items() if words in str(error))
    hint = next(hints, "") or _called(own, error) or _of_place(Path(target), error)
    return f"{target} can't be imported: {told(error)}{f' (line {own[-1].lineno})' if own else ''}{f': {hint}' if hint else ''}"


def _called(own: Sequence[traceback.FrameSummary], error: BaseException) -> str:
    """Return what to write where a function is called in the declaration that it should be given to."""
    found = MISSING.match(str(error))
    if not own or found is None or "implements(" not in (own[-1].line or ""):
        return ""
    return f"give the function itself, {found[1]} without parentheses"


def _of_place(path: Path, error: BaseException) -> str:
    """Return what to do where a file can't be imported for its place: it belongs to a package, or hides a module of its own name."""
    if not path.is_file():
        return ""
    path = path.resolve()
    if RELATIVE in str(error):
        packages = list(takewhile(lambda folder: (folder / "__init__.py").is_file(), path.parents))
        if not packages:
            return "the file belongs to no package here: write the module's name without a dot"
        name = ".".join(reversed([path.stem, *(folder.name for folder in packages)]))
        return f"in {packages[-1].parent}, {name}:adapter names it within its package"
    run = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.name == "<module>" and Path(frame.filename) == path]
    elsewhere = [each for each in sys.path if Path(each).resolve() != path.parent]
    if len(run) > 1 and PathFinder.find_spec(path.stem, elsewhere):
        return f"it is imported in place of the module {path.stem}: rename the file"
    return ""


def _named(target: str, module: ModuleType, name: str) -> Adapter:
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            message = f"{target} must name an object that exists, got no {part!r}{_meant_in(found, part)}"
            raise TargetError(message)
        found = getattr(found, part)
    if not isinstance(found, Adapter):
        hint = f": `posenc identify {target}` says what it is, and writes its adapter" if callable(found) else ""
        message = f"{target} must be a posenc.Adapter, got {type(found).__name__}{hint}"
        raise TargetError(message)
    return found


def _meant_in(place: Any, name: str) -> str:
    """Return what a name may be meant as in a module or an object: one of its adapters, if it has any."""
    adapters = sorted(each for each, value in getattr(place, "__dict__", {}).items() if isinstance(value, Adapter))
    if len(adapters) == 1:
        return f" (did you mean {adapters[0]}?)"
    return near_miss(name, adapters or dir(place)) or (f": its adapters are {', '.join(adapters)}" if adapters else "")


def _only(target: str, module: ModuleType) -> Adapter:
    found = {id(value): name for name, value in vars(module).items() if isinstance(value, Adapter)}
    if isinstance(adapter := getattr(module, "adapter", None), Adapter):
        adapter.unjudged = tuple(name for each, name in found.items() if each != id(adapter))
        return adapter
    if not found:
        unread = "what stands below `if __name__ == ...` isn't run when the file is imported; " if _is_program(target) else ""
        hint = f"{unread}`posenc identify {target}:FUNCTION` writes one for a function, `posenc init NAME` one to fill in"
        message = f"{target} must define adapter = Adapter(...), got none: {hint}"
        raise TargetError(message)
    if len(found) > 1:
        names = sorted(found.values())
        message = f"{target} must define one Adapter, or one named adapter, got {', '.join(names)}: take one as {target}:{names[0]}"
        raise TargetError(message)
    return _named(target, module, next(iter(found.values())))


def _is_program(target: str) -> bool:
    """Whether a part of a file is run only where it is a program, and makes an adapter."""
    below = AS_PROGRAM.split(Path(target).read_text(encoding="utf-8", errors="replace"), maxsplit=1)[1:]
    return any("Adapter(" in text for text in below)


def _check_declared(implementation: Implementation) -> None:
    """Raise where an operation doesn't exist, or isn't restricted by its parameters and their values."""
    name = implementation.operation
    if not isinstance(name, str) or name not in operations():
        message = f"operation must be one of those that 'posenc list' shows, got {shown(name)}{_operation_meant(name)}"
        raise TargetError(message)
    verify_restrictions(operations()[name], implementation.restrictions)


def _check_function(implementation: Implementation) -> None:
    """Raise where a function can't be called as its declaration says."""
    operation, declared = operations()[implementation.operation], implementation.restrictions
    single = {each for each, allowed in declared.items() if callable(allowed) or len(_values(operation.parameters[each], allowed)) == 1}
    known = single if implementation.when is None else operation.parameters
    complaint = signatures.complaint(operation, implementation.function, implementation.form, known)
    if complaint is not None:
        raise TargetError(complaint)


def _operation_meant(name: Any) -> str:
    """Return a name that is close; of a scheme that is called otherwise, the one whose summary has the word, as rotary is rope's."""
    scheme, _, rest = name.partition(".") if isinstance(name, str) else ("", "", "")
    if scheme in schemes() and not rest:
        return f" (it has {', '.join(each for each in operations() if each.startswith(f'{scheme}.'))})"
    of_word = [each.name for each in schemes().values() if scheme and scheme not in schemes() and scheme.lower() in each.summary.lower()]
    return near_miss(f"{of_word[0]}.{rest}" if of_word and rest else name, operations())


def verify_restrictions(operation: Operation, restrictions: Mapping[str, object]) -> None:
    """Raise ``TargetError`` where one is of no parameter, or of a value that the parameter can't have."""
    known = operation.parameters
    for parameter, allowed in restrictions.items():
        if parameter not in known:
            wrong = ", ".join(f"{each!r}{_declared(each, known)}" for each in restrictions if each not in known)
            listed = "" if "did you mean" in wrong else f": 'posenc show {operation.name}' lists what else may be declared"
            message = f"{operation.name} must be restricted by {', '.join(known)}, got {wrong}{listed}"
            raise TargetError(message)
        _check_values(operation, known[parameter], allowed)
    for parts in FILLING:
        if parts in known and not callable(restrictions.get(parts, callable)) and not callable(restrictions.get("head_dim", callable)):
            _check_filled(operation, parts, restrictions)


def _declared(name: str, known: Collection[str]) -> str:
    """Return what a name may be meant as: a parameter, or else what all operations are declared with."""
    return signatures.meant(name, known) or near_miss(name, DECLARED, cutoff=0.85)


def _check_filled(operation: Operation, name: str, restrictions: Mapping[str, object]) -> None:
    """Raise where parts and the head that they fill are declared by values of which no two fit."""
    parts: list[Any] = list(_values(operation.parameters[name], restrictions[name]))
    widths: list[Any] = list(_values(operation.parameters["head_dim"], restrictions["head_dim"]))
    if not any(fills(name, each, width) for each in parts for width in widths):
        channels = FILLING[name]
        whole = "half of head_dim" if channels > 1 else "head_dim"
        sizes = " or ".join(str(width // channels) for width in widths)
        message = f"{operation.name}: {name} must add up to {whole} ({sizes}), got {' and '.join(map(str, parts))}"
        raise TargetError(message)


def _check_values(operation: Operation, parameter: Parameter, allowed: object) -> None:
    if callable(allowed):
        return
    if isinstance(allowed, set | frozenset | list | tuple) and not allowed and parameter.default != ():
        message = f"{operation.name}: {parameter.name} must be restricted to some value, got {shown(allowed)}"
        raise TargetError(message)
    for value in _values(parameter, allowed):
        largest = LARGEST_SIZE if _counts(operation, parameter.name) else LARGEST_INTEGER
        for number in value if isinstance(value, tuple) else (value,):
            if isinstance(number, int) and abs(number) > largest:
                message = f"{operation.name}: {parameter.name} must be at most {largest} in what is judged, got {shown(number)}"
                raise TargetError(message)
        try:
            parameter.check(value)
        except ValueError as error:
            word = value if isinstance(value, str) and parameter.choices else ""
            hint = _convention(operation, parameter.name, word) or near_miss(word, parameter.choices) or _meanings(operation, parameter)
            message = f"{operation.name}: {error}{hint}"
            raise TargetError(message) from error


def _convention(operation: Operation, parameter: str, word: str) -> str:
    """Return which values of a parameter have a name in the words of the scheme, as half is GPT-NeoX's and negative is clockwise."""
    plain = _letters(word)
    every = schemes()[operation.name.partition(".")[0]].conventions if len(plain) > 2 else {}
    told = {name.partition("=")[2]: meaning for name, meaning in every.items() if name.startswith(f"{parameter}=")}
    found = [f"{value} is {meant}" for value, meaning in told.items() if (meant := _meant(plain, meaning))]
    return f" ({', '.join(found)}: `posenc show {operation.name}`)" if found else ""


def _meant(word: str, meaning: str) -> str:
    """Return whose a meaning is by a word, where it names code that has the word in its name, or the word itself that it begins with."""
    words = [each.strip(".,;:()`") for each in meaning.split()]
    names = (each for i, each in enumerate(words) if word in _letters(each) and each[i == 0 :].lower() != each[i == 0 :])
    return next((f"{name}'s" for name in names), word if word == _letters(words[0]) else "")


def _meanings(operation: Operation, parameter: Parameter) -> str:
    """Return where it is said what the values of a parameter mean, of which there are several."""
    return f": `posenc show {operation.name}` says what they mean" if parameter.choices else ""


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower()))


def _counts(operation: Operation, parameter: str) -> bool:
    """Whether arrays have as many entries along an axis as a parameter says, or as it allows distances."""
    axes = {axis for shapes in (*operation.arrays.values(), *operation.results.values()) for axis in shapes.split()}
    return parameter in COUNTING or parameter in axes or (parameter == "max_distance" and "row" in axes)


def _values(parameter: Parameter, allowed: object) -> Collection[object]:
    """Return the values that a restriction allows; as data has it, a tuple is a list."""
    if parameter.kind is tuple and isinstance(allowed, list | tuple):
        return [tuple(each) if isinstance(each, list) else each for each in as_several(allowed)]
    return allowed if isinstance(allowed, set | frozenset | list | tuple) else (allowed,)


def plain_restrictions(restrictions: Mapping[str, object]) -> dict[str, object]:
    """Return the restrictions that data can say: values and collections of values, no predicates."""
    return {
        name: _listed(allowed) if isinstance(allowed, set | frozenset | list | tuple) else allowed
        for name, allowed in restrictions.items()
        if not callable(allowed)
    }


def _listed(allowed: Collection[object]) -> list[object]:
    """Return values in their order, or where they have none, sorted."""
    return sorted(allowed, key=repr) if isinstance(allowed, set | frozenset) else list(allowed)
