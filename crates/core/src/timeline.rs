//! V_R: the chosen sequence as cuts.
