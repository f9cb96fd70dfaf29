//! A server for each test, with a small sentence model and a few small videos, without a socket.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use stitch_engine::encoder::{Encoder, Narration};
use stitch_engine::library::Library;
use stitch_engine::scorer::AverageSimilarity;
use stitch_engine::sentence::SentenceEncoder;
use stitch_server::error::ServerError;
use stitch_server::jobs::JobKind;
use stitch_server::settings::{Resources, Settings};
use stitch_server::state::{SharedState, State};
use stitch_server::worker;
use tempfile::TempDir;
use tower::ServiceExt;

/// What is said in the test videos, two seconds each.
const SPOKEN: [[&str; 3]; 3] = [
    ["Chop the onion.", "Fry the onion in a pan.", "Serve the soup."],
    ["Peel the carrot.", "Chop the carrot.", "Boil the carrot in water."],
    ["Saw the board.", "Sand the board.", "Paint the board."],
];

pub struct Site {
    pub folder: TempDir,
    pub state: SharedState,
}

pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.text()))
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

impl Site {
    /// With videos in `videos/`, not indexed.
    pub fn new() -> Self {
        Self::with(|_| {})
    }

    pub fn with(change: impl FnOnce(&mut Settings)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (number, spoken) in SPOKEN.iter().enumerate() {
            video(&folder.path().join(format!("videos/video {number}.mp4")), spoken);
        }
        let mut settings = Settings { roots: vec![folder.path().into()], ..Settings::default() };
        change(&mut settings);
        let state = open(folder.path(), settings);
        Self { folder, state }
    }

    /// The same library in a server started anew.
    pub fn restarted(self) -> Self {
        self.restarted_with(|_| {})
    }

    pub fn restarted_with(self, change: impl FnOnce(&mut Settings)) -> Self {
        let mut settings = self.state.settings.clone();
        change(&mut settings);
        drop(self.state);
        Self { state: open(self.folder.path(), settings), folder: self.folder }
    }

    /// With its videos indexed.
    pub fn indexed() -> Self {
        let site = Self::new();
        site.index();
        site
    }

    pub fn index(&self) {
        let folder = self.path("videos");
        let job = self.post("/api/index", &json!({"folder": folder})).json();
        assert!(worker::run_next(&self.state, JobKind::Index).unwrap());
        let job = self.get(&format!("/api/jobs/{}", job["id"])).json();
        assert_eq!(job["status"], "done", "{job}");
    }

    /// A demonstration of these steps, found; its number.
    pub fn demonstration(&self, steps: &[&str]) -> i64 {
        let question = json!({"procedure": {"title": "Soup", "steps": steps}});
        let begun = self.post("/api/demonstrations", &question);
        assert_eq!(begun.status, 202, "{}", begun.text());
        assert!(worker::run_next(&self.state, JobKind::Make).unwrap());
        begun.json()["id"].as_i64().unwrap()
    }

    pub fn change(&self, id: i64, change: &Value) -> Value {
        let answer = self.post(&format!("/api/demonstrations/{id}/changes"), change);
        assert_eq!(answer.status, 200, "{change}: {}", answer.text());
        answer.json()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn get(&self, path: &str) -> Answer {
        self.send(request("GET", path).body(Body::empty()).unwrap())
    }

    pub fn delete(&self, path: &str) -> Answer {
        self.send(request("DELETE", path).body(Body::empty()).unwrap())
    }

    pub fn post(&self, path: &str, body: &Value) -> Answer {
        let request = request("POST", path).header("content-type", "application/json");
        self.send(request.body(Body::from(body.to_string())).unwrap())
    }

    pub fn send(&self, request: Request<Body>) -> Answer {
        let app = stitch_server::app(self.state.clone());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let response = app.oneshot(request).await.unwrap();
            let (parts, body) = response.into_parts();
            let body = body.collect().await.unwrap().to_bytes().to_vec();
            Answer { status: parts.status, headers: parts.headers, body }
        })
    }
}

/// A request as this machine's own browser makes it.
pub fn request(method: &str, path: &str) -> axum::http::request::Builder {
    Request::builder().method(method).uri(path).header("host", "127.0.0.1:7878")
}

fn open(folder: &Path, settings: Settings) -> SharedState {
    try_open(folder, settings).unwrap()
}

pub fn try_open(folder: &Path, settings: Settings) -> Result<SharedState, ServerError> {
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../engine/tests/data/tiny-mpnet");
    let sentence = Arc::new(SentenceEncoder::load(&model).unwrap());
    let encoder: Box<dyn Encoder> = Box::new(Narration::new(sentence.clone(), "tiny".into()));
    let library = Library::open_or_create(&folder.join("library"), encoder.id()).unwrap();
    let resources = Resources {
        library,
        encoder,
        sentence,
        sentence_weights: "tiny".into(),
        scorer: Box::new(AverageSimilarity),
        speech: None,
        screen_text: None,
        chat: None,
        cache: folder.join("cache"),
    };
    State::open(resources, settings)
}

/// A video with a subtitle for each two seconds.
pub fn video(path: &Path, spoken: &[&str]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let seconds = 2 * spoken.len();
    let picture = format!("testsrc2=size=160x90:rate=12:duration={seconds}");
    let sound = format!("sine=frequency={}:duration={seconds}", 300 + 10 * spoken[0].len());
    let made = Command::new("ffmpeg")
        .args(["-v", "error", "-y", "-f", "lavfi", "-i", &picture])
        .args(["-f", "lavfi", "-i", &sound, "-preset", "ultrafast", "-pix_fmt", "yuv420p"])
        .arg(path)
        .status()
        .unwrap();
    assert!(made.success());
    let cue = |(i, text): (usize, &&str)| {
        format!("{}\n00:00:{:02},000 --> 00:00:{:02},900\n{text}\n", i + 1, 2 * i, 2 * i + 1)
    };
    let subtitles: Vec<String> = spoken.iter().enumerate().map(cue).collect();
    std::fs::write(path.with_extension("srt"), subtitles.join("\n")).unwrap();
}
