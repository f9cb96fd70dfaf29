//! The page for a new demonstration: enter a text, correct its steps, start the search.

use maud::{Markup, html};

use super::layout::{NavItem, icon, page};
use crate::state::State;

pub fn new(state: &State) -> Markup {
    let content = html! {
        section.head {
            h1 { "New demonstration" }
            p.lead { "Paste a recipe or any other procedure, or drop a file: text, Markdown, a saved recipe page." }
        }
        div.two {
            section.card aria-labelledby="text-title" {
                h2 #text-title { label for="text" { "Text" } }
                textarea #text rows="14" spellcheck="false" dir="auto"
                    placeholder="Vegan tacos\n\n1. Cook the beans\n2. Mash the avocado\n3. Toast the tortillas" {}
                div.row {
                    label.button for="file" { "Choose a file" }
                    input.hidden #file type="file"
                        accept=".txt,.md,.markdown,.html,.htm,.json,text/*,application/json";
                    p.soft #read-note role="status" { "Steps appear as you type." }
                }
            }
            section.card aria-labelledby="steps-title" {
                h2 #steps-title { "Steps" }
                label for="title" { "Title" }
                input #title maxlength="200" autocomplete="off" placeholder="What the procedure makes";
                p.warning #read-warnings role="status" {}
                ol.edit #edit {}
                template #edit-row { (row()) }
                div.row {
                    button type="button" data-action="add-step" { (icon("plus")) "Add a step" }
                    p.soft { "Alt+↑ and Alt+↓ move a step, Enter splits it at the cursor, Backspace at its start merges it." }
                }
                (left_out())
                (options())
                div.row.go {
                    button.primary #go type="button" data-action="go" disabled { "Find the clips" }
                    p.soft #go-note role="status" {}
                }
            }
        }
    };
    page(state, NavItem::New, "New demonstration", &content)
}

/// One step, which can be edited, moved, merged and removed.
fn row() -> Markup {
    let button = |action: &str, label: &str, sign: &str| {
        html! {
            button.quiet type="button" data-action=(action) data-label=(label) { (icon(sign)) }
        }
    };
    html! {
        li draggable="true" {
            textarea rows="1" maxlength="2000" spellcheck="true" dir="auto" {}
            div.tools {
                (button("step-up", "Move up step", "up"))
                (button("step-down", "Move down step", "down"))
                (button("step-merge", "Merge with the previous step: step", "merge"))
                (button("step-drop", "Remove step", "leave"))
            }
        }
    }
}

/// The lines of the text that are no steps, each of which can be made one.
fn left_out() -> Markup {
    html! {
        details.left-out #left-out hidden open {
            summary #left-title { "Left out" }
            ul #left aria-labelledby="left-title" {}
            template #left-row {
                li {
                    span {}
                    button.quiet type="button" data-action="make-step" { (icon("plus")) "Make it a step" }
                }
            }
        }
    }
}

fn options() -> Markup {
    html! {
        details.options {
            summary { "Options" }
            div.grid {
                label { "Maximum length of the video, in seconds" input #length type="number" min="1" max="86400" step="1"; }
                label { "Maximum length of a step, in seconds" input #step-length type="number" min="1" max="86400" step="1" placeholder="20"; }
                label { "Maximum playback speed" input #speed-up type="number" min="1" max="8" step="0.1" placeholder="1"; }
                label { "Only videos with this text in path, title or uploader" input #only maxlength="200"; }
                label { "No videos with this text in path, title or uploader" input #without maxlength="200"; }
                label { "Only videos with this text in their licence" input #licence maxlength="200"; }
            }
            fieldset.grid {
                legend { "What you prefer where several clips show a step" }
                (slider("Length of clips: short to long", "length=short", "length=long"))
                (slider("Sound: silent to spoken", "sound=silent", "sound=spoken"))
                (slider("Videos: any to one", "", "source=one"))
                label { "A licence with this text" input data-prefer="licence" maxlength="200" placeholder="CC"; }
                label { "Narration in this language" input data-prefer="language" maxlength="50" placeholder="English"; }
            }
        }
    }
}

/// A preference by its weight, 0 in the middle; without a `low` one, 0 is at its start.
fn slider(name: &str, low: &str, high: &str) -> Markup {
    let least = if low.is_empty() { "0" } else { "-3" };
    html! {
        label { (name) input type="range" min=(least) max="3" step="0.5" value="0" data-low=(low) data-high=(high); }
    }
}
