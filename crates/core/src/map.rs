//! M: for each step of the query the clips that may show it.
