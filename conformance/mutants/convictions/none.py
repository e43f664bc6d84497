"""Which vector or law must convict which mutant of attention without an encoding."""

#: What befalls weights and averages alike: the case, and the law where one sees it.
SHARED: dict[str, tuple[str, ...]] = {
    "causal-from-first-key": ("causal-decoding",),
    "causal-from-last-key": ("causal-unsorted",),
    "causal-ignored": ("causal", "law:causal"),
    "causal-strict": ("causal-decoding",),
    "scale-missing": ("decoding",),
    "scale-twice": ("decoding",),
    "heads-tiled": ("grouped-heads",),
    "encoding-still-added": ("first-positions", "law:permutation"),
    "still-rotated": ("first-positions", "law:permutation"),
    "powers-of-two": ("decoding",),
    "always-causal": ("first-positions",),
}

SUMS = {"none.weights": "law:weights sum to one", "none.attend": "law:constant values"}

#: What breaks the sum of a row, which equal values show.
UNNORMALISED: dict[str, str] = {
    "softmax-over-queries": "one-key",
    "masked-after-softmax": "causal",
    "softmax-plus-one": "one-key",
}

CONVICTED_BY: dict[str, tuple[str, ...]] = {
    **{
        f"{operation}/{slug}": tuple(claim if claim.startswith("law:") else f"{operation}/{claim}" for claim in claims)
        for operation in SUMS
        for slug, claims in SHARED.items()
    },
    **{f"{operation}/{slug}": (f"{operation}/{case}", law) for operation, law in SUMS.items() for slug, case in UNNORMALISED.items()},
    **{f"{operation}/hidden-logits-zero": (f"{operation}/causal", "law:causal") for operation in SUMS},
    "none.attend/values-averaged-equally": ("none.attend/decoding",),
    "none.attend/values-tiled": ("none.attend/grouped-heads",),
}
