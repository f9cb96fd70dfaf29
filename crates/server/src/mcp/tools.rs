//! The eight tools. Each calls what the request of the HTTP API calls; its answer is short, because agents pay for
//! every word.

use std::path::PathBuf;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rmcp::handler::server::tool::IntoCallToolResult;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{CallToolResponse, CallToolResult, ContentBlock};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, tool, tool_router};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use stitch_engine::export::{FORMATS, Format};
use stitch_engine::files::{copy_whole, write_whole};

use super::Agent;
use super::follow::follow;
use crate::api::demonstrations::{
    DemonstrationRequest, enqueue_render, enqueue_search, export_text,
};
use crate::api::extract::blocking;
use crate::api::library::{find, frame, videos};
use crate::editor;
use crate::error::{ApiError, Result};
use crate::options::VideoOptions;
use crate::state::{SharedState, State};
use crate::wire::{Change, ClipView, DemonstrationView, StepView};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ClipSearch {
    /// What the clips should show, in words
    text: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct StepOf {
    /// The number of the demonstration
    demonstration: i64,
    /// Counted from 0
    step: usize,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ChangeOf {
    /// The number of the demonstration
    demonstration: i64,
    change: Change,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FrameOf {
    /// The id of the video
    video: u32,
    /// Milliseconds of the video
    #[serde(default)]
    at_ms: u64,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RenderOf {
    /// The number of the demonstration
    demonstration: i64,
    #[serde(default)]
    options: VideoOptions,
    /// The absolute path of a new file that ends in .mp4, below a folder that was allowed with --root; without it
    /// the video stays in the library's folder
    output: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ExportOf {
    /// The number of the demonstration
    demonstration: i64,
    /// The extension of the format: json, srt, vtt, chapters.vtt, otio, edl, fcpxml, xml, mlt, credits.txt or html
    format: String,
    /// The absolute path of a new file with this extension, below a folder that was allowed with --root; without
    /// it the text itself is the answer
    output: Option<String>,
}

type Answer = Result<CallToolResult>;

/// The message of an error is the answer of the tool, so that the agent can act on it.
impl IntoCallToolResult for ApiError {
    fn into_call_tool_result(self) -> std::result::Result<CallToolResponse, ErrorData> {
        Ok(CallToolResult::error(vec![ContentBlock::text(self.error)]).into())
    }
}

/// Runs work that blocks; what it returns is the answer.
async fn answer<T: Serialize + Send + 'static>(
    state: &SharedState,
    work: impl FnOnce(&State) -> Result<T> + Send + 'static,
) -> Answer {
    let state = state.clone();
    let done = blocking(move || work(&state)).await?;
    Ok(CallToolResult::structured(json!(done)))
}

#[tool_router(vis = "pub(super)")]
impl Agent {
    /// What the library holds: videos, clips, and what could not be read.
    #[tool(annotations(read_only_hint = true))]
    async fn library_status(&self) -> Answer {
        answer(&self.state, library_status).await
    }

    /// Find clips that show something, and sentences that say it.
    #[tool(annotations(read_only_hint = true))]
    async fn search_clips(&self, Parameters(search): Parameters<ClipSearch>) -> Answer {
        answer(&self.state, move |state| find(state, &search.text)).await
    }

    /// Find the clip that shows each step of a procedure. A step that nothing shows is a gap.
    #[tool]
    async fn find_demonstration(
        &self,
        Parameters(request): Parameters<DemonstrationRequest>,
        context: RequestContext<RoleServer>,
    ) -> Answer {
        let state = self.state.clone();
        let created = blocking(move || enqueue_search(&state, &request)).await?;
        follow(&self.state, created.job.id, &context).await?;
        answer(&self.state, move |state| Ok(summary(&editor::view(state, created.id)?))).await
    }

    /// Why a step is shown by its clip: evidence, doubts, and the other clips that it could be shown by.
    #[tool(annotations(read_only_hint = true))]
    async fn explain_step(&self, Parameters(of): Parameters<StepOf>) -> Answer {
        let explain = move |state: &State| {
            let steps = editor::view(state, of.demonstration)?.steps;
            steps.into_iter().nth(of.step).ok_or_else(|| ApiError::not_found("step"))
        };
        answer(&self.state, explain).await
    }

    /// Change a demonstration: swap, lock, ban or trim a clip, leave a step, search again, undo.
    #[tool]
    async fn swap_or_lock(&self, Parameters(of): Parameters<ChangeOf>) -> Answer {
        let change =
            move |state: &State| Ok(summary(&editor::change(state, of.demonstration, &of.change)?));
        answer(&self.state, change).await
    }

    /// Look at a frame of a video.
    #[tool(annotations(read_only_hint = true))]
    async fn preview_frame(&self, Parameters(of): Parameters<FrameOf>) -> Answer {
        let jpeg = frame(&self.state, of.video, of.at_ms).await?;
        let picture = ContentBlock::image(BASE64_STANDARD.encode(jpeg), "image/jpeg");
        Ok(CallToolResult::success(vec![picture]))
    }

    /// Render the video of a demonstration.
    #[tool]
    async fn render(
        &self,
        Parameters(of): Parameters<RenderOf>,
        context: RequestContext<RoleServer>,
    ) -> Answer {
        let state = self.state.clone();
        let enqueue = move || {
            let output = new_file(&state, of.output.as_deref(), "mp4")?;
            Ok((enqueue_render(&state, of.demonstration, of.options)?.id, output))
        };
        let (job, output) = blocking(enqueue).await?;
        follow(&self.state, job, &context).await?;
        let keep = move |state: &State| {
            let rendered = state.render_file(job);
            let file = match output {
                Some(output) => copy_whole(&rendered, &output).map(|()| output)?,
                None => rendered,
            };
            Ok(json!({"job": job, "file": file, "download": format!("/api/jobs/{job}/video")}))
        };
        answer(&self.state, keep).await
    }

    /// Write a demonstration for another program: subtitles, a timeline for an editor, credits, a page.
    #[tool]
    async fn export(&self, Parameters(of): Parameters<ExportOf>) -> Answer {
        let format = Format::by_extension(&of.format).ok_or_else(no_format)?;
        let state = self.state.clone();
        let allow = move || new_file(&state, of.output.as_deref(), format.extension);
        let output = blocking(allow).await?;
        let text = export_text(&self.state, of.demonstration, format).await?;
        let Some(output) = output else {
            return Ok(CallToolResult::success(vec![ContentBlock::text(text)]));
        };
        let write = move |_: &State| {
            write_whole(&output, text.as_bytes())?;
            Ok(json!({"file": output}))
        };
        answer(&self.state, write).await
    }
}

fn no_format() -> ApiError {
    let names: Vec<&str> = FORMATS.iter().map(|format| format.extension).collect();
    ApiError::invalid(format!("there is no such format; choose one of {}", names.join(", ")))
}

fn new_file(state: &State, file: Option<&str>, extension: &str) -> Result<Option<PathBuf>> {
    file.map(|file| state.allowed_new_file(file, extension)).transpose()
}

/// Videos that could not be read are named up to this number; chosen by hand.
const MAX_FAILED: usize = 20;

fn library_status(state: &State) -> Result<Value> {
    let videos = videos(state)?;
    let of = |status: &str| videos.iter().filter(|video| video.status == status).count();
    let failed = videos.iter().filter(|video| video.status == "failed").take(MAX_FAILED);
    let failed = failed.map(|video| json!({"file": video.file, "reason": video.reason}));
    Ok(json!({
        "library": state.resources.library.folder(),
        "encoder": state.resources.encoder.id().name,
        "videos": of("ready"),
        "clips": videos.iter().map(|video| video.steps.len()).sum::<usize>(),
        "length_ms": videos.iter().map(|video| video.length_ms).sum::<u64>(),
        "not_indexed_yet": of("pending"),
        "duplicates": of("duplicate"),
        "failed": failed.collect::<Vec<_>>(),
        "writable_folders": state.settings.roots,
    }))
}

/// A demonstration without the evidence and the other clips, for which there is `explain_step`.
fn summary(view: &DemonstrationView) -> Value {
    let steps = view.steps.iter().enumerate();
    let gaps = view.steps.iter().filter(|step| step.chosen.is_none()).count();
    json!({
        "demonstration": view.id,
        "title": view.title,
        "revision": view.revision,
        "probability": view.probability,
        "gaps": gaps,
        "note": view.language_note,
        "steps": steps.map(|(number, step)| step_summary(number, step)).collect::<Vec<_>>(),
    })
}

fn step_summary(number: usize, step: &StepView) -> Value {
    let clip = |clip: &ClipView| {
        json!({
            "clip": clip.clip, "title": clip.title, "cut_start_ms": clip.cut_start_ms,
            "cut_end_ms": clip.cut_end_ms, "text": clip.text, "probability": clip.probability,
        })
    };
    json!({
        "step": number,
        "text": step.text,
        "shown_by": step.clips.iter().map(clip).collect::<Vec<_>>(),
        "gap": step.chosen.is_none(),
        "partly_shown": step.partly_shown,
        "locked": step.locked,
        "warnings": step.warnings,
    })
}
