"""Fits the decision about gaps for clips without words to what `stitch eval natural --rows` wrote, and judges it by source.

    python fit.py ROWS.jsonl...

Prints how every source comes out by weights fitted to the others, then the weights of `silent_gaps` fitted to all. Of the
seven features of `stitch_core::gaps::features` three are used: in clips of single videos those about neighbours say nothing, and
the mean of the other steps, which helps a little, counts against a library in which every clip is clear.
"""
import json
import sys

import numpy as np
from scipy.optimize import minimize

USED = [0, 4, 6]  # log-odds, the rival, how far it stands out
RIDGE = 1.0


def fit(x, right):
    mean, std = x.mean(0), x.std(0) + 1e-6
    z = (x - mean) / std

    def loss(w):
        odds = w[0] + z @ w[1:]
        gradient = 1 / (1 + np.exp(-odds)) - right
        return (np.logaddexp(0, odds) - right * odds).sum() + RIDGE * (w[1:] ** 2).sum() / 2, np.r_[gradient.sum(), z.T @ gradient + RIDGE * w[1:]]

    w = minimize(loss, np.zeros(x.shape[1] + 1), jac=True).x
    return w[0] - (w[1:] * mean / std).sum(), w[1:] / std


def probability(x, bias, weights):
    return 1 / (1 + np.exp(-(bias + x @ weights)))


def calibration_error(p, right):
    """The mean distance of promised and found in ten bins, as `stitch eval natural` has it."""
    bins = np.minimum((p * 10).astype(int), 9)
    return sum(abs(p[bins == k].mean() - right[bins == k].mean()) * (bins == k).mean() for k in set(bins))


def main():
    rows = [json.loads(line) for path in sys.argv[1:] for line in open(path)]
    rows = [row for row in rows if row["gap"]]
    x = np.array([row["gap"]["features"] for row in rows])[:, USED]
    shown = np.array([row["shown"] for row in rows])
    right = shown & np.array([bool(row["best_right"]) for row in rows])
    source = np.array([row["domain"] for row in rows])
    held_out = np.zeros(len(rows))
    for one in sorted(set(source)):
        others = source != one
        held_out[~others] = probability(x[~others], *fit(x[others], right[others].astype(float)))
    before = np.array([row["gap"]["probability"] for row in rows])
    print(f"{len(rows)} clips, {shown.sum()} of shown steps, {right.sum()} right")
    print(f"calibration error: {calibration_error(before, right):.3f} before, {calibration_error(held_out, right):.3f} by the other sources")
    print("threshold  shown: right  wrong  gap   unshown: gap")
    for least in (0.05, 0.1, 0.15, 0.2, 0.25, 0.3):
        kept = held_out >= least
        of = lambda mask: 100 * mask.sum() / shown.sum()
        print(f"{least:9.2f} {of(right & kept):13.1f} {of(shown & ~right & kept):6.1f} {of(shown & ~kept):4.1f} {100 * (~shown & ~kept).sum() / (~shown).sum():14.1f}")
    least = np.quantile(held_out[shown], 0.1)
    print(f"at 10 % false gaps {100 * (held_out[~shown] < least).mean():.0f} % of what nothing shows is refused")
    bias, weights = fit(x, right.astype(float))
    all_weights = np.zeros(7)
    all_weights[USED] = weights
    print(json.dumps(dict(bias=round(float(bias), 3), weights=[round(float(w), 3) for w in all_weights])))


if __name__ == "__main__":
    main()
