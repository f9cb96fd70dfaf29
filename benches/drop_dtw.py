"""Drop-DTW in Python: a plain loop, and the fastest of two NumPy versions.

Prints one JSON object of seconds (the shortest of many runs) for the sizes that `cargo bench -p stitch-core --bench
ratios` measures, path included. Both give the same alignments (checked before anything is timed).
Needs Python 3 and NumPy.
"""

import json
import time

import numpy as np

INFINITY = float("inf")


def plain(matching, drop):
    """The dynamic programme of Drop-DTW over lists, exclusive and contiguous."""
    steps, seconds = len(matching), len(drop)
    matched = [[INFINITY] * (seconds + 1) for _ in range(steps + 1)]
    dropped = [[INFINITY] * (seconds + 1) for _ in range(steps + 1)]
    matched_from = [[0] * (seconds + 1) for _ in range(steps + 1)]
    dropped_from = [[0] * (seconds + 1) for _ in range(steps + 1)]
    matched[0][0] = dropped[0][0] = 0.0
    for j in range(1, seconds + 1):
        dropped[0][j] = dropped[0][j - 1] + drop[j - 1]
        dropped_from[0][j] = 1
    for i in range(1, steps + 1):
        for j in range(1, seconds + 1):
            before = (matched[i - 1][j - 1], dropped[i - 1][j - 1], matched[i][j - 1])
            best = min(range(3), key=before.__getitem__)
            matched[i][j] = matching[i - 1][j - 1] + before[best]
            matched_from[i][j] = best
            before = (matched[i][j - 1], dropped[i][j - 1])
            best = min(range(2), key=before.__getitem__)
            dropped[i][j] = drop[j - 1] + before[best]
            dropped_from[i][j] = best
    i, j = steps, seconds
    drops = dropped[i][j] < matched[i][j]
    cost = min(matched[i][j], dropped[i][j])
    labels = [0] * seconds
    while j > 0:
        if drops:
            drops = dropped_from[i][j] == 1
        else:
            labels[j - 1] = i
            best = matched_from[i][j]
            drops = best == 1
            if best < 2:
                i -= 1
        j -= 1
    return cost, labels


def faster_loop(matching, drop):
    """The same loop, tuned: rows in locals, comparisons instead of min."""
    steps, seconds = len(matching), len(drop)
    matched, dropped = [INFINITY] * (seconds + 1), [0.0] * (seconds + 1)
    matched[0] = 0.0
    for j in range(seconds):
        dropped[j + 1] = dropped[j] + drop[j]
    pointers = []
    for row in matching:
        m = d = INFINITY
        above_m, above_d = matched[0], dropped[0]
        matched[0] = dropped[0] = INFINITY
        pointer = bytearray(seconds)
        for j in range(seconds):
            best, bits = above_m, 0
            if above_d < best:
                best, bits = above_d, 1
            if m < best:
                best, bits = m, 2
            if d < m:
                kept = d
                bits += 4
            else:
                kept = m
            m = row[j] + best
            d = drop[j] + kept
            above_m, above_d = matched[j + 1], dropped[j + 1]
            matched[j + 1], dropped[j + 1] = m, d
            pointer[j] = bits
        pointers.append(pointer)
    i, drops = steps, dropped[seconds] < matched[seconds]
    cost = min(matched[seconds], dropped[seconds])
    labels = [0] * seconds
    for j in range(seconds - 1, -1, -1):
        if i == 0:
            break
        bits = pointers[i - 1][j]
        if drops:
            drops = bits >= 4
        else:
            labels[j] = i
            bits &= 3
            drops = bits == 1
            if bits < 2:
                i -= 1
    return cost, labels


def numpy_columns(matching, drop):
    """One second at a time, all steps at once: what follows from the recurrence directly."""
    steps, seconds = matching.shape
    by_second = np.ascontiguousarray(matching.T)
    matched = np.full(steps + 1, INFINITY)
    dropped = np.full(steps + 1, INFINITY)
    matched[0] = dropped[0] = 0.0
    stayed = np.empty((seconds, steps), dtype=bool)
    still = np.empty((seconds, steps + 1), dtype=bool)
    for j in range(seconds):
        np.less(dropped, matched, out=still[j])
        kept = np.minimum(matched, dropped)
        np.less(matched[1:], kept[:-1], out=stayed[j])
        matched[1:] = by_second[j] + np.minimum(matched[1:], kept[:-1])
        matched[0] = INFINITY
        dropped = kept + drop[j]
    i, drops = steps, bool(dropped[steps] < matched[steps])
    cost = min(float(matched[steps]), float(dropped[steps]))
    labels = np.zeros(seconds, dtype=int)
    for j in range(seconds - 1, -1, -1):
        if i == 0:
            break
        if drops:
            drops = bool(still[j, i])
        else:
            labels[j] = i
            if not stayed[j, i - 1]:
                i -= 1
                drops = bool(still[j, i])
    return cost, labels


def numpy_rows(matching, drop):
    """One step at a time, all seconds at once: running sums turn both recurrences into running
    minima, and a stretch of seconds is found by one argmin. Needs finite costs."""
    steps, seconds = matching.shape
    drops = np.concatenate(([0.0], np.cumsum(drop)))
    sums = np.cumsum(matching, axis=1)
    before = sums - matching
    starts = np.empty((steps, seconds))
    stops = np.empty((steps, seconds + 1))
    kept = drops
    for i in range(steps):
        np.subtract(kept[:-1], before[i], out=starts[i])
        stops[i, 0] = INFINITY
        np.add(sums[i], np.minimum.accumulate(starts[i]), out=stops[i, 1:])
        stops[i] -= drops
        kept = np.minimum.accumulate(stops[i]) + drops
    labels = np.zeros(seconds, dtype=int)
    end = seconds
    for i in range(steps - 1, -1, -1):
        last = end - int(np.argmin(stops[i, end::-1]))
        first = int(np.argmin(starts[i, :last]))
        labels[first:last] = i + 1
        end = first
    return float(kept[seconds]), labels


def case(steps, seconds):
    """A video that shows the steps one after another, with other content between."""
    numbers = np.random.default_rng(1)
    second = np.arange(seconds)
    at, into = second * steps // seconds, second * steps % seconds
    shown = (at == np.arange(steps)[:, None]) & (into * 2 < seconds)
    matching = numbers.random((steps, seconds)) + np.where(shown, 0.2, 2.0)
    return matching, 1.0 + 0.5 * numbers.random(seconds)


def shortest(run, *inputs):
    times = []
    begin = time.perf_counter()
    while len(times) < 3 or (time.perf_counter() - begin < 1.0 and len(times) < 1000):
        start = time.perf_counter()
        run(*inputs)
        times.append(time.perf_counter() - start)
    return min(times)


def main():
    results = {}
    for steps, seconds in ((10, 300), (20, 3600)):
        matching, drop = case(steps, seconds)
        lists = (matching.tolist(), drop.tolist())
        cost, labels = plain(*lists)
        for other in (faster_loop(*lists), numpy_columns(matching, drop), numpy_rows(matching, drop)):
            assert abs(other[0] - cost) < 1e-6 and list(other[1]) == labels
        size = f"{steps}x{seconds}"
        results[f"plain_{size}_s"] = shortest(plain, *lists)
        results[f"faster_loop_{size}_s"] = shortest(faster_loop, *lists)
        columns = shortest(numpy_columns, matching, drop)
        rows = shortest(numpy_rows, matching, drop)
        results[f"numpy_columns_{size}_s"] = columns
        results[f"numpy_rows_{size}_s"] = rows
        results[f"numpy_{size}_s"] = min(columns, rows)
    print(json.dumps(results))


if __name__ == "__main__":
    main()
