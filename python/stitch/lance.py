"""Searches more clips than one machine can hold: shards as a Lance table, in a folder or a bucket.

A row of the table is a clip: its features, the words said in it, its picture, and the shard that it is from. `write` adds
shards to a table, `build_index` makes queries fast. A query names the shards of the clips that may show a step; they are merged
into a small library, on which the engine works as on any other.
"""

from __future__ import annotations

import builtins
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import lance
import numpy
import pyarrow
from numpy.typing import NDArray
from pyarrow import fs

from stitch import _stitch
from stitch._stitch import StitchError
from stitch.library import Library
from stitch.results import Demonstration, SearchResults

Rows = NDArray[numpy.float32]

PARTITION_ROWS = 4096
"""Rows of a partition of the index. A query reads a number of partitions that does not grow with the table."""
INDEXED_ROWS = 65_536
"""Tables of fewer rows are scanned."""
SAMPLE = 64
"""Rows for each centroid that it is trained on."""


@dataclass(frozen=True)
class _Shards:
    """The shards below a URL, read without the engine: Lance's nodes need no models."""

    files: fs.FileSystem
    root: str

    @classmethod
    def open(cls, url: str | PathLike[str]) -> _Shards:
        files, root = fs.FileSystem.from_uri(_uri(url))
        return cls(files, root.rstrip("/") + "/shards")

    def keys(self) -> list[str]:
        found = self.files.get_file_info(fs.FileSelector(self.root, allow_not_found=True))
        return sorted(info.base_name for info in found if info.type == fs.FileType.Directory)

    def read(self, key: str, name: str) -> bytes:
        with self.files.open_input_stream(f"{self.root}/{key}/{name}") as stream:
            data: bytes = stream.read()
        return data

    def manifest(self, key: str) -> dict[str, Any] | None:
        """None while the shard is unfinished."""
        try:
            manifest = json.loads(self.read(key, "manifest.json"))
        except FileNotFoundError:
            return None
        if manifest["version"] != 1:
            raise StitchError(f"the shard {self.root}/{key} has format {manifest['version']}, this package reads 1")
        shard: dict[str, Any] = manifest["shard"]
        return shard

    def copy(self, key: str, folder: Path) -> None:
        """Copies a finished shard without its thumbnails, unless it is there; the manifest last."""
        if (folder / "manifest.json").exists():
            return
        folder.mkdir(parents=True, exist_ok=True)
        shard = self.manifest(key)
        if shard is None:
            raise StitchError(f"the shard {self.root}/{key} is gone; write the table again")
        for name in (f"{shard['features']}.safetensors", "manifest.json"):
            with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
                file.write(self.read(key, name))
            os.replace(file.name, folder / name)


def write(
    shards: str | PathLike[str],
    table: str | PathLike[str],
    *,
    batch: int = 256,
    map: Callable[[Callable[[list[str]], list[Any]], list[list[str]]], Iterable[list[Any]]] = builtins.map,
) -> int:
    """Adds the shards that a table does not have; returns how many clips. The table is made where there is none.

    Each `batch` of shards becomes a fragment. `map` is called with a function and the batches; one that spreads the calls over
    a cluster, such as `lambda f, b: ray.get([ray.remote(f).remote(one) for one in b])`, builds the fragments in parallel.
    """
    source, target = _Shards.open(shards), _uri(table)
    known = _open(target)
    have = set(known.to_table(columns=["shard"])["shard"].to_pylist()) if known else set()
    keys = [key for key in source.keys() if key not in have]
    first = next((shard for shard in (source.manifest(key) for key in keys) if shard), None)
    if first is None:
        if known:
            return 0
        raise StitchError(f"there are no shards in {shards}; write some with `stitch index PATHS… --out {shards}`")
    made = {"encoder": first["made"]["encoder"], "sentence_model": first["made"]["sentence_model"]}
    if known and (before := _about(known)) != {**made, "shards": before["shards"]}:
        raise StitchError(f"the shards in {shards} were made with another encoder than the table {table}; write them to another")
    schema = known.schema if known else _schema(source, keys, {**made, "shards": _uri(shards)})
    root = os.fspath(shards)

    def fragment(of: list[str]) -> list[Any]:
        source = _Shards.open(root)
        rows = pyarrow.RecordBatchReader.from_batches(schema, _batches(source, _finished(source, of, made), schema))
        return lance.fragment.write_fragments(rows, target, schema=schema, mode="append" if known else "create")

    batches = [keys[start : start + batch] for start in range(0, len(keys), batch)]
    fragments = [fragment for written in map(fragment, batches) for fragment in written]
    if known:
        lance.LanceDataset.commit(target, lance.LanceOperation.Append(fragments), read_version=known.version)
    else:
        lance.LanceDataset.commit(target, lance.LanceOperation.Overwrite(schema, fragments))
    return sum(fragment.physical_rows for fragment in fragments)


def build_index(table: str | PathLike[str], *, text_rows: Rows | None = None, rows: int = INDEXED_ROWS) -> bool:
    """Indexes the features (IVF-PQ) and the narration (full text); returns whether the table has at least `rows` rows.

    Queries are texts, and the pictures' features of texts lie apart from those of pictures. `text_rows`, features of some
    texts in the order of a row of the table as `Table.encode` makes them, are trained on together with the clips.
    """
    data = lance.dataset(_uri(table))
    data.create_scalar_index("narration", "INVERTED", replace=True)
    count = data.count_rows()
    if count < rows:
        return False
    partitions = max(1, count // PARTITION_ROWS)
    dim = data.schema.field("vector").type.list_size
    sample = _matrix(data.sample(min(count, SAMPLE * partitions), columns=["vector"])["vector"])
    if text_rows is not None:
        sample = numpy.vstack([sample, text_rows])
    kmeans = lance.util.KMeans(partitions, max_iters=20)
    kmeans.fit(_list(_unit(sample), numpy.float32))
    assert kmeans.centroids is not None, "fit has set them"
    centroids = kmeans.centroids.to_numpy_ndarray()
    data.create_index(
        "vector",
        "IVF_PQ",
        metric="cosine",
        num_partitions=partitions,
        num_sub_vectors=dim // 8,
        ivf_centroids=centroids.astype(numpy.float16),
        sample_rate=SAMPLE,
        replace=True,
    )
    return True


class Table:
    """A table of clips that can be queried."""

    def __init__(self, data: lance.LanceDataset, cache: Path) -> None:
        self._data = data
        self._about = _about(data)
        self._shards = _Shards.open(self._about["shards"])
        self._cache = cache
        self._empty: Library | None = None

    @classmethod
    def open(cls, table: str | PathLike[str], cache: str | PathLike[str]) -> Table:
        """`cache` is a folder for the shards that queries need; it may be deleted at any time."""
        data = _open(_uri(table))
        if data is None:
            raise StitchError(f"there is no table {table}; write one with stitch.lance.write")
        return cls(data, Path(cache))

    def __len__(self) -> int:
        return int(self._data.count_rows())

    def encode(self, procedure: str | PathLike[str] | Sequence[str], title: str | None = None) -> Rows:
        """What a procedure is searched by: a row for each step, and one for each step in its context."""
        text, clip = self._models()._native.encode(procedure, title, None)
        dim = self._about["encoder"]["dim"]
        rows = numpy.zeros((len(text), len(text[0]) + dim), numpy.float32)
        rows[:, : len(text[0])] = text
        rows[: len(clip), len(text[0]) :] = clip
        return rows

    def nearest(self, row: Rows, number: int, *, probes: int = 32, refine: int = 10) -> dict[str, list[Any]]:
        """The clips with the highest sum of similarities. `probes` partitions are read; `refine` times as many clips as
        asked for are scored exactly."""
        nearest = {"column": "vector", "q": row, "k": number, "nprobes": probes, "refine_factor": refine}
        found = self._data.to_table(columns=["shard", "clip", "_distance"], nearest=nearest)
        result: dict[str, list[Any]] = found.to_pydict()
        return result

    def shards(self, rows: Rows, texts: Iterable[str] = (), *, clips: int = 50) -> list[str]:
        """The shards of the `clips` nearest ones to each row, by texts and pictures together and by each alone, because how
        much each counts is decided later; and of those in which the texts are said."""
        text_dim = rows.shape[1] - self._about["encoder"]["dim"]
        of_text, of_clip = rows.copy(), rows.copy()
        of_text[:, text_dim:] = 0
        of_clip[:, :text_dim] = 0
        queries = [row for row in numpy.vstack([rows, of_text, of_clip]) if row.any()]
        with ThreadPoolExecutor() as pool:
            found = [shard for part in pool.map(lambda row: self.nearest(row, clips)["shard"], queries) for shard in part]
        for text in texts:
            said = self._data.to_table(columns=["shard", "_score"], full_text_query=text, limit=clips)
            found += said["shard"].to_pylist()
        return sorted(set(found))

    def library(self, keys: Iterable[str], folder: str | PathLike[str]) -> Library:
        """A library of these shards, in a new folder."""
        keys, given = list(keys), Path(folder) / "given"
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda key: self._shards.copy(key, self._cache / key), keys))
        for key in keys:
            shutil.copytree(self._cache / key, given / "shards" / key, copy_function=_link)
        _stitch.merge(str(given), Path(folder) / "library", None)
        return Library.open(Path(folder) / "library")

    def search(self, text: str, number: int = 10) -> SearchResults:
        """The clips that are most likely to show something, best first."""
        with tempfile.TemporaryDirectory() as folder:
            return self.library(self.shards(self.encode([text]), [text]), folder).search(text, number)

    def demonstrate(
        self,
        procedure: str | PathLike[str] | Sequence[str],
        *,
        title: str | None = None,
        clips: int = 50,
        **options: Any,
    ) -> Demonstration:
        """As `Library.demonstrate` on the videos that have one of the `clips` best clips of a step."""
        with tempfile.TemporaryDirectory() as folder:
            library = self.library(self.shards(self.encode(procedure, title), clips=clips), folder)
            return library.demonstrate(procedure, title=title, **options)

    def _models(self) -> Library:
        """An empty library, through which the models are loaded."""
        if self._empty is None:
            self._folder = tempfile.TemporaryDirectory()
            self._empty = Library.create(self._folder.name, encoder=self._about["encoder"]["name"])
        return self._empty


def _link(source: str, target: str) -> None:
    """A copy, where a link cannot reach."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _uri(url: str | PathLike[str]) -> str:
    url = os.fspath(url)
    return url if "://" in url else str(Path(url).resolve())


def _open(uri: str) -> lance.LanceDataset | None:
    try:
        return lance.dataset(uri)
    except ValueError as error:
        if "not found" in str(error):
            return None
        raise


def _about(data: lance.LanceDataset) -> dict[str, Any]:
    about: dict[str, Any] = json.loads(data.schema.metadata[b"stitch"])
    return about


def _schema(source: _Shards, keys: list[str], about: dict[str, Any]) -> pyarrow.Schema:
    for key in keys:
        if shard := source.manifest(key):
            features = _features(source.read(key, f"{shard['features']}.safetensors"))
            dim = features["text"].shape[1] + features["clip"].shape[1]
            break
    columns: dict[str, pyarrow.DataType] = {
        "shard": pyarrow.string(),
        "clip": pyarrow.int32(),
        "path": pyarrow.string(),
        "title": pyarrow.string(),
        "start_ms": pyarrow.int64(),
        "end_ms": pyarrow.int64(),
        "text": pyarrow.string(),
        "narration": pyarrow.string(),
        "vector": pyarrow.list_(pyarrow.float16(), dim),
        "thumbnail": pyarrow.binary(),
    }
    return pyarrow.schema(columns, metadata={"stitch": json.dumps(about)})


def _finished(source: _Shards, keys: list[str], made: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The manifests of the finished shards. An error in the middle of writing would be told in Lance's words."""
    found = {key: shard for key in keys if (shard := source.manifest(key)) is not None}
    for key, shard in found.items():
        if {name: shard["made"][name] for name in made} != made:
            raise StitchError(f"the shard {source.root}/{key} was made with another encoder than the others")
    return found


def _batches(
    source: _Shards, shards: dict[str, dict[str, Any]], schema: pyarrow.Schema
) -> Iterator[pyarrow.RecordBatch]:
    """The clips of each shard."""
    for key, shard in shards.items():
        features = _features(source.read(key, f"{shard['features']}.safetensors"))
        clips = shard["clips"]
        columns = {
            "shard": [key] * len(clips),
            "clip": range(len(clips)),
            "path": [shard["file"]["path"]] * len(clips),
            "title": [shard["video"]["title"]] * len(clips),
            "start_ms": [start for start, _, _ in clips],
            "end_ms": [end for _, end, _ in clips],
            "text": [text for _, _, text in clips],
            "narration": [_said(shard["sentences"], start, end) for start, end, _ in clips],
            "vector": _list(numpy.hstack([features["text"], features["clip"]]), numpy.float16),
            "thumbnail": _pictures(source, key, shard),
        }
        arrays = [pyarrow.array(columns[field.name], field.type) for field in schema]
        yield pyarrow.RecordBatch.from_arrays(arrays, schema=schema)


def _said(sentences: list[dict[str, Any]], start: int, end: int) -> str:
    return " ".join(said["text"] for said in sentences if said["start_ms"] < end and said["end_ms"] > start)


def _pictures(source: _Shards, key: str, shard: dict[str, Any]) -> list[bytes]:
    if (thumbnails := shard.get("thumbnails")) is None:
        return [b""] * len(shard["clips"])
    data = source.read(key, f"{thumbnails['sha256']}.mjpeg")
    ends = numpy.cumsum(thumbnails["bytes"])
    return [data[end - size : end] for end, size in zip(ends, thumbnails["bytes"], strict=True)]


def _features(data: bytes) -> dict[str, NDArray[numpy.float16]]:
    """The matrices of a feature file (safetensors)."""
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    matrices = {}
    for name in ("text", "clip"):
        start, end = header[name]["data_offsets"]
        matrix = numpy.frombuffer(data[8 + length + start : 8 + length + end], numpy.float16)
        matrices[name] = matrix.reshape(header[name]["shape"])
    return matrices


def _list(rows: NDArray[Any], kind: type) -> pyarrow.FixedSizeListArray:
    return pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(rows.astype(kind).reshape(-1)), rows.shape[1])


def _matrix(column: pyarrow.ChunkedArray) -> Rows:
    column = column.combine_chunks()
    flat = column.flatten().to_numpy(zero_copy_only=False)
    matrix: Rows = flat.reshape(len(column), -1).astype(numpy.float32)
    return matrix


def _unit(rows: Rows) -> Rows:
    unit: Rows = rows / numpy.maximum(numpy.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
    return unit
