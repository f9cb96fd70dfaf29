"""Fit how much the cross-encoder counts beside all other evidence (`cross` in calibration/weights.json): a logistic
regression on the clips that it read, by what `stitch eval natural … --json` prints.

    python3 fit.py REPORT.json...
"""
import json, sys

import numpy as np


def fit(x, right, ridge=1.0, iterations=100):
    x = np.c_[np.ones(len(x)), x]
    weights, penalty = np.zeros(x.shape[1]), np.diag([1e-6] + [ridge] * (x.shape[1] - 1))
    for _ in range(iterations):
        p = 1 / (1 + np.exp(-x @ weights))
        weights -= np.linalg.solve((x * (p * (1 - p))[:, None]).T @ x + penalty, x.T @ (p - right) + penalty @ weights)
    return weights


def loss(weights, x, right):
    p = 1 / (1 + np.exp(-(weights[0] + x @ weights[1:])))
    return -np.mean(np.log(np.where(right == 1, p, 1 - p)))


def behind(steps, weights):
    """How far each clip is behind the step's best by these weights, in the order of the clips."""
    sums = [[weights[0] + weights[1] * clip["odds"] + weights[2] * clip["cross"] for clip in step["read"]] for step in steps]
    return np.array([value - max(values) for values in sums for value in values])


def main():
    steps = [step for path in sys.argv[1:] for step in json.load(open(path))["steps"]]
    clips = [(clip, step["domain"]) for step in steps for clip in step["read"]]
    x = np.array([[clip["odds"], clip["cross"]] for clip, _ in clips])
    right = np.array([float(clip["right"]) for clip, _ in clips])
    domains = np.array([domain for _, domain in clips])
    first = fit(x, right)
    x = np.c_[x, first[0] + x @ first[1:], behind(steps, first)]
    for name, columns in (("odds", [0]), ("cross", [1]), ("odds and cross", [0, 1]), ("their sum, how far behind", [2, 3])):
        folds = [domains == domain for domain in sorted(set(domains))]
        losses = [loss(fit(x[~fold][:, columns], right[~fold]), x[fold][:, columns], right[fold]) for fold in folds]
        held_out = np.average(losses, weights=[fold.sum() for fold in folds])
        print(f"{name}: {fit(x[:, columns], right).round(2)}, log loss of held-out domains {held_out:.3f}")
    bias, scale, distance = fit(x[:, [2, 3]], right)
    # scale s + distance (s - best) is t + behind (t - best t) for t = bias + scale s
    values = {"bias": bias + scale * first[0], "odds": scale * first[1], "cross": scale * first[2], "behind": distance / scale}
    print("cross:", json.dumps({name: round(float(value), 2) for name, value in values.items()}))


if __name__ == "__main__":
    main()
