//! A tar archive read in place: names, offsets and lengths first, then single members.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use stitch_engine::files::FileError;

use super::SetError;

/// Length of a header in bytes; a complete archive ends with at least one block of zeros.
const BLOCK_BYTES: u64 = 512;

/// The table of contents of an archive.
#[derive(Clone, Debug)]
pub struct TarIndex {
    path: PathBuf,
    members: HashMap<String, Member>,
    /// Whether the file ends before the archive does; `members` has those that are complete.
    pub truncated: bool,
}

#[derive(Clone, Copy, Debug)]
struct Member {
    start: u64,
    length: u64,
}

impl TarIndex {
    pub fn open(path: &Path) -> Result<Self, SetError> {
        let file = File::open(path).map_err(FileError::at(path))?;
        let file_length = file.metadata().map_err(FileError::at(path))?.len();
        let not_tar = |reason: io::Error| SetError::Archive { path: path.into(), reason };
        let mut archive = tar::Archive::new(file);
        let (mut members, mut end, mut failed) = (HashMap::new(), 0u64, None);
        for entry in archive.entries_with_seek().map_err(not_tar)? {
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            };
            let (start, length) = (entry.raw_file_position(), entry.size());
            let member_end = start.saturating_add(length);
            end = member_end.checked_next_multiple_of(BLOCK_BYTES).unwrap_or(u64::MAX);
            let kind = entry.header().entry_type();
            if member_end <= file_length && (kind.is_file() || kind.is_contiguous()) {
                let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
                members.insert(relative(&name).to_owned(), Member { start, length });
            }
        }
        let mut truncated = end.saturating_add(BLOCK_BYTES) > file_length;
        if let Some(error) = failed {
            // What fails at the end of the file was cut there, be it in a header or in a long name;
            // without a member before it, the file is no archive.
            let read_to = archive.into_inner().stream_position().map_err(FileError::at(path))?;
            truncated |= end > 0 && read_to >= file_length;
            if !truncated {
                return Err(not_tar(error));
            }
        }
        Ok(Self { path: path.to_owned(), members, truncated })
    }

    /// The member that a set refers to by this name: itself, under `images/`, or the only one whose
    /// path ends with it.
    pub fn find(&self, name: &str) -> Option<&str> {
        let name = relative(name);
        let exact = self.members.get_key_value(name);
        let exact = exact.or_else(|| self.members.get_key_value(&format!("images/{name}")));
        if let Some((found, _)) = exact {
            return Some(found);
        }
        let suffix = format!("/{name}");
        let mut matching = self.members.keys().filter(|member| member.ends_with(&suffix));
        matching.next().filter(|_| matching.next().is_none()).map(String::as_str)
    }

    /// The bytes of a member; none if there is no such member or it has more than `max_bytes`.
    pub fn read(&self, member: &str, max_bytes: u64) -> io::Result<Option<Vec<u8>>> {
        let member = self.members.get(member).filter(|member| member.length <= max_bytes);
        let Some(Member { start, length }) = member.copied() else { return Ok(None) };
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        file.take(length).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }
}

/// A name without leading `/` and `./`.
fn relative(name: &str) -> &str {
    let mut name = name.trim_start_matches('/');
    while let Some(rest) = name.strip_prefix("./") {
        name = rest.trim_start_matches('/');
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (name, content) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(content.len() as u64);
            builder.append_data(&mut header, name, *content).unwrap();
        }
        builder.into_inner().unwrap()
    }

    fn member(name: &str, content: &[u8], kind: tar::EntryType) -> Vec<u8> {
        let mut header = tar::Header::new_ustar();
        header.set_path(name).unwrap();
        header.set_size(content.len() as u64);
        header.set_entry_type(kind);
        header.set_cksum();
        let mut bytes = [header.as_bytes(), content].concat();
        bytes.resize(bytes.len().next_multiple_of(512), 0);
        bytes
    }

    fn opened(bytes: &[u8]) -> Result<TarIndex, SetError> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        TarIndex::open(&file.into_temp_path().keep().unwrap())
    }

    #[test]
    fn members_are_found_and_read() {
        let tar = opened(&archive(&[("images/a/1.png", b"one"), ("./b/2.png", b"")])).unwrap();
        assert_eq!(tar.members.len(), 2);
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
        assert!(opened(&archive(&[(&long, b"1")])).unwrap().find(&long).is_some());
        let pax = format!("{} path={long}\n", long.len() + 10);
        let pax = member("PaxHeaders/1", pax.as_bytes(), tar::EntryType::XHeader);
        let pax = [pax, member("short", b"1", tar::EntryType::Regular)];
        assert!(opened(&pax.concat()).unwrap().find(&long).is_some());
    }

    #[test]
    fn broken_archives_are_told_or_give_what_is_whole() {
        for length in [512, 2048] {
            assert!(
                matches!(opened(&[7; 2048][..length]), Err(SetError::Archive { .. })),
                "{length}"
            );
        }
        assert!(opened(b"").unwrap().members.is_empty());
        let long = "x".repeat(1000);
        let bytes = archive(&[("a", b"1"), (&long, b"3"), ("b", &[2; 2000])]);
        // Header and content of `a`, header and 1001 bytes of the long name, its member, and so on.
        for cut in [1024, 1100, 1536, 2000, 2048, 2560, 2600] {
            let tar = opened(&bytes[..cut]).unwrap();
            assert_eq!((tar.members.len(), tar.truncated), (1, true), "{cut}");
        }
        assert_eq!(opened(&bytes[..5000]).unwrap().members.len(), 2);
        let mut damaged = bytes.clone();
        damaged[1024] ^= 1;
        assert!(matches!(opened(&damaged), Err(SetError::Archive { .. })), "a wrong checksum");
    }

    #[test]
    fn lengths_beyond_the_file_and_beyond_any_are_told() {
        let with_length = |length: u64| {
            let mut header = tar::Header::new_gnu();
            header.set_path("b").unwrap();
            header.set_size(length);
            header.set_cksum();
            let first = member("a", b"1", tar::EntryType::Regular);
            opened(&[&first[..], header.as_bytes(), &[0; 4096]].concat())
        };
        let long = with_length(1 << 40).unwrap();
        assert_eq!((long.members.len(), long.truncated), (1, true));
        for length in [u64::MAX, u64::MAX - 600] {
            let told = with_length(length).unwrap_err().to_string();
            assert!(told.contains("size overflow"), "{told}");
        }
    }
}
