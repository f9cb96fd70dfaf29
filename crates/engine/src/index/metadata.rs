//! Title, uploader and licence of a video: yt-dlp's `.info.json` beside it, where there is one.

use std::path::Path;

use serde_json::Value;

use crate::files::read_side_file;
use crate::library::Video;

/// The file name is the title where nothing else is known.
pub fn read_metadata(path: &Path) -> Video {
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let file = path.with_extension("info.json");
    let info = read_side_file(&file).ok();
    if info.is_none() && file.exists() {
        tracing::warn!(file = %file.display(), "not read: no regular file, or more than 16 MiB");
    }
    let info: Value =
        info.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or(Value::Null);
    let text = |key: &str| info[key].as_str().map(str::trim).filter(|s| !s.is_empty());
    Video {
        title: text("title").unwrap_or(&name).to_owned(),
        uploader: text("uploader").or(text("channel")).map(str::to_owned),
        url: text("webpage_url").or(text("original_url")).map(str::to_owned),
        licence: text("license").map(str::to_owned),
        ..Video::default()
    }
}

/// Words that are likely to be said in a video: its title and uploader.
pub fn hint(path: &Path) -> String {
    let video = read_metadata(path);
    let by = video.uploader.map(|name| format!(", {name}")).unwrap_or_default();
    format!("{}{by}.", video.title)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_info_file_and_survives_a_broken_one() {
        let folder = tempfile::tempdir().unwrap();
        let video = folder.path().join("soup.mp4");
        assert_eq!(read_metadata(&video).title, "soup");
        let info = folder.path().join("soup.info.json");
        std::fs::write(&info, r#"{"title":"Soup!","channel":"Ann","license":"CC0"}"#).unwrap();
        let found = read_metadata(&video);
        assert_eq!((found.title.as_str(), found.uploader.as_deref()), ("Soup!", Some("Ann")));
        assert_eq!(found.licence.as_deref(), Some("CC0"));
        std::fs::write(&info, "{").unwrap();
        assert_eq!(read_metadata(&video).title, "soup");
    }
}
