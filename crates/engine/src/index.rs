//! Indexing: from a video file to clips in the pool.
