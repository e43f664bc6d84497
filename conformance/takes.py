"""Which calls an implementation takes, beyond its parameters: what its code assumes of positions, queries and rows."""

from dataclasses import asdict, dataclass
from typing import Literal

Positions = Literal["any", "consecutive", "from_zero"]
Queries = Literal["any", "at_end"]
Rows = Literal["any", "shared"]


@dataclass(frozen=True)
class Takes:
    """What a declaration says of the calls that code takes; the default is every call that the operation allows.

    ``positions``: any, or all arrays of them count up from one common start, or from 0. ``queries="at_end"``: the queries are the last
    of the keys, as in decoding. ``rows="shared"``: positions come as one row for the whole batch, which counted ones always do.
    ``lowest`` and ``highest`` bound positions. ``masked``: a bias is ``-inf`` where a key comes after its query.
    ``contiguous``: the elements of an array lie one after the other, which those of a transposed one don't.
    """

    positions: Positions = "any"
    queries: Queries = "any"
    rows: Rows = "any"
    lowest: int | None = None
    highest: int | None = None
    masked: bool = False
    contiguous: bool = False

    @property
    def counted(self) -> bool:
        """Whether positions count up."""
        return self.positions != "any"

    @property
    def one_row(self) -> bool:
        """Whether positions come as one row for the whole batch."""
        return self.counted or self.rows == "shared"

    def as_data(self) -> dict[str, object]:
        """Return it as JSON's own types."""
        return asdict(self)
