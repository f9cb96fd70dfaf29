//! What the probe says of good files and of every kind of bad one.

mod common;

use std::path::Path;

use common::{ffmpeg, plain};
use stitch_engine::media::frames::{Filter, Fit};
use stitch_engine::media::{
    AudioReader, Decode, Frames, MediaError, Probe, Sampling, describe, probe, text_stream,
    thumbnail,
};
use stitch_engine::progress::Silent;

const SAMPLING: Sampling = Sampling {
    fps: 8.0,
    width: 8,
    height: 6,
    fit: Fit::Squash,
    filter: Filter::Bicubic,
    decode: Decode::Exact,
};

fn look(path: &Path) -> Result<Probe, MediaError> {
    probe(path, &Silent)
}

fn refused(path: &Path) -> String {
    match look(path) {
        Err(MediaError::Unusable { reason, .. }) => reason,
        other => panic!("{path:?}: {other:?}"),
    }
}

#[test]
fn a_file_with_decoding_times_alone_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = plain(folder.path(), "old.avi", "teal", "64x48", "4");
    assert!(look(&path).unwrap().duration_ms.abs_diff(4000) < 100);
}

#[test]
fn tells_size_rate_and_streams_as_shown() {
    let folder = tempfile::tempdir().unwrap();
    let srt = folder.path().join("a.srt");
    std::fs::write(&srt, "1\n00:00:00,100 --> 00:00:00,900\nHello\n").unwrap();
    let path = folder.path().join("-odd 'name'\n50%d.mkv");
    ffmpeg(
        &[
            "-f",
            "lavfi",
            "-i",
            "testsrc=s=64x48:r=25:d=1",
            "-f",
            "lavfi",
            "-i",
            "sine=d=1:sample_rate=22050",
            "-i",
            srt.to_str().unwrap(),
            "-vf",
            "setsar=2/1",
            "-c:s",
            "subrip",
            "-metadata:s:s:0",
            "language=eng",
        ],
        &path,
    );
    let found = look(&path).unwrap();
    assert_eq!((found.width, found.height, found.fps), (128, 48, 25.0));
    assert!(found.audio.is_some() && found.duration_ms.abs_diff(1000) < 60, "{found:?}");
    assert_eq!(found.text_streams, [2]);
    let text = text_stream(&path, 2, &Silent).unwrap();
    assert!(String::from_utf8(text).unwrap().contains("\nHello\n"));
    let jpeg = thumbnail(&path, 500, 32, &Silent).unwrap();
    assert!(jpeg.starts_with(&[0xff, 0xd8]));
    assert!(matches!(thumbnail(&path, 90_000, 32, &Silent), Err(MediaError::Unusable { .. })));
}

#[test]
fn rotation_pictures_and_uneven_rates_are_seen() {
    let folder = tempfile::tempdir().unwrap();
    let turned = folder.path().join("turned.mp4");
    let source = "testsrc=s=64x48:r=25:d=1";
    common::turned(source, &turned);
    let found = look(&turned).unwrap();
    assert_eq!((found.width, found.height), (48, 64));
    assert!(found.audio.is_none());

    let uneven = folder.path().join("uneven.mp4");
    let drop = "setpts='if(lt(N,12),N,12+(N-12)*4)/25/TB'";
    ffmpeg(&["-f", "lavfi", "-i", source, "-vf", drop, "-vsync", "vfr"], &uneven);
    let average = look(&uneven).unwrap().fps;
    assert!((5.0..15.0).contains(&average), "{average}");

    let cover = folder.path().join("cover.jpg");
    ffmpeg(&["-f", "lavfi", "-i", source, "-frames:v", "1"], &cover);
    let song = folder.path().join("song.m4a");
    let picture = cover.to_str().unwrap();
    ffmpeg(
        &[
            "-f",
            "lavfi",
            "-i",
            "sine=d=1",
            "-i",
            picture,
            "-disposition:v",
            "attached_pic",
            "-c:v",
            "mjpeg",
        ],
        &song,
    );
    assert!(refused(&song).contains("has sound but no video"));
    assert!(refused(&cover).contains("single picture"));
}

#[test]
fn bad_files_are_refused_with_a_reason_and_the_next_step() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let good = plain(folder.path(), "good.mp4", "red", "64x48", "2");
    let bytes = std::fs::read(&good).unwrap();

    std::fs::write(place("empty.mp4"), b"").unwrap();
    std::fs::write(place("text.mp4"), b"not media at all, just words").unwrap();
    std::fs::write(place("words.txt"), "just words\n".repeat(300)).unwrap();
    std::fs::write(place("truncated.mp4"), &bytes[..bytes.len() / 2]).unwrap();
    let mkv = place("long.mkv");
    let noisy = "testsrc2=s=320x240:r=25:d=20";
    ffmpeg(&["-f", "lavfi", "-i", noisy, "-c:v", "libx264", "-preset", "ultrafast"], &mkv);
    let long = std::fs::read(&mkv).unwrap();
    std::fs::write(place("cut.mkv"), &long[..long.len() / 3]).unwrap();
    std::fs::write(place("header.mkv"), eight_hours(&long)).unwrap();

    let table = [
        (folder.path().to_owned(), "is a folder"),
        (place("empty.mp4"), "the file is empty"),
        (place("text.mp4"), "no media file"),
        (place("words.txt"), "leave out anything else"),
        (place("truncated.mp4"), "cut off before its index"),
        (place("cut.mkv"), "it was cut off"),
        (place("header.mkv"), "has a header but no"),
    ];
    for (path, says) in table {
        let reason = refused(&path);
        assert!(reason.contains(says), "{path:?}: {reason}");
        assert!(reason.contains(';'), "the next step is missing: {reason}");
    }
    assert!(matches!(look(&place("gone.mp4")), Err(MediaError::File(_))));
    assert!(describe(&good, &Silent).is_ok());
}

#[test]
fn playlists_are_refused_and_nothing_they_name_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    let secret = place("secret.ts");
    assert!(std::process::Command::new("mkfifo").arg(&secret).status().unwrap().success());
    // To open a pipe for writing is to wait until somebody reads it.
    let path = secret.clone();
    let opened = std::thread::spawn(move || std::fs::File::create(path));
    let secret = secret.display();
    let hls = format!("#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\nfile:{secret}\n");
    let dash = format!(
        "<?xml version=\"1.0\"?><MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" type=\"static\" \
         mediaPresentationDuration=\"PT9S\" profiles=\"urn:mpeg:dash:profile:isoff-main:2011\">\
         <Period><AdaptationSet mimeType=\"video/mp4\"><Representation id=\"0\" bandwidth=\"1\">\
         <BaseURL>file:{secret}</BaseURL></Representation></AdaptationSet></Period></MPD>"
    );
    let playlists = [
        ("live.mp4", hls.clone()),
        ("ended.mp4", hls + "#EXT-X-ENDLIST\n"),
        ("dash.mp4", dash),
        ("list.mkv", "ffconcat version 1.0\nfile secret.ts\n".into()),
        (
            "session.mp4",
            "v=0\no=- 0 0 IN IP4 127.0.0.1\nc=IN IP4 127.0.0.1\nm=video 5004 RTP/AVP 96\n".into(),
        ),
    ];
    for (name, text) in playlists {
        std::fs::write(place(name), text).unwrap();
        let reason = refused(&place(name));
        assert!(reason.contains("playlist"), "{name}: {reason}");
        let sampled = Frames::open(&place(name), &SAMPLING, &Silent).unwrap().next();
        assert!(matches!(sampled, Some(Err(MediaError::Failed { .. }))), "{name}: {sampled:?}");
        assert!(matches!(thumbnail(&place(name), 0, 32, &Silent), Err(MediaError::Failed { .. })));
        assert!(AudioReader::speech(&place(name)).unwrap().finish(&Silent).is_err());
    }
    assert!(!opened.is_finished(), "the file that the playlists name was opened");
}

#[test]
fn a_video_of_days_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("days.mkv");
    let sparse = "setpts=N*200000/TB";
    let source = "color=s=64x48:r=1:d=2";
    ffmpeg(&["-f", "lavfi", "-i", source, "-vf", sparse, "-vsync", "passthrough"], &path);
    assert!(refused(&path).contains("hours; re-encode it"), "{}", refused(&path));
}

/// The header of a Matroska file, changed to claim eight hours, without data.
fn eight_hours(file: &[u8]) -> Vec<u8> {
    let mark = [0x44, 0x89, 0x88]; // Duration, eight bytes of floating point
    let at = file.windows(3).position(|window| window == mark).unwrap() + 3;
    let cluster = [0x1f, 0x43, 0xb6, 0x75];
    let end = file.windows(4).position(|window| window == cluster).unwrap();
    let mut header = file[..end].to_vec();
    header[at..at + 8].copy_from_slice(&28_800_000f64.to_be_bytes());
    header
}

#[test]
fn samples_frames_evenly_and_can_be_left_early() {
    let folder = tempfile::tempdir().unwrap();
    let path = plain(folder.path(), "red.mp4", "red", "64x48", "2");
    let sampling = SAMPLING;
    let frames: Vec<_> =
        Frames::open(&path, &sampling, &Silent).unwrap().map(Result::unwrap).collect();
    assert_eq!(frames.len(), 16);
    assert!(frames[3][0] > 240 && frames[3][1] < 20 && frames[3].len() == 8 * 6 * 3);
    for decode in [Decode::Fast, Decode::Keyframes] {
        let sampling = Sampling { decode, fit: Fit::Crop, ..sampling };
        let count = Frames::open(&path, &sampling, &Silent).unwrap().map(Result::unwrap).count();
        assert!(count >= 1, "{decode:?}: {count}");
    }
    drop(Frames::open(&path, &sampling, &Silent).unwrap().next());
    let gone = Frames::open(&folder.path().join("gone.mp4"), &sampling, &Silent).unwrap().next();
    assert!(matches!(gone, Some(Err(MediaError::Failed { .. }))), "{gone:?}");
}
