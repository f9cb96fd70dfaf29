//! Finding a demonstration, and finding it again when a person changes their mind.

use std::sync::Arc;
use std::time::Instant;

use serde_json::json;
use stitch_core::procedure::Procedure;
use stitch_engine::demonstrate::{
    Asked, Choice, Demonstration, Fixed, Interval, Options, Place, Trim, Wish, Wishes, solve,
};
use stitch_engine::progress::Progress;

use crate::demonstrations::{self, Record, Revision};
use crate::error::Problem;
use crate::state::State;
use crate::wire::{Change, DemonstrationView};

/// How much of an answer may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    Nothing,
    Step(usize),
    Everything,
}

/// A demonstration by its number.
pub fn record(state: &State, id: i64) -> Result<Record, Problem> {
    demonstrations::get(&state.store, id)?.ok_or_else(|| Problem::missing("demonstration"))
}

/// A demonstration and the revision that stands.
pub fn standing(state: &State, id: i64) -> Result<(Record, Revision), Problem> {
    let record = record(state, id)?;
    let revision = demonstrations::revision(&state.store, id, record.revision)?;
    let revision = revision.ok_or_else(|| Problem::conflict("its clips are still being found"))?;
    Ok((record, revision))
}

/// A demonstration as it is told.
pub fn view(state: &State, id: i64) -> Result<DemonstrationView, Problem> {
    let (record, revision) = standing(state, id)?;
    let last = demonstrations::last_revision(&state.store, id)?;
    Ok(DemonstrationView::new(&record, &revision, last))
}

/// Finds the first answer. Done already, as after a restart, it stays.
pub fn make(state: &State, id: i64, progress: &dyn Progress) -> Result<(), Problem> {
    let record = record(state, id)?;
    if record.revision > 0 {
        return Ok(());
    }
    progress.begin("reading the steps", 0);
    state.refresh_stock()?;
    let asked = asked(state, &record)?;
    let clips = state.stock_or_say()?.pool.len();
    progress.begin(&format!("looking through {clips} clips"), 0);
    let answer = answer(state, &record, &asked, &Wishes::new(), Wishes::new())?;
    let revision = Revision { number: 1, action: "found".into(), ..answer };
    demonstrations::add(&state.store, id, &revision, &[])?;
    Ok(())
}

fn asked(state: &State, record: &Record) -> Result<Arc<Asked>, Problem> {
    state.asked(record.id, || {
        let procedure = Procedure::new(&record.title, &record.steps)
            .map_err(|error| Problem::wrong(error.to_string()))?;
        Ok(Asked::encode(&state.demonstrator(), &procedure)?)
    })
}

/// The answer within what a person decided (`kept`) and what holds for this once (`held`).
fn answer(
    state: &State,
    record: &Record,
    asked: &Asked,
    kept: &Wishes,
    held: Wishes,
) -> Result<Revision, Problem> {
    let begun = Instant::now();
    let stock = state.stock_or_say()?;
    let wishes = if held.is_empty() { kept.clone() } else { held };
    let options = Options { wishes, ..record.search.options() };
    let answer = solve(&state.demonstrator(), &stock, asked, &options)?;
    Ok(Revision {
        number: 0,
        action: String::new(),
        wishes: kept.clone(),
        answer,
        took_ms: begun.elapsed().as_millis() as u64,
    })
}

/// Makes a change; the demonstration as it stands then.
pub fn change(state: &State, id: i64, change: &Change) -> Result<DemonstrationView, Problem> {
    let (record, before) = standing(state, id)?;
    match change {
        Change::Undo => go(state, id, before.number - 1, "there is nothing to take back")?,
        Change::Redo => go(state, id, before.number + 1, "there is nothing to make again")?,
        change => {
            let after = changed(state, &record, &before, change)?;
            let choices = choices(&record, &before, &after, change);
            if !demonstrations::add(&state.store, id, &after, &choices)? {
                return Err(Problem::conflict("another change came first; look again"));
            }
        }
    }
    view(state, id)
}

fn go(state: &State, id: i64, number: i64, otherwise: &str) -> Result<(), Problem> {
    match number > 0 && demonstrations::go_to(&state.store, id, number)? {
        true => Ok(()),
        false => Err(Problem::conflict(otherwise)),
    }
}

fn changed(
    state: &State,
    record: &Record,
    before: &Revision,
    change: &Change,
) -> Result<Revision, Problem> {
    let begun = Instant::now();
    let mut wishes = before.wishes.clone();
    let scope = decide(state, change, &mut wishes, &before.answer)?;
    let held = match scope {
        Scope::Step(step) => others_held(&wishes, &before.answer, step),
        _ => Wishes::new(),
    };
    let found = match scope {
        Scope::Nothing => Revision { wishes, ..before.clone() },
        _ => answer(state, record, &*asked(state, record)?, &wishes, held)?,
    };
    Ok(Revision {
        number: before.number + 1,
        action: action(change),
        took_ms: begun.elapsed().as_millis() as u64,
        ..found
    })
}

/// Enters a change into what is decided; how much of the answer may change by it.
fn decide(
    state: &State,
    change: &Change,
    wishes: &mut Wishes,
    answer: &Demonstration,
) -> Result<Scope, Problem> {
    let Some(step) = step_of(change) else { return Ok(Scope::Everything) };
    let shown = answer.steps.get(step).ok_or_else(|| Problem::missing("step"))?;
    let now = shown.chosen.as_ref().map(Place::from);
    let nothing = || Problem::conflict("nothing shows this step");
    let wish = wishes.entry(step).or_default();
    let scope = match *change {
        Change::Swap { clip, .. } => {
            let place = known_clip(state, clip.into())?;
            wish.fixed = Some(Fixed::Clip(place));
            wish.banned.remove(&place);
            wish.source = wish.source.filter(|only| *only == place.video);
            Scope::Step(step)
        }
        Change::Lock { .. } => {
            wish.fixed = Some(now.map_or(Fixed::Gap, Fixed::Clip));
            Scope::Nothing
        }
        Change::Unlock { .. } => {
            wish.fixed = None;
            Scope::Nothing
        }
        Change::Ban { clip, .. } => {
            let place = clip.map(Place::from).or(now).ok_or_else(nothing)?;
            wish.banned.insert(known_clip(state, place)?);
            wish.fixed = wish.fixed.filter(|fixed| *fixed != Fixed::Clip(place));
            Scope::Step(step)
        }
        Change::Pardon { .. } => {
            wish.banned.clear();
            Scope::Step(step)
        }
        Change::Source { video, .. } => {
            wish.source = video.map(|video| known_video(state, video)).transpose()?;
            wish.fixed = None;
            Scope::Step(step)
        }
        Change::Trim { start_ms, end_ms, .. } => {
            let of = now.ok_or_else(nothing)?;
            wish.trim = Some(trim(state, of, start_ms, end_ms)?);
            Scope::Step(step)
        }
        Change::Untrim { .. } => {
            wish.trim = None;
            Scope::Step(step)
        }
        Change::Leave { .. } => {
            wish.fixed = Some(Fixed::Gap);
            Scope::Step(step)
        }
        Change::Solve | Change::Undo | Change::Redo => Scope::Everything,
    };
    // A cut is the person's own for the clip it was made on, which therefore stays.
    if matches!(change, Change::Trim { .. }) && wish.fixed.is_none() {
        wish.fixed = now.map(Fixed::Clip);
    }
    wishes.retain(|_, wish| *wish != Wish::default());
    Ok(scope)
}

fn step_of(change: &Change) -> Option<usize> {
    match *change {
        Change::Swap { step, .. }
        | Change::Lock { step }
        | Change::Unlock { step }
        | Change::Ban { step, .. }
        | Change::Pardon { step }
        | Change::Source { step, .. }
        | Change::Trim { step, .. }
        | Change::Untrim { step }
        | Change::Leave { step } => Some(step),
        Change::Solve | Change::Undo | Change::Redo => None,
    }
}

fn known_clip(state: &State, place: Place) -> Result<Place, Problem> {
    let found = state.stock_or_say()?.find(place);
    found.map(|_| place).ok_or_else(|| Problem::missing("clip in the library"))
}

fn known_video(state: &State, video: u32) -> Result<u32, Problem> {
    let known = state.stock_or_say()?.videos.contains_key(&stitch_core::clip::VideoId(video));
    if known { Ok(video) } else { Err(Problem::missing("video in the library")) }
}

fn trim(state: &State, of: Place, start_ms: u64, end_ms: u64) -> Result<Trim, Problem> {
    let stock = state.stock_or_say()?;
    let video = stock.videos.get(&stitch_core::clip::VideoId(of.video));
    let length = video.map_or(0, |record| record.video.length_ms);
    let trim = Trim { of, cut: Interval { start_ms, end_ms } };
    let cut = trim.within(length).ok_or_else(|| {
        let least = Trim::SHORTEST_MS;
        Problem::wrong(format!("a cut lies inside its video and lasts {least} ms or longer"))
    })?;
    Ok(Trim { of, cut })
}

/// What was decided, with every step but one held as it is: a person who swaps one clip does not
/// expect others to change.
fn others_held(wishes: &Wishes, answer: &Demonstration, step: usize) -> Wishes {
    let mut held = wishes.clone();
    for (other, shown) in answer.steps.iter().enumerate().filter(|(other, _)| *other != step) {
        let place = shown.chosen.as_ref().map(Place::from);
        held.entry(other).or_default().fixed = Some(place.map_or(Fixed::Gap, Fixed::Clip));
    }
    held.entry(step).or_default();
    held
}

fn action(change: &Change) -> String {
    let name = serde_json::to_value(change).ok();
    let name = name.as_ref().and_then(|value| value["kind"].as_str()).unwrap_or_default();
    step_of(change).map_or_else(|| name.to_owned(), |step| format!("{name} step {}", step + 1))
}

/// What a change says about clips, as something to learn from: this one rather than that one.
fn choices(record: &Record, before: &Revision, after: &Revision, change: &Change) -> Vec<String> {
    let Some(step) = step_of(change) else { return Vec::new() };
    let chosen = |revision: &Revision| revision.answer.steps[step].chosen.as_ref().map(told);
    let (was, is) = (chosen(before), chosen(after));
    let (kind, preferred, rejected) = match change {
        Change::Swap { .. } => ("swap", is, was),
        Change::Lock { .. } => ("lock", is, None),
        Change::Leave { .. } => ("leave", None, was),
        Change::Trim { .. } => ("trim", is, was),
        Change::Ban { clip: None, .. } => ("ban", is, was),
        Change::Ban { clip: Some(clip), .. } => {
            let place = Place::from(*clip);
            let shown = &before.answer.steps[step];
            let mut all = shown.chosen.iter().chain(&shown.alternatives);
            ("ban", is, all.find(|choice| Place::from(*choice) == place).map(told))
        }
        _ => return Vec::new(),
    };
    let line = json!({
        "kind": kind, "demonstration": record.id, "title": record.title, "steps": record.steps,
        "step": step, "text": record.steps.get(step), "preferred": preferred,
        "rejected": rejected, "made_ms": crate::store::now_ms(),
    });
    vec![line.to_string()]
}

fn told(choice: &Choice) -> serde_json::Value {
    json!({
        "path": choice.source.path.to_string_lossy(), "video": choice.source.video,
        "start_ms": choice.span.start_ms, "end_ms": choice.span.end_ms,
        "cut_start_ms": choice.cut.start_ms, "cut_end_ms": choice.cut.end_ms,
        "text": choice.text, "probability": choice.similarity.probability,
    })
}
