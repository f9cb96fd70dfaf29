"""What the engine answers, and how notebooks show it."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from stitch import _stitch


@dataclass(frozen=True)
class Report:
    """What an index run did."""

    found: int
    indexed: int
    """Indexed now."""
    unchanged: int
    """In the library already."""
    duplicates: int
    failed: list[tuple[str, str]]
    """Files and reasons."""
    clips: int
    """Of the videos indexed now."""

    @classmethod
    def of(cls, data: dict[str, Any]) -> Report:
        return cls(**{**data, "failed": [(path, reason) for path, reason in data["failed"]]})


@dataclass(frozen=True)
class Video:
    """A video of a library."""

    id: int
    path: Path
    status: str
    """`ready`, `pending`, `failed` or `duplicate`."""
    reason: str | None
    """Why it failed, or the video that it is a copy of."""
    title: str
    uploader: str | None
    url: str | None
    licence: str | None
    length_ms: int
    clips: int
    """How many."""

    @classmethod
    def of(cls, data: dict[str, Any]) -> Video:
        status, reason = data["status"], None
        if isinstance(status, dict):
            [(status, reason)] = status.items()
        same = ("id", "title", "uploader", "url", "licence", "length_ms", "clips")
        return cls(path=Path(data["path"]), status=status, reason=reason, **{name: data[name] for name in same})


@dataclass(frozen=True)
class Interval:
    """A stretch of a video."""

    start_ms: int
    end_ms: int

    def __str__(self) -> str:
        return f"{_clock(self.start_ms)}-{_clock(self.end_ms)}"


@dataclass(frozen=True)
class VideoClip(Interval):
    """A step that a video shows."""

    text: str


@dataclass(frozen=True)
class FoundClip:
    """A clip that a search found."""

    clip: int
    """Its row among all clips of the library."""
    video: int
    path: Path
    title: str
    start_ms: int
    end_ms: int
    text: str
    """The step in the words of its video."""
    probability: float
    """That it shows what was searched for."""
    text_similarity: float | None
    clip_similarity: float | None

    @classmethod
    def of(cls, data: dict[str, Any]) -> FoundClip:
        return cls(**{**data, "path": Path(data["path"])})

    @property
    def span(self) -> Interval:
        return Interval(self.start_ms, self.end_ms)


class SearchResults(list[FoundClip]):
    """The clips that a search found, best first."""

    def _repr_html_(self) -> str:
        rows = (
            [
                _picture(found.path, found.span),
                escape(found.text),
                _place(found.title, found.path, found.span),
                _percent(found.probability),
            ]
            for found in self
        )
        return _table(["", "step", "video", "probability"], rows)


@dataclass(frozen=True)
class Source:
    """The video a clip is from, and who is to be credited."""

    video: int
    path: Path
    title: str
    uploader: str | None
    url: str | None
    licence: str | None


@dataclass(frozen=True)
class Similarity:
    """How well a clip fits a step."""

    text: float | None
    words: float | None
    clip: float | None
    probability: float
    """That the clip shows the step."""


@dataclass(frozen=True)
class Clip:
    """A clip for a step."""

    clip: int
    """Its row among all clips of the library."""
    source: Source
    span: Interval
    """Where the step is shown."""
    cut: Interval
    """What is played."""
    speed: float
    text: str
    """The step in the words of its own video."""
    narration: str
    similarity: Similarity

    @classmethod
    def of(cls, data: dict[str, Any]) -> Clip:
        return cls(
            clip=data["clip"],
            source=Source(**{**data["source"], "path": Path(data["source"]["path"])}),
            span=Interval(**data["span"]),
            cut=Interval(**data["cut"]),
            speed=data["speed"],
            text=data["text"],
            narration=data["narration"],
            similarity=Similarity(**data["similarity"]),
        )


@dataclass(frozen=True)
class Step:
    """One step of the procedure and what shows it."""

    text: str
    understood: str | None
    """What it asks for, where its own words do not say it."""
    confidence: Literal["shown", "perhaps", "not_shown"]
    chosen: Clip | None
    """The clip that shows it; none for a gap."""
    alternatives: list[Clip]

    @classmethod
    def of(cls, data: dict[str, Any]) -> Step:
        chosen = data["chosen"]
        return cls(
            text=data["text"],
            understood=data.get("understood"),
            confidence=data["confidence"],
            chosen=chosen and Clip.of(chosen),
            alternatives=[Clip.of(clip) for clip in data["alternatives"]],
        )


@dataclass(frozen=True)
class RenderedVideo:
    """A video that was written, and the files beside it."""

    path: Path
    files: list[Path]

    def _repr_html_(self) -> str:
        return f'<video controls style="max-width: 100%" src="{escape(os.path.relpath(self.path))}"></video>'


class Demonstration:
    """The clips for a procedure. `to_dict` has all that demo.json has."""

    def __init__(self, data: dict[str, Any], left_out: Sequence[str] = ()) -> None:
        self._data = data
        self.left_out = list(left_out)
        """Lines of the text that are neither title nor step."""
        self.steps = [Step.of(step) for step in data["steps"]]

    @classmethod
    def load(cls, file: str | PathLike[str]) -> Demonstration:
        """Reads the demo.json that `save` or `stitch make` wrote."""
        return cls(json.loads(_stitch.read_demonstration(file)))

    @property
    def title(self) -> str:
        return str(self._data["title"])

    @property
    def gaps(self) -> list[Step]:
        """The steps that nothing shows."""
        return [step for step in self.steps if step.chosen is None]

    def to_dict(self) -> dict[str, Any]:
        return self._data

    def save(self, file: str | PathLike[str]) -> Path:
        """Writes it as JSON; returns the file."""
        _stitch.write_demonstration(json.dumps(self._data), file)
        return Path(file)

    def render(
        self,
        out: str | PathLike[str],
        *,
        size: tuple[int, int] | None = None,
        aspect: Literal["blur", "fit", "crop"] = "blur",
        captions: Literal["soft", "burnt", "none"] = "soft",
        crossfade: float = 0.0,
        title_card: bool = False,
        formats: Sequence[str] = (),
        handles: float = 0.0,
        progress: Callable[[str, int, int], object] | None = None,
    ) -> RenderedVideo:
        """Writes the video, and beside it demo.json of the same name and other formats (`srt`, `vtt`, `html`, `otio`, …).

        `crossfade` is the length of a fade between clips and `handles` how much longer clips are at either end in
        timelines for editors, both in seconds.
        """
        options = {
            "size": size,
            "aspect": aspect,
            "captions": captions,
            "crossfade": crossfade,
            "title_card": title_card,
            "formats": formats,
            "handles": handles,
        }
        path, *files = _stitch.render(json.dumps(self._data), out, options, progress)
        return RenderedVideo(path, files)

    def __repr__(self) -> str:
        shown = len(self.steps) - len(self.gaps)
        return f"<Demonstration {self.title!r}: {shown} of {len(self.steps)} steps shown>"

    def _repr_html_(self) -> str:
        rows = (_step_cells(number, step) for number, step in enumerate(self.steps, 1))
        title = f"<h4>{escape(self.title)}</h4>" if self.title else ""
        return title + _table(["", "step", "", "video", "probability"], rows)


def _step_cells(number: int, step: Step) -> list[str]:
    text = escape(step.text)
    if step.understood:
        text += f"<br><small>→ {escape(step.understood)}</small>"
    clip = step.chosen
    if clip is None:
        return [str(number), text, "", "<em>gap: nothing in the library shows this</em>", ""]
    place = _place(clip.source.title, clip.source.path, clip.cut)
    return [str(number), text, _picture(clip.source.path, clip.cut), place, _percent(clip.similarity.probability)]


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Of cells that are HTML."""
    head = "".join(f"<th>{cell}</th>" for cell in header)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _picture(path: Path, span: Interval) -> str:
    """The middle frame; nothing where it cannot be decoded, such as where the file is gone."""
    try:
        jpeg = _stitch.thumbnail(path, (span.start_ms + span.end_ms) // 2)
    except _stitch.StitchError:
        return ""
    return f'<img width="160" alt="" src="data:image/jpeg;base64,{base64.b64encode(jpeg).decode()}">'


def _place(title: str, path: Path, span: Interval) -> str:
    return f"{escape(title or path.name)}<br><small>{span}</small>"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _clock(ms: int) -> str:
    return f"{ms // 60_000}:{ms % 60_000 / 1000:04.1f}"
