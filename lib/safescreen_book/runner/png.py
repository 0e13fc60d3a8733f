"""Pictures in few colours, for notebooks that are kept with their outputs."""

import io

import numpy as np
from PIL import Image


def small_png(raw: bytes) -> bytes:
    """Return a PNG in at most 256 colours, if that makes it smaller and changes no channel of a
    pixel by more than 20 of 255. Otherwise return it unchanged.

    The eight most frequent colours, which are those of surfaces, stay as they are. The other
    colours are spread over all that occur, also over colours of few pixels.
    """
    image = Image.open(io.BytesIO(raw)).convert("RGBA")
    made = io.BytesIO()
    pixels = np.asarray(image).astype(np.int64) @ (1 << 16, 1 << 8, 1, 1 << 24)
    colours, places, counts = np.unique(pixels, return_inverse=True, return_counts=True)
    colours = colours[:, None] >> (16, 8, 0, 24) & 255
    others = (
        image.convert("RGB")
        .quantize(248, Image.Quantize.MAXCOVERAGE, kmeans=1, dither=Image.Dither.NONE)
        .getpalette("RGBA")
    )
    palette = np.concatenate(
        (colours[np.argsort(-counts, kind="stable")[:8]], np.reshape(others, (-1, 4)))
    )
    nearest = np.argmin(((colours[:, None] - palette) ** 2).sum(axis=2), axis=1)
    few = Image.fromarray(nearest[places].reshape(pixels.shape).astype(np.uint8))
    few.putpalette(palette[:, :3].astype(np.uint8).tobytes())
    few.save(made, "PNG", optimize=True)
    near = (palette[:, 3] == 255).all() and np.abs(palette[nearest] - colours).max() <= 20
    return min(raw, made.getvalue(), key=len) if near else raw
