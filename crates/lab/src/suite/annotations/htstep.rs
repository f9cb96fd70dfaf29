//! HT-Step: the steps of activities (`taxonomy.csv`) and, where they are there, where videos show them:
//! `annotations.csv` beside it, with the columns video_id, global_step_index, start and end.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use stitch_engine::files::FileError;

use super::tables::{self, NamedColumns, value};
use super::{AnnotatedVideo, Annotations, AnnotationsError, json};

const KIND: &str = "the taxonomy of HT-Step";

/// A step of an activity: its number among all steps, and what is done.
type TaxonomyStep = (u64, String);

#[derive(Clone, Debug, Default)]
pub struct Taxonomy {
    /// The steps of each activity, in order.
    pub activities: BTreeMap<String, Vec<TaxonomyStep>>,
    /// Rows that are no step.
    pub unusable: Vec<String>,
}

impl Taxonomy {
    pub fn read(path: &Path) -> Result<Self, AnnotationsError> {
        let text = std::fs::read_to_string(path).map_err(FileError::at(path))?;
        let table = NamedColumns::new(&text);
        let columns =
            ["global_step_index", "activity", "headline"].map(|name| table.column(&[name]));
        let [Some(number), Some(activity), Some(headline)] = columns else {
            return Err(json::wrong(path, KIND, "a column is missing"));
        };
        let mut taxonomy = Self::default();
        for row in &table.rows {
            let at = |column: usize| value(row, column);
            match at(number).parse::<u64>() {
                Ok(number) if !at(headline).is_empty() && !at(activity).is_empty() => {
                    let step = (number, at(headline).to_owned());
                    taxonomy.activities.entry(at(activity).into()).or_default().push(step);
                }
                _ => taxonomy.unusable.push(tables::line(row).chars().take(80).collect()),
            }
        }
        Ok(taxonomy)
    }
}

/// Reads a folder with taxonomy.csv and annotations.csv. Without the latter no video has a step, and
/// that is reported.
pub fn read(path: &Path) -> Result<Annotations, AnnotationsError> {
    let folder = if path.is_dir() { path } else { path.parent().unwrap_or(path) };
    let taxonomy = Taxonomy::read(&folder.join("taxonomy.csv"))?;
    let mut read = Annotations::default();
    for row in &taxonomy.unusable {
        read.report("taxonomy.csv", format!("`{row}` is no step"));
    }
    let file = folder.join("annotations.csv");
    if !file.is_file() {
        read.report("annotations.csv", "there is none, so that no step has a time");
        return Ok(read);
    }
    let text = std::fs::read_to_string(&file).map_err(FileError::at(&file))?;
    let mut known: HashMap<u64, (&str, &str)> = HashMap::new();
    for (activity, steps) in &taxonomy.activities {
        known.extend(
            steps.iter().map(|(number, text)| (*number, (activity.as_str(), text.as_str()))),
        );
    }
    read_rows(&file, &NamedColumns::new(&text), &known, &mut read)?;
    Ok(read)
}

fn read_rows(
    file: &Path,
    table: &NamedColumns,
    known: &HashMap<u64, (&str, &str)>,
    read: &mut Annotations,
) -> Result<(), AnnotationsError> {
    let columns =
        [&["video_id", "video"][..], &["global_step_index", "step"], &["start"], &["end"]];
    let [Some(id), Some(step), Some(from), Some(to)] = columns.map(|names| table.column(names))
    else {
        return Err(json::wrong(file, "annotations of HT-Step", "a column is missing"));
    };
    /// From, to, text.
    type Shown<'a> = (f64, f64, &'a str);
    let mut videos: BTreeMap<(String, String), Vec<Shown>> = BTreeMap::new();
    for row in &table.rows {
        let at = |column: usize| value(row, column);
        let step = at(step).parse().ok().and_then(|number: u64| known.get(&number));
        match (step, at(from).parse(), at(to).parse()) {
            (Some((activity, text)), Ok(from), Ok(to)) => {
                let key = (at(id).to_owned(), (*activity).to_owned());
                videos.entry(key).or_default().push((from, to, *text));
            }
            _ => read.report(at(id), format!("`{}` is no step", tables::line(row))),
        }
    }
    for ((id, task), mut steps) in videos {
        // The file is by step; a procedure goes by time.
        steps.sort_by(|a, b| a.0.total_cmp(&b.0));
        let domain = Some("cooking".into());
        let mut video = AnnotatedVideo { id, task, domain, ..AnnotatedVideo::default() };
        steps.iter().for_each(|(from, to, text)| read.add_step(&mut video, text, *from, *to));
        read.add(video);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_get_their_words_from_the_taxonomy() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).unwrap();
        };
        let taxonomy = "global_step_index,activity,step_index,headline,paragraph\n\
            0,Make Tea,0,Boil the water.,\"Fill it, then wait.\"\n1,Make Tea,1,Steep.,\nx,,,,\n";
        write("taxonomy.csv", taxonomy);
        let found = read(folder.path()).unwrap();
        assert_eq!((found.videos.len(), found.issues.len()), (0, 2));
        let rows = "video_id,global_step_index,start,end\nv,1,9,12\nv,0,2,8\nv,7,1,2\n";
        write("annotations.csv", rows);
        let found = read(folder.path()).unwrap();
        assert_eq!(found.issues.len(), 2);
        let texts: Vec<&str> = found.videos[0].steps.iter().map(|s| s.text.as_str()).collect();
        assert_eq!(texts, ["Boil the water.", "Steep."]);
    }
}
