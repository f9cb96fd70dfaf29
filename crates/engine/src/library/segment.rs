//! A segment of the pool, one file: the clips of some videos, their features (f16), and codes of these (8 bits) that
//! queries look through first. Its name contains its checksum, which only `verify` compares.

use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};

use half::f16;
use half::slice::HalfFloatSliceExt;
use memmap2::Mmap;
use rayon::prelude::*;
use safetensors::tensor::{Dtype, SafeTensorError, SafeTensors, TensorView};
use stitch_core::clip::{Clip, Span, VideoId};
use stitch_core::features::normalise;
use stitch_core::pool::{Agreement, Moment};
use stitch_nn::codes::{self, CodeScale};

use super::LibraryError;
use super::features::{APPEARANCE, damaged};

/// Features of clips.
pub(super) struct MatrixKind {
    /// The tensor of rows; those of codes and of their scales have one that begins so.
    name: &'static str,
    /// Rows of each clip.
    pub per_clip: usize,
    /// Whether queries look through it.
    coded: bool,
}

pub(super) const MATRICES: [MatrixKind; 3] = [
    MatrixKind { name: "text", per_clip: 1, coded: true },
    MatrixKind { name: "clip", per_clip: 1, coded: true },
    MatrixKind { name: APPEARANCE, per_clip: Moment::ALL.len(), coded: false },
];
const CODES: &str = "_codes";
const SCALES: &str = "_scales";
const VIDEOS: &str = "videos";
const CLIPS: &str = "clips";
const TEXTS: &str = "texts";

/// A video as it was when its clips were written.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SegmentVideo {
    pub id: u32,
    /// The checksum of its rows in the database, which names its features: the clips are current while it stays.
    pub sha256: String,
    /// Its rows in the segment.
    pub rows: Range<usize>,
    pub agreement: Agreement,
}

/// A segment that was read. Its bytes are mapped, or in memory where they could not be written.
pub(super) struct PoolSegment {
    pub file: PathBuf,
    bytes: Box<dyn AsRef<[u8]> + Send + Sync>,
    pub videos: Vec<SegmentVideo>,
    matrices: [Matrix; MATRICES.len()],
    clips: Range<usize>,
    texts: Range<usize>,
}

/// Where the tensors of a matrix are.
#[derive(Clone, Debug, Default)]
struct Matrix {
    dim: usize,
    rows: Range<usize>,
    codes: Range<usize>,
    scales: Range<usize>,
}

impl PoolSegment {
    pub fn open(file: &Path) -> Result<Self, LibraryError> {
        let wrong = |error: std::io::Error| damaged(file, error);
        let opened = File::open(file).map_err(wrong)?;
        // Safety: segments are written under other names and renamed, never changed in place.
        let map = unsafe { Mmap::map(&opened) }.map_err(wrong)?;
        Self::new(file, Box::new(map))
    }

    pub fn new(
        file: &Path,
        bytes: Box<dyn AsRef<[u8]> + Send + Sync>,
    ) -> Result<Self, LibraryError> {
        let all = (*bytes).as_ref();
        let wrong = |error: SafeTensorError| damaged(file, error);
        let tensors = SafeTensors::deserialize(all).map_err(wrong)?;
        let place = |data: &[u8]| {
            let start = data.as_ptr() as usize - all.as_ptr() as usize;
            start..start + data.len()
        };
        let tensor = |name: &str, dtype: Dtype| {
            let tensor = tensors.tensor(name).map_err(wrong)?;
            match (tensor.dtype() == dtype, tensor.shape()) {
                (true, &[rows, columns]) => Ok((rows, columns, place(tensor.data()))),
                _ => Err(damaged(file, format!("`{name}` is not a matrix of {dtype:?}"))),
            }
        };
        let (_, _, videos) = tensor(VIDEOS, Dtype::U8)?;
        let videos =
            read_videos(&all[videos]).ok_or_else(|| damaged(file, "bad list of videos"))?;
        let clips = videos.last().map_or(0, |video| video.rows.end);
        let mut matrices: [Matrix; MATRICES.len()] = Default::default();
        for (matrix, MatrixKind { name, per_clip, coded }) in matrices.iter_mut().zip(MATRICES) {
            let (rows, dim, place) = tensor(name, Dtype::F16)?;
            let mut is_whole = rows == clips * per_clip;
            *matrix = Matrix { dim, rows: place, ..Default::default() };
            if coded {
                let (rows, columns, codes) = tensor(&format!("{name}{CODES}"), Dtype::I8)?;
                is_whole &= (rows, columns) == (clips, dim);
                let (rows, columns, scales) = tensor(&format!("{name}{SCALES}"), Dtype::F32)?;
                is_whole &= (rows, columns) == (clips, 2);
                (matrix.codes, matrix.scales) = (codes, scales);
            }
            if !is_whole {
                return Err(damaged(file, format!("`{name}` is not of {clips} clips")));
            }
        }
        let ((listed, _, clips_place), (_, _, texts)) =
            (tensor(CLIPS, Dtype::U64)?, tensor(TEXTS, Dtype::U8)?);
        if listed != clips || clips_place.len() != clips * CLIP_BYTES {
            return Err(damaged(file, "its list of clips is cut short"));
        }
        Ok(Self { file: file.into(), videos, matrices, clips: clips_place, texts, bytes })
    }

    fn at(&self, range: &Range<usize>) -> &[u8] {
        &(*self.bytes).as_ref()[range.clone()]
    }

    /// All of its rows, also of videos that are no longer current.
    pub fn len(&self) -> usize {
        self.videos.last().map_or(0, |video| video.rows.end)
    }

    pub fn dims(&self) -> [usize; MATRICES.len()] {
        self.matrices.each_ref().map(|matrix| matrix.dim)
    }

    /// One of the rows of a clip in a matrix, in length 1.
    pub fn row(&self, matrix: usize, clip: usize, row: usize) -> Vec<f32> {
        let bytes = 2 * self.matrices[matrix].dim;
        unit_row(&self.halves(matrix, clip..clip + 1)[row * bytes..(row + 1) * bytes])
    }

    /// The rows of some clips in a matrix as they are stored.
    pub fn halves(&self, matrix: usize, clips: Range<usize>) -> &[u8] {
        let Matrix { dim, rows, .. } = &self.matrices[matrix];
        let bytes = 2 * dim * MATRICES[matrix].per_clip;
        &self.at(rows)[clips.start * bytes..clips.end * bytes]
    }

    pub fn scales(&self, matrix: usize, rows: Range<usize>) -> Vec<CodeScale> {
        let bytes = &self.at(&self.matrices[matrix].scales)[rows.start * 8..rows.end * 8];
        let (numbers, _) = bytes.as_chunks::<4>();
        let (pairs, _) = numbers.as_chunks::<2>();
        let scale = |pair: &[[u8; 4]; 2]| {
            let [scale, error] = pair.map(f32::from_le_bytes);
            CodeScale { scale, error }
        };
        pairs.iter().map(scale).collect()
    }

    pub fn codes(&self, matrix: usize, rows: Range<usize>) -> &[u8] {
        let Matrix { dim, codes, .. } = &self.matrices[matrix];
        &self.at(codes)[rows.start * dim..rows.end * dim]
    }

    /// The clips of one of its videos.
    pub fn clips(&self, video: &SegmentVideo) -> impl Iterator<Item = Result<Clip, LibraryError>> {
        let id = VideoId(video.id);
        video.rows.clone().map(move |row| self.clip(id, row))
    }

    /// The clip of a row, which is one of the video's.
    pub fn clip(&self, video: VideoId, row: usize) -> Result<Clip, LibraryError> {
        let (rows, _) = self.at(&self.clips).as_chunks::<CLIP_BYTES>();
        let from = row.checked_sub(1).map_or(0, |before| numbers(&rows[before])[2]);
        let [start, end, to] = numbers(&rows[row]);
        let text = self.at(&self.texts).get(from as usize..to as usize);
        let text = text.and_then(|text| String::from_utf8(text.to_vec()).ok());
        let clip = Span::new(start, end).zip(text);
        let clip = clip.map(|(span, text)| Clip { video, span, text });
        clip.ok_or_else(|| damaged(&self.file, "its list of clips is damaged"))
    }
}

/// Start, end, and where the text ends among all texts.
const CLIP_BYTES: usize = 24;

fn numbers(bytes: &[u8; CLIP_BYTES]) -> [u64; 3] {
    let (numbers, _) = bytes.as_chunks();
    [numbers[0], numbers[1], numbers[2]].map(u64::from_le_bytes)
}

/// Id, number of clips, agreement, checksum.
const VIDEO_BYTES: usize = 4 + 4 + 8 + 8 + 64;

fn read_videos(bytes: &[u8]) -> Option<Vec<SegmentVideo>> {
    let (videos, rest) = bytes.as_chunks::<VIDEO_BYTES>();
    let mut from = 0;
    let read = |video: &[u8; VIDEO_BYTES]| {
        let (head, sha256) = video.split_at(VIDEO_BYTES - 64);
        let word = |at: usize| Some(u32::from_le_bytes(head.get(at..at + 4)?.try_into().ok()?));
        let long = |at: usize| Some(u64::from_le_bytes(head.get(at..at + 8)?.try_into().ok()?));
        let rows = from..from + word(4)? as usize;
        from = rows.end;
        Some(SegmentVideo {
            id: word(0)?,
            sha256: std::str::from_utf8(sha256).ok()?.into(),
            rows,
            agreement: Agreement { suits: long(8)?, of: long(16)? },
        })
    };
    if rest.is_empty() { videos.iter().map(read).collect() } else { None }
}

/// A segment that is being made.
#[derive(Default)]
pub(super) struct NewSegment {
    dims: [usize; MATRICES.len()],
    videos: Vec<u8>,
    clips: Vec<u8>,
    texts: Vec<u8>,
    halves: [Vec<u8>; MATRICES.len()],
}

impl NewSegment {
    /// Clips so far.
    pub fn len(&self) -> usize {
        self.clips.len() / CLIP_BYTES
    }

    /// Adds a video; its rows as f16.
    pub fn push(
        &mut self,
        video: &SegmentVideo,
        clips: impl Iterator<Item = Result<Clip, LibraryError>>,
        dims: [usize; MATRICES.len()],
        halves: [&[u8]; MATRICES.len()],
    ) -> Result<(), LibraryError> {
        let before = self.len();
        for clip in clips {
            let clip = clip?;
            self.texts.extend_from_slice(clip.text.as_bytes());
            let clip = [clip.span.start(), clip.span.end(), self.texts.len() as u64];
            self.clips.extend(clip.iter().flat_map(|number| number.to_le_bytes()));
        }
        let rows = (self.len() - before) as u32;
        if rows > 0 {
            self.dims = dims;
        }
        self.videos.extend(video.id.to_le_bytes());
        self.videos.extend(rows.to_le_bytes());
        let Agreement { suits, of } = video.agreement;
        self.videos.extend([suits, of].iter().flat_map(|number| number.to_le_bytes()));
        let mut sha256 = video.sha256.clone().into_bytes();
        sha256.resize(64, b'-');
        self.videos.extend(sha256);
        self.halves.iter_mut().zip(halves).for_each(|(all, halves)| all.extend_from_slice(halves));
        Ok(())
    }

    /// The bytes of its file.
    pub fn finish(self, file: &Path) -> Result<Vec<u8>, LibraryError> {
        let dims = self.dims.map(|dim| dim.max(1));
        let rows = self.len();
        let coded = (0..MATRICES.len()).filter(|at| MATRICES[*at].coded);
        let coded: Vec<_> = coded.map(|at| (at, encode(&self.halves[at], dims[at]))).collect();
        let videos = self.videos.len() / VIDEO_BYTES;
        let mut tensors = vec![
            (VIDEOS.to_owned(), Dtype::U8, vec![videos, VIDEO_BYTES], &self.videos),
            (CLIPS.to_owned(), Dtype::U64, vec![rows, 3], &self.clips),
            (TEXTS.to_owned(), Dtype::U8, vec![self.texts.len(), 1], &self.texts),
        ];
        for (at, MatrixKind { name, per_clip, .. }) in MATRICES.into_iter().enumerate() {
            let shape = vec![rows * per_clip, dims[at]];
            tensors.push((name.into(), Dtype::F16, shape, &self.halves[at]));
        }
        for (at, (codes, scales)) in &coded {
            let name = MATRICES[*at].name;
            tensors.push((format!("{name}{CODES}"), Dtype::I8, vec![rows, dims[*at]], codes));
            tensors.push((format!("{name}{SCALES}"), Dtype::F32, vec![rows, 2], scales));
        }
        let wrong = |error: SafeTensorError| damaged(file, error);
        let mut views = Vec::new();
        for (name, dtype, shape, bytes) in tensors {
            views.push((name, TensorView::new(dtype, shape, bytes).map_err(wrong)?));
        }
        safetensors::serialize(views, None).map_err(wrong)
    }
}

/// The codes of rows, and their scales.
fn encode(halves: &[u8], dim: usize) -> (Vec<u8>, Vec<u8>) {
    let rows = halves.len() / 2 / dim;
    let (mut codes, mut scales) = (vec![0; rows * dim], vec![0; rows * 8]);
    let rows = halves.par_chunks_exact(2 * dim).zip(codes.par_chunks_exact_mut(dim));
    rows.zip(scales.par_chunks_exact_mut(8)).for_each(|((halves, codes), scales)| {
        let CodeScale { scale, error } = codes::encode(&unit_row(halves), codes);
        scales[..4].copy_from_slice(&scale.to_le_bytes());
        scales[4..].copy_from_slice(&error.to_le_bytes());
    });
    (codes, scales)
}

/// A row in length 1, as it is scored.
fn unit_row(halves: &[u8]) -> Vec<f32> {
    let (halves, _) = halves.as_chunks();
    let halves: Vec<f16> = halves.iter().map(|half| f16::from_le_bytes(*half)).collect();
    let mut row = halves.to_f32_vec();
    normalise(&mut row);
    row
}
