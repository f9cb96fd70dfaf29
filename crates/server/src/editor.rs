//! Searches the clips of a demonstration, and applies a user's changes to it.

use std::sync::Arc;
use std::time::Instant;

use serde_json::json;
use stitch_core::clip::VideoId;
use stitch_core::procedure::Procedure;
use stitch_engine::demonstrate::{
    Asked, Choice, Demonstration, Fixed, Interval, Options, Place, Step, Trim, Wish, Wishes, solve,
};
use stitch_engine::progress::Progress;

use crate::demonstrations::{self, Record, Revision};
use crate::error::{ApiError, Result};
use crate::state::State;
use crate::wire::{Change, DemonstrationView};

/// Which steps a change may alter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    None,
    Step(usize),
    All,
}

pub fn view(state: &State, id: i64) -> Result<DemonstrationView> {
    let (record, revision) = demonstrations::current(&state.database, id)?;
    let last = demonstrations::last_revision(&state.database, id)?;
    Ok(DemonstrationView::new(&record, &revision, last))
}

/// Searches the first revision, unless it was found before a restart.
pub fn make(state: &State, id: i64, progress: &dyn Progress) -> Result<()> {
    let record = demonstrations::get(&state.database, id)?;
    if record.revision > 0 {
        return Ok(());
    }
    progress.begin("encoding the steps", 0);
    state.refresh_pool()?;
    encoded(state, &record)?;
    let clips = state.require_pool()?.pool.len();
    progress.begin(&format!("searching {clips} clips"), 0);
    let found = search(state, &record, &Wishes::new(), Wishes::new())?;
    let revision = Revision { number: 1, action: "found".into(), ..found };
    demonstrations::add(&state.database, id, &revision, None)?;
    Ok(())
}

fn encoded(state: &State, record: &Record) -> Result<Arc<Asked>> {
    state.encoded(record.id, || {
        let procedure = Procedure::new(&record.title, &record.steps)?;
        Ok(Asked::encode(&state.demonstrator(), &procedure)?)
    })
}

/// Searches under the user's decisions, or under `temporary` ones if there are any.
fn search(state: &State, record: &Record, decided: &Wishes, temporary: Wishes) -> Result<Revision> {
    let start = Instant::now();
    let wishes = if temporary.is_empty() { decided.clone() } else { temporary };
    let options = Options { wishes, ..record.search.search_options() };
    let (pool, procedure) = (state.require_pool()?, encoded(state, record)?);
    let answer = solve(&state.demonstrator(), &pool, &procedure, &options)?;
    let took_ms = start.elapsed().as_millis() as u64;
    Ok(Revision { number: 0, action: String::new(), wishes: decided.clone(), answer, took_ms })
}

/// Applies a change and returns the new revision.
pub fn change(state: &State, id: i64, change: &Change) -> Result<DemonstrationView> {
    let (record, before) = demonstrations::current(&state.database, id)?;
    match change {
        Change::Undo => go_to(state, id, before.number - 1, "there is nothing to undo")?,
        Change::Redo => go_to(state, id, before.number + 1, "there is nothing to redo")?,
        change => {
            let after = apply(state, &record, &before, change)?;
            let choice = choice(&record, &before, &after, change);
            if !demonstrations::add(&state.database, id, &after, choice.as_deref())? {
                return Err(ApiError::conflict("another change came first; reload the page"));
            }
        }
    }
    view(state, id)
}

fn go_to(state: &State, id: i64, number: i64, otherwise: &str) -> Result<()> {
    match number > 0 && demonstrations::go_to(&state.database, id, number)? {
        true => Ok(()),
        false => Err(ApiError::conflict(otherwise)),
    }
}

fn apply(state: &State, record: &Record, before: &Revision, change: &Change) -> Result<Revision> {
    let start = Instant::now();
    let mut wishes = before.wishes.clone();
    let revision = match decide(state, change, &mut wishes, &before.answer)? {
        Scope::None => Revision { wishes, ..before.clone() },
        Scope::Step(step) => {
            let others = others_fixed(&wishes, &before.answer, step);
            search(state, record, &wishes, others)?
        }
        Scope::All => search(state, record, &wishes, Wishes::new())?,
    };
    let took_ms = start.elapsed().as_millis() as u64;
    Ok(Revision { number: before.number + 1, action: action(change), took_ms, ..revision })
}

/// Adds a change to the user's decisions; which steps it may alter.
fn decide(
    state: &State,
    change: &Change,
    wishes: &mut Wishes,
    answer: &Demonstration,
) -> Result<Scope> {
    let Some(step) = step_of(change) else { return Ok(Scope::All) };
    let shown = answer.steps.get(step).ok_or_else(|| ApiError::not_found("step"))?;
    let current = shown.chosen.as_ref().map(Place::from);
    let gap = || ApiError::conflict("this step is a gap");
    let wish = wishes.entry(step).or_default();
    match *change {
        Change::Swap { clip, .. } => {
            let clip = known_clip(state, clip.into())?;
            (wish.fixed, wish.completed) = (Some(Fixed::Clip(clip)), false);
            wish.banned.remove(&clip);
            wish.source = wish.source.filter(|only| *only == clip.video);
        }
        Change::Lock { .. } => fix(wish, shown),
        Change::Unlock { .. } => wish.fixed = None,
        Change::Ban { clip, .. } => {
            let clip = clip.map(Place::from).or(current).ok_or_else(gap)?;
            wish.banned.insert(known_clip(state, clip)?);
            wish.fixed = wish.fixed.filter(|fixed| *fixed != Fixed::Clip(clip));
        }
        Change::Pardon { .. } => wish.banned.clear(),
        Change::Source { video, .. } => {
            wish.source = video.map(|video| known_video(state, video)).transpose()?;
            wish.fixed = None;
        }
        Change::Trim { start_ms, end_ms, .. } => {
            let of = current.ok_or_else(gap)?;
            wish.trim = Some(trim(state, of, start_ms, end_ms)?);
            // A trim belongs to its clip, so the clip is locked.
            fix(wish, shown);
        }
        Change::Untrim { .. } => wish.trim = None,
        Change::Leave { .. } => wish.fixed = Some(Fixed::Gap),
        Change::Solve | Change::Undo | Change::Redo => {}
    }
    wish.completed &= wish.fixed.is_some();
    wishes.retain(|_, wish| *wish != Wish::default());
    let keeps_clip = matches!(change, Change::Lock { .. } | Change::Unlock { .. });
    Ok(if keeps_clip { Scope::None } else { Scope::Step(step) })
}

/// The step that a change names; changes of the whole demonstration name none.
fn step_of(change: &Change) -> Option<usize> {
    json!(change)["step"].as_u64().map(|step| step as usize)
}

fn known_clip(state: &State, clip: Place) -> Result<Place> {
    let found = state.require_pool()?.find(clip);
    found.map(|_| clip).ok_or_else(|| ApiError::not_found("clip in the library"))
}

fn known_video(state: &State, video: u32) -> Result<u32> {
    match state.require_pool()?.videos.contains_key(&VideoId(video)) {
        true => Ok(video),
        false => Err(ApiError::not_found("video in the library")),
    }
}

fn trim(state: &State, of: Place, start_ms: u64, end_ms: u64) -> Result<Trim> {
    let pool = state.require_pool()?;
    let length = pool.videos.get(&VideoId(of.video)).map_or(0, |found| found.video.length_ms);
    let trim = Trim { of, cut: Interval { start_ms, end_ms } };
    let cut = trim.within(length).ok_or_else(|| {
        let least = Trim::SHORTEST_MS;
        ApiError::invalid(format!("a cut must be inside its video and at least {least} ms long"))
    })?;
    Ok(Trim { of, cut })
}

/// The decisions with every other step fixed as it is: swapping one clip must not change others.
fn others_fixed(wishes: &Wishes, answer: &Demonstration, step: usize) -> Wishes {
    let mut fixed = wishes.clone();
    for (other, shown) in answer.steps.iter().enumerate().filter(|(other, _)| *other != step) {
        fix(fixed.entry(other).or_default(), shown);
    }
    fixed.entry(step).or_default();
    fixed
}

/// Fixes a step as it is shown, with the further clips that it has.
fn fix(wish: &mut Wish, shown: &Step) {
    if wish.fixed.is_none() {
        wish.completed = !shown.parts.is_empty();
    }
    wish.fixed = Some(shown.chosen.as_ref().map_or(Fixed::Gap, |clip| Fixed::Clip(clip.into())));
}

fn action(change: &Change) -> String {
    let name = json!(change)["kind"].as_str().unwrap_or_default().to_owned();
    step_of(change).map_or(name.clone(), |step| format!("{name} step {}", step + 1))
}

/// The preference that a change expresses, as a line of training data: one clip rather than another.
fn choice(record: &Record, before: &Revision, after: &Revision, change: &Change) -> Option<String> {
    let step = step_of(change)?;
    let chosen = |revision: &Revision| revision.answer.steps[step].chosen.as_ref().map(clip_json);
    let (old, new) = (chosen(before), chosen(after));
    let (kind, preferred, rejected) = match change {
        Change::Swap { .. } => ("swap", new, old),
        Change::Lock { .. } => ("lock", new, None),
        Change::Leave { .. } => ("leave", None, old),
        Change::Trim { .. } => ("trim", new, old),
        Change::Ban { clip: None, .. } => ("ban", new, old),
        Change::Ban { clip: Some(clip), .. } => {
            let shown = &before.answer.steps[step];
            let mut offered = shown.chosen.iter().chain(&shown.alternatives);
            let banned = offered.find(|choice| Place::from(*choice) == Place::from(*clip));
            ("ban", new, banned.map(clip_json))
        }
        _ => return None,
    };
    let line = json!({
        "kind": kind, "demonstration": record.id, "title": record.title, "steps": record.steps,
        "step": step, "text": record.steps.get(step), "preferred": preferred,
        "rejected": rejected, "made_ms": crate::database::now_ms(),
    });
    Some(line.to_string())
}

fn clip_json(choice: &Choice) -> serde_json::Value {
    json!({
        "path": choice.source.path.to_string_lossy(), "video": choice.source.video,
        "start_ms": choice.span.start_ms, "end_ms": choice.span.end_ms,
        "cut_start_ms": choice.cut.start_ms, "cut_end_ms": choice.cut.end_ms,
        "text": choice.text, "probability": choice.similarity.probability,
    })
}
