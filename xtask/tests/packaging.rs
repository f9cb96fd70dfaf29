//! The container image, the Homebrew formula and the metadata of cargo-binstall name what scripts/dist.sh packs.

use std::fs;
use std::path::Path;

fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The value of the first line `key = "value"`.
fn field(path: &str, key: &str) -> Option<String> {
    let text = read(path);
    let value = |line: &str| {
        Some(line.strip_prefix(key)?.strip_prefix(" = \"")?.strip_suffix('"')?.to_owned())
    };
    text.lines().find_map(value)
}

fn version() -> String {
    field("Cargo.toml", "version").unwrap()
}

/// The name of the tarball, without its ending, as scripts/dist.sh writes it for this system.
fn packed(system: &str, architecture: &str) -> String {
    let script = read("scripts/dist.sh");
    let start = "\nname=";
    let name = script.split_once(start).unwrap().1.lines().next().unwrap();
    name.replace("$version", &version())
        .replace("$(uname -s | tr '[:upper:]' '[:lower:]')", system)
        .replace("$(uname -m)", architecture)
}

#[test]
fn binstall_finds_the_tarball_and_the_program_in_it() {
    const MANIFEST: &str = "crates/cli/Cargo.toml";
    let filled = |key: &str| {
        let template = field(MANIFEST, key).unwrap();
        template
            .replace("{ version }", &version())
            .replace("{ target-family }", "linux")
            .replace("{ target-arch }", "x86_64")
            .replace("{ bin }", "stitch")
            .replace("{ binary-ext }", "")
    };
    let manifest = read(MANIFEST);
    assert!(manifest.contains("\n[package.metadata.binstall]\n"));
    assert!(manifest.contains("[[bin]]\nname = \"stitch\"\n"));
    let name = packed("linux", "x86_64");
    assert_eq!(name, format!("stitch-{}-linux-x86_64", version()));
    let place = format!("{{ repo }}/releases/download/v{}", version());
    assert_eq!(filled("pkg-url"), format!("{place}/{name}.tar.gz"));
    assert_eq!(filled("bin-dir"), format!("{name}/bin/stitch"));
    assert_eq!(filled("pkg-fmt"), "tgz");
    assert!(read("scripts/dist.sh").contains("put 755 \"$stitch\" bin/stitch\n"));
    // The variable `{ repo }` and the formula's address are one field.
    let inherited = manifest.contains("\nrepository.workspace = true\n");
    assert_eq!(inherited, field("Cargo.toml", "repository").is_some());
}

#[test]
fn the_formula_has_the_package_and_every_placeholder_is_filled() {
    let (formula, script) = (read("packaging/homebrew/stitch.rb"), read("scripts/dist.sh"));
    let placeholders: Vec<_> = formula.split('"').filter(|text| text.starts_with('@')).collect();
    assert_eq!(placeholders, ["@HOMEPAGE@", "@URL@", "@SHA256@"]);
    for placeholder in placeholders {
        assert!(script.contains(&format!("s|{placeholder}|")), "{placeholder}");
    }
    assert!(formula.contains("path: \"crates/cli\""));
    let licence = field("Cargo.toml", "license").unwrap();
    let listed: Vec<_> = licence.split(" OR ").map(|name| format!("\"{name}\"")).collect();
    assert!(formula.contains(&format!("license any_of: [{}]", listed.join(", "))), "{licence}");
}

#[test]
fn the_image_is_made_from_the_tarball_and_has_the_default_models() {
    let (file, script) = (read("packaging/Containerfile"), read("scripts/container.sh"));
    let tarball = script.split_once("\ntarball=").unwrap().1.lines().next().unwrap();
    let tarball = tarball.replace("$version", &version()).replace("$(uname -m)", "x86_64");
    assert_eq!(tarball, format!("{}.tar.gz", packed("linux", "x86_64")));
    for argument in ["TARBALL=$tarball", "packaging/health.sh", "packaging/Containerfile"] {
        assert!(script.contains(argument), "{argument}");
    }
    let models: serde_json::Value =
        serde_json::from_str(&read("crates/engine/src/models/manifest.json")).unwrap();
    let names: Vec<_> =
        models["models"].as_array().unwrap().iter().filter_map(|m| m["name"].as_str()).collect();
    let pulled = file.split_once("stitch models pull ").unwrap().1.lines().next().unwrap();
    assert_eq!(pulled, "all-mpnet-base-v2 onnxruntime whisper-base");
    for name in pulled.split(' ') {
        assert!(names.contains(&name), "{name} is not in the manifest");
    }
    let last = file.rsplit_once("\nFROM ").unwrap().1;
    for line in
        ["USER 10001:10001", "HEALTHCHECK ", "VOLUME ", "ENTRYPOINT [\"stitch\"]", "CMD [\"serve\""]
    {
        assert!(last.lines().any(|found| found.starts_with(line)), "{line}");
    }
    // The port of the health check is the default of `stitch serve`.
    let serve = read("crates/cli/src/command/serve.rs");
    let port =
        serve.split_once("#[arg(long, default_value_t = ").unwrap().1.split_once(')').unwrap().0;
    assert!(read("packaging/health.sh").contains(&format!("/dev/tcp/127.0.0.1/{port} ")));
    assert!(last.contains(&format!("\nEXPOSE {port}\n")));
}
