"""What a call leaves changed in its process: the state that all code there shares."""

import codecs
import ctypes
import gc
import locale
import os
import random
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from importlib.machinery import PathFinder
from typing import Any

import numpy as np

from conformance.adapt.arrays import NumPy
from conformance.adapt.results import exact

#: Results beyond this size aren't looked at a second time.
LARGEST = 1 << 20
#: Of so many results it is seen whether they are written to later: buffers are used again after a few calls.
REMEMBERED = 6
#: The bytes of NumPy's usual generator: 624 words, and the place in them.
MERSENNE_TWISTER = 4 * 625
#: So many files more that stay open are told of.
FILES = 64
#: How text that can't be encoded is dealt with.
MISFITS = ("strict", "ignore", "replace", "backslashreplace", "surrogateescape")
SIGNALS = ("SIGALRM", "SIGCHLD", "SIGINT", "SIGPIPE", "SIGTERM", "SIGUSR1", "SIGUSR2")
#: What is loaded into the process, the C library with it.
SYSTEM = ctypes.CDLL(None)
LIMITS = ("RLIMIT_AS", "RLIMIT_CPU", "RLIMIT_DATA", "RLIMIT_FSIZE", "RLIMIT_NOFILE", "RLIMIT_NPROC", "RLIMIT_STACK")

State = Mapping[str, object]


def state() -> State:
    """Return all that is looked at: by name, as something that compares."""
    return {name: _quietly(look) for name, look in LOOKS.items()}


def changed(before: State) -> Iterator[str]:
    """Yield in words what differs from then."""
    now = state()
    if before == now:
        return
    names = [name for name, value in before.items() if name != THREADS and _differs(name, value, now[name])]
    if names:
        yield f"changes global state: {', '.join(names)}"
    if not _as_threads(now[THREADS]) <= _as_threads(before[THREADS]):
        yield "leaves a thread running"


def _differs(name: str, before: object, now: object) -> bool:
    """Whether a look came to something else; of a library imported meanwhile, than what is usual there, where that is known."""
    return bool(before != now and (before is not None or now != USUAL.get(name, now)))


class Kept:
    """The results of the last calls, to see whether they still are what they were."""

    def __init__(self, framework: NumPy) -> None:
        """Keep nothing yet."""
        self.framework = framework
        self.results: list[tuple[object, np.ndarray]] = []
        self.overwritten = False

    def keep(self, returned: list[object], values: list[np.ndarray]) -> None:
        """Look at what was kept, then keep what was returned beside what it held then, unless that can't change or is large."""
        self.overwritten = self.overwritten or any(not equal(exact(result, self.framework)[0], value) for result, value in self.results)
        small = sum(value.size for value in values) <= LARGEST
        kept = [*self.results, *zip(returned, values, strict=True)][-REMEMBERED:] if self.framework.mutable and small else []
        self.results = kept if sum(value.size for _, value in kept) <= LARGEST else kept[-len(values) :]

    def changes(self) -> Iterator[str]:
        """Yield in words that a result had been written to when the next one came."""
        if self.overwritten:
            yield "changes a result after it was returned"


def equal(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two arrays hold the same numbers, NaN being one."""
    return np.array_equal(one, other) or bool(np.array_equal(one, other, equal_nan=one.dtype.kind == "f"))


def difference(name: str, one: np.ndarray, other: np.ndarray) -> str:
    """Return in words that a result came out unequal, and where first."""
    if one.shape != other.shape:
        return f"{name} must be the same for the same call, got shapes {one.shape} and {other.shape}"
    where = first_difference(one, other)
    return f"{name} must be the same for the same call, got {one[where]} and then {other[where]} at {where}"


def first_difference(one: np.ndarray, other: np.ndarray) -> tuple[int, ...]:
    """Return where two unequal arrays of one shape differ first."""
    return tuple(int(i) for i in np.argwhere((one != other) & ~(np.isnan(one) & np.isnan(other)))[0])


def raised(message: str) -> str:
    """Return in words that an exception came where there had been a result."""
    return f"the answer must be the same for the same call, got one and then {message}"


def _quietly(look: Callable[[], object]) -> object:
    try:
        return look()
    except (AttributeError, OSError, TypeError, ValueError) as error:
        return type(error).__name__


def _environment() -> object:
    """Return a copy of the environment as it is kept: its own copy decodes every name and value."""
    return dict(getattr(os.environ, "_data", os.environ))


def _filters() -> object:
    """Return the filters of warnings that are anybody's: libraries add those of their own when they are imported, be it for a gradient."""
    return [each for each in warnings.filters if each[2].__module__ == "builtins"]


def _numpy_random() -> object:
    """Return the state of the legacy generator, which is the global one: of the usual kind as bytes, since an array of it takes long."""
    library: Any = np.random
    generator = library.get_bit_generator()
    if isinstance(generator, np.random.MT19937):
        return ctypes.string_at(generator.ctypes.state_address, MERSENNE_TWISTER)
    return str(generator.state)


def _library(name: str, look: Callable[..., object]) -> Callable[[], object]:
    """Return what looks at a library where it has been imported, and doesn't import it."""
    return lambda: look(sys.modules[name]) if name in sys.modules else None


def _decimal(decimal: Any) -> object:
    """Return how decimal numbers are rounded and what is raised; not which rounding was met, which any arithmetic changes."""
    context = decimal.getcontext().copy()
    context.clear_flags()
    return str(context)


def _torch_modes(torch: Any) -> object:
    """Return what torch asks before it calls a function or a kernel, and what it makes of gradients."""
    functions, kernels = torch.overrides._get_current_function_mode_stack(), torch.utils._python_dispatch._get_current_dispatch_mode_stack()  # noqa: SLF001
    return functions, kernels, torch._C._is_torch_function_enabled(), torch.is_anomaly_enabled()  # noqa: SLF001


def _torch_hooks(torch: Any) -> object:
    """Return the hooks of all modules, and those of what is saved for gradients."""
    hooks = [dict(held) for name, held in vars(torch.nn.modules.module).items() if name.startswith("_global_") and isinstance(held, dict)]
    return hooks, torch._C._autograd._top_saved_tensors_default_hooks(False)  # noqa: SLF001, FBT003


def _torch_backends(torch: Any) -> object:
    """Return which kernels torch takes where there are several."""
    cuda, cudnn = torch.backends.cuda, torch.backends.cudnn
    attention = [cuda.math_sdp_enabled(), cuda.flash_sdp_enabled(), cuda.mem_efficient_sdp_enabled()]
    return torch.backends.mkldnn.enabled, cudnn.enabled, cudnn.benchmark, cudnn.deterministic, attention


def _signals() -> object:
    """Return who handles signals, and which file hears of them; that can only be read by setting it."""
    hears = signal.set_wakeup_fd(-1)
    signal.set_wakeup_fd(hears)
    return hears, [signal.getsignal(getattr(signal, name)) for name in SIGNALS if hasattr(signal, name)]


def _resources() -> object:
    import resource

    return [resource.getrlimit(getattr(resource, name)) for name in LIMITS if hasattr(resource, name)]


def _threads() -> frozenset[int]:
    return frozenset(id(thread) for thread in threading.enumerate())


def _as_threads(value: object) -> frozenset[int]:
    return value if isinstance(value, frozenset) else frozenset()


def _timers() -> object:
    return [signal.getitimer(getattr(signal, name))[0] > 0 for name in ("ITIMER_REAL", "ITIMER_VIRTUAL", "ITIMER_PROF")]


def _mask() -> object:
    """Return which permissions new files lack; it can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _trapped() -> object:
    """Return which floating-point exceptions end the process, where the C library tells."""
    look = getattr(SYSTEM, "fegetexcept", None)
    return look and look()


def _floating() -> object:
    """Return how the processor rounds, to how many digits at most, and whether it keeps subnormal numbers."""
    least, half = sys.float_info.min, sys.float_info.epsilon / 2
    longest = np.longdouble(1)
    return least / 2 > 0.0, 1.0 + half, -1.0 - half, longest + np.finfo(np.longdouble).eps > longest


def _file(number: int) -> Callable[[], object]:
    """Return what looks which file stands under a number, and whether its reader or writer waits."""
    return lambda: (*os.fstat(number)[:3], os.get_blocking(number))


def _outputs() -> object:
    """Return what is printed to, and how: the streams may be closed or replaced, and so may the files below them."""
    streams = [(id(each), *(getattr(each, name, None) for name in ("encoding", "errors", "closed"))) for each in (sys.stdout, sys.stderr)]
    return streams, [_quietly(_file(number)) for number in (1, 2)]


def _files() -> object:
    """Return about how many files are open: a few that a library keeps open change nothing."""
    held = 0
    with suppress(OSError):
        while os.fstat(FILES * (held + 1) - 1):
            held += 1
    return held


class _Names:
    """What stands under each name of some modules and classes: equal where what lasts is the same, since parts are imported late."""

    def __init__(self, names: Iterable[str]) -> None:
        """Copy what the modules hold that have been imported, and a class of one (``module:class``) with all that it inherits."""
        modules = {name: _held(*name.split(":")) for name in names if name.partition(":")[0] in sys.modules}
        self.held = {name: (list(held), list(held.values())) for name, held in modules.items()}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Names) and all(_unpatched(held, other.held.get(name, held)) for name, held in self.held.items())

    __hash__ = None  # type: ignore[assignment]  # it compares, and is no key


def _held(module: str, owner: str = "") -> Mapping[str, object]:
    """Return what stands under the names of a module, or of a class in it."""
    if not owner:
        return vars(sys.modules[module])
    mro = getattr(sys.modules[module], owner).__mro__
    return {name: value for each in reversed(mro) for name, value in vars(each).items()}


def _unpatched(before: tuple[list[str], list[object]], now: tuple[list[str], list[object]]) -> bool:
    """Whether every function is what it was; mostly everything is, which lists see at once."""
    with suppress(ValueError):  # of arrays, which aren't equal or unequal
        if before == now:
            return True
    present = dict(zip(*now, strict=True))
    lasting = ((name, value) for name, value in zip(*before, strict=True) if callable(value) or isinstance(value, float))
    return all(present.get(name, value) is value for name, value in lasting)


class _Modules:
    """What has been imported: equal where what lasts is the same, since more is imported late."""

    def __init__(self) -> None:
        """Copy what there is."""
        self.held = dict(sys.modules)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Modules) and self.held.items() <= other.held.items()

    __hash__ = None  # type: ignore[assignment]  # it compares, and is no key


def _finders() -> object:
    """Return what finds modules before or where Python's own does; what libraries add behind it finds what it doesn't."""
    finders = list(sys.meta_path)
    return finders[: finders.index(PathFinder) + 1] if PathFinder in finders else finders, list(sys.path_hooks)


THREADS = "threads"
LOOKS: Mapping[str, Callable[[], object]] = {
    "the working directory": os.getcwd,
    "the environment": _environment,
    "where modules are searched": lambda: list(sys.path),
    "what finds modules": _finders,
    "imported modules": _Modules,
    "what traces calls": lambda: (sys.gettrace(), sys.getprofile(), threading.gettrace(), threading.getprofile()),
    "how long the text of integers may be": sys.get_int_max_str_digits,
    "the warnings filters": _filters,
    "the random numbers of Python": random.getstate,
    "the random numbers of NumPy": _numpy_random,
    "NumPy's error handling": lambda: (np.geterr(), np.geterrcall(), np.getbufsize()),
    "NumPy's print options": np.get_printoptions,
    "torch's default dtype": _library("torch", lambda torch: str(torch.get_default_dtype())),
    "torch's default device": _library("torch", lambda torch: str(torch.get_default_device())),
    "torch's seed": _library("torch", lambda torch: torch.initial_seed()),
    "torch's deterministic algorithms": _library("torch", lambda torch: torch.are_deterministic_algorithms_enabled()),
    "torch's autocast": _library("torch", lambda torch: [torch.is_autocast_enabled(device) for device in ("cpu", "cuda")]),
    "torch's precision of products": _library("torch", lambda torch: torch.get_float32_matmul_precision()),
    "JAX's 64 bits": _library("jax", lambda jax: jax.config.jax_enable_x64),
    "JAX's configuration": _library("jax", lambda jax: {**jax.config.values, "jax_enable_x64": None}),
    "torch's gradients": _library("torch", lambda torch: (torch.is_grad_enabled(), torch.is_inference_mode_enabled())),
    "torch's modes": _library("torch", _torch_modes),
    "torch's hooks": _library("torch", _torch_hooks),
    "torch's backends": _library("torch", _torch_backends),
    "torch's print options": _library("torch", lambda torch: vars(torch._tensor_str.PRINT_OPTS).copy()),  # noqa: SLF001
    "torch's number of threads": _library("torch", lambda torch: torch.get_num_threads()),
    "names of NumPy": lambda: _Names(("numpy", "numpy.linalg", "numpy.random")),
    "names of torch": lambda: _Names(("torch", "torch:Tensor", "torch.nn:Module", "torch.nn.functional")),
    "names of JAX": lambda: _Names(("jax", "jax.numpy", "jax.lax", "jax.nn")),
    "which floating-point exceptions end the process": _trapped,
    "how numbers are rounded": _floating,
    "decimal numbers": _library("decimal", _decimal),
    "the locale": lambda: locale.setlocale(locale.LC_ALL),
    "garbage collection": lambda: (gc.isenabled(), gc.get_threshold()),
    "when threads are switched": sys.getswitchinterval,
    "how nice the process is": lambda: os.getpriority(os.PRIO_PROCESS, 0),
    "on which processors it runs": lambda: os.sched_getaffinity(0),
    "the recursion limit": sys.getrecursionlimit,
    "permissions of new files": _mask,
    "users and groups": lambda: (os.getresuid(), os.getresgid(), os.getgroups()),
    "standard input": _file(0),
    "how many files are open": _files,
    "what can't be encoded": lambda: [codecs.lookup_error(name) for name in MISFITS],
    "signal handlers": _signals,
    "blocked signals": lambda: signal.pthread_sigmask(signal.SIG_BLOCK, ()),
    "timers": _timers,
    "resource limits": _resources,
    "standard output or error": _outputs,
    THREADS: _threads,
}
#: What libraries come to when they are imported, where that is the same everywhere.
USUAL: Mapping[str, object] = {
    "torch's default dtype": "torch.float32",
    "torch's default device": "cpu",
    "torch's deterministic algorithms": False,
    "torch's autocast": [False, False],
    "torch's precision of products": "highest",
    "torch's gradients": (True, False),
    "JAX's 64 bits": os.environ.get("JAX_ENABLE_X64", "0").lower() in ("1", "true", "t", "yes", "y", "on"),
    "decimal numbers": (
        "Context(prec=28, rounding=ROUND_HALF_EVEN, Emin=-999999, Emax=999999, capitals=1, clamp=0, flags=[], "
        "traps=[InvalidOperation, DivisionByZero, Overflow])"
    ),
}
