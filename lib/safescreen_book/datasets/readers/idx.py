"""The idx format of MNIST."""

import math

import numpy as np


def read_idx(raw: bytes, where: str = "data") -> np.ndarray:
    """Read an idx file of unsigned bytes, the format of MNIST, in the shape that its heading
    states. A file of another length is refused.

    >>> read_idx(bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 8, 9]))
    array([7, 8, 9], dtype=uint8)
    """
    if (
        len(raw) < 4
        or raw[:3] != b"\x00\x00\x08"
        or not 1 <= raw[3] <= 32
        or len(raw) < 4 + 4 * raw[3]
    ):
        raise ValueError(f"{where}: not an idx file of unsigned bytes, it begins with {raw[:4]!r}")
    start = 4 + 4 * raw[3]
    shape = tuple(int.from_bytes(raw[k : k + 4], "big") for k in range(4, start, 4))
    size = math.prod(shape)
    if len(raw) - start != size or size == 0:
        raise ValueError(
            f"{where}: {len(raw) - start} bytes of data where the shape {shape} needs "
            f"{size or 'some'}"
        )
    return np.frombuffer(raw, dtype=np.uint8, offset=start).reshape(shape)
