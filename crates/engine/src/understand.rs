//! What the steps of a procedure ask for, in words that the sentence model knows: another language is translated, and
//! what a step leaves to its procedure is named.

use stitch_core::features::{Features, similarity};
use stitch_core::procedure::Procedure;

use crate::recipe::{foreign_language, references};
use crate::sentence::{SentenceEncoder, SentenceError};
use crate::summarise::chat::{Chat, ChatError, Message};

/// What the sentence model makes of a procedure's language.
#[derive(Debug, Default)]
pub struct Translated {
    /// In English, step by step; none where the procedure is asked in its own words.
    pub translation: Option<Procedure>,
    /// Why most steps will be missed, and what to do.
    pub note: Option<String>,
}

#[derive(Debug, thiserror::Error)]
enum AnswerError {
    #[error(transparent)]
    Chat(#[from] ChatError),
    #[error("{model} did not answer with a JSON list of {expected} texts; use another model")]
    Garbled { model: String, expected: usize },
}

/// Translates a procedure that the sentence model does not know the language of, where there is a language
/// model to do so.
pub fn translate(
    procedure: &Procedure,
    sentence: &SentenceEncoder,
    chat: Option<&Chat>,
) -> Translated {
    let (Some(language), Some(chat)) = (unknown_language(procedure, sentence), chat) else {
        return Translated { note: language_hint(procedure, sentence), ..Translated::default() };
    };
    match ask_for_translation(chat, language, procedure) {
        Ok(translation) => Translated { translation: Some(translation), note: None },
        Err(error) => {
            let note = format!(
                "the procedure seems to be in {language} and is not translated, so most steps will be \
                 missed: {error}"
            );
            Translated { translation: None, note: Some(note) }
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
fn ask_for_translation(
    chat: &Chat,
    language: &str,
    procedure: &Procedure,
) -> Result<Procedure, AnswerError> {
    let steps = procedure.steps().iter().map(String::as_str);
    let texts: Vec<&str> = std::iter::once(procedure.title()).chain(steps).collect();
    let question = serde_json::json!(texts).to_string();
    let expected = texts.len();
    ask(chat, system(language), question, expected, |list| procedure_of(list, expected))
}

/// The parsed answer of a language model, which is a JSON list and may stand in a code block.
fn ask<T>(
    chat: &Chat,
    system: impl Into<String>,
    question: String,
    expected: usize,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<T, AnswerError> {
    let answer = chat.complete(&[Message::system(system), Message::user(question)])?;
    let list = || answer.get(answer.find('[')?..=answer.rfind(']')?);
    let model = chat.model().to_owned();
    list().and_then(parse).ok_or(AnswerError::Garbled { model, expected })
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
fn procedure_of(list: &str, expected: usize) -> Option<Procedure> {
    let texts: Vec<String> = serde_json::from_str(list).ok()?;
    let (title, steps) = texts.split_first()?;
    let procedure = Procedure::new(title, steps).ok()?;
    (texts.len() == expected && procedure.steps().len() == steps.len()).then_some(procedure)
}

/// The steps of a procedure, each understood in it.
#[derive(Debug)]
pub struct InContext {
    /// What each step asks for, where its own words do not say it.
    pub steps: Vec<Option<String>>,
    /// The same for M; none where nothing that knows a procedure could be asked.
    pub features: Option<Features>,
}

/// Understands the steps, whose own embeddings are `text`: by the language model where there is one, else by the
/// sentence model, which chooses among what rules propose.
pub fn in_context(
    procedure: &Procedure,
    text: &Features,
    sentence: &SentenceEncoder,
    chat: Option<&Chat>,
) -> Result<InContext, SentenceError> {
    let told = chat.map(|chat| ask_for_steps(chat, procedure));
    match told {
        Some(Ok(steps)) => {
            let own = procedure.steps().iter();
            let words: Vec<&str> =
                own.zip(&steps).map(|(own, told)| told.as_deref().unwrap_or(own)).collect();
            return Ok(InContext { features: Some(sentence.encode(&words)?), steps });
        }
        Some(Err(error)) => {
            tracing::warn!("{error}; the sentence model understands the steps instead")
        }
        None => {}
    }
    let features = sentence.encode_in_context(procedure.title(), procedure.steps())?;
    let steps = match &features {
        Some(features) => choose(features, text, references::readings(procedure), sentence)?,
        None => vec![None; procedure.steps().len()],
    };
    Ok(InContext { steps, features })
}

/// Of the readings of each step the one that is most similar to the step in its procedure, where it is more similar
/// than the step's own words.
fn choose(
    context: &Features,
    text: &Features,
    readings: Vec<Vec<String>>,
    sentence: &SentenceEncoder,
) -> Result<Vec<Option<String>>, SentenceError> {
    let rows = sentence.encode(&readings.concat())?;
    let mut row = 0..;
    let mut best = |step: usize, readings: Vec<String>| {
        let own = similarity(context.row(step), text.row(step));
        let scored = readings.into_iter().zip(row.by_ref());
        let scored = scored.map(|(text, row)| (text, similarity(context.row(step), rows.row(row))));
        let nearer = scored.filter(|(_, score)| *score > own);
        nearer.max_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(text, _)| text)
    };
    Ok(readings.into_iter().enumerate().map(|(step, readings)| best(step, readings)).collect())
}

fn ask_for_steps(chat: &Chat, procedure: &Procedure) -> Result<Vec<Option<String>>, AnswerError> {
    let steps = procedure.steps();
    let question = serde_json::json!({"title": procedure.title(), "steps": steps}).to_string();
    let parse = |list: &str| {
        let texts: Vec<Option<String>> = serde_json::from_str(list).ok()?;
        (texts.len() == steps.len()).then_some(texts)
    };
    let texts = ask(chat, STEPS_IN_CONTEXT, question, steps.len(), parse)?;
    Ok(texts.into_iter().zip(steps).map(|(text, step)| news(&text?, step)).collect())
}

const STEPS_IN_CONTEXT: &str = "You read the steps of a procedure, given as JSON with a title and a list of steps. \
    Answer with nothing but a JSON list that has one entry per step, in the same order. \
    The entry is null where the step can be understood by itself. Where it has pronouns, leaves out what it is \
    done to, or says to repeat something, the entry is the step as a short order that names these things in the \
    words of the title and the other steps. Add nothing that they do not say.";

/// The text, where it says more than the step.
fn news(text: &str, step: &str) -> Option<String> {
    let bare = |text: &str| text.trim().trim_end_matches('.').to_owned();
    let text = bare(text);
    (!text.is_empty() && !text.eq_ignore_ascii_case(&bare(step))).then_some(text)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::summarise::chat::tests::{Reply, client, says, serve};

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
        let found = translate(&german(), &sentence_model("tiny-mpnet"), Some(&chat));
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
            let found = translate(&german(), &model, Some(&chat));
            let note = found.note.unwrap();
            assert!(found.translation.is_none() && note.contains("list of 3 texts"), "{note}");
        }
    }

    #[test]
    fn without_a_language_model_both_ways_are_named() {
        let note = |procedure: &Procedure, model: &str| {
            let found = translate(procedure, &sentence_model(model), None);
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

    fn beds() -> (Procedure, SentenceEncoder, Features) {
        let beds = Procedure::new("Lettuce", ["Rake the bed.", "Water it.", "Wait."]).unwrap();
        let sentence = sentence_model("tiny-mpnet");
        let text = sentence.encode(beds.steps()).unwrap();
        (beds, sentence, text)
    }

    #[test]
    fn the_language_model_is_asked_once_for_all_steps() {
        let answer = "```json\n[\"Rake the bed\", \"water the lettuce bed.\", null]\n```";
        let (url, requests) = serve(vec![says(answer)]);
        let (chat, _) = client(&url, |_| {});
        let (beds, sentence, text) = beds();
        let InContext { steps, features } =
            in_context(&beds, &text, &sentence, Some(&chat)).unwrap();
        assert_eq!(steps, [None, Some("water the lettuce bed".to_owned()), None]);
        let words = ["Rake the bed.", "water the lettuce bed", "Wait."];
        assert_eq!(features, Some(sentence.encode(&words).unwrap()));
        assert!(requests.lock().unwrap()[0].contains("Rake the bed."));
    }

    #[test]
    fn without_a_useful_answer_the_steps_are_understood_as_without_a_language_model() {
        let (beds, sentence, text) = beds();
        let alone = in_context(&beds, &text, &sentence, None).unwrap();
        let replies = [
            says("[null, \"water the bed of lettuce\"]"),
            says("Sure! ]["),
            Reply::Http(400, "no such model".into()),
        ];
        for reply in replies {
            let (url, _) = serve(vec![reply]);
            let (chat, _) = client(&url, |options| options.retries = 0);
            let found = in_context(&beds, &text, &sentence, Some(&chat)).unwrap();
            assert_eq!(
                (found.steps, found.features),
                (alone.steps.clone(), alone.features.clone())
            );
        }
    }

    #[test]
    fn the_reading_nearest_to_the_step_in_context_is_chosen_unless_its_own_words_are() {
        let sentence = sentence_model("tiny-mpnet");
        let readings = vec![vec!["water the bed".to_owned(), "water the rake".to_owned()], vec![]];
        let context = sentence.encode(&["water the rake", "wait"]).unwrap();
        let own = sentence.encode(&["water it", "wait"]).unwrap();
        let chosen = choose(&context, &own, readings.clone(), &sentence).unwrap();
        assert_eq!(chosen, [Some("water the rake".to_owned()), None]);
        assert_eq!(choose(&context, &context, readings, &sentence).unwrap(), [None, None]);
    }
}
