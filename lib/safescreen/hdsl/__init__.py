"""Similarity learning in high dimension: Frank-Wolfe over four-entry atoms (HDSL19)."""
