"""The printed formulas of SSS13 and SSS14 in plain numpy, for explicit rows ``z_i``, exact
references and the hinge.
"""

import numpy as np

__all__ = [
    "ball_1",
    "ball_2",
    "best_s",
    "dome_bounds",
    "dome_bounds_printed",
    "dvi_lower",
    "eps_rho",
    "intersection_bounds",
    "non_sv_rule",
    "total_loss",
]


def total_loss(Z, w):
    return np.maximum(1.0 - Z @ w, 0.0).sum()


def ball_1(Z, C, w0, C0, feasible):
    """SSS14 equation 16."""
    m = 0.5 * (feasible + C / C0 * w0)
    return m, np.sqrt(
        m @ m - C / C0 * (w0 @ w0) + C * (total_loss(Z, feasible) - total_loss(Z, w0))
    )


def ball_2(Z, C, feasible, s):
    """SSS14 Theorem 7."""
    m = 0.5 * (feasible + C * (Z.T @ s))
    return m, np.sqrt(m @ m + C * (total_loss(Z, feasible) - s.sum()))


def best_s(Z, C, w0, C0):
    """SSS14 equation 25 and its solution."""
    return (1.0 - (C + C0) / (2.0 * C0) * (Z @ w0) > 0.0).astype(float)


def dvi_lower(Q, alpha0, C, C0):
    """SSS14 equation 34, dual variables in the paper's scale."""
    length = np.sqrt(alpha0 @ Q @ alpha0 * np.diag(Q))
    return (C + C0) / (2.0 * C0) * (Q @ alpha0) - (C - C0) / (2.0 * C0) * length


def intersection_bounds(z, m1, r1, m2, r2):
    """SSS14 Theorem 8."""
    phi, n = m1 - m2, np.linalg.norm(z)
    D = np.linalg.norm(phi)
    zeta = (D**2 + r2**2 - r1**2) / (2.0 * D)
    psi, kappa = m2 + zeta * phi / D, np.sqrt(r2**2 - zeta**2)
    across, bounds = np.sqrt(max(n**2 - (z @ phi / D) ** 2, 0.0)), []
    for sign in (-1.0, 1.0):
        cosine = sign * (z @ phi) / (n * D)
        if cosine < (zeta - D) / r1:
            bounds.append(z @ m1 + sign * r1 * n)
        elif cosine > zeta / r2:
            bounds.append(z @ m2 + sign * r2 * n)
        else:
            bounds.append(z @ psi + sign * kappa * across)
    return tuple(bounds)


def dome_bounds_printed(z, w_a, square_b):
    """SSS14 Theorem 11, with its gammas the squared norms, as it defines them."""
    a, b, n, q = w_a @ w_a, square_b, np.linalg.norm(z), z @ w_a
    other = np.sqrt((b - a) / a * (a * n * n - q * q))
    low = -np.sqrt(2.0 * b) * n if -q / n >= a * np.sqrt(2.0) / np.sqrt(b) else q - other
    high = np.sqrt(2.0 * b) * n if q / n >= a * np.sqrt(2.0) / np.sqrt(b) else q + other
    return low, high


def dome_bounds(z, w_a, square_b):
    """The same with the first case and both conditions for the squared norms."""
    a, b, n, q = w_a @ w_a, square_b, np.linalg.norm(z), z @ w_a
    other = np.sqrt(max((b - a) / a * (a * n * n - q * q), 0.0))
    low = -np.sqrt(b) * n if -q / n >= a / np.sqrt(b) else q - other
    high = np.sqrt(b) * n if q / n >= a / np.sqrt(b) else q + other
    return low, high


def non_sv_rule(Z, w_a, feasible):
    """SSS13 Theorem 2 and Algorithm 1: ``(in_L, in_R)`` for all s from the total loss of
    `feasible` to that of w_a.
    """
    bounds = np.array([dome_bounds(z, w_a, feasible @ feasible) for z in Z])
    return bounds[:, 1] < 1.0, (Z @ w_a > 1.0) & (bounds[:, 0] > 1.0)


def eps_rho(Z, w0, C0, eps):
    """Largest rho with ``(rho - 1)^2 ||w0||^2/2 <= eps (rho (C0 xi0 + ||w0||^2) - rho^2
    ||w0||^2/2)`` (SSS14 appendix D).
    """
    a, b = w0 @ w0, C0 * total_loss(Z, w0) + w0 @ w0
    return np.roots([0.5 * a * (1.0 + eps), -a - eps * b, 0.5 * a]).real.max()
