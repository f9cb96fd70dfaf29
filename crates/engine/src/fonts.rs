//! The typeface of cards and captions (Inter, SIL Open Font License), carried in the binary so that
//! every machine renders the same letters. Statics: a constant would stand in it once per module that uses it.

/// Inter Regular, TrueType.
pub static REGULAR: &[u8] = include_bytes!("../assets/fonts/Inter-Regular.ttf");
/// Inter SemiBold, TrueType.
pub static SEMI_BOLD: &[u8] = include_bytes!("../assets/fonts/Inter-SemiBold.ttf");
