"""Fits the decision about gaps for clips without words to what `stitch eval natural --rows` wrote, and judges it by source.

    python fit.py REAL.jsonl... --made-up DRAWN.jsonl... [--diagram FILE.svg]

Prints how every source (`domain`) comes out by weights fitted to the others, real and made-up ones apart, then the weights of
`silent_gaps` fitted to all. The diagram shows what was promised and found for each of them.
"""
import argparse
import json

import numpy as np
from scipy.optimize import minimize

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


def read(paths):
    """Features, whether something shows the step, whether the clip is right, the source, the probability in use."""
    rows = [json.loads(line) for path in paths for line in open(path)]
    rows = [row for row in rows if row["gap"]]
    shown = np.array([row["shown"] for row in rows])
    right = shown & np.array([bool(row["best_right"]) for row in rows])
    x, before = (np.array([row["gap"][key] for row in rows]) for key in ("features", "probability"))
    return x, shown, right, np.array([row["domain"] for row in rows]), before


def table(name, shown, right, before, held_out):
    print(f"{name}: {len(shown)} clips, {shown.sum()} of shown steps, {right.sum()} right")
    print(f"calibration error: {calibration_error(before, right):.3f} before, {calibration_error(held_out, right):.3f} by the other sources")
    print("threshold  shown: right  wrong  gap   unshown: gap")
    of = lambda mask: 100 * mask.sum() / shown.sum()
    for least in (0.05, 0.1, 0.15, 0.2, 0.25, 0.3):
        kept = held_out >= least
        print(f"{least:9.2f} {of(right & kept):13.1f} {of(shown & ~right & kept):6.1f} {of(shown & ~kept):4.1f} {100 * (~shown & ~kept).sum() / (~shown).sum():14.1f}")
    least = np.quantile(held_out[shown], 0.1)
    print(f"at 10 % false gaps {100 * (held_out[~shown] < least).mean():.0f} % of what nothing shows is refused")


def diagram(panels):
    """Reliability by tenths: a dot is a bin's mean probability and its share of right clips, with Wilson's 95 % interval."""
    side, gap, z = 220, 60, 1.96
    svg = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{len(panels) * (side + gap)}" height="{side + 70}" '
           f'font-family="sans-serif" font-size="12" fill="#333"><rect width="100%" height="100%" fill="#fff"/>']
    for number, (name, p, right) in enumerate(panels):
        at = lambda x, y, left=45 + number * (side + gap): (left + side * x, 25 + side * (1 - y))
        line = lambda a, b, style: svg.append('<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" {}/>'.format(*at(*a), *at(*b), style))
        text = lambda x, y, words: svg.append('<text x="{:.1f}" y="{:.1f}" text-anchor="middle">{}</text>'.format(*at(x, y), words))
        line((0, 0), (1, 1), 'stroke="#bbb" stroke-dasharray="4"')
        line((0, 0), (1, 0), 'stroke="#333"')
        line((0, 0), (0, 1), 'stroke="#333"')
        text(0.5, 1.05, f"{name}: {len(p)} clips, calibration error {calibration_error(p, right):.3f}")
        text(0.5, -0.16, "probability (across), share that is right (up)")
        for tick in (0, 0.5, 1):
            text(tick, -0.08, tick)
            text(-0.09, tick - 0.02, tick)
        bins = np.minimum((p * 10).astype(int), 9)
        for k in sorted(set(bins)):
            mean, share, n = p[bins == k].mean(), right[bins == k].mean(), (bins == k).sum()
            middle = (share + z * z / 2 / n) / (1 + z * z / n)
            half = z * np.sqrt(share * (1 - share) / n + z * z / 4 / n / n) / (1 + z * z / n)
            line((mean, middle - half), (mean, middle + half), 'stroke="#1b6ca8"')
            svg.append('<circle cx="{:.1f}" cy="{:.1f}" r="4" fill="#1b6ca8"/>'.format(*at(mean, share)))
    return "\n".join(svg + ["</svg>\n"])


def main():
    args = argparse.ArgumentParser()
    args.add_argument("real", nargs="+")
    args.add_argument("--made-up", nargs="+", required=True)
    args.add_argument("--diagram")
    args = args.parse_args()
    parts = read(args.real), read(args.made_up)
    x, shown, right, source, before = (np.concatenate(both) for both in zip(*parts))
    held_out = np.zeros(len(x))
    for one in sorted(set(source)):
        others = source != one
        held_out[~others] = probability(x[~others], *fit(x[others], right[others].astype(float)))
    is_real = np.arange(len(x)) < len(parts[0][0])
    groups = (("real", is_real), ("made up", ~is_real))
    if args.diagram:
        open(args.diagram, "w").write(diagram([(name, held_out[mask], right[mask]) for name, mask in groups]))
    for name, mask in groups:
        table(name, *(values[mask] for values in (shown, right, before, held_out)))
    bias, weights = fit(x, right.astype(float))
    print(json.dumps(dict(bias=round(float(bias), 3), weights=[round(float(w), 3) for w in weights])))


if __name__ == "__main__":
    main()
