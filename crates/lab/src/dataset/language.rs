//! Mixing by a language model: our own prompts, and a strict reading of the answer.

use stitch_core::pool::Pool;
use stitch_engine::summarise::PromptDomain;
use stitch_engine::summarise::chat::{Chat, Message};

use super::mix::{MixedStep, Mixer, Rejected, check};
use super::recipes::Recipe;

/// A language model behind an OpenAI-compatible endpoint.
pub struct LanguageModel<'a> {
    /// Whom to ask.
    pub chat: &'a Chat,
    /// What the videos are about.
    pub domain: PromptDomain,
}

impl Mixer for LanguageModel<'_> {
    fn name(&self) -> &'static str {
        "language-model"
    }

    fn mix(&self, recipes: &[&Recipe], pool: &Pool, _: u64) -> Result<Vec<MixedStep>, Rejected> {
        let messages = [Message::system(system(self.domain)), Message::user(user(recipes, pool))];
        let answer = self.chat.complete(&messages).map_err(|error| {
            tracing::debug!(%error, "the language model gave no answer");
            Rejected::NoAnswer
        })?;
        let steps = parse(&answer)?;
        check(&steps, recipes).map(|()| steps)
    }
}

/// What is asked of the model.
fn system(domain: PromptDomain) -> String {
    let (thing, things) = match domain {
        PromptDomain::Cooking => ("dish", "ingredients and kitchen tools"),
        PromptDomain::Woodworking => ("piece", "kinds of wood, parts and tools"),
        PromptDomain::Gardening => ("job in the garden", "plants, soils and tools"),
        PromptDomain::Any => ("result", "materials and tools"),
    };
    format!(
        "You plan demonstrations. You get two to four recipes for a similar {thing}, each a numbered \
         list of steps. Write one new recipe that a person could really follow, made only of steps \
         from the lists.\n\
         Rules:\n\
         - Stay with one recipe as long as it serves. Go over to another only where the {things} \
         call for it.\n\
         - Keep the steps of each recipe in their order, and use none twice.\n\
         - Use at least one step of every recipe. Add nothing of your own.\n\
         - One step a line, in exactly this form:\n\
         Step 1: what to do (Step 3 in Recipe 2)\n\
         - Write nothing else. If these recipes cannot be combined in a sensible way, answer only: \
         NOT POSSIBLE"
    )
}

fn user(recipes: &[&Recipe], pool: &Pool) -> String {
    let mut text = String::new();
    for (number, recipe) in recipes.iter().enumerate() {
        text += &format!("Recipe {}: {}\n", number + 1, recipe.title);
        for (step, clip) in recipe.steps.iter().enumerate() {
            text += &format!("Step {}: {}\n", step + 1, pool.clip(*clip).text);
        }
        text += "\n";
    }
    text
}

/// The steps that an answer names. One line that is no step spoils the whole: what a model means is
/// never guessed.
fn parse(answer: &str) -> Result<Vec<MixedStep>, Rejected> {
    let lines = answer.lines().map(str::trim).filter(|line| !line.is_empty());
    let lines: Vec<&str> = lines.collect();
    if let [only] = lines[..]
        && only.trim_end_matches('.').eq_ignore_ascii_case("not possible")
    {
        return Err(Rejected::NotPossible);
    }
    if lines.is_empty() {
        return Err(Rejected::NoAnswer);
    }
    lines.iter().map(|line| step(line).ok_or(Rejected::BadLine)).collect()
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

/// The text after a beginning, in whatever letters that is written.
fn strip<'a>(text: &'a str, beginning: &str) -> Option<&'a str> {
    let head = text.get(..beginning.len())?;
    head.eq_ignore_ascii_case(beginning).then(|| &text[beginning.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(parse("Not possible."), Err(Rejected::NotPossible));
        assert_eq!(parse(" \n"), Err(Rejected::NoAnswer));
        for bad in [
            "Sure! Here is your recipe:\nStep 1: Chop (Step 2 in Recipe 1)",
            "Step 1: Chop (Recipe 1, Step 2)",
            "Step one: Chop (Step 2 in Recipe 1)",
            "Step 1: Chop (Step 0 in Recipe 1)",
            "Step 1: Chop (Step -1 in Recipe 1)",
            "Step 1 Chop",
            "Stép 1: ü (",
        ] {
            assert_eq!(parse(bad), Err(Rejected::BadLine), "{bad}");
        }
    }
}
