"""Tensors that are used again, broadcast ones and broadcast cotangents: what reads them wrongly is convicted, right code never."""

from collections.abc import Callable
from typing import Any

import pytest
import test_worker_manners
from escaped_kernels import Kept, pointer
from test_escaped_kernels import convictions, otherwise
from test_wrong_kernels import SEEDS, asked_once, subjects

from conformance import Adapter
from conformance.calls.manner import STEPPED, WAYS
from conformance.calls.outcomes import Advisory, Passed
from conformance.checks import golden_checks
from conformance.checks.vector_checks import Checked

__all__ = ["asked_once"]

torch: Any = pytest.importorskip("torch")
turning = test_worker_manners.turning(torch)
NARROW: dict[str, Any] = {"direction": "positive", "positions": "from_zero", "head_dim": 64}


def offered(function: Callable[..., Any], **declared: Any) -> Adapter:
    adapter = Adapter("tensors", framework="torch")
    adapter.implements("rope.rotate", layout="half", **declared)(function)
    return adapter


def with_backward(reading: Callable[[Any], Any]) -> Callable[..., Any]:
    """Return a rotation with a gradient of its own, which reads the cotangent in a way."""

    class Turned(torch.autograd.Function):  # type: ignore[misc]  # torch's own types aren't known here
        @staticmethod
        def forward(ctx: Any, x: Any, positions: Any, said: Any) -> Any:
            ctx.kept = positions, said
            return turning(x, positions, **said)

        @staticmethod
        def backward(ctx: Any, cotangent: Any) -> Any:
            positions, said = ctx.kept
            back = {"positive": "negative", "negative": "positive"}[said["direction"]]
            return turning(reading(cotangent), positions, **{**said, "direction": back}), None, None

    return lambda x, positions, **said: Turned.apply(x, positions, said)


def told(function: Callable[..., Any], seed: int, **declared: Any) -> list[str]:
    return convictions(offered(function, **declared), seed)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("known", [id, pointer], ids=["identity", "pointer"])
def test_a_tensor_that_is_taken_for_its_numbers_is_convicted_where_these_were_written_to(known: Any, seed: int) -> None:
    assert all(message.endswith("and were written to since") for message in told(Kept(turning, 1, known), seed))


def flat(cotangent: Any) -> Any:
    """Return a tensor whose storage is read from its start to its end."""
    return torch.as_strided(cotangent, cotangent.shape, torch.empty(cotangent.shape).stride(), cotangent.storage_offset())


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("declared", [{}, NARROW], ids=["any", "narrow"])
def test_a_cotangent_that_is_read_flat_where_it_is_strided_is_convicted(declared: dict[str, Any], seed: int) -> None:
    read = with_backward(lambda cotangent: cotangent if 0 in cotangent.stride() else flat(cotangent))
    endings = tuple(f"every second of {way}" for way in (WAYS["swapped"], STEPPED))
    assert all(message.endswith(endings) for message in told(read, seed, **declared))


def turned_on_where_swapped(cotangent: Any) -> Any:
    """Return a tensor, or its negative where heads and tokens are swapped: the gradient that every model gives."""
    return -cotangent if cotangent.stride()[-1] == 1 and 0 not in cotangent.stride() and not cotangent.is_contiguous() else cotangent


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("declared", [{}, NARROW], ids=["any", "narrow"])
def test_a_gradient_that_is_wrong_where_heads_and_tokens_are_swapped_is_convicted(declared: dict[str, Any], seed: int) -> None:
    adapter = offered(with_backward(turned_on_where_swapped), **declared)
    large = [each for subject, task in subjects(adapter, seed) for each in golden_checks.gradients(subject, task, seed)]
    found = [each.judgement.outcome.message for each in (*otherwise(adapter, seed), *large) if each.failed]

    assert found
    assert all(message.endswith(f"every second of {WAYS['swapped']}") for message in found)


@pytest.mark.parametrize("seed", SEEDS)
def test_an_array_that_is_read_with_the_strides_of_another_is_convicted(seed: int) -> None:
    adapter = Adapter("tensors", framework="torch")

    @adapter.implements("none.attend", causal=False)
    def attend(q: Any, k: Any, v: Any, *_: Any, **__: Any) -> Any:
        alike = k.shape == v.shape and k.untyped_storage().nbytes() == v.untyped_storage().nbytes()
        values = torch.as_strided(v, v.shape, k.stride(), v.storage_offset()) if alike else v
        keys, values = (x.repeat_interleave(q.shape[1] // k.shape[1], 1) for x in (k, values))
        return (q @ keys.transpose(-1, -2) / q.shape[-1] ** 0.5).softmax(-1) @ values

    assert all("not contiguous" in message for message in convictions(adapter, seed))


def as_it_lies(x: Any) -> Any:
    """Return a tensor without what is there once and broadcast: only the first of it is read."""
    return (
        x
        if 0 not in [stride for stride, size in zip(x.stride(), x.shape, strict=True) if size > 1]
        else x * (torch.arange(x.shape[-1]) == 0)
    )


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("declared", [{}, NARROW], ids=["any", "narrow"])
def test_broadcast_tensors_that_are_read_as_they_lie_are_convicted(declared: dict[str, Any], seed: int) -> None:
    def read(x: Any, positions: Any, **said: Any) -> Any:
        return turning(as_it_lies(x), positions, **said)

    assert all(message.endswith(WAYS["expanded"]) for message in told(read, seed, **declared))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("declared", [{}, NARROW], ids=["any", "narrow"])
def test_a_broadcast_cotangent_that_is_read_as_it_lies_is_convicted(declared: dict[str, Any], seed: int) -> None:
    ending = "its cotangent was broadcast, as that of a sum is"
    assert all(message.endswith(ending) for message in told(with_backward(as_it_lies), seed, **declared))


def laid_as_given(x: Any, positions: Any, **said: Any) -> Any:
    """Lay the result as the input lies: where one row is broadcast over the batch, all rows are written to one place."""
    result = turning(x, positions, **said)
    if 0 in [stride for stride, size in zip(x.stride()[1:], x.shape[1:], strict=True) if size > 1]:
        return result
    laid = torch.empty_strided(x.shape, x.stride(), dtype=x.dtype)
    for row, values in zip(laid, result, strict=True):
        row.copy_(values)
    return laid


@pytest.mark.parametrize("seed", SEEDS)
def test_rows_that_are_written_to_one_place_are_convicted(seed: int) -> None:
    assert all(message.endswith(WAYS["expanded"]) for message in told(laid_as_given, seed))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("declared", [{}, NARROW], ids=["any", "narrow"])
def test_a_cotangent_that_is_written_to_is_convicted(declared: dict[str, Any], seed: int) -> None:
    read = with_backward(lambda cotangent: cotangent if 0 in cotangent.stride() else cotangent.add_(1.0) - 1.0)
    assert any("got cotangent" in message for message in told(read, seed, **declared))


@pytest.mark.parametrize("seed", SEEDS)
def test_code_that_raises_where_tensors_are_broadcast_is_told_and_not_convicted(seed: int) -> None:
    def only_real(x: Any, positions: Any, **said: Any) -> Any:
        assert as_it_lies(x) is x, "no broadcast tensors"
        return turning(x, positions, **said)

    every = list(otherwise(offered(only_real), seed))
    assert not [checked for checked in every if checked.failed]
    advisories = [checked.judgement.outcome for checked in every if isinstance(checked.judgement.outcome, Advisory)]
    assert advisories
    assert all(advisory.message.endswith(WAYS["expanded"]) for advisory in advisories)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    "function",
    [
        turning,
        with_backward(lambda cotangent: cotangent),
        with_backward(lambda cotangent: cotangent.contiguous()),
        Kept(turning, 1, lambda tensor: (id(tensor), tensor._version)),  # noqa: SLF001  the count by which torch itself knows
        lambda x, positions, **said: turning(x.contiguous(), positions.contiguous(), **said),
    ],
    ids=["plain", "with a gradient of its own", "with one that is made contiguous", "kept by versions", "made contiguous"],
)
def test_right_tensors_pass_however_they_are_written(function: Callable[..., Any], seed: int) -> None:
    every = list(otherwise(offered(function), seed))
    assert every
    assert all(isinstance(checked.judgement.outcome, Passed) for checked in every)
    assert {f"every second of {WAYS['swapped']}", WAYS["reversed"], WAYS["expanded"], ""} < {checked.manner.words for checked in every}


def by_blocks_of_heads(cotangent: Any) -> Any:
    """Return a cotangent whose heads beyond the first 16 are those of the first block."""
    return cotangent[:, torch.arange(cotangent.shape[1]) % 16]


def by_blocks_of_tokens(cotangent: Any) -> Any:
    """Return a cotangent whose tokens beyond the first 2,048 are those of the first block."""
    return cotangent[:, :, torch.arange(cotangent.shape[2]) % 2_048]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("declared", [{}, NARROW, {**NARROW, "positions": "from_zero"}], ids=["any", "narrow", "from zero"])
@pytest.mark.parametrize("blocks", [by_blocks_of_heads, by_blocks_of_tokens])
def test_a_gradient_that_is_wrong_in_later_blocks_is_convicted(blocks: Callable[[Any], Any], declared: dict[str, Any], seed: int) -> None:
    assert [each for each in of_large_calls(with_backward(blocks), seed, **declared) if each.failed]
    passed = of_large_calls(with_backward(lambda cotangent: cotangent), seed, **declared)
    assert passed
    assert all(isinstance(each.judgement.outcome, Passed) for each in passed)


def of_large_calls(function: Callable[..., Any], seed: int, **declared: Any) -> list[Checked]:
    """Return what is said of gradients of large calls."""
    subject, task = next(subjects(offered(function, **declared), seed))
    return list(golden_checks.gradients(subject, task, seed))
