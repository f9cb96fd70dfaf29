//! Hardware encoders are used where they work, and x264 where they do not, by a program in ffmpeg's place.

mod common;

use std::os::unix::fs::PermissionsExt;

use common::Home;

/// An ffmpeg without hardware encoders but NVIDIA's, which counts its use in `nvenc.log` and then runs `instead`.
fn ffmpeg(home: &Home, instead: &str) {
    let log = home.path("nvenc.log");
    let script = format!(
        r#"#!/bin/sh
case " $* " in
    *" h264_nvenc "*) echo used >> '{}'; {instead} ;;
    *" h264_"*) exit 1 ;;
esac
exec ffmpeg "$@"
"#,
        log.display()
    );
    let path = home.write("ffmpeg.sh", script);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Takes NVIDIA's options out of the arguments and x264's in.
const X264_INSTEAD: &str = r#"
    n=$#; i=0
    while [ $i -lt $n ]; do
        a=$1; shift; i=$((i+1))
        case "$a" in
            h264_nvenc) set -- "$@" libx264 ;;
            p4) set -- "$@" veryfast ;;
            -rc|-cq) shift; i=$((i+1)) ;;
            *) set -- "$@" "$a" ;;
        esac
    done"#;

/// Makes a video with an encoder: what is said on standard error, and how often NVIDIA's encoder was used.
fn make(home: &Home, encoder: &str) -> (String, usize) {
    let _ = std::fs::remove_file(home.path("nvenc.log"));
    let arguments = ["make", "soup.txt", "--threshold=0", "--size", "160x90", "-o", "soup.mp4"];
    let mut command = home.command(&[&arguments[..], &["--encoder-video", encoder]].concat());
    command.env("STITCH_FFMPEG", home.path("ffmpeg.sh"));
    let done = assert_cmd::Command::from_std(command).assert().success();
    assert!(home.path("soup.mp4").metadata().unwrap().len() > 1000);
    let used = std::fs::read_to_string(home.path("nvenc.log")).unwrap_or_default().lines().count();
    // The test pictures have a corner that stands still.
    let said = String::from_utf8_lossy(&done.get_output().stderr).into_owned();
    (said.lines().filter(|line| !line.contains("watermark")).collect(), used)
}

fn doctor(home: &Home) -> String {
    let mut command = home.command(&["doctor"]);
    let done = command.env("STITCH_FFMPEG", home.path("ffmpeg.sh")).output().unwrap();
    String::from_utf8_lossy(&done.stdout).into_owned()
}

#[test]
fn an_encoder_that_is_listed_and_fails_is_replaced_with_one_line() {
    let home = Home::indexed();
    home.write("soup.txt", "Chop the onion\n");
    ffmpeg(&home, "echo 'Cannot load libcuda.so.1' >&2; exit 1");
    let (said, used) = make(&home, "auto");
    assert!(said.starts_with("warning: no hardware encoder works with this ffmpeg"), "{said}");
    assert_eq!((said.matches("warning").count(), used), (1, 1), "{said}");
    let (said, _) = make(&home, "nvenc");
    assert!(said.starts_with("warning: nvenc does not work with this ffmpeg"), "{said}");
    let (said, _) = make(&home, "x264");
    assert_eq!(said, "");
    let said = doctor(&home);
    assert!(said.contains("hardware encoder   none works; x264 encodes"), "{said}");
}

#[test]
fn an_encoder_that_works_is_used_for_every_cut() {
    let home = Home::indexed();
    home.write("soup.txt", "Chop the onion\nBoil the carrot\n");
    ffmpeg(&home, "exit 1");
    make(&home, "x264");
    ffmpeg(&home, X264_INSTEAD);
    assert_eq!(make(&home, "auto"), (String::new(), 3), "the trial and both cuts, none of x264's");
    assert_eq!(make(&home, "nvenc"), (String::new(), 1), "both cuts are in the cache");
    let said = doctor(&home);
    assert!(said.contains("hardware encoder   nvenc: use it with"), "{said}");
}

#[test]
fn an_unknown_encoder_is_refused_with_those_that_there_are() {
    let home = Home::new();
    let said = home.fails(&["make", "soup.txt", "--encoder-video", "h265"], 2);
    let all = "[possible values: x264, auto, nvenc, qsv, vaapi, videotoolbox]";
    assert!(said.contains(all), "{said}");
}
