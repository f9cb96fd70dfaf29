//! NIV (Alayrac et al., 2016): a file per video, `TASK_NUMBER.csv`, with a step and its times a line.

use std::path::Path;

use stitch_engine::files::FileError;

use super::{AnnotatedVideo, Annotations, AnnotationsError, tables};

/// Reads a folder of such files, or the folder above it.
pub fn read(path: &Path) -> Result<Annotations, AnnotationsError> {
    let below = path.join("csvs");
    let folder = if below.is_dir() { below.as_path() } else { path };
    let mut read = Annotations::default();
    for path in tables::csv_files(folder)? {
        let id = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let task = id.rsplit_once('_').map_or(id.as_str(), |(task, _)| task);
        let task = task.replace('_', " ");
        let bytes = std::fs::read(&path).map_err(FileError::at(&path))?;
        let mut video = AnnotatedVideo { id: id.clone(), task, ..AnnotatedVideo::default() };
        for row in tables::rows(&String::from_utf8_lossy(&bytes)) {
            let number = |at: usize| tables::value(&row, at).parse().ok();
            match (row.get(0), number(1), number(2)) {
                (Some(text), Some(from), Some(to)) => {
                    read.add_step(&mut video, &text.to_lowercase(), from, to);
                }
                _ => read.report(id.clone(), format!("`{}` is no step", tables::line(&row))),
            }
        }
        read.add(video);
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_folder_is_read() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("csvs")).unwrap();
        let write = |name: &str, text: &str| {
            std::fs::write(folder.path().join("csvs").join(name), text).unwrap();
        };
        write("repot_0001.csv", "PUT SOIL,0.04,2.96\nPLACE PLANT,7.0,9.5\n");
        write("repot_0002.csv", "PUT SOIL\n");
        let found = read(folder.path()).unwrap();
        assert_eq!((found.videos.len(), found.steps(), found.issues.len()), (1, 2, 2));
        assert_eq!(found.videos[0].task, "repot");
        assert_eq!(found.videos[0].steps[0].text, "put soil");
    }
}
