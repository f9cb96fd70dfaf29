//! The library on disk: what is small in SQLite, features beside it.
