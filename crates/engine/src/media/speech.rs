//! Speech synthesis by espeak-ng.

use super::Result;
use super::encode::Pcm;
use super::program::{MediaError, Program};

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
    let (speed, pitch) = (voice.words_per_minute.to_string(), voice.pitch.to_string());
    let arguments = ["-v", &voice.name, "-s", &speed, "-p", &pitch, "-z", "--stdout", "--", text];
    let wav = Program::EspeakNg.output(arguments)?;
    let mut sound = read_wav(&wav).ok_or_else(|| MediaError::Failed {
        program: Program::EspeakNg,
        message: format!("no sound came back for the voice {:?}; is it installed?", voice.name),
    })?;
    trim(&mut sound.samples);
    Ok(sound)
}

fn length_ms(sound: &Pcm) -> u64 {
    sound.samples.len() as u64 * 1000 / u64::from(sound.rate.max(1))
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

fn trim(samples: &mut Vec<i16>) {
    let loud = |sample: &i16| sample.unsigned_abs() > 64;
    let end = samples.iter().rposition(loud).map_or(0, |at| at + 1);
    samples.truncate(end);
    samples.drain(..samples.iter().position(loud).unwrap_or(0));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wav(samples: &[i16]) -> Vec<u8> {
        let mut bytes = b"RIFF\xff\xff\xff\x7fWAVEfmt \x10\0\0\0\x01\0\x01\0".to_vec();
        bytes.extend(22_050u32.to_le_bytes());
        bytes.extend(44_100u32.to_le_bytes());
        bytes.extend([2, 0, 16, 0]);
        bytes.extend(b"data\xff\xff\xff\x7f");
        bytes.extend(samples.iter().flat_map(|sample| sample.to_le_bytes()));
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
