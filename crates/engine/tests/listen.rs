//! Listening to files as they are: odd, damaged, silent, long; and models that are not whole.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use stitch_engine::listen::{ListenError, Listened, Listener};
use stitch_engine::progress::{Progress, Silent};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn ffmpeg(arguments: &[&str], out: &Path) {
    let done = Command::new("ffmpeg")
        .args(["-v", "error", "-y"])
        .args(arguments)
        .arg(out)
        .status()
        .unwrap();
    assert!(done.success());
}

/// Something between chords and a beat: what plays under many a video.
const MUSIC: &str = "aevalsrc=0.2*sin(2*PI*t*(220+110*floor(mod(t*2\\,4))))+0.15*sin(2*PI*t*(330+\
    55*floor(mod(t\\,3))))+0.3*exp(-20*mod(t\\,0.5))*sin(2*PI*60*t)+0.1*exp(-30*mod(t+0.25\\,0.5))*\
    (random(0)-0.5):s=44100:d=20";

/// The small random model: it writes nonsense, but where there is no speech it must write nothing.
fn tiny() -> Listener {
    Listener::load(&data("tiny-whisper")).unwrap()
}

fn listen(arguments: &[&str], name: &str) -> Result<Listened, ListenError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    ffmpeg(arguments, &path);
    tiny().listen(&path, "", &Silent)
}

#[test]
fn silence_and_music_are_not_turned_into_words() {
    let silence = ["-f", "lavfi", "-i", "anullsrc=r=48000:cl=stereo:d=12"];
    let hiss = ["-f", "lavfi", "-i", "anoisesrc=d=12:a=0.05:c=pink"];
    let music = ["-f", "lavfi", "-i", MUSIC];
    for (arguments, seconds) in [(silence, 12), (hiss, 12), (music, 20)] {
        let listened = listen(&arguments, "a.wav").unwrap();
        assert_eq!(listened.sentences, [], "{arguments:?}");
        assert_eq!(listened.length_ms / 1000, seconds, "{arguments:?}");
    }
}

#[test]
fn any_number_of_channels_and_any_rate_is_heard_whole() {
    let source = ["-f", "lavfi", "-i", "sine=d=3"];
    for (extra, name) in [
        (["-ac", "8", "-ar", "48000"], "eight.wav"),
        (["-ac", "1", "-ar", "8000"], "slow.wav"),
        (["-ac", "6", "-ar", "96000"], "six.flac"),
    ] {
        let listened = listen(&[&source[..], &extra[..]].concat(), name).unwrap();
        assert!(listened.length_ms.abs_diff(3000) < 60, "{name}: {listened:?}");
        assert_eq!(listened.damage, None, "{name}");
    }
}

#[test]
fn a_language_is_detected_or_fixed_by_the_user() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("voice.wav");
    let raw = data("../../../nn/tests/data/voice.s16");
    ffmpeg(&["-f", "s16le", "-ar", "16000", "-ac", "1", "-i", &raw.to_string_lossy()], &path);
    let heard_as = |listener: Listener| {
        let listened = listener.listen(&path, "", &Silent).unwrap();
        assert!(listened.speech_ms > 1000, "{listened:?}");
        listened.language
    };
    let detected = heard_as(tiny());
    assert!(["en", "de", "haw"].contains(&detected.as_deref().unwrap()), "{detected:?}");
    for (wanted, expected) in [("de", "de"), ("haw", "haw"), (" EN-us", "en")] {
        let language = heard_as(tiny().in_language(wanted).unwrap());
        assert_eq!(language.as_deref(), Some(expected));
    }
    for unknown in ["", "xx", "german"] {
        let said = tiny().in_language(unknown).err().unwrap().to_string();
        assert!(said.contains(&format!("`{unknown}`; it knows en, de, haw")), "{said}");
    }
}

#[test]
fn damage_in_the_middle_costs_only_the_middle() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mp3");
    ffmpeg(&["-f", "lavfi", "-i", "sine=d=20", "-b:a", "64k"], &path);
    let mut bytes = std::fs::read(&path).unwrap();
    let (from, to) = (bytes.len() / 2, bytes.len() / 2 + 20_000);
    bytes[from..to].iter_mut().enumerate().for_each(|(i, byte)| *byte = (i * 37 % 251) as u8);
    std::fs::write(&path, &bytes).unwrap();
    let listened = tiny().listen(&path, "", &Silent).unwrap();
    assert!(listened.length_ms > 14_000, "{listened:?}");
    assert!(listened.damage.is_some());
}

#[test]
fn what_has_no_sound_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let mute = folder.path().join("mute.mp4");
    ffmpeg(&["-f", "lavfi", "-i", "testsrc=d=1:s=64x64"], &mute);
    let empty = folder.path().join("empty.wav");
    std::fs::write(&empty, b"").unwrap();
    let missing = folder.path().join("missing.wav");
    for path in [&mute, &empty, &missing] {
        assert!(matches!(tiny().listen(path, "", &Silent), Err(ListenError::Media(_))), "{path:?}");
    }
    let short = folder.path().join("short.wav");
    ffmpeg(&["-f", "lavfi", "-i", "anullsrc=d=0.001"], &short);
    assert_eq!(tiny().listen(&short, "", &Silent).unwrap().sentences, []);
}

/// Counts seconds, and asks to stop after some.
struct Counting {
    seconds: AtomicU64,
    most: u64,
}

impl Progress for Counting {
    fn begin(&self, _stage: &str, _total: u64) {}
    fn advance(&self, units: u64) {
        self.seconds.fetch_add(units, Ordering::Relaxed);
    }
    fn warn(&self, _message: &str) {}
    fn stopped(&self) -> bool {
        self.seconds.load(Ordering::Relaxed) > self.most
    }
}

#[test]
fn listening_tells_its_seconds_and_can_be_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.wav");
    ffmpeg(&["-f", "lavfi", "-i", "anullsrc=r=16000:cl=mono:d=60"], &path);
    let whole = Counting { seconds: AtomicU64::new(0), most: u64::MAX };
    tiny().listen(&path, "", &whole).unwrap();
    assert!(whole.seconds.into_inner().abs_diff(60) <= 2);
    let some = Counting { seconds: AtomicU64::new(0), most: 10 };
    assert!(matches!(tiny().listen(&path, "", &some), Err(ListenError::Stopped(_))));
}

#[test]
fn a_broken_model_says_what_is_wrong() {
    let said = |change: &dyn Fn(&Path)| {
        let folder = tempfile::tempdir().unwrap();
        for name in ["config.json", "model.safetensors", "tokenizer.json"] {
            std::fs::copy(data("tiny-whisper").join(name), folder.path().join(name)).unwrap();
        }
        change(folder.path());
        let error = Listener::load(folder.path()).err().unwrap().to_string();
        error.replace(&*folder.path().to_string_lossy(), "MODEL")
    };
    let config = |from: &'static str, to: &'static str| {
        move |folder: &Path| {
            let path = folder.join("config.json");
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(text.contains(from), "{text}");
            std::fs::write(path, text.replace(from, to)).unwrap();
        }
    };
    let weights = |change: fn(&mut Vec<u8>)| {
        move |folder: &Path| {
            let path = folder.join("model.safetensors");
            let mut bytes = std::fs::read(&path).unwrap();
            change(&mut bytes);
            std::fs::write(path, bytes).unwrap();
        }
    };
    let rename = |bytes: &mut Vec<u8>| {
        let at = bytes.windows(11).position(|w| w == b"conv1.bias\"").unwrap();
        bytes[at] = b'k';
    };
    let pickle = |bytes: &mut Vec<u8>| *bytes = b"\x80\x02}q\x00.".to_vec();
    let tokenizer = |folder: &Path| std::fs::write(folder.join("tokenizer.json"), "{}").unwrap();
    let gone = |folder: &Path| std::fs::remove_file(folder.join("config.json")).unwrap();
    insta::assert_snapshot!(
        [
            said(&weights(rename)),
            said(&config("\"encoder_ffn_dim\": 24", "\"encoder_ffn_dim\": 32")),
            said(&config("\"encoder_attention_heads\": 2", "\"encoder_attention_heads\": 3")),
            said(&config("\"max_source_positions\": 1500", "\"max_source_positions\": 7")),
            said(&config("\"vocab_size\"", "\"vocabulary\"")),
            said(&weights(|bytes| bytes.truncate(9000))),
            said(&weights(pickle)),
            said(&tokenizer),
            said(&gone),
        ]
        .join("\n")
    );
}

/// A voice at the end of the sixth hour: nothing before it may cost memory, nothing after it time.
#[test]
#[ignore = "takes minutes: make slow"]
fn slow_six_hours_of_sound_are_heard_to_their_end() {
    const HOURS_MS: u64 = 6 * 3_600_000;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.flac");
    let raw = data("../../../nn/tests/data/voice.s16");
    let late = format!("adelay={}:all=1,apad=whole_dur={}", HOURS_MS - 60_000, HOURS_MS / 1000);
    let voice = ["-f", "s16le", "-ar", "16000", "-ac", "1", "-i", &raw.to_string_lossy()];
    ffmpeg(&[&voice[..], &["-af", &late, "-compression_level", "0"]].concat(), &path);
    let listened = tiny().listen(&path, "", &Silent).unwrap();
    assert!(listened.length_ms.abs_diff(HOURS_MS) < 100, "{listened:?}");
    assert!((1000..20_000).contains(&listened.speech_ms), "{listened:?}");
    let first = listened.sentences[0].start_ms;
    assert!(first.abs_diff(HOURS_MS - 60_000) < 20_000, "{first}");
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(peak < 512 * 1024, "{peak} kB");
}

/// Runs where whisper-base is installed and espeak-ng speaks.
#[test]
#[allow(clippy::print_stderr)] // a skipped test should say so
fn the_real_model_hears_words_in_odd_sound() {
    let home = std::env::var_os("STITCH_HOME").map(PathBuf::from);
    let cache = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache/stitch"));
    let model = home.or_else(cache).unwrap_or_default().join("models/whisper-base");
    let folder = tempfile::tempdir().unwrap();
    let spoken = folder.path().join("spoken.wav");
    let text = "Hello and welcome back. Today we chop the onion finely, and then we fry it in a hot \
                pan with butter.";
    let voice = ["-v", "en-us", "-s", "150", "-w"];
    let espeak = Command::new("espeak-ng").args(voice).arg(&spoken).arg(text).status();
    if !model.join("model.safetensors").exists() || !espeak.is_ok_and(|status| status.success()) {
        eprintln!("skipped: install espeak-ng and run `stitch models pull whisper-base` first");
        return;
    }
    let listener = Listener::load(&model).unwrap();
    let spoken = spoken.to_string_lossy();
    let late = ["-i", &spoken, "-af", "adelay=40000:all=1,apad=pad_dur=40"];
    for (extra, name) in
        [(["-ac", "8", "-ar", "48000"], "a.wav"), (["-ac", "1", "-ar", "8000"], "b.wav")]
    {
        let path = folder.path().join(name);
        ffmpeg(&[&late[..], &extra[..]].concat(), &path);
        let listened = listener.listen(&path, "", &Silent).unwrap();
        assert_eq!(listened.language.as_deref(), Some("en"));
        let said: Vec<&str> = listened.sentences.iter().map(|s| s.text.as_str()).collect();
        let said = said.join(" ").to_lowercase();
        assert!(said.contains("onion") && said.contains("pan"), "{name}: {said}");
        let start = listened.sentences[0].start_ms;
        assert!(start.abs_diff(40_000) < 500, "{name}: {start}");
    }
}
