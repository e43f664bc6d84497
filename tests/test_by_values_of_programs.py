"""What a program is told to declare is written as programs declare it."""

import json

from conformance.calls.outcomes import Diagnosis
from conformance.diagnosis.candidates import known
from conformance.run.by_values import _of_program


def told(name: str) -> Diagnosis:
    (candidate,) = (one for one in known("alibi.bias") if one.name == name)
    return Diagnosis(candidate.names, candidate.does, candidate.should, candidate.fix, kind=candidate.kind)


def test_a_program_declares_a_convention_among_its_restrictions() -> None:
    fix = _of_program(told("alibi.bias/form=symmetric")).fix

    assert fix == f'declare {json.dumps({"form": "symmetric"})} in its "restrictions", or honour the form asked for'


def test_a_mistake_of_a_program_is_mended_like_any_other() -> None:
    assert _of_program(told("alibi.bias/query-index")) == told("alibi.bias/query-index")
