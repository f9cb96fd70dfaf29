//! The commands that are disturbed.

use std::path::Path;
use std::process::{Command, Output};

use super::common::Home;
use super::served;

/// A command whose effects are compared.
pub struct Scenario {
    pub home: Home,
    pub arguments: Vec<&'static str>,
    /// What the command writes, removed before each run.
    pub written: &'static [&'static str],
    /// What it finds: a folder, and what is copied there before each run.
    pub found: Option<(&'static str, &'static str)>,
    /// What it never replaces: once it has its name, it is whole.
    pub kept: Option<&'static str>,
    /// Whether what it has made is asked for by requests, and not in files of its own.
    pub asked_for: bool,
    /// Runs it to its end.
    pub drive: fn(Command, &Path) -> Output,
    /// What it has made, without times and names of temporary files.
    pub result: fn(&Home) -> Vec<Vec<u8>>,
}

impl Scenario {
    fn new(
        home: Home,
        arguments: Vec<&'static str>,
        written: &'static [&'static str],
        result: fn(&Home) -> Vec<Vec<u8>>,
    ) -> Self {
        let drive = |mut command: Command, _: &Path| command.output().unwrap();
        Self { home, arguments, written, found: None, kept: None, asked_for: false, drive, result }
    }
}

fn words(text: &'static str) -> Vec<&'static str> {
    text.split(' ').collect()
}

fn read(home: &Home, names: &[&str]) -> Vec<Vec<u8>> {
    names.iter().map(|name| std::fs::read(home.path(name)).unwrap()).collect()
}

/// Two indexed videos and a procedure.
fn small_home() -> Home {
    let home = Home::new();
    home.video("videos/a.mp4", 0, &["Chop the onion."]);
    home.video("videos/b.mp4", 1, &["Peel the carrot."]);
    home.write("soup.txt", "Chop the onion\n");
    home.write("out/other", "");
    home.run(&["index", "videos"]).success();
    home
}

pub fn index() -> Scenario {
    Scenario::new(small_home(), words("index videos"), &["home/library"], |home| {
        let (list, pool) = home.library_content();
        vec![list.into_bytes(), pool]
    })
}

pub fn shards() -> Scenario {
    let arguments = words("index videos --shard 1/1 --out out/bucket");
    Scenario::new(small_home(), arguments, &["out/bucket"], |home| {
        let whole = home.prints(&["library", "verify", "out/bucket"]);
        home.run(&["library", "merge", "out/bucket", "--library", "out/bucket/merged"]).success();
        let list = ["library", "list", "--json", "--library", "out/bucket/merged"];
        vec![whole.into_bytes(), home.prints(&list).into_bytes()]
    })
}

pub fn make() -> Scenario {
    let arguments = words("make soup.txt --threshold=0 --size 64x64 -o out/soup.mp4");
    let written = &["out/soup.mp4", "out/soup.json", "home/cache"];
    Scenario::new(small_home(), arguments, written, |home| {
        read(home, &["out/soup.mp4", "out/soup.json"])
    })
}

pub fn backup() -> Scenario {
    let arguments = words("library backup out/backup");
    let scenario = Scenario::new(small_home(), arguments, &["out/backup"], |home| {
        home.run(&["library", "verify", "--library", "out/backup"]).success();
        let list = ["library", "list", "--json", "--library", "out/backup"];
        vec![home.prints(&list).into_bytes()]
    });
    Scenario { kept: Some("out/backup"), ..scenario }
}

/// A segment of which a video was removed, and a video that is in none.
pub fn optimise() -> Scenario {
    let home = small_home();
    home.run(&["search", "onion"]).success(); // writes the segment
    home.video("videos/c.mp4", 2, &["Saw the board."]);
    home.run(&["index", "videos"]).success();
    home.run(&["library", "remove", "a.mp4"]).success();
    std::fs::rename(home.path("home/library"), home.path("home/found")).unwrap();
    let scenario = Scenario::new(home, words("library optimise"), &["home/library"], |home| {
        let mut files: Vec<_> = std::fs::read_dir(home.path("home/library")).unwrap().collect();
        files.retain(|file| {
            file.as_ref().unwrap().file_name().to_string_lossy().starts_with("pool-")
        });
        let mut files: Vec<_> = files.into_iter().map(|file| file.unwrap().path()).collect();
        files.sort();
        files.iter().map(|file| std::fs::read(file).unwrap()).collect()
    });
    Scenario { found: Some(("home/library", "home/found")), ..scenario }
}

/// A search and a render.
pub fn serve() -> Scenario {
    let home = small_home();
    home.run(&["search", "onion"]).success(); // writes the segment, once for all runs
    let written =
        &["home/library/page", "home/cache", "out/served.mp4", "out/served.json", "out/jobs"];
    let scenario = Scenario::new(home, words("serve --port 0 --json"), written, |home| {
        read(home, &["out/served.mp4", "out/served.json", "out/jobs"])
    });
    Scenario { asked_for: true, drive: served::drive, ..scenario }
}

pub fn train() -> Scenario {
    let train = "train --also swapped,elsewhere --epochs 3 --batch 3 --width 16 --hidden 16 --held-out 4 --checkpoint-every 1 --precision f32 \
                 --out out/model";
    Scenario::new(Home::with_procedures(), words(train), &["out/model"], |home| {
        read(home, &["out/model/model.safetensors", "out/model/config.json"])
    })
}

pub fn mix() -> Scenario {
    let home = Home::with_procedures();
    home.write("out/other", "");
    let seed = home.mix();
    let mut arguments = words("dataset mix --builder none --held-out 0.3 -o out/mix.jsonl --seed");
    arguments.push(seed);
    Scenario::new(home, arguments, &["out/mix.jsonl"], |home| read(home, &["out/mix.jsonl"]))
}
