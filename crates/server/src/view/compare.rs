//! Two versions of a demonstration side by side.

use maud::{Markup, html};
use stitch_core::format::{clock, count, percent};

use super::demonstration::shown_ms;
use super::layout::{NavItem, page, thumbnail};
use super::library::name;
use crate::demonstrations;
use crate::error::{ApiError, Result};
use crate::state::State;
use crate::wire::{ClipRef, DemonstrationView, StepView};

/// The versions to compare, by number from 1; without them the current one and the one before.
#[derive(Clone, Copy, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Versions {
    left: Option<i64>,
    right: Option<i64>,
}

pub fn compare(state: &State, id: i64, versions: Versions) -> Result<Markup> {
    let record = demonstrations::get(&state.database, id)?;
    let all = demonstrations::revisions(&state.database, id)?;
    let numbers =
        [versions.left.unwrap_or(record.revision - 1), versions.right.unwrap_or(record.revision)];
    let mut views = Vec::new();
    for number in numbers.map(|number| number.max(1)) {
        let found = demonstrations::revision(&state.database, id, number)?;
        let found = found.ok_or_else(|| ApiError::not_found("version"))?;
        views.push(DemonstrationView::new(&record, &found, number));
    }
    let choice = |label: &str, current: i64| {
        html! {
            label { (label) select name=(label.to_lowercase()) {
                @for (number, action) in &all {
                    option value=(number) selected[*number == current] { (number) ": " (action) }
                }
            } }
        }
    };
    let content = html! {
        section.head {
            h1 { (name(&record)) }
            p { a.button href={ "/demonstrations/" (id) } { "Back to the demonstration" } }
            form.grid method="get" {
                (choice("Left", views[0].revision)) (choice("Right", views[1].revision))
                button { "Compare" }
            }
        }
        div.two.even { @for view in &views { (summary(view)) } }
        @for (number, (left, right)) in views[0].steps.iter().zip(&views[1].steps).enumerate() {
            section aria-labelledby={ "step-" (number) } {
                h2 id={ "step-" (number) } dir="auto" {
                    (number + 1) ". " (left.text)
                    @if clip(left) != clip(right) { span.badge { "differs" } }
                }
                div.two.even { (side(left)) (side(right)) }
            }
        }
    };
    Ok(page(state, NavItem::None, name(&record), &content))
}

fn clip(step: &StepView) -> Option<ClipRef> {
    step.chosen.as_ref().map(|chosen| chosen.clip)
}

fn summary(view: &DemonstrationView) -> Markup {
    let gaps = view.steps.iter().filter(|step| step.chosen.is_none()).count();
    html! {
        ul.summary {
            li { "Version " b { (view.revision) } }
            li { (clock(view.steps.iter().map(shown_ms).sum(), 0)) }
            li { (count(view.sources().len(), "source")) }
            li { (count(view.source_changes, "source change")) }
            li { (count(gaps, "gap")) }
        }
    }
}

fn side(step: &StepView) -> Markup {
    html! {
        div.card {
            @match &step.chosen {
                Some(clip) => {
                    img src=(thumbnail(clip.clip.video, clip.cut_start_ms.midpoint(clip.cut_end_ms)))
                        alt=(clip.text) width="320" height="180" loading="lazy";
                    p { (clip.title) " " span.soft { (clock(clip.cut_start_ms, 1)) "–" (clock(clip.cut_end_ms, 1)) } }
                    p.soft { (percent(clip.probability)) " likely" @if step.locked { ", locked" } }
                }
                None => p.missing { "Nothing in the library shows this." },
            }
        }
    }
}
