//! Sets whose annotations are comma-separated tables: CrossTask's folder, HT-Step and NIV. Rows may differ in
//! length; blank lines are left out.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use csv::{ReaderBuilder, StringRecord};
use stitch_engine::files::FileError;

use super::{AnnotatedVideo, Annotations, AnnotationsError, wrong};
use crate::suite::with_extension;

type Read = Result<Annotations, AnnotationsError>;

/// The authors' folder of CrossTask: `tasks_primary.txt` and `annotations/TASK_VIDEO.csv` with the number
/// and the times of a step a line.
pub fn crosstask(folder: &Path) -> Read {
    let tasks = crosstask_tasks(&read_text(&folder.join("tasks_primary.txt"))?);
    let mut read = Annotations::default();
    for path in csv_files(&folder.join("annotations"))? {
        let name = stem(&path);
        let known = name.split_once('_').and_then(|(task, id)| Some((tasks.get(task)?, id)));
        let Some(((task, steps), id)) = known else {
            read.report(name, "its name is not TASK_VIDEO with a task of tasks_primary.txt");
            continue;
        };
        let text = |row: &StringRecord| {
            let number = number(row, 0)? as usize;
            steps.get(number.wrapping_sub(1)).cloned()
        };
        read_file(&path, id, task, text, &mut read)?;
    }
    Ok(read)
}

/// What a task of CrossTask is called, and its steps by number; from blocks of five lines: number, name,
/// address, count, steps.
fn crosstask_tasks(text: &str) -> HashMap<String, (String, Vec<String>)> {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let task = |block: &[&str]| {
        let [number, name, _, _, steps] = block else { return None };
        let steps = steps.split(',').map(|step| step.trim().to_owned()).collect();
        Some(((*number).to_owned(), ((*name).to_owned(), steps)))
    };
    lines.chunks(5).filter_map(task).collect()
}

/// NIV (Alayrac et al., 2016): a file per video, `TASK_NUMBER.csv`, with a step and its times a line, in a
/// folder or in `csvs` below it.
pub fn niv(path: &Path) -> Read {
    let below = path.join("csvs");
    let mut read = Annotations::default();
    for path in csv_files(if below.is_dir() { &below } else { path })? {
        let id = stem(&path);
        let task = id.rsplit_once('_').map_or(id.as_str(), |(task, _)| task).replace('_', " ");
        let text = |row: &StringRecord| Some(row.get(0)?.to_lowercase());
        read_file(&path, &id, &task, text, &mut read)?;
    }
    Ok(read)
}

/// The steps of one video; their times are in the second and the third column.
fn read_file(
    path: &Path,
    id: &str,
    task: &str,
    text: impl Fn(&StringRecord) -> Option<String>,
    read: &mut Annotations,
) -> Result<(), AnnotationsError> {
    let mut video =
        AnnotatedVideo { id: id.into(), task: task.into(), ..AnnotatedVideo::default() };
    for row in rows(&read_text(path)?) {
        match (text(&row), number(&row, 1), number(&row, 2)) {
            (Some(text), Some(from), Some(to)) => read.add_step(&mut video, &text, from, to),
            _ => read.report(id, format!("`{}` is no step", line(&row))),
        }
    }
    read.add(video);
    Ok(())
}

/// The activity and the words of each step of HT-Step, by number.
pub type Taxonomy = BTreeMap<u64, (String, String)>;

/// The taxonomy in a file, and the rows that are no step.
pub fn taxonomy(path: &Path) -> Result<(Taxonomy, Vec<String>), AnnotationsError> {
    let columns = [&["global_step_index"][..], &["activity"], &["headline"]];
    let (columns, rows) = table(path, "the taxonomy of HT-Step", columns)?;
    let (mut steps, mut unusable) = (BTreeMap::new(), Vec::new());
    for row in &rows {
        let [number, activity, headline] = columns.map(|column| value(row, column));
        match number.parse() {
            Ok(number) if !headline.is_empty() && !activity.is_empty() => {
                steps.insert(number, (activity.to_owned(), headline.to_owned()));
            }
            _ => unusable.push(line(row).chars().take(80).collect()),
        }
    }
    Ok((steps, unusable))
}

/// HT-Step: the steps of activities (`taxonomy.csv`) and, where they are there, where videos show them:
/// `annotations.csv` beside it, with the columns video_id, global_step_index, start and end. Without the
/// latter no video has a step, and that is reported.
pub fn htstep(path: &Path) -> Read {
    let folder = if path.is_dir() { path } else { path.parent().unwrap_or(path) };
    let (steps, unusable) = taxonomy(&folder.join("taxonomy.csv"))?;
    let mut read = Annotations::default();
    for row in unusable {
        read.report("taxonomy.csv", format!("`{row}` is no step"));
    }
    let file = folder.join("annotations.csv");
    if !file.is_file() {
        read.report("annotations.csv", "there is none, so that no step has a time");
        return Ok(read);
    }
    let columns =
        [&["video_id", "video"][..], &["global_step_index", "step"], &["start"], &["end"]];
    let ([id, step, from, to], rows) = table(&file, "annotations of HT-Step", columns)?;
    /// From, to, text.
    type Shown<'a> = (f64, f64, &'a str);
    // By video and activity.
    let mut videos: BTreeMap<(&str, &str), Vec<Shown>> = BTreeMap::new();
    for row in &rows {
        let step = value(row, step).parse().ok().and_then(|number: u64| steps.get(&number));
        match (step, number(row, from), number(row, to)) {
            (Some((activity, text)), Some(from), Some(to)) => {
                videos.entry((value(row, id), activity)).or_default().push((from, to, text));
            }
            _ => read.report(value(row, id), format!("`{}` is no step", line(row))),
        }
    }
    for ((id, task), mut steps) in videos {
        // The file is by step; a procedure goes by time.
        steps.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (id, task, domain) = (id.into(), task.into(), Some("cooking".into()));
        let mut video = AnnotatedVideo { id, task, domain, ..AnnotatedVideo::default() };
        steps.iter().for_each(|(from, to, text)| read.add_step(&mut video, text, *from, *to));
        read.add(video);
    }
    Ok(read)
}

/// The rows of a table whose first one names the columns, and where those are that are wanted, each under one
/// of its names.
fn table<const N: usize>(
    path: &Path,
    kind: &'static str,
    wanted: [&[&str]; N],
) -> Result<([usize; N], Vec<StringRecord>), AnnotationsError> {
    let text = read_text(path)?;
    let mut rows = rows(&text);
    let header = rows.next().unwrap_or_default();
    let place = |name: &&str| header.iter().position(|head| head.trim() == *name);
    let columns: Option<Vec<usize>> =
        wanted.iter().map(|names| names.iter().find_map(place)).collect();
    let columns = columns.and_then(|columns| columns.try_into().ok());
    let columns = columns.ok_or_else(|| wrong(path, kind, "a column is missing"))?;
    Ok((columns, rows.collect()))
}

fn read_text(path: &Path) -> Result<String, FileError> {
    let bytes = std::fs::read(path).map_err(FileError::at(path))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn rows(text: &str) -> impl Iterator<Item = StringRecord> {
    let reader =
        ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
    let is_blank = |row: &StringRecord| row.len() == 1 && row[0].trim().is_empty();
    reader.into_records().flatten().filter(move |row| !is_blank(row))
}

/// The trimmed value of a column; empty where the row is too short.
fn value(row: &StringRecord, column: usize) -> &str {
    row.get(column).unwrap_or_default().trim()
}

fn number(row: &StringRecord, column: usize) -> Option<f64> {
    value(row, column).parse().ok()
}

/// The row as one line, for messages.
fn line(row: &StringRecord) -> String {
    row.iter().collect::<Vec<_>>().join(",")
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn csv_files(folder: &Path) -> Result<Vec<PathBuf>, FileError> {
    with_extension(folder, "csv").map_err(FileError::at(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        folder
    }

    #[test]
    fn quotes_hold_commas_lines_and_quotes() {
        let rows = |text| rows(text).collect::<Vec<_>>();
        let found = rows("\u{feff}a,b\r\n\"x, y\",\"say \"\"hi\"\"\nthere\"\n\n \n,last");
        assert_eq!(found, [vec!["a", "b"], vec!["x, y", "say \"hi\"\nthere"], vec!["", "last"]]);
        assert!(rows("").is_empty());
        assert_eq!(rows("\"open"), [vec!["open"]]);
        let folder = folder(&[("t.csv", "id,text\n1,boil")]);
        let columns = |names: &[&str]| table(&folder.path().join("t.csv"), "x", [names]);
        assert_eq!(
            columns(&["word", "text"]).unwrap(),
            ([1], vec![StringRecord::from(vec!["1", "boil"])])
        );
        assert!(columns(&["none"]).is_err());
    }

    #[test]
    fn the_folder_of_crosstask_is_read() {
        let tasks = "7\nMake Tea\nhttps://example.org\n2\nboil water,steep\n\n";
        let files = [
            ("tasks_primary.txt", tasks),
            ("annotations/7_a_b.csv", "1,2.5,4.0\n2,5,9\n3,10,11\n"),
            ("annotations/8_x.csv", ""),
        ];
        let found = super::super::read("crosstask", folder(&files).path()).unwrap();
        assert_eq!((found.videos[0].id.as_str(), found.steps(), found.issues.len()), ("a_b", 2, 2));
    }

    #[test]
    fn the_folder_of_niv_is_read() {
        let files = [
            ("csvs/repot_0001.csv", "PUT SOIL,0.04,2.96\nPLACE PLANT,7.0,9.5\n"),
            ("csvs/repot_0002.csv", "PUT SOIL\n"),
        ];
        let found = niv(folder(&files).path()).unwrap();
        assert_eq!((found.videos.len(), found.steps(), found.issues.len()), (1, 2, 2));
        assert_eq!(found.videos[0].task, "repot");
        assert_eq!(found.videos[0].steps[0].text, "put soil");
    }

    #[test]
    fn steps_of_htstep_get_their_words_from_the_taxonomy() {
        let taxonomy = "global_step_index,activity,step_index,headline,paragraph\n\
            0,Make Tea,0,Boil the water.,\"Fill it, then wait.\"\n1,Make Tea,1,Steep.,\nx,,,,\n";
        let found = htstep(folder(&[("taxonomy.csv", taxonomy)]).path()).unwrap();
        assert_eq!((found.videos.len(), found.issues.len()), (0, 2));
        let rows = "video_id,global_step_index,start,end\nv,1,9,12\nv,0,2,8\nv,7,1,2\n";
        let files = [("taxonomy.csv", taxonomy), ("annotations.csv", rows)];
        let found = htstep(folder(&files).path()).unwrap();
        assert_eq!(found.issues.len(), 2);
        let texts: Vec<&str> = found.videos[0].steps.iter().map(|s| s.text.as_str()).collect();
        assert_eq!(texts, ["Boil the water.", "Steep."]);
    }
}
