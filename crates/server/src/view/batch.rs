//! Many procedures at once: their files are chosen together, and a table tells how each of them went.

use maud::{Markup, html};
use stitch_core::format::{clock, count};

use super::demonstration::shown_ms;
use super::layout::{NavItem, page};
use super::library::name;
use crate::database::to_name;
use crate::demonstrations::{self, Record};
use crate::editor;
use crate::error::Result;
use crate::jobs::{Job, JobKind, JobStatus};
use crate::state::State;

/// Demonstrations in the table; chosen by hand.
const MAX_ROWS: usize = 100;

pub fn batch(state: &State) -> Result<Markup> {
    let records = demonstrations::list(&state.database, MAX_ROWS)?;
    let mut rows = Vec::new();
    for record in &records {
        rows.push(row(state, record)?);
    }
    let content = html! {
        section.head {
            h1 { "Batch" }
            p.lead { "Choose many procedures at once: text, Markdown, saved recipe pages. Each becomes a demonstration." }
        }
        section.card #batch {
            label for="files" { "Files" }
            div.row {
                input #files type="file" multiple accept=".txt,.md,.markdown,.html,.htm,.json,text/*,application/json";
                button.primary #make-all type="button" data-action="make-all" { "Find the clips of all" }
                button type="button" data-action="render-all" { "Render those without a video" }
            }
            p.soft #batch-note role="status" {}
            ul.warning #batch-failed {}
        }
        section aria-labelledby="table-title" {
            h2 #table-title { "Demonstrations" }
            div.scroll tabindex="0" role="region" aria-labelledby="table-title" {
                table {
                    thead { tr { th { "Procedure" } th { "Shown" } th { "Sources" } th { "Length" } th { "Search" } th { "Video" } } }
                    tbody { @for row in &rows { (row) } }
                }
            }
            @if rows.is_empty() { p.soft { "None yet." } }
        }
    };
    Ok(page(state, NavItem::Batch, "Batch", &content))
}

fn row(state: &State, record: &Record) -> Result<Markup> {
    let make = state.jobs.newest(JobKind::Make, record.id)?;
    let render = state.jobs.newest(JobKind::Render, record.id)?;
    let view = match record.revision {
        0 => None,
        _ => Some(editor::view(state, record.id)?),
    };
    let live =
        |job: &Option<Job>| job.as_ref().filter(|job| !job.status.is_over()).map(|job| job.id);
    let status = |job: &Option<Job>| job.as_ref().map_or("–".into(), |job| to_name(&job.status));
    let rendered = render.as_ref().is_some_and(|job| job.status == JobStatus::Done);
    let ready = view.is_some() && !rendered && live(&render).is_none();
    Ok(html! {
        tr data-live=[live(&make).or(live(&render))] data-render=[ready.then_some(record.id)] {
            th scope="row" dir="auto" { a href={ "/demonstrations/" (record.id) } { (name(record)) } }
            @match &view {
                Some(view) => {
                    td {
                        (view.steps.iter().filter(|step| step.chosen.is_some()).count()) " of "
                        (count(view.steps.len(), "step"))
                    }
                    td { (view.sources().len()) }
                    td { (clock(view.steps.iter().map(shown_ms).sum(), 0)) }
                }
                None => { td { "–" } td { "–" } td { "–" } }
            }
            td title=[make.as_ref().and_then(|job| job.message.clone())] { (status(&make)) }
            td title=[render.as_ref().and_then(|job| job.message.clone())] {
                @match &render {
                    Some(job) if rendered => a href={ "/api/jobs/" (job.id) "/video" } { "watch" },
                    _ => (status(&render)),
                }
            }
        }
    })
}
