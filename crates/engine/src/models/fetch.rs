//! Fetching one file by address: resumed where it stopped, checked against its hash.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::manifest;
use crate::files::FileError;
use crate::media::MediaError;
use crate::progress::{Progress, Stopped};

/// Why a place did not give the bytes it should.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error("{url}: {reason}")]
    Refused { url: String, reason: String },
    #[error("{url}: the transfer ended at {have} of {size} bytes; the same command goes on there")]
    Truncated { url: String, have: u64, size: u64 },
    #[error("{what} has {found} bytes there, not the {expected} of the manifest")]
    WrongSize { what: String, expected: u64, found: u64 },
    #[error("{what} has the hash {found}, not {expected} of the manifest; it was thrown away")]
    WrongHash { what: String, expected: String, found: String },
    #[error("{what}: {reason}")]
    Archive { what: String, reason: String },
    #[error(transparent)]
    Program(#[from] MediaError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// Brings `file` from `url` to `path`, whole and checked. What an earlier run left in `partial`
/// is gone on with.
pub fn fetch(
    url: &str,
    file: &manifest::File,
    (partial, path): (&Path, &Path),
    progress: &dyn Progress,
) -> Result<(), FetchError> {
    progress.begin(&format!("fetching {}", file.name), file.size);
    let mut have = kept(partial, file.size)?;
    progress.advance(have);
    while have < file.size {
        let before = have;
        let ended = transfer(url, partial, file.size, progress);
        have = kept(partial, file.size)?;
        match ended {
            // A broken connection is worth another try as long as each one brings more.
            Ok(()) | Err(FetchError::Refused { .. }) if have > before => {}
            Ok(()) if have < file.size => {
                return Err(FetchError::Truncated { url: url.into(), have, size: file.size });
            }
            ended => ended?,
        }
    }
    check(partial, &file.name, &file.sha256, progress)?;
    std::fs::rename(partial, path).map_err(FileError::at(path))?;
    Ok(())
}

/// The bytes of a short file, of this length where that is known and never more than `most`.
pub fn small(url: &str, size: Option<u64>, most: u64) -> Result<Vec<u8>, FetchError> {
    let (reader, _, _) = match url.strip_prefix("file://") {
        Some(path) => open_file(url, path, 0)?,
        None => open_http(url, 0)?,
    };
    let mut bytes = Vec::new();
    reader.take(most + 1).read_to_end(&mut bytes).map_err(|error| refused(url, error))?;
    let found = bytes.len() as u64;
    match size {
        Some(expected) if expected != found => {
            Err(FetchError::WrongSize { what: url.into(), expected, found })
        }
        _ if found > most => Err(refused(url, format!("it is longer than {most} bytes"))),
        _ => Ok(bytes),
    }
}

/// How many bytes an earlier run left; more than there can be are thrown away.
fn kept(partial: &Path, size: u64) -> Result<u64, FileError> {
    match std::fs::metadata(partial) {
        Ok(found) if found.len() <= size => Ok(found.len()),
        Ok(_) => std::fs::remove_file(partial).map(|()| 0).map_err(FileError::at(partial)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(FileError::at(partial)(error)),
    }
}

/// One connection: appends what the place sends after what is here already.
fn transfer(
    url: &str,
    partial: &Path,
    size: u64,
    progress: &dyn Progress,
) -> Result<(), FetchError> {
    let keep = |error| FileError::at(partial)(error);
    let mut target = OpenOptions::new().create(true).append(true).open(partial).map_err(keep)?;
    let have = target.metadata().map_err(keep)?.len();
    let mut body = Body::open(url, have, size)?;
    if body.offset != have {
        target.set_len(0).map_err(keep)?;
    }
    let mut left = size - body.offset;
    let mut buffer = vec![0; 1 << 18];
    while left > 0 {
        progress.check()?;
        let want = buffer.len().min(left.try_into().unwrap_or(usize::MAX));
        let count = body.reader.read(&mut buffer[..want]).map_err(|error| refused(url, error))?;
        if count == 0 {
            break;
        }
        target.write_all(&buffer[..count]).map_err(keep)?;
        left -= count as u64;
        progress.advance(count as u64);
    }
    target.sync_all().map_err(keep)?;
    Ok(())
}

fn refused(url: &str, reason: impl ToString) -> FetchError {
    FetchError::Refused { url: url.into(), reason: reason.to_string() }
}

/// What a place sends, and from which byte on.
struct Body {
    reader: Box<dyn Read>,
    offset: u64,
}

impl Body {
    fn open(url: &str, have: u64, size: u64) -> Result<Self, FetchError> {
        let (reader, offset, total) = match url.strip_prefix("file://") {
            Some(path) => open_file(url, path, have)?,
            None => open_http(url, have)?,
        };
        match total {
            Some(found) if found != size => {
                Err(FetchError::WrongSize { what: url.into(), expected: size, found })
            }
            _ => Ok(Self { reader, offset }),
        }
    }
}

type Opened = (Box<dyn Read>, u64, Option<u64>);

fn open_file(url: &str, path: &str, have: u64) -> Result<Opened, FetchError> {
    let open = || {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(have))?;
        let total = file.metadata()?.len();
        Ok((Box::new(file) as Box<dyn Read>, have, Some(total)))
    };
    open().map_err(|error: io::Error| refused(url, error))
}

fn open_http(url: &str, have: u64) -> Result<Opened, FetchError> {
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
    let total = range.and_then(|range| range.rsplit('/').next()?.parse().ok());
    let length = response.body().content_length();
    let status = response.status().as_u16();
    let reader = Box::new(response.into_body().into_with_config().limit(u64::MAX).reader());
    match status {
        200 => Ok((reader, 0, length)),
        206 if range_starts_at(total, length, have) => Ok((reader, have, total)),
        416 => Ok((reader, have, total.or(Some(0)))),
        _ => Err(refused(url, format!("the server answered {status}"))),
    }
}

/// Whether a part of a file begins where it was asked to: what is left fills it exactly.
fn range_starts_at(total: Option<u64>, length: Option<u64>, have: u64) -> bool {
    match (total, length) {
        (Some(total), Some(length)) => total.checked_sub(length) == Some(have),
        _ => true,
    }
}

/// Compares a file with its hash and throws it away if it differs.
pub fn check(
    path: &Path,
    what: &str,
    expected: &str,
    progress: &dyn Progress,
) -> Result<(), FetchError> {
    let found = sha256(path, progress)?;
    if found == expected {
        return Ok(());
    }
    std::fs::remove_file(path).map_err(FileError::at(path))?;
    Err(FetchError::WrongHash { what: what.into(), expected: expected.into(), found })
}

/// The SHA-256 of a file in hexadecimal.
pub fn sha256(path: &Path, progress: &dyn Progress) -> Result<String, FetchError> {
    let mut file = File::open(path).map_err(FileError::at(path))?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        progress.check()?;
        match file.read(&mut buffer).map_err(FileError::at(path))? {
            0 => return Ok(hexadecimal(&hash.finalize())),
            count => hash.update(&buffer[..count]),
        }
    }
}

/// The SHA-256 of bytes in hexadecimal.
pub fn sha256_of(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
