//! A server with one search and one render to do, driven so that it does not matter whether it was killed before.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

const TOKEN: &str = "aaaaaaaaaaaaaaaaaaaaaaaa";
/// After which a request or a job does not end.
const DEADLINE: Duration = Duration::from_secs(60);

type Result<T> = std::result::Result<T, String>;

/// Starts the server, has all done, and stops it. What was made is written to `out/served` of the folder.
pub fn drive(mut command: Command, folder: &Path) -> Output {
    command.env("STITCH_TOKEN", TOKEN).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut server = command.spawn().unwrap();
    let done = Served::of(&mut server).and_then(|served| served.work(folder));
    let _ = Command::new("kill").arg(server.id().to_string()).status();
    let mut output = server.wait_with_output().unwrap();
    if let Err(reason) = done
        && output.status.success()
    {
        output.status = ExitStatus::from_raw(1 << 8);
        output.stderr.extend(format!("error: {reason}").bytes());
    }
    output
}

struct Served {
    address: String,
}

impl Served {
    fn of(server: &mut Child) -> Result<Self> {
        let mut line = String::new();
        let out = server.stdout.as_mut().unwrap();
        BufReader::new(out).read_line(&mut line).map_err(|error| error.to_string())?;
        let event: Value = serde_json::from_str(&line).map_err(|error| error.to_string())?;
        let url = event["url"].as_str().and_then(|url| url.strip_prefix("http://"));
        let address = url.and_then(|url| url.split_once('/')).ok_or("no address")?.0;
        Ok(Self { address: address.into() })
    }

    /// The body of an answer that is no error.
    fn ask(&self, request: &str, body: &str) -> Result<Vec<u8>> {
        let ask = || {
            let mut stream = TcpStream::connect(&self.address)?;
            stream.set_read_timeout(Some(DEADLINE))?;
            let length = body.len();
            write!(
                stream,
                "{request} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\nauthorization: Bearer {TOKEN}\r\n\
                 content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}",
                self.address
            )?;
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer)?;
            Ok(answer)
        };
        let answer = ask().map_err(|error: std::io::Error| format!("{request}: {error}"))?;
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
        let head = String::from_utf8_lossy(&answer[..end.unwrap_or(0)]).into_owned();
        match end {
            Some(end) if head.starts_with("HTTP/1.1 2") => Ok(answer[end + 4..].to_vec()),
            _ => Err(format!("{request}: {head}")),
        }
    }

    fn json(&self, request: &str, body: &str) -> Result<Value> {
        let answer = self.ask(request, body)?;
        serde_json::from_slice(&answer).map_err(|error| format!("{request}: {error}"))
    }

    /// The newest job of a kind that has not failed.
    fn job(&self, kind: &str) -> Result<Option<Value>> {
        let jobs = self.json("GET /api/jobs", "")?;
        let mut jobs = jobs.as_array().into_iter().flatten();
        Ok(jobs.find(|job| job["kind"] == kind && job["status"] != "failed").cloned())
    }

    /// The job of a kind when it is done; asks for it where there is none.
    fn done(&self, kind: &str, request: &str, body: &Value) -> Result<Value> {
        if self.job(kind)?.is_none() {
            self.json(request, &body.to_string())?;
        }
        let job = self.job(kind)?.ok_or("the job is lost")?;
        self.ask(&format!("GET /api/jobs/{}/events", job["id"]), "")?; // until it ends
        let job = self.json(&format!("GET /api/jobs/{}", job["id"]), "")?;
        match job["status"] == "done" {
            true => Ok(job),
            false => Err(job.to_string()),
        }
    }

    fn work(&self, folder: &Path) -> Result<()> {
        let procedure = json!({"title": "Soup", "steps": ["Chop the onion"]});
        let body = json!({"procedure": procedure, "search": {"threshold": 0.0}});
        let made = self.done("make", "POST /api/demonstrations", &body)?;
        let demonstration = format!("/api/demonstrations/{}", made["demonstration"]);
        let options = json!({"width": 64, "height": 64});
        let rendered = self.done("render", &format!("POST {demonstration}/renders"), &options)?;
        let runs = [&made, &rendered].map(|job| job["runs"].as_i64().unwrap_or(0));
        if runs.iter().any(|runs| !(1..=2).contains(runs)) {
            return Err(format!("the jobs ran {runs:?} times"));
        }
        let jobs = self.json("GET /api/jobs", "")?;
        let done = jobs.as_array().into_iter().flatten().filter(|job| job["status"] == "done");
        let kinds: Vec<&Value> = done.map(|job| &job["kind"]).collect();
        let record = self.ask(&format!("GET {demonstration}/exports/json"), "")?;
        let video = self.ask(&format!("GET /api/jobs/{}/video", rendered["id"]), "")?;
        let write = |name: &str, bytes: &[u8]| std::fs::write(folder.join(name), bytes).unwrap();
        write("out/served.mp4", &video);
        write("out/served.json", &record);
        write("out/jobs", json!(kinds).to_string().as_bytes());
        Ok(())
    }
}
