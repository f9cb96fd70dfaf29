"""Fit the gap model: the probability that a chosen clip shows its step, from the rows of `stitch eval natural`.

    stitch eval natural development.jsonl --world DIR --library DIR --rows rows.jsonl
    python3 fit_gaps.py rows.jsonl [rows of another library ...]

Prints cross-validated figures (each domain, and each domain of each library, by a model fitted on the others) and the weights for
crates/engine/src/calibration/weights.json.
"""
import json, sys

import numpy as np
from sklearn.linear_model import LogisticRegression

rows = [{**r, "library": i} for i, f in enumerate(sys.argv[1:]) for r in map(json.loads, open(f)) if r["features"]]
x = np.array([r["features"] for r in rows])
y = np.array([r["best_right"] for r in rows])
domain = np.array([r["domain"] for r in rows])
shown = np.array([r["shown"] for r in rows])
context = np.array([r["context"] for r in rows])
library = np.array([r["library"] for r in rows])
fit = lambda k: LogisticRegression(C=1.0, max_iter=5000).fit(x[k], y[k])


def report(name, group, other):
    """Each group of rows by a model fitted on the rows that `other` tells."""
    p = np.zeros(len(rows))
    for g in sorted(set(group)):
        p[group == g] = fit(other(g)).predict_proba(x[group == g])[:, 1]
    bins = [(p >= b / 10) & (p < b / 10 + 0.1) for b in range(10)]
    print(name, "calibration error", sum(k.sum() * abs(p[k].mean() - y[k].mean()) for k in bins if k.any()) / len(p))
    for t in (0.4, 0.44, 0.46, 0.48, 0.5, 0.55, 0.6):
        g = p < t
        print(t, *(f"{n} {100 * v:.1f}" for n, v in [("right", (y & ~g)[shown].mean()), ("context", (y & ~g)[shown & context].mean()),
              ("wrong", (~y & ~g)[shown].mean()), ("false gaps", g[shown].mean()), ("gaps found", g[~shown].mean())]))


report("other domains:", domain, lambda g: domain != g)
if len(set(library)) > 1:
    both = np.array([f"{l} {d}" for l, d in zip(library, domain)])
    report("other domains, other libraries:", both, lambda g: (library != int(g.split()[0])) & (domain != g.split()[1]))
m = fit(np.ones(len(rows), bool))
print(json.dumps({"bias": round(float(m.intercept_[0]), 3), "weights": [round(float(w), 3) for w in m.coef_[0]]}))
