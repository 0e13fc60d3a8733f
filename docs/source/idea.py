"""The picture of the README: a support vector machine before and after screening.

    python docs/source/idea.py          # draws notebooks/figures/idea.webp and the still idea.png

It follows a path. For each lam the solution for the lam before proves which samples have no loss at
the next optimum, or a linear one. The samples without loss are left out, the linear ones enter as
one sum, and the solver gets the rest. Every frame has both problems, solved apart.
"""

import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import safescreen as ss

FOLDER = Path(__file__).resolve().parents[2] / "notebooks" / "figures"
N_SAMPLES = 400
SHORTEST, LONGEST = 250, 3000
"""Milliseconds of a picture, and of the last one."""
EVERY = 2
"""One picture for so many values of lam."""
STILL = 25
"""The frame that is drawn in `idea.png`."""
COLOURS = ("#c8500a", "#1f6fb2")
PALE = ("#f3cdb2", "#b9d3ea")
WITHOUT_LOSS = "#c9ced6"


@dataclass(frozen=True)
class Frame:
    """One lam: what the solution for the lam before proves, and the solutions of both problems."""

    lam: float
    in_L: np.ndarray
    in_R: np.ndarray
    whole: ss.Solution
    rest: ss.Solution

    @property
    def is_left(self) -> np.ndarray:
        """Return which samples the smaller problem still has."""
        return ~(self.in_L | self.in_R)


def data() -> tuple[np.ndarray, np.ndarray]:
    """Return points of two classes in the plane, with a constant third column."""
    rng = np.random.default_rng(4)
    y = np.repeat([1.0, -1.0], N_SAMPLES // 2)
    points = rng.standard_normal((N_SAMPLES, 2)) * [1.0, 0.8] + np.outer(y, [1.3, 1.0])
    return np.column_stack((points, np.ones(N_SAMPLES))), y


def frames(n_frames: int = 40, ratio: float = 0.87) -> list[Frame]:
    """Return the frames of a path that begins just below the largest lam of interest."""
    X, y = data()
    problem = ss.Problem(ss.Samples(X, y), ss.SmoothedHinge(0.05))
    lams = problem.lam_max() * ratio ** np.arange(1, n_frames + 1)
    before = ss.solve(problem, lams[0] / ratio, tol=0.0, rtol=1e-8)
    found = []
    for lam in lams:
        proved = ss.screen(problem, before.x, lam)
        smaller = problem.reduce(proved.in_L, proved.in_R)
        whole = ss.solve(problem, lam, tol=0.0, rtol=1e-8)
        rest = ss.solve(smaller, lam, x0=before.x, tol=0.0, rtol=1e-8)
        found.append(Frame(lam, proved.in_L, proved.in_R, whole, rest))
        before = whole
    return found


def draw(frame: Frame, X: np.ndarray, y: np.ndarray):
    """Return a figure: all samples with the line that they give, and what is left with its line."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(8.0, 4.9), sharex=True, sharey=True)
    figure.subplots_adjust(left=0.01, right=0.99, bottom=0.14, top=0.9, wspace=0.03)
    n_left = int(frame.is_left.sum())
    sides = (
        (panels[0], np.ones(len(y), dtype=bool), frame.whole.x, f"all {len(y)} samples"),
        (panels[1], frame.is_left, frame.rest.x, f"{n_left} left, and one sum"),
    )
    for axes, is_shown, w, title in sides:
        axes.scatter(*X[~is_shown & frame.in_R, :2].T, s=7, color=WITHOUT_LOSS, linewidths=0)
        for sign, colour, pale, marker in zip((1.0, -1.0), COLOURS, PALE, "os", strict=True):
            summed, chosen = ~is_shown & frame.in_L & (y == sign), is_shown & (y == sign)
            axes.scatter(*X[summed, :2].T, s=12, color=pale, marker=marker, linewidths=0)
            axes.scatter(*X[chosen, :2].T, s=30, color=colour, marker=marker, linewidths=0)
        for height, style, width in ((0.0, "-", 2.6), (1.0, ":", 1.6), (-1.0, ":", 1.6)):
            _line(axes, w, height, linestyle=style, linewidth=width)
        axes.set(xlim=(-4.2, 4.2), ylim=(-3.6, 3.6), xticks=[], yticks=[])
        axes.set_title(title, fontsize=21)
    n_L, n_R = int(frame.in_L.sum()), int(frame.in_R.sum())
    text = f"λ = {frame.lam:,.0f}: {n_R} have no loss, {n_L} enter as one sum; the same line"
    figure.text(0.5, 0.045, text, ha="center", fontsize=17)
    return figure


def _line(axes, w, height, **style):
    """Draw where the decision value is `height`."""
    normal = w[:2]
    point = (height - w[2]) * normal / (normal @ normal)
    axes.axline(point, point + [-normal[1], normal[0]], color="black", **style)


def picture(figure, dpi: int):
    """Return a figure as an image, and close it."""
    import matplotlib.pyplot as plt
    from PIL import Image

    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", dpi=dpi)
    plt.close(figure)
    return Image.open(drawn).convert("RGB")


def main() -> None:
    """Draw both files."""
    X, y = data()
    made = frames()
    images = [picture(draw(frame, X, y), 90) for frame in made[1::EVERY]]
    images[0].save(
        FOLDER / "idea.webp",
        save_all=True,
        append_images=images[1:],
        duration=[SHORTEST] * (len(images) - 1) + [LONGEST],
        loop=3,
        quality=60,
        method=6,
    )
    picture(draw(made[STILL], X, y), 200).quantize(64).save(FOLDER / "idea.png", optimize=True)


if __name__ == "__main__":
    main()
