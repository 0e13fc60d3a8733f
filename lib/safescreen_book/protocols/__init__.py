"""The papers' protocols for experiments: draws, grids, baselines, and solvers of other packages."""
