//! A separate folder for each test, with a small sentence model and a few small videos with subtitles.

#![allow(dead_code)] // each test file uses a part

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use tempfile::TempDir;

/// A folder for everything that `stitch` reads and writes in one test.
pub struct Home {
    folder: TempDir,
}

/// What is said in the test videos, six seconds each.
const SPOKEN: [[&str; 3]; 3] = [
    ["Chop the onion.", "Fry the onion in a pan.", "Serve the soup."],
    ["Peel the carrot.", "Chop the carrot.", "Boil the carrot in water."],
    ["Saw the board.", "Sand the board.", "Paint the board."],
];

/// What is said in videos of eight procedures.
const PROCEDURES: [[&str; 4]; 8] = [
    ["Chop the onion.", "Fry the onion in a pan.", "Add the stock.", "Serve the soup."],
    ["Peel the carrot.", "Chop the carrot.", "Boil the carrot in water.", "Serve the carrot."],
    ["Saw the board.", "Sand the board.", "Paint the board.", "Hang up the board."],
    ["Wash the rice.", "Boil the rice.", "Stir in the butter.", "Serve the rice."],
    ["Dig the bed.", "Sow the seeds.", "Water the seeds.", "Pull the weeds."],
    ["Mix the batter.", "Heat the pan.", "Fry the pancake.", "Serve the pancake."],
    ["Measure the shelf.", "Saw the shelf.", "Drill the holes.", "Screw on the shelf."],
    ["Fill the pot.", "Plant the basil.", "Water the basil.", "Cut the basil."],
];

impl Home {
    /// With the sentence model, without videos.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../engine/tests/data/tiny-mpnet");
        let model = folder.path().join("home/models/tiny-mpnet");
        std::fs::create_dir_all(&model).unwrap();
        for file in std::fs::read_dir(data).unwrap() {
            let file = file.unwrap();
            std::fs::copy(file.path(), model.join(file.file_name())).unwrap();
        }
        Self { folder }
    }

    /// With three videos in `videos/`.
    pub fn with_videos() -> Self {
        let home = Self::new();
        for (number, spoken) in SPOKEN.iter().enumerate() {
            home.video(&format!("videos/video {number}.mp4"), number, spoken);
        }
        home
    }

    /// With three videos, indexed.
    pub fn indexed() -> Self {
        let home = Self::with_videos();
        home.run(&["index", "videos"]).success();
        home
    }

    /// Eight indexed videos, and procedures of them in `procedures.jsonl`.
    pub fn with_procedures() -> Self {
        let home = Self::new();
        for (number, spoken) in PROCEDURES.iter().enumerate() {
            home.video(&format!("videos/video {number}.mp4"), number, spoken);
        }
        home.run(&["index", "videos"]).success();
        home.mix();
        let all = std::fs::read_to_string(home.path("procedures.jsonl")).unwrap();
        let mut lines: Vec<&str> = all.lines().collect();
        lines.sort_unstable();
        assert!(lines.len() >= 6, "{all}");
        let part = |(number, line): (usize, &&str)| {
            let split = if number < lines.len() - 3 { "train" } else { "held-out" };
            line.replace("\"split\":\"train\"", "\"split\":\"held-out\"")
                .replace("\"split\":\"held-out\"", &format!("\"split\":\"{split}\""))
        };
        let parted: Vec<String> = lines.iter().enumerate().map(part).collect();
        home.write("procedures.jsonl", parted.join("\n") + "\n");
        home
    }

    /// Whole videos as procedures, in `procedures.jsonl`. Which video is held out hangs on its bytes,
    /// and so on the ffmpeg that made it: with the first seed that gives both parts a video, which is returned.
    pub fn mix(&self) -> &'static str {
        let mix = |seed: &&str| {
            let arguments =
                ["dataset", "mix", "--builder", "none", "--held-out", "0.3", "--seed", seed];
            self.command(&arguments).output().unwrap().status.success()
        };
        ["0", "1", "2", "3", "4", "5", "6", "7"].into_iter().find(mix).unwrap()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// A video with a subtitle for each two seconds.
    pub fn video(&self, name: &str, tone: usize, spoken: &[&str]) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let seconds = 2 * spoken.len();
        let picture = format!("testsrc2=size=160x90:rate=12:duration={seconds}");
        let sound = format!("sine=frequency={}:duration={seconds}", 300 + 100 * tone);
        let made = Command::new("ffmpeg")
            .args(["-v", "error", "-y", "-f", "lavfi", "-i", &picture])
            .args(["-f", "lavfi", "-i", &sound, "-preset", "ultrafast", "-pix_fmt", "yuv420p"])
            .arg(&path)
            .status()
            .unwrap();
        assert!(made.success());
        let cue = |(i, text): (usize, &&str)| {
            format!("{}\n00:00:{:02},000 --> 00:00:{:02},900\n{text}\n", i + 1, 2 * i, 2 * i + 1)
        };
        let subtitles: Vec<String> = spoken.iter().enumerate().map(cue).collect();
        std::fs::write(path.with_extension("srt"), subtitles.join("\n")).unwrap();
    }

    /// `stitch` with these arguments, not started yet.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_stitch"));
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env("STITCH_HOME", self.path("home"))
            .env("STITCH_SENTENCE_MODEL", "tiny-mpnet")
            // The small sentence model of the tests has no picture tower beside it.
            .env("STITCH_ENCODER", "narration")
            .env_remove("STITCH_LIBRARY")
            .env_remove("STITCH_LLM_URL");
        command
    }

    /// Runs `stitch` to its end.
    pub fn run(&self, arguments: &[&str]) -> assert_cmd::assert::Assert {
        assert_cmd::Command::from_std(self.command(arguments)).assert()
    }

    /// Starts `stitch --json`, waits until it tells of progress in the stage, and sends the signal.
    pub fn interrupt(&self, arguments: &[&str], stage: &str, signal: &str) -> ExitStatus {
        let mut child = self
            .command(&[arguments, &["--json"]].concat())
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut lines = lines.map_while(Result::ok);
        let reached = lines.any(|line| line.contains("\"progress\"") && line.contains(stage));
        assert!(reached, "{stage} was never reached");
        let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        lines.for_each(drop);
        child.wait().unwrap()
    }

    /// What `stitch` prints on standard output.
    pub fn prints(&self, arguments: &[&str]) -> String {
        let done = self.run(arguments).success();
        String::from_utf8(done.get_output().stdout.clone()).unwrap()
    }

    /// What `stitch` said on standard error, with the paths of this test taken out.
    pub fn fails(&self, arguments: &[&str], code: i32) -> String {
        let done = self.run(arguments).code(code);
        let said = String::from_utf8_lossy(&done.get_output().stderr).into_owned();
        let here = std::fs::canonicalize(self.folder.path()).unwrap();
        said.replace(&*here.to_string_lossy(), "HERE")
            .replace(&*self.folder.path().to_string_lossy(), "HERE")
    }

    /// The library's records and features as one text and bytes, for comparing two runs.
    pub fn library_content(&self) -> (String, Vec<u8>) {
        let listed = self.run(&["library", "list", "--json"]).success();
        let list = String::from_utf8(listed.get_output().stdout.clone()).unwrap();
        let here = std::fs::canonicalize(self.folder.path()).unwrap();
        let list = list.replace(&*here.to_string_lossy(), "HERE");
        let mut features: Vec<PathBuf> = std::fs::read_dir(self.path("home/library/features"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            // What a killed process was writing is left behind, and read by nobody.
            .filter(|path| path.extension().is_some_and(|extension| extension == "safetensors"))
            .collect();
        features.sort();
        (list, features.iter().flat_map(|file| std::fs::read(file).unwrap()).collect())
    }
}

/// Rows as numpy writes them.
pub fn npy(rows: &[Vec<f32>]) -> Vec<u8> {
    let dim = rows.first().map_or(1, Vec::len);
    let header =
        format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {dim}), }}", rows.len());
    let header = format!("{header:<117}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    rows.iter().flatten().for_each(|x| bytes.extend(x.to_le_bytes()));
    bytes
}

/// A chat endpoint that answers the last message of every question, or refuses the key; its address.
pub fn chat_endpoint(answer: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let answer = std::sync::Arc::new(answer);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, answer) = (stream.unwrap(), answer.clone());
            std::thread::spawn(move || reply(BufReader::new(stream), &*answer));
        }
    });
    url
}

fn reply(mut reader: BufReader<TcpStream>, answer: &dyn Fn(&str) -> Option<String>) {
    let (mut line, mut length) = (String::new(), 0);
    while reader.read_line(&mut line).unwrap() > 2 {
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        line.clear();
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
    let last = body["messages"].as_array().and_then(|messages| messages.last()).unwrap();
    let answer = answer(last["content"].as_str().unwrap());
    let status = if answer.is_some() { "200 OK" } else { "401 Unauthorized" };
    let body = serde_json::json!({"choices": [{"message": {"content": answer}}]}).to_string();
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close", body.len());
    write!(reader.get_mut(), "{head}\r\n\r\n{body}").unwrap();
}
