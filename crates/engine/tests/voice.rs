//! A narrator as a viewer hears it: words at their times, captions with them, clips that last as long.

mod common;

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use common::{choice, demonstration, ffmpeg, ffmpeg_output, loudness, plain};
use stitch_core::fit::MIN_SPEED;
use stitch_core::timeline::Room;
use stitch_engine::demonstrate::Demonstration;
use stitch_engine::listen::Listener;
use stitch_engine::media::speech;
use stitch_engine::progress::{Progress, Silent};
use stitch_engine::render::cues::captions;
use stitch_engine::render::{Captions, Plan, RenderOptions, Soundtrack, SourceSound, render};
use stitch_engine::summarise::chat::ChatOptions;
use stitch_engine::voice::{Narrator, Speaker, narrate};

/// Samples per second of the decoded results.
const RATE: usize = 16_000;

struct Studio {
    folder: tempfile::TempDir,
}

impl Studio {
    /// None where espeak-ng is not installed.
    #[allow(clippy::print_stderr)] // a skipped test should say so
    fn open() -> Option<Self> {
        match speech::available() {
            Ok(()) => Some(Self { folder: tempfile::tempdir().unwrap() }),
            Err(error) => {
                eprintln!("skipped: {error}");
                None
            }
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A video of one shot, ten seconds long.
    fn video(&self) -> PathBuf {
        plain(self.folder.path(), "red.mp4", "red", "160x90", "10")
    }

    /// Reads the steps; the videos have nothing but one shot of this length.
    fn narrate(
        &self,
        demonstration: &mut Demonstration,
        length_ms: u64,
        progress: &dyn Progress,
    ) -> Soundtrack {
        let speaker = Speaker::Espeak("en-us".into());
        let cache = self.path("cache/voice");
        let narrator = Narrator { speaker, listener: None, cache };
        let rooms = |_: u32| Ok(Room { length_ms, ..Room::default() });
        let voice = narrate(demonstration, &narrator, &rooms, 0, progress).unwrap();
        Soundtrack { voice, ..Soundtrack::default() }
    }

    fn render(&self, demonstration: &Demonstration, options: &RenderOptions) -> Plan {
        let (out, cache) = (self.path("out.mp4"), self.path("cache"));
        render(demonstration, options, &out, &cache, &Silent).unwrap().plan
    }

    /// The sound of the result, mono.
    fn samples(&self) -> Vec<f32> {
        let (out, rate) = (self.path("out.mp4"), RATE.to_string());
        let format = ["-ac", "1", "-ar", &rate, "-f", "f32le", "-"];
        let bytes = ffmpeg_output(&[&["-i", out.to_str().unwrap()][..], &format].concat());
        bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
    }
}

fn options(soundtrack: Soundtrack) -> RenderOptions {
    let size = Some((160, 90));
    RenderOptions { size, fps: Some(25), soundtrack, ..RenderOptions::default() }
}

/// Where sound begins after a fifth of a second of silence, in milliseconds.
fn onsets(samples: &[f32]) -> Vec<u64> {
    let (mut onsets, mut silent_ms) = (Vec::new(), 1000);
    for (block, samples) in samples.chunks(RATE / 100).enumerate() {
        let loud = samples.iter().any(|x| x.abs() > 0.02);
        if loud && silent_ms >= 200 {
            onsets.push(block as u64 * 10);
        }
        silent_ms = if loud { 0 } else { silent_ms + 10 };
    }
    onsets
}

/// Notes warnings.
#[derive(Default)]
struct Noting(Mutex<Vec<String>>);

impl Progress for Noting {
    fn warn(&self, message: &str) {
        self.0.lock().unwrap().push(message.into());
    }
}

#[test]
fn captions_are_at_the_words_and_the_whole_has_one_loudness() {
    let Some(studio) = Studio::open() else { return };
    let video = studio.video();
    let texts = ["Chop the onion. Put it into the large pan.", "Serve the soup, while it is hot."];
    let mut demonstration = demonstration(vec![
        (texts[0], Some(choice(&video, 0, 1500))),
        ("Nothing shows this", None),
        (texts[1], Some(choice(&video, 4000, 6000))),
    ]);
    let mut soundtrack = studio.narrate(&mut demonstration, 4000, &Silent);
    soundtrack.source = SourceSound::Off;
    let plan = studio.render(&demonstration, &options(soundtrack));
    assert!(demonstration.spoken(1).is_none(), "a gap is not spoken");
    let cues = captions(&demonstration, &plan);
    let spoken: Vec<_> = cues.iter().filter(|cue| !cue.text.contains("Nothing")).collect();
    let said: Vec<&str> = spoken.iter().map(|cue| cue.text.as_str()).collect();
    assert_eq!(said.join(" "), texts.join(" "));
    assert!(spoken.iter().all(|cue| cue.text.chars().count() <= 42));
    // Each sentence begins a caption, and a pause is before it.
    let onsets = onsets(&studio.samples());
    for start in ["Chop", "Put", "Serve"] {
        let cue = spoken.iter().find(|cue| cue.text.starts_with(start)).unwrap();
        let nearest = onsets.iter().map(|onset| onset.abs_diff(cue.start_ms)).min().unwrap();
        assert!(nearest <= 150, "{start}: {nearest} ms, {cue:?}, {onsets:?}");
    }
    let seconds = plan.frames() as usize / 25;
    let lufs = loudness(&studio.path("out.mp4"), 0, seconds);
    assert!((lufs + 16.0).abs() < 1.0, "{lufs}");
}

#[test]
fn clips_last_as_long_as_their_sentences_within_the_limits() {
    let Some(studio) = Studio::open() else { return };
    let video = studio.video();
    let long = "Stir the sauce slowly over a low flame until it is thick, smooth and shiny.";
    let steps = vec![
        (long, Some(choice(&video, 0, 2000))),
        ("Stop.", Some(choice(&video, 8000, 9500))),
        (long, Some(choice(&video, 9600, 9800))),
    ];
    let mut demonstration = demonstration(steps);
    let warnings = Noting::default();
    let soundtrack = studio.narrate(&mut demonstration, 10_000, &warnings);
    let spoken = |step: usize| demonstration.spoken(step).unwrap();
    assert!(spoken(0).added_ms > 1000 && spoken(0).loops == 0, "{:?}", spoken(0));
    assert_eq!((spoken(1).added_ms, spoken(1).loops), (0, 0));
    assert!(spoken(2).loops > 2);
    let said = warnings.0.into_inner().unwrap();
    assert!(said.len() == 1 && said[0].starts_with("step 3: its clips are played"), "{said:?}");
    let plan = studio.render(&demonstration, &options(soundtrack));
    for step in 0..3 {
        let last_ms = spoken(step).words.last().unwrap().end_ms;
        let (start_ms, end_ms) = plan.step_ms(step).unwrap();
        assert!(end_ms - start_ms >= last_ms + 200, "step {step}");
        let speed = demonstration.steps[step].chosen.as_ref().unwrap().speed;
        assert!((MIN_SPEED..=1.0).contains(&speed), "step {step}: {speed}");
    }
    let seconds = studio.samples().len() as f64 / RATE as f64;
    assert!((seconds - plan.frames() as f64 / 25.0).abs() < 0.1);
}

#[test]
fn what_was_spoken_is_not_spoken_again() {
    let Some(studio) = Studio::open() else { return };
    let video = studio.video();
    let speak = || {
        let steps = vec![("Chop it.", Some(choice(&video, 0, 1500)))];
        let mut demonstration = demonstration(steps);
        let voice = studio.narrate(&mut demonstration, 10_000, &Silent).voice;
        let changed = std::fs::metadata(voice[0].as_ref().unwrap()).unwrap().modified().unwrap();
        (demonstration, changed)
    };
    assert_eq!(speak(), speak());
}

/// How loud a tone is in some milliseconds.
fn tone(samples: &[f32], hertz: f64, range_ms: std::ops::Range<usize>) -> f64 {
    let part = &samples[range_ms.start * RATE / 1000..range_ms.end * RATE / 1000];
    let (mut re, mut im) = (0.0, 0.0);
    for (i, x) in part.iter().enumerate() {
        let angle = std::f64::consts::TAU * hertz * i as f64 / RATE as f64;
        re += f64::from(*x) * angle.cos();
        im += f64::from(*x) * angle.sin();
    }
    re.hypot(im) / part.len() as f64
}

#[test]
fn music_and_the_clips_sound_are_quieter_while_somebody_speaks() {
    let Some(studio) = Studio::open() else { return };
    let video = studio.video(); // with a tone of 440 Hz
    let music = studio.path("music.flac");
    // shorter than the video, so it is played again
    ffmpeg(&["-f", "lavfi", "-i", "sine=frequency=6500:duration=2"], &music);
    let text = "Stir the sauce slowly over a low flame until it is thick and smooth.";
    let mut demonstration =
        demonstration(vec![(text, Some(choice(&video, 0, 10_000))), ("Wait", None)]);
    let soundtrack = studio.narrate(&mut demonstration, 10_000, &Silent);
    let soundtrack = Soundtrack { music: Some(music), ..soundtrack };
    studio.render(&demonstration, &options(soundtrack.clone()));
    let spoken = demonstration.spoken(0).unwrap().words.last().unwrap().end_ms as usize;
    assert!(spoken < 6000, "{spoken}");
    let samples = studio.samples();
    let quieter_db = |samples: &[f32], hertz| {
        20.0 * (tone(samples, hertz, 7000..8000) / tone(samples, hertz, 2000..3000)).log10()
    };
    let (source, music) = (quieter_db(&samples, 440.0), quieter_db(&samples, 6500.0));
    // the voice has some of this tone, too
    assert!((9.0..18.0).contains(&source), "{source} dB");
    assert!((9.0..15.0).contains(&music), "{music} dB");
    let end = samples.len() * 1000 / RATE;
    let faded = [0..100, end - 150..end - 50].map(|range| tone(&samples, 6500.0, range));
    assert!(faded.iter().all(|x| *x < 0.2 * tone(&samples, 6500.0, 7000..8000)), "{faded:?}");
    let full = Soundtrack { source: SourceSound::Full, ..soundtrack };
    studio.render(&demonstration, &options(full));
    assert!(quieter_db(&studio.samples(), 440.0).abs() < 3.0);
}

#[test]
fn burnt_captions_come_with_their_words() {
    let Some(studio) = Studio::open() else { return };
    let video = studio.video();
    let steps = vec![("Chop it.", Some(choice(&video, 0, 4000)))];
    let mut demonstration = demonstration(steps);
    let soundtrack = studio.narrate(&mut demonstration, 10_000, &Silent);
    let size = Some((320, 180));
    let with = RenderOptions { captions: Captions::Burnt, size, ..options(soundtrack) };
    studio.render(&demonstration, &with);
    let out = studio.path("out.mp4");
    let brightest = |frame: usize| {
        let filter = format!("select=eq(n\\,{frame}),crop=iw:ih*0.3:0:ih*0.7,format=gray");
        let arguments = ["-i", out.to_str().unwrap(), "-vf", &filter, "-frames:v", "1"];
        let bytes = ffmpeg_output(&[&arguments[..], &["-f", "rawvideo", "-"]].concat());
        bytes.into_iter().max().unwrap()
    };
    let words = &demonstration.spoken(0).unwrap().words;
    let (first, last) = (words[0].start_ms as usize / 40, words[1].end_ms as usize / 40);
    assert!(brightest(first - 2) < 140 && brightest(last + 3) < 140, "before and after");
    assert!(brightest(first.midpoint(last)) > 200);
}

#[test]
fn music_that_is_no_sound_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let red = plain(folder.path(), "red.mp4", "red", "64x36", "1");
    let mute = folder.path().join("mute.mp4");
    ffmpeg(&["-f", "lavfi", "-i", "testsrc=d=1:s=64x64"], &mute);
    let with = |music: PathBuf| options(Soundtrack { music: Some(music), ..Soundtrack::default() });
    let missing = with(folder.path().join("no.mp3")).validate().unwrap_err().to_string();
    assert!(missing.contains("music must be a sound file; there is no file"), "{missing}");
    let demonstration = demonstration(vec![("a", Some(choice(&red, 0, 1000)))]);
    let (out, cache) = (folder.path().join("out.mp4"), folder.path().join("cache"));
    let failed = render(&demonstration, &with(mute), &out, &cache, &Silent).unwrap_err();
    assert!(failed.to_string().contains("mute.mp4: has no sound"), "{failed}");
    assert!(!out.exists());
}

/// Runs where whisper-base is installed and espeak-ng speaks.
#[test]
#[allow(clippy::print_stderr)] // a skipped test should say so
fn the_speech_model_hears_the_words_where_they_are() {
    let Some(studio) = Studio::open() else { return };
    let home = std::env::var_os("STITCH_HOME").map(PathBuf::from);
    let cache = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache/stitch"));
    let model = home.or_else(cache).unwrap_or_default().join("models/whisper-base");
    let Ok(listener) = Listener::load(&model) else {
        eprintln!("skipped: run `stitch models pull whisper-base` first");
        return;
    };
    let texts = [
        "Fry the onions in a large pan with olive oil over medium heat until they are golden.",
        "Water the seedlings twice a day.",
        "Chop the carrot, boil it for ten minutes, and serve it with butter.",
    ];
    let video = studio.video();
    let steps = texts.map(|text| (text, Some(choice(&video, 0, 2000))));
    let mut demonstration = demonstration(steps.to_vec());
    let mut soundtrack = studio.narrate(&mut demonstration, 10_000, &Silent);
    soundtrack.source = SourceSound::Off;
    let plan = studio.render(&demonstration, &options(soundtrack));
    let heard = listener.words(&studio.path("out.mp4"), &Silent).unwrap();
    let mut off_ms = Vec::new();
    for step in 0..texts.len() {
        let (from_ms, to_ms) = plan.step_ms(step).unwrap();
        for word in &demonstration.spoken(step).unwrap().words {
            let same = |heard: &&stitch_engine::transcript::Sentence| {
                let bare = |text: &str| text.trim_matches(['.', ',']).to_lowercase();
                (from_ms..to_ms).contains(&heard.start_ms) && bare(&heard.text) == bare(&word.text)
            };
            let at = from_ms + word.start_ms;
            let distances = heard.iter().filter(same).map(|heard| heard.start_ms.abs_diff(at));
            off_ms.extend(distances.min());
        }
    }
    off_ms.sort_unstable();
    let within = off_ms.iter().filter(|off| **off <= 150).count();
    assert!(off_ms.len() >= 30, "{off_ms:?}: {heard:?}");
    assert!(within * 10 >= off_ms.len() * 9, "{off_ms:?}");

    // The result as a user's own recording: every step is found in it, at the same words.
    let path = studio.path("out.mp4");
    let speaker =
        Speaker::parse(path.to_str().unwrap(), "", |url| ChatOptions::new(url, "")).unwrap();
    let cache = studio.path("recording");
    let narrator = Narrator { speaker, listener: Some(listener), cache };
    let mut asked: Vec<Option<String>> = texts.iter().map(|text| Some((*text).into())).collect();
    asked.push(Some("Sharpen the chisel on a fine stone.".into()));
    let warnings = Noting::default();
    let speeches = narrator.speak(&asked, &warnings).unwrap();
    assert_eq!(speeches.iter().filter(|speech| speech.is_some()).count(), 3);
    let said = warnings.0.into_inner().unwrap();
    assert!(said.len() == 1 && said[0].starts_with("step 4 is not said in"), "{said:?}");
    check_lengths(&speeches[0].as_ref().unwrap().sound, &plan, 0);
}

/// A step that was cut out of the result is about as long as the step.
fn check_lengths(sound: &Path, plan: &Plan, step: usize) {
    let bytes = std::fs::metadata(sound).unwrap().len();
    let (from_ms, to_ms) = plan.step_ms(step).unwrap();
    let length_ms = bytes * 1000 / (2 * 48_000);
    assert!((to_ms - from_ms).abs_diff(length_ms) < 900, "{length_ms}");
}
