//! F_R: the probability that a sequence is a correct, coherent demonstration.
