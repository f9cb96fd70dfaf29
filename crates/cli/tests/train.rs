//! `stitch train`: a resumed run ends with the same weights, errors in the data are reported, and nothing is
//! overwritten.

mod common;

use std::process::Command;

use common::Home;

/// Long enough to be killed in the middle of, and quick.
const TRAIN: [&str; 18] = [
    "train",
    "--also",
    "swapped,elsewhere",
    "--epochs",
    "30",
    "--patience",
    "30",
    "--batch",
    "3",
    "--width",
    "16",
    "--hidden",
    "16",
    "--held-out",
    "4",
    "--checkpoint-every",
    "2",
    "--precision",
];

fn arguments<'a>(out: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&TRAIN[..], &["f32", "--out", out], more].concat()
}

/// Starts training and sends the signal once this epoch has begun.
fn interrupt(home: &Home, arguments: &[&str], epoch: &str, signal: &str) {
    let ended = home.interrupt(arguments, &format!("epoch {epoch} of"), signal);
    assert!(!ended.success());
}

#[test]
fn a_killed_training_goes_on_and_ends_with_the_same_weights() {
    let home = Home::with_procedures();
    home.run(&arguments("whole", &[])).success();
    let model = |out: &str| std::fs::read(home.path(out).join("model.safetensors")).unwrap();
    for (out, epoch, signal) in [("killed", "7", "-KILL"), ("stopped", "19", "-INT")] {
        interrupt(&home, &arguments(out, &[]), epoch, signal);
        assert!(home.path(out).join("checkpoint.safetensors").is_file());
        assert!(!home.path(out).join("model.safetensors").exists());
        home.run(&arguments(out, &[])).success();
        assert!(model(out) == model("whole"), "after {signal}");
        assert!(!home.path(out).join("checkpoint.safetensors").exists());
        let lines = std::fs::read_to_string(home.path(out).join("metrics.jsonl")).unwrap();
        let epochs = lines.lines().filter(|line| line.contains("\"event\":\"epoch\"")).count();
        assert_eq!(epochs, 30, "every epoch is told once");
    }
    // Once it is done there is nothing left to do.
    let again = home.run(&arguments("whole", &[])).success();
    let said = String::from_utf8_lossy(&again.get_output().stdout).into_owned();
    assert!(said.contains("holds the result of this training already"), "{said}");
}

#[test]
fn a_model_has_all_its_files_and_judges_by_default() {
    let home = Home::with_procedures();
    let out = home.path("home/models/my-evaluator");
    let done = home.run(&arguments("home/models/my-evaluator", &["--domain", "soup"])).success();
    let said = String::from_utf8_lossy(&done.get_output().stdout).into_owned();
    assert!(
        said.contains("epoch 30 of 30  loss ") && said.contains("average similarity"),
        "{said}"
    );
    for file in ["model.safetensors", "config.json", "card.json", "metrics.jsonl", "curves.svg"] {
        assert!(out.join(file).is_file(), "{file}");
    }
    let card: serde_json::Value =
        serde_json::from_slice(&std::fs::read(out.join("card.json")).unwrap()).unwrap();
    assert_eq!(card["metrics"]["calibration"]["reliability"].as_array().unwrap().len(), 10);
    assert!(card["data"].as_str().unwrap().contains("sha256"), "{}", card["data"]);
    home.write("soup.txt", "Chop the onion\nBoil the carrot\n");
    let make = ["make", "soup.txt", "--threshold=0", "--no-video", "-o", "soup.mp4"];
    let scorer = |more: &[&str]| {
        home.run(&[&make[..], more].concat()).success();
        let record = std::fs::read(home.path("soup.json")).unwrap();
        serde_json::from_slice::<serde_json::Value>(&record).unwrap()["scorer"].clone()
    };
    assert_eq!(scorer(&[]), "similarity");
    assert_eq!(scorer(&["--scorer", "evaluator"]), "evaluator");
    assert_eq!(scorer(&["--scorer", "blend"]), "blend");
}

/// Puts the procedures that pass, changed, into a file of their own.
fn data(home: &Home, change: impl Fn(&str) -> Option<String>) {
    let all = std::fs::read_to_string(home.path("procedures.jsonl")).unwrap();
    let lines: Vec<String> = all.lines().filter_map(change).collect();
    home.write("other.jsonl", lines.join("\n") + "\n");
}

fn is_train(line: &str) -> bool {
    line.contains("\"split\":\"train\"")
}

#[test]
fn what_is_wrong_with_the_data_is_told() {
    let home = Home::with_procedures();
    let all = home.fails(&arguments("out", &["--whole", "1"]), 2);
    assert!(all.contains("it must be from 0 to 0.9"), "{all}");
    let out = ["--data", "other.jsonl"];
    let told = || home.fails(&arguments("out", &out), 1);
    let mut messages = vec![told()];
    data(&home, |line| is_train(line).then(|| line.to_owned()));
    messages.push(told());
    data(&home, |line| (!is_train(line)).then(|| line.to_owned()));
    messages.push(told());
    let first = std::cell::Cell::new(true);
    data(&home, |line| (!is_train(line) || first.replace(false)).then(|| line.to_owned()));
    messages.push(told());
    data(&home, |line| Some(line.replace("\"start_ms\":", "\"start_ms\":1")));
    messages.push(told());
    data(&home, |line| Some(line.replace("\"split\":\"train\"", "\"split\":\"tain\"")));
    messages.push(told());
    // One procedure of two parts: what is learnt would be measured.
    let all = std::fs::read_to_string(home.path("procedures.jsonl")).unwrap();
    let twice =
        all.lines().find(|line| is_train(line)).unwrap().replace("\"train\"", "\"held-out\"");
    home.write("other.jsonl", format!("{all}{twice}\n"));
    messages.push(told());
    // No negative can be made.
    home.write("other.jsonl", all.clone());
    let none = [
        "train",
        "--data",
        "other.jsonl",
        "--out",
        "out",
        "--ablate",
        "correctness,continuity,state",
    ];
    messages.push(home.fails(&none, 1));
    let expected = [
        "there is no such file or folder",
        "the held-out part of the data has no procedure",
        "the train part of the data has no procedure",
        "the train part is made of one video",
        "procedures can be used (",
        "unknown variant `tain`",
        "is in the train and in the held-out part",
        "no negative can be made of any procedure",
    ];
    for (message, expected) in messages.iter().zip(expected) {
        assert!(message.contains(expected), "`{expected}` in {message}");
    }
    assert_eq!(messages.len(), expected.len());
    // Some clips are gone: said, and the rest is learnt from.
    let first = std::cell::Cell::new(true);
    data(&home, |line| match is_train(line) && first.replace(false) {
        true => Some(line.replace("\"start_ms\":", "\"start_ms\":1")),
        false => Some(line.to_owned()),
    });
    let done = home.run(&arguments("some", &out)).success();
    let said = String::from_utf8_lossy(&done.get_output().stderr).into_owned();
    assert!(said.contains("1 with a clip that is not in the library any more"), "{said}");
}

#[test]
fn features_that_are_none_are_told_with_their_file() {
    let home = Home::with_procedures();
    let folder = home.path("home/library");
    let forget_pool = || {
        for entry in std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.to_string_lossy().contains("pool-") {
                std::fs::remove_file(entry).unwrap();
            }
        }
    };
    let mut files: Vec<_> =
        std::fs::read_dir(folder.join("features")).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    let whole = std::fs::read(&files[0]).unwrap();
    let told = |bytes: &[u8]| {
        forget_pool();
        std::fs::write(&files[0], bytes).unwrap();
        let said = home.fails(&arguments("out", &[]), 1);
        let name = files[0].file_name().unwrap().to_string_lossy().into_owned();
        assert!(said.contains(&name) && said.contains("stitch library verify --repair"), "{said}");
        said
    };
    let nan = [&whole[..whole.len() - 2], &0x7e00u16.to_le_bytes()].concat();
    assert!(told(&nan).contains("not finite"));
    let at = whole.windows(6).position(|w| w == b",32],\"" || w == b",16],\"");
    if let Some(at) = at {
        let mut other = whole.clone();
        other[at + 1..at + 3].copy_from_slice(b"08");
        told(&other);
    }
    told(&whole[..whole.len() / 2]);
}

#[test]
fn a_checkpoint_or_a_model_of_another_training_is_kept() {
    let home = Home::with_procedures();
    interrupt(&home, &arguments("out", &[]), "5", "-KILL");
    let before = std::fs::read(home.path("out/checkpoint.safetensors")).unwrap();
    let other = arguments("out", &["--rate", "0.01"]);
    let said = home.fails(&other, 1);
    assert!(said.contains("is of another training (rate 0.001 there, 0.01 here)"), "{said}");
    assert!(std::fs::read(home.path("out/checkpoint.safetensors")).unwrap() == before);
    home.run(&arguments("out", &[])).success();
    let model = std::fs::read(home.path("out/model.safetensors")).unwrap();
    let said = home.fails(&other, 1);
    assert!(said.contains("holds a model of another training"), "{said}");
    assert!(std::fs::read(home.path("out/model.safetensors")).unwrap() == model);
    let said = home.fails(&arguments("new", &["--heads", "3"]), 2);
    assert!(said.contains("--width must be a multiple of --heads"), "{said}");
    if !cfg!(feature = "cuda") {
        let said = home.fails(&arguments("new", &["--device", "cuda"]), 1);
        assert!(said.contains("there is no CUDA GPU that this program can use"), "{said}");
    }
}

/// No file may be larger than so many KiB: what a full disk looks like to a program, without one.
#[test]
fn a_full_disk_leaves_the_last_checkpoint_and_the_run_goes_on_later() {
    let home = Home::with_procedures();
    home.run(&arguments("whole", &[])).success();
    interrupt(&home, &arguments("out", &[]), "3", "-KILL");
    let before = std::fs::read(home.path("out/checkpoint.safetensors")).unwrap();
    let command = home.command(&arguments("out", &["--quiet"]));
    let mut line = vec!["ulimit -f 48; trap '' XFSZ; exec".to_owned()];
    line.push(quoted(command.get_program()));
    line.extend(command.get_args().map(quoted));
    let mut limited = Command::new("bash");
    limited.arg("-c").arg(line.join(" ")).current_dir(home.path(""));
    limited.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let done = limited.output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(1), "{said}");
    assert!(
        said.contains("checkpoint.safetensors") && said.contains("no file this large"),
        "{said}"
    );
    assert!(std::fs::read(home.path("out/checkpoint.safetensors")).unwrap() == before);
    home.run(&arguments("out", &[])).success();
    let model = |out: &str| std::fs::read(home.path(out).join("model.safetensors")).unwrap();
    assert!(model("out") == model("whole"));
}

fn quoted(word: &std::ffi::OsStr) -> String {
    format!("'{}'", word.to_string_lossy())
}
