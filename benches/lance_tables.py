"""The first stage of a query through Lance: how many of the best clips it finds, and how its time grows.

    make demo && make wheel && pip install target/wheels/*.whl pylance
    python benches/lance_tables.py [--dim N] ROWS [ROWS …]

A table holds the clips of the library that `make demo` leaves among made-up ones, whose features have the mean and the
covariance of the real ones. Queries are steps of `stitch eval natural`, encoded as texts. Of each query the best 100 clips by
an exact scan are compared with the best 100 that `stitch.lance.Table.nearest` names. `--dim` projects all features to fewer
numbers, for tables that the disk would not hold. Prints one line of JSON.
"""

import argparse
import json
import os
import pathlib
import shutil
import tempfile
import time

import lance
import numpy
import pyarrow

import stitch
import stitch.lance

ROOT = pathlib.Path(__file__).resolve().parent.parent
INDEX = pathlib.Path(os.environ.get("STITCH_DEMO", ROOT / "demo")) / "index"
TEXTS = ROOT / "crates/lab/data/natural/development.jsonl"
QUERIES = 100
WANTED = 100
CHUNK = 50_000


def unit(rows):
    return rows / numpy.maximum(numpy.linalg.norm(rows, axis=-1, keepdims=True), 1e-9)


class Features:
    """Rows as the table has them: the text, then the pictures, each of length 1."""

    def __init__(self, library, dim):
        parts = [library.features(video) for video in library.videos()]
        self.real = [numpy.vstack([getattr(part, name) for part in parts]).astype("f4") for name in ("text", "clip")]
        self.project = None
        if dim:
            sizes = [dim * 2 // 3, dim // 3]
            bases = [numpy.linalg.svd(rows, full_matrices=False)[2][:size] for rows, size in zip(self.real, sizes)]
            self.project = bases
        self.real = self.joined(*self.real)
        self.mean = self.real.mean(0)
        self.split = self.project[0].shape[0] if dim else parts[0].text.shape[1]

    def joined(self, *parts):
        if self.project:
            parts = [rows @ basis.T for rows, basis in zip(parts, self.project)]
        return numpy.hstack([unit(rows) for rows in parts])

    def made_up(self, count, random):
        """Gaussian, with the mean and covariance of the real rows."""
        mixed = random.standard_normal((count, len(self.real)), "f4") / numpy.sqrt(len(self.real))
        rows = self.mean + mixed @ (self.real - self.mean)
        return numpy.hstack([unit(rows[:, : self.split]), unit(rows[:, self.split :])])


def encoded(library, texts, features):
    parts = ([], [])
    for first in range(0, len(texts), 400):  # a procedure has at most 500 steps
        some = texts[first : first + 400]
        for rows, part in zip(library._native.encode(some, None, None), parts):
            part.extend(rows[: len(some)])  # without those in their context
    return features.joined(*(numpy.array(rows, "f4") for rows in parts))


def fill(folder, rows, features, queries):
    """Writes the table; returns the rows of the exact scan's best clips of each query."""
    random = numpy.random.default_rng(1)
    dim = features.real.shape[1]
    about = {"encoder": {"name": "mini", "dim": dim - features.split}, "sentence_model": "", "shards": str(folder)}
    columns = {"shard": pyarrow.string(), "clip": pyarrow.int32(), "narration": pyarrow.string()}
    columns["vector"] = pyarrow.list_(pyarrow.float16(), dim)
    schema = pyarrow.schema(columns, metadata={"stitch": json.dumps(about)})
    best = [numpy.zeros((len(queries), 0), t) for t in ("f4", "i8")]

    def batches():
        nonlocal best
        first = 0
        while first < rows:
            count = min(CHUNK, rows - first)
            chunk = features.made_up(count, random).astype("f2")
            if first == 0:
                chunk[random.choice(count, len(features.real), replace=False)] = features.real
            scores = numpy.hstack([best[0], queries @ chunk.astype("f4").T])
            names = numpy.hstack([best[1], numpy.broadcast_to(numpy.arange(first, first + count), (len(queries), count))])
            top = numpy.argpartition(-scores, WANTED, axis=1)[:, :WANTED]
            best = [numpy.take_along_axis(all, top, 1) for all in (scores, names)]
            numbers = range(first, first + count)
            said = [f"step {number % 997}" for number in numbers]
            arrays = [[str(n // 100) for n in numbers], list(numbers), said, stitch.lance._list(chunk, numpy.float16)]
            yield pyarrow.RecordBatch.from_arrays(
                [pyarrow.array(a, field.type) for a, field in zip(arrays, schema)], schema=schema
            )
            first += count

    lance.write_dataset(pyarrow.RecordBatchReader.from_batches(schema, batches()), folder / "table", schema=schema)
    return best[1]


def measure(folder, rows, features, queries, text_rows):
    began = time.perf_counter()
    truth = fill(folder, rows, features, queries)
    filled = time.perf_counter()
    stitch.lance.build_index(folder / "table", text_rows=text_rows)
    indexed = time.perf_counter()
    table = stitch.lance.Table.open(folder / "table", folder)
    recall, times = [], []
    for warm in (False, True):
        for query, wanted in zip(queries, truth):
            start = time.perf_counter()
            found = table.nearest(query, WANTED)["clip"]
            if warm:
                times.append(time.perf_counter() - start)
                recall.append(len(set(found) & set(wanted.tolist())) / WANTED)
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    return {
        "rows": rows,
        "dim": features.real.shape[1],
        "recall": round(float(numpy.mean(recall)), 4),
        "worst": min(recall),
        "query_ms": round(1000 * float(numpy.median(times)), 2),
        "fill_s": round(filled - began, 1),
        "index_s": round(indexed - filled, 1),
        "megabytes": size // 1_000_000,
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("rows", type=int, nargs="+")
    parser.add_argument("--dim", type=int)
    parser.add_argument("--folder", type=pathlib.Path, help="for the tables; a temporary one is the default")
    arguments = parser.parse_args()
    library = stitch.Library.open(INDEX)
    features = Features(library, arguments.dim)
    steps = [step["line"] for line in TEXTS.open() for step in json.loads(line)["steps"]]
    queries = encoded(library, steps[:: len(steps) // QUERIES][:QUERIES], features)
    texts = [clip.text for video in library.videos() for clip in library.clips(video)]
    text_rows = encoded(library, texts, features)
    results = []
    for rows in arguments.rows:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            results.append(measure(pathlib.Path(folder), rows, features, queries, text_rows))
            shutil.rmtree(pathlib.Path(folder) / "table")
    print(json.dumps({"real": len(features.real), "queries": len(queries), "tables": results}))


main()
