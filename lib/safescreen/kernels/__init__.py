"""Samples with a kernel, known through their kernel matrix alone: a space, matrices, working sets.

Here a kernel is a function ``k(x, x')``. The core imports nothing of this."""

from safescreen.kernels.samples import KernelSamples
from safescreen.kernels.space import Expansion, KernelSpace

__all__ = ["Expansion", "KernelSamples", "KernelSpace"]
