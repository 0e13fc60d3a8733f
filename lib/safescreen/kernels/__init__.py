"""Samples with a kernel, known through their kernel matrix alone: a space, matrices, working sets.

A kernel is a function ``k(x, x')`` here. The core does not import this package.
"""

from safescreen.kernels.samples import KernelSamples
from safescreen.kernels.space import Expansion, KernelSpace

__all__ = ["Expansion", "KernelSamples", "KernelSpace"]
