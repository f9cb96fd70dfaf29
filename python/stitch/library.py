"""A library of indexed videos."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Literal

import numpy
from numpy.typing import NDArray

from stitch import _stitch
from stitch.results import Demonstration, FoundClip, Report, SearchResults, Video, VideoClip

Progress = Callable[[str, int, int], object]
"""Called with the stage, the units of it that are done and all of them (0 if unknown), in the thread that called."""


@dataclass(frozen=True)
class Features:
    """The features of one video: read-only views of its file, without a copy.

    Rows have length 1, or 0 for nothing.
    """

    seconds: NDArray[numpy.float16]
    """The frames of each second."""
    text: NDArray[numpy.float16]
    """The text of each clip, in the order of `Library.clips`."""
    clip: NDArray[numpy.float16]
    """The frames of each clip."""
    appearance: NDArray[numpy.float16] | None
    """What each clip looks like: its first second, the mean, its last second. None if an older stitch wrote the file."""


class Library:
    """A library on disk. Several threads may use it at once; one process at a time may write to it."""

    def __init__(self, native: _stitch.Library) -> None:
        self._native = native

    @classmethod
    def open(cls, folder: str | PathLike[str] | None = None) -> Library:
        """Opens a library; without a folder that of STITCH_LIBRARY, or the default one of the command line."""
        return cls(_stitch.Library.open(_library(folder)))

    @classmethod
    def create(
        cls,
        folder: str | PathLike[str] | None = None,
        *,
        encoder: str | None = None,
        progress: Progress | None = None,
    ) -> Library:
        """Opens a library, and makes it where there is none.

        `encoder` is `mini`, `narration`, or a CLIP, SigLIP or ONNX model by its name or folder. The default is that of
        STITCH_ENCODER, else the library's own, else `mini`.
        """
        encoder = encoder or os.environ.get("STITCH_ENCODER") or None
        return cls(_stitch.Library.create(_library(folder), encoder, progress))

    @property
    def folder(self) -> Path:
        return self._native.folder

    @property
    def encoder(self) -> str:
        """The name of the encoder that the features are of."""
        return self._native.encoder

    def videos(self) -> list[Video]:
        return [Video.of(video) for video in json.loads(self._native.videos())]

    def clips(self, video: int | Video) -> list[VideoClip]:
        """The steps that a video shows, each with where."""
        return [VideoClip(**clip) for clip in json.loads(self._native.clips(_number(video)))]

    def features(self, video: int | Video) -> Features:
        views = {name: numpy.asarray(matrix) for name, matrix in self._native.features(_number(video))}
        return Features(views["seconds"], views["text"], views["clip"], views.get("appearance"))

    def index(
        self,
        paths: str | PathLike[str] | Iterable[str | PathLike[str]],
        *,
        speech: str | None = None,
        language: str | None = None,
        progress: Progress | None = None,
    ) -> Report:
        """Indexes the videos under the paths that the library does not have yet.

        When it is interrupted, the videos that are done stay, and the same call goes on from there. A video that cannot
        be read is in `Report.failed`; it does not stop the others. `speech` is the model that transcribes videos without
        subtitles: a name or folder, `auto` (whisper-base if it is installed) or `never`.
        """
        paths = [paths] if isinstance(paths, (str, PathLike)) else list(paths)
        speech = speech or os.environ.get("STITCH_SPEECH") or "auto"
        return Report.of(json.loads(self._native.index(paths, speech, language, progress)))

    def search(self, text: str, number: int = 10, *, progress: Progress | None = None) -> SearchResults:
        """The clips that are most likely to show something, best first."""
        found = json.loads(self._native.search(text, number, progress))
        return SearchResults(FoundClip.of(clip) for clip in found)

    def demonstrate(
        self,
        procedure: str | PathLike[str] | Sequence[str],
        *,
        title: str | None = None,
        length: float | None = None,
        step_length: float = 20.0,
        speed_up: float = 1.0,
        only: Sequence[str] = (),
        without: Sequence[str] = (),
        licence: Sequence[str] = (),
        candidates: int = 200,
        threshold: float | None = None,
        gaps: Literal["strict", "balanced", "never"] = "balanced",
        scorer: Literal["similarity", "evaluator", "blend"] | None = None,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> Demonstration:
        """Chooses the clips that show a procedure, as `stitch make` does.

        The procedure is a str with its text or its https:// address, a `pathlib.Path` of its file, or a list of its
        steps. Lengths are in seconds. `only`, `without` and `licence` are texts in the path, title or uploader of videos,
        or in their licence. A step that nothing shows stays a gap; `gaps` and `threshold` set how careful that decision
        is.
        """
        options = {
            "length": length,
            "step_length": step_length,
            "speed_up": speed_up,
            "only": only,
            "without": without,
            "licence": licence,
            "candidates": candidates,
            "threshold": threshold,
            "gaps": gaps,
            "scorer": scorer,
            "seed": seed,
        }
        found, left_out = self._native.demonstrate(procedure, title, options, progress)
        return Demonstration(json.loads(found), left_out)

    def __repr__(self) -> str:
        return f"Library.open({str(self.folder)!r})"


def _library(folder: str | PathLike[str] | None) -> str | PathLike[str] | None:
    return folder or os.environ.get("STITCH_LIBRARY") or None


def _number(video: int | Video) -> int:
    return video.id if isinstance(video, Video) else video
