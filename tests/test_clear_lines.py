"""What an adapter or a file may hold that no code expects is told in one clear line: the thing, the rule, and what came, cut short."""

import json
from pathlib import Path

import numpy as np
import pytest

from conformance.calls.outcomes import Crashed, Failed, Outcome, Reason
from conformance.calls.subject import CallFailedError
from conformance.identify import inside
from conformance.isolate import targets
from conformance.isolate.session import Session
from conformance.isolate.targets import TargetError
from conformance.isolate.worker import Worker
from conformance.protocol import lines as protocol
from conformance.protocol.errors import ProtocolError
from conformance.reports import lines as records
from conformance.run import check
from conformance.show import baseline
from tools.faults.fault import Fault
from tools.soak.subjects import RECORD, REPORT

SOURCE = """\
import functools, math, operator
from pathlib import Path
import numpy as np
from conformance import Adapter
from refimpl.schemes import alibi, axial_rope, rope

class Called:
    def __call__(self, **parameters):
        return slopes(**parameters)

class Lying(Called):
    __signature__ = 5

class Raising(Called):
    @property
    def __signature__(self):
        return 1 / 0

class Guarded(Called):
    def __getattr__(self, name):
        raise RuntimeError(name)

class Closed(Called):
    def __getattribute__(self, name):
        raise SystemExit(3)

def slopes(**parameters):
    return alibi.slopes(**parameters, like=np.empty(0))

def offered(function=slopes, operation="alibi.slopes", **declared):
    adapter.implements(operation, **declared)(function)

adapter = Adapter("mine")
"""
ITSELF = "pass the function itself, not what a call of it returns"
NAMES = "dtypes must be the name of a dtype or several, as 'bfloat16' or ('float32', 'bfloat16'),"
LONG = "an integer of 1329 bits"
OF_HEADS = "such as implements('alibi.slopes', call='f(num_heads)'), got self, parameters: pass the method of an object"
KEYWORDS = "the keywords num_heads, max_bias, slopes (or **_ for the rest)"
CALLED = SOURCE.partition("    def __call__")[0].count("\n") + 1
AS_IT_IS = "be called as it is, which call='f(...)' declares"


def written(folder: Path, lines: str) -> str:
    path = folder / "mine.py"
    path.write_text(SOURCE + lines, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("Adapter(5)", "name must be text that can be printed, of at most 200 characters, got 5"),
        ("Adapter(None)", "name must be text that can be printed, of at most 200 characters, got None"),
        ("Adapter(['mine'])", "name must be text that can be printed, of at most 200 characters, got ['mine']"),
        ("Adapter(10**400)", f"name must be text that can be printed, of at most 200 characters, got {LONG}"),
        ("Adapter(10**6000)", "name must be text that can be printed, of at most 200 characters, got an integer of 19932 bits"),
        ("Adapter(Path('mine'))", "name must be text that can be printed, of at most 200 characters, got PosixPath('mine')"),
        ("Adapter('mine', version=1.0)", "version must be text that can be printed, of at most 200 characters, got 1.0"),
        ("Adapter('mine', device=0)", "device must be text that can be printed, of at most 200 characters, got 0"),
        ("Adapter('mine', dtypes=())", f"{NAMES} got ()"),
        ("Adapter('mine', dtypes=np.float32)", f"{NAMES} got <class 'numpy.float32'>"),
        ("Adapter('mine', profile=5)", "profile must be a profile, or one per dtype, got 5"),
        ("Adapter('mine', rejects_bad_input='no')", "rejects_bad_input must be True or False, got 'no'"),
        ("Adapter('mine', modifies_inputs=1)", "modifies_inputs must be True or False, got 1"),
        ("offered(label=5)", "label must be text that can be printed, of at most 200 characters, got 5"),
        ("offered(operation=['alibi.slopes'])", "operation must be text, got ['alibi.slopes']"),
        ("adapter.implements(slopes)", "operation must be text, got a function: @adapter.implements(OPERATION) is written with one"),
        ("offered(when=5)", "when must be callable, got 5"),
        ("offered(None)", f"function must be callable, got None: {ITSELF}"),
        ("offered('slopes')", f"function must be callable, got 'slopes': {ITSELF}"),
        ("offered(operation='rope.rotate', masked='yes')", "rope.rotate: masked must be True or False, got 'yes'"),
        (
            "offered(operation='rope.rotate', lowest=10**400)",
            f"rope.rotate: lowest must be between -1152921504606846976 and 1152921504606846976, got {LONG}",
        ),
    ],
)
def test_an_adapter_of_other_types_is_told_what_must_be(line: str, complaint: str, tmp_path: Path) -> None:
    with pytest.raises(TargetError) as refusal:
        targets.load(written(tmp_path, line))

    assert str(refusal.value).split(".py: ", 1)[1] == complaint


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("offered(num_heads=10**400)", f"alibi.slopes: num_heads must be at most 65536 in what is judged, got {LONG}"),
        ("offered(num_heads=[2, 10**12])", "alibi.slopes: num_heads must be at most 65536 in what is judged, got 1000000000000"),
        ("offered(max_bias=10**400)", f"alibi.slopes: max_bias must be at most 9223372036854775807 in what is judged, got {LONG}"),
        ("offered(num_heads=())", "alibi.slopes: num_heads must be restricted to some value, got ()"),
        ("offered(num_heads={2: 3})", "alibi.slopes: num_heads must be an int, got {2: 3}"),
        ("offered(num_heads=np.int64(4))", "alibi.slopes: num_heads must be an int, got np.int64(4)"),
        (
            "offered(math.sin)",
            f"sin must be a function of {KEYWORDS}, or {AS_IT_IS}, got x",
        ),
        (
            "offered(Called.__call__)",
            f"Called.__call__ (mine.py:{CALLED}) must be a function of {KEYWORDS}, or be called as it is, {OF_HEADS}",
        ),
        ("offered(Called)", "Called must be given as an object that is called, Called(), got the class"),
    ],
)
def test_a_declaration_that_cannot_be_judged_is_told_why(line: str, complaint: str, tmp_path: Path) -> None:
    path = written(tmp_path, line)
    with pytest.raises(TargetError) as refusal:
        targets.load(path)

    assert str(refusal.value).removeprefix(f"{path}: ") == complaint


def test_one_tuple_of_widths_is_a_restriction_too(tmp_path: Path) -> None:
    line = "offered(lambda x, positions, **_: axial_rope.rotate(x, positions, **_), 'axial_rope.rotate', axes=(4, 4))"

    (implementation,) = targets.load(written(tmp_path, line)).implementations
    assert implementation.restrictions == {"axes": (4, 4)}


CALLABLES = {
    "a lambda": "lambda **parameters: slopes(**parameters)",
    "a partial": "functools.partial(slopes)",
    "a class with a call": "Called()",
    "a signature that is none": "Lying()",
    "a signature that raises": "Raising()",
    "an attribute that raises": "Guarded()",
    "attributes that all end the process": "Closed()",
    "a cached function": "functools.lru_cache(slopes)",
    "a wrapped builtin": "functools.wraps(max)(slopes)",
}


@pytest.mark.parametrize("function", CALLABLES.values(), ids=CALLABLES)
def test_a_callable_without_a_plain_signature_is_called(function: str, tmp_path: Path) -> None:
    adapter = targets.load(written(tmp_path, f"offered({function})"))

    reply, (values,) = Worker(adapter, targets.framework(adapter)).answer(
        {"index": 0, "dtype": "float32", "parameters": {"num_heads": 4, "max_bias": 8.0}}, []
    )
    assert reply["status"] == "ok"
    assert values.tolist() == [0.25, 0.0625, 0.015625, 0.00390625]


def test_a_callable_whose_attributes_raise_is_described_for_identify(tmp_path: Path) -> None:
    target = written(tmp_path, "mine = Guarded()")

    assert inside.undeclared(f"{target}:mine").describe()["alone"] is True


FAILING = {
    "max": "TypeError",
    "functools.singledispatch(slopes)": "TypeError",
    "operator.itemgetter(0)": "TypeError",
    "functools.partial(max, 1)": "TypeError",
    "np.vectorize(slopes)": "SpecificationError: num_heads must be an int, got np.int64(4)",
    "(lambda **_: (yield 1))": "got generator: return the array, don't yield it",
}


@pytest.mark.parametrize("function", FAILING)
def test_a_callable_that_takes_something_else_fails_in_its_call_alone(function: str, tmp_path: Path) -> None:
    adapter = targets.load(written(tmp_path, f"offered({function})"))

    reply, _ = Worker(adapter, targets.framework(adapter)).answer(
        {"index": 0, "dtype": "float32", "parameters": {"num_heads": 4, "max_bias": 8.0}}, []
    )
    assert reply["status"] in ("error", "malformed", "misfit")
    assert any(word in reply["message"] for word in FAILING[function].split("|"))


DIGITS = "9" * 400


@pytest.mark.parametrize("field", ["size", "examples", "farthest", "seconds"])
def test_an_integer_of_four_hundred_digits_in_a_record_is_told_with_its_length(field: str, tmp_path: Path) -> None:
    lines = [json.dumps(line) for line in RECORD]
    lines[1] = json.dumps({**RECORD[1], field: 0}).replace(f'"{field}": 0', f'"{field}": {DIGITS}')
    path = tmp_path / "record.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")

    with pytest.raises(records.RecordError, match=r":2 must be a JSON object, .* \(integers must have at most 19 digits, got 400\)$"):
        records.read(path)


@pytest.mark.parametrize("digits", [DIGITS, "9" * 5_000, f"-{DIGITS}"], ids=["400", "5000", "-400"])
def test_an_integer_of_hundreds_of_digits_on_a_line_is_told_with_its_length(digits: str) -> None:
    line = f'{{"id": {digits}, "replies": [{{"unsupported": ""}}]}}'.encode()

    with pytest.raises(ProtocolError, match=rf"integers must have at most 19 digits, got {len(digits.lstrip('-'))}$"):
        protocol.message("call_reply", line)


def test_an_integer_of_four_hundred_digits_in_a_file_of_deviations_is_told(tmp_path: Path) -> None:
    path = tmp_path / "known.yaml"
    path.write_text(f"format: {DIGITS}\ndeviations: []\n", encoding="utf-8")

    with pytest.raises(baseline.BaselineError, match="must obey the schema of deviations") as refusal:
        baseline.read(path)

    assert len(str(refusal.value)) < 500


def ending(target: str, **changed: object) -> Outcome:
    arrays = (np.full((1, 1, 2, 4), 0.5), np.array([3, 9]))
    parameters = {"head_dim": 4, "base": 100.0, "layout": "interleaved", "direction": "positive"}
    with Session(target) as session, pytest.raises(CallFailedError) as caught:
        session.request(session.implementations[0], "float32", arrays, {**parameters, **changed})
    return caught.value.outcome


RETURNED = {
    "uint64 beyond 64 signed bits": (
        "np.full(4, 2**63, np.uint64)",
        "a result of uint64 must hold at most 9223372036854775807, got 9223372036854775808",
    ),
    "long double": ("result.astype(np.longdouble)", "a result must hold real numbers of at most 64 bits or integers, got float128"),
    "complex": ("result.astype(complex)", "a result must hold real numbers of at most 64 bits or integers, got complex128"),
    "objects": ("result.astype(object)", "a result must hold real numbers of at most 64 bits or integers, got object"),
    "structures": ("np.zeros(3, [('x', 'f4')])", "a result must hold real numbers of at most 64 bits or integers, got void32"),
    "dates": ("np.zeros(3, 'M8[s]')", "a result must hold real numbers of at most 64 bits or integers, got datetime64[s]"),
    "an integer of 400 digits": ("10**400", f"a result that is an integer must be within 9223372036854775807, got {LONG}"),
    "a negative one": ("-(10**400)", f"a result that is an integer must be within 9223372036854775807, got {LONG}"),
}


@pytest.mark.parametrize("returned", RETURNED)
def test_a_result_that_cannot_be_sent_says_the_limit_that_it_met(returned: str, tmp_path: Path) -> None:
    source, complaint = RETURNED[returned]
    path = tmp_path / "returning.py"
    path.write_text(Fault("returns", "", "", f"return {source}").source, encoding="utf-8")

    assert ending(str(path)) == Failed(Reason.MALFORMED, complaint)


def test_a_description_longer_than_a_header_says_the_limit(tmp_path: Path) -> None:
    target = written(tmp_path, "for number in range(9_000):\n    offered(label=f'{number}' + 'x' * 190)")

    with Session(target) as session, pytest.raises(TargetError, match="a header must have at most 4194304 bytes, got"):
        session.implementations  # noqa: B018  reading starts the worker


DESCRIBED = """
first = (HERE / "described").exists()
(HERE / "described").touch()
adapter = Adapter("mine"{name})
@adapter.implements("rope.rotate", layout="interleaved"{declared})
def rotate(x, positions, **parameters):
    if not first:
        os._exit(3)
    return rope.rotate(x, positions, **parameters)
{further}
"""
OTHERWISE = {
    "another label": {"declared": ", label='a' if first else 'b'"},
    "other dtypes": {"declared": ", dtypes=('float32', 'float64') if first else ('float32',)"},
    "other restrictions": {"declared": ", head_dim=4 if first else 8"},
    "another implementation": {
        "further": "if first:\n    offered(slopes)"
    },
    "another version": {"name": ", version='1' if first else '2'"},
}


@pytest.mark.parametrize("otherwise", OTHERWISE)
def test_a_worker_that_describes_itself_otherwise_is_never_taken_for_the_first(otherwise: str, tmp_path: Path) -> None:
    said = {"name": "", "declared": "", "further": "", **OTHERWISE[otherwise]}
    target = written(tmp_path, f"import os\nHERE = Path(__file__).parent\n{DESCRIBED.format(**said)}")
    arrays, parameters = (np.full((1, 1, 2, 4), 0.5), np.array([3, 9])), {"head_dim": 8, "base": 100.0, "layout": "interleaved"}
    with Session(target) as session:
        found = session.implementations[0]
        for words in ("exit status 3", f"{target} must describe itself alike at each start, got a difference in "):
            with pytest.raises(CallFailedError) as caught:
                session.request(found, "float32", arrays, {**parameters, "direction": "positive"})
            assert isinstance(caught.value.outcome, Crashed)
            assert words in caught.value.outcome.message


def test_a_worker_that_describes_itself_at_random_at_every_start_is_told_so(tmp_path: Path) -> None:
    function = "lambda x, positions, **parameters: rope.rotate(x, positions, **parameters)"
    target = written(tmp_path, f"import os\noffered({function}, 'rope.rotate', layout='half', label=os.urandom(8).hex())")
    report = check(target, level="smoke", seed=1)
    failed = [result.outcome for result in report.results if result.convicts]

    assert failed
    assert all(isinstance(each, Crashed) and "must describe itself alike at each start" in each.message for each in failed)


@pytest.mark.parametrize("line", RECORD, ids=lambda line: line["line"])
def test_the_fast_reader_of_a_schema_takes_what_the_whole_one_takes(line: dict[str, object]) -> None:
    schema = records._schema()  # noqa: SLF001  it is compared with the library

    assert schema.obeys(line)
    assert schema.validator.is_valid(line)


def test_the_fast_reader_of_a_schema_takes_nothing_that_the_whole_one_refuses() -> None:
    import copy

    from tools.soak.mutations import changed, seeded

    schema = records._schema()  # noqa: SLF001  it is compared with the library
    refused = 0
    for item in range(1_500):
        line = changed(seeded(f"fast {item}"), copy.deepcopy(RECORD[item % len(RECORD)]))
        whole = schema.validator.is_valid(line)
        refused += not whole
        assert whole or not schema.obeys(line), line

    assert refused > 200


def test_a_record_as_it_was_written_never_asks_the_slow_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "record.jsonl"
    path.write_text(records.text([REPORT]), encoding="utf-8")
    monkeypatch.setattr("conformance.spec.schema.best_match", lambda _: pytest.fail("the slow reader was asked"))

    assert records.read(path)[0].results == REPORT.results
