//! Which videos a demonstration may use.

use crate::library::{VideoRecord, VideoStatus};

/// Videos by what is part of their path, title or uploader, and by licence. Empty lists ask nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceFilter {
    /// One of these must be found in the path, title or uploader.
    pub allow: Vec<String>,
    /// None of these may be.
    pub deny: Vec<String>,
    /// One of these must be found in the licence; a video without a licence does not pass.
    pub licences: Vec<String>,
}

impl SourceFilter {
    /// Whether a video may be used.
    pub fn allows(&self, record: &VideoRecord) -> bool {
        let path = record.path.to_string_lossy();
        let uploader = record.video.uploader.as_deref().unwrap_or_default();
        let names = [&*path, record.video.title.as_str(), uploader];
        let named = |wanted: &String| names.iter().any(|name| holds(name, wanted));
        let licence = record.video.licence.as_deref().unwrap_or_default();
        record.status == VideoStatus::Ready
            && (self.allow.is_empty() || self.allow.iter().any(named))
            && !self.deny.iter().any(named)
            && (self.licences.is_empty() || self.licences.iter().any(|l| holds(licence, l)))
    }
}

pub(super) fn holds(text: &str, part: &str) -> bool {
    text.to_lowercase().contains(&part.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::Video;

    #[test]
    fn allow_deny_and_licence() {
        let record = VideoRecord {
            id: 1,
            path: "/videos/taco.mp4".into(),
            content: String::new(),
            status: VideoStatus::Ready,
            video: Video {
                title: "Beef Tacos".into(),
                licence: Some("CC0".into()),
                ..Video::default()
            },
            narration_by: None,
            steps_by: None,
            clips: 3,
        };
        let filter = |allow: &[&str], deny: &[&str], licences: &[&str]| SourceFilter {
            allow: allow.iter().map(|s| s.to_string()).collect(),
            deny: deny.iter().map(|s| s.to_string()).collect(),
            licences: licences.iter().map(|s| s.to_string()).collect(),
        };
        let table = [
            (filter(&[], &[], &[]), true),
            (filter(&["BEEF"], &[], &[]), true),
            (filter(&["nacho"], &[], &[]), false),
            (filter(&[], &["taco.mp4"], &[]), false),
            (filter(&[], &[], &["cc"]), true),
            (filter(&[], &[], &["MIT"]), false),
        ];
        for (filter, expected) in table {
            assert_eq!(filter.allows(&record), expected, "{filter:?}");
        }
        let failed = VideoRecord { status: VideoStatus::Failed("x".into()), ..record };
        assert!(!SourceFilter::default().allows(&failed));
    }
}
