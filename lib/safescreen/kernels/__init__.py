"""Samples that are known only through their kernel matrix: the space, the matrices, and the working
sets of the solver.

In this package a kernel is a function ``k(x, x')``. The core does not import this package.
"""

from safescreen.kernels.samples import KernelSamples
from safescreen.kernels.space import Expansion, KernelSpace

__all__ = ["Expansion", "KernelSamples", "KernelSpace"]
