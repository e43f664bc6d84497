"""Two calls that look alike are told apart: by parameters, else by the numbers that differ."""

from dataclasses import replace

import numpy as np
from test_manner_checks import HALF
from test_worker_manners import session, subject, turning

from conformance.calls.outcomes import Errored
from conformance.judge.journal import Call
from conformance.run.causes import Pair, told


def test_long_arrays_that_differ_are_told_by_the_first_number_that_does() -> None:
    _, task = subject(session(turning(np), **HALF))
    positions = np.arange(40)
    call = Call(task, (np.zeros((1, 1, 40, 8)), positions), {"head_dim": 8, "base": 100.0})
    other = replace(call, arrays=(call.arrays[0], np.where(positions > 37, positions + 5, positions)))
    came = Errored("none")

    words = told(Pair(other, call, came, came, came))

    assert words.endswith("; they differ in positions: 2 of 40 numbers, at (38,) 38 after 43")
    assert told(Pair(replace(call, parameters={**call.parameters, "base": 7.0}), call, came, came, came)).endswith("; they differ in base")
