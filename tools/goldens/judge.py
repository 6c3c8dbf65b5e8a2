#!/usr/bin/env python3
"""Goldens of crates/judge: binomial tails, beta and normal quantiles, fitted maps, metrics.

Needs the Python packages `numpy`, `scipy` and `scikit-learn`. Run from the root of the repository:

    python3 tools/goldens/judge.py

Reads crates/judge/tests/golden/rows.json (logits and labels) and writes statistics.json and
fits.json beside it. The values of metrics.json come from the same rows through netcal 1.4.0,
scikit-learn 1.9.1 and MAPIE 1.6.0, and from the formulas of the papers for what these lack.
"""

import json
import pathlib

import numpy as np
from scipy import optimize, special, stats
from sklearn.isotonic import IsotonicRegression

FOLDER = pathlib.Path("crates/judge/tests/golden")


def statistics():
    betas = [
        [x, a, b, float(special.betainc(a, b, x))]
        for a, b in [(1, 1), (0.5, 0.5), (2, 3), (1, 59), (12, 190), (300, 1), (5000, 200),
                     (1e5, 3e5), (1e6, 1e6), (3, 1e7)]
        for x in (1e-9, 0.001, 0.05, 0.3, 0.5, 0.9, 0.999)
    ]
    tails = [
        [k, n, p, float(stats.binom.cdf(k, n, p))]
        for k, n, p in [(0, 59, 0.05), (0, 299, 0.01), (3, 50, 0.1), (10, 38, 0.2), (500, 1000, 0.5),
                        (9, 10, 0.9), (70, 1000, 0.1), (0, 1, 0.5), (990, 100000, 0.01)]
    ]
    upper = [
        [e, n, d, float(stats.beta.ppf(1 - d, e + 1, n - e))]
        for e, n in [(0, 1), (0, 59), (0, 299), (1, 93), (8, 96), (17, 400), (49, 50), (1000, 20000)]
        for d in (0.05, 0.01, 0.00625)
    ]
    lower = [
        [k, n, d, float(stats.beta.ppf(d, k, n - k + 1))]
        for k, n in [(1, 1), (59, 59), (8, 96), (400, 1000)] for d in (0.025, 0.005)
    ]
    wilson = []
    for k, n in [(0, 10), (10, 10), (1, 3), (17, 40), (900, 1000)]:
        both = stats.binomtest(k, n).proportion_ci(0.95, method="wilson")
        wilson.append([k, n, float(both.low), float(both.high)])
    return {
        "beta": betas,
        "binomial_cdf": tails,
        "upper_bound": upper,
        "lower_bound": lower,
        "wilson_95": wilson,
        "normal_quantile": [[p, float(stats.norm.ppf(p))] for p in
                            (1e-12, 1e-6, 0.001, 0.01, 0.025, 0.2, 0.5, 0.7, 0.975, 0.9999)],
        "ln_gamma": [[x, float(special.gammaln(x))] for x in
                     (1e-6, 0.1, 0.5, 1, 1.5, 2, 3.7, 10, 11.99, 12, 50.5, 1e3, 1e6, 1e12)],
    }


def fits():
    rng = np.random.default_rng(20)
    n = 1200
    z = np.round(rng.normal(0.4, 2.5, n), 4)
    y = (rng.random(n) < 1 / (1 + np.exp(-(0.6 * z - 0.9)))).astype(int)
    yes, no = y.sum(), n - y.sum()
    target = np.where(y == 1, (yes + 1) / (yes + 2), 1 / (no + 2))

    def loss(v):
        s = v[0] * z + v[1]
        return float(np.sum(np.logaddexp(0, s) - target * s))

    best = optimize.minimize(loss, [1.0, 0.0], method="Nelder-Mead",
                             options={"xatol": 1e-12, "fatol": 1e-13, "maxiter": 20000})
    iso = IsotonicRegression(out_of_bounds="clip").fit(z, y)
    at = np.round(np.linspace(-9, 9, 37), 2)
    edge = 1 / (n + 2)
    pooled = np.clip(iso.predict(at), 0, 1)
    return {
        "logits": z.tolist(),
        "yes": y.tolist(),
        "platt": [float(best.x[0]), float(best.x[1])],
        "isotonic_at": at.tolist(),
        "isotonic": pooled.tolist(),
        "edge": edge,
    }


def write(name, value):
    (FOLDER / name).write_text(json.dumps(value, separators=(",", ":")) + "\n")


write("statistics.json", statistics())
write("fits.json", fits())
