//! What a step asks for, part by part. This version knows only actions that are joined by ", then ".

/// The parts of a step's text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepParts {
    /// What is to be done, in order; at least one.
    pub actions: Vec<String>,
    /// When or until when.
    pub condition: Option<String>,
    /// How long.
    pub times: Vec<String>,
}

pub fn parts(text: &str) -> StepParts {
    let actions = text.split(", then ").map(|action| action.trim().to_owned()).collect();
    StepParts { actions, ..StepParts::default() }
}
