//! Any model of the hub by name: its own listing is followed and its hashes are checked, against a
//! server on this machine.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::Arc;

use stitch_engine::models::{Card, ModelError, Store, sha256};
use stitch_engine::progress::Silent;

/// Serves these paths, each request on a connection of its own, until the test ends.
fn serve(files: HashMap<String, Vec<u8>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let files = Arc::new(files);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let request = lines.next().and_then(Result::ok).unwrap_or_default();
            while lines.next().and_then(Result::ok).is_some_and(|line| !line.is_empty()) {}
            let path = request.split(' ').nth(1).unwrap_or_default();
            let (status, body) = match files.get(path) {
                Some(body) => ("200 OK", body.as_slice()),
                None => ("404 Not Found", &b"no"[..]),
            };
            let head = format!(
                "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                body.len()
            );
            let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
        }
    });
    address
}

const WEIGHTS: &[u8] = b"these are the weights";
const CONFIG: &[u8] = br#"{"model_type": "clip"}"#;

fn listing(weights_hash: &str, weights: &str) -> Vec<u8> {
    format!(
        r#"{{"id": "owner/model", "sha": "abc123", "cardData": {{"license": "mit"}}, "siblings": [
            {{"rfilename": "config.json", "size": {}, "blobId": "x"}},
            {{"rfilename": "README.md", "size": 9}},
            {{"rfilename": "pytorch_model.bin", "size": 9, "lfs": {{"sha256": "00", "size": 9}}}},
            {{"rfilename": "{weights}", "size": {},
              "lfs": {{"sha256": "{weights_hash}", "size": {}, "pointerSize": 130}}}}]}}"#,
        CONFIG.len(),
        WEIGHTS.len(),
        WEIGHTS.len()
    )
    .into_bytes()
}

fn hub(listing: Vec<u8>) -> String {
    let at = |name: &str| format!("/owner/model/resolve/abc123/{name}");
    serve(HashMap::from([
        ("/api/models/owner/model/revision/main?blobs=true".into(), listing),
        (at("config.json"), CONFIG.to_vec()),
        (at("model.safetensors"), WEIGHTS.to_vec()),
    ]))
}

#[test]
fn a_model_of_the_hub_is_pulled_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(folder.path());
    let hub = hub(listing(&sha256(WEIGHTS), "model.safetensors"));
    let pulled = store.pull_from_hub(&hub, "owner/model", &Silent).unwrap();
    assert_eq!(pulled, folder.path().join("owner--model"));
    assert_eq!(std::fs::read(pulled.join("model.safetensors")).unwrap(), WEIGHTS);
    assert_eq!(std::fs::read(pulled.join("config.json")).unwrap(), CONFIG);
    assert!(!pulled.join("pytorch_model.bin").exists(), "pickles stay where they are");
    let card = Card::read(&pulled).unwrap();
    assert_eq!(
        (card.licence.as_str(), card.sha256["config.json"].clone()),
        ("mit", sha256(CONFIG))
    );
    assert_eq!(store.path("owner--model").unwrap(), pulled);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left over");
    // What is here is not asked for again.
    store.pull_from_hub("http://127.0.0.1:9", "owner/model", &Silent).unwrap();
}

fn refused(listing: Vec<u8>) -> String {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(folder.path());
    let error = store.pull_from_hub(&hub(listing), "owner/model", &Silent).unwrap_err();
    assert!(matches!(error, ModelError::NotFetched { .. }), "{error}");
    assert!(!folder.path().join("owner--model").exists());
    error.to_string()
}

#[test]
fn what_is_not_as_the_hub_says_is_refused() {
    let error = refused(listing(&"0".repeat(64), "model.safetensors"));
    assert!(error.contains("has the hash"), "{error}");
    let error = refused(listing(&sha256(WEIGHTS), "weights.bin"));
    assert!(error.contains("no model.safetensors and no ONNX graphs"), "{error}");
    let error = refused(b"<html>not a listing</html>".to_vec());
    assert!(error.contains("expected value"), "{error}");
}

#[test]
fn a_name_that_the_hub_does_not_know_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let hub = serve(HashMap::new());
    let error = Store::new(folder.path()).pull_from_hub(&hub, "no/body", &Silent).unwrap_err();
    assert!(error.to_string().contains("404"), "{error}");
}
