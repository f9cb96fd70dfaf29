//! Steps out of narration by a language model, in windows, its answers parsed strictly.

use stitch_core::format::timecode;

use super::answer::{Answer, parse_answer};
use super::chat::{Chat, ChatError, Message};
use crate::transcript::Sentence;

/// What the narration is about; the prompt says what to look for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptDomain {
    Cooking,
    Woodworking,
    Gardening,
    /// Anything done by hand.
    Any,
}

#[derive(Debug, thiserror::Error)]
pub enum SummariseError {
    #[error(transparent)]
    Chat(#[from] ChatError),
    #[error(
        "{model} gave no line of the form [mm:ss-mm:ss] step in two answers ({rejected} other lines); \
         use another model, or leave it out so that rules make the steps"
    )]
    NoSteps { model: String, rejected: usize },
    #[error("there is no narration to summarise; give the steps in a .steps.json file")]
    Silent,
}

const MAX_WINDOW_BYTES: usize = 12_000;
const OVERLAP_SENTENCES: usize = 5;

pub fn by_language_model(
    chat: &Chat,
    domain: PromptDomain,
    title: &str,
    sentences: &[Sentence],
) -> Result<Vec<Sentence>, SummariseError> {
    if sentences.is_empty() {
        return Err(SummariseError::Silent);
    }
    let mut whole = Answer::default();
    for window in windows(sentences) {
        // A window without a step is no error by itself: a long video's closing chat may hold none.
        merge(&mut whole, ask(chat, domain, title, window)?);
    }
    if whole.steps.is_empty() {
        let model = chat.model().to_string();
        return Err(SummariseError::NoSteps { model, rejected: whole.rejected });
    }
    Ok(whole.steps)
}

/// The narration in windows of at most [`MAX_WINDOW_BYTES`] that overlap.
fn windows(sentences: &[Sentence]) -> Vec<&[Sentence]> {
    let mut windows = Vec::new();
    let mut from = 0;
    loop {
        let mut size = 0;
        let fits = |s: &&Sentence| {
            size += s.text.len() + 16;
            size <= MAX_WINDOW_BYTES
        };
        let count = sentences[from..].iter().take_while(fits).count().max(1);
        let to = from + count;
        windows.push(&sentences[from..to]);
        if to >= sentences.len() {
            return windows;
        }
        from = (to.saturating_sub(OVERLAP_SENTENCES)).max(from + 1);
    }
}

/// Asks about one window; once more, with a reminder, where no line can be used.
fn ask(
    chat: &Chat,
    domain: PromptDomain,
    title: &str,
    window: &[Sentence],
) -> Result<Answer, ChatError> {
    let start = window.first().map_or(0, |s| s.start_ms);
    let end = window.iter().map(|s| s.end_ms).max().unwrap_or(start);
    let mut messages = vec![Message::system(system(domain)), Message::user(user(title, window))];
    let said = chat.complete(&messages)?;
    let first = parse_answer(&said, start, end);
    if !first.steps.is_empty() {
        return Ok(first);
    }
    messages.extend([Message::assistant(said), Message::user(REMINDER)]);
    let second = parse_answer(&chat.complete(&messages)?, start, end);
    Ok(Answer { rejected: first.rejected + second.rejected, ..second })
}

const REMINDER: &str = "No line of that could be used. Answer again with nothing but a line \
    'Title: ...' and lines of the form '[mm:ss-mm:ss] step', with times from the narration.";

fn system(domain: PromptDomain) -> String {
    let (work, look) = match domain {
        PromptDomain::Cooking => (
            "a cooking video",
            "which ingredients are used, what is done to them, with what heat and how long",
        ),
        PromptDomain::Woodworking => (
            "a woodworking video",
            "which parts are measured, cut, joined and finished, and with which tools",
        ),
        PromptDomain::Gardening => (
            "a gardening video",
            "what is done to soil, seeds and plants, with which tools, and in which order",
        ),
        PromptDomain::Any => {
            ("an instructional video", "what is done to which thing, and with which tool")
        }
    };
    format!(
        "You read what is said in {work} and write down the steps that are carried out in it.\n\
         Each line of the narration is '[mm:ss-mm:ss] sentence'.\n\
         Answer with one line 'Title: ' and what is made, then one line per step:\n\
         [mm:ss-mm:ss] the step as a short order\n\
         The times are those of the sentences in which the step is told. Say {look}. \
         Leave out greetings, introductions, stories, opinions, advertising and goodbyes. \
         Join sentences that tell one step. Keep the order of the narration. \
         Add nothing that is not said. Write no other lines."
    )
}

fn user(title: &str, window: &[Sentence]) -> String {
    let lines = window.iter().map(|s| {
        format!("[{}-{}] {}", clock(s.start_ms), clock(s.end_ms.div_ceil(1000) * 1000), s.text)
    });
    let lines: Vec<String> = lines.collect();
    format!("Video: {title}\n\n{}", lines.join("\n"))
}

/// `mm:ss`, or `hh:mm:ss` from one hour on.
fn clock(ms: u64) -> String {
    let timecode = timecode(ms);
    timecode.strip_prefix("00:").unwrap_or(&timecode).to_owned()
}

/// Adds a window's steps; those that the window before already gave are left out.
fn merge(whole: &mut Answer, answer: Answer) {
    whole.rejected += answer.rejected;
    let known = whole.steps.len();
    for step in answer.steps {
        if !whole.steps[..known].iter().any(|old| is_same(old, &step)) {
            whole.steps.push(step);
        }
    }
    whole.steps.sort_by_key(|step| (step.start_ms, step.end_ms));
}

/// Whether two steps are one: the same words near each other, or mostly the same time.
fn is_same(a: &Sentence, b: &Sentence) -> bool {
    let both = a.end_ms.min(b.end_ms).saturating_sub(a.start_ms.max(b.start_ms));
    let shorter = (a.end_ms - a.start_ms).min(b.end_ms - b.start_ms);
    both > 0 && (a.text.eq_ignore_ascii_case(&b.text) || both * 2 > shorter)
}

#[cfg(test)]
mod tests {
    use super::super::chat::tests::{client, says, serve};
    use super::*;

    fn narration(count: u64) -> Vec<Sentence> {
        let said = |i| Sentence {
            start_ms: i * 4000,
            end_ms: i * 4000 + 3500,
            text: format!("Now I chop onion number {i} very fine."),
        };
        (0..count).map(said).collect()
    }

    #[test]
    fn asks_in_our_words_and_reads_the_answer() {
        let (url, requests) =
            serve(vec![says("Title: Onions\n[00:00-00:04] Chop the onion.\nBye!")]);
        let (chat, _) = client(&url, |_| {});
        let steps =
            by_language_model(&chat, PromptDomain::Cooking, "video", &narration(2)).unwrap();
        assert_eq!((steps.len(), steps[0].text.as_str()), (1, "Chop the onion."));
        let request = requests.lock().unwrap()[0].clone();
        assert!(
            request.contains("[00:04-00:08] Now I chop onion number 1 very fine."),
            "{request}"
        );
    }

    #[test]
    fn asks_once_more_and_then_says_so() {
        let (url, _) = serve(vec![says("Sorry?"), says("[00:01-00:03] Chop it.")]);
        let (chat, _) = client(&url, |_| {});
        let steps = by_language_model(&chat, PromptDomain::Any, "Taco", &narration(2)).unwrap();
        assert_eq!(steps.len(), 1);
        let (url, _) = serve(vec![says("Sorry?"), says("No.\nNo!")]);
        let (chat, _) = client(&url, |_| {});
        let error = by_language_model(&chat, PromptDomain::Any, "Taco", &narration(2)).unwrap_err();
        assert!(matches!(error, SummariseError::NoSteps { rejected: 3, .. }), "{error}");
    }

    #[test]
    fn nothing_said_is_nothing_asked() {
        let (chat, _) = client("http://127.0.0.1:1/v1", |_| {});
        assert!(matches!(
            by_language_model(&chat, PromptDomain::Any, "", &[]),
            Err(SummariseError::Silent)
        ));
    }

    #[test]
    fn windows_cover_everything_and_overlap() {
        let all = narration(1000);
        let windows = windows(&all);
        assert!(windows.len() > 3);
        assert_eq!(windows.last().unwrap().last(), all.last());
        for pair in windows.windows(2) {
            let shared = pair[0].iter().filter(|s| pair[1].contains(s)).count();
            assert_eq!(shared, OVERLAP_SENTENCES);
        }
    }

    #[test]
    fn a_step_told_in_two_windows_is_one_step() {
        let step = |s: u64, e: u64, text: &str| Sentence {
            start_ms: s * 1000,
            end_ms: e * 1000,
            text: text.into(),
        };
        let mut whole =
            Answer { steps: vec![step(0, 10, "Chop."), step(10, 20, "Fry.")], ..Answer::default() };
        merge(
            &mut whole,
            Answer {
                steps: vec![step(11, 19, "Fry it."), step(20, 30, "Eat.")],
                ..Answer::default()
            },
        );
        let texts: Vec<&str> = whole.steps.iter().map(|s| s.text.as_str()).collect();
        assert_eq!(texts, ["Chop.", "Fry.", "Eat."]);
    }
}
