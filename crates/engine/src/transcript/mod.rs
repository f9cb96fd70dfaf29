//! Narration: sentences with start and end, from whatever a video has beside or inside it.
