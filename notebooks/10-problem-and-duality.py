# %% [markdown]
# # The problem, its dual, and the smaller problem
#
# This book is about two optimisation problems that have the same optimal value. This notebook derives the second problem from the first, and shows how the solution sorts the triplets into three groups. It also shows why we can take a triplet out of the problem when we know its group.
#
# At the end you will have seen that
#
# * the dual of metric learning has one number in $[0, 1]$ for each triplet, and a projection in its objective replaces the cone constraint;
# * the duality gap is a sum of non-negative parts, so we can compute it without a difference of two nearly equal numbers;
# * the problem without the triplets of known groups has the same optimum, but **not** the same duality gap at other points.

# %%
import cvxpy as cp
import numpy as np
import sympy as sp

import safescreen as ss
from safescreen_book import figures

# %% [markdown]
# ## The idea in a picture
#
# The small problem of these notebooks has twelve points of the plane in two classes. Their triplets ask for a metric. The left picture shows the solution for one $\lambda$: each triplet is a dot on the loss, at its margin. Nearly all dots lie on one of the two straight parts of the loss, L and R. The dual problem gives each triplet one number, which the right picture shows. This number is minus the slope of the loss at the dot.
#
# The slope is constant on a straight part. So we know the dual variable of a triplet as soon as we know on *which* straight part its dot lies, and then we can take the triplet out of the problem. The exact place of the dot does not matter. This is why screening works: to decide on which part a dot lies, a *region* that contains the solution is enough.

# %%
rng = np.random.default_rng(3)
X = rng.standard_normal((12, 2)) * [1.0, 0.6]
X[6:, 0] += 1.2
y = np.repeat([0, 1], 6)

loss = ss.SmoothedHinge(gamma=0.05)
problem = ss.Problem(ss.Triplets.from_labels(X, y, k=3), loss)
lam = 0.1 * problem.lam_max()
solution = ss.solve(problem, lam, tol=1e-11)
print(problem)

# %%
u = problem.terms.margins(solution.x)
alpha_star = problem.alpha(solution.x)
parts = ss.rules.Screened(u < 1.0 - loss.gamma, u > 1.0)
in_corner = len(u) - parts.n_L - parts.n_R
figure, axes = figures.panels(2, height=3.2)
title = "at the solution: L, C and R"
figures.terms_on_loss(loss, u, parts, ax=axes[0], title=title, rest="curved part, C")
grid = np.linspace(0.85, 1.1, 200)
axes[1].plot(grid, loss.alpha(grid), color="#BBBBBB")
axes[1].plot(u, alpha_star, "o", color="#333333", markersize=5)
axes[1].set(xlabel=r"margin $\langle H_t, M^\star\rangle$", ylabel=r"$\alpha^\star_t$",
            xlim=(grid[0], grid[-1]))
axes[1].set_title("dual variables, near the corner", loc="left", fontsize=11)
axes[1].grid(axis="y", color="#E6E6E6", linewidth=0.8)
figures.show(
    f"In the left panel dots show the {len(u)} triplets on the loss, a hinge with a rounded "
    f"corner, at their margins at the solution. {parts.n_L} of the triplets lie on the falling "
    f"line, L, {parts.n_R} on the flat part, R, and {in_corner} in the corner. In the right panel "
    "dots show the dual variables of the triplets near the corner: "
    f"1 for margins below {1.0 - loss.gamma:g}, 0 above 1, and fractions in between."
)

# %% [markdown]
# ## The claims
#
# In the claims $x = M \succeq 0$ is a metric and $a_t = H_{ijl} = (x_i-x_l)(x_i-x_l)^\top - (x_i-x_j)(x_i-x_j)^\top$ is a triplet. In the papers $c = 0$.
#
# > **Duality** (STS19 section 2.2, appendix A). With $H(\alpha) = \sum_t \alpha_t a_t$ and $[\cdot]_K$ the
# > projection onto $K$,
# >
# > $$\min_{x \in K} P(x;\lambda) = \max_{0 \le \alpha \le 1} D(\alpha;\lambda), \quad \text{where}$$
# >
# > $$D(\alpha;\lambda) = \mathbf 1^\top\alpha - \tfrac{\gamma}{2}\|\alpha\|^2 - \tfrac{1}{2\lambda}\|[H(\alpha)]_K\|^2 .$$
# >
# > At the optimum $x^\star = [H(\alpha^\star)]_K/\lambda$ and $-\alpha_t^\star$ is a slope of the loss at
# > $\langle a_t, x^\star\rangle$. Hence $\alpha_t^\star = 1$ in $L = \{\langle a_t, x^\star\rangle < 1-\gamma\}$,
# > $\alpha^\star_t = 0$ in $R = \{\langle a_t, x^\star\rangle > 1\}$, and $\alpha^\star_t$ can be any number of $[0,1]$ in between ($C$).
#
# > **The reduced problem** (STS19 Lemma 1, appendix B). If $\hat L \subseteq L$ and $\hat R \subseteq R$, then
# >
# > $$\tilde P(x) = \sum_{t \notin \hat L \cup \hat R} \ell(\langle a_t, x\rangle) + \tfrac\lambda2\|x\|^2 - \langle c, x\rangle + \text{constant}$$
# >
# > with $c = \sum_{t \in \hat L} a_t$ and the constant $(1-\frac\gamma2)|\hat L|$ has the same solution $x^\star$ as $P$.
# > Its dual is $D$ with $\alpha$ fixed to 1 on $\hat L$ and to 0 on $\hat R$, and has the same solutions as $D$.
#
# Assumptions: $\ell$ convex, $K$ a closed convex cone, $\lambda > 0$. We need nothing more: the losses are finite everywhere, so any interior point of $K$ is a Slater point, and the duality gap is zero at the optimum.
#
# <details>
# <summary><b>Symbols</b></summary>
#
# | symbol | what it is |
# |---|---|
# | $P(x;\lambda)$ | $\sum_t \ell(\langle a_t, x\rangle) - \langle c, x\rangle + \tfrac\lambda2\lVert x\rVert^2$, to be minimised over $x \in K$; its solution is $x^\star$ |
# | loss $\ell(u)$ | smoothed hinge: $0$ for $u > 1$; $\tfrac{(1-u)^2}{2\gamma}$ for $1-\gamma \le u \le 1$; $1-u-\tfrac\gamma2$ for $u < 1-\gamma$; the hinge for $\gamma \to 0$ |
# | cone $K$ | semidefinite matrices ($x = M$, $a_t = H_{ijl}$), or vectors $x \ge 0$ (diagonal metrics), or the whole space (support vector machines); $[\,\cdot\,]_K$ projects onto it |
# | $H(\alpha)$ | $c + \sum_t \alpha_t a_t$ with one $\alpha_t \in [0,1]$ a term; $\alpha(x)$ has $\alpha_t = -\ell'(\langle a_t, x\rangle)$ |
# | $x(\alpha)$ | $[H(\alpha)]_K/\lambda$; the dual is $D(\alpha;\lambda) = \sum_t (\alpha_t - \tfrac\gamma2\alpha_t^2) - \tfrac1{2\lambda}\lVert[H(\alpha)]_K\rVert^2$ |
#
# </details>

# %% [markdown]
# ## Derivation
#
# ### Step 1: a variable and a multiplier for every margin
#
# Write $t$ for the vector of margins. Minimising over $x$ **and** $t$ with the constraint $t_s = \langle
# a_s, x\rangle$ is the same problem. Multipliers $\alpha$ for these equations and $\Gamma \in K^*$ for $x
# \in K$ (for matrices $K^* = K$: $\Gamma \succeq 0$) give the Lagrangian
#
# $$\mathcal L = \sum_s \ell(t_s) + \tfrac\lambda2\|x\|^2 + \sum_s \alpha_s\big(t_s - \langle a_s, x\rangle\big)
# - \langle \Gamma, x\rangle .$$
#
# In the Lagrangian no term contains both $x$ and $t_s$, or two different $t_s$. So we can minimise over each variable separately:
#
# $$D(\alpha, \Gamma) = -\sum_s \underbrace{\sup_t\{-\alpha_s t - \ell(t)\}}_{\ell^*(-\alpha_s)}
# \;+\; \inf_x\{\tfrac\lambda2\|x\|^2 - \langle H(\alpha) + \Gamma, x\rangle\} .$$
#
# ### Step 2: the conjugate of the loss (STS19 eq. A.2)
#
# What is $\sup_t\{-\alpha t - \ell(t)\}$? On the quadratic piece of the loss sympy finds the stationary point. On the straight pieces the derivative in $t$ is $1-\alpha$ on the left and $-\alpha$ on the right. For $0 \le \alpha \le 1$ the expression therefore increases towards the middle piece. For other $\alpha$ it increases without limit, so the supremum is infinite. **This is why the dual has the constraint $0 \le \alpha \le 1$.**

# %%
t, a, gam, ell = sp.symbols("t alpha gamma lambda", real=True)
middle = (1 - t) ** 2 / (2 * gam)
climb = -a * t - middle
best = sp.solve(sp.diff(climb, t), t)[0]
conjugate = sp.expand(climb.subs(t, best))

print("stationary at t =", sp.factor(best), "  conjugate:", conjugate)
assert sp.simplify(conjugate - (gam * a**2 / 2 - a)) == 0
# left of the middle piece the expression increases with t
assert sp.diff(-a * t - (1 - t - gam / 2), t) == 1 - a
assert sp.diff(-a * t, t) == -a  # right of the middle piece it decreases with t

# %% [markdown]
# The stationary point $1 - \gamma\alpha$ lies in $[1-\gamma, 1]$ exactly when $\alpha \in [0, 1]$, so the maximum is at this point. For $\gamma = 0$ the middle piece is the kink $t = 1$. The value at the kink is $-\alpha$, as the same formula says.
#
# ### Step 3: the infimum over $x$
#
# This function of $x$ is a quadratic bowl. Its minimum is at $x = (H(\alpha) + \Gamma)/\lambda$.

# %%
# the bowl is a sum over coordinates, so two coordinates are enough
x1, x2, h1, h2 = sp.symbols("x1 x2 h1 h2", real=True)
bowl = ell / 2 * (x1**2 + x2**2) - h1 * x1 - h2 * x2
bottom = sp.solve([sp.diff(bowl, v) for v in (x1, x2)], [x1, x2])
depth = sp.simplify(bowl.subs(bottom) + (h1**2 + h2**2) / (2 * ell))
print("bottom at", bottom, "  depth + |h|^2/(2 lambda) =", depth)
assert depth == 0

# %% [markdown]
# Steps 1 to 3 give the dual problem (STS19 Dual1): $\;D(\alpha,\Gamma) = \mathbf 1^\top\alpha - \frac\gamma2\|\alpha\|^2 -
# \frac1{2\lambda}\|H(\alpha) + \Gamma\|^2$, to be maximised over $0 \le \alpha \le 1$ and $\Gamma \in K^*$.
#
# ### Step 4: a projection replaces the multiplier of the cone
#
# The multiplier of the cone is $\Gamma$. For given $\alpha$ the best $\Gamma$ minimises $\|H + \Gamma\|$. Split $H = H_+ - H_-$ with $H_+ = [H]_K$ and $H_- = [-H]_{K^*}$. The two parts are orthogonal (Moreau). For any
# $\Gamma \in K^*$,
#
# $$\|H+\Gamma\|^2 = \|H_+\|^2 + 2\langle H_+, \Gamma\rangle - 2\langle H_+, H_-\rangle + \|\Gamma - H_-\|^2
# \;\ge\; \|H_+\|^2 ,$$
#
# because $\langle H_+, \Gamma\rangle \ge 0$ and $\langle H_+, H_-\rangle = 0$. Equality holds at $\Gamma =
# H_-$. For matrices $H_+$ keeps the positive eigenvalues and $H_-$ the absolute values of the negative ones.
# (STS19 writes $H_-$ with the opposite sign.) We try a thousand random $\Gamma \succeq 0$ for one random $H$:

# %%
B = rng.standard_normal((4, 4))
H = B + B.T
values, vectors = np.linalg.eigh(H)
H_plus, H_minus = (vectors * np.maximum(s * values, 0.0) @ vectors.T for s in (1.0, -1.0))

tries = [G @ G.T * scale for scale in (0.1, 1.0) for G in rng.standard_normal((500, 4, 4))]
lengths = np.array([np.linalg.norm(H + G) for G in tries])
print(f"|H_+| = {np.linalg.norm(H_plus):.4f},  with Gamma = H_-: {np.linalg.norm(H + H_minus):.4f}")
print(f"smallest |H + Gamma| of {len(tries)} others: {lengths.min():.4f}")
assert abs(np.vdot(H_plus, H_minus)) < 1e-12 and lengths.min() >= np.linalg.norm(H_plus)

# %% [markdown]
# With $\Gamma = H_-$ the dual objective becomes $D(\alpha)$ of the claim, and the primal point that belongs to $\alpha$ is $x(\alpha) = [H(\alpha)]_K/\lambda$.
#
# ### Step 5: the gap as a sum of non-negative parts
#
# Write $u_t = \langle a_t, x\rangle$, so that $\sum_t \alpha_t u_t = \langle H, x\rangle$. The difference of the two objectives is
#
# $$P(x) - D(\alpha) = \underbrace{\sum_t \ell(u_t) + \ell^*(-\alpha_t) + \alpha_t u_t}_{\text{Fenchel: each}\;\ge 0}
# \;+\; \underbrace{\langle x, H_-\rangle}_{\ge 0}
# \;+\; \tfrac\lambda2\|x - x(\alpha)\|^2 . \tag{1}$$
#
# The middle part is non-negative because $x \in K$ and $H_- \in K^*$. The Fenchel part is non-negative because $\ell^*$ is a supremum (step 2). We let sympy confirm the quadratic algebra, with $p = H_+$, $q = H_-$ and $\langle p, q\rangle = 0$. Two coordinates are enough for the orthogonal vectors $p$ and $q$, if each lies on its own axis; $x$ needs a third coordinate.

# %%
x3, p, q = sp.symbols("x3 p q", real=True)
x_vec, p_vec, q_vec = sp.Matrix([x1, x2, x3]), sp.Matrix([p, 0, 0]), sp.Matrix([0, q, 0])
h_vec = p_vec - q_vec
left = ell / 2 * x_vec.dot(x_vec) + p_vec.dot(p_vec) / (2 * ell) - h_vec.dot(x_vec)
apart = x_vec - p_vec / ell
right = x_vec.dot(q_vec) + ell / 2 * apart.dot(apart)
print("left - right =", sp.expand(left - right))
assert sp.expand(left - right) == 0

# %% [markdown]
# Identity (1) implies **weak duality** ($P \ge D$ always) and the **optimality conditions** ($P = D$ exactly when all three parts vanish). The conditions are:
#
# * the Fenchel parts are zero: $-\alpha_t$ is a slope of the loss at $u_t$, so $\alpha_t$ is 1 on $L$ and 0 on $R$;
# * $\langle x, H_-\rangle = 0$: complementarity;
# * $x = x(\alpha) = [H(\alpha)]_K/\lambda$.
#
# ## Ten lines of numpy

# %%
def objectives(A, x, alpha, lam, gamma, d):
    """P(x), D(alpha), x(alpha) and the three parts of the gap. Each row of A is a term, and a
    matrix is given as the vector of its entries."""
    u = A @ x
    slope = np.clip((1.0 - u) / gamma, 0.0, 1.0)
    value = slope * (1.0 - u) - gamma * slope**2 / 2
    H = (A.T @ alpha).reshape(d, d)
    eigenvalues, V = np.linalg.eigh(H)
    plus = (V * np.maximum(eigenvalues, 0.0) @ V.T).ravel()
    minus = plus - H.ravel()
    primal = value.sum() + lam / 2 * x @ x
    dual = alpha.sum() - gamma / 2 * alpha @ alpha - plus @ plus / (2 * lam)
    fenchel = np.maximum(value + gamma / 2 * alpha**2 - alpha + alpha * u, 0.0)
    return primal, dual, plus / lam, (fenchel, x @ minus, lam / 2 * np.sum((x - plus / lam) ** 2))


# %%
i, j, k = problem.terms.index.T
A = np.array(
    [np.outer(v, v) - np.outer(w, w) for v, w in zip(X[i] - X[k], X[i] - X[j], strict=True)]
)
A = A.reshape(len(problem), 4)

point = 0.3 * np.eye(2)
some_alpha = rng.uniform(0.0, 1.0, len(problem))
primal, dual, x_alpha, (fenchel, product, square) = objectives(
    A, point.ravel(), some_alpha, lam, loss.gamma, 2
)
print(f"P = {primal:.4f}   D = {dual:.4f}   P - D = {primal - dual:.4f}")
print(f"parts of the gap: {fenchel.sum():.4f} + {product:.4f} + {square:.4f}")

# %% [markdown]
# The sum is more accurate than $P - D$ near the optimum, where $P$ and $D$ are nearly equal. We move towards the solution in ten steps. The gap decreases with the distance. The rounding error of $P - D$ does not decrease: it stays at some units in the last place of $P$, at most a thousand, as the last line checks. So with each step the subtraction loses one more correct digit of the gap. Notebook [`24-floating-point`](24-floating-point.ipynb) continues until no digit is correct.

# %%
target = solution.x.ravel()
unit = np.spacing(solution.primal)
parts_only = []
difference = []
for n in range(0, 11):
    near = target + 10.0**-n * (point.ravel() - target)
    alpha = problem.alpha(near.reshape(2, 2))
    primal, dual, _, (fenchel, product, square) = objectives(A, near, alpha, lam, loss.gamma, 2)
    parts_only.append(np.sum(np.maximum(fenchel, 0.0)) + product + square)
    difference.append(primal - dual)
off = 1000 * unit
digits = np.floor(np.log10(np.array(parts_only) / off)).astype(int)
print("distance   sum of parts   correct digits of P - D, at least")
for n, (gap, correct) in enumerate(zip(parts_only, digits, strict=True)):
    print(f"1e-{n:02d}      {gap:12.1e}   {correct:>33}")
print(f"in ten steps P - D loses {digits[0] - digits[-1]} of {digits[0]} digits")
assert all(b < a for a, b in zip(parts_only, parts_only[1:], strict=False))
assert max(abs(s - m) for s, m in zip(parts_only, difference, strict=True)) <= off


# %% [markdown]
# ## Does the library match? And what does cvxpy say?
#
# First we compare the library's objectives, $x(\alpha)$ and gap with the results of the ten lines, at sixty-three pairs of points. The library's gap is the sum (1) plus a bound of its own rounding errors, so it is never below the exact gap.

# %%
def differences(z, pair, weight):
    """Relative differences between library and ten lines at one pair, by name of the quantity."""
    primal, dual, x_alpha, parts = objectives(A, z.ravel(), pair, weight, loss.gamma, 2)
    sum_of_parts = parts[0].sum() + parts[1] + parts[2]
    e = problem.evaluate(z, weight, pair)
    gap = problem.gap(z, weight, pair)
    assert sum_of_parts <= gap <= (primal - dual) * (1 + 1e-9)
    values = {
        "P": ([problem.primal(z, weight), e.primal], primal),
        "D": ([problem.dual(pair, weight), e.dual], dual),
        "x(alpha)": ([problem.x_of(pair, weight).ravel(), e.x_alpha.ravel()], x_alpha),
        "gap": ([gap], sum_of_parts),
    }
    return {
        name: max(np.linalg.norm(found - true) / np.linalg.norm(true) for found in several)
        for name, (several, true) in values.items()
    }


# %% tags=["STS19-D2.2"]
apart = {"P": 0.0, "D": 0.0, "x(alpha)": 0.0, "gap": 0.0}
for B in (np.zeros((2, 2)), *rng.standard_normal((20, 2, 2))):
    for weight in (0.3 * lam, lam, 5.0 * lam):
        z = 0.5 * B @ B.T
        pair = rng.uniform(0.0, 1.0, len(problem))
        for name, value in differences(z, pair, weight).items():
            apart[name] = max(apart[name], value)
print(f"library and numpy: {', '.join(apart)} differ by less than 1e-9 of their size")
assert max(apart.values()) < 1e-9

# %% [markdown]
# ### The loss and its conjugate
#
# We check loss and conjugate on a grid of margins, for four widths. We compute the supremum of step 2 over the grid. The Fenchel parts are never negative, and they vanish where $-\alpha_t$ is the slope.

# %% tags=["STS19-D2.2"]
line = np.linspace(-3.0, 3.0, 6001)
for width in (0.0, 0.05, 0.5, 1.0):
    smoothed = ss.SmoothedHinge(width)
    value = smoothed.value(line)
    middle = (1.0 - line) ** 2 / (2 * width) if width else 0.0
    curved_or_straight = np.where(line < 1.0 - width, 1.0 - line - width / 2, middle)
    by_pieces = np.where(line > 1.0, 0.0, curved_or_straight)
    assert np.allclose(value, by_pieces, atol=1e-12)
    for share in np.linspace(0.0, 1.0, 11):
        conjugate_there = smoothed.conjugate(share)
        supremum = np.max(-share * line - by_pieces)
        assert abs(supremum - conjugate_there) < 1e-6 / max(width, 1e-2)
        assert np.all(value + conjugate_there + share * line >= -1e-12)
    slopes = smoothed.alpha(line)
    fenchel_at_slopes = value + smoothed.conjugate(slopes) + slopes * line
    assert np.allclose(fenchel_at_slopes, 0.0, atol=1e-12)
print("losses, conjugates and slopes agree with the definitions")

# %% [markdown]
# ### cvxpy solves both problems
#
# cvxpy does not use this derivation. We give it the primal problem, and separately the dual *with* $\Gamma$.

# %%
M = cp.Variable((2, 2), symmetric=True)
margins = A @ cp.vec(M, order="C")
hinge = cp.sum(cp.huber(cp.pos(1 - margins), loss.gamma)) / (2 * loss.gamma)
psd = M >> 0
outside_primal = cp.Problem(cp.Minimize(hinge + lam / 2 * cp.sum_squares(M)), [psd])
outside_primal.solve(solver=cp.SCS, eps_abs=1e-9, eps_rel=1e-9, max_iters=100_000)

weights, Gamma = cp.Variable(len(problem)), cp.Variable((2, 2), PSD=True)
H_alpha = cp.reshape(A.T @ weights, (2, 2), order="C")
concave = (
    cp.sum(weights)
    - loss.gamma / 2 * cp.sum_squares(weights)
    - cp.sum_squares(H_alpha + Gamma) / (2 * lam)
)
outside_dual = cp.Problem(cp.Maximize(concave), [weights >= 0, weights <= 1])
outside_dual.solve(solver=cp.SCS, eps_abs=1e-9, eps_rel=1e-9, max_iters=100_000)
print("cvxpy says: the primal is", outside_primal.status, "and the dual is", outside_dual.status)

# %% [markdown]
# cvxpy's two optimal values and its metric agree with the library's. The library's $H_-(\alpha^\star)$ equals the multiplier that cvxpy reports for $M \succeq 0$, and equals the variable $\Gamma$ of cvxpy's dual problem.

# %% tags=["STS19-D2.2"]
alpha_star = problem.alpha(solution.x)
H_star = problem.terms.adjoint(alpha_star)
H_star_minus = problem.cone.split(H_star)[1]
print(
    f"optimal value: primal {outside_primal.value:.5f}, dual {outside_dual.value:.5f}, library "
    f"{solution.primal:.5f}"
)


def rounded(matrix, digits):
    return np.round(matrix.ravel(), digits) + 0.0  # no -0


print("M*:    ", rounded(M.value, 4), " library", rounded(solution.x, 4))
print("Gamma*:", rounded(psd.dual_value, 3), " library", rounded(H_star_minus, 3))
scale = np.linalg.norm(H_star)
assert np.allclose(M.value, solution.x, atol=1e-6)
assert np.allclose([outside_primal.value, outside_dual.value], solution.primal, atol=1e-5)
# multiplier of the primal constraint
assert np.allclose(psd.dual_value, H_star_minus, atol=1e-5 * scale)
assert np.allclose(Gamma.value, H_star_minus, atol=1e-4 * scale)  # variable of the dual problem
assert np.allclose(weights.value, alpha_star, atol=1e-3)
assert np.allclose(lam * solution.x, H_star + H_star_minus, atol=1e-5 * scale)

# %% [markdown]
# Both the library and cvxpy find that $\alpha^\star$ is 1 on $L$ and 0 on $R$.

# %% tags=["STS19-D2.2"]
u = problem.terms.margins(solution.x)
in_L, in_R = u < 1.0 - loss.gamma, u > 1.0
assert np.all(alpha_star[in_L] == 1.0) and np.all(alpha_star[in_R] == 0.0)
assert np.allclose(weights.value[in_L], 1.0, atol=1e-4)
assert np.allclose(weights.value[in_R], 0.0, atol=1e-4)
print("triplets in L, C, R:", in_L.sum(), (~in_L & ~in_R).sum(), in_R.sum())

# %% [markdown]
# ## Where the path begins
#
# For large $\lambda$ the solution is so small that every margin is below $1-\gamma$. Then $\alpha = \mathbf
# 1$ and $x = [\sum_t a_t]_K/\lambda$; by (1) this pair is optimal **if and only if** no margin exceeds
# $1-\gamma$, that is
#
# $$\lambda \ge \lambda_{\max} = \max_t \frac{\langle a_t, [\sum_s a_s]_K\rangle}{1-\gamma} .$$
#
# (STS19 starts its paths at a smaller $\lambda$, at which $R$ gets its first member.)

# %% tags=["path-begins"]
values, V = np.linalg.eigh(A.sum(axis=0).reshape(2, 2))
all_in = V * np.maximum(values, 0.0) @ V.T
lam_max = max(A @ all_in.ravel()) / (1.0 - loss.gamma)
assert np.allclose(all_in, problem.all_linear(), rtol=1e-12)
assert np.isclose(lam_max, problem.lam_max(), rtol=1e-12)
above = ss.solve(problem, 1.001 * lam_max, tol=1e-10)
below = ss.solve(problem, 0.999 * lam_max, tol=1e-10)
for name, s in (("above", above), ("below", below)):
    beyond = int(np.sum(problem.terms.margins(s.x) > 1.0 - loss.gamma + 1e-6))
    print(f"just {name} lam_max: {beyond} triplets are not in the linear part")
assert np.allclose(above.x, all_in / above.lam, atol=1e-6)
assert problem.terms.margins(below.x).max() > 1.0 - loss.gamma

# %% [markdown]
# ## The reduced problem
#
# Suppose that we know some members of $L$ and $R$. In the Lagrangian of step 1 we replace the losses of these triplets by their straight parts: $1 - \gamma/2 - t$ for $\hat L$, and 0 for $\hat R$. The infimum over such a $t$ is then the infimum of a *linear* function, which is $-\infty$ unless its slope is zero. So $\alpha_t$ must be 1 on $\hat L$ and 0 on $\hat R$. The rest of the derivation is unchanged, and the dual is
#
# $$\max_{0 \le \alpha \le 1} D(\alpha;\lambda) \quad \text{with } \alpha_{\hat L} = 1,\; \alpha_{\hat R} = 0 .$$
#
# The new feasible set is a subset of the old feasible set. **It still contains every old maximiser**, because every old maximiser already has the fixed values. So the maximum, the maximisers and $x^\star = [H(\alpha^\star)]_K/\lambda$ stay the same.
#
# We check one term with sympy: the straight part of the loss has the required conjugate at $\alpha = 1$.

# %%
# the loss of an L triplet with its multiplier 1: t cancels
straight = (1 - t - gam / 2) + 1 * t
assert sp.simplify(straight + conjugate.subs(a, 1)) == 0
constant_L = sp.factor(-conjugate.subs(a, 1))
constant_R = -conjugate.subs(a, 0)
print("constant for a term of L:", constant_L, " for a term of R:", constant_R)

# %% [markdown]
# Now we test the lemma on random problems of three kinds. We remove random subsets of the true $L$ and $R$ in two steps, as a solver would. Then we solve the reduced problem from scratch, without screening, and compare its solution and its value with the solution and the value of the whole problem. We also complete the dual point of the reduced problem with ones and zeros, and compute its gap **on the whole problem**. Finally we compare the reduced objectives with the displayed formulas. This last comparison includes points at which $\tilde P$ and $P$ differ.

# %%
def random_problem(kind, gamma, rng):
    n, d = int(rng.integers(8, 15)), int(rng.integers(2, 5))
    X, y = rng.standard_normal((n, d)), np.arange(n) % 2
    X[y == 1] += rng.uniform(0.0, 1.5, d)
    if kind == "support vectors":
        return ss.Problem(ss.Samples(X, 2 * y - 1), ss.SmoothedHinge(gamma))
    diagonal = kind == "diagonal metric"
    return ss.Problem(
        ss.Triplets.from_labels(X, y, k=3, diagonal=diagonal), ss.SmoothedHinge(gamma)
    )


# %%
def reduced_in_two_steps(whole, full, rng):
    """Remove random subsets of the true L and R; return their masks and the reduced problem."""
    u_full, margin_error = whole.terms.margins(full.x), full.eps * whole.terms.norms
    known = rng.random(len(whole)) < rng.choice([0.3, 0.9, 1.0])
    L_hat = known & (u_full + margin_error < 1.0 - whole.loss.gamma)
    R_hat = known & (u_full - margin_error > 1.0)
    first = rng.random(len(whole)) < 0.5
    once = whole.reduce(L_hat & first, R_hat & first)
    stay = ~(first & (L_hat | R_hat))
    return L_hat, R_hat, once.reduce(L_hat[stay], R_hat[stay])


def completed(L_hat, remaining, alpha):
    """The dual point of the whole problem: 1 on L_hat, 0 on R_hat, `alpha` on the others."""
    whole = L_hat.astype(float)
    whole[remaining] = alpha
    return whole


# %%
def by_the_formulas(whole, L_hat, remaining, z, weight, alpha):
    """Primal value of the reduced problem by its displayed formula, dual value by the claim."""
    rows = np.array([whole.terms.adjoint(unit).ravel() for unit in np.eye(len(whole))])
    losses = whole.loss.value(rows[remaining] @ z.ravel())
    constant = (1 - whole.loss.gamma / 2) * L_hat.sum()
    linear = rows[L_hat].sum(axis=0) @ z.ravel()
    primal = losses.sum() - linear + constant + weight / 2 * np.sum(z**2)
    return primal, whole.dual(alpha, weight), np.abs(rows).sum()


# %%
def off_the_formulas(whole, reduced, L_hat, remaining, full, rng):
    """Relative difference between reduced problem and displayed formulas, at a random pair."""
    weight = full.lam
    assert len(reduced) == remaining.sum()
    z = rng.standard_normal(full.x.shape)
    z = whole.cone.project(z @ z.T if z.ndim == 2 else z) * max(np.linalg.norm(full.x), 0.1)
    alpha = np.where(remaining, rng.uniform(0.0, 1.0, len(whole)), L_hat)
    primal, dual, size = by_the_formulas(whole, L_hat, remaining, z, weight, alpha)
    assert 0.0 < reduced.linear_error < 1e-9 * (1.0 + size)
    e = reduced.evaluate(z, weight, alpha[remaining])
    pairs = (
        (reduced.primal(z, weight), primal),
        (e.primal, primal),
        (reduced.dual(alpha[remaining], weight), dual),
        (e.dual, dual),
        (reduced.gap(z, weight, alpha[remaining]), primal - dual),
        (reduced.x_of(alpha[remaining], weight), whole.x_of(alpha, weight)),
    )
    differences = [
        np.linalg.norm(ours - true) / (np.linalg.norm(true) + len(whole)) for ours, true in pairs
    ]
    return max(differences)


# %%
def compared(whole, reduced, full, L_hat, remaining):
    """Solve the reduced problem. Return the distance of the two solutions over the sum of their
    accuracies, and the relative gap of the completed dual point on the whole problem."""
    if len(reduced) == 0:
        return 0.0, 0.0
    weight = full.lam
    small = ss.solve(reduced, weight, tol=1e-11, rtol=1e-12, screening=())
    alpha = completed(L_hat, remaining, reduced.alpha(small.x))
    values = small.primal, reduced.dual(reduced.alpha(small.x), weight), whole.dual(alpha, weight)
    assert np.allclose(values, full.primal, rtol=1e-9, atol=1e-9)
    apart = np.linalg.norm(small.x - full.x) / (small.eps + full.eps)
    return apart, whole.gap(full.x, weight, alpha) / max(1.0, full.primal)


# %%
def reductions(rng):
    """45 random problems, their solutions, and the problems reduced in two steps."""
    for kind in ("metric", "diagonal metric", "support vectors"):
        for repeat in range(15):
            whole = random_problem(kind, (0.05, 0.5)[repeat % 2], rng)
            weight = max(whole.lam_max(), 1.0) * rng.choice([0.5, 0.1, 0.02])
            full = ss.solve(whole, weight, tol=1e-11, rtol=1e-12, screening=())
            yield whole, full, *reduced_in_two_steps(whole, full, rng)


# %% tags=["STS19-L1"]
rng = np.random.default_rng(7)
removed = total = 0
formula = []
apart = []
gaps = []
for whole, full, L_hat, R_hat, reduced in reductions(rng):
    remaining = ~(L_hat | R_hat)
    removed += int(np.sum(~remaining))
    total += len(whole)
    formula.append(off_the_formulas(whole, reduced, L_hat, remaining, full, rng))
    distance, relative_gap = compared(whole, reduced, full, L_hat, remaining)
    apart.append(distance)
    gaps.append(relative_gap)
print(f"45 problems, {total} terms, {100 * removed / total:.0f} % of them removed in two steps")
print("displayed formulas: relative difference below 1e-10")
print("distance of the two solutions: never above the sum of their certified accuracies")
print("relative gap of the completed dual point on the whole problem: below 1e-7")
assert removed > 0.3 * total
assert max(formula) < 1e-10 and max(apart) <= 1.0 and max(gaps) < 1e-7

# %% [markdown]
# ## What is *not* the same
#
# Only the optimum is the same. At other points the reduced objective may be **lower**. A loss is never below its straight parts, so $\tilde P(x) \le P(x)$ at every $x$, with equality where the margins of all removed triplets lie on their straight parts. Therefore the gap of the reduced problem can be smaller than the gap of the problem that we want to solve.

# %%
reduced = problem.reduce(in_L, in_R)
lower = []
for B in rng.standard_normal((500, 2, 2)):
    x = B @ B.T
    lower.append(problem.primal(x, lam) - reduced.primal(x, lam))
print(f"P - reduced P at 500 random metrics: between {min(lower) + 0.0:.3f} and {max(lower):.1f}")
half = 0.5 * (point + solution.x)
print(
    f"half-way to the solution: gap {problem.gap(half, lam):.3f}, gap of the reduced problem "
    f"{reduced.gap(half, lam):.3f}"
)
assert min(lower) >= -1e-9 and reduced.gap(half, lam) < problem.gap(half, lam)

# %% [markdown]
# A solver that stops at a small gap of the reduced problem must check that the gap of the whole problem is small as well. Notebook [`23-algorithms`](23-algorithms.ipynb) shows how a solver does this.
#
# ## Break it
#
# ### One triplet in the wrong group
#
# We put a single triplet of $C$ into $\hat R$, the triplet with the largest dual variable. The solver solves this wrong reduced problem to the same accuracy and reports a tiny gap. But the reduced problem now has a different solution.

# %%
middle = ~in_L & ~in_R
wrong = int(np.flatnonzero(middle)[np.argmax(alpha_star[middle])])
mistaken = problem.reduce(in_L, in_R | (np.arange(len(problem)) == wrong))
elsewhere = ss.solve(mistaken, lam, tol=1e-9)
print(f"dual variable of the triplet {alpha_star[wrong]:.3f}, its margin {u[wrong]:.3f}")
print(f"gap that the solver reports: below 1e-9; true gap {problem.gap(elsewhere.x, lam):.3f}")
assert elsewhere.gap < 1e-9
print(
    f"distance from the solution {np.linalg.norm(elsewhere.x - solution.x):.4f}, norm of the "
    f"solution {np.linalg.norm(solution.x):.4f}"
)
assert problem.gap(elsewhere.x, lam) > 1e-3
assert np.linalg.norm(elsewhere.x - solution.x) > 1e3 * elsewhere.eps

# %% [markdown]
# ### The dual without the projection, and beyond the box
#
# Suppose that we leave out $\Gamma$ and write $\|H(\alpha)\|$ for $\|[H(\alpha)]_K\|$. The result is still a lower bound, but it is the dual objective of the *unconstrained* problem. Its distance from $P$ is positive for every $\alpha$, also for the best.
#
# The formula $\gamma\alpha^2/2 - \alpha$ is finite for every $\alpha$, but the conjugate is infinite outside $[0, 1]$. We set the dual variable of one $L$ triplet to 2, and weak duality fails.

# %%
free = cp.Problem(
    cp.Maximize(
        cp.sum(weights)
        - loss.gamma / 2 * cp.sum_squares(weights)
        - cp.sum_squares(H_alpha) / (2 * lam)
    ),
    [weights >= 0, weights <= 1],
)
free.solve(solver=cp.SCS, eps_abs=1e-9, eps_rel=1e-9, max_iters=100_000)
print(
    f"P(M*) = {solution.primal:.4f}, best dual value {outside_dual.value:.4f}, best without Gamma "
    f"{free.value:.4f}"
)
assert free.value < outside_dual.value - 1e-3

beyond = alpha_star.copy()
beyond[np.argmin(u)] = 2.0
_, false_dual, _, _ = objectives(A, solution.x.ravel(), beyond, lam, loss.gamma, 2)
print(f"alpha beyond 1: 'dual' value {false_dual:.4f}, above the optimum {solution.primal:.4f}")
assert false_dual > solution.primal
try:
    problem.dual(beyond, lam)
except ValueError as error:
    print("the library refuses:", error)

# %% [markdown]
# ## Exercise
#
# Show that at the optimum the losses and their conjugates add up to $-\lambda\|x^\star\|^2$, and conclude
# that $\|x^\star\|^2 \le |T|\,(1-\gamma/2)/\lambda$ whatever the data (for $\gamma \le 1$). Are there data for which equality holds?
#
# <details>
# <summary><b>Solution</b></summary>
#
# The Fenchel parts of (1) vanish: $\ell(u_t) + \ell^*(-\alpha_t) = -\alpha_t u_t$. The sum over $t$ is $-\langle
# H(\alpha^\star), x^\star\rangle = -\langle H_+, x^\star\rangle + \langle H_-, x^\star\rangle =
# -\lambda\|x^\star\|^2 + 0$. At a computed $x$, with $\alpha = \alpha(x)$, the two sides differ by
# $\langle \lambda x - H_+, x\rangle + \langle H_-, x\rangle$. The first part is at most $\lambda\|x - x(\alpha)\|\,\|x\|$, so by (1) the sum of both parts is at most $\sqrt{2\lambda\,\text{gap}}\,\|x\| + \text{gap}$.
#
# So $\lambda\|x^\star\|^2 = \sum_t \big(-\ell^*(-\alpha_t) - \ell(u_t)\big) \le \sum_t (\alpha_t -
# \gamma\alpha_t^2/2) \le |T|(1-\gamma/2)$, since $a - \gamma a^2/2$ grows on $[0,1]$ when $\gamma \le 1$. Equality requires $\alpha_t = 1$ and $\ell(u_t) = 0$ for every triplet. Both hold only at the kink of the hinge, that is for $\gamma = 0$ and $u_t = 1$. One triplet at $\lambda = \|[a]_K\|^2$ is an example.
#
# </details>

# %%
values = loss.value(u) + loss.conjugate(alpha_star)
square = float(np.vdot(solution.x, solution.x))
gap = problem.gap(solution.x, lam)
apart = np.sqrt(2.0 * lam * gap * square) + gap
print(f"sum of losses and conjugates {values.sum():.4f}, -lam |x*|^2 = {-lam * square:.4f}")
assert apart < 1e-4 and abs(values.sum() + lam * square) <= apart
assert square <= len(problem) * (1 - loss.gamma / 2) / lam

line = ss.Triplets(np.array([[0.0], [0.0], [2.0]]), [[0, 1, 2]], diagonal=True)  # one term, a = 4
tight = ss.solve(ss.Problem(line, ss.Hinge()), 16.0, tol=1e-10)
print(
    f"one triplet, hinge, lam = |a|^2 = 16:  x = {tight.x[0]:.4f}, the bound "
    f"{np.sqrt(1 / 16.0):.4f}"
)
assert abs(tight.x[0] - 0.25) < 1e-4

# %% [markdown]
# ## Fine print
#
# * **A misprint.** STS19 eq. 2.10 writes "min" for the reduced dual; the sentence after it and eq. B.4 make clear that a maximum is meant. In section 2.2 the maximum over $\Gamma$ is "equivalent to the projection" in the sense that the maximiser gives the projection, $\lambda M_\lambda(\alpha, \Gamma) = [H(\alpha)]_+$.
# * **"The same dual solutions"** in Lemma 1 means the same *set*. For the hinge this set may have many members: two equal triplets at the kink can share their weight in any way. Every member has the fixed values on $\hat L$ and $\hat R$, because $x^\star$ is unique.
# * **Ties.** $L$ and $R$ are defined by strict inequalities. With $\gamma > 0$ a triplet at equality could be removed as well. With the hinge a triplet exactly at the kink may have any $\alpha$, so it must not be removed.
# * **A linear term.** A reduced problem has the form of $P$ again: $\sum_{\hat L} a_t$ is added to $c$ of the linear term $-\langle c, x\rangle$, and $H(\alpha)$ becomes $c + \sum_t\alpha_t a_t$ everywhere. `Problem.reduce` returns such a problem.
# * **Cost.** $P$, $D$ and the gap of one pair need one pass over the triplets and one eigendecomposition.
#
# ## References
#
# * STS19: Yoshida, Takeuchi, Karasuyama, *Safe Triplet Screening for Distance Metric Learning*, Neural
#   Computation 31, 2019: sections 2.2 and 2.3, Lemma 1, appendices A and B.
# * The projection: Boyd, Xiao, *Least-squares covariance matrix adjustment*, SIAM J. Matrix Anal. Appl. 27,
#   2005; Malick, *A dual approach to semidefinite least-squares problems*, same journal 26, 2004.
