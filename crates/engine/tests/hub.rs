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

/// A hub with one repository of these files, all of them with hashes.
fn repository(name: &str, files: &[&str]) -> String {
    let sibling = |file: &&str| {
        let (hash, size) = (sha256(file.as_bytes()), file.len());
        format!(
            r#"{{"rfilename": "{file}", "size": {size}, "lfs": {{"sha256": "{hash}", "size": {size}}}}}"#
        )
    };
    let siblings: Vec<String> = files.iter().map(sibling).collect();
    let listing = format!(r#"{{"sha": "abc123", "siblings": [{}]}}"#, siblings.join(", "));
    let file = |file: &&str| (format!("/{name}/resolve/abc123/{file}"), file.as_bytes().to_vec());
    let mut served: HashMap<String, Vec<u8>> = files.iter().map(file).collect();
    let address = format!("/api/models/{name}/revision/main?blobs=true");
    served.insert(address, listing.into_bytes());
    serve(served)
}

#[test]
fn a_short_name_pulls_one_size_of_a_repository() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(folder.path());
    let (size, other) = ("onnx/s0/vision_model.onnx", "onnx/s2/vision_model.onnx");
    let files =
        [size, "onnx/s0/text_model.onnx", other, "onnx/vision_model.onnx", "tokenizer.json"];
    let hub = repository("plhery/mobileclip2-onnx", &files);
    let pulled = store.pull_from_hub(&hub, "mobileclip2-s0", &Silent).unwrap();
    assert_eq!(pulled, folder.path().join("mobileclip2-s0"));
    assert_eq!(std::fs::read(pulled.join(size)).unwrap(), size.as_bytes());
    assert!(pulled.join("tokenizer.json").is_file());
    assert!(!pulled.join(other).exists() && !pulled.join("onnx/vision_model.onnx").exists());
    assert_eq!(Card::read(&pulled).unwrap().licence, "LicenseRef-Apple-AMLR");
    let listed = store.list();
    let listed: Vec<_> = listed.iter().filter(|model| model.encoder.is_some()).collect();
    let installed: Vec<_> = listed.iter().filter(|model| model.path.is_some()).collect();
    assert_eq!((listed.len(), installed.len()), (4, 1));
    let kept = [size, "onnx/s0/text_model.onnx", "tokenizer.json"];
    let kept: u64 = kept.iter().map(|file| file.len() as u64).sum();
    let card = std::fs::metadata(pulled.join("card.json")).unwrap().len();
    assert_eq!(installed[0].size, kept + card);
    let error = store.path("clip").unwrap_err().to_string();
    assert!(error.contains("stitch models pull clip"), "{error}");
}

#[test]
fn a_repository_that_says_too_little_gets_a_description() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(folder.path());
    let files =
        ["visual.onnx", "visual.onnx.data", "text.onnx", "text.onnx.data", "tokenizer.json"];
    let hub = repository("RuteNL/MobileCLIP2-S4-OpenCLIP-ONNX", &files);
    let pulled = store.pull_from_hub(&hub, "mobileclip2-s4", &Silent).unwrap();
    for file in files {
        assert!(pulled.join(file).is_file(), "{file}");
    }
    let text = std::fs::read_to_string(pulled.join("encoder.toml")).unwrap();
    assert!(text.contains("visual.onnx") && text.contains("longest = 77"), "{text}");
}

#[test]
fn weights_that_are_read_here_need_no_graphs() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(folder.path());
    let files = ["config.json", "model.safetensors", "onnx/vision_model.onnx"];
    let hub = repository("openai/clip-vit-base-patch32", &files);
    let pulled = store.pull_from_hub(&hub, "clip", &Silent).unwrap();
    assert_eq!(pulled, folder.path().join("clip"));
    assert!(pulled.join("model.safetensors").is_file() && !pulled.join("onnx").exists());
}
