"""The two fixtures by which families of terms are judged."""

from naive.families import assert_optimal, assert_safe

__all__ = ["assert_optimal", "assert_safe"]
