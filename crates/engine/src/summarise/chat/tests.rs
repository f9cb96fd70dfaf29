//! The client against a real server on this machine.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use super::*;

/// What the server does with one request.
#[derive(Clone)]
pub enum Reply {
    /// A status and a body.
    Http(u16, String),
    /// Success, with a body that is no text.
    Bytes(Vec<u8>),
    /// Accepts and says nothing until the client goes away.
    Silence,
    /// Hangs up.
    HangUp,
}

/// A chat answer with this content.
pub fn says(content: &str) -> Reply {
    Reply::Http(
        200,
        json!({"choices": [{"message": {"role": "assistant", "content": content}}]}).to_string(),
    )
}

/// A server that gives these replies in turn; its address, and the requests it got.
pub fn serve(replies: Vec<Reply>) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let requests = Arc::new(Mutex::new(Vec::new()));
    let seen = requests.clone();
    std::thread::spawn(move || {
        for reply in replies {
            let Ok((stream, _)) = listener.accept() else { return };
            let mut reader = BufReader::new(stream);
            // noted before the client has its answer, or it may look too early
            if let Ok(request) = request(&mut reader) {
                seen.lock().unwrap().push(request);
                let _ = answer(reader, &reply);
            }
        }
    });
    (url, requests)
}

fn request(reader: &mut BufReader<TcpStream>) -> std::io::Result<String> {
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        head += &line;
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(head + &String::from_utf8_lossy(&body))
}

fn answer(mut reader: BufReader<TcpStream>, reply: &Reply) -> std::io::Result<()> {
    match reply {
        Reply::Http(status, text) => write!(
            reader.get_mut(),
            "HTTP/1.1 {status} X\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
            text.len()
        )?,
        Reply::Bytes(bytes) => {
            let length = bytes.len();
            write!(reader.get_mut(), "HTTP/1.1 200 X\r\nContent-Length: {length}\r\n\r\n")?;
            reader.get_mut().write_all(bytes)?;
        }
        Reply::Silence => {
            // returns when the client gives up
            let _ = reader.read(&mut [0]);
        }
        Reply::HangUp => {}
    }
    Ok(())
}

/// A client that never really waits, and the waits it asked for.
pub fn client(url: &str, change: impl FnOnce(&mut ChatOptions)) -> (Chat, Arc<Mutex<Vec<u64>>>) {
    let waits = Arc::new(Mutex::new(Vec::new()));
    let noted = waits.clone();
    let mut options = ChatOptions::new(url, "test-model");
    options.key = Some("sk-very-secret".into());
    options.sleep = Box::new(move |wait| noted.lock().unwrap().push(wait.as_millis() as u64));
    change(&mut options);
    (Chat::new(options), waits)
}

fn ask(chat: &Chat) -> Result<String, ChatError> {
    chat.complete(&[Message::system("Be brief."), Message::user("Hello?")])
}

#[test]
fn asks_and_is_answered() {
    let (url, requests) = serve(vec![says(" Hi. ")]);
    let (chat, waits) = client(&url, |_| {});
    assert_eq!(ask(&chat).unwrap(), "Hi.");
    assert!(waits.lock().unwrap().is_empty());
    let request = requests.lock().unwrap()[0].clone();
    assert!(request.starts_with("POST /v1/chat/completions"));
    assert!(request.to_lowercase().contains("authorization: bearer sk-very-secret"));
    assert!(request.contains(r#""model":"test-model""#) && request.contains("Hello?"));
}

#[test]
fn tries_again_after_errors_that_pass() {
    let replies = vec![
        Reply::Http(500, "oops".into()),
        Reply::Http(429, "slow down".into()),
        Reply::HangUp,
        says("Hi."),
    ];
    let (url, _) = serve(replies);
    let (chat, waits) = client(&url, |_| {});
    assert_eq!(ask(&chat).unwrap(), "Hi.");
    assert_eq!(*waits.lock().unwrap(), [1000, 2000, 4000]);
}

#[test]
fn gives_up_after_the_last_retry() {
    let (url, requests) = serve(vec![Reply::Http(503, "down".into()); 9]);
    let (chat, waits) = client(&url, |options| options.retries = 2);
    assert!(matches!(ask(&chat), Err(ChatError::Refused { status: 503, .. })));
    assert_eq!((waits.lock().unwrap().len(), requests.lock().unwrap().len()), (2, 3));
}

#[test]
fn does_not_repeat_what_cannot_succeed() {
    let cases = [
        (
            Reply::Http(404, "no such model sk-very-secret".into()),
            "answered HTTP 404: no such model …",
        ),
        (Reply::Http(401, "bad key sk-very-secret".into()), "refused the key (HTTP 401)"),
        (Reply::Http(200, "<html>sk-very-secret".into()), "no JSON"),
        (Reply::Http(200, "{\"choices\": []}".into()), "no choices[0].message.content"),
        (says("  "), "the answer is empty"),
    ];
    for (reply, expected) in cases {
        let (url, _) = serve(vec![reply]);
        let (chat, waits) = client(&url, |_| {});
        let error = ask(&chat).unwrap_err();
        let message = format!("{error} {error:?}");
        assert!(message.contains(expected), "{message}");
        assert!(!message.contains("sk-very-secret"), "{message}");
        assert!(waits.lock().unwrap().is_empty());
    }
}

#[test]
fn a_silent_server_is_left_in_time() {
    let (url, _) = serve(vec![Reply::Silence]);
    let (chat, _) = client(&url, |options| {
        options.timeout = Duration::from_millis(100);
        options.retries = 0;
    });
    let error = ask(&chat).unwrap_err();
    assert!(matches!(error, ChatError::Unreachable { .. }), "{error}");
}

#[test]
fn nobody_there_is_told_without_the_password() {
    let (chat, waits) =
        client("http://me:sk-very-secret@127.0.0.1:1/v1", |options| options.retries = 1);
    let error = ask(&chat).unwrap_err().to_string();
    assert!(error.contains("no answer from http://127.0.0.1:1/v1"), "{error}");
    assert!(!error.contains("sk-very-secret"), "{error}");
    assert_eq!(waits.lock().unwrap().len(), 1);
}

#[test]
fn the_same_question_is_asked_once() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("answers");
    let (url, requests) = serve(vec![says("Hi."), says("Hi again.")]);
    let with_cache = |options: &mut ChatOptions| options.cache = Some(cache.clone());
    assert_eq!(ask(&client(&url, with_cache).0).unwrap(), "Hi.");
    assert_eq!(ask(&client(&url, with_cache).0).unwrap(), "Hi.");
    let other = |options: &mut ChatOptions| {
        with_cache(options);
        options.model = "another".into();
    };
    assert_eq!(ask(&client(&url, other).0).unwrap(), "Hi again.");
    assert_eq!(requests.lock().unwrap().len(), 2);
    let files: Vec<_> = std::fs::read_dir(&cache).unwrap().map(|f| f.unwrap().path()).collect();
    assert_eq!(files.len(), 2);
    for file in files {
        assert!(!std::fs::read_to_string(&file).unwrap().contains("secret"));
        // a damaged file is asked for again, which here finds nobody
        std::fs::write(&file, "{").unwrap();
    }
    let gone = |options: &mut ChatOptions| {
        with_cache(options);
        options.retries = 0;
        options.timeout = Duration::from_millis(200);
    };
    assert!(ask(&client("http://127.0.0.1:1/v1", gone).0).is_err());
}
