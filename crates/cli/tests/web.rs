//! Procedures and videos from the web, by a server and a yt-dlp of the test's own.

mod common;

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

use common::Home;

/// Serves one answer to each connection, the last one for ever.
fn serve(answer: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/soup", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let lines = BufReader::new(stream.try_clone().unwrap()).lines();
            lines.map_while(Result::ok).find(String::is_empty);
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    address
}

#[test]
fn a_page_on_the_web_is_a_procedure() {
    let home = Home::indexed();
    let recipe = r#"{"@type":"Recipe","name":"Soup","recipeInstructions":["Chop the onion","Boil the carrot"]}"#;
    let page = format!(r#"<html><script type="application/ld+json">{recipe}</script></html>"#);
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n";
    let address = serve(format!("{head}{page}"));
    let said = home.prints(&["make", &address, "--no-video", "--threshold=0"]);
    assert!(said.contains("2 of 2 steps shown"), "{said}");
    home.write("board.txt", "Sand the board\n");
    let query = format!("{address}?print=1");
    home.run(&["make", &query, "board.txt", "--no-video", "--threshold=0", "-o", "out/"]).success();
    assert!(home.path("out/soup.json").is_file() && home.path("out/board.json").is_file());
}

#[test]
fn an_address_without_a_procedure_says_why() {
    let home = Home::indexed();
    let missing = serve("HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n".into());
    let said = home.fails(&["make", &missing], 1);
    assert!(said.contains("the server answered 404") && said.contains("save the page"), "{said}");
    let empty = serve(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<p>Hello".into(),
    );
    let said = home.fails(&["make", &empty], 1);
    assert!(said.contains("no steps"), "{said}");
}

/// Installs a yt-dlp that writes its arguments to `arguments.txt` and then runs this.
fn yt_dlp(home: &Home, then: &str) {
    let script = format!("#!/bin/sh\nprintf '%s\\n' \"$@\" > arguments.txt\n{then}\n");
    let path = home.write("yt-dlp.sh", script);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn fetch(home: &Home, arguments: &[&str], code: i32) -> (String, String) {
    let mut command = home.command(&[&["fetch"], arguments].concat());
    command.env("STITCH_YTDLP", home.path("yt-dlp.sh"));
    let done = assert_cmd::Command::from_std(command).assert().code(code);
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (said(&done.get_output().stdout), said(&done.get_output().stderr))
}

#[test]
fn videos_are_downloaded_with_subtitles_and_licence_within_limits() {
    let home = Home::new();
    yt_dlp(&home, "echo 'clips/Soup [1].mp4'");
    let limits = ["--max-size", "50", "--max-rate", "700", "--max-height", "480"];
    let (said, _) =
        fetch(&home, &[&["https://example.org/v", "-o", "clips"], &limits[..]].concat(), 0);
    assert!(
        said.contains("clips/Soup [1].mp4\n1 video there; next: stitch index 'clips'"),
        "{said}"
    );
    let given = std::fs::read_to_string(home.path("arguments.txt")).unwrap();
    let given: Vec<&str> = given.lines().collect();
    for option in ["--write-info-json", "--write-subs", "--continue"] {
        assert!(given.contains(&option), "{given:?}");
    }
    let value = |option: &str| given[given.iter().position(|word| *word == option).unwrap() + 1];
    let values = ["--max-filesize", "--limit-rate", "--format-sort", "--paths"].map(value);
    assert_eq!(values, ["50M", "700K", "res:480", "clips"]);
    assert_eq!(given[given.len() - 2..], ["--", "https://example.org/v"]);
}

#[test]
fn a_download_that_fails_says_what_to_do_and_keeps_what_came() {
    let home = Home::new();
    yt_dlp(&home, "echo clips/a.mp4; echo 'ERROR: [x] b: Video unavailable' >&2; exit 1");
    let (out, error) = fetch(&home, &["https://example.org/a", "https://example.org/b"], 1);
    assert!(out.contains("clips/a.mp4") && error.contains("b: Video unavailable"), "{out}{error}");
    yt_dlp(&home, "exit 0");
    let (_, error) = fetch(&home, &["https://example.org/a"], 1);
    assert!(
        error.contains("nothing was downloaded: the videos are larger than --max-size"),
        "{error}"
    );
    for wrong in ["soup", "file:///etc/passwd", "--exec=ls"] {
        let (_, error) = fetch(&home, &["--", wrong], 2);
        assert!(error.contains("is no address of a video"), "{error}");
    }
    std::fs::remove_file(home.path("yt-dlp.sh")).unwrap();
    let (_, error) = fetch(&home, &["https://example.org/a"], 1);
    assert!(error.contains("yt-dlp is not installed; install it with"), "{error}");
}
