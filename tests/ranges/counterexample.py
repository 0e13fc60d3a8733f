"""Why the gap of a reduced problem is not enough: the picture of STS19 Figure 5 with numbers.

Metrics ``diag(m1, m2)`` of the plane. Triplets start at the origin, so that each term is a vector a
of one's choice:

* *pull*, always in the linear region: without the others the solution is ``S/lam`` with S along (1,
  1);
* *guard*, ``(0.52, 0) n``: in the zero region at lam0, as a ball around an earlier iterate
  certifies, but not at the approximate solution x0 the solver ends with, and active for larger lam,
  where it holds m1 back;
* *probe*: right of its threshold wherever the reduced problem believes the solution to be, left of
  it where it is.

The reduced problem, without the guard, says that x0 is the exact solution of ``lam_ball = S/x0``:
its DGB there is a point, the wrong one. The ranges of GB and MGB from the reduced gap are wrong
around lam0 itself. DGB's range around lam0 is not in this instance: while the pull alone is active
x0 lies between the two solutions of the reduced problem, and the true one on the sphere (Thales)
over them."""

from dataclasses import dataclass

import numpy as np

import safescreen as ss

__all__ = ["BALL_PROBE", "RANGE_PROBE", "CounterExample", "counterexample", "vector_triplets"]

BALL_PROBE = (-0.5, 1.029)
RANGE_PROBE = (-1.0, 1.615)


def vector_triplets(vectors):
    """Return the diagonal triplets whose terms are these vectors: ``x_i = 0``, ``x_l^2 - x_j^2 =
    a`` entry by entry.
    """
    vectors = np.atleast_2d(vectors)
    roots = [np.sqrt(np.maximum(sign * vectors, 0.0)) for sign in (-1.0, 1.0)]
    size = len(vectors)
    X = np.vstack((np.zeros((1, vectors.shape[1])), *roots))
    index = np.column_stack(
        (np.zeros(size, dtype=int), 1 + np.arange(size), 1 + size + np.arange(size))
    )
    return ss.Triplets(X, index, diagonal=True)


@dataclass(frozen=True, eq=False)
class CounterExample:
    """A problem, two iterates for lam0, and the lam at which trust in the reduced gap ends.

    Attributes
    ----------
    problem : Problem
    guard, probe : boolean arrays of shape (T,)
        Which terms play these parts.
    earlier, x0 : arrays of shape (2,)
        An iterate, and the solution accepted: its gap at lam0 in the reduced problem is at most
        `tol`.
    lam0, tol : float
    lam_ball, lam_range : float
        Where the ball, and where the range around lam0, of the reduced problem are wrong.
    """

    problem: ss.Problem
    guard: np.ndarray
    probe: np.ndarray
    earlier: np.ndarray
    x0: np.ndarray
    lam0: float
    tol: float
    lam_ball: float
    lam_range: float

    def screened_by(self, radius_more=0.0):
        """Return the masks of the ball DGB around the earlier iterate at lam0, enlarged."""
        ball = ss.spheres.duality_gap_bound(self.problem, self.earlier, self.lam0)
        return ss.rules.sphere(self.problem, ss.Sphere(ball.center, ball.radius + radius_more))

    def reduced(self, masks):
        """Return the problem without the screened terms."""
        return self.problem.reduce(masks.in_L, masks.in_R)

    @property
    def enlargement(self):
        """``sqrt(2 tol/lam0)``: how far a solution with gap `tol` may be from the optimum."""
        return np.sqrt(2.0 * self.tol / self.lam0)


def counterexample(copies=50, probe=RANGE_PROBE):
    """Return the :class:`CounterExample` with so many copies of pull and guard, loss of width
    1/2.
    """
    pull, guard = np.full((copies, 2), 0.1), np.tile([0.52, 0.0], (copies, 1))
    vectors = np.vstack((pull, guard, probe))
    problem = ss.Problem(vector_triplets(vectors), ss.SmoothedHinge(0.5))
    number = np.arange(len(vectors))
    total = 0.1 * copies
    return CounterExample(
        problem=problem,
        guard=(number >= copies) & (number < 2 * copies),
        probe=number == 2 * copies,
        earlier=np.array([2.13, 2.13]),
        x0=np.array([1.9, 1.9]),
        lam0=total / 2.0,
        tol=6e-4 * copies,
        lam_ball=total / 1.9,
        lam_range=total / 1.8,
    )
