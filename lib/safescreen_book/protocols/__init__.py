"""How the papers run their experiments: draws, grids, baselines, and solvers from outside."""
