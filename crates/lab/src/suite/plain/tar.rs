//! A tar archive read where it lies: names, places and lengths first, members one by one after.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use stitch_engine::files::FileError;

/// Headers and contents begin at multiples of this.
const BLOCK: u64 = 512;

/// The longest name or note that is read.
const LONGEST_NOTE: u64 = 1 << 20;

/// An archive's table of contents.
#[derive(Clone, Debug)]
pub struct Tar {
    path: PathBuf,
    members: HashMap<String, Member>,
    /// Whether it ends in the middle of a member.
    pub cut_short: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Member {
    start: u64,
    length: u64,
}

/// Why an archive has no table of contents.
#[derive(Debug, thiserror::Error)]
pub enum TarError {
    /// It could not be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// It is no tar archive.
    #[error("{}: not a tar archive (the header at byte {at} is wrong); unpack it and give the \
        folder instead", path.display())]
    NotTar {
        /// Which file.
        path: PathBuf,
        /// Where it went wrong.
        at: u64,
    },
}

/// One header of 512 bytes, as far as it matters.
struct Header {
    name: String,
    length: u64,
    kind: u8,
}

impl Tar {
    /// Reads the table of contents.
    pub fn open(path: &Path) -> Result<Self, TarError> {
        let keep = |error| FileError::at(path)(error);
        let mut file = File::open(path).map_err(keep)?;
        let end = file.metadata().map_err(keep)?.len();
        let mut tar = Self { path: path.to_owned(), members: HashMap::new(), cut_short: false };
        let (mut at, mut long_name, mut long_length) = (0, None, None);
        while let Some(block) = block(&mut file, at, end).map_err(keep)? {
            if block.iter().all(|byte| *byte == 0) {
                return Ok(tar);
            }
            let Some(header) = Header::read(&block) else {
                return Err(TarError::NotTar { path: path.to_owned(), at });
            };
            let length = long_length.take().unwrap_or(header.length);
            let start = at + BLOCK;
            let Some(next) =
                after(start, length).filter(|next| start + length <= end && *next > at)
            else {
                break;
            };
            match header.kind {
                b'L' => long_name = Some(text(&note(&mut file, start, length).map_err(keep)?)),
                b'x' => {
                    let note = note(&mut file, start, length).map_err(keep)?;
                    long_name = extended(&note, "path").or(long_name);
                    long_length = extended(&note, "size").and_then(|size| size.parse().ok());
                }
                b'0' | 0 | b'7' => {
                    let name = long_name.take().unwrap_or(header.name);
                    tar.members.insert(plain(&name), Member { start, length });
                }
                _ => long_name = None,
            }
            at = next;
        }
        tar.cut_short = true;
        Ok(tar)
    }

    /// How many files it holds.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether it holds no file.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The member that a set means by this name: itself, under `images/`, or the only one that ends
    /// with it.
    pub fn find(&self, name: &str) -> Option<&str> {
        let name = plain(name);
        let exact = [name.clone(), format!("images/{name}")];
        for name in &exact {
            if let Some((found, _)) = self.members.get_key_value(name) {
                return Some(found);
            }
        }
        let ending = format!("/{name}");
        let mut ends = self.members.keys().filter(|member| member.ends_with(&ending));
        ends.next().filter(|_| ends.next().is_none()).map(String::as_str)
    }

    /// The bytes of a member, at most so many; none if there is no such member or it is longer.
    pub fn read(&self, member: &str, most: u64) -> io::Result<Option<Vec<u8>>> {
        let Some(Member { start, length }) = self.members.get(member).copied() else {
            return Ok(None);
        };
        if length > most {
            return Ok(None);
        }
        let mut file = File::open(&self.path)?;
        note(&mut file, start, length).map(Some)
    }
}

/// Where the next header is; none beyond any file's end.
fn after(start: u64, length: u64) -> Option<u64> {
    start.checked_add(length)?.checked_next_multiple_of(BLOCK)
}

fn block(file: &mut File, at: u64, end: u64) -> io::Result<Option<[u8; BLOCK as usize]>> {
    if at.checked_add(BLOCK).is_none_or(|stop| stop > end) {
        return Ok(None);
    }
    let mut block = [0; BLOCK as usize];
    file.seek(SeekFrom::Start(at))?;
    file.read_exact(&mut block)?;
    Ok(Some(block))
}

fn note(file: &mut File, start: u64, length: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}

impl Header {
    /// None if the checksum is wrong: then these are no bytes of a header.
    fn read(block: &[u8; BLOCK as usize]) -> Option<Self> {
        let sum: u64 = block[..148].iter().chain(&block[156..]).map(|byte| u64::from(*byte)).sum();
        let sum = sum + 8 * u64::from(b' ');
        let kind = block[156];
        let length = number(&block[124..136])?;
        let is_note = matches!(kind, b'L' | b'x' | b'g' | b'K');
        if number(&block[148..156])? != sum || (is_note && length > LONGEST_NOTE) {
            return None;
        }
        let (name, prefix) = (text(&block[..100]), text(&block[345..500]));
        let ustar = &block[257..263] == b"ustar\0" && !prefix.is_empty();
        let name = if ustar { format!("{prefix}/{name}") } else { name };
        Some(Self { name, length, kind })
    }
}

/// Octal digits, or a binary number marked by its highest bit.
fn number(field: &[u8]) -> Option<u64> {
    if field.first().is_some_and(|first| first & 0x80 != 0) {
        let tail = field.get(field.len().checked_sub(8)?..)?;
        return Some(tail.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)));
    }
    let digits = text(field);
    let digits = digits.trim();
    if digits.is_empty() { Some(0) } else { u64::from_str_radix(digits, 8).ok() }
}

/// Up to the first zero byte.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// A value of an extended header, whose lines are `LENGTH KEY=VALUE`.
fn extended(note: &[u8], key: &str) -> Option<String> {
    let note = String::from_utf8_lossy(note);
    let value = |line: &str| {
        let (found, value) = line.split_once(' ')?.1.split_once('=')?;
        (found == key).then(|| value.to_owned())
    };
    note.lines().find_map(value)
}

/// A name without `./` before it.
fn plain(name: &str) -> String {
    let mut name = name.trim_start_matches('/');
    while let Some(rest) = name.strip_prefix("./") {
        name = rest.trim_start_matches('/');
    }
    name.to_owned()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// An archive of these files, written by the rules of the format.
    pub fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (name, content) in files {
            bytes.extend(member(name, content, b'0'));
        }
        bytes.extend([0; 1024]);
        bytes
    }

    fn member(name: &str, content: &[u8], kind: u8) -> Vec<u8> {
        let mut header = [0; 512];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[124..135].copy_from_slice(format!("{:011o}", content.len()).as_bytes());
        header[156] = kind;
        header[148..156].fill(b' ');
        let sum: u64 = header.iter().map(|byte| u64::from(*byte)).sum();
        header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        let mut bytes = [&header[..], content].concat();
        bytes.resize(bytes.len().next_multiple_of(512), 0);
        bytes
    }

    fn opened(bytes: &[u8]) -> Result<Tar, TarError> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        Tar::open(&file.into_temp_path().keep().unwrap())
    }

    #[test]
    fn members_are_found_and_read() {
        let tar = opened(&archive(&[("images/a/1.png", b"one"), ("./b/2.png", b"")])).unwrap();
        assert_eq!(tar.len(), 2);
        assert_eq!(tar.find("a/1.png"), Some("images/a/1.png"));
        assert_eq!(tar.find("./images/a/1.png"), Some("images/a/1.png"));
        assert_eq!(tar.find("2.png"), Some("b/2.png"), "the only one of that name");
        assert_eq!(tar.find("c.png"), None);
        assert_eq!(tar.read("images/a/1.png", 9).unwrap().unwrap(), b"one");
        assert_eq!(tar.read("images/a/1.png", 2).unwrap(), None, "longer than allowed");
    }

    #[test]
    fn long_names_of_both_kinds_are_read() {
        let long = format!("images/{}/1.png", "x".repeat(120));
        let gnu = [member("././@LongLink", long.as_bytes(), b'L'), member("short", b"1", b'0')];
        assert!(opened(&gnu.concat()).unwrap().find(&long).is_some());
        let pax = format!("{} path={long}\n", long.len() + 10);
        let pax = [member("PaxHeaders/1", pax.as_bytes(), b'x'), member("short", b"1", b'0')];
        assert!(opened(&pax.concat()).unwrap().find(&long).is_some());
    }

    #[test]
    fn broken_archives_are_told_or_give_what_is_whole() {
        assert!(matches!(opened(&[7; 2048]), Err(TarError::NotTar { at: 0, .. })));
        assert!(opened(b"").unwrap().is_empty());
        let mut bytes = archive(&[("a", b"1"), ("b", &[2; 2000])]);
        bytes.truncate(2048);
        let tar = opened(&bytes).unwrap();
        assert_eq!((tar.len(), tar.cut_short), (1, true));
        // A length beyond the file, and one that overflows.
        let mut huge = archive(&[("a", b"1")]);
        huge[124] = 0xff;
        huge[125..136].fill(0xff);
        assert!(matches!(opened(&huge), Err(TarError::NotTar { .. })), "its checksum is off");
    }
}
