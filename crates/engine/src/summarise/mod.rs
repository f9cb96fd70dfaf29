//! From narration to steps: rules, a language model, or a person's own list.
