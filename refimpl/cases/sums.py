"""The cases of every sum of embeddings and an encoding: its scale, its batch; and those of the encoding whose mistakes show in it."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from refimpl.spec import Case

SHARED = [0, 1, 2, 5]


def of(
    encodings: Sequence[Case],
    chosen: Collection[str],
    *,
    sizes: Mapping[str, int] | None = None,
    place: Callable[[int], Any] = int,
    **usual: Any,
) -> Iterator[Case]:
    """Yield the cases of a sum; ``chosen`` names those of the encoding that it shares, ``sizes`` and ``usual`` are its other arguments.

    ``place`` says where a token stands that other schemes have at one number.
    """

    def placed(positions: Any) -> Any:
        return [placed(each) for each in positions] if isinstance(positions, list) else place(positions)

    def build(name: str, exposes: str, batch: int = 2, *, positions: Any, **arguments: Any) -> Case:
        own = {**usual, **arguments, "positions": placed(positions)}
        return Case(f"add/{name}", exposes=exposes, sizes={"batch": batch, **(sizes or {})}, **own)

    yield build("shared-positions", "the encoding added along the batch, or to its first row alone", positions=SHARED)
    yield build("own-positions", "the first row's positions for every row", positions=[[0, 1, 2], [5, 0, 3]])
    yield build("root-scaled", "the scale forgotten, or applied to the sum", embedding_scale="sqrt_dim", positions=SHARED)
    yield build("root-scaled-rows", "the scale applied to the encoding, or twice", embedding_scale="sqrt_dim", positions=[[4, 1], [0, 2]])
    yield build("batch-equals-token", "batch and token swapped", 3, positions=[4, 0, 2])
    yield build("one-row", "the batch axis dropped", 1, positions=[3, 5, 1])
    yield build("decoding", "a step at position 0 in place of its own", positions=[[5], [3]])
    yield build("unknown-scale", "a scale by another name", positions=[0], embedding_scale="sqrt",
                error="embedding_scale must be one of none, sqrt_dim, got 'sqrt'")
    yield build("row-missing", "rows of positions repeated", 3, positions=[[0, 1], [1, 2]],
                error="axis 'batch' is 2 in positions but 3 in x")
    for case in encodings:
        operation, _, name = case.name.partition("/")
        if operation == "encode" and name in chosen:
            own: Any = {**case.arguments, "sizes": {"batch": 1, **case.sizes}}
            yield Case(f"add/{name}", exposes=case.exposes, error=case.error, **own)
