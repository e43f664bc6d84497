"""Which vector or law must convict which mutant of learned positions."""

CONVICTED_BY: dict[str, tuple[str, ...]] = {
    "learned.encode/outside=clamp": ("learned.encode/wrapped-end", "law:outside"),
    "learned.encode/outside=wrap": ("learned.encode/clamped-end", "law:outside"),
    "learned.encode/offset-ignored": ("learned.encode/opt-offset", "law:lookup"),
    "learned.encode/offset-twice": ("learned.encode/opt-decoding", "law:lookup"),
    "learned.encode/offset-padding-index": ("learned.encode/three-rows-before", "law:lookup"),
    "learned.encode/offset-fixed-at-two": ("learned.encode/one-row-before", "law:lookup"),
    "learned.encode/positions-from-one": ("learned.encode/first-positions", "law:lookup"),
    "learned.encode/columns-counted": ("learned.encode/unsorted", "law:lookup"),
    "learned.encode/first-position-counts": ("learned.encode/unsorted", "law:lookup"),
    "learned.encode/positions-frozen": ("learned.encode/first-positions", "law:lookup"),
    "learned.encode/positions-in-uint8": ("learned.encode/byte-boundary",),
    "learned.encode/last-row-unreachable": ("learned.encode/last-row", "law:lookup"),
    "learned.encode/negatives-from-the-end": ("learned.encode/clamped-negative", "law:outside"),
    "learned.encode/treated-before-the-offset": ("learned.encode/clamped-offset", "law:outside"),
    "learned.encode/table-transposed": ("learned.encode/square-table",),
    "learned.encode/rows-in-reverse": ("learned.encode/whole-table", "law:lookup"),
    "learned.encode/scaled-up": ("learned.encode/whole-table", "law:lookup"),
    "learned.encode/scaled-down": ("learned.encode/whole-table", "law:lookup"),
}
