//! The sound of every clip at one loudness, and all of them as one track.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};

use super::loudness::{Limiter, Meter, Pair};
use super::plan::Plan;
use crate::files::FileError;
use crate::media::MediaError;
use crate::media::cut::{RATE, Sound};
use crate::progress::Progress;

/// The loudness of every clip, in LUFS.
const TARGET: f64 = -16.0;
/// Quieter than this is room noise, which nobody wants to hear louder.
const NEAR_SILENCE: f64 = -48.0;
/// The largest sample that is let through, so that the AAC encoder does not overshoot.
const CEILING: f32 = 0.84;
/// How near the target is near enough, in LU.
const NEAR: f64 = 0.2;
/// Fade at a clip's edges against clicks: 4 ms.
const EDGE: u64 = RATE as u64 / 250;

/// A stretch of a video's sound.
#[derive(Clone, Copy, Debug)]
pub struct Stretch<'a> {
    pub path: &'a Path,
    /// Where it begins, in seconds.
    pub from_s: f64,
    pub speed: f64,
    pub samples: u64,
}

/// Writes the stretch as 16-bit stereo samples at the target loudness, exactly as long as asked.
pub fn level(
    stretch: &Stretch,
    out: &mut File,
    scratch: &Path,
    progress: &dyn Progress,
) -> Result<(), MediaError> {
    let mut raw = tempfile::tempfile_in(scratch).map_err(FileError::at(scratch))?;
    let meter = decode(stretch, &mut raw, progress)?;
    let at = FileError::at(scratch);
    let mut write = || -> io::Result<()> {
        let gain = choose_gain(&meter, &mut raw)?;
        let mut pairs = Pairs::from_start(&mut raw)?;
        write_pairs(out, stretch.samples, || pairs.next(), gain)
    };
    write().map_err(at).map_err(MediaError::from)
}

fn decode(stretch: &Stretch, raw: &mut File, progress: &dyn Progress) -> Result<Meter, MediaError> {
    let seconds = stretch.samples as f64 / f64::from(RATE);
    let mut sound = Sound::open(stretch.path, stretch.from_s, seconds, stretch.speed)?;
    let mut meter = Meter::default();
    let mut writer = BufWriter::new(raw);
    let mut left = stretch.samples;
    while let Some(pair) = sound.next_pair()? {
        if left > 0 {
            meter.push(pair);
            write_raw(&mut writer, pair).map_err(FileError::at("the sound of a clip"))?;
            left -= 1;
        }
        if left.is_multiple_of(u64::from(RATE)) {
            progress.check()?;
        }
    }
    writer.flush().map_err(FileError::at("the sound of a clip"))?;
    sound.finish(progress)?;
    Ok(meter)
}

fn write_raw(writer: &mut impl Write, pair: Pair) -> io::Result<()> {
    pair.iter().try_for_each(|x| writer.write_all(&x.to_le_bytes()))
}

/// The gain after which the limited sound has the target loudness.
fn choose_gain(meter: &Meter, raw: &mut File) -> io::Result<f32> {
    let loudness = meter.loudness();
    if loudness < NEAR_SILENCE || !loudness.is_finite() {
        return Ok(1.0);
    }
    let mut gain_db = TARGET - loudness;
    if meter.peak() * factor(gain_db) <= CEILING {
        return Ok(factor(gain_db));
    }
    // The limiter takes some loudness away: measure what comes out and make up for it.
    for _ in 0..6 {
        let short_by = TARGET - limited_loudness(raw, factor(gain_db))?;
        if !short_by.is_finite() || short_by.abs() < NEAR {
            break;
        }
        gain_db = (gain_db + short_by.clamp(-6.0, 6.0)).min(TARGET - loudness + 18.0);
    }
    Ok(factor(gain_db))
}

fn factor(db: f64) -> f32 {
    10f64.powf(db / 20.0) as f32
}

fn limited_loudness(raw: &mut File, gain: f32) -> io::Result<f64> {
    let mut pairs = Pairs::from_start(raw)?;
    let mut limiter = Limiter::new(gain, CEILING);
    let mut meter = Meter::default();
    let mut skip = Limiter::DELAY;
    while let Some(pair) = pairs.next()? {
        let out = limiter.next(pair);
        if skip == 0 { meter.push(out) } else { skip -= 1 }
    }
    (0..Limiter::DELAY).for_each(|_| meter.push(limiter.next([0.0; 2])));
    Ok(meter.loudness())
}

/// Writes exactly `samples` pairs: limited, faded at the edges, silence where the sound ends.
fn write_pairs(
    out: &mut File,
    samples: u64,
    mut next: impl FnMut() -> io::Result<Option<Pair>>,
    gain: f32,
) -> io::Result<()> {
    let mut limiter = Limiter::new(gain, CEILING);
    let mut writer = BufWriter::new(out);
    let delay = Limiter::DELAY as u64;
    let edge = EDGE.min(samples / 2).max(1);
    for i in 0..samples + delay {
        let pair = limiter.next(next()?.unwrap_or_default());
        let Some(place) = i.checked_sub(delay) else { continue };
        let near = (place + 1).min(samples - place).min(edge) as f32 / edge as f32;
        write_sample_pair(&mut writer, pair.map(|x| x * near))?;
    }
    writer.flush()
}

fn write_sample_pair(writer: &mut impl Write, pair: Pair) -> io::Result<()> {
    pair.iter().try_for_each(|x| writer.write_all(&quantise(*x).to_le_bytes()))
}

fn quantise(x: f32) -> i16 {
    (x * 32767.0).round().clamp(-32768.0, 32767.0) as i16
}

/// Pairs of 32-bit samples from a file.
struct Pairs<R> {
    reader: BufReader<R>,
}

impl<'a> Pairs<&'a mut File> {
    fn from_start(file: &'a mut File) -> io::Result<Self> {
        file.rewind()?;
        Ok(Self { reader: BufReader::with_capacity(1 << 16, file) })
    }

    fn next(&mut self) -> io::Result<Option<Pair>> {
        let mut bytes = [0; 8];
        match self.reader.read_exact(&mut bytes) {
            Ok(()) => {
                let [a, b, c, d, e, f, g, h] = bytes;
                Ok(Some([f32::from_le_bytes([a, b, c, d]), f32::from_le_bytes([e, f, g, h])]))
            }
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(e) => Err(e),
        }
    }
}

/// Writes the sound of the whole plan: `sounds[i]` belongs to entry `i`, none is silence. Where
/// entries overlap their sounds are mixed at constant power.
pub fn assemble(plan: &Plan, sounds: &[Option<PathBuf>], out: &mut File) -> Result<(), FileError> {
    let per_frame = u64::from(RATE / plan.canvas.fps);
    let mut writer = BufWriter::with_capacity(1 << 16, out);
    let mut tail: Vec<[i16; 2]> = Vec::new();
    for (entry, sound) in plan.entries.iter().zip(sounds) {
        let name = sound.clone().unwrap_or_else(|| "silence".into());
        let mut mix = || -> io::Result<Vec<[i16; 2]>> {
            let mut source = Source::open(sound.as_deref())?;
            for (i, old) in tail.iter().enumerate() {
                let new = source.next()?;
                write_i16(&mut writer, mixed(*old, new, i, tail.len()))?;
            }
            let samples = entry.frames * per_frame;
            let kept = entry.overlap * per_frame;
            for _ in tail.len() as u64..samples - kept {
                let pair = source.next()?;
                write_i16(&mut writer, pair)?;
            }
            (0..kept).map(|_| source.next()).collect()
        };
        tail = mix().map_err(FileError::at(name))?;
    }
    writer.flush().map_err(FileError::at("the sound track"))
}

fn write_i16(writer: &mut impl Write, pair: [i16; 2]) -> io::Result<()> {
    pair.iter().try_for_each(|x| writer.write_all(&x.to_le_bytes()))
}

/// The `i`-th of `n` steps from the old sound to the new one.
fn mixed(old: [i16; 2], new: [i16; 2], i: usize, n: usize) -> [i16; 2] {
    let angle = (i as f32 + 0.5) / n as f32 * std::f32::consts::FRAC_PI_2;
    let mix =
        |a: i16, b: i16| (f32::from(a) * angle.cos() + f32::from(b) * angle.sin()).round() as i16;
    let ([a, b], [c, d]) = (old, new);
    [mix(a, c), mix(b, d)]
}

/// Samples from a file, or silence; silence after its end.
struct Source(Option<BufReader<File>>);

impl Source {
    fn open(path: Option<&Path>) -> io::Result<Self> {
        path.map(File::open).transpose().map(|file| Self(file.map(BufReader::new)))
    }

    fn next(&mut self) -> io::Result<[i16; 2]> {
        let mut bytes = [0; 4];
        let Some(reader) = &mut self.0 else { return Ok([0; 2]) };
        match reader.read_exact(&mut bytes) {
            Err(e) if e.kind() != io::ErrorKind::UnexpectedEof => return Err(e),
            Err(_) => bytes = [0; 4],
            Ok(()) => {}
        }
        let [a, b, c, d] = bytes;
        Ok([i16::from_le_bytes([a, b]), i16::from_le_bytes([c, d])])
    }
}
