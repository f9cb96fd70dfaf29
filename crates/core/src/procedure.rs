//! R: the query, an ordered list of step texts.

/// The written procedure a demonstration is made for. Never empty; every step has words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Procedure {
    title: String,
    steps: Vec<String>,
}

/// Why a text is no procedure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProcedureError {
    /// There is not one step with words in it.
    #[error("the procedure has no steps")]
    Empty,
    /// More steps than any demonstration should have.
    #[error("the procedure has {steps} steps, the most is {most}")]
    TooLong {
        /// How many steps there are.
        steps: usize,
        /// How many there may be.
        most: usize,
    },
}

impl Procedure {
    /// The most steps a procedure may have.
    pub const MOST_STEPS: usize = 500;

    /// A procedure of these steps, in this order. White space is folded; empty steps are left out.
    pub fn new<S: AsRef<str>>(
        title: &str,
        steps: impl IntoIterator<Item = S>,
    ) -> Result<Self, ProcedureError> {
        let steps: Vec<String> =
            steps.into_iter().map(|step| fold(step.as_ref())).filter(|s| !s.is_empty()).collect();
        match steps.len() {
            0 => Err(ProcedureError::Empty),
            n if n > Self::MOST_STEPS => {
                Err(ProcedureError::TooLong { steps: n, most: Self::MOST_STEPS })
            }
            _ => Ok(Self { title: fold(title), steps }),
        }
    }

    /// What the procedure makes; may be empty.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The step texts r1..rn.
    pub fn steps(&self) -> &[String] {
        &self.steps
    }
}

/// The text with every run of white space folded to one space.
fn fold(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_white_space_and_leaves_out_empty_steps() {
        let procedure = Procedure::new(" Tea ", ["Boil\n  water", "  ", "Steep"]).unwrap();
        assert_eq!(procedure.title(), "Tea");
        assert_eq!(procedure.steps(), ["Boil water", "Steep"]);
    }

    #[test]
    fn refuses_nothing_and_too_much() {
        assert_eq!(Procedure::new("", ["", " "]), Err(ProcedureError::Empty));
        let many = vec!["step"; Procedure::MOST_STEPS + 1];
        assert!(matches!(Procedure::new("", many), Err(ProcedureError::TooLong { .. })));
    }
}
