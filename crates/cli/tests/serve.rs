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

#[test]
fn on_loopback_too_a_token_is_needed() {
    let home = Home::new();
    let mut command = home.command(&["serve", "--port", "0", "--json"]);
    command.env_remove("STITCH_TOKEN").stdout(Stdio::piped());
    let mut server = Server(command.spawn().unwrap());
    let mut line = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let event: serde_json::Value = serde_json::from_str(&line).unwrap();
    let url = event["url"].as_str().unwrap().strip_prefix("http://").unwrap().to_owned();
    let (address, token) = url.split_once("/?token=").expect("a token in the URL");
    let get = |header: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let request =
            format!("GET / HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n{header}\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.get(9..12).unwrap_or(&answer).to_owned()
    };
    let statuses = [get(""), get(&format!("authorization: Bearer {token}\r\n"))];
    assert_eq!(statuses, ["401", "200"]);
    assert!(token.len() >= 32, "{token}");
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
