//! Rendering as a viewer sees and hears it: lengths, joins, loudness, sound in step with pictures.

mod common;

use std::path::{Path, PathBuf};

use common::{choice, demonstration, ffmpeg, ffmpeg_output, loudness, plain, turned};
use stitch_engine::demonstrate::Demonstration;
use stitch_engine::media::{self, MediaError};
use stitch_engine::progress::{Progress, Silent};
use stitch_engine::render::{Aspect, Captions, RenderError, RenderOptions, RenderReport, render};

struct Room {
    folder: tempfile::TempDir,
}

impl Room {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn out(&self) -> PathBuf {
        self.path().join("out.mp4")
    }

    fn render(&self, demonstration: &Demonstration, options: &RenderOptions) -> RenderReport {
        let cache = self.path().join("cache");
        render(demonstration, options, &self.out(), &cache, &Silent).unwrap()
    }

    /// The mean colour of every frame: red, green, blue.
    fn colours(&self) -> Vec<[u8; 3]> {
        let out = self.out();
        let scale = "scale=1:1:flags=area,format=rgb24";
        let bytes =
            ffmpeg_output(&["-i", out.to_str().unwrap(), "-vf", scale, "-f", "rawvideo", "-"]);
        bytes.as_chunks::<3>().0.to_vec()
    }

    /// The sound's left channel at 48 kHz.
    fn samples(&self) -> Vec<f32> {
        let out = self.out();
        let bytes = ffmpeg_output(&[
            "-i",
            out.to_str().unwrap(),
            "-af",
            "pan=mono|c0=c0",
            "-ar",
            "48000",
            "-f",
            "f32le",
            "-",
        ]);
        bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
    }
}

fn small() -> RenderOptions {
    RenderOptions { size: Some((160, 90)), fps: Some(25), ..RenderOptions::default() }
}

/// Ten clips with a flash and a click at the same moment: in the result they are together too.
#[test]
fn sound_and_picture_stay_together_over_ten_clips() {
    let room = Room::new();
    let source = room.path().join("flash.mp4");
    // Uneven frame rate and sound rate, so that a frame is no whole number of samples.
    let picture = "color=c=black:s=160x90:r=30000/1001:d=1.3,\
                   drawbox=c=white:t=fill:enable='between(t,0.6,0.75)'";
    let sound = "aevalsrc='0.7*sin(2*PI*1000*t)*between(t,0.6,0.75)':s=44100:d=1.3";
    ffmpeg(&["-f", "lavfi", "-i", picture, "-f", "lavfi", "-i", sound, "-shortest"], &source);
    // Lengths that are no whole number of frames.
    let steps = (0..10u64).map(|i| ("step", Some(choice(&source, 13 * i, 1113 + 7 * i))));
    room.render(&demonstration(steps.collect()), &small());

    let frames = room.colours();
    let flashes = edges(frames.iter().map(|c| c[1] > 128), 1.0 / 25.0);
    let samples = room.samples();
    let clicks = edges(samples.chunks(48).map(|c| c.iter().any(|x| x.abs() > 0.1)), 0.001);
    assert_eq!((flashes.len(), clicks.len()), (10, 10), "{flashes:?} {clicks:?}");
    for (flash, click) in flashes.iter().zip(&clicks) {
        assert!((flash - click).abs() < 0.04, "picture {flash}, sound {click}");
    }
    let seconds = (frames.len() as f64 / 25.0, samples.len() as f64 / 48000.0);
    assert!((seconds.0 - seconds.1).abs() < 0.04, "{seconds:?}");
}

/// Where something begins, in seconds: on after at least 50 ms of being off.
fn edges(on: impl Iterator<Item = bool>, step: f64) -> Vec<f64> {
    let mut edges = Vec::new();
    let mut off_for = 1.0;
    for (i, on) in on.enumerate() {
        if on && off_for >= 0.05 {
            edges.push(i as f64 * step);
        }
        off_for = if on { 0.0 } else { off_for + step };
    }
    edges
}

#[test]
fn joins_are_clean_and_a_swapped_clip_is_one_encode() {
    let room = Room::new();
    let red = plain(room.path(), "red.mp4", "red", "160x90", "1");
    let green = plain(room.path(), "green.mkv", "lime", "90x160", "1");
    let blue = plain(room.path(), "blue.mp4", "blue", "120x90", "1");
    let cut = |path: &Path| Some(choice(path, 100, 900));
    let options = RenderOptions { aspect: Aspect::Crop, ..small() };
    let first = demonstration(vec![("a", cut(&red)), ("b", cut(&green)), ("c", cut(&blue))]);
    let report = room.render(&first, &options);
    assert_eq!((report.encoded, report.reused), (3, 0));
    let colours = room.colours();
    assert_eq!(colours.len(), 60);
    for (i, colour) in colours.iter().enumerate() {
        let brightest = colour.iter().enumerate().max_by_key(|(_, value)| **value).unwrap();
        assert_eq!(brightest.0, i / 20, "frame {i} is {colour:?}");
        assert!(*brightest.1 > 200, "frame {i} is {colour:?}");
    }

    let swapped = demonstration(vec![("a", cut(&red)), ("b", cut(&red)), ("c", cut(&blue))]);
    assert_eq!(room.render(&swapped, &options).encoded, 0, "the same clip is there already");
    let other = Some(choice(&green, 40, 840));
    let swapped = demonstration(vec![("a", cut(&red)), ("b", other), ("c", cut(&blue))]);
    let report = room.render(&swapped, &options);
    assert_eq!((report.encoded, report.reused), (1, 2));
}

#[test]
fn every_clip_has_one_loudness_and_silence_stays_silent() {
    let room = Room::new();
    let sounds = [
        ("quiet", "sine=frequency=500:duration=2,volume=-20dB"),
        ("loud", "anoisesrc=color=pink:amplitude=0.9:duration=2:seed=1"),
        ("peaky", "aevalsrc='0.05*sin(2*PI*300*t)+0.9*lt(mod(t,0.5),0.002)':d=2"),
        ("hum", "sine=frequency=100:duration=2,volume=-50dB"),
    ];
    let mut steps = Vec::new();
    for (name, sound) in sounds {
        let path = room.path().join(format!("{name}.mkv"));
        let picture = "color=c=gray:s=64x64:r=25:d=2";
        ffmpeg(&["-f", "lavfi", "-i", picture, "-f", "lavfi", "-i", sound], &path);
        steps.push((name, Some(choice(&path, 0, 2000))));
    }
    room.render(&demonstration(steps), &small());
    let samples = room.samples();
    for (i, (name, _)) in sounds.iter().enumerate() {
        let loudness = loudness(&room.out(), 2 * i, 2);
        match *name {
            "hum" => assert!(loudness < -45.0, "{name}: {loudness}"),
            _ => assert!((loudness + 16.0).abs() < 1.0, "{name}: {loudness}"),
        }
    }
    assert!(samples.iter().all(|x| x.abs() <= 1.0));
}

#[test]
fn mute_turned_odd_and_sped_up_clips_come_out_whole() {
    let room = Room::new();
    let mute = room.path().join("-mute 'n\n100%d\".mp4");
    let picture = "testsrc2=s=96x128:r=15:d=1.5";
    turned(picture, &mute);
    let plain = plain(room.path(), "a:b#c?.mp4", "red", "64x36", "2");
    let mut fast = choice(&plain, 0, 2000);
    fast.speed = 2.0;
    let beyond = choice(&plain, 1500, 2300); // the last picture stands where the file ends
    let steps = vec![("a", Some(choice(&mute, 0, 1500))), ("b", Some(fast)), ("c", Some(beyond))];
    for aspect in [Aspect::Fit, Aspect::Crop, Aspect::Blur] {
        let report =
            room.render(&demonstration(steps.clone()), &RenderOptions { aspect, ..small() });
        assert_eq!(report.plan.frames(), 38 + 25 + 20);
        assert_eq!(room.colours().len(), 38 + 25 + 20);
    }
}

#[test]
fn fades_shorten_the_whole_and_blend_neighbours() {
    let room = Room::new();
    let red = plain(room.path(), "red.mp4", "red", "160x90", "2");
    let blue = plain(room.path(), "blue.mp4", "blue", "160x90", "2");
    let steps = vec![("a", Some(choice(&red, 0, 2000))), ("b", Some(choice(&blue, 0, 2000)))];
    let options = RenderOptions { crossfade_ms: 400, ..small() };
    let report = room.render(&demonstration(steps), &options);
    assert_eq!(report.encoded, 3, "two bodies and what they share");
    let colours = room.colours();
    assert_eq!(colours.len(), 90);
    assert!(colours[38][0] > 200 && colours[52][2] > 200);
    let [red, _, blue] = colours[45];
    assert!(red > 80 && red < 180 && blue > 80 && blue < 180, "{:?}", colours[45]);
    assert!((room.samples().len() as f64 / 48000.0 - 3.6).abs() < 0.04);
}

#[test]
fn captions_and_cards_take_any_text() {
    let room = Room::new();
    let grey = plain(room.path(), "grey.mp4", "gray", "320x180", "1");
    let long = "word ".repeat(60);
    let texts = ["it's 5:00, 100%{pts} \\N {\\an8}", "🥕 only emoji 🔪", "a\nb\r\n\tc", &long];
    let mut steps: Vec<(&str, _)> =
        texts.iter().map(|text| (*text, Some(choice(&grey, 0, 400)))).collect();
    steps.push(("{\\p1}nothing shows: this", None));
    let captions = Captions::Burnt;
    let options = RenderOptions { captions, size: Some((320, 180)), title_card: true, ..small() };
    let report = room.render(&demonstration(steps), &options);
    assert_eq!(report.plan.frames(), 75 + 4 * 10 + 75);
    // Every caption darkens the bottom and lights some of it; the card is dark with light letters.
    for frame in [80, 90, 100, 110, 150] {
        let (low, high) = bottom_range(&room.out(), frame);
        assert!(low < 60 && high > 140, "frame {frame}: {low} to {high}");
    }
}

/// The darkest and the lightest value in the lower part of a frame.
fn bottom_range(path: &Path, frame: usize) -> (u8, u8) {
    let filter = format!("select=eq(n\\,{frame}),crop=iw:ih*0.7:0:ih*0.3,format=gray");
    let path = path.to_str().unwrap();
    let bytes =
        ffmpeg_output(&["-i", path, "-vf", &filter, "-frames:v", "1", "-f", "rawvideo", "-"]);
    (*bytes.iter().min().unwrap(), *bytes.iter().max().unwrap())
}

#[test]
fn soft_captions_and_chapters_are_in_the_file_as_written() {
    let room = Room::new();
    let red = plain(room.path(), "red.mp4", "red", "64x36", "1");
    let text = "mix 'it': {\\an8} <b>now</b> \\N = #1; é";
    let steps = vec![(text, Some(choice(&red, 0, 800))), ("then", Some(choice(&red, 0, 1000)))];
    room.render(&demonstration(steps), &small());
    let out = room.out();
    let srt = media::text_stream(&out, 2, &Silent).unwrap();
    let plain = String::from_utf8(srt).unwrap().replace('\u{2060}', "");
    assert!(plain.contains("00:00:00,800 --> 00:00:01,800"), "{plain}");
    assert!(plain.contains(&format!("1. {text}\n")), "{plain}");
    let metadata = ffmpeg_output(&["-i", out.to_str().unwrap(), "-f", "ffmetadata", "-"]);
    let metadata = String::from_utf8(metadata).unwrap().replace('\\', "");
    assert!(metadata.contains("title=Tea") && metadata.contains("END=800"), "{metadata}");
    assert!(metadata.contains("= #1; é"), "{metadata}");
}

/// Asks to stop at once when the work reaches a stage.
struct StopAt(&'static str, std::sync::atomic::AtomicBool);

impl Progress for StopAt {
    fn begin(&self, stage: &str, _total: u64) {
        self.1.store(stage == self.0, std::sync::atomic::Ordering::Relaxed);
    }
    fn advance(&self, _units: u64) {}
    fn warn(&self, _message: &str) {}
    fn stopped(&self) -> bool {
        self.1.load(std::sync::atomic::Ordering::Relaxed)
    }
}

#[test]
fn a_stopped_render_leaves_no_half_file_and_goes_on() {
    let room = Room::new();
    let red = plain(room.path(), "red.mp4", "red", "64x36", "1");
    let demonstration = demonstration(vec![("a", Some(choice(&red, 0, 1000)))]);
    let cache = room.path().join("cache");
    for (stage, encoded) in [("encoding", 1), ("joining", 0)] {
        let stop = StopAt(stage, false.into());
        let stopped = render(&demonstration, &small(), &room.out(), &cache, &stop);
        assert!(
            matches!(
                stopped,
                Err(RenderError::Stopped(_) | RenderError::Media(MediaError::Stopped(_)))
            ),
            "{stopped:?}"
        );
        let left = std::fs::read_dir(&cache).unwrap().flatten();
        let half = left.filter(|e| e.file_name().to_string_lossy().starts_with(".writing"));
        assert_eq!(half.count(), 0);
        if stage == "encoding" {
            assert!(!room.out().exists());
        }
        assert_eq!(room.render(&demonstration, &small()).encoded, encoded);
    }
}

#[test]
fn what_cannot_be_rendered_says_why() {
    let room = Room::new();
    let red = plain(room.path(), "red.mp4", "red", "64x36", "1");
    let mut still = choice(&red, 0, 1000);
    still.speed = 0.0;
    let table = [
        (Some(choice(&red, 500, 500)), "the cut for step 1 is empty"),
        (Some(still), "plays at 0 times"),
        (Some(choice(&red, 60_000, 61_000)), "has no picture at 60.0 s"),
        (Some(choice(&room.path().join("gone.mp4"), 0, 1000)), "gone.mp4"),
        (None, "shows nothing"),
    ];
    for (chosen, says) in table {
        let options = RenderOptions { gap_cards: false, ..small() };
        let demonstration = demonstration(vec![("a", chosen)]);
        let cache = room.path().join("cache");
        let failed = render(&demonstration, &options, &room.out(), &cache, &Silent).unwrap_err();
        assert!(failed.to_string().contains(says), "{failed}");
        assert!(!room.out().exists());
    }
}

/// A white square wanders over a black picture: the upright crop has it in every frame.
#[test]
fn a_crop_that_follows_keeps_what_moves_inside() {
    let room = Room::new();
    let source = room.path().join("square.mp4");
    let picture = "color=c=black:s=320x180:r=25:d=6[b];color=c=white:s=36x36:r=25:d=6[s];\
                   [b][s]overlay=x='142+110*sin(t)':y=72";
    ffmpeg(&["-f", "lavfi", "-i", picture], &source);
    let steps = vec![("step", Some(choice(&source, 0, 6000)))];
    let size = Some((90, 160));
    let bright = |aspect: Aspect, crossfade_ms: u64| {
        let twice = [steps.clone(), steps.clone()].concat();
        let options = RenderOptions { size, aspect, crossfade_ms, ..small() };
        room.render(&demonstration(twice), &options);
        room.colours().iter().filter(|colour| colour[1] > 10).count()
    };
    let all = bright(Aspect::Follow, 0);
    assert!(all == 300 && bright(Aspect::Follow, 400) == 290, "{all} of 300 frames show it");
    assert!(bright(Aspect::Crop, 0) < 200, "the middle does not");
}
