"""One video that shows every step of a written procedure, out of a folder of instructional videos."""

from stitch._stitch import OptionError, StitchError, StitchWarning, __version__
from stitch.library import Features, Library
from stitch.results import (
    Clip,
    Demonstration,
    FoundClip,
    Interval,
    RenderedVideo,
    Report,
    SearchResults,
    Similarity,
    Source,
    Step,
    Video,
    VideoClip,
)

__all__ = [
    "Clip",
    "Demonstration",
    "Features",
    "FoundClip",
    "Interval",
    "Library",
    "OptionError",
    "RenderedVideo",
    "Report",
    "SearchResults",
    "Similarity",
    "Source",
    "Step",
    "StitchError",
    "StitchWarning",
    "Video",
    "VideoClip",
    "__version__",
]
