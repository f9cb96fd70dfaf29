//! F_M: text and seconds of video in one space.
