//! The pages of the preference study: introduction, pairs, end.

use maud::{Markup, html};
use stitch_core::format::{clock, count};

use super::layout::page;
use crate::api::study::{PairView, open, pair_view, progress_of, rater};
use crate::error::Result;
use crate::guard::Access;
use crate::state::State;
use crate::study::QUESTIONS;

/// An example for each question.
const EXAMPLES: [&str; 4] = [
    "one shows how the onion is fried, the other only mentions it: prefer the first.",
    "one ends with a finished taco, the other shows another dish: prefer the first.",
    "one changes the kitchen at every step, the other stays in one: prefer the second.",
    "one is prettier but leaves out a step: choose the one that you would rather follow.",
];

pub fn introduction(state: &State, access: Access) -> Result<Markup> {
    let study = open(state)?;
    let content = html! {
        section.narrow {
            h1 { (study.plan.title) }
            p.lead {
                "You will see " (count(study.plan.pairs.len(), "pair")) " of videos. Both show the same written "
                "procedure. Watch both, then answer four questions about which one you prefer."
            }
            p { "“No difference” is an answer too. You can stop at any time and continue later at the URL of your own page." }
            h2 { "The four questions" }
            ol.questions {
                @for ((_, question, meaning), example) in QUESTIONS.iter().zip(EXAMPLES) {
                    li { b { (question) } p { (meaning) } p.soft { "For example, " (example) } }
                }
            }
            form #begin.card {
                label for="rater" { "Your name, or any other word that identifies you" }
                div.row { input #rater name="name" required maxlength="100" autocomplete="nickname"; button.primary { "Begin" } }
            }
            @if access == Access::All {
                p.soft {
                    "For the organisers: "
                    a href="/api/study/answers.csv" download { "answers as CSV" } ", "
                    a href="/api/study/battles.jsonl" download { "as LMArena battles" } "."
                }
            }
        }
    };
    Ok(page(state, access.into(), &study.plan.title, &content))
}

/// The rater's next pair; none if all are answered.
pub fn next(state: &State, key: &str) -> Result<Option<usize>> {
    Ok(progress_of(state, &rater(state, key)?)?.next)
}

pub fn done(state: &State, access: Access, key: &str) -> Result<Markup> {
    let progress = progress_of(state, &rater(state, key)?)?;
    let content = html! {
        section.narrow {
            h1 { "Thank you" }
            p.lead { "You have answered " (count(progress.answered, "pair")) ". All pairs are answered." }
            p { a.button href={ "/study/" (key) "/1" } { "Review your answers" } }
        }
    };
    Ok(page(state, access.into(), "Thank you", &content))
}

pub fn pair(state: &State, access: Access, key: &str, number: usize) -> Result<Markup> {
    let progress = progress_of(state, &rater(state, key)?)?;
    let pair = pair_view(state, key, number)?;
    let base = format!("/api/study/raters/{key}/pairs/{number}");
    let content = html! {
        div #pair data-url=(base) data-next={ "/study/" (key) } {
            div.row.title-row {
                div { h1 { (pair.title) } p.soft { "Pair " (number) " of " (progress.pairs) ", " (progress.answered) " answered" } }
                div.row.actions {
                    button.primary type="button" data-action="both" { "Play both" }
                    button type="button" data-action="again" { "From the start" }
                }
            }
            progress max=(progress.pairs) value=(progress.answered) aria-label="Your progress" {}
            div.sides {
                @for side in ["left", "right"] {
                    figure {
                        figcaption { (if side == "left" { "Left" } else { "Right" }) }
                        video controls playsinline preload="auto" data-side=(side) src={ (base) "/" (side) }
                            aria-label={ "The " (side) " video" } {}
                        p.now data-now=(side) {}
                    }
                }
            }
            (step_table(&pair))
            (questions(&pair))
        }
    };
    Ok(page(state, access.into(), &format!("Pair {number}"), &content))
}

fn step_table(pair: &PairView) -> Markup {
    let button = |side: &str, times: Option<[u64; 2]>| {
        html! {
            @if let Some([start, end]) = times {
                button.quiet type="button" data-action="jump" data-side=(side) data-start=(start) data-end=(end) {
                    (clock(start, 0)) span.hidden { " on the " (side) }
                }
            } @else { span.soft { "–" } }
        }
    };
    html! {
        table.pair-steps {
            caption.hidden { "The steps and their times" }
            thead { tr { th scope="col" { "Left" } th scope="col" { "Step" } th scope="col" { "Right" } } }
            tbody {
                @for (number, step) in pair.steps.iter().enumerate() {
                    tr data-row {
                        td { (button("left", step.left)) }
                        td { (number + 1) ". " (step.text) }
                        td { (button("right", step.right)) }
                    }
                }
            }
        }
    }
}

fn questions(pair: &PairView) -> Markup {
    let answers = [("left", "Left"), ("tie", "No difference"), ("right", "Right")];
    html! {
        form #verdicts.card {
            div.verdicts {
                @for (name, question, meaning) in QUESTIONS {
                    fieldset {
                        legend { (question) }
                        p.soft { (meaning) }
                        div.choice {
                            @for (value, label) in answers {
                                label {
                                    input type="radio" name=(name) value=(value) required
                                        checked[pair.said.get(name).is_some_and(|said| said == value)];
                                    span { (label) }
                                }
                            }
                        }
                    }
                }
            }
            div.row { button.primary { "Save and continue" } }
        }
    }
}
