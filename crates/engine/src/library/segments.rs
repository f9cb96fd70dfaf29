//! The pool of a library out of its segments.
//!
//! A new video has only its own file. Queries read such videos from there, until they are so many that a segment is
//! made of them; so adding a video never writes others again. Segments are a cache: what is missing or damaged
//! is made again from the videos' files, and two processes that do so write the same bytes.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;
use stitch_core::clip::{Clip, VideoId};
use stitch_core::features::{Features, Rows};
use stitch_core::pool::{Agreement, Pool};

use super::features::{self, damaged, half_bytes};
use super::rows::{MappedRows, MatrixRows};
use super::segment::{MATRICES, NewSegment, PoolSegment, SegmentVideo};
use super::store::LooseVideo;
use super::{Library, LibraryError, checksum};
use crate::files::{FileError, sync_folder, write_whole};

/// At most so many videos are read from their own files at each opening: a millisecond each.
const MAX_LOOSE_VIDEOS: usize = 64;
/// A segment of so many clips, some 140 MB, is not merged with others: it is made in memory.
const FULL_SEGMENT_ROWS: usize = 1 << 15;

/// What a pool is made of.
struct Parts {
    segments: Vec<PoolSegment>,
    /// The segment of each ready video, and the place among the segment's videos.
    stored: BTreeMap<u32, (usize, usize)>,
    loose: Vec<LooseVideo>,
}

impl Library {
    /// P: every clip with its features, in row order. Only clips of videos that are ready.
    pub fn pool(&self) -> Result<Pool, LibraryError> {
        let load = || {
            let mut parts = self.parts()?;
            if parts.has_many_loose() {
                match self.merge(&parts, &parts.small_segments()) {
                    Ok(()) => parts = self.parts()?,
                    // A disk that cannot be written is no error here, and damage is met again below.
                    Err(error) => tracing::debug!(%error, "the segment is not kept"),
                }
            }
            self.join(parts)
        };
        let before = self.generation()?;
        // A writer may have replaced a file after its row was read.
        load().or_else(|error| if self.generation()? == before { Err(error) } else { load() })
    }

    /// Merges all small segments and leaves out what is no longer used. Returns how many segments there are.
    pub fn optimise(&self) -> Result<usize, LibraryError> {
        let parts = self.parts()?;
        if parts.stored.is_empty() && parts.loose.is_empty() {
            return Err(LibraryError::Empty { folder: self.folder.clone() });
        }
        let partial = parts.partial_segments();
        if !parts.loose.is_empty()
            || partial.len() > 1
            || partial.iter().any(|at| parts.has_unused(*at))
        {
            self.merge(&parts, &partial)?;
        }
        Ok(files(&self.folder).len())
    }

    fn parts(&self) -> Result<Parts, LibraryError> {
        let open = |file: PathBuf| {
            let segment = PoolSegment::open(&file).and_then(|segment| self.checked(segment));
            segment.inspect_err(|error| tracing::warn!(%error, "the segment is made again")).ok()
        };
        let segments: Vec<PoolSegment> = files(&self.folder).into_iter().filter_map(open).collect();
        let mut places = HashMap::new();
        for (at, segment) in segments.iter().enumerate() {
            for (video, SegmentVideo { id, sha256, .. }) in segment.videos.iter().enumerate() {
                places.insert((*id, sha256.as_str()), (at, video));
            }
        }
        let (stored, loose) = self.ready_videos(|id, sha256| places.get(&(id, sha256)).copied())?;
        Ok(Parts { segments, stored, loose })
    }

    /// An error unless the segment is of this library's encoder.
    fn checked(&self, segment: PoolSegment) -> Result<PoolSegment, LibraryError> {
        let [_, dim, _] = segment.dims();
        match segment.len() == 0 || dim == self.encoder.dim {
            true => Ok(segment),
            false => Err(damaged(&segment.file, format!("its rows have {dim} numbers"))),
        }
    }

    /// The pool; loose videos become a segment in memory.
    fn join(&self, parts: Parts) -> Result<Pool, LibraryError> {
        let Parts { mut segments, mut stored, loose } = parts;
        if !loose.is_empty() {
            let mut new = NewSegment::default();
            loose.iter().try_for_each(|video| self.push_loose(&mut new, video))?;
            let segment = PoolSegment::new(&self.folder, Box::new(new.finish(&self.folder)?))?;
            let at = segments.len();
            stored.extend(segment.videos.iter().enumerate().map(|(place, v)| (v.id, (at, place))));
            segments.push(segment);
        }
        let videos: Vec<(usize, &SegmentVideo)> = stored
            .values()
            .map(|(segment, video)| (*segment, &segments[*segment].videos[*video]))
            .filter(|(_, video)| !video.rows.is_empty())
            .collect();
        let Some((first, _)) = videos.first() else {
            return Err(LibraryError::Empty { folder: self.folder.clone() });
        };
        let dims = segments[*first].dims();
        let agreement = videos.iter().fold(Agreement::default(), |sum, (_, v)| sum + v.agreement);
        if let Some((other, _)) =
            videos.iter().find(|(segment, _)| segments[*segment].dims() != dims)
        {
            return Err(damaged(&segments[*other].file, "its rows have another length"));
        }
        let clips = all_clips(&segments, &videos)?;
        let stretches: Vec<_> =
            videos.iter().map(|(at, video)| (*at, video.rows.clone())).collect();
        let rows = Arc::new(MappedRows::new(segments, stretches.into_iter()));
        let of = |matrix: usize| -> Arc<dyn Rows> {
            Arc::new(MatrixRows { rows: Arc::clone(&rows), matrix, dim: dims[matrix] })
        };
        let [text, clip, appearance] = [0, 1, 2].map(of);
        let pool =
            Pool::of_rows(clips, text, clip).map_err(|error| damaged(&self.folder, error))?;
        Ok(pool.with_appearance(appearance).agreeing(agreement).with_shortlist(rows))
    }

    fn push_loose(&self, new: &mut NewSegment, video: &LooseVideo) -> Result<(), LibraryError> {
        let LooseVideo { id, sha256, file, clips } = video;
        let (mut halves, mut dims) = ([const { Vec::new() }; MATRICES.len()], [0; MATRICES.len()]);
        let mut agreement = Agreement::default();
        if !clips.is_empty() {
            let read = features::read_checked(&self.folder, self.encoder.dim, file)?;
            let matrices = [&read.text, &read.clip, &read.appearance];
            halves = matrices.map(half_bytes);
            dims = matrices.map(Features::dim);
            agreement = read.agreement;
        }
        let about =
            SegmentVideo { id: *id, sha256: sha256.clone(), rows: 0..clips.len(), agreement };
        new.push(&about, clips.iter().cloned().map(Ok), dims, halves.each_ref().map(Vec::as_slice))
    }

    /// Writes the loose videos and those of the given segments to new segments, and removes what is no longer used.
    fn merge(&self, parts: &Parts, segments: &[usize]) -> Result<(), LibraryError> {
        let mut sources: BTreeMap<u32, Option<&LooseVideo>> =
            parts.loose.iter().map(|video| (video.id, Some(video))).collect();
        let merged = parts.stored.iter().filter(|(_, (segment, _))| segments.contains(segment));
        sources.extend(merged.map(|(id, _)| (*id, None)));
        let mut kept: Vec<PathBuf> = (0..parts.segments.len())
            .filter(|segment| !segments.contains(segment) && parts.live_rows(*segment) > 0)
            .map(|segment| parts.segments[segment].file.clone())
            .collect();
        let mut new = NewSegment::default();
        let mut left = sources.len();
        for (id, loose) in sources {
            match loose {
                Some(video) => self.push_loose(&mut new, video)?,
                None => parts.push_stored(&mut new, id)?,
            }
            left -= 1;
            if new.len() >= FULL_SEGMENT_ROWS || left == 0 {
                kept.push(write(&self.folder, std::mem::take(&mut new))?);
            }
        }
        let unused = features::pools(&self.folder).into_iter().filter(|file| !kept.contains(file));
        unused.for_each(|file| drop(std::fs::remove_file(file)));
        Ok(sync_folder(&self.folder).map_err(FileError::at(&self.folder))?)
    }
}

impl Parts {
    fn has_many_loose(&self) -> bool {
        let has_clips = self.loose.iter().any(|video| !video.clips.is_empty());
        has_clips && (self.segments.is_empty() || self.loose.len() > MAX_LOOSE_VIDEOS)
    }

    /// Rows of a segment that belong to ready videos.
    fn live_rows(&self, segment: usize) -> usize {
        let live = self.stored.values().filter(|(at, _)| *at == segment);
        live.map(|(_, video)| self.segments[segment].videos[*video].rows.len()).sum()
    }

    /// Those that are not larger than what is merged with them, so that a row is written again only a few times
    /// however many videos are added.
    fn small_segments(&self) -> Vec<usize> {
        let mut by_size: Vec<usize> = (0..self.segments.len()).collect();
        by_size.sort_by_key(|segment| self.segments[*segment].len());
        let mut rows: usize = self.loose.iter().map(|video| video.clips.len()).sum();
        let is_small = |segment: &usize| {
            let own = self.segments[*segment].len();
            let small = own <= rows && own < FULL_SEGMENT_ROWS;
            rows += own;
            small
        };
        by_size.into_iter().take_while(is_small).collect()
    }

    /// Those that are not full of rows that are used.
    fn partial_segments(&self) -> Vec<usize> {
        let is_full =
            |at: usize| !self.has_unused(at) && self.segments[at].len() >= FULL_SEGMENT_ROWS;
        (0..self.segments.len()).filter(|at| !is_full(*at)).collect()
    }

    fn has_unused(&self, segment: usize) -> bool {
        self.live_rows(segment) < self.segments[segment].len()
    }

    fn push_stored(&self, new: &mut NewSegment, id: u32) -> Result<(), LibraryError> {
        let (segment, video) = self.stored[&id];
        let segment = &self.segments[segment];
        let video = &segment.videos[video];
        let halves = [0, 1, 2].map(|matrix| segment.halves(matrix, video.rows.clone()));
        new.push(video, segment.clips(video), segment.dims(), halves)
    }
}

/// The clips of the videos, one after the other. Each thread writes its clips to their places: copying a million takes
/// as long as reading them.
fn all_clips(
    segments: &[PoolSegment],
    videos: &[(usize, &SegmentVideo)],
) -> Result<Vec<Clip>, LibraryError> {
    let mut count = 0;
    let first = |(_, video): &(usize, &SegmentVideo)| {
        count += video.rows.len();
        count - video.rows.len()
    };
    let firsts: Vec<usize> = videos.iter().map(first).collect();
    let clip = |row: usize| {
        let at = firsts.partition_point(|first| *first <= row) - 1;
        let (segment, video) = videos[at];
        segments[segment].clip(VideoId(video.id), video.rows.start + row - firsts[at])
    };
    let clips: Vec<_> = (0..count).into_par_iter().map(|row| clip(row).ok()).collect();
    let clips = clips.into_iter().enumerate();
    clips.map(|(row, found)| found.map_or_else(|| clip(row), Ok)).collect()
}

/// The segments of a library.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = features::pools(folder);
    files.retain(|file| features::is_segment(file));
    files.sort();
    files
}

fn write(folder: &Path, new: NewSegment) -> Result<PathBuf, LibraryError> {
    let bytes = new.finish(folder)?;
    let file = folder.join(features::segment_name(&checksum::sha256(&bytes)));
    write_whole(&file, &bytes)?;
    Ok(file)
}
