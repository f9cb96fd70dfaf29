//! The typeface of cards and captions (Inter, SIL Open Font License), carried in the binary so that
//! every machine renders the same letters.

/// Inter Regular, TrueType.
pub const REGULAR: &[u8] = include_bytes!("../assets/fonts/Inter-Regular.ttf");
/// Inter SemiBold, TrueType.
pub const SEMI_BOLD: &[u8] = include_bytes!("../assets/fonts/Inter-SemiBold.ttf");
