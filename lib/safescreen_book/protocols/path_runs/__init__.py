"""Paths as the experiment notebooks measure them: data, the grid of lam, and processor time and
rates for each lam.

>>> import numpy as np, safescreen as ss
>>> triplets = ss.Triplets.from_labels(np.array([[0.0], [1.0], [4.0], [5.5]]), [0, 0, 1, 1])
>>> problem = ss.Problem(triplets, ss.SmoothedHinge(0.05))
>>> grid = paper_grid(problem, ratio=0.5, n_lams=3)
>>> grid.lams.round(1).tolist(), grid.removable.tolist()
([2124.5, 1062.2, 531.1], [8, 7, 7])
>>> runs = measure(problem, {"none": {"screening": ()}, "PGB": {"screening": ("PGB",)}}, grid)
>>> runs.frame.groupby("method")["final_rate"].mean().round(2).to_dict()
{'PGB': 0.55, 'none': 0.0}
"""

from safescreen_book.protocols.path_runs.data import K_OF_PAPER, draw, whose
from safescreen_book.protocols.path_runs.grids import LamGrid, algorithm, paper_grid
from safescreen_book.protocols.path_runs.rates import (
    cpu_ratios,
    dynamic_rates,
    range_counts,
    same_optimum,
)
from safescreen_book.protocols.path_runs.timing import Runs, TimedPolicy, measure

__all__ = [
    "K_OF_PAPER",
    "LamGrid",
    "Runs",
    "TimedPolicy",
    "algorithm",
    "cpu_ratios",
    "draw",
    "dynamic_rates",
    "measure",
    "paper_grid",
    "range_counts",
    "same_optimum",
    "whose",
]
