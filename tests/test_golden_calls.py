"""What is drawn at check time lies inside its declaration, is taken by the reference, and covers what must always be covered."""

import functools
from collections.abc import Mapping
from fractions import Fraction
from itertools import islice, product
from typing import Any, get_args

import numpy as np
import pytest

from conformance.adapt.configured import of_axes
from conformance.calls.takes import Takes
from conformance.golden import features, grids
from conformance.golden.calls import drawn
from conformance.golden.large import Large
from conformance.golden.sweep import sweep
from conformance.isolate.described import Descriptor
from conformance.spec.arguments import Arguments, is_position, rows_of_their_own
from conformance.spec.choices import agree
from conformance.spec.constraints import patches_of
from conformance.spec.declarations import operations
from conformance.spec.profiles import FORMATS
from refimpl.errors import SpecificationError
from refimpl.schemes import kerple, sincos_2d, t5
from refimpl.spec import Operation

NAMES = sorted(operations())
PLACED = [name for name in NAMES if any(map(is_position, operations()[name].arrays))]
PAIRED = [name for name in PLACED if "query_positions" in operations()[name].arrays]
ON_AXES = [name for name in PLACED if any(map(of_axes, operations()[name].arrays.values()))]
ENOUGH = 60
Restrictions = Mapping[str, object]

DECLARATIONS: tuple[tuple[Restrictions, Takes], ...] = (
    ({}, Takes()),
    ({}, Takes("from_zero")),
    ({}, Takes("consecutive")),
    ({}, Takes(queries="at_end")),
    ({}, Takes("from_zero", queries="at_end", highest=31)),
    ({}, Takes(rows="shared")),
    ({}, Takes(lowest=0)),
    ({}, Takes(lowest=0, highest=2_047)),
    ({"head_dim": 128, "layout": "half", "base": [10_000.0, 500_000.0]}, Takes()),
    ({"base": 500_000.0, "causal": True, "num_heads": 40, "layout": "interleaved"}, Takes()),
)


def calls(
    name: str,
    restrictions: Restrictions | None = None,
    takes: Takes | None = None,
    *,
    dtype: str = "float32",
    seed: int = 1,
    count: int = ENOUGH,
) -> list[Arguments]:
    """Return the first drawn calls of an operation, of as much of a declaration as concerns it."""
    operation = operations()[name]
    stream = drawn(operation, restrictions=concerning(operation, restrictions or {}), takes=takes or Takes(), dtype=dtype, seed=seed)
    return list(islice(stream, count))


@functools.cache
def declared(name: str) -> list[tuple[Restrictions, Takes, list[Arguments]]]:
    """Return every declaration, as far as it concerns an operation, with what is drawn inside it."""
    return [
        (concerning(operations()[name], wide), takes, calls(name, wide, takes, count=ENOUGH if (wide, takes) == DECLARATIONS[0] else 24))
        for wide, takes in DECLARATIONS
    ]


def concerning(operation: Operation, restrictions: Restrictions) -> dict[str, object]:
    """Return the restrictions that have a meaning for an operation."""
    choices = {name: parameter.choices for name, parameter in operation.parameters.items()}
    return {name: value for name, value in restrictions.items() if name in choices and (not choices[name] or value in choices[name])}


def reference(operation: Operation, call: Arguments) -> list[np.ndarray]:
    """Return what the reference gives, or raise what it refuses."""
    like = {"like": np.zeros(1)} if operation.takes_like else {}
    results = operation.function(*call.arrays.values(), **call.parameters, **like)
    return [np.asarray(result) for result in (results if isinstance(results, tuple) else (results,))]


def placed(call: Arguments) -> dict[str, np.ndarray]:
    """Return the positions of a call, those on each axis by themselves."""
    several = not {"axes", "sections", "frequencies"}.isdisjoint({**call.parameters, **call.arrays})
    several = several or call.parameters.get("order") in sincos_2d.AXES
    return {
        f"{name} {axis}": array[..., axis] if several else array
        for name, array in call.arrays.items()
        if is_position(name)
        for axis in range(array.shape[-1] if several else 1)
    }


@pytest.mark.parametrize("name", NAMES)
def test_the_reference_takes_every_drawn_call_of_every_declaration(name: str) -> None:
    for _, _, every in declared(name):
        for call in every:
            assert all(np.isfinite(result).all() for result in reference(operations()[name], call))


@pytest.mark.parametrize("name", NAMES)
def test_drawn_calls_obey_restrictions(name: str) -> None:
    for restrictions, _, every in declared(name):
        for call, (parameter, value) in product(every, restrictions.items()):
            assert call.parameters[parameter] in (value if isinstance(value, list) else [value])


@pytest.mark.parametrize("name", PLACED)
def test_drawn_positions_lie_inside_their_bounds(name: str) -> None:
    for _, takes, every in declared(name):
        low, high = takes.bounds
        assert all(low <= array.min() <= array.max() <= high for call in every for array in placed(call).values())


@pytest.mark.parametrize("name", PLACED)
def test_code_with_one_row_of_positions_gets_no_batch_of_them(name: str) -> None:
    for _, takes, every in declared(name):
        if takes.one_row:
            assert all(array.ndim == 1 for call in every for array in placed(call).values())


@pytest.mark.parametrize("name", [name for name in PAIRED if "causal" in operations()[name].parameters])
def test_attention_that_counts_positions_gets_counted_ones(name: str) -> None:
    for takes in (Takes("from_zero"), Takes("consecutive"), Takes("consecutive", queries="at_end")):
        for call in calls(name, takes=takes):
            queries, keys = placed(call).values()
            last = keys[keys.size - queries.size :] if takes.queries == "at_end" else keys[0] + np.arange(queries.size)
            assert np.array_equal(queries, last)
            assert np.array_equal(keys, keys[0] + np.arange(keys.size))
            assert takes.positions == "consecutive" or keys[0] == 0


def test_real_positions_are_drawn_unless_whole_ones_are_declared() -> None:
    real = [any(np.any(array % 1) for array in placed(call).values()) for call in calls("sinusoidal.encode")]
    whole = [any(np.any(array % 1) for array in placed(call).values()) for call in calls("sinusoidal.encode", takes=Takes("whole"))]
    assert any(real)
    assert not any(whole)


@pytest.mark.parametrize("name", ["sinusoidal.encode", "sincos_2d.encode", "axial_rope.rotate"])
def test_positions_with_a_fraction_lie_on_both_sides_of_0_unless_that_is_the_lowest(name: str) -> None:
    def fractions(takes: Takes) -> np.ndarray:
        return np.concatenate([array[array % 1 != 0] for call in calls(name, takes=takes) for array in placed(call).values()])

    assert fractions(Takes()).min() < 0 < fractions(Takes()).max()
    assert fractions(Takes(lowest=0)).min() > 0


@pytest.mark.parametrize("name", ["learned.encode", "rope.rotate"])
def test_a_table_reaches_beyond_the_lowest_position(name: str) -> None:
    for call in calls(name, {"outside": "raise", "offset": 2}, Takes(lowest=3)):
        assert min(array.min() for array in placed(call).values()) >= 3


@pytest.mark.parametrize("name", PAIRED)
def test_queries_at_the_end_are_the_last_of_the_keys(name: str) -> None:
    for call in calls(name, takes=Takes(queries="at_end")):
        queries, keys = placed(call).values()
        assert np.array_equal(queries, keys[..., keys.shape[-1] - queries.shape[-1] :])


@pytest.mark.parametrize("name", PLACED)
def test_code_that_counts_gets_some_positions_inside_of_longer_inputs_but_none_in_attention(name: str) -> None:
    if name == "t5.bucket":
        return
    every = [array for call in calls(name, takes=Takes("from_zero")) for array in placed(call).values()]
    counted = [bool(np.all(array == np.arange(array.shape[-1]))) for array in every]
    assert all(counted) == ("causal" in operations()[name].parameters)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_drawn_depends_on_the_seed_and_on_nothing_else(name: str) -> None:
    one, again, other = ([call.key for call in calls(name, seed=seed, count=8)] for seed in (1, 1, 2))
    assert one == again
    assert one != other


@pytest.mark.parametrize("name", NAMES)
def test_every_combination_of_conventions_comes_within_24_calls(name: str) -> None:
    operation = operations()[name]
    every = {
        parameter.name: parameter.choices or (False, True)
        for parameter in operation.parameters.values()
        if parameter.choices or parameter.kind is bool
    }
    came = {tuple(call.parameters[convention] for convention in every) for call in calls(name, count=24)}
    defaults = {parameter: 32 if parameter == "num_buckets" else 128 for parameter in operation.parameters}
    possible = [
        combination for combination in product(*every.values()) if agreeing({**defaults, **dict(zip(every, combination, strict=True))})
    ]
    assert len(came) == min(len(possible), 24)


def agreeing(parameters: Restrictions) -> bool:
    """Whether such conventions go together at all."""
    return "num_buckets" not in parameters or agree(parameters)


@pytest.mark.parametrize("name", PLACED)
@pytest.mark.parametrize("seed", range(5))
def test_negative_positions_come_early_wherever_they_are_taken(name: str, seed: int) -> None:
    if operations()[name].from_zero:
        return
    restrictions = {"outside": "wrap"}
    first = calls(name, restrictions, seed=seed, count=12)
    assert any(array.min() < 0 for call in first[:4] for array in placed(call).values())
    assert any(array.min() < -512 for call in first for array in placed(call).values())


@pytest.mark.parametrize("name", [name for name in PLACED if "[batch]" in " ".join(operations()[name].arrays.values())])
def test_rows_of_a_batch_differ_and_positions_are_batched_on_one_side_only(name: str) -> None:
    axes = {array: axes for array, axes in operations()[name].arrays.items() if is_position(array)}
    batched = {tuple(rows_of_their_own(axes[array], call.arrays[array]) for array in axes) for call in calls(name)}
    assert batched == set(product((False, True), repeat=len(axes)))
    assert any(len(np.unique(array, axis=0)) > 2 for call in calls(name) for array in placed(call).values() if array.ndim == 2)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("name", ON_AXES)
def test_six_calls_have_as_many_rows_of_positions_as_axes_and_as_many_tokens(name: str, seed: int) -> None:
    shapes = {call.arrays["positions"].shape for call in calls(name, {"head_dim": 128}, seed=seed, count=6)}
    batched = "[batch]" in operations()[name].arrays["positions"]
    assert not batched or any(shape[0] == shape[-1] > 1 for shape in shapes if len(shape) == 3)
    assert any(shape[0] == shape[-1] > 1 for shape in shapes if len(shape) == 2)


@pytest.mark.parametrize("name", PAIRED)
def test_decoding_with_a_cache_is_drawn(name: str) -> None:
    sizes = [(queries.shape[-1], keys.shape[-1]) for queries, keys in (placed(call).values() for call in calls(name, count=24))]
    assert any(query == 1 and key >= 9 for query, key in sizes)
    assert any(query > 1 for query, _ in sizes)


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("name", NAMES)
def test_drawn_numbers_are_exact_in_their_dtype_and_half_of_the_calls_use_all_of_it(name: str, dtype: str) -> None:
    drawn_calls = calls(name, dtype=dtype, count=14)
    real = [array for call in drawn_calls for array in call.arrays.values() if array.dtype.kind == "f"]
    assert all(np.array_equal(features.exact(array, dtype), array) for array in real)
    whole = [
        array
        for call in drawn_calls
        for array_name, array in call.arrays.items()
        if array.dtype.kind == "f" and not is_position(array_name)
    ]
    shorter = [bool(np.array_equal(np.ldexp(array, 4) % 1, np.zeros(array.shape))) for array in whole]
    assert not whole or 1 / 8 < np.mean(shorter) < 7 / 8


@pytest.mark.parametrize("name", NAMES)
def test_results_of_drawn_calls_are_small(name: str) -> None:
    sizes = [sum(result.size for result in reference(operations()[name], call)) for call in calls(name)]
    assert max(sizes) <= 8_192
    assert np.median(sizes) <= 600


def swept(name: str, takes: Takes | None = None) -> list[Large]:
    """Return the sweep of an operation, if it has one."""
    return list(sweep(operations()[name], restrictions={}, takes=takes or Takes(), dtype="float32", seed=1))


@pytest.mark.parametrize("name", PLACED)
def test_a_sweep_holds_every_position_and_judges_an_element_of_each(name: str) -> None:
    operation = operations()[name]
    for one in swept(name):
        count = min(4_097, patches_of(one.arguments.parameters) or 4_097)
        if any(array.size == 1 for array in placed(one.arguments).values()) and grids.ends(one.arguments.parameters):
            continue  # one token past the last grid
        assert any(np.array_equal(np.sort(array, axis=None) - array.min(), np.arange(count)) for array in placed(one.arguments).values())
        for result, value in zip(operation.results, reference(operation, one.arguments), strict=True):
            assert one.at[result].size == count
            assert one.at[result].max() < value.size


def test_operations_without_attention_are_swept() -> None:
    unswept = {name for name in PLACED if not swept(name)}
    assert unswept == {name for name in PAIRED if "q" in operations()[name].arrays and not name.endswith(".rotate_query_key")}


GRIDDED = ("axial_rope.positions", "mrope.positions")


@pytest.mark.parametrize("name", GRIDDED)
def test_most_calls_list_several_grids_and_ask_for_their_tokens(name: str) -> None:
    asked = [[np.searchsorted(grids.ends(one.parameters), position) for position in one.arrays["positions"].ravel()] for one in calls(name)]

    assert sum(len(one.parameters["times"]) > 2 for one in calls(name)) > ENOUGH / 3
    assert sum(min(ends) < len(grids.ends(one.parameters)) for ends, one in zip(asked, calls(name), strict=True)) > ENOUGH / 2


@pytest.mark.parametrize("name", GRIDDED)
@pytest.mark.parametrize("declared", [{"times": (1, 2, 1, 1)}, {"heights": [(4,), (6, 12)]}, {"merge": 3}])
def test_lists_that_are_left_open_fit_those_that_are_declared(name: str, declared: Restrictions) -> None:
    assert all(agree(one.parameters) for one in calls(name, declared, count=12))


def test_many_grids_of_every_number_of_merged_patches_are_swept() -> None:
    merged = {one.arguments.parameters["merge"] for one in swept("axial_rope.positions") if len(one.arguments.parameters["times"]) > 8}

    assert merged == {1, 2, 3, 4}


def test_a_video_of_more_patches_than_are_swept_is_swept() -> None:
    settings = [one.arguments.parameters for one in swept("axial_rope.positions")]

    assert {"times": (2,), "heights": (34,), "widths": (66,), "merge": 2} in settings


def test_a_sweep_stays_inside_its_bounds() -> None:
    takes = Takes("consecutive", lowest=0, highest=2_047)
    assert all(
        0 <= array.min() <= array.max() <= 2_047
        for name in PLACED
        for one in swept(name, takes)
        for array in placed(one.arguments).values()
    )


@pytest.mark.parametrize("operation", ["kerple.weights", "kerple.attend"])
@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_a_power_that_meets_logits_is_one_that_float16_holds(operation: str, dtype: str) -> None:
    every = calls(operation, {"form": "power"}, dtype=dtype)
    added = [kerple.bias(*(a for name, a in call.arrays.items() if name not in ("q", "k", "v")), form="power") for call in every]

    assert all(np.abs(bias).max() <= np.finfo(np.float16).max for bias in added)
    assert max(np.abs(bias).max() for bias in added) > 1_000.0


def test_the_mean_of_drawn_numbers_of_float64_that_weigh_the_same_is_never_a_tie() -> None:
    numbers = features.full(np.random.default_rng(0), (200, 32), "float64")
    for several in (2, 4, 32):
        exact = [sum(map(Fraction, row[:several].tolist())) / several for row in numbers]
        assert all(Fraction(float(mean)) == mean for mean in exact)


def test_lengths_are_drawn_whose_stretch_is_no_whole_number() -> None:
    restrictions = {"original_length": [2_048, 4_096, 8_192]}
    calls = drawn(operations()["longrope.attention_factor"], restrictions=restrictions, takes=Takes(), dtype="float32", seed=1)
    lengths = [(call.parameters["max_length"], call.parameters["original_length"]) for call in calls]
    assert {own for most, own in lengths if most > own and most % own} == {2_048, 4_096, 8_192}


@pytest.mark.parametrize(
    ("name", "parts", "width"),
    [
        ("axial_rope.rotate", {"axes": (16, 16)}, 32),
        ("axial_rope.rotate", {"axes": [(10, 14)]}, 24),
        ("mrope.rotate", {"sections": (3, 4, 4)}, 22),
    ],
)
def test_declared_parts_are_drawn_with_the_head_that_they_fill_though_no_usual_head_is_as_wide(
    name: str, parts: Restrictions, width: int
) -> None:
    assert calls(name, parts) == []
    found = calls(name, descriptor(name, parts).inside)
    assert len(found) == ENOUGH
    assert {call.parameters["head_dim"] for call in found} == {width}
    assert calls(name, descriptor(name, {**parts, "head_dim": 6}).inside) == []


def descriptor(name: str, restrictions: Restrictions) -> Descriptor:
    """Return an implementation of an operation with such a declaration."""
    return Descriptor(0, "made", name, ("float32",), {}, Takes(), modifies_inputs=False, restrictions=dict(restrictions), takes_dtype=False)


def taken_by_the_reference(**parameters: Any) -> bool:
    """Whether the reference gives a bucket with these parameters."""
    try:
        t5.bucket(np.array([0]), **parameters)
    except SpecificationError:
        return False
    return True


@pytest.mark.parametrize("convention", get_args(t5.Convention))
def test_buckets_agree_exactly_where_the_reference_takes_them(convention: str) -> None:
    for buckets, distance, both in product(range(2, 21), range(1, 16), (False, True)):
        parameters = {"convention": convention, "num_buckets": buckets, "max_distance": distance, "bidirectional": both}
        assert agree(parameters) is taken_by_the_reference(**parameters), parameters
