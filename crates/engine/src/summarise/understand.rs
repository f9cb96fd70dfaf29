//! What every step means in its procedure: by a language model where there is one, else by rules.

use serde_json::json;
use stitch_core::procedure::Procedure;

use super::chat::{Chat, Message};
use crate::progress::Progress;
use crate::recipe::references;

/// For every step, what it asks for where that is known only from the rest of the procedure. Whatever goes
/// wrong with the language model, the rules answer, and the progress is told why.
pub fn understood(
    chat: Option<&Chat>,
    procedure: &Procedure,
    progress: &dyn Progress,
) -> Vec<Option<String>> {
    let told = chat.map(|chat| by_language_model(chat, procedure)).transpose();
    told.unwrap_or_else(|reason| {
        progress.warn(&format!("{reason}; rules complete the steps instead"));
        None
    })
    .unwrap_or_else(|| references::understood(procedure))
}

fn by_language_model(chat: &Chat, procedure: &Procedure) -> Result<Vec<Option<String>>, String> {
    let steps = procedure.steps();
    let question = json!({"title": procedure.title(), "steps": steps}).to_string();
    let messages = [Message::system(SYSTEM), Message::user(question)];
    let answer = chat.complete(&messages).map_err(|error| error.to_string())?;
    let texts = parse(&answer).filter(|texts| texts.len() == steps.len());
    let texts = texts.ok_or_else(|| {
        format!("{} gave no list with an entry for each of the {} steps", chat.model(), steps.len())
    })?;
    Ok(texts.into_iter().zip(steps).map(|(text, step)| text.and_then(|t| news(&t, step))).collect())
}

const SYSTEM: &str = "You read the steps of a procedure, given as JSON with a title and a list of steps. \
    Answer with nothing but a JSON list that has one entry per step, in the same order. \
    The entry is null where the step can be understood by itself. Where it has pronouns, leaves out what it is \
    done to, or says to repeat something, the entry is the step as a short order that names these things in the \
    words of the title and the other steps. Add nothing that they do not say.";

/// The list in an answer, which may stand in a code block.
fn parse(answer: &str) -> Option<Vec<Option<String>>> {
    let list = answer.get(answer.find('[')?..=answer.rfind(']')?)?;
    serde_json::from_str(list).ok()
}

/// The text, where it says more than the step.
fn news(text: &str, step: &str) -> Option<String> {
    let bare = |text: &str| text.trim().trim_end_matches('.').to_owned();
    let text = bare(text);
    (!text.is_empty() && !text.eq_ignore_ascii_case(&bare(step))).then_some(text)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::super::chat::tests::{Reply, client, says, serve};
    use super::*;

    #[derive(Default)]
    struct Warnings(Mutex<Vec<String>>);

    impl Progress for Warnings {
        fn warn(&self, message: &str) {
            self.0.lock().unwrap().push(message.to_owned());
        }
    }

    fn beds() -> Procedure {
        Procedure::new("Lettuce", ["Rake the bed.", "Water it.", "Wait."]).unwrap()
    }

    fn answered(reply: Reply) -> (Vec<Option<String>>, Vec<String>) {
        let (url, requests) = serve(vec![reply]);
        let (chat, _) = client(&url, |options| options.retries = 0);
        let warnings = Warnings::default();
        let texts = understood(Some(&chat), &beds(), &warnings);
        assert!(requests.lock().unwrap()[0].contains("Rake the bed."));
        (texts, warnings.0.into_inner().unwrap())
    }

    #[test]
    fn the_language_model_is_asked_once_for_all_steps() {
        let answer = "```json\n[\"Rake the bed\", \"water the lettuce bed.\", null]\n```";
        let (texts, warnings) = answered(says(answer));
        assert_eq!(texts, [None, Some("water the lettuce bed".to_owned()), None]);
        assert_eq!(warnings, Vec::<String>::new());
    }

    #[test]
    fn without_a_useful_answer_the_rules_answer() {
        let by_rules = [None, Some("water the bed".to_owned()), None];
        let replies = [
            says("[null, \"water the bed of lettuce\"]"),
            says("Sure! ]["),
            Reply::Http(400, "no such model".into()),
        ];
        for reply in replies {
            let (texts, warnings) = answered(reply);
            assert_eq!(texts, by_rules);
            assert!(warnings[0].contains("rules"), "{warnings:?}");
        }
        assert_eq!(understood(None, &beds(), &Warnings::default()), by_rules);
    }
}
