"""The precision that an implementation works in, which decides the error that it is allowed."""

import math
from collections.abc import Collection

#: Strongest first; "the strongest profile met" is read in this order.
PROFILES = (
    "float64",
    "float32",
    "float32-loose-frequencies",
    "float16-table",
    "bfloat16-table",
    "float16-model",
    "bfloat16-model",
)

#: Bits of significand and smallest normal exponent of every floating dtype.
FORMATS = {"float64": (53, -1022), "float32": (24, -126), "float16": (11, -14), "bfloat16": (8, -126)}

#: The formats that training and inference lower to.
HALVES = ("float16", "bfloat16")

#: What a framework may have around a call or do to a module: it lowers arithmetic itself; modules are cast to half precision; they are
#: built on the meta device, without memory.
CAST, META = "cast", "meta"
LOWERING = ("autocast", CAST)
CIRCUMSTANCES = (*LOWERING, META)

#: The largest finite number of every floating dtype; results that reach it are not judged.
LARGEST = {dtype: math.ldexp(2.0 - 2.0 ** (1 - bits), 1 - smallest) for dtype, (bits, smallest) in FORMATS.items()}

#: What an input of each dtype asks for unless the adapter declares another profile.
REQUIRED = {
    "float64": "float64",
    "float32": "float32",
    "float16": "float16-model",
    "bfloat16": "bfloat16-model",
}


def attainable(dtypes: Collection[str]) -> tuple[str, ...]:
    """Return the profiles, strongest first, that results in these dtypes can be said to meet: none that holds more than they do."""
    return tuple(profile for profile in PROFILES if all(_attainable(profile, dtype) for dtype in dtypes))


def _attainable(profile: str, dtype: str) -> bool:
    """Whether a profile is one of that half format, or, of the others, none that is wider."""
    kept = profile.split("-", 1)[0]
    return kept == dtype if dtype in HALVES else FORMATS[kept][0] <= FORMATS[dtype][0]
