//! The page of a link: the video, the steps, and whose videos they are from.

use maud::{Markup, html};

use super::layout::{NavItem, page};
use super::library::name;
use crate::error::Result;
use crate::shares::{self, Shared};
use crate::state::State;
use crate::wire::DemonstrationView;

pub fn shared(state: &State, token: &str) -> Result<Markup> {
    let Shared { record, revision, .. } = shares::open(state, token)?;
    let view = DemonstrationView::new(&record, &revision, revision.number);
    let content = html! {
        section.narrow {
            h1 { (name(&record)) }
            video controls playsinline preload="metadata" src={ "/shared/" (token) "/video" } {}
            ol {
                @for step in &view.steps {
                    li dir="auto" {
                        (step.text)
                        @match &step.chosen {
                            Some(clip) => p.soft {
                                (clip.title)
                                @if let Some(uploader) = &clip.uploader { " by " (uploader) }
                                @if let Some(licence) = &clip.licence { ", " (licence) }
                            },
                            None => p.missing { "No video shows this." },
                        }
                    }
                }
            }
        }
    };
    Ok(page(state, NavItem::Link, name(&record), &content))
}
