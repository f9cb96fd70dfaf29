//! What the numbers were measured on.

use std::process::Command;

use serde_json::{Value, json};

/// The machine's facts, as they stand in the results.
pub fn facts() -> Value {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    json!({
        "cpu": cpu_model(),
        "cores": cores,
        "memory_gib": memory_gib(),
        "system": said("uname", &["-sr"]),
        "rust": said("rustc", &["--version"]),
        "python": said("python3", &["--version"]),
        "ffmpeg": said("ffmpeg", &["-version"]),
        "threads": threads(cores),
    })
}

/// How many threads each side may use: what the environment says, or all cores.
fn threads(cores: usize) -> Value {
    let read = |name: &str| std::env::var(name).unwrap_or_else(|_| cores.to_string());
    json!({ "rayon": read("RAYON_NUM_THREADS"), "openmp": read("OMP_NUM_THREADS") })
}

fn cpu_model() -> String {
    proc_field("/proc/cpuinfo", "model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}

fn memory_gib() -> Option<u64> {
    let kib = proc_field("/proc/meminfo", "MemTotal")?;
    kib.split(' ').next()?.parse::<u64>().ok().map(|kib| kib.div_ceil(1024 * 1024))
}

fn proc_field(file: &str, field: &str) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(field))?;
    line.split_once(':').map(|(_, value)| value.trim().to_owned())
}

/// The first line that a program prints.
fn said(program: &str, arguments: &[&str]) -> Option<String> {
    let done = Command::new(program).args(arguments).output().ok()?;
    String::from_utf8_lossy(&done.stdout).lines().next().map(str::to_owned)
}
