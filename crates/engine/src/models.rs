//! Models are folders: finding, pulling and checking them.
