//! `stitch serve` and `stitch study`: who is let in, and whose answers count.

mod common;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use common::Home;

/// A running `stitch serve`, which ends with the test, however that ends.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a server with these arguments; its address and its token.
fn start(home: &Home, arguments: &[&str]) -> (Server, String, String) {
    let mut command = home.command(&[&["serve", "--port", "0", "--json"], arguments].concat());
    command.env_remove("STITCH_TOKEN").stdout(Stdio::piped());
    let mut server = Server(command.spawn().unwrap());
    let mut line = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let event: serde_json::Value = serde_json::from_str(&line).unwrap();
    let url = event["url"].as_str().unwrap().strip_prefix("http://").unwrap();
    let (address, token) = url.split_once("/?token=").expect("a token in the URL");
    (server, address.into(), token.into())
}

fn send(address: &str, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(text.as_bytes()).unwrap();
    stream
}

/// The status and the whole answer to a request with these headers.
fn ask(address: &str, request: &str, headers: &str) -> (String, String) {
    let request = format!("{request} HTTP/1.1\r\nconnection: close\r\n{headers}\r\n");
    let mut answer = String::new();
    send(address, &request).read_to_string(&mut answer).unwrap();
    (answer.get(9..12).unwrap_or_default().to_owned(), answer)
}

#[test]
fn on_loopback_too_a_token_is_needed() {
    let home = Home::new();
    let (_server, address, token) = start(&home, &[]);
    let host = format!("host: {address}\r\n");
    assert_eq!(ask(&address, "GET /", &host).0, "401");
    let with_token = format!("{host}authorization: Bearer {token}\r\n");
    assert_eq!(ask(&address, "GET /", &with_token).0, "200");
    assert!(token.len() >= 32, "{token}");
}

#[test]
fn on_loopback_and_elsewhere_the_same_is_refused() {
    let home = Home::new();
    for listens in ["127.0.0.1", "0.0.0.0"] {
        let (_server, address, token) =
            start(&home, &["--address", listens, "--host-name", "kitchen.example"]);
        let port = address.rsplit(':').next().unwrap();
        let here = format!("127.0.0.1:{port}");
        let owner = format!("authorization: Bearer {token}\r\n");
        let site = format!("host: kitchen.example:{port}\r\n");
        let known = format!("{site}{owner}");
        let status = |request: &str, headers: &str| ask(&here, request, headers).0;
        assert_eq!(status("GET /api/videos", &known), "200", "{listens}");
        // Without the token or with another.
        for headers in [&site, &format!("{site}authorization: Bearer {}\r\n", "0".repeat(40))] {
            for page in ["/", "/api/videos", "/mcp", "/api/openapi.json"] {
                assert_eq!(status(&format!("GET {page}"), headers), "401", "{page}");
            }
        }
        // A name of somebody else that leads here.
        for host in ["evil.example", "kitchen.example.evil.example", "127.0.0.1.evil.example"] {
            let headers = format!("host: {host}:{port}\r\n{owner}");
            assert_eq!(status("GET /api/videos", &headers), "421", "{listens} {host}");
        }
        // A page of somebody else in the same browser.
        for origin in ["http://evil.example", "null", "http://127.0.0.1:1"] {
            let headers = format!("{known}origin: {origin}\r\nsec-fetch-site: cross-site\r\n");
            assert_eq!(status("POST /api/demonstrations", &headers), "403", "{origin}");
            assert_eq!(status("DELETE /api/videos/1", &headers), "403", "{origin}");
        }
        for path in ["/api/videos/..%2f..%2fetc%2fpasswd/file", "/assets/../../../../etc/passwd"] {
            let (status, answer) = ask(&here, &format!("GET {path}"), &known);
            assert!(status.starts_with('4') && !answer.contains("root:"), "{path}: {answer}");
        }
        let page = ask(&here, "GET /", &known).1.to_lowercase();
        assert!(page.contains("content-security-policy: default-src 'none'"), "{page}");
        let texts = ["GET / HTTP/1.1\r\nhost:", ""];
        let half_open: Vec<_> = (0..300).map(|number| send(&here, texts[number % 2])).collect();
        assert_eq!(status("GET /api/videos", &known), "200", "{} half-open", half_open.len());
    }
}

#[test]
fn a_second_server_of_a_library_is_refused() {
    let home = Home::new();
    let mut command = home.command(&["serve", "--port", "0", "--json"]);
    let mut server = Server(command.stdout(Stdio::piped()).spawn().unwrap());
    let mut line = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("serving"), "{line}");
    let said = home.fails(&["serve", "--port", "0"], 1);
    assert!(said.contains(&format!("process {} serves", server.0.id())), "{said}");
}

#[test]
fn a_server_that_cannot_listen_leaves_the_jobs_alone() {
    let home = Home::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let said = home.fails(&["serve", "--port", &port], 1);
    assert!(said.contains("choose another with --port"), "{said}");
    assert!(!home.path("home/library/page").exists(), "page.db was not opened");
}

#[test]
fn without_a_token_only_on_loopback() {
    let said = Home::new().fails(&["serve", "--no-token", "--address", "0.0.0.0"], 1);
    assert!(said.contains("only allowed on a loopback address"), "{said}");
}

#[test]
fn a_folder_with_a_study_is_not_taken_over() {
    let home = Home::indexed();
    home.write("soup.txt", "Soup\n\n1. Chop the onion\n2. Serve the soup\n");
    home.write("study/study.json", "{}");
    let study = ["study", "new", "soup.txt", "-o", "study"];
    let methods = ["--method", "similarity", "--method", "most-similar"];
    let said = home.fails(&[&study[..], &methods].concat(), 1);
    assert!(said.contains("--force") && said.contains("choose another folder"), "{said}");
    home.run(&[&study[..], &methods, &["--force"]].concat()).success();
    assert_eq!(std::fs::read_to_string(home.path("study/study-1.json")).unwrap(), "{}");
}

#[test]
fn the_systemd_unit_starts_the_server_with_options_that_exist() {
    let unit =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/stitch.service");
    let unit = std::fs::read_to_string(unit).unwrap();
    let start = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
    let mut words = start.split(' ');
    assert!(words.next().unwrap().ends_with("/stitch"));
    let arguments: Vec<&str> = words.chain(["--help"]).collect();
    assert_eq!(arguments[0], "serve");
    Home::new().run(&arguments).success();
}
