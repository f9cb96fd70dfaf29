//! Speech synthesis by espeak-ng and piper.

use std::ffi::OsStr;
use std::io::Write;
use std::ops::Range;
use std::path::Path;

use rayon::prelude::*;

use super::Result;
use super::encode::Pcm;
use super::program::{MediaError, Program};
use super::task::Task;
use crate::progress::Progress;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Voice {
    /// espeak-ng's name for it, such as `en-us+f2`.
    pub name: String,
    /// How fast, in words a minute.
    pub words_per_minute: u32,
    /// How high, from 0 to 99.
    pub pitch: u32,
}

/// Whether there is a program to speak with; the error says how to get it.
pub fn available() -> Result<()> {
    Program::EspeakNg.output(["--version"]).map(|_| ())
}

/// Speech that lasts at most `max_ms`: a voice that is too slow speaks faster.
pub fn speak_within(text: &str, voice: &Voice, max_ms: u64) -> Result<Pcm> {
    let mut voice = voice.clone();
    let mut sound = speak(text, &voice)?;
    for _ in 0..3 {
        let lasts = length_ms(&sound);
        if lasts <= max_ms {
            break;
        }
        let faster = u64::from(voice.words_per_minute) * lasts * 21 / 20 / max_ms.max(1);
        voice.words_per_minute = faster.clamp(80, 450) as u32;
        sound = speak(text, &voice)?;
    }
    let most = max_ms * u64::from(sound.rate) / 1000;
    sound.samples.truncate(most as usize);
    Ok(sound)
}

pub fn speak(text: &str, voice: &Voice) -> Result<Pcm> {
    let mut sound = espeak(text, voice, &[])?;
    trim(&mut sound.samples);
    Ok(sound)
}

fn espeak(text: &str, voice: &Voice, options: &[&str]) -> Result<Pcm> {
    let (speed, pitch) = (voice.words_per_minute.to_string(), voice.pitch.to_string());
    let with_voice = ["-v", &voice.name, "-s", &speed, "-p", &pitch, "-z", "--stdout"];
    let arguments = [&with_voice[..], options, &["--", text]].concat();
    let wav = Program::EspeakNg.output(arguments)?;
    read_wav(&wav).ok_or_else(|| MediaError::Failed {
        program: Program::EspeakNg,
        message: format!("no sound came back for the voice {:?}; is it installed?", voice.name),
    })
}

/// When each word of [`speak`]'s sound begins, in milliseconds. espeak-ng does not tell, so the sentence is
/// spoken again for each word, with all words from it on muted: the word before it ends with the sound.
pub fn word_starts(text: &str, voice: &Voice) -> Result<Vec<u64>> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let whole = espeak(text, voice, &[])?;
    let Range { start: first, end: last } = loud_range(&whole.samples);
    let starts = (0..words.len()).into_par_iter().map(|word| -> Result<u64> {
        if word == 0 {
            return Ok(0);
        }
        let [spoken, muted] =
            [&words[..word], &words[word..]].map(|words| escape(&words.join(" ")));
        let markup = format!(
            "<prosody volume=\"medium\">{spoken}</prosody> <prosody volume=\"silent\">{muted}</prosody>"
        );
        let mut end = loud_range(&espeak(&markup, voice, &["-m"])?.samples).end;
        if end >= last {
            // It mutes nothing that begins a sentence; but what comes before is then spoken as if alone.
            end = loud_range(&espeak(&spoken, voice, &["-m"])?.samples).end;
        }
        let end = end.max(first);
        let pause = whole.samples.iter().skip(end).position(is_loud).unwrap_or(0);
        Ok((end + pause - first) as u64 * 1000 / u64::from(whole.rate))
    });
    let mut starts = starts.collect::<Result<Vec<u64>>>()?;
    // Words that are spoken as one, such as "of the", may come out of order.
    for i in 1..starts.len() {
        starts[i] = starts[i].max(starts[i - 1]);
    }
    Ok(starts)
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Writes speech by a model of piper's to a WAV file.
pub fn piper(text: &str, model: &Path, out: &Path, progress: &dyn Progress) -> Result<()> {
    let task = Task::new(Program::Piper).args([OsStr::new("--model"), model.as_os_str()]);
    let task = task.args([OsStr::new("--output_file"), out.as_os_str()]);
    let (running, stdin) = task.start_with_input()?;
    // If it does not read, it says why when it ends.
    let _ = stdin.map(|mut pipe| writeln!(pipe, "{text}"));
    running.finish(progress)
}

pub fn length_ms(sound: &Pcm) -> u64 {
    sound.samples.len() as u64 * 1000 / u64::from(sound.rate.max(1))
}

/// A WAV file of one channel of 16 bits.
pub fn write_wav(sound: &Pcm) -> Vec<u8> {
    let bytes = 2 * sound.samples.len() as u32;
    let mut wav = b"RIFF".to_vec();
    wav.extend((36 + bytes).to_le_bytes());
    wav.extend(b"WAVEfmt \x10\0\0\0\x01\0\x01\0");
    wav.extend(sound.rate.to_le_bytes());
    wav.extend((2 * sound.rate).to_le_bytes());
    wav.extend([2, 0, 16, 0]);
    wav.extend(b"data");
    wav.extend(bytes.to_le_bytes());
    wav.extend(sound.samples.iter().flat_map(|sample| sample.to_le_bytes()));
    wav
}

/// The samples of a WAV file of one channel of 16 bits, which is what espeak-ng writes. The sizes in
/// its header are not to be trusted: it does not know them yet when it begins to write.
fn read_wav(bytes: &[u8]) -> Option<Pcm> {
    let rate = u32::from_le_bytes(bytes.get(24..28)?.try_into().ok()?);
    let channels_and_bits = (bytes.get(22..24)?, bytes.get(34..36)?);
    if !bytes.starts_with(b"RIFF") || channels_and_bits != (&[1, 0], &[16, 0]) || rate == 0 {
        return None;
    }
    let data = bytes.windows(4).take(512).position(|four| four == b"data")?;
    let samples = bytes.get(data + 8..)?.chunks_exact(2);
    Some(Pcm { rate, samples: samples.map(|two| i16::from_le_bytes([two[0], two[1]])).collect() })
}

/// Removes silence at both ends.
pub fn trim(samples: &mut Vec<i16>) {
    let loud = loud_range(samples);
    samples.truncate(loud.end);
    samples.drain(..loud.start);
}

/// From the first loud sample to the last.
fn loud_range(samples: &[i16]) -> Range<usize> {
    let start = samples.iter().position(is_loud).unwrap_or(0);
    start..samples.iter().rposition(is_loud).map_or(start, |at| at + 1)
}

fn is_loud(sample: &i16) -> bool {
    sample.unsigned_abs() > 64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As espeak-ng writes it: with sizes that are wrong.
    fn wav(samples: &[i16]) -> Vec<u8> {
        let mut bytes = write_wav(&Pcm { rate: 22_050, samples: samples.to_vec() });
        bytes[4..8].copy_from_slice(b"\xff\xff\xff\x7f");
        bytes[40..44].copy_from_slice(b"\xff\xff\xff\x7f");
        bytes
    }

    #[test]
    fn reads_what_espeak_writes_although_its_sizes_are_wrong() {
        let sound = read_wav(&wav(&[1, -2, 300])).unwrap();
        assert_eq!((sound.rate, sound.samples), (22_050, vec![1, -2, 300]));
    }

    #[test]
    fn refuses_what_is_no_sound() {
        let whole = wav(&[1, 2]);
        for end in 0..44 {
            assert!(read_wav(&whole[..end]).is_none_or(|sound| sound.samples.is_empty()), "{end}");
        }
        assert_eq!(read_wav(&[b'x'; 100]), None);
    }

    #[test]
    fn cuts_silence_at_both_ends() {
        let mut samples = vec![0, 3, -900, 0, 700, 5, 0];
        trim(&mut samples);
        assert_eq!(samples, [-900, 0, 700]);
        let mut silence = vec![0; 9];
        trim(&mut silence);
        assert!(silence.is_empty());
    }
}
