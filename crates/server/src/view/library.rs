//! The library page: search, demonstrations, adding a folder, failed videos, all videos.

use std::path::PathBuf;

use maud::{Markup, html};
use stitch_core::format::{clock, count, percent};

use super::layout::{NavItem, icon, page, thumbnail};
use crate::api::library::{SearchResult, SearchResults, VideoView, find, videos};
use crate::database::to_name;
use crate::demonstrations::{self, Record};
use crate::error::Result;
use crate::jobs::{Job, JobKind};
use crate::state::State;

/// Videos on the page unless all are requested; chosen by hand.
const MAX_VIDEOS: usize = 120;

pub fn library(state: &State, all_videos: bool) -> Result<Markup> {
    let all = videos(state)?;
    let (ready, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|v| v.status == "ready");
    let failed: Vec<_> = others.iter().filter(|video| video.status == "failed").collect();
    let steps: usize = ready.iter().map(|video| video.steps.len()).sum();
    let seconds: u64 = ready.iter().map(|video| video.length_ms / 1000).sum();
    let content = html! {
        section.head {
            h1 { "Library" }
            p.lead {
                (count(ready.len(), "video")) " with " (count(steps, "step")) ", "
                (count((seconds / 60) as usize, "minute")) " in total"
            }
        }
        (search_box(ready.is_empty()))
        (recent(&demonstrations::list(&state.database, 6)?))
        (add_folder(state, ready.is_empty())?)
        @if !failed.is_empty() { (failures(&failed)) }
        @if !ready.is_empty() {
            section aria-labelledby="videos" {
                h2 #videos { "Videos" }
                ul.videos {
                    @for video in ready.iter().take(if all_videos { usize::MAX } else { MAX_VIDEOS }) { (card(video)) }
                }
                @if !all_videos && ready.len() > MAX_VIDEOS {
                    p.more { a.button href="/?all" { "Show all " (ready.len()) " videos" } }
                }
            }
        }
    };
    Ok(page(state, NavItem::Library, "Library", &content))
}

fn search_box(empty: bool) -> Markup {
    html! {
        search.search hidden[empty] {
            label.hidden for="q" { "Search steps and narration" }
            input #q type="search" autocomplete="off" spellcheck="false" maxlength="200"
                placeholder="Search for a step, for example “chop an onion”" aria-describedby="q-hint";
            p.hidden #q-hint { "Results appear below as you type." }
            div #hits role="region" aria-label="Search results" aria-live="polite" {}
        }
    }
}

fn recent(records: &[Record]) -> Markup {
    html! {
        section aria-labelledby="recent" {
            div.row {
                h2 #recent { "Demonstrations" }
                a.button.primary href="/new" { (icon("plus")) "New demonstration" }
            }
            @if records.is_empty() {
                p.soft { "None yet. Enter a recipe or any other procedure to create one." }
            }
            ul.demos {
                @for record in records {
                    li {
                        a.demo href={ "/demonstrations/" (record.id) } {
                            b { (name(record)) }
                            span.soft { (count(record.steps.len(), "step")) }
                        }
                        button.quiet type="button" data-action="forget" data-id=(record.id)
                            aria-label={ "Delete " (name(record)) } { (icon("leave")) }
                    }
                }
            }
        }
    }
}

/// A demonstration's title, or its first step.
pub fn name(record: &Record) -> &str {
    match record.title.as_str() {
        "" => record.steps.first().map_or("Demonstration", String::as_str),
        title => title,
    }
}

fn add_folder(state: &State, open: bool) -> Result<Markup> {
    let jobs = state.jobs.list(20)?;
    let indexing: Vec<&Job> =
        jobs.iter().filter(|job| job.kind == JobKind::Index).take(3).collect();
    let running = indexing.iter().any(|job| !job.status.is_over());
    let (allowed, example) = allowed_folders(state)?;
    Ok(html! {
        details.card.adding open[open || running] {
            summary { (icon("folder")) "Add a folder of videos" }
            form #add-folder {
                label for="folder" { "Folder on the machine that runs stitch" }
                div.row {
                    input #folder name="folder" required autocomplete="off" spellcheck="false"
                        placeholder=[example];
                    button.primary { "Add" }
                }
                p.soft { (allowed) }
            }
            ul.jobs #jobs { @for job in indexing { (job_row(job)) } }
        }
    })
}

/// From where videos may be added, in words, and one of these folders.
fn allowed_folders(state: &State) -> Result<(String, Option<String>)> {
    let absolute = |root: &PathBuf| std::path::absolute(root).unwrap_or_else(|_| root.clone());
    let roots: Vec<PathBuf> = state.settings.roots.iter().map(absolute).collect();
    let videos = state.resources.library.videos()?;
    if roots.is_empty() && videos.is_empty() {
        return Ok(("Start the server with --root FOLDER to add videos here.".into(), None));
    }
    let of_videos = videos.iter().filter_map(|video| video.path.parent());
    let example = roots.iter().map(PathBuf::as_path).chain(of_videos).find(|path| path.is_dir());
    let named: String = roots.iter().map(|root| format!("{}, ", root.display())).collect();
    let allowed =
        format!("Allowed: {named}the folders of the library's videos, and their subfolders.");
    Ok((allowed, example.map(|path| path.display().to_string())))
}

fn job_row(job: &Job) -> Markup {
    let over = job.status.is_over();
    let what = job.folder.as_deref().unwrap_or("demonstration");
    html! {
        li.job data-job=(job.id) data-live[!over] {
            div.row {
                b { (what) }
                span.soft.status { (to_name(&job.status)) }
                @if !over {
                    button.quiet type="button" data-action="cancel" data-id=(job.id) { "Cancel" }
                }
            }
            progress max=(job.total.max(1)) value=[(job.total > 0 || over).then_some(if over { job.total.max(1) } else { job.done })]
                aria-label={ "Progress of " (what) } hidden[over] {}
            p.soft.stage { (job.message.as_deref().unwrap_or(&job.stage)) }
            @if !job.warnings.is_empty() {
                details {
                    summary { (count(job.warnings.len(), "warning")) }
                    ul { @for warning in &job.warnings { li { (warning) } } }
                }
            }
        }
    }
}

fn failures(failed: &[&VideoView]) -> Markup {
    html! {
        details.card.failed {
            summary { (icon("warn")) (count(failed.len(), "video")) " could not be read" }
            ul {
                @for video in failed {
                    li { b { (video.file) } " " span.soft { (video.reason.as_deref().unwrap_or("")) } }
                }
            }
        }
    }
}

fn card(video: &VideoView) -> Markup {
    let middle = video.steps.get(video.steps.len() / 2);
    let at = middle.map_or(video.length_ms / 2, |step| step.start_ms.midpoint(step.end_ms));
    html! {
        li.video {
            button.shot type="button" data-action="watch" data-video=(video.id) data-start="0"
                data-title=(video.title) {
                img src=(thumbnail(video.id, at)) alt={ "Watch " (video.title) } width="320" height="180" loading="lazy" decoding="async";
                time { (clock(video.length_ms, 0)) }
            }
            (timeline(video))
            h3 { (video.title) }
            p.soft { (video.uploader.as_deref().unwrap_or(&video.file)) }
            details {
                summary { (count(video.steps.len(), "step")) }
                ol.shown {
                    @for step in &video.steps {
                        li {
                            button type="button" data-action="watch" data-video=(video.id)
                                data-start=(step.start_ms) data-end=(step.end_ms) data-title=(video.title)
                                data-text=(step.text) {
                                time { (clock(step.start_ms, 0)) } " "
                                (if step.text.is_empty() { "scene without narration" } else { step.text.as_str() })
                            }
                        }
                    }
                }
                p.soft {
                    "Steps from " (video.steps_by.as_deref().unwrap_or("frames"))
                    @if let Some(by) = &video.narration_by { ", narration from " (by) }
                    @if let Some(licence) = &video.licence { ", licence " (licence) }
                }
            }
        }
    }
}

/// The steps of a video on its time line.
fn timeline(video: &VideoView) -> Markup {
    let length = video.length_ms.max(1);
    let at = |ms: u64| (ms.min(length) * 1000 / length).to_string();
    html! {
        svg.timeline viewBox="0 0 1000 10" preserveAspectRatio="none" role="img"
            aria-label={ (count(video.steps.len(), "step")) " in " (clock(video.length_ms, 0)) } {
            @for step in &video.steps {
                rect x=(at(step.start_ms)) y="0" height="10" rx="2"
                    width=(at(step.end_ms.saturating_sub(step.start_ms).max(length / 200))) {
                    title { (clock(step.start_ms, 0)) " " (step.text) }
                }
            }
        }
    }
}

pub fn search_results(state: &State, text: &str) -> Result<Markup> {
    let SearchResults { shown, said } = find(state, text)?;
    let row = |hit: &SearchResult| {
        html! {
            li {
                button type="button" data-action="watch" data-video=(hit.clip.video)
                    data-start=(hit.clip.start_ms) data-end=(hit.clip.end_ms) data-title=(hit.title)
                    data-text=(hit.text) {
                    img src=(thumbnail(hit.clip.video, hit.clip.start_ms.midpoint(hit.clip.end_ms))) alt=""
                        width="96" height="54" loading="lazy";
                    span {
                        b { (if hit.text.is_empty() { "scene without narration" } else { hit.text.as_str() }) }
                        span.soft {
                            (hit.title) " · " (clock(hit.clip.start_ms, 1)) "–" (clock(hit.clip.end_ms, 1))
                            @if let Some(probability) = hit.probability { " · " (percent(probability)) " likely" }
                        }
                    }
                }
            }
        }
    };
    Ok(html! {
        @if shown.is_empty() && said.is_empty() { p.soft { "Nothing found." } }
        @if !shown.is_empty() { h2 { "Shown" } ul.hits { @for hit in &shown { (row(hit)) } } }
        @if !said.is_empty() { h2 { "Said" } ul.hits { @for hit in &said { (row(hit)) } } }
    })
}
