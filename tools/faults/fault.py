"""A fault: the adapter that commits it, and what must be reported."""

import importlib.util
import textwrap
from dataclasses import dataclass

from conformance.calls.limits import Limits

#: Short, so that a hang costs little, and long enough for a busy machine.
QUICK = Limits(startup_seconds=30.0, call_seconds=2.0, memory=1024, processes=24)
#: For frameworks, whose first call may take seconds.
PATIENT = Limits()
TEMPLATE = """\
import {imports}
import numpy as np
from conformance import Adapter
from refimpl.schemes import alibi, rope

adapter = Adapter("fault", framework={framework!r})
{outside}

@adapter.implements("rope.rotate", layout="interleaved", direction="positive")
def faulty(x, positions, **parameters):
    result = rope.rotate(x, positions, **parameters)
{inside}
    return result


@adapter.implements("alibi.slopes")
def healthy(**parameters):
    return alibi.slopes(**parameters, like=np.empty(0))
"""
#: So many seconds nobody else sleeps: by this a process is known that has neither a parent of ours nor an environment.
LASTING = 98_765
IMPORTS = "ctypes, os, resource, signal, subprocess, sys, threading, time, warnings"


@dataclass(frozen=True)
class Fault:
    """What ``rope.rotate`` does (``inside``) or its file (``outside``); what is reported is ``kind``, in which ``words`` occur.

    ``laws`` says that vectors alone can't show it.
    """

    name: str
    kind: str
    words: str
    inside: str = ""
    outside: str = ""
    laws: bool = False
    framework: str = "numpy"
    limits: Limits = QUICK

    @property
    def loads(self) -> bool:
        """Whether there is an adapter to judge."""
        return self.kind != "refused"

    @property
    def runs_here(self) -> bool:
        """Whether the library that it is about is installed."""
        return importlib.util.find_spec(self.framework) is not None

    @property
    def source(self) -> str:
        """The file."""
        inside = textwrap.indent(textwrap.dedent(self.inside).strip(), "    ")
        return TEMPLATE.format(imports=IMPORTS, framework=self.framework, outside=textwrap.dedent(self.outside), inside=inside)
