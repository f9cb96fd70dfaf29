//! all-mpnet-base-v2: a sentence as a unit vector.
