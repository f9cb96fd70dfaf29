//! Mixing by a language model, with strict parsing of the answer.

use stitch_core::clip::ClipId;
use stitch_core::pool::Pool;
use stitch_engine::summarise::PromptDomain;
use stitch_engine::summarise::chat::{Chat, ChatError, Message};

use super::mix::{Fault, MixedStep, Mixer, Rejected, check};
use super::recipes::Recipe;

/// A language model behind an OpenAI-compatible endpoint.
pub struct LanguageModel<'a> {
    pub chat: &'a Chat,
    pub domain: PromptDomain,
}

impl Mixer for LanguageModel<'_> {
    fn name(&self) -> &'static str {
        "language-model"
    }

    fn mix(&self, recipes: &[&Recipe], pool: &Pool, _: u64) -> Result<Vec<MixedStep>, Rejected> {
        let ask = |messages: &[Message]| {
            self.chat.complete(messages).map_err(|error| {
                tracing::debug!(%error, "the language model gave no answer");
                match error {
                    ChatError::Unreachable { .. } | ChatError::Key { .. } => Rejected::Unreachable,
                    _ => Rejected::NoAnswer,
                }
            })
        };
        converse(ask, question(self.domain, recipes, pool), recipes)
    }
}

/// Asks, and once more with the mistake named where the first answer has one.
fn converse(
    ask: impl Fn(&[Message]) -> Result<String, Rejected>,
    mut messages: Vec<Message>,
    recipes: &[&Recipe],
) -> Result<Vec<MixedStep>, Rejected> {
    let said = ask(&messages)?;
    match read(&said, recipes) {
        Ok(steps) => Ok(steps),
        Err((why @ (Rejected::NotPossible | Rejected::NoAnswer), _)) => Err(why),
        Err((_, fault)) => {
            let again = format!("{fault} Write the whole new recipe again, in the same form.");
            messages.extend([Message::assistant(said), Message::user(again)]);
            read(&ask(&messages)?, recipes).map_err(|fault| fault.0)
        }
    }
}

/// The instructions, an example, and the recipes to mix.
fn question(domain: PromptDomain, recipes: &[&Recipe], pool: &Pool) -> Vec<Message> {
    let text = |clip: &ClipId| pool.clip(*clip).text.as_str();
    let recipe = |r: &&Recipe| (r.title.clone(), r.steps.iter().map(text).collect::<Vec<_>>());
    let own: Vec<(String, Vec<&str>)> = recipes.iter().map(recipe).collect();
    vec![
        Message::system(system(domain)),
        Message::user(EXAMPLE),
        Message::assistant(EXAMPLE_ANSWER.trim_end()),
        Message::user(listing(&own)),
    ]
}

const FORM: &str = "Step 1: what to do (Step 3 in Recipe 2)";

fn system(domain: PromptDomain) -> String {
    let (thing, things) = match domain {
        PromptDomain::Cooking => ("dish", "ingredients and kitchen tools"),
        PromptDomain::Woodworking => ("piece", "kinds of wood, parts and tools"),
        PromptDomain::Gardening => ("job in the garden", "plants, soils and tools"),
        PromptDomain::Any => ("result", "materials and tools"),
    };
    let prompt = include_str!("mixing.txt").trim_end().replace("{form}", FORM);
    prompt.replace("{things}", things).replace("{thing}", thing)
}

/// Two recipes of no domain that has a prompt of its own, as [`listing`] writes them,
const EXAMPLE: &str = include_str!("example.txt");
/// and their mixture: the first kite, covered as the second.
const EXAMPLE_ANSWER: &str = include_str!("example_answer.txt");

/// Titles and steps in the prompt: each step with its place, which the model has only to copy.
fn listing(recipes: &[(String, Vec<&str>)]) -> String {
    let mut text = String::new();
    for (recipe, (title, steps)) in recipes.iter().enumerate() {
        text += &format!("Recipe {}: {title}\n", recipe + 1);
        for (step, words) in steps.iter().enumerate() {
            let place = MixedStep { recipe, step, text: None }.place();
            text += &format!("{words} ({place})\n");
        }
        text += "\n";
    }
    text
}

/// The mixture of an answer. A small model may repeat the example, whose places may exist in these recipes
/// too.
fn read(answer: &str, recipes: &[&Recipe]) -> Result<Vec<MixedStep>, Fault> {
    let steps = parse(answer)?;
    match check(&steps, recipes) {
        Err(unknown @ (Rejected::UnknownStep, _)) => Err(unknown),
        _ if steps.iter().any(is_repeated) => {
            let words = "These are steps of the example, not of the recipes above.";
            Err((Rejected::UnknownStep, words.into()))
        }
        checked => checked.map(|()| steps),
    }
}

fn is_repeated(step: &MixedStep) -> bool {
    let words = step.text.as_deref().unwrap_or_default();
    EXAMPLE.lines().any(|line| line.split_once(" (").is_some_and(|(known, _)| known == words))
}

/// The steps of an answer. One line that is no step rejects it all: nothing is guessed.
pub fn parse(answer: &str) -> Result<Vec<MixedStep>, Fault> {
    let lines = answer.lines().map(str::trim).filter(|line| !line.is_empty());
    let lines: Vec<&str> = lines.collect();
    match lines[..] {
        [] => return Err((Rejected::NoAnswer, String::new())),
        [only] if only.trim_end_matches('.').eq_ignore_ascii_case("not possible") => {
            return Err((Rejected::NotPossible, String::new()));
        }
        _ => {}
    }
    let bad = |line: &str| format!("The line '{line}' is not of the form '{FORM}'.");
    lines.iter().map(|line| step(line).ok_or_else(|| (Rejected::BadLine, bad(line)))).collect()
}

/// `Step 1: what to do (Step 3 in Recipe 2)`
fn step(line: &str) -> Option<MixedStep> {
    let rest = strip(line, "step ")?;
    let (number, rest) = rest.split_once(':')?;
    number.trim().parse::<usize>().ok()?;
    let (text, source) = rest.trim().trim_end_matches('.').strip_suffix(')')?.rsplit_once('(')?;
    let (step, recipe) = strip(source, "step ")?.split_once(" in ")?;
    let recipe = strip(recipe, "recipe ")?;
    let number = |text: &str| text.trim().parse::<usize>().ok()?.checked_sub(1);
    let text = Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    Some(MixedStep { recipe: number(recipe)?, step: number(step)?, text })
}

/// The text after a prefix, whatever its case.
fn strip<'a>(text: &'a str, beginning: &str) -> Option<&'a str> {
    let head = text.get(..beginning.len())?;
    head.eq_ignore_ascii_case(beginning).then(|| &text[beginning.len()..])
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::super::mix::tests::kitchen;
    use super::*;

    const GOOD: &str = "Step 1: A (Step 1 in Recipe 1)\nStep 2: B (Step 2 in Recipe 1)\n\
        Step 3: E (Step 2 in Recipe 2)";

    /// What comes of these answers in turn, and the last message of each question.
    fn told(answers: &[&str]) -> (Result<Vec<MixedStep>, Rejected>, Vec<String>) {
        let (recipes, pool) = kitchen(&[&["a", "b", "c"], &["d", "e"]]);
        let recipes: Vec<&Recipe> = recipes.iter().collect();
        let asked = RefCell::new(Vec::new());
        let ask = |messages: &[Message]| {
            let mut asked = asked.borrow_mut();
            asked.push(messages.last().unwrap().content.clone());
            answers.get(asked.len() - 1).map(|said| said.to_string()).ok_or(Rejected::NoAnswer)
        };
        let mixture = converse(ask, question(PromptDomain::Any, &recipes, &pool), &recipes);
        (mixture, asked.into_inner())
    }

    #[test]
    fn a_good_answer_or_a_refusal_is_the_last_word() {
        let (mixture, asked) = told(&[GOOD]);
        let places: Vec<_> = mixture.unwrap().iter().map(|s| (s.recipe, s.step)).collect();
        assert_eq!((places, asked.len()), (vec![(0, 0), (0, 1), (1, 1)], 1));
        assert!(asked[0].contains("Recipe 2: video 2\nd (Step 1 in Recipe 2)\n"), "{}", asked[0]);
        let (mixture, asked) = told(&["NOT POSSIBLE", GOOD]);
        assert_eq!((mixture, asked.len()), (Err(Rejected::NotPossible), 1));
    }

    #[test]
    fn the_second_question_names_the_fault() {
        let line = |(recipe, step): &(usize, usize)| {
            format!("Step 1: do (Step {step} in Recipe {recipe})")
        };
        let answer =
            |places: &[(usize, usize)]| places.iter().map(line).collect::<Vec<_>>().join("\n");
        let table = [
            (format!("Sure!\n{GOOD}"), Rejected::BadLine, "The line 'Sure!' is not of the form"),
            (answer(&[(1, 1), (1, 4), (2, 1)]), Rejected::UnknownStep, "no Step 4 in Recipe 1"),
            (answer(&[(1, 1), (2, 2), (2, 2)]), Rejected::Repeated, "Step 2 in Recipe 2 stands"),
            (
                answer(&[(1, 1), (1, 3), (1, 2), (2, 1)]),
                Rejected::OutOfOrder,
                "Step 2 in Recipe 1 must come before Step 3 in Recipe 1",
            ),
            (answer(&[(1, 1), (1, 2), (1, 3)]), Rejected::SourceUnused, "No step of Recipe 2"),
            (answer(&[(1, 1), (2, 1)]), Rejected::TooShort, "fewer than 3 steps"),
        ];
        for (bad, why, words) in table {
            let (mixture, asked) = told(&[&bad, GOOD]);
            assert!(mixture.is_ok() && asked[1].contains(words), "{asked:?}");
            let (mixture, asked) = told(&[&bad, &bad, GOOD]);
            assert_eq!((mixture, asked.len()), (Err(why), 2));
        }
        assert_eq!(told(&["Sure!"]).0, Err(Rejected::NoAnswer));
    }

    #[test]
    fn the_example_is_a_good_answer_to_its_own_question_alone() {
        let of_recipe = |recipe: &'static str| {
            let steps = recipe.lines().filter_map(|line| Some(line.split_once(" (")?.0));
            steps.collect::<Vec<_>>()
        };
        let steps: Vec<Vec<&str>> = EXAMPLE.trim_end().split("\n\n").map(of_recipe).collect();
        assert_eq!(steps.iter().map(Vec::len).collect::<Vec<_>>(), [5, 5]);
        let titles = ["A Newspaper Kite", "A Kite From an Old Umbrella"].map(str::to_owned);
        let listed: Vec<_> = titles.into_iter().zip(steps.clone()).collect();
        assert_eq!(listing(&listed), EXAMPLE);
        let (recipes, _) = kitchen(&[&steps[0], &steps[1]]);
        let recipes: Vec<&Recipe> = recipes.iter().collect();
        let mixture = parse(EXAMPLE_ANSWER).unwrap();
        assert_eq!(check(&mixture, &recipes), Ok(()));
        for mixed in mixture {
            assert_eq!(mixed.text.as_deref(), Some(steps[mixed.recipe][mixed.step]));
        }
        let (why, words) = read(EXAMPLE_ANSWER, &recipes).unwrap_err();
        assert_eq!(why, Rejected::UnknownStep);
        assert!(words.contains("steps of the example"), "{words}");
    }

    #[test]
    fn reads_steps_and_refusals_and_nothing_else() {
        let good =
            "Step 1: Chop the onion (Step 2 in Recipe 1)\n\nstep 2: Fry it (step 4 in recipe 2).";
        let steps = parse(good).unwrap();
        assert_eq!(
            (steps[0].recipe, steps[0].step, steps[0].text.as_deref()),
            (0, 1, Some("Chop the onion"))
        );
        assert_eq!((steps[1].recipe, steps[1].step), (1, 3));
        let why = |answer: &str| parse(answer).unwrap_err().0;
        assert_eq!(why("Not possible."), Rejected::NotPossible);
        assert_eq!(why(" \n"), Rejected::NoAnswer);
        for bad in [
            "Sure! Here is your recipe:\nStep 1: Chop (Step 2 in Recipe 1)",
            "Step 1: Chop (Recipe 1, Step 2)",
            "Step one: Chop (Step 2 in Recipe 1)",
            "Step 1: Chop (Step 0 in Recipe 1)",
            "Step 1: Chop (Step -1 in Recipe 1)",
            "Step 1 Chop",
            "Stép 1: ü (",
        ] {
            assert_eq!(why(bad), Rejected::BadLine, "{bad}");
        }
    }
}
