//! The programme: the clips' own sound, a narrator and music, at one loudness.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::iter::repeat;
use std::ops::Range;
use std::path::{Path, PathBuf};

use memmap2::Mmap;

use super::loudness::Pair;
use super::options::SourceSound;
use super::sound::{choose_gain, factor, floats, integers, limited, map, write_faded};
use crate::files::FileError;
use crate::media::audio::RATE;

/// How much quieter the clips' own sound is while the narrator speaks. The levels are those of broadcast
/// narration: a voice 15 dB above what is under it stays clear.
const DUCKED_DB: f64 = -15.0;
/// How much quieter music is than what is played over it.
const MUSIC_DB: f64 = -12.0;
/// How much quieter still while the narrator speaks.
const MUSIC_DUCKED_DB: f64 = -12.0;
/// How long sound takes to become quieter before the narrator speaks, and to come back after.
const RAMP: u64 = RATE as u64 / 4;
/// How long music takes to begin and to end.
const FADE_IN: u64 = RATE as u64;
const FADE_OUT: u64 = 2 * RATE as u64;

/// Sounds at the target loudness, as files of 16-bit pairs.
pub struct Mix {
    pub source: SourceSound,
    /// The narrator's sentences in order, each with the pair where it begins.
    pub voice: Vec<(u64, PathBuf)>,
    pub music: Option<PathBuf>,
}

impl Mix {
    /// Replaces the clips' own sound at `track` by the programme.
    pub fn apply(&self, track: &Path, scratch: &Path) -> Result<(), FileError> {
        let mut raw = tempfile::tempfile_in(scratch).map_err(FileError::at(scratch))?;
        let mut apply = || -> io::Result<()> {
            let count = {
                let own = map(&File::open(track)?)?;
                self.write(&own, &mut raw)?;
                own.len() as u64 / 4
            };
            let raw = map(&raw)?;
            let programme = limited(floats(&raw).chain(repeat([0.0; 2])), choose_gain(&raw)?);
            write_faded(&mut File::create(track)?, programme, count)
        };
        apply().map_err(FileError::at(track))
    }

    /// Writes the sum of all sounds as pairs of 32-bit floats.
    fn write(&self, own: &[u8], out: &mut File) -> io::Result<()> {
        let open = |path: &PathBuf| -> io::Result<Mmap> { map(&File::open(path)?) };
        let files =
            self.voice.iter().map(|(_, path)| open(path)).collect::<io::Result<Vec<_>>>()?;
        let sentences: Vec<Range<u64>> = (self.voice.iter().zip(&files))
            .map(|((start, _), file)| *start..start + file.len() as u64 / 4)
            .collect();
        let music = self.music.as_ref().map(open).transpose()?;
        let music = music.iter().filter(|file| !file.is_empty());
        let mut music = music.flat_map(|file| repeat(&**file)).flat_map(integers);
        let count = own.len() as u64 / 4;
        let mut writer = BufWriter::new(out);
        let mut current = 0;
        for (at, own) in (0..count).zip(integers(own)) {
            while sentences.get(current).is_some_and(|sentence| sentence.end <= at) {
                current += 1;
            }
            let near = &sentences[current.saturating_sub(1)..sentences.len().min(current + 1)];
            let ducking = near.iter().map(|near| ducking(at, near)).fold(0.0, f64::max);
            let voice = match sentences.get(current) {
                Some(now) if now.start <= at => pair(&files[current], (at - now.start) as usize),
                _ => [0; 2],
            };
            let fade = (at.min(FADE_IN) as f64 / FADE_IN as f64)
                .min((count - at).min(FADE_OUT) as f64 / FADE_OUT as f64);
            let layers = [
                (own, self.source_gain(ducking)),
                (voice, 1.0),
                (music.next().unwrap_or_default(), music_gain(ducking) * fade as f32),
            ];
            let sum: Pair = [0, 1].map(|channel| {
                layers.iter().map(|(pair, gain)| f32::from(pair[channel]) / 32768.0 * gain).sum()
            });
            sum.iter().try_for_each(|x| writer.write_all(&x.to_le_bytes()))?;
        }
        writer.flush()
    }

    fn source_gain(&self, ducking: f64) -> f32 {
        match self.source {
            SourceSound::Duck => factor(DUCKED_DB * ducking),
            SourceSound::Off => 0.0,
            SourceSound::Full => 1.0,
        }
    }
}

fn music_gain(ducking: f64) -> f32 {
    factor(MUSIC_DB + MUSIC_DUCKED_DB * ducking)
}

/// 1 while the sentence is spoken, 0 far from it.
fn ducking(at: u64, sentence: &Range<u64>) -> f64 {
    let far = sentence.start.saturating_sub(at).max(at.saturating_sub(sentence.end));
    1.0 - far.min(RAMP) as f64 / RAMP as f64
}

fn pair(bytes: &[u8], at: usize) -> [i16; 2] {
    bytes
        .as_chunks::<4>()
        .0
        .get(at)
        .map_or([0; 2], |[a, b, c, d]| [i16::from_le_bytes([*a, *b]), i16::from_le_bytes([*c, *d])])
}
