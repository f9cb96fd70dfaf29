//! Narration of many videos into their steps, in the plain format: in parallel, by a language model or by
//! rules. Answers of the model are cached as they come, so that a run that was stopped continues.

use std::path::PathBuf;
use std::sync::mpsc::sync_channel;

use rayon::prelude::*;
use serde::Serialize;
use serde_json::{Value, json};
use stitch_engine::progress::Progress;
use stitch_engine::summarise::chat::{Chat, ChatError};
use stitch_engine::summarise::{PromptDomain, SummariseError, by_language_model, by_rules};
use stitch_engine::transcript::Sentence;

use super::DatasetError;
use super::captions::{self, Captioned, VideoTasks};

/// Videos that are read ahead of the language model.
const READ_AHEAD: usize = 256;

pub struct Summariser<'a> {
    /// Without one, rules find the steps.
    pub language_model: Option<(&'a Chat, PromptDomain)>,
    /// Videos that are summarised at the same time.
    pub parallel: usize,
    /// Only videos that are listed are taken; all where there is no list.
    pub tasks: Option<&'a VideoTasks>,
    /// Written to every line.
    pub domain: Option<&'a str>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SummaryReport {
    /// Videos with steps.
    pub videos: usize,
    pub steps: usize,
    /// Videos in which nothing is said, or no step is told.
    pub without_steps: usize,
    /// Videos that the language model did not answer for, and the first reason.
    pub failed: usize,
    pub reason: Option<String>,
}

enum Summary {
    Steps(String, Vec<Value>),
    Nothing,
    Failed(String),
}

impl Summariser<'_> {
    /// The lines of `videos.jsonl`, by video, and what they were made of. An error that concerns all videos,
    /// such as an endpoint that is not there, ends the run.
    pub fn run(
        &self,
        paths: &[PathBuf],
        progress: &dyn Progress,
    ) -> Result<(Vec<String>, SummaryReport), DatasetError> {
        progress.begin("summarising narration", 0);
        let threads = rayon::ThreadPoolBuilder::new().num_threads(self.parallel).build()?;
        let (sender, receiver) = sync_channel(READ_AHEAD);
        let read = move || {
            let mut send =
                |video: Captioned| !self.is_wanted(&video.id) || sender.send(video).is_ok();
            paths.iter().try_for_each(|path| captions::read(path, &mut send))
        };
        let summarise = || -> Result<Vec<Summary>, DatasetError> {
            receiver.into_iter().par_bridge().map(|video| self.summary(video, progress)).collect()
        };
        let (read, summaries) = std::thread::scope(|scope| {
            let reader = scope.spawn(read);
            let summaries = threads.install(summarise);
            (reader.join(), summaries)
        });
        let summaries = summaries?;
        read.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        self.report(summaries)
    }

    fn is_wanted(&self, video: &str) -> bool {
        self.tasks.is_none_or(|tasks| tasks.task(video).is_some())
    }

    fn summary(&self, video: Captioned, progress: &dyn Progress) -> Result<Summary, DatasetError> {
        progress.check()?;
        let Captioned { id, sentences } = &video;
        let title = self.tasks.and_then(|tasks| tasks.task(id)).unwrap_or_default();
        let steps = match self.language_model {
            None => Ok(by_rules(sentences)),
            Some((chat, domain)) => by_language_model(chat, domain, title, sentences),
        };
        progress.advance(1);
        match steps {
            Ok(steps) if !steps.is_empty() => Ok(Summary::Steps(
                video.id,
                steps.iter().map(|s| step(s, &video.sentences)).collect(),
            )),
            Ok(_) | Err(SummariseError::Silent) => Ok(Summary::Nothing),
            Err(SummariseError::Chat(
                error @ (ChatError::Unreachable { .. }
                | ChatError::Key { .. }
                | ChatError::Cache(_)),
            )) => Err(error.into()),
            Err(error) => Ok(Summary::Failed(format!("{id}: {error}"))),
        }
    }

    fn report(
        &self,
        summaries: Vec<Summary>,
    ) -> Result<(Vec<String>, SummaryReport), DatasetError> {
        let (mut lines, mut report) = (Vec::new(), SummaryReport::default());
        for summary in summaries {
            match summary {
                Summary::Steps(id, steps) => lines.push((id, steps)),
                Summary::Nothing => report.without_steps += 1,
                Summary::Failed(reason) => {
                    report.failed += 1;
                    report.reason.get_or_insert(reason);
                }
            }
        }
        // They come in the order of answers.
        lines.sort_by(|a, b| a.0.cmp(&b.0));
        lines.dedup_by(|a, b| a.0 == b.0);
        report.videos = lines.len();
        report.steps = lines.iter().map(|(_, steps)| steps.len()).sum();
        if lines.is_empty() {
            let videos = report.without_steps + report.failed;
            return Err(DatasetError::NoSteps { videos, why: report.reason.unwrap_or_default() });
        }
        Ok((lines.into_iter().map(|(id, steps)| self.line(&id, steps)).collect(), report))
    }

    /// A line of the plain format. Its times are those of the words.
    fn line(&self, id: &str, steps: Vec<Value>) -> String {
        let mut line = json!({"video": id, "spoken": true});
        if let Some(task) = self.tasks.and_then(|tasks| tasks.task(id)) {
            line["title"] = json!(task);
            line["task"] = json!(task);
        }
        if let Some(domain) = self.domain {
            line["domain"] = json!(domain);
        }
        line["steps"] = json!(steps);
        line.to_string()
    }
}

/// A step with what is said meanwhile.
fn step(step: &Sentence, said: &[Sentence]) -> Value {
    let seconds = |ms: u64| ms as f64 / 1000.0;
    let meanwhile = |s: &&Sentence| s.start_ms < step.end_ms && step.start_ms < s.end_ms;
    let narration: Vec<&str> = said.iter().filter(meanwhile).map(|s| s.text.as_str()).collect();
    json!({
        "text": step.text,
        "start": seconds(step.start_ms),
        "end": seconds(step.end_ms),
        "narration": narration.join(" "),
    })
}
