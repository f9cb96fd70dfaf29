//! The machine that a benchmark ran on.

use std::process::Command;

use serde_json::{Value, json};

use crate::command::output;

/// Hardware, versions and thread counts, as saved with the results.
pub fn describe() -> Value {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let threads = |name: &str| std::env::var(name).unwrap_or_else(|_| cores.to_string());
    let cpu = proc_field("/proc/cpuinfo", "model name");
    json!({
        "cpu": cpu.unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
        "cores": cores,
        "memory_gib": memory_gib(),
        "system": first_line("uname", &["-sr"]),
        "rust": first_line("rustc", &["--version"]),
        "python": first_line("python3", &["--version"]),
        "ffmpeg": first_line("ffmpeg", &["-version"]),
        "threads": {
            "rayon": threads("RAYON_NUM_THREADS"),
            "openmp": threads("OMP_NUM_THREADS"),
        },
    })
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

fn first_line(program: &str, arguments: &[&str]) -> Option<String> {
    let printed = output(Command::new(program).args(arguments)).ok()?;
    String::from_utf8_lossy(&printed).lines().next().map(str::to_owned)
}
