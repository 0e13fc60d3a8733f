"""Ranges of the regularization parameter over which a term's category is certain."""

__all__ = []
