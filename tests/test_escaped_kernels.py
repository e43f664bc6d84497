"""Kernels that once conformed are convicted at core, whatever the seed; right ones in unlike styles never."""

import pytest
from escaped_kernels import KERNELS
from test_wrong_kernels import SEEDS, asked_once, judged, named
from wrong_kernels import Kernel

__all__ = ["asked_once"]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kernel", KERNELS, ids=named)
def test_a_kernel_that_once_conformed_is_convicted_at_core(kernel: Kernel, seed: int) -> None:
    assert any(checked.failed for checked in judged(kernel.adapter, seed))
