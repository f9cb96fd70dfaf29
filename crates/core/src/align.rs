//! F_T: Drop-DTW, where in a video each step is shown.
