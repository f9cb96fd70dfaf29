//! schema.org Recipe and HowTo, and plain `{title, steps}`, out of JSON.

use std::collections::HashMap;

use serde_json::Value;

use super::given::{GivenStep, StepList, TimeError, offset};
use super::outline::{draft, sentences};
use super::{lines, markup};

/// The procedure in a JSON value, with times where its steps carry them; none if it has no steps.
pub fn steps(json: &Value) -> Result<Option<StepList>, TimeError> {
    let mut nodes = Vec::new();
    collect(json, &mut nodes);
    for node in nodes {
        let list = from_schema(node)?;
        if !list.steps.is_empty() {
            return Ok(Some(list));
        }
    }
    let list = from_plain(json)?;
    Ok(Some(list).filter(|list| !list.steps.is_empty()))
}

/// Every Recipe and HowTo in the value, the outer before the inner. JSON nests at most as deep as
/// its reader allows (128), so this may call itself.
fn collect<'a>(json: &'a Value, nodes: &mut Vec<&'a Value>) {
    match json {
        Value::Array(values) => values.iter().for_each(|value| collect(value, nodes)),
        Value::Object(fields) => {
            if is_a(json, &["Recipe", "HowTo"]) {
                nodes.push(json);
            }
            fields
                .values()
                .filter(|v| v.is_object() || v.is_array())
                .for_each(|v| collect(v, nodes));
        }
        _ => {}
    }
}

/// Whether the node's `@type` is one of these, however it is written.
fn is_a(node: &Value, types: &[&str]) -> bool {
    let named = |value: &Value| {
        let name = value.as_str().unwrap_or("");
        types.contains(&name.rsplit(['/', '#', ':']).next().unwrap_or(name))
    };
    match node.get("@type") {
        Some(Value::Array(values)) => values.iter().any(named),
        Some(value) => named(value),
        None => false,
    }
}

/// The first of these fields that the node has.
fn field<'a>(node: &'a Value, names: &[&str]) -> Option<&'a Value> {
    names.iter().find_map(|name| node.get(name).filter(|value| !value.is_null()))
}

fn string(node: &Value, names: &[&str]) -> Option<String> {
    let text = markup::words(field(node, names)?.as_str()?);
    (!text.is_empty()).then_some(text)
}

fn from_schema(node: &Value) -> Result<StepList, TimeError> {
    let title = string(node, &["name", "headline"]).unwrap_or_default();
    let mut steps = Vec::new();
    if let Some(given) = field(node, &["recipeInstructions", "step", "steps", "instructions"]) {
        push(given, &mut steps)?;
    }
    let clips = clips(node)?;
    Ok(StepList { title, steps: with_clips(steps, clips) })
}

/// Adds the steps in a value: a text, a step, a section, or a list of such.
fn push(value: &Value, steps: &mut Vec<GivenStep>) -> Result<(), TimeError> {
    match value {
        Value::String(text) => steps.extend(written(text).into_iter().map(GivenStep::untimed)),
        Value::Array(values) if values.iter().all(Value::is_string) => {
            let each = values.iter().filter_map(Value::as_str).map(markup::words);
            steps.extend(
                each.map(|text| lines::item(&text).map_or(text.clone(), |(_, t)| t.to_string()))
                    .filter(|text| !text.is_empty())
                    .map(GivenStep::untimed),
            );
        }
        Value::Array(values) => {
            for value in values {
                push(value, steps)?;
            }
        }
        Value::Object(_) => push_node(value, steps)?,
        _ => {}
    }
    Ok(())
}

/// Adds one step, or the steps of a section.
fn push_node(node: &Value, steps: &mut Vec<GivenStep>) -> Result<(), TimeError> {
    let parts = field(node, &["itemListElement", "step", "steps", "item"]);
    let is_step = is_a(node, &["HowToStep", "HowToDirection", "HowToTip"]);
    let text = string(node, &["text", "description", "step", "instruction", "name"]);
    match (parts, text) {
        (Some(parts), _) if !is_step && !parts.is_string() => push(parts, steps),
        (_, Some(text)) => {
            if !is_a(node, &["HowToTip"]) {
                steps.push(timed(text, node, steps.len())?);
            }
            Ok(())
        }
        (Some(parts), None) => join(parts, node, steps),
        (None, None) => Ok(()),
    }
}

/// Adds a step whose text is the directions in it.
fn join(parts: &Value, node: &Value, steps: &mut Vec<GivenStep>) -> Result<(), TimeError> {
    let mut inner = Vec::new();
    push(parts, &mut inner)?;
    let text = inner.into_iter().map(|step| step.text).collect::<Vec<_>>().join(" ");
    if !text.is_empty() {
        steps.push(timed(text, node, steps.len())?);
    }
    Ok(())
}

/// A step with the times that its node, or the clip in it, carries.
fn timed(text: String, node: &Value, number: usize) -> Result<GivenStep, TimeError> {
    let clip = node.get("video").filter(|video| video.is_object()).unwrap_or(node);
    let at = |names: &[&str]| match field(clip, names) {
        Some(value) => offset(value).ok_or_else(|| TimeError::unreadable(number, value)).map(Some),
        None => Ok(None),
    };
    let start_ms = at(&["start", "startOffset", "start_time", "startTime"])?;
    let end_ms = at(&["end", "endOffset", "end_time", "endTime"])?;
    let reference = string(node.get("video").unwrap_or(node), &["@id", "url"]);
    GivenStep { text, start_ms, end_ms, reference }.checked(number)
}

/// The steps written in one text: its lines, its list, or its sentences.
fn written(text: &str) -> Vec<String> {
    let text = markup::text_lines(text);
    let steps = draft(&lines::plain(&format!("Method:\n{text}"))).steps;
    match &steps[..] {
        [one] => sentences(one).into_iter().map(str::to_owned).collect(),
        _ => steps,
    }
}

/// The clips of the node's video, in order.
fn clips(node: &Value) -> Result<Vec<GivenStep>, TimeError> {
    let videos = match node.get("video") {
        Some(Value::Array(videos)) => videos.iter().collect(),
        Some(video) => vec![video],
        None => Vec::new(),
    };
    let mut clips = Vec::new();
    for part in videos.iter().filter_map(|v| v.get("hasPart")?.as_array()).flatten() {
        let text = string(part, &["name", "description"]).unwrap_or_default();
        clips.push(timed(text, part, clips.len())?);
    }
    Ok(clips)
}

/// Gives the steps the times of the clips: by reference, or one to one; without steps the clips'
/// names are the steps.
fn with_clips(mut steps: Vec<GivenStep>, clips: Vec<GivenStep>) -> Vec<GivenStep> {
    if steps.is_empty() {
        return clips.into_iter().filter(|clip| !clip.text.is_empty()).collect();
    }
    let paired = steps.len() == clips.len();
    let named = clips.iter().rev().filter_map(|clip| Some((clip.reference.as_deref()?, clip)));
    let named: HashMap<&str, &GivenStep> = named.collect(); // the first of each name
    for (i, step) in steps.iter_mut().enumerate().filter(|(_, step)| step.start_ms.is_none()) {
        let same = step.reference.as_deref().and_then(|name| named.get(name).copied());
        if let Some(clip) = same.or(clips.get(i).filter(|_| paired)) {
            (step.start_ms, step.end_ms) = (clip.start_ms, clip.end_ms);
        }
    }
    steps
}

/// `{title, steps}`, `{name, instructions}` or a bare list.
fn from_plain(json: &Value) -> Result<StepList, TimeError> {
    const STEPS: [&str; 7] = [
        "steps",
        "instructions",
        "directions",
        "method",
        "procedure",
        "recipeInstructions",
        "step",
    ];
    let given = if json.is_array() { Some(json) } else { field(json, &STEPS) };
    let mut steps = Vec::new();
    if let Some(given) = given {
        push(given, &mut steps)?;
    } else if let Some(inner) = field(json, &["recipe", "data"]) {
        return from_plain(inner);
    }
    let title = string(json, &["title", "name", "headline"]).unwrap_or_default();
    Ok(StepList { title, steps })
}
