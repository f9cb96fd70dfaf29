"""A query of ten steps among up to a million clips: stitch against faiss's flat index, in one run.

    cargo xtask bench scale
    python benches/scale.py [CLIPS …]     # where faiss-cpu, numpy and psutil are installed

The bench target makes a library of made-up clips (768 numbers for the text, 384 for the pictures), and measures opening
it, a query, and adding a video; it also scores every clip exactly and compares. faiss gets the same vectors, in 32 bits
and one row a clip, so that one inner product is the score, and the same steps. Both use all cores and return 200 clips
a step; of both the best of seven runs counts. Prints one line of JSON. `exponents` says how the time of recording videos, as
indexing and merging do, and that of making segments grow with the number of clips, from the smallest size to the largest.
"""

import json
import math
import pathlib
import subprocess
import sys
import tempfile
import time

import faiss
import numpy

from measure import bench

SIZES = [int(size) for size in sys.argv[1:]] or [1_000, 10_000, 100_000, 1_000_000]
DIMS = {"text": 768, "clip": 384}
WANTED = 200


def tensors(file):
    """The matrices of a segment (safetensors), mapped."""
    with open(file, "rb") as opened:
        length = int.from_bytes(opened.read(8), "little")
        header = json.loads(opened.read(length))
    for name in DIMS:
        about = header[name]
        yield numpy.memmap(file, "<f2", "r", 8 + length + about["data_offsets"][0], tuple(about["shape"]))


def flat_scan(folder):
    index = faiss.IndexFlatIP(sum(DIMS.values()))
    for file in sorted(folder.glob("pool-*.safetensors")):
        text, clip = tensors(file)
        for start in range(0, len(text), 10_000):
            rows = [matrix[start : start + 10_000].astype("f4") for matrix in (text, clip)]
            index.add(numpy.ascontiguousarray(numpy.hstack(rows)))
    queries = numpy.fromfile(folder / "queries.f32", "<f4").reshape(-1, index.d)
    best = float("inf")
    for _ in range(7):
        began = time.perf_counter()
        index.search(queries, min(WANTED, index.ntotal))
        best = min(best, time.perf_counter() - began)
    return {"clips": index.ntotal, "query_s": round(best, 4)}


def main():
    ours, result = bench("scale"), {}
    for size in SIZES:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name) / "library"
            printed = subprocess.run([ours, folder, str(size)], capture_output=True, text=True, check=True).stdout
            result[str(size)] = {"stitch": json.loads(printed), "faiss": flat_scan(folder)}
            print(size, result[str(size)], file=sys.stderr)
    if len(SIZES) > 1:
        result["exponents"] = {name: exponent(result, name) for name in ("fill_s", "segments_s")}
    print(json.dumps(result))


def exponent(result, name):
    least, most = (result[str(size)]["stitch"][name] for size in (min(SIZES), max(SIZES)))
    return round(math.log(most / least) / math.log(max(SIZES) / min(SIZES)), 3)


main()
