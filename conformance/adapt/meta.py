"""Torch modules made as loaders of large models make them: on the meta device, in memory that holds nothing yet, from a checkpoint."""

import functools
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

#: What loaders call once a module has memory, for what no checkpoint holds: torch's FSDP, torchtitan, torchtune, timm, transformers.
AGAIN = ("reset_parameters", "init_weights", "rope_init", "init_non_persistent_buffers", "initialize_weights")


class Loader:
    """What makes the modules of a process, once it watches: each whole, with all that it holds."""

    def __init__(self, torch: Any) -> None:
        """Watch nothing yet."""
        self.torch = torch
        self.making = False

    def watch(self) -> None:
        """Make every module that is built from now on, whatever class it has."""
        module = self.torch.nn.Module

        def defined(kind: Any, /, **words: Any) -> None:
            super(module, kind).__init_subclass__(**words)
            self._watch(kind)

        for kind in {module, *_below(module)}:
            self._watch(kind)
        module.__init_subclass__ = classmethod(defined)
        self.torch.nn.Linear(1, 1)  # what torch imports at the first one is no call's doing

    def _watch(self, kind: Any) -> None:
        if "__init__" not in vars(kind):
            return
        plain = kind.__init__

        @functools.wraps(plain)
        def init(module: Any, *given: Any, **named: Any) -> None:
            begun = self.making or type(module).__init__ is not init or "_parameters" in vars(module)
            if begun or self._has_memory(given, named):
                with self._apart():
                    plain(module, *given, **named)
            else:
                self._make(module, plain, given, named)

        kind.__init__ = init

    def _has_memory(self, *arguments: Any) -> bool:
        """Whether a module is given what was made before: so no loader builds one."""
        made = (self.torch.Tensor, self.torch.nn.Module, Iterator)
        return any(isinstance(each, made) for each in self.torch.utils._pytree.tree_leaves(arguments))  # noqa: SLF001  torch's own way

    def _make(self, module: Any, plain: Any, given: tuple[Any, ...], named: dict[str, Any]) -> None:
        """Build a module without memory, give it some, initialise it again; load what a checkpoint of one that was built plainly holds."""
        torch, device = self.torch, self.torch.empty(0).device
        with self._apart():
            with torch.random.fork_rng(devices=[]), torch.no_grad():
                with torch.device("meta"):
                    plain(module, *given, **named)
                self._empty(module, device)
                for each in reversed(list(module.modules())):
                    _initialise(each)
            if module.state_dict():
                module.load_state_dict(type(module)(*given, **named).state_dict(keep_vars=True), assign=True)

    def _empty(self, module: Any, device: Any) -> None:
        """Give a module memory that holds NaN, and in integers the largest: that is how torch shows what was never written."""
        torch = self.torch
        was = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
        torch.use_deterministic_algorithms(mode=True)
        try:
            module.to_empty(device=device)
        finally:
            torch.use_deterministic_algorithms(was[0], warn_only=was[1])

    @contextmanager
    def _apart(self) -> Iterator[None]:
        """Build plainly what is built meanwhile."""
        was, self.making = self.making, True
        try:
            yield
        finally:
            self.making = was


def _below(kind: Any) -> Iterator[Any]:
    """Yield every class that is derived from one."""
    for each in kind.__subclasses__():
        yield each
        yield from _below(each)


def _initialise(module: Any) -> None:
    """Call what a module has for being initialised again, unless it must be told something."""
    for name in AGAIN:
        again = getattr(module, name, None)
        if callable(again) and _asks_nothing(again):
            again()


def _asks_nothing(method: Any) -> bool:
    try:
        inspect.signature(method).bind()
    except TypeError:
        return False
    return True
