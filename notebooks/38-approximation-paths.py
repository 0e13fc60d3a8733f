# %% [markdown]
# # Paths of approximate solutions
#
# Which values of $C$ should one try? A grid may be too fine in one place and too coarse in another. SSS14 takes its
# values from an *approximation path*: each solution has a relative error of at most $\varepsilon$ for all $C$ up to the
# next solution. One line of algebra gives the next $C$. Each solution is also the reference that screens samples for
# the next $C$.
#
# At the end you will have seen that
#
# * the dual solution for $C_0$, scaled by $C/C_0$, is feasible for $C$, and its gap is a square. So a formula tells up
#   to which $C$ its error is at most $\varepsilon$;
# * solves at values of $C$ between two solutions confirm the statement, and no rule can make the steps much longer;
# * the inequality needs an exact reference, and a second inequality serves the result of a solver that stopped early;
# * the number of solutions grows like $1/\sqrt\varepsilon$, with a constant that follows from the path;
# * Algorithm 1 gives the same solutions with and without screening, on breast cancer and on digits.

# %%
import itertools

import numpy as np
import sympy as sp

import safescreen as ss
from safescreen import svm
from safescreen_book import datasets, figures

# %% tags=["parameters"]
span = 1e4
finest = 1e-3

# %% [markdown]
# ## The idea in a picture
#
# The data are breast cancer, and a solution may have a relative error of a tenth. The first solution is exact at its
# own $C$. Its possible error grows with the distance from this $C$. A formula bounds the error, without a solve.
# Where the bound reaches $\varepsilon = 0.1$, the path computes the next solution. So the path has a value of $C$ only
# where one is needed. On these data the steps of $\log C$ are nearly equal, and a little shorter in the middle.

# %%
def saw_of(path, Z, n=30):
    """Return values of C along a path, and at each the bound of the preceding solution's error."""
    Cs, bounds = [], []
    for before, after in itertools.pairwise(path):
        C0 = 1.0 / before.lam
        square = before.x @ before.x
        linear = C0 * np.maximum(1.0 - Z @ before.x, 0.0).sum() + square
        ratio = np.geomspace(1.0, before.lam / after.lam, n)
        gap = 0.5 * (ratio - 1.0) ** 2 * square
        Cs.extend(C0 * ratio)
        bounds.extend(gap / (ratio * linear - 0.5 * ratio**2 * square))
    return Cs, bounds

# %%
features, labels = datasets.load("breast-cancer", return_X_y=True)
samples = ss.Samples(features, labels)
coarse = svm.eps_path(samples, span * svm.c_min(samples), 0.1, rtol=1e-10)
saw = saw_of(coarse, labels[:, None] * features)
assert max(saw[1]) <= 0.1 * (1 + 1e-6)
title = f"{len(coarse)} solutions for all C"
figures.lines({"bound": saw}, xlabel="$C$", ylabel="bound of the relative error", title=title,
              log="x", legend=None)
figures.show(
    "A curve like the teeth of a saw shows the bound of the relative error along C, on a "
    f"logarithmic axis. For each of {len(coarse)} solutions but the last the bound rises from 0 "
    f"to {max(saw[1]):.2g}, and falls to 0 at the next solution."
)

# %% [markdown]
# ## The claim
#
# We use the scale of SSS14: $P_C(w) = \frac12\|w\|^2 + C\,\xi(w)$ is minimised, and
# $D(a) = \mathbf 1^\top a - \frac12 a^\top Q a$ is maximised over $0 \le a \le C$. Let $(w_0, a_0)$ be the solutions for
# $C_0$, $\xi_0 = \xi(w_0)$ and $\rho = C/C_0$. (The book's $\lambda$ is $1/C$, its dual variables are $a/C$, and its
# objective is $P_C/C$. Relative errors are the same in the two scales.)
#
# > **Approximation path** (SSS14 appendix D, equation 35). If $C > C_0$ and
# >
# > $$\tfrac12(\rho - 1)^2\|w_0\|^2 \;\le\; \varepsilon\,\Big(\rho\,\big(C_0\xi_0 + \|w_0\|^2\big) - \tfrac12\rho^2\|w_0\|^2\Big), \tag{1}$$
# >
# > then for all $C' \in [C_0, C]$ the point $\frac{C'}{C_0}a_0$ is feasible, and
# >
# > $$D(a^\star_{C'}) - D\big(\tfrac{C'}{C_0}a_0\big) \le \varepsilon\, D(a^\star_{C'}) . \tag{35}$$
#
# > **Algorithm 1.** Start at $C_{\min}$. Repeat three steps: compute the largest $C$ that satisfies (1); screen the samples
# > for this $C$ by a safe test, with the last solution as reference; train on the remaining samples. Stop when $C$ is
# > $C_T$, or when no sample is in L.
#
# SSS14 asks for (35) as a property of the optimal dual solutions, and refers to Giesen et al. for the algorithm. This
# notebook derives (1), which is not in the paper.
#
# | assumption | used in step |
# |---|---|
# | $0 \le a_0 \le C_0$, and $w_0 = Z^\top a_0$ | 1 |
# | $P_{C_0}(w_0) = D(a_0)$: an exact reference | 2; broken below |
# | $C \ge C_0$ | no step: the exercise treats $C < C_0$ |
#
# <details>
# <summary><b>Symbols</b></summary>
#
# | symbol | what it is |
# |---|---|
# | $P(w;\lambda)$ | $\sum_i \ell(\langle z_i, w\rangle) + \tfrac\lambda2\lVert w\rVert^2$ with $z_i = y_i x_i$, to be minimised; $\lambda = 1/C$, and the paper's objective is $C\,P$ |
# | loss $\ell(u)$ | the hinge, $\max(0, 1-u)$ |
# | cone $K$ | the whole space, without a projection |
# | $H(\alpha)$ | $\sum_i \alpha_i z_i$ with an $\alpha_i \in [0,1]$ for each sample; most formulas here use the paper's scale, $a = C\alpha$ |
# | $w(\alpha)$ | $H(\alpha)/\lambda = C\sum_i\alpha_i z_i$; the dual is $D(\alpha;\lambda) = \mathbf 1^\top\alpha - \tfrac1{2\lambda}\lVert H(\alpha)\rVert^2$ |
#
# </details>
#
# ## Derivation
#
# ### Step 1: the dual objective does not depend on C
#
# $C$ does not occur in $D(a)$, only in the constraint $0 \le a \le C$. So $\rho a_0$ is feasible for $C = \rho C_0$, and
# $D(\rho a_0) = \rho\,\mathbf 1^\top a_0 - \frac12\rho^2\|w_0\|^2$.
#
# ### Step 2: one number from optimality
#
# The equation $P_{C_0}(w_0) = D(a_0)$ is equivalent to $\mathbf 1^\top a_0 = C_0\xi_0 + \|w_0\|^2$.
#
# ### Step 3: the gap is a square
#
# $w_0$ is a primal point for every $C$. So weak duality gives $D(a^\star_C) - D(\rho a_0) \le P_C(w_0) - D(\rho a_0)$.
# The cell computes the right-hand side:

# %%
C0, xi0, rho, eps_ = sp.symbols("C0 xi0 rho epsilon", positive=True)
N = sp.symbols("N", positive=True)  # |w0|^2
one_a = C0 * xi0 + N
D = rho * one_a - rho**2 * N / 2
P = N / 2 + rho * C0 * xi0
assert sp.simplify(P - D - (rho - 1) ** 2 * N / 2) == 0
print("P_C(w0) - D(rho a0) =", sp.factor(sp.expand(P - D)))

# %% [markdown]
# The loss has cancelled. Since $D(\rho a_0) \le D(a^\star_C)$, (1) implies (35) at $C$. Inequality (1) is quadratic in
# $\rho$ and true at $\rho = 1$. So it is true between its two roots, and therefore on all of $[C_0, C]$. The largest
# $\rho$ is
#
# $$\rho = \frac{N + \varepsilon b + \sqrt{(N + \varepsilon b)^2 - (1 + \varepsilon) N^2}}{(1 + \varepsilon) N},
# \qquad N = \|w_0\|^2,\; b = C_0\xi_0 + N .$$

# %%
b = sp.symbols("b", positive=True)
largest = (N + eps_ * b + sp.sqrt((N + eps_ * b) ** 2 - (1 + eps_) * N**2)) / ((1 + eps_) * N)
inequality = (rho - 1) ** 2 * N / 2 - eps_ * (rho * b - rho**2 * N / 2)
assert sp.simplify(inequality.subs(rho, largest)) == 0
roots = sp.solve(inequality, rho)
assert sp.simplify(roots[0] * roots[1] - 1 / (1 + eps_)) == 0
step = sp.series(largest.subs(eps_, eps_**2), eps_, 0, 2).removeO()
assert sp.simplify(step - 1 - eps_ * sp.sqrt((2 * b - N) / N)) == 0
print("for small epsilon, rho - 1 = sqrt(epsilon) *", sp.simplify((step - 1) / eps_))

# %% [markdown]
# Here $2b - N = 2(C_0\xi_0 + \frac12\|w_0\|^2) = 2P_{C_0}(w_0)$. So the length of a step in $\log C$ is
# $\sqrt{2\varepsilon P/\|w_0\|^2}$, and **the number of solutions is**
#
# $$n(\varepsilon) \approx \frac{1}{\sqrt{2\varepsilon}} \int \frac{\|w(C)\|}{\sqrt{P_C}}\; d\log C . \tag{2}$$
#
# As $\|w\|^2 \le 2P_C$, the number is at most about $\log(C_T/C_{\min})/\sqrt\varepsilon$, for any data.
#
# ## Ten lines of numpy


# %%
def largest_rho(Z, w0, C0, eps):
    """Return the largest C/C0 that satisfies inequality (1), for an exact reference."""
    N = w0 @ w0
    b = C0 * np.maximum(1.0 - Z @ w0, 0.0).sum() + N
    return (N + eps * b + np.sqrt((N + eps * b) ** 2 - (1.0 + eps) * N * N)) / ((1.0 + eps) * N)


# %%
cells, diagnosis = datasets.load("breast-cancer", return_X_y=True)
pixels, digit = datasets.load("digits", return_X_y=True)
machines = {
    "breast cancer": (cells, diagnosis),
    "digits, even or odd": (pixels, np.where(digit % 2 == 0, 1, -1)),
}
problems = {name: ss.Problem(ss.Samples(X, y), ss.Hinge()) for name, (X, y) in machines.items()}
rows = {name: y[:, None] * X for name, (X, y) in machines.items()}


def solve(prob, C, rtol=1e-10, **options):
    return ss.solve(prob, 1.0 / C, tol=0.0, rtol=rtol, screening=(), **options)


prob, Z = problems["breast cancer"], rows["breast cancer"]
C0_ = 30.0 * svm.c_min(prob.terms)
at0 = solve(prob, C0_)
for eps in (0.1, 0.01, 0.001):
    formula = largest_rho(Z, at0.x, C0_, eps)
    library = svm.eps_next_C(prob.terms, at0, eps) / C0_
    print(f"eps {eps:5}: largest C/C0 {formula:.4f}, svm.eps_next_C gives {library:.4f}")

# %% [markdown]
# ## Does it match? Is it true?
#
# The numbers agree. Three checks follow.
#
# * Is (35) true? We compute solutions at values of $C$ between $C_0$ and the next $C$, and compare. The $C_0$ go from
#   $C_{\min}$ to a thousand times $C_{\min}$, on two data sets.
# * How long could a step be? A bisection gives the largest $\rho$ for which (35) is true. No rule can exceed it.
# * What of references that are not exact? Their relative gaps go from nearly $\varepsilon$ down to a hundredth of
#   $\varepsilon$. We compare the library's next $C$ with the larger root of (3), which is derived below, and check (35)
#   again by solving.

# %%
def relative_error(prob, reference, C):
    """Return the relative error that (35) bounds, from above and from below. A solve to a relative
    gap of 1e-10 gives bounds of the optimum."""
    best = solve(prob, C)
    dual = prob.dual(reference.alpha, 1.0 / C)
    upper = (best.primal - dual) / best.primal
    lower = (best.primal - best.gap - dual) / best.primal
    return upper, lower


# %%
def true_ratio(prob, reference, C0_, ratio, eps):
    """Return the largest C / C0 at which the reference is an eps approximation, by bisection
    between the ratio of the rule and four times this ratio."""
    low = ratio
    high = 4.0 * ratio
    for _ in range(14):
        middle = np.sqrt(low * high)
        if relative_error(prob, reference, C0_ * middle)[1] <= eps:
            low = middle
        else:
            high = middle
    return low


# %%
def reference_at(prob, factor):
    """Return the solution at C0 = factor C_min; at C_min it has a closed form."""
    C0_ = factor * svm.c_min(prob.terms)
    if factor == 1.0:
        return svm.solution_below_c_min(prob.terms, C0_)
    return svm.reference(solve(prob, C0_))


def checked_step(name, reference, eps):
    """Check one step of the library: its formula, and (35) at values of C along the step. Return
    the ratio C/C0, the errors, and the largest ratio for which (35) is true."""
    prob, C0_ = problems[name], reference.C
    ratio = svm.eps_next_C(prob.terms, reference, eps) / C0_
    assert abs(ratio / largest_rho(rows[name], reference.w, C0_, eps) - 1.0) < 1e-5
    errors = [relative_error(prob, reference, C)[0] for C in C0_ * np.linspace(1.0, ratio, 6)]
    assert max(errors) <= eps and np.all(np.diff(errors) > -1e-9)
    true = true_ratio(prob, reference, C0_, ratio, eps)
    assert true >= ratio
    return ratio, errors, true


# %% tags=["SSS14-AppD", "nbval-ignore-output"]
print(f"{'':20}{'eps':>6}{'C0/C_min':>10}{'rho':>8}{'error/eps':>11}{'true rho':>10}{'share':>7}")
checked = 0
for name, prob in problems.items():
    for eps in (0.1, 0.01):
        for factor in (1.0, 10.0, 100.0, 1000.0):
            ratio, errors, true = checked_step(name, reference_at(prob, factor), eps)
            checked += len(errors)
            error = errors[-1] / eps
            share = (ratio - 1.0) / (true - 1.0)
            assert 0.5 < share <= 1.0 and 0.2 < error <= 1.0
            print(f"{name:20}{eps:6.2f}{factor:10.0f}", end="")
            print(f"{ratio:8.3f}{error:11.2f}{true:10.3f}{share:7.2f}")
print("values of C at which (35) was checked by solving:", checked)


# %% [markdown]
# "error/eps" is the true error at the end of the step, divided by the allowed error. "share" is the length of the step,
# divided by the largest possible length. A step costs one square root.
#
# For references that are not exact the next $C$ is the root of (3):

# %%
def largest_rho_of_pair(Z, reference, eps):
    """The larger root of (3): |w - rho v|^2/2 + rho C0 phi = eps (rho c - rho^2 |v|^2/2)."""
    w, C0 = reference.w, reference.C
    a = C0 * reference.alpha
    v = a @ Z
    c = a.sum()
    phi = np.maximum(1.0 - Z @ w, 0.0).sum() + (w @ v - c) / C0
    b = w @ v - C0 * phi + eps * c
    return (b + np.sqrt(b * b - (1.0 + eps) * (v @ v) * (w @ w))) / ((1.0 + eps) * (v @ v))


def checked_rough_step(name, reference, eps):
    """Check one step from an inexact reference. Return its length, divided by the length of the
    step from the exact solution."""
    prob, C0_ = problems[name], reference.C
    ratio = svm.eps_next_C(prob.terms, reference, eps) / C0_
    formula = largest_rho_of_pair(rows[name], reference, eps)
    assert abs((ratio - 1.0) / (formula - 1.0) - 1.0) < 1e-4
    assert relative_error(prob, reference, ratio * C0_)[1] <= eps
    exact = largest_rho(rows[name], solve(prob, C0_).x, C0_, eps)
    return (ratio - 1.0) / (exact - 1.0)


# %% tags=["SSS14-AppD"]
lengths = []
for name, prob in problems.items():
    for factor in (3.0, 30.0, 300.0):
        for method, rtol in (("gradient", 3e-2), ("gradient", 1e-3), ("coordinate", 1e-2)):
            C0_ = factor * svm.c_min(prob.terms)
            reference = svm.reference(solve(prob, C0_, rtol, method=method))
            dual = prob.dual(reference.alpha, 1.0 / C0_)
            gap = prob.gap(reference.w, 1.0 / C0_, reference.alpha) / dual
            for multiple in (1.02, 1.5, 10.0, 100.0):
                lengths.append(checked_rough_step(name, reference, multiple * gap))
assert 0.0 < min(lengths) < 0.5
print(f"{len(lengths)} inexact references: the next C is the root of (3) to a part in ", end="")
print("1e4, and (35) is true at each")

# %% [markdown]
# ### The picture again, with the true errors
#
# The curve is the bound of the first picture, which is the square divided by $D$. The dots are true errors, from solves
# at values of $C$ between the solutions.

# %%
prob, Z = problems["breast cancer"], rows["breast cancer"]
dots = [[], []]
for before, after in itertools.pairwise(coarse):
    reference = svm.reference(before)
    for C in np.geomspace(reference.C, 1.0 / after.lam, 5)[1:]:
        dots[0].append(C)
        dots[1].append(relative_error(prob, reference, C)[0])
figure, ax = figures.panels(1, width=8.0, height=3.2)
marks = {"true relative error": tuple(dots)}
labels = {"xlabel": "$C$", "ylabel": "relative error of the dual"}
figures.lines({"bound (1)": saw}, dots=marks, ax=ax, title="breast cancer", log="x", **labels)
ax.set_ylim(-0.004, 0.135)
figures.show(
    "A curve like the teeth of a saw shows the bound of the relative error of the dual along C, "
    f"on a logarithmic axis. The bound rises from 0 to {max(saw[1]):.2g} and falls to 0 at each "
    f"solution. Dots are the true errors, and the largest true error is {max(dots[1]):.2f}."
)
assert len(coarse) > 10 and max(dots[1]) <= 0.1 and max(saw[1]) <= 0.1 * (1 + 1e-6)
print("solutions:", len(coarse))

# %% [markdown]
# ## Break it: a reference that is not exact
#
# Step 2 needs $P = D$. A solver may stop at a relative gap close to $\varepsilon$, and then hardly any step is allowed.
# Inequality (1) contains only $w_0$ and $\xi_0$, so it does not notice the gap. (Equation (35) is not at fault, because
# it is about the optimal dual solution.) The remedy is to compute the gap of the inexact pair. Let $v_0 = Z^\top a_0$ and
# $c = \mathbf 1^\top a_0$, and let $C_0\varphi = C_0\xi_0 + \langle w_0, v_0\rangle - c$ be the Fenchel terms of the
# pair. The condition is
#
# $$P_C(w_0) - D(\rho a_0) = \tfrac12\|w_0 - \rho v_0\|^2 + \rho\, C_0\varphi
# \;\le\; \varepsilon\,\big(\rho c - \tfrac12\rho^2\|v_0\|^2\big). \tag{3}$$
#
# It is quadratic in $\rho$ too, and (1) is its case $v_0 = w_0$, $\varphi = 0$. If (3) is false at $\rho = 1$, the
# reference has no error below $\varepsilon$ even at $C_0$, and `svm.eps_next_C` refuses it.

# %%
phi, c, C = sp.symbols("phi c C", positive=True)
x1, x2, y1, y2 = sp.symbols("x1 x2 y1 y2", real=True)
w, v = sp.Matrix([x1, x2]), sp.Matrix([y1, y2])
loss = c / C0 - w.dot(v) / C0 + phi  # xi0, from the definition of phi
gap = w.dot(w) / 2 + rho * C0 * loss - (rho * c - rho**2 * v.dot(v) / 2)
assert sp.expand(gap - ((w - rho * v).dot(w - rho * v) / 2 + rho * C0 * phi)) == 0
print("gap of an inexact pair: |w - rho v|^2/2 + rho C0 phi")

# %% [markdown]
# Two solvers compute rough references, and $\varepsilon$ is a little above their relative gaps. The column "rho by (1)"
# treats the reference as exact, and "rho by (3)" is the library's. Beside each is the error at this $\rho$, which must
# not exceed $\varepsilon$.

# %% tags=["nbval-ignore-output"]
broken = kept = 0
print(f"{'C0/C_min':>9}{'method':>12}{'gap/eps':>9}", end="")
print(f"{'rho by (1)':>12}{'error/eps':>11}{'rho by (3)':>12}{'error/eps':>11}")
for factor in (10.0, 100.0, 1000.0):
    for method, rtol in (("gradient", 1e-2), ("gradient", 1e-3), ("coordinate", 1e-2)):
        C0_ = factor * svm.c_min(prob.terms)
        rough = solve(prob, C0_, rtol, method=method)
        reference = svm.reference(rough)
        eps = 1.2 * rough.gap / (rough.primal - rough.gap)
        promised = largest_rho(Z, rough.x, C0_, eps)
        certain = svm.eps_next_C(prob.terms, reference, eps) / C0_
        error1 = relative_error(prob, reference, promised * C0_)[0] / eps
        error3 = relative_error(prob, reference, certain * C0_)[0] / eps
        print(f"{factor:9.0f}{method:>12}{1 / 1.2:9.2f}", end="")
        print(f"{promised:12.4f}{error1:11.2f}{certain:12.4f}{error3:11.2f}")
        broken += error1 > 1.0
        kept += error3 <= 1.0
        assert certain < promised
assert broken > 0 and kept == 9

# %%
refused = ""
try:
    svm.eps_next_C(prob.terms, rough, 0.5 * eps)
except ValueError as error:
    refused = str(error).split(" of at most")[0]
assert refused
print("the library refuses half of this eps:", refused)
print(f"(3) keeps the error below eps for {kept} of 9 rough references, and (1) does not for all")

# %% [markdown]
# ## Algorithm 1
#
# The algorithm takes a few lines. It begins at $C_{\min}$, which has a closed form (SSS14 Lemma 9). Then it repeats three
# steps: the next $C$, the intersection test, and a solve on the remaining samples.


# %%
def algorithm_1(prob, C_T, eps, rtol):
    """SSS14 Algorithm 1. Return the values of C, the solutions, and the share of the samples that
    the test screens before each solve."""
    terms = prob.terms
    C = svm.c_min(terms)
    last = svm.solution_below_c_min(terms, C)
    solutions = [last]
    rates = []
    while (last.alpha >= 1.0).any() and C < C_T:
        C = min(svm.eps_next_C(terms, last, eps), C_T)
        screened = svm.intersection_test(terms, C, last)
        reduced = prob.reduce(screened.in_L, screened.in_R)
        alpha = np.where(screened.in_L, 1.0, 0.0)
        if len(reduced):
            kept = ~(screened.in_L | screened.in_R)
            solved = ss.solve(reduced, 1.0 / C, tol=0.0, rtol=rtol, screening=(), x0=last.w)
            alpha[kept] = solved.alpha
        last = svm.Reference(prob.x_of(alpha, 1.0 / C), alpha, C)
        solutions.append(last)
        rates.append(screened.rate)
    return np.array([each.C for each in solutions]), solutions, np.array(rates)


# %% tags=["nbval-ignore-output"]
name = "breast cancer"
prob, C_T = problems[name], span * svm.c_min(problems[name].terms)
Cs, slow, rates = algorithm_1(prob, C_T, 0.01, 1e-8)
fast = svm.eps_path(prob.terms, C_T, 0.01, rtol=1e-8, screening=())
print(f"solutions: {len(slow)} by algorithm_1, {len(fast)} by svm.eps_path", end="; ")
print(f"mean share screened: {rates.mean():.2f} and {np.mean(fast.path_rates[1:]):.2f}")

# %% [markdown]
# `algorithm_1` and the library make the same path, and a gap on all samples certifies each solution:

# %% tags=["SSS14-A1"]
assert len(slow) == len(fast) and np.max(np.abs(Cs * fast.lams - 1.0)) < 1e-3
assert abs(rates.mean() - np.mean(fast.path_rates[1:])) < 0.02
for one, other in zip(slow, fast, strict=True):
    primal = prob.primal(one.w, 1.0 / one.C)
    assert prob.gap(one.w, 1.0 / one.C, one.alpha) <= 2e-6 * primal
    primal_fast = prob.primal(other.x, other.lam)
    assert abs(one.C * primal / (primal_fast / other.lam) - 1.0) < 1e-3


# %% [markdown]
# Now we check the whole statement, for three $\varepsilon$ and two data sets, on paths with BT1, with IT and without a test.
# The three paths must have the same number of solutions and the same objectives. A gap on *all* samples certifies every
# solution. We check (35) by solves in the middle and at the end of every few steps. No support vector may be put in R. The
# last comparison is between the number of solutions and the integral in (2).

# %%
def predicted_number(prob, C_T):
    """Return the integral of |w| / sqrt(P C) over log C, by 60 values of C."""
    grid = np.geomspace(svm.c_min(prob.terms), C_T, 60)
    on_grid = svm.path(prob.terms, grid, rtol=1e-7)
    density = np.array([np.linalg.norm(s.x) / np.sqrt(s.primal / s.lam) for s in on_grid])
    return np.sum(0.5 * (density[1:] + density[:-1]) * np.diff(np.log(grid)))


def certified(by_test, eps):
    """Check paths with BT1, IT and without a test: the same number of solutions, converged, and
    the same objectives."""
    for path in by_test.values():
        assert len(path) == len(by_test["IT"]) and path.reason == "grid"
        assert all(s.converged and s.gap <= 1e-4 * eps * s.primal + 1e-12 for s in path)
    for one, other in zip(by_test["IT"], by_test[None], strict=True):
        assert abs(one.lam / other.lam - 1.0) < eps
        assert abs(one.lam * other.primal / (other.lam * one.primal) - 1.0) < eps


# %%
def n_screened(at):
    """Return how many samples the tests had screened when the solve's loop ended."""
    return at.history[-1].n_L + at.history[-1].n_R


def masks_are_right(by_test, prob):
    """Compare the masks L and R with solutions on all samples. Without a test nothing may be
    screened before the end of a solve."""
    screened = 0
    for test in ("BT1", "IT"):
        for at in by_test[test][:: max(1, len(by_test[test]) // 8)]:
            alpha = solve(prob, 1.0 / at.lam).alpha
            assert not np.any(alpha[at.screened.in_R] > 1e-6)
            assert np.all(alpha[at.screened.in_L] > 1.0 - 1e-6)
            screened += n_screened(at)
    assert screened > 0 and not any(n_screened(at) for at in by_test[None])


def between_neighbours(path, prob, eps):
    """Check (35) by solves in the middle and at the end of every few steps."""
    steps = list(itertools.pairwise(path))
    for before, after in steps[:: max(1, len(steps) // 8)]:
        for C in (1.0 / np.sqrt(before.lam * after.lam), 1.0 / after.lam):
            assert relative_error(prob, svm.reference(before), C)[1] <= eps


# %% tags=["SSS14-A1", "nbval-ignore-output"]
counts, paths = {}, {}
print(f"{'':20}{'eps':>8}{'solutions':>11}{'predicted':>11}{'BT1':>7}{'IT':>7}")
for name, prob in problems.items():
    C_T = span * svm.c_min(prob.terms)
    integral = predicted_number(prob, C_T)
    for eps in (0.1, 0.01, finest):
        options = {"rtol": 1e-4 * eps, "screening": ()}
        by_test = {
            test: svm.eps_path(prob.terms, C_T, eps, test, **options)
            for test in ("BT1", "IT", None)
        }
        certified(by_test, eps)
        masks_are_right(by_test, prob)
        between_neighbours(by_test["IT"], prob, eps)
        counts[name, eps] = len(by_test["IT"])
        predicted = integral / np.sqrt(2.0 * eps)
        bt1 = np.mean(by_test["BT1"].path_rates[1:])
        it = np.mean(by_test["IT"].path_rates[1:])
        assert it > bt1 + 1e-3 and 0.8 < counts[name, eps] / predicted < 1.3
        print(f"{name:20}{eps:8.3f}{counts[name, eps]:11d}{predicted:11.1f}{bt1:7.2f}{it:7.2f}")
        paths[name, eps] = by_test["IT"]
for name in problems:
    growth = counts[name, finest] / counts[name, 0.1]
    assert 0.7 < growth / np.sqrt(0.1 / finest) < 1.1

# %% [markdown]
# The number of solutions follows (2): a hundredth of $\varepsilon$ needs about ten times as many solutions. The columns
# BT1 and IT are the mean shares that the tests screen. A finer path has closer references, so the tests screen more. (The
# last step of each curve is short, because it ends at $C_T$.)

# %% tags=["nbval-ignore-output"]
figure, axes = figures.panels(2)
means = []
for ax, name in zip(axes, problems, strict=True):
    shares = {
        f"eps = {eps:g}": (1.0 / paths[name, eps].lams[1:], paths[name, eps].path_rates[1:])
        for eps in (0.1, 0.01, finest)
    }
    means.append(f"{name}: {figures.listed(shares)}")
    figures.lines(
        shares, ax=ax, title=name, xlabel="$C$", ylabel="share screened by IT", log="x", share=True
    )
figures.show(
    "Curves show the share of the samples that the intersection test screens along C. Each panel "
    "belongs to a data set, and each curve to an accuracy. "
    f"The means are, on {'; on '.join(means)}."
)

# %% [markdown]
# ### Why the path may end when L is empty
#
# If no sample is in L, no sample has a loss: $\xi(w_0) = 0$. Then $a_0$ without scaling is feasible for every larger $C$.
# Its dual value is $D(a_0) = \frac12\|w_0\|^2 = P_C(w_0)$. So $w_0$ is the solution for all $C \ge C_0$. The example has
# two clouds of points that are far apart:

# %%
rng = np.random.default_rng(2)
labels = np.where(np.arange(60) % 2, 1, -1)
points = rng.standard_normal((60, 2)) * 0.6 + 2.0 * labels[:, None]
apart = ss.Problem(ss.Samples(points, labels), ss.Hinge())
ended = svm.eps_path(apart.terms, 1e6, 0.01, rtol=1e-9)
C_end = 1.0 / ended[-1].lam
later = solve(apart, 100.0 * C_end)
moved = np.linalg.norm(later.x - ended[-1].x) / np.linalg.norm(later.x)
print(f"the path stops at C = {C_end:.2f}, far below C_T = 1e6 (reason: {ended.reason}); ", end="")
print(f"the largest dual variable is {ended[-1].alpha.max():.2f} C")
print("w for 100 times that C differs by less than 1e-3 of its length")
assert ended.reason == "no L" and C_end < 1e3 and ended[-1].alpha.max() < 1.0 and moved < 1e-3

# %% [markdown]
# ### A grid is a guess
#
# Take a geometric grid with as many values as the path for $\varepsilon = 0.01$. Its largest error between neighbours, by
# (1), is larger than the error of the path, because its steps are equal:

# %% tags=["nbval-ignore-output"]
for name, prob in problems.items():
    path = paths[name, 0.01]
    grid = np.geomspace(1.0 / path.lams[0], 1.0 / path.lams[-1], len(path))
    even = svm.path(prob.terms, grid, rtol=1e-7)
    worst = max(saw_of(even, rows[name], n=2)[1])
    print(f"{name:20} {len(path)} values, largest error: path 0.010, even grid {worst:.4f}")
    assert worst > 0.0101

# %% [markdown]
# ## Why a path goes upwards
#
# SSS14 section IV-B remarks that a machine is easier to train for a smaller $C$: a solver converges faster. The cell counts
# the sweeps of coordinate descent from $w = 0$ to the same relative gap, on the breast cancer data:

# %% tags=["SSS14-DIVB", "nbval-ignore-output"]
X, y = datasets.load("breast-cancer", return_X_y=True)
machine = ss.Problem(ss.Samples(X, datasets.two_classes(y)), ss.Hinge())
increasing = svm.c_min(machine.terms) * 4.0 ** np.arange(1, 9)
options = {"method": "unshrunk", "screening": (), "tol": 0.0, "rtol": 1e-4, "max_iter": 1_000_000}
sweeps = np.array([ss.solve(machine, 1.0 / C, **options).n_iter for C in increasing])
fewer = int(np.count_nonzero(np.diff(sweeps) < 0))
print(f"sweeps: {sweeps[0]} at the smallest and {sweeps[-1]} at the largest of ", end="")
print(f"{len(increasing)} values of C; larger C that needed fewer sweeps: {fewer}")
assert sweeps[-1] > 10 * sweeps[0]

# %% [markdown]
# ## Exercise
#
# The square $(\rho - 1)^2$ is defined for $\rho < 1$ too. Down to which $C < C_0$ is the error of a solution at most
# $\varepsilon$? How many solutions does a path need if each serves smaller and larger $C$?
#
# <details>
# <summary><b>Solution</b></summary>
#
# Every step of the derivation is valid for $\rho < 1$, because $\rho a_0 \le C$ again. As an inequality in $\rho$,
# (1) is true between its two roots, whose product is $\frac1{1 + \varepsilon}$. Let $\rho$ be the larger root. Then the
# error is at most $\varepsilon$ from $\frac{C_0}{(1 + \varepsilon)\rho}$ to $\rho C_0$. In $\log C$ this interval extends a
# little farther down than up. Let $\rho_t = C_{t+1}/C_t$ on the path. If $\rho_t \le (1 + \varepsilon)\rho_{t+1}$, the path
# does not need solution $t$, because the intervals of solutions $t - 1$ and $t + 1$ meet. If this is so along the whole
# path, half of the solutions are enough. But one has to know the values of $C$ beforehand.
#
# </details>

# %% tags=["nbval-ignore-output"]
name, eps = "breast cancer", 0.01
prob = problems[name]
at = solve(prob, 1.0 / paths[name, eps].lams[20])
C0_ = 1.0 / at.lam
ratio = largest_rho(rows[name], at.x, C0_, eps)
lowest = C0_ / ((1.0 + eps) * ratio)
errors = [relative_error(prob, svm.reference(at), C)[0] for C in np.linspace(lowest, C0_, 6)]
ups = np.array([largest_rho(rows[name], s.x, 1.0 / s.lam, eps) for s in paths[name, eps]])
print(f"interval from {lowest / C0_:.3f} C0 to {ratio:.3f} C0; ", end="")
print(f"the largest error below C0 is {max(errors) / eps:.2f} eps")
spared = np.mean(ups[:-1] <= (1 + eps) * ups[1:])
print(f"steps whose middle solution is not needed: {spared:.0%} of {len(ups) - 1}")
assert max(errors) <= eps

# %% [markdown]
# ## Fine print
#
# * **$\varepsilon$ and the tolerance.** By default `svm.eps_path` solves to a relative gap of $\varepsilon/1000$, which
#   shortens a step very little. Inequality (3) is certain at any gap, and the library includes rounding.
# * **The primal.** Equation (35) is about the dual. But the gap bounds the primal error of $w_0$ too: it is at most
#   $\varepsilon D$ on the same interval.
# * **Other losses.** With thresholds or the smoothed hinge a sum of conjugates replaces $\mathbf 1^\top a$, and the
#   inequality is still quadratic. For a kernel $\|w_0\|^2 = a_0^\top Q a_0$.
# * **Cost.** A step needs three numbers of the solution, and the solver knows all three.
# * **Experiments.** SSS14 takes $\varepsilon = 10^{-3}$ and $C_T = 10^4$ and reports times; here $C_T = 10^4\, C_{\min}$.
#
# ## References
#
# * SSS14: Ogawa, Suzuki, Suzumura, Takeuchi, *Safe Sample Screening for Support Vector Machines*, 2014: equation
#   35, Algorithm 1, Lemma 9, appendix D.
# * Giesen, Jaggi, Laue, *Approximating Parameterized Convex Optimization Problems*, ACM Transactions on Algorithms
#   9, 2012; Giesen, Müller, Laue, Swiercy, *Approximating Concavely Parameterized Optimization Problems*, NIPS
#   2012.
