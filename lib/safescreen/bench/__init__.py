"""Time and memory against a plain implementation: ``python -m safescreen.bench``."""

from safescreen.bench.baseline import PlainSolution, plain_path

__all__ = ["PlainSolution", "plain_path"]
