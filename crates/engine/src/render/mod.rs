//! The demonstration as a video file.
