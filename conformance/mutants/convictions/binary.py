"""Which vector or law must convict which mutant of the binary code."""

CONVICTED_BY: dict[str, tuple[str, ...]] = {
    "binary.encode/most-significant-first": ("binary.encode/first-positions", "law:periodic", "law:binary value"),
    "binary.encode/gray-code": ("binary.encode/every-code", "law:periodic"),
    "binary.encode/plus-minus-one": ("binary.encode/one-bit", "law:binary value"),
    "binary.encode/complemented": ("binary.encode/first-positions", "law:binary value"),
    "binary.encode/not-reduced": ("binary.encode/two-bits", "law:periodic"),
    "binary.encode/rounded-quotient": ("binary.encode/every-code", "law:binary value"),
    "binary.encode/powers-from-one": ("binary.encode/two-bits", "law:unique"),
    "binary.encode/shifts-modulo-32": ("binary.encode/beyond-int32", "law:binary value"),
    "binary.encode/positions-in-int32": ("binary.encode/beyond-int32", "law:binary value"),
    "binary.encode/positions-in-uint8": ("binary.encode/byte-boundary",),
    "binary.encode/positions-in-float16": ("binary.encode/half-boundary", "law:unique"),
    "binary.encode/positions-in-float32": ("binary.encode/beyond-float32", "law:unique"),
    "binary.encode/positions-in-float64": ("binary.encode/beyond-float64", "law:unique"),
    "binary.encode/positions-from-one": ("binary.encode/first-positions", "law:binary value"),
    "binary.encode/positions-ignored": ("binary.encode/unsorted", "law:binary value"),
    "binary.encode/first-position-counts": ("binary.encode/unsorted", "law:unique"),
    "binary.encode/positions-frozen": ("binary.encode/first-positions", "law:unique"),
}
