//! The demonstration for other programs: JSON, subtitles, OTIO, EDL, a page.
