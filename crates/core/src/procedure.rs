//! R: the query, an ordered list of step texts.

use crate::format::fold;

/// The written procedure a demonstration is made for. Never empty; every step has words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Procedure {
    title: String,
    steps: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProcedureError {
    #[error("the procedure has no steps")]
    Empty,
    #[error("the procedure has {steps} steps, the most is {most}")]
    TooLong { steps: usize, most: usize },
}

impl Procedure {
    /// Chosen by hand; more than any demonstration should have.
    pub const MAX_STEPS: usize = 500;

    /// A procedure of these steps, in this order. White space is folded; empty steps are left out.
    pub fn new<S: AsRef<str>>(
        title: &str,
        steps: impl IntoIterator<Item = S>,
    ) -> Result<Self, ProcedureError> {
        let steps: Vec<String> =
            steps.into_iter().map(|step| fold(step.as_ref())).filter(|s| !s.is_empty()).collect();
        match steps.len() {
            0 => Err(ProcedureError::Empty),
            steps if steps > Self::MAX_STEPS => {
                Err(ProcedureError::TooLong { steps, most: Self::MAX_STEPS })
            }
            _ => Ok(Self { title: fold(title), steps }),
        }
    }

    /// May be empty.
    pub fn title(&self) -> &str {
        &self.title
    }

    pub fn steps(&self) -> &[String] {
        &self.steps
    }
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
        let many = vec!["step"; Procedure::MAX_STEPS + 1];
        assert!(matches!(Procedure::new("", many), Err(ProcedureError::TooLong { .. })));
    }
}
