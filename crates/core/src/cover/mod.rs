//! V'_R: candidate sequences from few sources that together show every step.
