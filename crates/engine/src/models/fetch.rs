//! Downloading one file: resumed where it stopped, checked against its hash.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::{ModelError, Result, manifest};
use crate::files::{FileError, hex};
use crate::progress::Progress;

/// A model being pulled.
pub struct Pull<'a> {
    /// What is not finished; an interrupted pull goes on from there.
    pub work: &'a Path,
    /// The files that are whole and checked.
    pub staged: &'a Path,
    pub progress: &'a dyn Progress,
}

impl Pull<'_> {
    /// Downloads a file and checks it, unless an earlier run did.
    pub fn fetch(&self, url: &str, file: &manifest::File) -> Result<()> {
        let (partial, path) =
            (self.work.join(format!("{}.part", file.name)), self.staged.join(&file.name));
        if path.exists() {
            return Ok(());
        }
        for folder in [&partial, &path].into_iter().filter_map(|file| file.parent()) {
            std::fs::create_dir_all(folder).map_err(FileError::at(folder))?;
        }
        self.progress.begin(&format!("fetching {}", file.name), file.size);
        let mut have = kept(&partial, file.size)?;
        self.progress.advance(have);
        while have < file.size {
            let before = have;
            let ended = self.transfer(url, &partial, file.size);
            have = kept(&partial, file.size)?;
            match ended {
                // A broken connection is tried again as long as each one brings more.
                Ok(()) | Err(ModelError::Refused { .. }) if have > before => {}
                Ok(()) if have < file.size => {
                    return Err(ModelError::Truncated { url: url.into(), have, size: file.size });
                }
                ended => ended?,
            }
        }
        self.check(&partial, &file.name, &file.sha256)?;
        std::fs::rename(&partial, &path).map_err(FileError::at(path))?;
        Ok(())
    }

    /// One connection: appends what the server sends.
    fn transfer(&self, url: &str, partial: &Path, size: u64) -> Result<()> {
        let keep = |error| FileError::at(partial)(error);
        let mut target =
            OpenOptions::new().create(true).append(true).open(partial).map_err(keep)?;
        let have = target.metadata().map_err(keep)?.len();
        let mut body = Body::open(url, have)?;
        if let Some(found) = body.total.filter(|total| *total != size) {
            return Err(ModelError::WrongSize { what: url.into(), expected: size, found });
        }
        if body.offset != have {
            target.set_len(0).map_err(keep)?;
        }
        let mut left = size - body.offset;
        let mut buffer = vec![0; 1 << 18];
        while left > 0 {
            self.progress.check()?;
            let want = buffer.len().min(left.try_into().unwrap_or(usize::MAX));
            let count = body.reader.read(&mut buffer[..want]).map_err(|e| refused(url, e))?;
            if count == 0 {
                break;
            }
            target.write_all(&buffer[..count]).map_err(keep)?;
            left -= count as u64;
            self.progress.advance(count as u64);
        }
        target.sync_all().map_err(keep)?;
        Ok(())
    }

    /// Compares a file with its hash and deletes it if it differs.
    pub fn check(&self, path: &Path, what: &str, expected: &str) -> Result<()> {
        let found = sha256_of_file(path, self.progress)?;
        if found == expected {
            return Ok(());
        }
        std::fs::remove_file(path).map_err(FileError::at(path))?;
        Err(ModelError::WrongHash { what: what.into(), expected: expected.into(), found })
    }
}

/// The bytes of a short file, of this size where that is known and at most `max` bytes.
pub fn small(url: &str, size: Option<u64>, max: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut reader = Body::open(url, 0)?.reader.take(max + 1);
    reader.read_to_end(&mut bytes).map_err(|error| refused(url, error))?;
    let found = bytes.len() as u64;
    match size {
        Some(expected) if expected != found => {
            Err(ModelError::WrongSize { what: url.into(), expected, found })
        }
        _ if found > max => Err(refused(url, format!("it is longer than {max} bytes"))),
        _ => Ok(bytes),
    }
}

/// The size of what an earlier run left; if that is too large it is deleted.
fn kept(partial: &Path, size: u64) -> Result<u64, FileError> {
    match std::fs::metadata(partial) {
        Ok(found) if found.len() <= size => Ok(found.len()),
        Ok(_) => std::fs::remove_file(partial).map(|()| 0).map_err(FileError::at(partial)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(FileError::at(partial)(error)),
    }
}

fn refused(url: &str, reason: impl ToString) -> ModelError {
    ModelError::Refused { url: url.into(), reason: reason.to_string() }
}

/// What a server sends, from byte `offset` on, and the size of the whole file if it says.
struct Body {
    reader: Box<dyn Read>,
    offset: u64,
    total: Option<u64>,
}

impl Body {
    fn open(url: &str, have: u64) -> Result<Self> {
        match url.strip_prefix("file://") {
            Some(path) => Self::file(path, have).map_err(|error| refused(url, error)),
            None => open_http(url, have),
        }
    }

    fn file(path: &str, offset: u64) -> io::Result<Self> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(offset))?;
        let total = Some(file.metadata()?.len());
        Ok(Self { reader: Box::new(file), offset, total })
    }
}

fn open_http(url: &str, have: u64) -> Result<Body> {
    let agent = ureq::Agent::config_builder()
        .timeout_connect(Some(Duration::from_secs(10)))
        .timeout_recv_response(Some(Duration::from_secs(30)))
        .http_status_as_error(false)
        .build()
        .new_agent();
    let mut request = agent.get(url).header("Accept-Encoding", "identity");
    if have > 0 {
        request = request.header("Range", format!("bytes={have}-"));
    }
    let response = request.call().map_err(|error| refused(url, error))?;
    let range = response.headers().get("content-range").and_then(|value| value.to_str().ok());
    let total: Option<u64> = range.and_then(|range| range.rsplit('/').next()?.parse().ok());
    let length = response.body().content_length();
    let status = response.status().as_u16();
    let reader = Box::new(response.into_body().into_with_config().limit(u64::MAX).reader());
    // A partial response begins at the requested byte if its length is exactly what is missing.
    let starts_there = || match (total, length) {
        (Some(total), Some(length)) => total.checked_sub(length) == Some(have),
        _ => true,
    };
    match status {
        200 => Ok(Body { reader, offset: 0, total: length }),
        206 if starts_there() => Ok(Body { reader, offset: have, total }),
        416 => Ok(Body { reader, offset: have, total: total.or(Some(0)) }),
        _ => Err(refused(url, format!("the server answered {status}"))),
    }
}

/// The SHA-256 of a file in hexadecimal.
pub fn sha256_of_file(path: &Path, progress: &dyn Progress) -> Result<String> {
    let mut file = File::open(path).map_err(FileError::at(path))?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        progress.check()?;
        match file.read(&mut buffer).map_err(FileError::at(path))? {
            0 => return Ok(hex(&hash.finalize())),
            count => hash.update(&buffer[..count]),
        }
    }
}

pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}
