"""Every scheme's attention on other array libraries: the same numbers, on the device of the input."""

from collections.abc import Callable

import numpy as np
import pytest

from refimpl import attention
from refimpl.schemes import SCHEMES

LAYERS = {name: scheme.layer for name, scheme in SCHEMES.items() if scheme.layer is not None}
X = np.random.default_rng(5).integers(-32, 33, (2, 2, 5, 4)) / 16
DOCUMENTS = np.array([[0, 0, 1, 1, 1], [0, 1, 1, 1, 1]])
#: As in test_attention_laws: logits are sums of at most 2^6 products below 2^4, of angles up to 4 radians.
ROUNDING = 2.0 ** (6 + 4 + 2 + 1 + 2 - 53)


def packed(scheme: str, put: Callable[[np.ndarray], object]) -> object:
    """Return causal attention over documents packed in rows, with keys that a cache holds."""
    x, documents = put(X), put(DOCUMENTS)
    layer = LAYERS[scheme](num_heads=2, head_dim=4, like=x)
    positions, seen = attention.places(documents), attention.packed(documents, documents)
    cache = attention.append(layer, None, x, x, positions)
    return attention.decode(layer, cache, x, positions, seen=seen)


def expected(scheme: str) -> np.ndarray:
    """Return the same on NumPy."""
    return np.asarray(packed(scheme, lambda array: array))


@pytest.mark.parametrize("scheme", LAYERS)
def test_attention_uses_the_array_api_standard_only_and_stays_on_its_device(scheme: str) -> None:
    library = pytest.importorskip("array_api_strict", reason="array-api-strict is not installed")
    device, home = library.Device("device1"), library.Device("CPU_DEVICE")

    result = packed(scheme, lambda array: library.asarray(array, device=device))

    assert result.device == device
    assert np.abs(np.asarray(result.to_device(home)) - expected(scheme)).max() < ROUNDING


@pytest.mark.parametrize("scheme", LAYERS)
def test_attention_on_torch_is_attention_on_numpy(scheme: str) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")

    result = packed(scheme, torch.asarray)

    assert np.abs(result.numpy() - expected(scheme)).max() < ROUNDING


@pytest.mark.parametrize("scheme", LAYERS)
def test_attention_leaves_read_only_arrays_alone(scheme: str) -> None:
    def frozen(array: np.ndarray) -> np.ndarray:
        copy = array.copy()
        copy.flags.writeable = False
        return copy

    assert np.array_equal(packed(scheme, frozen), expected(scheme))
