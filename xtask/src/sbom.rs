//! The crates that the program is built from, as CycloneDX JSON.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};
use toml::de::DeTable;

use crate::command::{cargo, output};
use crate::tree::files::read_text;

const PROGRAM: &str = "stitch-cli";
const LOCK: &str = "Cargo.lock";

pub fn run(root: &Path) -> Result<ExitCode, String> {
    let arguments = ["tree", "--locked", "--package", PROGRAM, "--edges", "normal"];
    let format = ["--prefix", "none", "--format", "{p}\t{l}"];
    let tree = output(cargo(root).args(arguments).args(format))?;
    let sbom = sbom(&String::from_utf8_lossy(&tree), &read_text(root, LOCK)?)?;
    println!("{sbom:#}");
    Ok(ExitCode::SUCCESS)
}

/// Of the lines of `cargo tree`, the program first, and of the lock file. It holds no time and no path: the
/// same sources give the same bytes.
fn sbom(tree: &str, lock: &str) -> Result<Value, String> {
    let checksums = checksums(lock)?;
    let component = |(name, version, licence): (&str, &str, &str)| {
        let mut component = json!({"type": "library", "name": name, "version": version});
        if !licence.is_empty() {
            component["licenses"] = json!([{"expression": licence.replace('/', " OR ")}]);
        }
        // Crates of the workspace are in no registry.
        if let Some(checksum) = checksums.get(&(name.to_owned(), version.to_owned())) {
            component["purl"] = json!(format!("pkg:cargo/{name}@{version}"));
            component["hashes"] = json!([{"alg": "SHA-256", "content": checksum}]);
        }
        component
    };
    let mut lines = tree.lines();
    let program = lines.next().and_then(package).ok_or("cargo tree lists nothing")?;
    let mut program = component(program);
    program["type"] = json!("application");
    let packages: BTreeSet<_> = lines.filter_map(package).collect();
    let components: Vec<Value> = packages.into_iter().map(component).collect();
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": program},
        "components": components,
    }))
}

/// Name, version and licence out of `name v1.2.3 (where)`, a tab and `MIT`; `(*)` marks what is listed twice.
fn package(line: &str) -> Option<(&str, &str, &str)> {
    let (package, licence) = line.split_once('\t')?;
    let mut words = package.split(' ');
    let (name, version) = (words.next()?, words.next()?.strip_prefix('v')?);
    Some((name, version, licence.trim_end_matches("(*)").trim()))
}

/// By name and version.
fn checksums(lock: &str) -> Result<HashMap<(String, String), String>, String> {
    let table = DeTable::parse(lock).map_err(|e| format!("{LOCK}: {e}"))?;
    let packages = table.get_ref().get("package").and_then(|value| value.get_ref().as_array());
    let checksum = |package: &toml::Spanned<toml::de::DeValue<'_>>| {
        let text = |key: &str| Some(package.get_ref().get(key)?.get_ref().as_str()?.to_owned());
        Some(((text("name")?, text("version")?), text("checksum")?))
    };
    Ok(packages.into_iter().flatten().filter_map(checksum).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_every_crate_once_with_licence_and_checksum() {
        let tree = "stitch-cli v0.1.0 (/home/ann/stitch/crates/cli)\tMIT\n\
            serde v1.0.2\tMIT/Apache-2.0\n\
            stitch-core v0.1.0 (/home/ann/stitch/crates/core)\tMIT\n\
            serde v1.0.2\tMIT/Apache-2.0 (*)\n\
            quiet v3.0.0\t\n";
        let lock = "[[package]]\nname = \"serde\"\nversion = \"1.0.2\"\nchecksum = \"ab12\"\n\
            [[package]]\nname = \"stitch-core\"\nversion = \"0.1.0\"\n";
        let sbom = sbom(tree, lock).unwrap();
        assert_eq!(sbom["metadata"]["component"]["name"], "stitch-cli");
        let names: Vec<_> =
            sbom["components"].as_array().unwrap().iter().map(|c| &c["name"]).collect();
        assert_eq!(names, ["quiet", "serde", "stitch-core"]);
        let serde = &sbom["components"][1];
        assert_eq!(serde["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(serde["hashes"][0]["content"], "ab12");
        assert_eq!(serde["purl"], "pkg:cargo/serde@1.0.2");
        assert!(sbom["components"][0].get("licenses").is_none());
        assert!(!sbom.to_string().contains("/home"), "{sbom}");
        assert!(super::sbom("", lock).is_err() && super::sbom(tree, "[").is_err());
    }
}
