//! Agents: a client of the Model Context Protocol calls the tools, in this process and over HTTP.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Body;
use rmcp::model::{CallToolRequestParams, CallToolResult, ProgressNotificationParam};
use rmcp::service::{NotificationContext, RunningService};
use rmcp::{ClientHandler, RoleClient, ServiceExt};
use serde_json::{Value, json};
use stitch_server::jobs::JobStatus;
use stitch_server::mcp::Agent;
use stitch_server::worker;

use crate::site::{Answer, Site, request};

/// A client that keeps what it is told of progress.
#[derive(Clone, Default)]
struct Client {
    progress: Arc<Mutex<Vec<f64>>>,
}

impl ClientHandler for Client {
    async fn on_progress(
        &self,
        told: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.progress.lock().unwrap().push(told.progress);
    }
}

type Connection = RunningService<RoleClient, Client>;

/// Connects a client to the site's tools, and lets it work.
fn connected<T>(site: &Site, work: impl AsyncFnOnce(Connection) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let agent = Agent::new(site.state.clone());
        let server =
            tokio::spawn(async move { agent.serve(theirs).await.unwrap().waiting().await });
        let done = work(Client::default().serve(ours).await.unwrap()).await;
        server.await.unwrap().unwrap();
        done
    })
}

async fn call(client: &Connection, tool: &'static str, arguments: Value) -> CallToolResult {
    let arguments = arguments.as_object().unwrap().clone();
    let call = CallToolRequestParams::new(tool).with_arguments(arguments);
    client.call_tool(call).await.unwrap()
}

/// What a tool answers when all is well.
async fn answer(client: &Connection, tool: &'static str, arguments: Value) -> Value {
    let result = call(client, tool, arguments).await;
    assert_ne!(result.is_error, Some(true), "{tool}: {result:?}");
    result.structured_content.unwrap()
}

/// What a tool says when something is wrong.
async fn complaint(client: &Connection, tool: &'static str, arguments: Value) -> String {
    let result = call(client, tool, arguments).await;
    assert_eq!(result.is_error, Some(true), "{tool}: {result:?}");
    result.content[0].as_text().unwrap().text.clone()
}

fn soup() -> Value {
    json!({"procedure": {"title": "Soup", "steps": ["Chop the onion", "Serve the soup"]}})
}

#[test]
fn an_agent_finds_explains_swaps_renders_and_exports() {
    let site = Site::indexed();
    let workers = worker::start(&site.state);
    let (video, subtitles) = (site.path("soup.mp4"), site.path("soup.srt"));
    connected(&site, async |client| {
        let status = answer(&client, "library_status", json!({})).await;
        assert_eq!((&status["videos"], &status["clips"]), (&json!(3), &json!(9)));
        let found = answer(&client, "search_clips", json!({"text": "sand the board"})).await;
        assert_eq!(found["shown"][0]["text"], "Sand the board");

        let demonstration = answer(&client, "find_demonstration", soup()).await;
        let id = &demonstration["demonstration"];
        assert_eq!(demonstration["steps"][0]["shown_by"][0]["text"], "Chop the onion");
        let of_first = json!({"demonstration": id, "step": 0});
        let why = answer(&client, "explain_step", of_first).await;
        assert_eq!(why["chosen"]["text"], "Chop the onion");
        let other = why["alternatives"][0]["clip"].clone();
        let change = json!({"kind": "swap", "step": 0, "clip": other});
        let change = json!({"demonstration": id, "change": change});
        let swapped = answer(&client, "swap_or_lock", change).await;
        let first = &swapped["steps"][0];
        assert_eq!((&first["shown_by"][0]["clip"], &first["locked"]), (&other, &json!(true)));

        let frame = call(&client, "preview_frame", json!({"video": other["video"]})).await;
        assert_eq!(frame.content[0].as_image().unwrap().mime_type, "image/jpeg");
        client.service().progress.lock().unwrap().clear();
        let wanted = json!({"demonstration": id, "output": video});
        let rendered = answer(&client, "render", wanted).await;
        assert_eq!(rendered["file"], json!(video));
        let told = client.service().progress.lock().unwrap().clone();
        assert!(!told.is_empty() && told.is_sorted(), "{told:?}");
        let wanted = json!({"demonstration": id, "format": "srt", "output": subtitles});
        answer(&client, "export", wanted).await;
        let wanted = json!({"demonstration": id, "format": "credits.txt"});
        let credits = call(&client, "export", wanted).await;
        assert!(credits.content[0].as_text().unwrap().text.contains("video"), "{credits:?}");
    });
    assert!(std::fs::metadata(video).unwrap().len() > 1000);
    assert!(std::fs::read_to_string(subtitles).unwrap().contains("Serve the soup"));
    site.state.jobs.stop();
    workers.into_iter().for_each(|worker| worker.join().unwrap());
}

#[test]
fn what_an_agent_no_longer_waits_for_is_cancelled() {
    let site = Site::indexed();
    let id = site.demonstration(&["Chop the onion"]);
    // No worker runs here, so that the job waits in the queue.
    let cancelled = connected(&site, async |client| {
        let mut changes = site.state.jobs.subscribe();
        let rendering = call(&client, "render", json!({"demonstration": id}));
        let job = tokio::select! {
            _ = rendering => panic!("nothing renders"),
            queued = changes.recv() => queued.unwrap().id,
        };
        let over = async {
            loop {
                let change = changes.recv().await.unwrap();
                if change.id == job && change.status.is_over() {
                    return change.status;
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(30), over).await.unwrap()
    });
    assert_eq!(cancelled, JobStatus::Cancelled);
}

#[test]
fn files_are_written_only_where_the_user_allows_it_and_never_over_others() {
    let elsewhere = tempfile::tempdir().unwrap();
    let allowed = tempfile::tempdir().unwrap();
    let site = Site::with(|settings| settings.roots.push(allowed.path().into()));
    site.index();
    let id = site.demonstration(&["Chop the onion"]);
    let site = site.restarted_with(|settings| settings.roots = vec![allowed.path().into()]);
    std::fs::write(allowed.path().join("mine.srt"), "mine").unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), allowed.path().join("link")).unwrap();
    let inside = |name: &str| allowed.path().join(name).to_string_lossy().into_owned();
    let outside = elsewhere.path().join("new.srt").to_string_lossy().into_owned();
    let beside_videos = site.path("videos/new.srt").to_string_lossy().into_owned();
    let up = inside(&format!("../{}/new.srt", elsewhere.path().file_name().unwrap().display()));
    let refused = [
        (outside, "--root"),
        (beside_videos, "--root"),
        (up, "--root"),
        (inside("link/new.srt"), "--root"),
        (inside("no/such/folder/new.srt"), "--root"),
        (inside("mine.srt"), "another name"),
        (inside("new.sh"), "ends in .srt"),
        (inside(""), "ends in .srt"),
        ("new.srt".into(), "absolute path"),
        ("/tmp/\0/new.srt".into(), "absolute path"),
    ];
    connected(&site, async |client| {
        for (output, expected) in refused {
            let wanted = json!({"demonstration": id, "format": "srt", "output": output});
            let said = complaint(&client, "export", wanted).await;
            assert!(said.contains(expected), "{output}: {said}");
        }
        let wanted = json!({"demonstration": id, "output": elsewhere.path().join("new.mp4")});
        let said = complaint(&client, "render", wanted).await;
        assert!(said.contains("--root"), "{said}");
    });
    assert_eq!(std::fs::read_to_string(allowed.path().join("mine.srt")).unwrap(), "mine");
    assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 0);
    assert_eq!(site.get("/api/jobs").json()[0]["kind"], "make", "no render was begun");
}

#[test]
fn what_makes_no_sense_is_told_to_the_agent() {
    let site = Site::indexed();
    let id = site.demonstration(&["Chop the onion"]);
    connected(&site, async |client| {
        let change = json!({"kind": "lock", "step": 7});
        let table = [
            ("find_demonstration", json!({"procedure": {"steps": []}}), "one step per line"),
            ("explain_step", json!({"demonstration": 99, "step": 0}), "no such demonstration"),
            ("explain_step", json!({"demonstration": id, "step": 7}), "no such step"),
            ("swap_or_lock", json!({"demonstration": id, "change": change}), "no such step"),
            ("preview_frame", json!({"video": 99}), "no such video"),
            ("preview_frame", json!({"id": 1}), "unknown field `id`"),
            ("export", json!({"demonstration": id, "format": "exe"}), "choose one of json"),
            ("render", json!({"demonstration": id, "options": {"width": 3, "height": 3}}), "even"),
        ];
        for (tool, arguments, expected) in table {
            let said = complaint(&client, tool, arguments).await;
            assert!(said.contains(expected), "{tool}: {said}");
        }
    });
}

#[test]
fn over_http_an_agent_needs_the_token_and_a_known_host() {
    let token = "0123456789abcdef0123";
    let site = Site::with(|settings| settings.token = Some(token.into()));
    let ask = |headers: &[(&str, &str)]| -> Answer {
        let client = json!({"name": "test", "version": "1"});
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}});
        let mut post = request("POST", "/mcp")
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        for (name, value) in headers {
            post.headers_mut().unwrap().insert(
                axum::http::HeaderName::from_bytes(name.as_bytes()).unwrap(),
                value.parse().unwrap(),
            );
        }
        site.send(post.body(Body::from(hello.to_string())).unwrap())
    };
    let bearer = ("authorization", &*format!("Bearer {token}"));
    assert_eq!(ask(&[]).status, 401);
    assert_eq!(ask(&[bearer, ("host", "evil.example")]).status, 421);
    assert_eq!(ask(&[bearer, ("origin", "http://evil.example")]).status, 403);
    let welcome = ask(&[bearer]);
    assert_eq!(welcome.status, 200, "{}", welcome.text());
    assert!(welcome.text().contains("\"name\":\"stitch\""), "{}", welcome.text());
    assert!(!welcome.header("mcp-session-id").is_empty());
}
