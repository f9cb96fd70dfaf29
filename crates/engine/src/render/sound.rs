//! The audio of every clip at one loudness, and all of it as one track.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::iter::{repeat, repeat_n};
use std::path::{Path, PathBuf};

use memmap2::Mmap;

use super::loudness::{Limiter, Pair, measure};
use super::plan::Plan;
use crate::files::FileError;
use crate::media::MediaError;
use crate::media::audio::{AudioReader, RATE};
use crate::progress::Progress;

/// The loudness of every clip. Chosen by hand.
const TARGET_LUFS: f64 = -16.0;
/// Quieter sound is room noise and stays as it is.
const MIN_LUFS: f64 = -48.0;
/// The largest sample, which leaves the AAC encoder room to overshoot.
const CEILING: f32 = 0.84;
/// How far from the target the loudness may be, in LU.
const TOLERANCE_LU: f64 = 0.2;
/// Fade at a clip's edges against clicks, in pairs: 4 ms.
const EDGE: u64 = RATE as u64 / 250;

/// A part of a video's audio.
#[derive(Clone, Copy, Debug)]
pub struct AudioCut<'a> {
    pub path: &'a Path,
    pub from_s: f64,
    pub speed: f64,
    /// The length of the result in pairs.
    pub pairs: u64,
}

/// Writes the cut as 16-bit stereo samples at the target loudness, exactly as long as it should be.
pub fn level(
    cut: &AudioCut,
    out: &mut File,
    scratch: &Path,
    progress: &dyn Progress,
) -> Result<(), MediaError> {
    let mut raw = tempfile::tempfile_in(scratch).map_err(FileError::at(scratch))?;
    decode(cut, &mut raw, progress)?;
    let mut write = || -> io::Result<()> {
        let raw = map(&raw)?;
        let gain = choose_gain(&raw)?;
        write_faded(out, limited(floats(&raw).chain(repeat([0.0; 2])), gain), cut.pairs)
    };
    Ok(write().map_err(FileError::at(scratch))?)
}

/// Writes the cut to a file as pairs of 32-bit floats.
fn decode(cut: &AudioCut, raw: &mut File, progress: &dyn Progress) -> Result<(), MediaError> {
    let seconds = cut.pairs as f64 / f64::from(RATE);
    let mut audio = AudioReader::cut(cut.path, cut.from_s, seconds, cut.speed)?;
    let mut writer = BufWriter::new(raw);
    let mut left = 2 * cut.pairs as usize;
    let mut samples = vec![0.0; 2 * RATE as usize];
    loop {
        let count = audio.read(&mut samples, progress)?;
        let used = &samples[..left.min(count / 2 * 2)];
        let mut bytes = used.iter().map(|x| x.to_le_bytes());
        let written = bytes.try_for_each(|four| writer.write_all(&four));
        written.map_err(FileError::at("the sound of a clip"))?;
        left -= used.len();
        if count < samples.len() {
            break;
        }
    }
    writer.flush().map_err(FileError::at("the sound of a clip"))?;
    audio.finish_undamaged(progress)
}

pub(super) fn map(file: &File) -> io::Result<Mmap> {
    // SAFETY: nobody else writes to these files: they have no name, or are complete.
    unsafe { Mmap::map(file) }
}

pub(super) fn floats(bytes: &[u8]) -> impl Iterator<Item = Pair> {
    let pairs = bytes.as_chunks::<4>().0.as_chunks::<2>().0;
    pairs.iter().map(|pair| pair.map(f32::from_le_bytes))
}

/// The gain after which the limited sound has the target loudness.
pub(super) fn choose_gain(raw: &[u8]) -> io::Result<f32> {
    let found = measure(floats(raw)).map_err(io::Error::other)?;
    if found.lufs < MIN_LUFS || !found.lufs.is_finite() {
        return Ok(1.0);
    }
    let mut gain_db = TARGET_LUFS - found.lufs;
    if found.peak * factor(gain_db) <= CEILING {
        return Ok(factor(gain_db));
    }
    // The limiter takes some loudness away: measure what comes out and make up for it.
    for _ in 0..6 {
        let after = measure(limited(floats(raw), factor(gain_db))).map_err(io::Error::other)?;
        let missing = TARGET_LUFS - after.lufs;
        if !missing.is_finite() || missing.abs() < TOLERANCE_LU {
            break;
        }
        gain_db = (gain_db + missing.clamp(-6.0, 6.0)).min(TARGET_LUFS - found.lufs + 18.0);
    }
    Ok(factor(gain_db))
}

pub(super) fn factor(db: f64) -> f32 {
    10f64.powf(db / 20.0) as f32
}

/// The pairs after the limiter, without its delay.
pub(super) fn limited(pairs: impl Iterator<Item = Pair>, gain: f32) -> impl Iterator<Item = Pair> {
    let mut limiter = Limiter::new(gain, CEILING);
    let all = pairs.chain(repeat_n([0.0; 2], Limiter::DELAY));
    all.map(move |pair| limiter.next(pair)).skip(Limiter::DELAY)
}

/// Writes the first `count` pairs in 16 bits, faded at both ends.
pub(super) fn write_faded(
    out: &mut File,
    pairs: impl Iterator<Item = Pair>,
    count: u64,
) -> io::Result<()> {
    let mut writer = BufWriter::new(out);
    let edge = EDGE.min(count / 2).max(1);
    for (i, pair) in (0..count).zip(pairs) {
        let fade = (i + 1).min(count - i).min(edge) as f32 / edge as f32;
        let sample = |x: f32| (x * fade * 32767.0).round().clamp(-32768.0, 32767.0) as i16;
        write(&mut writer, pair.map(sample))?;
    }
    writer.flush()
}

fn write(writer: &mut impl Write, pair: [i16; 2]) -> io::Result<()> {
    pair.iter().try_for_each(|x| writer.write_all(&x.to_le_bytes()))
}

/// Writes the audio of the whole plan: `sounds[i]` belongs to entry `i`, none is silence. Where
/// entries overlap their audio is mixed at constant power.
pub fn assemble(plan: &Plan, sounds: &[Option<PathBuf>], out: &mut File) -> Result<(), FileError> {
    let per_frame = u64::from(RATE / plan.canvas.fps);
    let mut writer = BufWriter::with_capacity(1 << 16, out);
    let mut tail: Vec<[i16; 2]> = Vec::new();
    for (entry, sound) in plan.entries.iter().zip(sounds) {
        let name = sound.clone().unwrap_or_else(|| "silence".into());
        let mut mix = || -> io::Result<Vec<[i16; 2]>> {
            let file = sound.as_ref().map(|path| map(&File::open(path)?)).transpose()?;
            let mut pairs = integers(file.as_deref().unwrap_or_default()).chain(repeat([0; 2]));
            for ((i, old), new) in tail.iter().enumerate().zip(&mut pairs) {
                write(&mut writer, mixed(*old, new, i, tail.len()))?;
            }
            let (all, kept) = (entry.frames * per_frame, entry.overlap * per_frame);
            let own = (all - kept).saturating_sub(tail.len() as u64) as usize;
            pairs.by_ref().take(own).try_for_each(|pair| write(&mut writer, pair))?;
            Ok(pairs.take(kept as usize).collect())
        };
        tail = mix().map_err(FileError::at(name))?;
    }
    writer.flush().map_err(FileError::at("the sound track"))
}

pub(super) fn integers(bytes: &[u8]) -> impl Iterator<Item = [i16; 2]> {
    let pairs = bytes.as_chunks::<2>().0.as_chunks::<2>().0;
    pairs.iter().map(|pair| pair.map(i16::from_le_bytes))
}

/// Pair `i` of `n` on the way from the old sound to the new one.
fn mixed(old: [i16; 2], new: [i16; 2], i: usize, n: usize) -> [i16; 2] {
    let angle = (i as f32 + 0.5) / n as f32 * std::f32::consts::FRAC_PI_2;
    let mix = |c: usize| {
        (f32::from(old[c]) * angle.cos() + f32::from(new[c]) * angle.sin()).round() as i16
    };
    [mix(0), mix(1)]
}
