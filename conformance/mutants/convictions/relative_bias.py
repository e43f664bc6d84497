"""Which vector or law must convict which mutant of the plain relative bias."""

CONVICTED_BY: dict[str, tuple[str, ...]] = {
    "relative_bias.bias/clipped-one-short": ("relative_bias.bias/earlier-edge", "law:saturation"),
    "relative_bias.bias/even-table": ("relative_bias.bias/later-edge", "law:saturation"),
    "relative_bias.bias/centre-forgotten": ("relative_bias.bias/first-positions", "law:saturation"),
    "relative_bias.bias/wrapped": ("relative_bias.bias/far", "law:saturation"),
    "relative_bias.bias/absolute": ("relative_bias.bias/first-positions", "law:saturation"),
    "relative_bias.bias/from-one": ("relative_bias.bias/first-positions",),
    "relative_bias.bias/later-hidden": ("relative_bias.bias/first-positions",),
    "relative_bias.bias/no-bias": ("relative_bias.bias/one-head", "law:lookup"),
    "relative_bias.bias/heads-in-reverse": ("relative_bias.bias/first-positions", "law:lookup"),
    "relative_bias.bias/scaled-with-the-logits": ("relative_bias.bias/common-width", "law:lookup"),
    "relative_bias.bias/query-index": ("relative_bias.bias/decoding", "law:translation"),
    "relative_bias.bias/positions-ignored": ("relative_bias.bias/unsorted", "law:saturation", "law:stepwise"),
    "relative_bias.bias/first-position-counts": ("relative_bias.bias/unsorted",),
    "relative_bias.bias/clamped-at-2048": ("relative_bias.bias/half-boundary", "law:translation"),
    "relative_bias.bias/clamped-at-4096": ("relative_bias.bias/page-boundary", "law:translation"),
    "relative_bias.bias/negative-positions-clamped": ("relative_bias.bias/negative-positions",),
    "relative_bias.bias/sign=key_minus_query": ("relative_bias.bias/query-minus-key",),
    "relative_bias.bias/sign=query_minus_key": ("relative_bias.bias/first-positions", "law:saturation"),
}
