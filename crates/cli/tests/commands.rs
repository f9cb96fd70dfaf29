//! Results, messages and exit codes of commands.

mod common;

use common::Home;
use insta::assert_snapshot;

const RECIPE: &str = "Vegetable soup\n\n1. Chop the onion\n2. Fry the onion\n3. Boil the carrot\n";

#[test]
fn output_that_cannot_be_written_is_an_error() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let done = Home::new().command(&["models", "list"]).stdout(full).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(1), "{said}");
    assert!(said.contains("error: the output cannot be written: No space left"), "{said}");
}

#[test]
fn help_reads_well() {
    let home = Home::new();
    let help = |arguments: &[&str]| home.prints(arguments);
    assert_snapshot!("help", help(&["--help"]));
    assert_snapshot!("help_make", help(&["make", "--help"]));
    assert_snapshot!("help_index", help(&["index", "--help"]));
}

#[test]
fn every_command_has_a_manual_page_and_completions() {
    let home = Home::new();
    home.run(&["man", "--out", "man"]).success();
    assert!(home.path("man/stitch-make.1").is_file());
    let done = home.run(&["completions", "bash"]).success();
    assert!(String::from_utf8_lossy(&done.get_output().stdout).contains("_stitch"));
}

#[test]
fn ends_quietly_when_nobody_reads() {
    let home = Home::indexed();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let done = home.command(&["library", "list"]).stdout(writer).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&done.stderr), "");
    assert!(done.status.success(), "{:?}", done.status);
}

#[test]
fn indexes_makes_and_exports() {
    let home = Home::indexed();
    home.write("soup.txt", RECIPE);
    let arguments = [
        "make",
        "soup.txt",
        "-o",
        "soup.mp4",
        "--threshold=0",
        "--with",
        "all",
        "--size",
        "160x90",
    ];
    let done = home.run(&arguments).success();
    let said = String::from_utf8_lossy(&done.get_output().stdout).into_owned();
    assert!(said.contains("3 of 3 steps shown"), "{said}");
    for ending in
        ["mp4", "json", "srt", "vtt", "otio", "edl", "fcpxml", "xml", "mlt", "html", "credits.txt"]
    {
        let file = home.path(&format!("soup.{ending}"));
        assert!(file.metadata().is_ok_and(|about| about.len() > 0), "{ending}");
    }
    let record: serde_json::Value =
        serde_json::from_slice(&std::fs::read(home.path("soup.json")).unwrap()).unwrap();
    assert_eq!(record["steps"].as_array().unwrap().len(), 3);
    assert_eq!(record["title"], "Vegetable soup");
    assert!(record["models"].as_object().unwrap().len() >= 2, "{}", record["models"]);
}

#[test]
fn a_timeline_needs_its_sources_and_a_place_to_write_to() {
    let home = Home::indexed();
    home.write("soup.txt", RECIPE);
    home.write("taken", "a file, no folder");
    let make = ["make", "soup.txt", "--threshold=0", "--no-video", "--with", "fcpxml,xmeml,mlt"];
    let said = home.fails(&[&make[..], &["-o", "taken/soup.mp4"]].concat(), 1);
    assert!(said.contains("HERE/taken") || said.contains("taken"), "{said}");
    for number in 0..3 {
        std::fs::remove_file(home.path(&format!("videos/video {number}.mp4"))).unwrap();
    }
    let said = home.fails(&make, 1);
    assert!(said.contains(".mp4"), "{said}");
    assert!(!home.path("demo.fcpxml").exists() && !home.path("demo.json").exists());
}

#[test]
fn the_same_procedure_comes_in_by_standard_input_and_as_a_page() {
    let home = Home::indexed();
    let page = r#"<html><script type="application/ld+json">{"@type":"Recipe","name":"Soup",
        "recipeInstructions":["Chop the onion","Boil the carrot"]}</script></html>"#;
    home.write("page.html", page);
    home.run(&["make", "page.html", "--no-video", "--threshold=0"]).success();
    let mut command = assert_cmd::Command::from_std(home.command(&[
        "make",
        "-",
        "--no-video",
        "--threshold=0",
        "-o",
        "piped.mp4",
    ]));
    command.write_stdin("Chop the onion\nBoil the carrot\n").assert().success();
    let steps = |name: &str| {
        let text = std::fs::read(home.path(name)).unwrap();
        let value: serde_json::Value = serde_json::from_slice(&text).unwrap();
        value["steps"].clone()
    };
    assert_eq!(steps("demo.json"), steps("piped.json"));
}

#[test]
fn the_library_can_be_looked_at_and_changed() {
    let home = Home::indexed();
    let shown = home.run(&["library", "show", "video 0.mp4"]).success();
    let shown = String::from_utf8_lossy(&shown.get_output().stdout).into_owned();
    assert!(shown.contains("Chop the onion"), "{shown}");
    home.run(&["library", "verify"]).success();
    home.run(&["library", "remove", "video 0.mp4"]).success();
    let stats = home.run(&["library", "stats", "--json"]).success();
    let stats: serde_json::Value = serde_json::from_slice(&stats.get_output().stdout).unwrap();
    assert_eq!(stats["stats"]["ready"], 2);
    assert!(home.path("videos/video 0.mp4").is_file());
}

#[test]
fn a_second_run_finds_everything_known_and_a_copy_is_told() {
    let home = Home::indexed();
    std::fs::copy(home.path("videos/video 0.mp4"), home.path("videos/copy.mp4")).unwrap();
    let done = home.run(&["index", "videos", "--json"]).success();
    let report: serde_json::Value = serde_json::from_slice(&done.get_output().stdout).unwrap();
    assert_eq!((&report["unchanged"], &report["duplicates"]), (&3.into(), &1.into()));
    assert_eq!(report["indexed"], 0);
}

#[test]
fn strict_tells_a_gap_by_its_exit_code_and_still_makes_the_video() {
    let home = Home::indexed();
    home.write("soup.txt", "Chop the onion.\nChop the onion.\n");
    let arguments = ["make", "soup.txt", "--no-video", "--strict"];
    home.run(&[&arguments[..], &["--threshold=0"]].concat()).success();
    let refused = [&arguments[..], &["--threshold=1"]].concat();
    assert_snapshot!("nothing_shown", home.fails(&refused, 3));
    let table = home.run(&refused).code(3);
    let table = String::from_utf8_lossy(&table.get_output().stdout).into_owned();
    assert_eq!((table.matches("gap:").count(), table.matches("nearest: ").count()), (2, 2));
}

#[test]
fn messages_say_what_to_do_next() {
    let home = Home::with_videos();
    home.write("empty.txt", "\n  \n");
    home.write("soup.txt", RECIPE);
    home.write("notes/readme.txt", "no videos here");
    let said = |arguments: &[&str], code| home.fails(arguments, code);
    assert_snapshot!("no_library", said(&["make", "soup.txt"], 1));
    assert_snapshot!("no_such_file", said(&["make", "nowhere.txt"], 1));
    assert_snapshot!("empty_procedure", said(&["make", "empty.txt"], 1));
    assert_snapshot!("nothing_to_index", said(&["index", "notes"], 1));
    assert_snapshot!("odd_size", said(&["make", "soup.txt", "--size", "101x77"], 2));
    assert_snapshot!("odd_crossfade", said(&["make", "soup.txt", "--crossfade", "9"], 2));
    assert_snapshot!("unknown_model", said(&["models", "pull", "nonsense"], 1));
    assert_snapshot!("unknown_encoder", said(&["index", "videos", "--encoder", "psychic"], 1));
    for (option, wrong, allowed) in
        [("--aspect", "sideways", "follow"), ("--overlays", "burn", "cover")]
    {
        let said = said(&["make", "soup.txt", option, wrong], 2);
        assert!(said.contains(allowed), "{said}");
    }
    home.run(&["index", "videos"]).success();
    assert_snapshot!("no_such_video", said(&["library", "show", "nothing.mp4"], 1));
    assert_snapshot!("no_source", said(&["make", "soup.txt", "--only", "nobody"], 1));
}

#[test]
fn stronger_encoders_are_listed_and_recommended() {
    let home = Home::new();
    let listed = home.prints(&["models", "list"]);
    for name in ["clip", "mobileclip2-s0", "mobileclip2-s4", "siglip2"] {
        let line = listed.lines().find(|line| line.split(' ').next() == Some(name)).unwrap();
        assert!(line.contains(" MB  not measured  not measured"), "{line}");
    }
    // A library of the same name in the working folder is no model.
    std::fs::create_dir(home.path("siglip2")).unwrap();
    let said = home.fails(&["index", "videos", "--encoder", "siglip2"], 1);
    assert!(said.contains("stitch models pull siglip2"), "{said}");
    let done = home.command(&["doctor"]).output().unwrap();
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(said.contains("`mini` sees single frames"), "{said}");
    assert!(said.contains("stitch models pull clip"), "{said}");
}

#[test]
fn a_missing_program_is_named_with_the_command_that_installs_it() {
    let home = Home::with_videos();
    let mut command = home.command(&["index", "videos"]);
    command.env("STITCH_FFPROBE", "/nonexistent/ffprobe");
    let done = assert_cmd::Command::from_std(command).assert().code(1);
    let said = String::from_utf8_lossy(&done.get_output().stderr).into_owned();
    assert!(said.contains("sudo apt-get install ffmpeg"), "{said}");
    // Nothing was recorded as the videos' fault: with the program back, all goes well.
    home.run(&["index", "videos"]).success();
}

#[test]
fn what_was_read_of_a_text_is_told_with_the_lines_left_out() {
    let home = Home::indexed();
    let text =
        format!("Serves 4\n\nIngredients\n- 2 onions\n\nMethod\n{}\nEnjoy!\n", &RECIPE[16..]);
    home.write("soup.txt", format!("Vegetable soup\n\n{text}"));
    home.write("plain.txt", RECIPE);
    let said = |arguments: &[&str]| home.prints(arguments);
    assert_snapshot!("reading", said(&["make", "soup.txt", "--show-reading"]));
    assert_snapshot!("reading_json", said(&["make", "soup.txt", "--show-reading", "--json"]));
    assert!(!home.path("demo.json").exists(), "nothing is made");
    let make = |file: &str| said(&["make", file, "--no-video", "--gaps", "never"]);
    let told = "From the text: read 3 steps, left out 5 lines; `--show-reading` lists them.\n";
    assert!(make("soup.txt").contains(told), "{}", make("soup.txt"));
    assert!(!make("plain.txt").contains("left out"), "{}", make("plain.txt"));
}

#[test]
fn two_recipes_in_one_text_are_read_with_a_warning() {
    let home = Home::new();
    let recipe = |title: &str, step: &str| {
        format!("{title}\n\nIngredients\n- 2 onions\n\nMethod\n1. {step}\n\n")
    };
    home.write("two.txt", recipe("Soup", "Chop them") + &recipe("Cake", "Bake it"));
    let done = home.run(&["make", "two.txt", "--show-reading"]).success();
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (read, warned) = (said(&done.get_output().stdout), said(&done.get_output().stderr));
    assert!(read.starts_with("title: Soup\n  1  Chop them\n  2  Bake it\n"), "{read}");
    assert!(warned.contains("seems to hold 2 recipes"), "{warned}");
}

#[test]
fn conditions_and_times_of_steps_are_told() {
    let home = Home::indexed();
    let steps = r#"["Sand the board.", "If the wood is dry, paint it for 5 minutes."]"#;
    home.write("board.json", format!(r#"{{"title": "", "steps": {steps}}}"#));
    let read = home.prints(&["make", "board.json", "--show-reading"]);
    let told = "     condition: if the wood is dry\n     time: for 5 minutes\n";
    assert!(read.contains(told), "{read}");
    let json = home.prints(&["make", "board.json", "--no-video", "--gaps", "never", "--json"]);
    assert!(json.contains(r#""times":["for 5 minutes"]"#), "{json}");
    assert!(json.contains(r#""condition":"if the wood is dry""#), "{json}");
}

#[test]
fn a_doubtful_clip_is_a_gap_as_the_user_wants() {
    let home = Home::indexed();
    // None where nothing is shown, which is a failure.
    let gaps = |policy: &str| -> Option<usize> {
        let done = home.run(&["make", "two.txt", "--no-video", "--gaps", policy]);
        let said = String::from_utf8_lossy(&done.get_output().stdout).into_owned();
        let line = said.lines().find(|line| line.contains(" of 2 steps shown"))?;
        Some(2 - line.split(' ').next().unwrap().parse::<usize>().unwrap())
    };
    let doubtful = ["Polish the board", "Varnish the board", "Chop the potato", "Knead the dough"];
    let mut all = [0, 0];
    for step in doubtful {
        home.write("two.txt", format!("Sand the board\n{step}\n"));
        let [strict, balanced] = ["strict", "balanced"].map(|policy| gaps(policy).unwrap_or(2));
        assert!(strict >= balanced, "{step}: {strict} {balanced}");
        assert_eq!(gaps("never"), Some(0), "{step}");
        all = [all[0] + strict, all[1] + balanced];
    }
    assert!(all[0] > all[1], "a doubtful clip is a gap if strict: {all:?}");
    assert!(all[1] > 0, "an unlikely clip is a gap unless never: {all:?}");
    let said = home.fails(&["make", "two.txt", "--gaps", "perhaps"], 2);
    assert!(said.contains("[possible values: strict, balanced, never]"), "{said}");
}

#[test]
fn a_step_of_two_actions_is_shown_by_two_clips_and_what_is_missing_is_told() {
    let home = Home::indexed();
    let steps =
        ["Peel the carrot, then chop the carrot", "Sand the board, then boil the carrot in water"];
    home.write("soup.txt", format!("Soup\n\n1. {}\n2. {}\n", steps[0], steps[1]));
    let arguments = ["make", "soup.txt", "-o", "soup.mp4", "--threshold=0.98", "--size", "160x90"];
    let said = home.prints(&[&arguments[..], &["--with", "chapters,srt"]].concat());
    assert!(said.contains("1 only in part), from "), "{said}");
    let missing = "partly shown: nothing shows \"sand the board\"";
    assert!(said.to_lowercase().contains(missing), "{said}");
    let read = |name: &str| std::fs::read_to_string(home.path(name)).unwrap();
    let record: serde_json::Value = serde_json::from_str(&read("soup.json")).unwrap();
    let step = &record["steps"][0];
    let parts = step["parts"].as_array().unwrap();
    let further = parts.iter().map(|part| &part["clip"]).filter(|clip| clip.is_object());
    let clips = further.chain([&step["chosen"]]);
    let mut texts: Vec<_> = clips.map(|clip| clip["text"].as_str().unwrap()).collect();
    texts.sort_unstable();
    assert_eq!(texts, ["Chop the carrot", "Peel the carrot"]);
    assert_eq!(read("soup.chapters.vtt").matches(" --> ").count(), 2, "one per step");
    assert_eq!(read("soup.srt").matches(" --> ").count(), 2);
}

#[test]
fn many_steps_and_other_languages_are_answered() {
    let home = Home::indexed();
    let many: Vec<String> = (1..=300).map(|i| format!("{i}. Chop vegetable number {i}")).collect();
    home.write("many.txt", many.join("\n"));
    home.write("other.txt", "Die Zwiebel hacken\n洗胡萝卜\nПокрасить доску\n");
    home.write("right-to-left.txt", "\u{200f}1. לקצוץ את הבצל\n\u{200f}2. לטגן אותו\n");
    home.write("pronouns.txt", "Take it.\nPut that on them.\nServe those.\n");
    for file in ["many.txt", "other.txt", "right-to-left.txt", "pronouns.txt"] {
        home.run(&["make", file, "--no-video", "--threshold=0"]).success();
    }
    home.write("endless.txt", vec!["Stir"; 501].join("\n"));
    let said = home.fails(&["make", "endless.txt", "--no-video"], 1);
    assert!(said.contains("501 steps"), "{said}");
}

#[test]
fn a_voice_that_cannot_speak_says_what_to_do() {
    let home = Home::indexed();
    home.write("soup.txt", RECIPE);
    let make = ["make", "soup.txt", "--threshold=0", "--size", "160x90"];
    let fails = |voice: &[&str], code| home.fails(&[&make[..], voice].concat(), code);
    let unknown = fails(&["--voice", "siri"], 2);
    assert!(unknown.contains("voice must be espeak, espeak:VOICE, piper:MODEL"), "{unknown}");
    let music = fails(&["--music", "missing.mp3"], 2);
    assert!(music.contains("there is no file `missing.mp3`"), "{music}");
    let sound = home.write("me.wav", b"not a sound");
    let recorded = fails(&["--voice", sound.to_str().unwrap(), "--speech", "never"], 1);
    assert!(recorded.contains("stitch models pull whisper-base"), "{recorded}");
    let mut piper = home.command(&[&make[..], &["--voice", "piper:en.onnx"]].concat());
    let piper = piper.env("STITCH_PIPER", "/nonexistent/piper").output().unwrap();
    let said = String::from_utf8_lossy(&piper.stderr);
    assert!(said.contains("piper is not installed; install it with"), "{said}");
    assert_eq!(piper.status.code(), Some(1));
    assert!(!home.path("demo.mp4").exists() && !home.path("demo.json").exists());
}

#[test]
#[allow(clippy::print_stderr)] // a skipped test should say so
fn a_narrator_reads_the_steps() {
    if std::process::Command::new("espeak-ng").arg("--version").output().is_err() {
        eprintln!("skipped: espeak-ng is not installed");
        return;
    }
    let home = Home::indexed();
    home.write("soup.txt", RECIPE);
    let arguments = ["make", "soup.txt", "--threshold=0", "--size", "160x90", "--voice", "espeak"];
    let said = home.prints(&[&arguments[..], &["--with", "srt"]].concat());
    assert!(said.contains("3 steps spoken by espeak:en-us"), "{said}");
    let record: serde_json::Value =
        serde_json::from_slice(&std::fs::read(home.path("demo.json")).unwrap()).unwrap();
    assert_eq!(record["voiceover"]["steps"][0]["words"][2]["text"], "onion");
    let captions = std::fs::read_to_string(home.path("demo.srt")).unwrap();
    assert!(captions.contains("00:00:00,200 --> ") && captions.contains("\nChop the onion\n"));
}
