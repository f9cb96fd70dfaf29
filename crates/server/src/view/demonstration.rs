//! The page of a demonstration: player, steps with their clips and alternatives, export.

use maud::{Markup, html};
use stitch_core::format::{clock, count, percent};
use stitch_engine::demonstrate::Confidence;
use stitch_engine::export::FORMATS;

use super::layout::{NavItem, icon, page, source_colour, thumbnail};
use super::library::name;
use crate::demonstrations::{self, Record};
use crate::editor;
use crate::error::ApiError;
use crate::jobs::{Job, JobKind, JobStatus, Task};
use crate::soundtrack::music;
use crate::state::State;
use crate::wire::{ClipRef, ClipView, DemonstrationView, StepView};

/// How long the player shows a gap.
const GAP_MS: u64 = 3000;

/// The page, or the progress of the search.
pub fn demonstration(state: &State, id: i64) -> Result<Markup, ApiError> {
    let record = demonstrations::get(&state.database, id)?;
    if record.revision == 0 {
        let job = state.jobs.newest(JobKind::Make, id)?;
        let content = searching(&record, job.as_ref());
        return Ok(page(state, NavItem::None, name(&record), &content));
    }
    let view = editor::view(state, id)?;
    let render = state.jobs.newest(JobKind::Render, id)?;
    let content = html! {
        div #demo data-id=(id) {
            div #heading { (heading(&record, &view)) }
            div.demo-grid {
                div.stage-column { (stage(&view)) (export(state, &view, render.as_ref())) }
                section aria-labelledby="steps-title" {
                    h2.hidden #steps-title { "Steps" }
                    ol.steps #steps { (steps(&view)) }
                }
            }
        }
    };
    Ok(page(state, NavItem::None, name(&record), &content))
}

/// The parts of the page that the script replaces after a change.
pub fn fragment(state: &State, view: &DemonstrationView) -> Result<Markup, ApiError> {
    let record = demonstrations::get(&state.database, view.id)?;
    Ok(html! {
        template data-into="heading" { (heading(&record, view)) }
        template data-into="steps" { (steps(view)) }
        template data-into="strip" { (strip(view)) }
    })
}

fn searching(record: &Record, job: Option<&Job>) -> Markup {
    let failed = job.is_none_or(|job| job.status.is_over() && job.status != JobStatus::Done);
    let reason = job.and_then(|job| job.message.as_deref()).unwrap_or("The search was cancelled.");
    html! {
        section.narrow.searching {
            h1 { (name(record)) }
            @if failed {
                p.lead { (reason) }
                p.row { a.button.primary href="/new" { "Try again" } a.button href="/" { "Go to the library" } }
            } @else if let Some(job) = job {
                p.lead #finding data-job=(job.id) data-live { "Searching a clip for each step …" }
                progress aria-label="Progress of the search" {}
                p.soft.stage { (job.stage) }
            }
            ol { @for step in &record.steps { li { (step) } } }
        }
    }
}

fn heading(record: &Record, view: &DemonstrationView) -> Markup {
    let gaps = view.steps.iter().filter(|step| step.chosen.is_none()).count();
    let length: u64 = view.steps.iter().map(shown_ms).sum();
    html! {
        div.row.title-row {
            div {
                h1 { (name(record)) }
                ul.summary {
                    li { b { (view.steps.len() - gaps) } " of " (count(view.steps.len(), "step")) " shown" }
                    li { (count(view.sources().len(), "source")) }
                    li { (count(view.source_changes, "source change")) }
                    li { (clock(length, 0)) }
                    li { "chosen from " b { (view.candidates) } " candidates by " (view.scorer) " in " (view.took_ms) " ms" }
                    @if let Some(likely) = view.probability {
                        li title="By the evaluator: that every step is answered correctly" {
                            b { (percent(likely)) } " likely all correct"
                        }
                    }
                    @if gaps > 0 { li.missing { (count(gaps, "gap")) } }
                }
                @if let Some(note) = &view.language_note { p.warning { (icon("warn")) (note) } }
                @for outcome in &view.preferences { p.soft { "Preferred: " (outcome) } }
            }
            div.row.actions {
                button type="button" data-change="undo" disabled[!view.can_undo] { (icon("undo")) "Undo" }
                button type="button" data-change="redo" disabled[!view.can_redo] { (icon("redo")) "Redo" }
                @if view.revision > 1 { a.button href={ "/demonstrations/" (view.id) "/compare" } { "Compare" } }
                button.primary type="button" data-change="solve"
                    title="Search again, keeping locked steps" { (icon("solve")) "Search again" }
            }
        }
    }
}

pub fn shown_ms(step: &StepView) -> u64 {
    let of = |clip: &ClipView| {
        (clip.cut_end_ms.saturating_sub(clip.cut_start_ms) as f64 / clip.speed.max(0.1)) as u64
    };
    if step.clips.is_empty() { GAP_MS } else { step.clips.iter().map(of).sum() }
}

/// What the player plays for a step: `VIDEO,START,END,SPEED` for each clip, in milliseconds.
fn cuts(step: &StepView) -> String {
    let cut =
        |c: &ClipView| format!("{},{},{},{}", c.clip.video, c.cut_start_ms, c.cut_end_ms, c.speed);
    step.clips.iter().map(cut).collect::<Vec<_>>().join(" ")
}

/// The player, which plays the clips from their source files one after the other.
fn stage(view: &DemonstrationView) -> Markup {
    html! {
        section.stage #stage aria-label="Player" {
            div.screen #screen {
                video playsinline preload="auto" {}
                video playsinline preload="auto" {}
                div.gap-card hidden { p { "No video in this library shows" } b {} }
                p.caption #caption {}
                button.big type="button" data-action="play" aria-label="Play" { (icon("play")) (icon("pause")) }
            }
            div #strip { (strip(view)) }
            div.controls {
                button type="button" data-action="play" #play aria-label="Play" { (icon("play")) (icon("pause")) }
                button type="button" data-action="previous" aria-label="Previous step" { (icon("previous")) }
                button type="button" data-action="next" aria-label="Next step" { (icon("next")) }
                output #clock { "0:00" }
                span.spring {}
                button type="button" data-action="captions" aria-pressed="true" { "CC" span.hidden { " captions" } }
                button type="button" data-action="mute" aria-pressed="false" { "Mute" }
                button type="button" data-action="full" { "Full screen" }
            }
            p.soft.note { "Played from the source files, so changes take effect at once." }
        }
    }
}

/// The steps on the time line, one colour per source.
fn strip(view: &DemonstrationView) -> Markup {
    let total: u64 = view.steps.iter().map(shown_ms).sum::<u64>().max(1);
    let sources = view.sources();
    let mut before = 0;
    let mut parts = Vec::new();
    for step in &view.steps {
        let length = shown_ms(step);
        let place =
            step.chosen.as_ref().and_then(|c| sources.iter().position(|s| *s == c.clip.video));
        parts.push((before * 1000 / total, (length * 1000 / total).max(2), place, &step.text));
        before += length;
    }
    html! {
        svg.strip viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true" {
            @for (x, width, place, text) in &parts {
                rect class=(place.map_or("gap".into(), source_colour)) x=(x) y="0" height="10"
                    width=(width.saturating_sub(2)) { title { (text) } }
            }
        }
        label.hidden for="position" { "Position" }
        input #position type="range" min="0" max=(total) value="0" step="100";
    }
}

fn steps(view: &DemonstrationView) -> Markup {
    let sources = view.sources();
    html! {
        @for (number, step) in view.steps.iter().enumerate() {
            (card(&sources, number, step))
        }
    }
}

fn card(sources: &[u32], number: usize, step: &StepView) -> Markup {
    let clip = step.chosen.as_ref();
    let place = clip.and_then(|clip| sources.iter().position(|source| *source == clip.clip.video));
    html! {
        li.step.gap[clip.is_none()].locked[step.locked] id={ "s" (number) } data-step=(number) data-text=(step.text)
            data-clip=[clip.map(|c| clip_key(c.clip))] data-end=[clip.map(|c| c.cut_end_ms)]
            data-cuts=(cuts(step)) {
            div.step-main {
                @if let Some(clip) = clip {
                    button.shot type="button" data-action="seek" {
                        img src=(thumbnail(clip.clip.video, clip.cut_start_ms.midpoint(clip.cut_end_ms)))
                            alt={ "Play step " (number + 1) } width="320" height="180" loading="lazy";
                        time { (clock(shown_ms(step), 0)) }
                    }
                }
                div.words {
                    p.number {
                        span { "Step " (number + 1) }
                        (confidence(step.confidence))
                        @if step.locked { span.badge { (icon("lock")) "locked" } }
                        @if step.trimmed { span.badge { (icon("trim")) "trimmed" } }
                        @if step.source.is_some() { span.badge { (icon("source")) "this source only" } }
                        @if step.banned > 0 {
                            button.badge type="button" data-change="pardon" title="Allow them again" {
                                (count(step.banned, "clip")) " banned ×"
                            }
                        }
                    }
                    h3.text dir="auto" { (step.text) }
                    @if let Some(words) = &step.understood { p.soft { "understood as: " (words) } }
                    @if let Some(condition) = &step.condition { p.soft { "condition: " (condition) } }
                    @if !step.times.is_empty() { p.soft { "time: " (step.times.join(", ")) } }
                    @for clip in &step.clips { (evidence(clip, place)) }
                    @if clip.is_none() { p.missing { "Nothing in the library shows this." } }
                    @if let Some(told) = &step.partly_shown { p.missing { (told) } }
                    @for warning in &step.warnings { p.warning { (icon("warn")) (warning) } }
                }
            }
            (tools(number, step))
            @if let Some(clip) = clip { (details(clip)) (trimmer(number, clip)) }
            (alternatives(number, step))
        }
    }
}

/// Identifies a clip in the script.
fn clip_key(ClipRef { video, start_ms, end_ms }: ClipRef) -> String {
    format!("{video}-{start_ms}-{end_ms}")
}

fn evidence(clip: &ClipView, place: Option<usize>) -> Markup {
    html! {
        p.from {
            span.dot.(place.map_or(String::new(), source_colour)) {}
            span { (clip.title) }
            span.soft { (clock(clip.cut_start_ms, 1)) "–" (clock(clip.cut_end_ms, 1)) }
            @if clip.speed > 1.01 { span.soft { (format!("{:.1}×", clip.speed)) } }
            span.likely { (percent(clip.probability)) " likely" }
        }
    }
}

fn tools(number: usize, step: &StepView) -> Markup {
    let button = |change: &str, label: &str, sign: &str| {
        let video = step.chosen.as_ref().filter(|_| change == "source").map(|c| c.clip.video);
        html! {
            button type="button" id={ "s" (number) "-" (change) } data-change=(change)
                data-video=[video] aria-label={ (label) ", step " (number + 1) } { (icon(sign)) (label) }
        }
    };
    html! {
        div.tools {
            @if step.locked { (button("unlock", "Unlock", "unlock")) } @else { (button("lock", "Lock", "lock")) }
            @if step.chosen.is_some() {
                (button("ban", "Ban", "ban"))
                button type="button" id={ "s" (number) "-trim" } data-action="trim" aria-expanded="false"
                    aria-label={ "Trim, step " (number + 1) } { (icon("trim")) "Trim" }
                @if step.source.is_some() {
                    (button("any-source", "Any source", "source"))
                } @else {
                    (button("source", "This source only", "source"))
                }
                (button("leave", "Leave out", "leave"))
            }
        }
    }
}

fn details(clip: &ClipView) -> Markup {
    let number = |value: Option<f32>| value.map_or("–".into(), |value| format!("{value:.2}"));
    html! {
        details.why {
            summary { "Details" }
            dl {
                dt { "Step in the video" } dd { (if clip.text.is_empty() { "–" } else { clip.text.as_str() }) }
                dt { "Narration" } dd { (if clip.narration.is_empty() { "–" } else { clip.narration.as_str() }) }
                dt { "Text similarity" } dd { (number(clip.text_similarity)) }
                dt { "Overlap of rare words" } dd { (number(clip.words)) }
                dt { "Text-to-frame similarity" } dd { (number(clip.clip_similarity)) }
                dt { "Clip in the library" } dd { (clock(clip.clip.start_ms, 1)) "–" (clock(clip.clip.end_ms, 1)) " of " (clip.file) }
                @if let Some(uploader) = &clip.uploader { dt { "Uploader" } dd { (uploader) } }
                @if let Some(licence) = &clip.licence { dt { "Licence" } dd { (licence) } }
            }
        }
    }
}

/// Two sliders over the cut and the video around it.
fn trimmer(number: usize, clip: &ClipView) -> Markup {
    const AROUND_MS: u64 = 8000;
    let from = clip.cut_start_ms.min(clip.clip.start_ms).saturating_sub(AROUND_MS);
    let to = clip.cut_end_ms.max(clip.clip.end_ms) + AROUND_MS;
    let handle = |which: &str, value: u64| {
        html! {
            label { (which)
                input type="range" data-trim=(which) min=(from) max=(to) step="100" value=(value)
                    aria-valuetext=(clock(value, 1));
                output { (clock(value, 1)) }
            }
        }
    };
    html! {
        div.trimmer hidden id={ "trim" (number) } {
            (handle("Start", clip.cut_start_ms))
            (handle("End", clip.cut_end_ms))
            div.row {
                button.primary type="button" data-action="trim-apply" { "Apply" }
                button type="button" data-change="untrim" { "Reset" }
            }
        }
    }
}

fn alternatives(number: usize, step: &StepView) -> Markup {
    let what = if step.chosen.is_some() { "Alternatives" } else { "Nearest clips" };
    html! {
        @if !step.alternatives.is_empty() {
            div.others role="group" aria-label={ (what) ", step " (number + 1) } {
                p.soft { (what) }
                div.reel {
                    @for (place, clip) in step.alternatives.iter().enumerate() {
                        button.other type="button" data-change="swap" data-place=(place + 1)
                            data-video=(clip.clip.video) data-start=(clip.clip.start_ms) data-end=(clip.clip.end_ms)
                            title=(clip.text) {
                            span.shot {
                                img src=(thumbnail(clip.clip.video, clip.clip.start_ms.midpoint(clip.clip.end_ms)))
                                    alt={ "Show step " (number + 1) " by: " (clip.text) } width="160" height="90" loading="lazy";
                                // The evidence alone; a gap was decided by the whole solution.
                                @if step.chosen.is_some() {
                                    time { (percent(clip.probability)) span.hidden { " likely, from" } }
                                }
                            }
                            span.name { (clip.title) }
                        }
                    }
                }
            }
        }
    }
}

/// How sure the answer is, in words; colour adds nothing.
fn confidence(confidence: Confidence) -> Markup {
    let (class, words) = match confidence {
        Confidence::Shown => ("sure", "shown"),
        Confidence::Perhaps => ("unsure", "perhaps shown"),
        Confidence::NotShown => ("none", "not shown"),
    };
    html! { span.badge.(class) { (words) } }
}

fn export(state: &State, view: &DemonstrationView, render: Option<&Job>) -> Markup {
    html! {
        section.card.export aria-labelledby="export-title" {
            h2 #export-title { "Export" }
            form #render {
                div.grid {
                    label { "Captions" select name="captions" {
                        option value="soft" { "as a subtitle track" } option value="burnt" { "drawn into the picture" } option value="none" { "none" } } }
                    label { "Other aspect ratios" select name="shape" {
                        option value="blur" { "blurred background" } option value="fit" { "bars" } option value="crop" { "cropped" }
                        option value="follow" { "cropped to what moves" } } }
                    label { "Subtitles and watermarks of sources" select name="overlays" {
                        option value="keep" { "stay" } option value="crop" { "cropped" } option value="cover" { "painted over" } } }
                    label { "Size" select name="size" {
                        option value="" { "size of the sources" } option { "640x360" } option { "1280x720" } option { "1920x1080" } option { "720x1280" } option { "720x720" } } }
                    label { "Narrator" select name="voice" {
                        option value="" { "none" } option value="en-us" { "American English" } option value="en-gb" { "British English" }
                        option value="de" { "German" } option value="es" { "Spanish" } option value="fr-fr" { "French" } } }
                    label { "Sound of the clips" select name="source_sound" {
                        option value="duck" { "quieter under the narrator" } option value="off" { "off" } option value="full" { "full" } } }
                    label { "Music" select name="music" {
                        option value="" { "none" } @for name in music(state) { option { (name) } } } }
                    label { "Crossfade, ms" input name="crossfade_ms" type="number" min="0" max="3000" step="100" value="0"; }
                    label.check { input name="title_card" type="checkbox"; " title card" }
                    label.check { input name="gap_cards" type="checkbox" checked; " show gaps as cards" }
                }
                div.row { button.primary { "Render the video" } }
            }
            div #rendered { @if let Some(job) = render { (rendered(view, job)) } }
            p.downloads {
                @for format in FORMATS {
                    a.button href={ "/api/demonstrations/" (view.id) "/exports/" (format.extension) } download
                        title=(format.about) { (format.name) }
                }
            }
            p.soft { a href="/api/choices.jsonl" download { "Choices of all users, as preference pairs" } }
        }
    }
}

/// The rendered video, or the progress of the render job.
pub fn rendered(view: &DemonstrationView, job: &Job) -> Markup {
    let of = match &job.task {
        Some(Task::Render { revision, .. }) => *revision,
        _ => 0,
    };
    let exports = format!("/api/demonstrations/{}/exports", view.id);
    html! {
        div.job data-job=(job.id) data-live[!job.status.is_over()] {
            @match job.status {
                JobStatus::Done => {
                    video #video controls playsinline preload="metadata" src={ "/api/jobs/" (job.id) "/video" } {
                        track kind="captions" srclang="en" label="Steps" src={ (exports) "/vtt" };
                        track kind="chapters" srclang="en" label="Chapters" src={ (exports) "/chapters.vtt" };
                    }
                    @if of != view.revision { p.warning { (icon("warn")) "This video was rendered before the last change." } }
                    p.row {
                        a.button href={ "/api/jobs/" (job.id) "/video?download" } download { "Download the video" }
                        button type="button" data-action="share" { "Share for a week" }
                        button.quiet type="button" data-action="unshare" { "End all links" }
                    }
                    output #shared {}
                    @for warning in &job.warnings { p.warning { (icon("warn")) (warning) } }
                }
                JobStatus::Failed | JobStatus::Cancelled => p.warning {
                    (icon("warn")) (job.message.as_deref().unwrap_or("The render was cancelled."))
                },
                JobStatus::Queued | JobStatus::Running => {
                    progress max=(job.total.max(1)) value=[(job.total > 0).then_some(job.done)] aria-label="Progress of the render" {}
                    div.row {
                        p.soft.stage { (job.stage) }
                        button.quiet type="button" data-action="cancel" data-id=(job.id) { "Cancel" }
                    }
                }
            }
        }
    }
}
