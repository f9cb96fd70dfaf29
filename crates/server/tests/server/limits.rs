//! What slow, silent and vanished clients can hold: neither threads nor permits.

use std::convert::Infallible;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::body::Body;
use http_body_util::BodyExt;
use stitch_server::api::extract::with_ffmpeg;
use tokio::runtime::{Builder, Runtime};
use tokio::time::{sleep, timeout};
use tower::ServiceExt;

use crate::site::{Site, request};

/// With one thread for work that blocks.
fn runtime() -> Runtime {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(1).max_blocking_threads(1).enable_all().build().unwrap()
}

#[test]
fn slow_bodies_and_files_hold_no_thread() {
    let site = Site::indexed();
    let app = stitch_server::app(site.state.clone());
    let runtime = runtime();
    let answered = runtime.block_on(async {
        let never = futures_util::stream::pending::<Result<Vec<u8>, Infallible>>();
        let slow = request("POST", "/api/procedures/read").body(Body::from_stream(never)).unwrap();
        tokio::spawn(app.clone().oneshot(slow));
        sleep(Duration::from_millis(200)).await;
        let mut answered = Vec::new();
        for path in ["/api/videos/1/file", "/api/videos", "/"] {
            let asked = app.clone().oneshot(request("GET", path).body(Body::empty()).unwrap());
            let read = async { asked.await.unwrap().into_body().collect().await.unwrap() };
            answered.push(timeout(Duration::from_secs(20), read).await.is_ok());
        }
        answered
    });
    runtime.shutdown_background();
    assert_eq!(answered, [true; 3]);
}

#[test]
fn a_permit_is_held_until_the_work_ends_also_when_the_client_has_gone() {
    let site = Site::new();
    let free = || site.state.ffmpeg.available_permits();
    let all = free();
    let (end, ended) = std::sync::mpsc::channel::<()>();
    runtime().block_on(async {
        let work = with_ffmpeg(&site.state, move || {
            let _ = ended.recv();
            Ok(())
        });
        assert!(timeout(Duration::from_millis(200), work).await.is_err(), "the client goes");
        assert_eq!(free(), all - 1);
        end.send(()).unwrap();
        let freed = async {
            while free() < all {
                sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(Duration::from_secs(20), freed).await.unwrap();
    });
}

#[test]
fn pictures_and_exports_wait_for_a_permit() {
    let site = Site::indexed();
    let id = site.demonstration(&["Chop the onion"]);
    let app = stitch_server::app(site.state.clone());
    let paths = ["/api/videos/1/picture", &format!("/api/demonstrations/{id}/exports/html")];
    runtime().block_on(async {
        let all = site.state.ffmpeg.available_permits() as u32;
        let permits = site.state.ffmpeg.clone().acquire_many_owned(all).await.unwrap();
        let ask = |path| app.clone().oneshot(request("GET", path).body(Body::empty()).unwrap());
        for path in paths {
            assert!(timeout(Duration::from_millis(300), ask(path)).await.is_err(), "{path}");
        }
        drop(permits);
        for path in paths {
            assert_eq!(ask(path).await.unwrap().status(), 200, "{path}");
        }
    });
}

#[test]
fn half_open_and_silent_connections_are_closed_and_do_not_stop_the_next_request() {
    let site = Site::with(|settings| {
        settings.max_connections = 8;
        settings.read_timeout = Duration::from_millis(300);
    });
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let (state, stopped) = (site.state.clone(), stop.clone());
    let stopped = move || stopped.load(Ordering::Relaxed);
    let server = std::thread::spawn(move || stitch_server::serve(state, listener, stopped));
    let send = |text: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.write_all(text.as_bytes()).unwrap();
        stream
    };
    let texts = ["GET / HTTP/1.1\r\nhost:", ""];
    let half_open: Vec<TcpStream> = (0..30).map(|number| send(texts[number % 2])).collect();
    let whole = "GET /api/videos HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n";
    let mut answer = String::new();
    send(whole).read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    for mut stream in half_open {
        stream.read_to_end(&mut Vec::new()).expect("closed by the server");
    }
    stop.store(true, Ordering::Relaxed);
    server.join().unwrap().unwrap();
}
