//! A procedure in another language, in words that the sentence model knows.

use stitch_core::procedure::Procedure;

use crate::recipe::foreign_language;
use crate::sentence::SentenceEncoder;
use crate::summarise::chat::{Chat, ChatError, Message};

/// What the sentence model makes of a procedure's language.
#[derive(Debug, Default)]
pub struct Understood {
    /// In English, step by step; none where the procedure is asked in its own words.
    pub translation: Option<Procedure>,
    /// Why most steps will be missed, and what to do.
    pub note: Option<String>,
}

#[derive(Debug, thiserror::Error)]
enum TranslateError {
    #[error(transparent)]
    Chat(#[from] ChatError),
    #[error("{model} did not answer with a JSON list of {expected} texts; use another model")]
    Garbled { model: String, expected: usize },
}

/// Translates a procedure that the sentence model does not know the language of, where there is a language
/// model to do so.
pub fn understand(
    procedure: &Procedure,
    sentence: &SentenceEncoder,
    chat: Option<&Chat>,
) -> Understood {
    let (Some(language), Some(chat)) = (unknown_language(procedure, sentence), chat) else {
        return Understood { note: language_hint(procedure, sentence), ..Understood::default() };
    };
    match translate(chat, language, procedure) {
        Ok(translation) => Understood { translation: Some(translation), note: None },
        Err(error) => {
            let note = format!(
                "the procedure seems to be in {language} and is not translated, so most steps will be \
                 missed: {error}"
            );
            Understood { translation: None, note: Some(note) }
        }
    }
}

/// The name of the procedure's language, where the sentence model does not know it.
fn unknown_language(procedure: &Procedure, sentence: &SentenceEncoder) -> Option<&'static str> {
    let language = foreign_language(&procedure.steps().join(" "));
    language.filter(|_| !sentence.is_multilingual())
}

/// What to do about a language that the sentence model does not know, where no language model is set.
pub fn language_hint(procedure: &Procedure, sentence: &SentenceEncoder) -> Option<String> {
    let language = unknown_language(procedure, sentence)?;
    Some(format!(
        "the procedure seems to be in {language}, and the sentence model knows English only, so most steps \
         will be missed; set STITCH_LLM_URL to a language model that translates it, or index the videos \
         again with a multilingual model: `STITCH_SENTENCE_MODEL=FOLDER stitch index PATHS… --encoder \
         narration --library NEW`"
    ))
}

/// Title and steps in one question, so that a step is translated in its procedure.
fn translate(
    chat: &Chat,
    language: &str,
    procedure: &Procedure,
) -> Result<Procedure, TranslateError> {
    let steps = procedure.steps().iter().map(String::as_str);
    let texts: Vec<&str> = std::iter::once(procedure.title()).chain(steps).collect();
    let question = serde_json::json!(texts).to_string();
    let answer = chat.complete(&[Message::system(system(language)), Message::user(question)])?;
    let model = chat.model().to_owned();
    parse(&answer, texts.len()).ok_or(TranslateError::Garbled { model, expected: texts.len() })
}

fn system(language: &str) -> String {
    format!(
        "You translate instructions from {language} into English. You are given a JSON list of texts: the \
         title, which may be empty, then one text per step. Answer with nothing but a JSON list of as many \
         texts in the same order: the title in English, then each step in English as a short order. Keep \
         amounts and times. Join, split, add and leave out nothing."
    )
}

/// The procedure of an answer; none unless it is a list of this many texts, every step with words.
fn parse(answer: &str, expected: usize) -> Option<Procedure> {
    let list = answer.get(answer.find('[')?..=answer.rfind(']')?)?;
    let texts: Vec<String> = serde_json::from_str(list).ok()?;
    let (title, steps) = texts.split_first()?;
    let procedure = Procedure::new(title, steps).ok()?;
    (texts.len() == expected && procedure.steps().len() == steps.len()).then_some(procedure)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::summarise::chat::tests::{client, says, serve};

    fn sentence_model(name: &str) -> SentenceEncoder {
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
        SentenceEncoder::load(&data.join(name)).unwrap()
    }

    fn german() -> Procedure {
        let steps = [
            "Die Zwiebeln schälen und in kleine Würfel schneiden.",
            "Das Öl in einer großen Pfanne erhitzen und die Zwiebeln darin anbraten.",
        ];
        Procedure::new("Suppe", steps).unwrap()
    }

    #[test]
    fn title_and_steps_are_translated_in_one_question() {
        let answer = "```json\n[\"Soup\", \"Dice the onions.\", \"Fry the onions.\"]\n```";
        let (url, requests) = serve(vec![says(answer)]);
        let (chat, _) = client(&url, |_| {});
        let found = understand(&german(), &sentence_model("tiny-mpnet"), Some(&chat));
        assert_eq!(found.note, None);
        let translation = found.translation.unwrap();
        assert_eq!(translation.title(), "Soup");
        assert_eq!(translation.steps(), ["Dice the onions.", "Fry the onions."]);
        let request = requests.lock().unwrap()[0].clone();
        assert!(request.contains("from German") && request.contains("Suppe"), "{request}");
        assert!(request.contains("schälen") && request.contains("anbraten"), "{request}");
    }

    #[test]
    fn another_answer_leaves_the_procedure_as_it_is() {
        let model = sentence_model("tiny-mpnet");
        for answer in ["Sorry?", "][", "[1, 2, 3]", r#"["Soup", "Dice."]"#, r#"["", "Dice.", ""]"#]
        {
            let (url, _) = serve(vec![says(answer)]);
            let (chat, _) = client(&url, |_| {});
            let found = understand(&german(), &model, Some(&chat));
            let note = found.note.unwrap();
            assert!(found.translation.is_none() && note.contains("list of 3 texts"), "{note}");
        }
    }

    #[test]
    fn without_a_language_model_both_ways_are_named() {
        let note = |procedure: &Procedure, model: &str| {
            let found = understand(procedure, &sentence_model(model), None);
            assert!(found.translation.is_none());
            found.note
        };
        let said = note(&german(), "tiny-mpnet").unwrap();
        for part in ["German", "STITCH_LLM_URL", "STITCH_SENTENCE_MODEL=FOLDER stitch index"] {
            assert!(said.contains(part), "{said}");
        }
        assert_eq!(note(&german(), "tiny-xlmr"), None, "it knows the language");
        let english = [
            "Peel the onions and cut them into small dice.",
            "Heat the oil in a large pan and fry the onions in it.",
        ];
        assert_eq!(note(&Procedure::new("Soup", english).unwrap(), "tiny-mpnet"), None);
    }
}
