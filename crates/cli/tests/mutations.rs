//! Mutated media, subtitles, pages, features, labels, studies, models and library files go through the real program,
//! with a deadline and a limit of memory: it ends with a documented exit code, never by a panic or a signal. Where
//! there is strace, every file that the program and its programs open is one of the test or of the system.
//!
//! `STITCH_MUTATIONS=n` (see `make crash`) tries at least so many files, otherwise there is one of each form.

#![allow(clippy::print_stderr)]

mod common;
#[path = "../../../fuzz/mutate.rs"]
mod mutate;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::Home;
use mutate::{Random, mutated};
use stitch_engine::calibration::Calibration;
use stitch_engine::library::Library;

/// For one command, which may read many files; ffmpeg alone may be silent for two minutes.
const DEADLINE_S: &str = "300";
const MEMORY: &str = "--as=1073741824";
/// How many files of a form one command reads at most, where it reads several.
const BATCH: usize = 50;

/// Files that are mutated, and the commands that then read them.
struct Form {
    /// `#` stands for numbers from 0, `*` for the rest of the one name that begins so.
    file: &'static str,
    commands: &'static [&'static str],
}

const fn form(file: &'static str, commands: &'static [&'static str]) -> Form {
    Form { file, commands }
}

const LIBRARY: &[&str] = &["library verify", "search chop", "make soup.txt --no-video -o soup.mp4"];
const SEARCH: &[&str] = &["search chop"];

const FORMS: &[Form] = &[
    form("mp4/#.mp4", &["index mp4 --library index"]),
    form("mkv/#.mkv", &["index mkv --library index"]),
    form("webm/#.webm", &["index webm --library index"]),
    form("playlists/#.mp4", &["index playlists --library index"]),
    form("subtitles/#.srt", &["index subtitles --library index"]),
    form("info/#.info.json", &["index info --library index"]),
    form("npz/#.npz", &["index --features npz --annotations videos.jsonl --library index"]),
    form("h5/#.h5", &["index --features h5 --annotations videos.jsonl --library index"]),
    form(
        "tensors/#.safetensors",
        &["index --features tensors --annotations videos.jsonl --library index"],
    ),
    form("videos.jsonl", &["index --features npz --annotations videos.jsonl --library index"]),
    form("page.html", &["make page.html --show-reading"]),
    form("home/library/library.db", LIBRARY),
    form("home/library/features/*", LIBRARY),
    form("home/library/pool-*", LIBRARY),
    form("home/library/calibration.json", LIBRARY),
    form("home/models/tiny-mpnet/tokenizer.json", SEARCH),
    form("home/models/tiny-mpnet/model.safetensors", SEARCH),
    form("home/models/tiny-mpnet/config.json", SEARCH),
    form("study/study.json", &["study report study"]),
    form("labels.jsonl", &["calibrate labels.jsonl --out other.json"]),
];

/// Everything that the forms need, whole; so many files of those that are read together.
fn home(batch: usize) -> Home {
    let home = Home::new();
    write_media(&home, batch);
    write_features(&home, batch);
    home.write("soup.txt", "Chop the onion\n");
    home.write(
        "page.html",
        r#"<html><script type="application/ld+json">{"@type": "Recipe", "name": "Soup", "recipeInstructions":
           [{"@type": "HowToStep", "text": "Chop the onion."}, "Fry it."]}</script><ol><li>Chop it<li>Fry it</ol></html>"#,
    );
    let clip = r#"{"video": "0.mp4", "start_s": 0, "end_s": 2}"#;
    let step = format!(r#"{{"line": "Chop the onion", "clips": [{clip}]}}"#);
    home.write(
        "labels.jsonl",
        format!("{{\"id\": \"1\", \"text\": \"Chop the onion\", \"steps\": [{step}]}}\n"),
    );
    let videos =
        r#"{"a": {"file": "a.mp4", "steps": [[0, 1]]}, "b": {"file": "b.mp4", "steps": [null]}}"#;
    home.write(
        "study/study.json",
        format!(
            r#"{{"version": 1, "title": "S", "seed": 0, "methods": ["a", "b"], "samples": [{{"name": "s", "title": "S",
               "steps": ["Chop"], "videos": {videos}}}], "pairs": [{{"sample": 0, "a": "a", "b": "b"}}]}}"#
        ),
    );
    home.run(&["index", "library"]).success();
    home.run(&["search", "chop"]).success(); // writes the pool
    let library = Library::open(&home.path("home/library")).unwrap();
    library.write_calibration(&library.calibration_file(), Calibration::of("narration")).unwrap();
    home
}

/// Small videos in several containers, lists of other files under the name of a video, and files beside videos.
fn write_media(home: &Home, batch: usize) {
    home.video("library/0.mp4", 0, &["Chop the onion."]);
    let mp4 = home.path("library/0.mp4");
    let copy = |name: &str, options: &str| {
        let mut ffmpeg = Command::new("ffmpeg");
        ffmpeg.args(["-v", "error", "-i"]).arg(&mp4).args(options.split(' ')).arg(home.path(name));
        assert!(ffmpeg.status().unwrap().success());
        std::fs::read(home.path(name)).unwrap()
    };
    let mkv = copy("one.mkv", "-an -c copy");
    let webm = copy("one.webm", "-an -c:v libvpx -deadline realtime");
    // With its index in front, so that the rest is read although something is wrong with it.
    let mp4 = copy("one.mp4", "-c copy -movflags +faststart");
    home.write("outside/secret.mp4", &mp4);
    let secret = home.path("outside/secret.mp4");
    let lists = [
        format!(
            "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\n{}\n#EXT-X-ENDLIST\n",
            secret.display()
        ),
        format!("ffconcat version 1.0\nfile {}\n", secret.display()),
    ];
    for number in 0..batch {
        // Bytes at the end that mean nothing make each another video.
        let own = |whole: &[u8]| [whole, b"\0\0\0\x09free", &[number as u8]].concat();
        home.write(&format!("mp4/{number}.mp4"), own(&mp4));
        home.write(&format!("mkv/{number}.mkv"), own(&mkv));
        home.write(&format!("webm/{number}.webm"), own(&webm));
        home.write(&format!("playlists/{number}.mp4"), &lists[number % lists.len()]);
        home.write(&format!("subtitles/{number}.mp4"), own(&mp4));
        let captions = "1\n00:00:00,000 --> 00:00:01,900\nChop the <i>onion</i>.\n\n";
        home.write(&format!("subtitles/{number}.srt"), captions);
        home.write(&format!("info/{number}.mp4"), own(&mp4));
        let info = r#"{"title": "Soup", "uploader": "Ann", "license": "CC0"}"#;
        home.write(&format!("info/{number}.info.json"), info);
    }
}

/// Arrays of features of every format, and the list of their videos.
fn write_features(home: &Home, batch: usize) {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../engine/tests/data");
    let forms = [("npz", "packed.npz"), ("h5", "packed.h5"), ("tensors", "half.safetensors")];
    for (folder, from) in forms {
        let whole = std::fs::read(data.join("features").join(from)).unwrap();
        let ending = from.rsplit('.').next().unwrap();
        (0..batch).for_each(|n| drop(home.write(&format!("{folder}/{n}.{ending}"), &whole)));
        home.write(&format!("{folder}/features.toml"), "rate = 1.0\n");
    }
    let steps = r#"[{"text": "chop the onion", "start": 1, "end": 3}]"#;
    let line =
        |n: usize| format!("{{\"video\": \"{n}\", \"duration\": 5.0, \"steps\": {steps}}}\n");
    home.write("videos.jsonl", (0..batch).map(line).collect::<String>());
    for file in std::fs::read_dir(data.join("tiny-clip")).unwrap().map(Result::unwrap) {
        let name = format!("tower/{}", file.file_name().display());
        home.write(&name, std::fs::read(file.path()).unwrap());
    }
}

/// The files of a form.
fn files_of(home: &Home, form: &Form) -> Vec<PathBuf> {
    let numbered = |n: usize| home.path(&form.file.replace('#', &n.to_string()));
    let Some(prefix) = form.file.strip_suffix('*').map(|prefix| home.path(prefix)) else {
        let count = if form.file.contains('#') { BATCH } else { 1 };
        return (0..count).map(numbered).filter(|file| file.exists()).collect();
    };
    let prefix = prefix.to_string_lossy().into_owned();
    let folder = prefix.rsplit_once('/').unwrap().0;
    let mut files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    vec![files.find(|file| file.to_string_lossy().starts_with(&prefix)).unwrap()]
}

/// Whether system calls can be traced here.
fn can_trace() -> bool {
    let arguments = ["-f", "--seccomp-bpf", "-o", "/dev/null", "true"];
    let tried = Command::new("strace").args(arguments).output();
    tried.is_ok_and(|done| done.status.success())
}

/// Runs the command under the limits; with a trace of what it opens in the file.
fn run(home: &Home, command: &str, trace: Option<&Path>) -> Output {
    let mut arguments: Vec<&str> = command.split(' ').collect();
    if command.contains("--features") {
        arguments.extend(["--text-encoder", "tower"]);
    }
    let stitch = home.command(&arguments);
    let mut limited = Command::new("timeout");
    limited.args(["--signal=KILL", DEADLINE_S]);
    if let Some(file) = trace {
        let calls = "trace=open,openat,openat2,creat,connect";
        limited.args(["strace", "-f", "--seccomp-bpf", "-qq", "-e", calls, "-o"]).arg(file);
    }
    limited.args(["prlimit", MEMORY]);
    limited.arg(stitch.get_program()).args(stitch.get_args()).current_dir(home.path("."));
    for (key, value) in stitch.get_envs() {
        match value {
            Some(value) => limited.env(key, value),
            None => limited.env_remove(key),
        };
    }
    limited.env("HOME", home.path("home")).env("TMPDIR", home.path("temporary"));
    limited.env_remove("LD_LIBRARY_PATH"); // which cargo sets
    // Memory that is reserved for each thread counts, too.
    limited.env("RAYON_NUM_THREADS", "2").env("MALLOC_ARENA_MAX", "2").output().unwrap()
}

/// The first call in the trace that opens what is neither the system's nor inside of the folder, or connects.
fn breach<'a>(trace: &'a str, inside: &Path) -> Option<&'a str> {
    const SYSTEM: [&str; 10] = [
        "/usr/",
        "/lib",
        "/bin/",
        "/opt/",
        "/etc/",
        "/proc/",
        "/sys/",
        "/dev/null",
        "/dev/urandom",
        "/var/cache/fontconfig",
    ];
    let outside = inside.join("outside");
    let is_allowed = |path: &str| {
        let path = inside.join(path); // of a relative path that, of an absolute one itself
        let is_inside = path.starts_with(inside) && !path.starts_with(&outside);
        let is_system = SYSTEM.iter().any(|folder| path.to_string_lossy().starts_with(folder));
        (is_inside || is_system) && path.components().all(|part| part.as_os_str() != "..")
    };
    let is_breach = |line: &&str| match line.split_once('"') {
        _ if line.contains("connect(") => !line.contains("AF_UNIX"),
        _ if line.contains("O_PATH") => false, // what is allowed is named, not opened
        Some((_, path)) => !is_allowed(path.split('"').next().unwrap()),
        None => false,
    };
    trace.lines().find(is_breach)
}

#[test]
fn breaches_are_told_from_what_programs_open() {
    let inside = Path::new("/tmp/test");
    for (line, expected) in [
        ("7 openat(AT_FDCWD, \"/tmp/test/a.mp4\", O_RDONLY) = 3", false),
        ("7 openat(AT_FDCWD, \"home/library\", O_RDONLY) = 3", false),
        ("7 openat(AT_FDCWD, \"/usr/lib/libm.so\", O_RDONLY <unfinished ...>", false),
        ("7 connect(3, {sa_family=AF_UNIX, sun_path=\"/run/nscd\"}, 110) = -1 ENOENT", false),
        ("7 +++ exited with 0 +++", false),
        ("7 openat(AT_FDCWD, \"/tmp/test/outside/secret.mp4\", O_RDONLY) = 3", true),
        ("7 openat(AT_FDCWD, \"/tmp/other\", O_RDONLY) = -1 ENOENT", true),
        ("7 openat(AT_FDCWD, \"/tmp/test/../other\", O_RDONLY) = 3", true),
        ("7 openat(AT_FDCWD, \"../other\", O_RDONLY) = 3", true),
        ("7 connect(3, {sa_family=AF_INET, sin_port=htons(80)}, 16) = 0", true),
    ] {
        assert_eq!(breach(line, inside).is_some(), expected, "{line}");
    }
}

/// The files of the library with what is in them.
fn library_files(home: &Home) -> Vec<(PathBuf, Vec<u8>)> {
    let folders = ["home/library", "home/library/features"].map(|folder| home.path(folder));
    let entries = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let files = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    files.map(|file| (file.clone(), std::fs::read(file).unwrap())).collect()
}

/// Mutates files of a form with seeds from the given one on, runs its commands, and puts the files back. How the
/// commands ended.
fn check(home: &Home, form: &Form, seed: usize, traced: bool) -> Vec<i32> {
    let files = files_of(home, form);
    let whole: Vec<_> = files.iter().map(|file| std::fs::read(file).unwrap()).collect();
    for (number, (file, bytes)) in files.iter().zip(&whole).enumerate() {
        let bytes = mutated(std::slice::from_ref(bytes), &mut Random((seed + number) as u64));
        std::fs::write(file, bytes).unwrap();
    }
    let inside = home.path(".").canonicalize().unwrap();
    let log = home.path("trace");
    let run = |command: &&str| {
        let _ = std::fs::remove_dir_all(home.path("index"));
        let done = run(home, command, traced.then_some(log.as_path()));
        let said = String::from_utf8_lossy(&done.stderr);
        let case = format!("{} with seed {seed}: {command}: {}: {said}", form.file, done.status);
        assert!(!said.contains("panicked"), "{case}");
        let trace = std::fs::read(&log).unwrap_or_default();
        assert_eq!(breach(&String::from_utf8_lossy(&trace), &inside), None, "{case}");
        let code = done.status.code().filter(|code| (0..=3).contains(code));
        code.unwrap_or_else(|| panic!("{case}"))
    };
    let codes = form.commands.iter().map(run).collect();
    files.iter().zip(&whole).for_each(|(file, bytes)| std::fs::write(file, bytes).unwrap());
    codes
}

/// Tries the forms of which one command reads many files, or the others.
fn try_forms(in_batches: bool) {
    let wanted: usize = std::env::var("STITCH_MUTATIONS").map_or(0, |count| count.parse().unwrap());
    let of_each = wanted.div_ceil(FORMS.len()).max(1);
    let home = home(of_each.min(BATCH));
    std::fs::create_dir(home.path("temporary")).unwrap();
    let traced = can_trace();
    let library = library_files(&home);
    let forms: Vec<&Form> =
        FORMS.iter().filter(|form| form.file.contains('#') == in_batches).collect();
    let (mut tried, mut commands) = (0, BTreeMap::<i32, usize>::new());
    for form in &forms {
        let at_once = files_of(&home, form).len();
        for seed in (0..of_each).step_by(at_once) {
            let codes = check(&home, form, seed, traced);
            tried += at_once;
            codes.into_iter().for_each(|code| *commands.entry(code).or_default() += 1);
            // Commands may have written to a library that they could read.
            std::fs::remove_dir_all(home.path("home/library")).unwrap();
            std::fs::create_dir_all(home.path("home/library/features")).unwrap();
            library.iter().for_each(|(file, bytes)| std::fs::write(file, bytes).unwrap());
        }
    }
    let how = if traced { "system calls traced" } else { "not traced: no strace here" };
    let forms = forms.len();
    eprintln!("{tried} mutated files of {forms} forms, {how}; commands by exit code: {commands:?}");
}

#[test]
fn mutated_videos_and_features_are_read_or_refused() {
    try_forms(true);
}

#[test]
fn mutated_libraries_models_and_texts_are_read_or_refused() {
    try_forms(false);
}
