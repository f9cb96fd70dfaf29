//! How well the rule-based summariser tells steps from talk, on narration whose sentences are
//! marked: `measure_rules FILE.tsv` with lines of video, start in milliseconds, 0 or 1, the step in
//! a person's words, the sentence. `-v` as a second argument also lists what it got wrong.

use std::io::Write;

use stitch_engine::summarise::by_rules;
use stitch_engine::transcript::Sentence;

struct Marked {
    video: String,
    is_step: bool,
    sentence: Sentence,
}

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().unwrap_or_default();
    let verbose = arguments.next().is_some();
    let text = std::fs::read_to_string(path)?;
    let mut lines: Vec<Marked> = text.lines().filter_map(marked).collect();
    for i in 1..lines.len() {
        if lines[i].video == lines[i - 1].video {
            let next = lines[i].sentence.start_ms;
            lines[i - 1].sentence.end_ms = next.max(lines[i - 1].sentence.start_ms + 1);
        }
    }
    let mut out = std::io::stdout().lock();
    let mut counts = [[0_usize; 4]; 2]; // tuning and held-out halves: hits, false, missed, steps
    let started = std::time::Instant::now();
    for (number, video) in lines.chunk_by(|a, b| a.video == b.video).enumerate() {
        let half = &mut counts[number % 2];
        let sentences: Vec<Sentence> = video.iter().map(|m| m.sentence.clone()).collect();
        let steps = by_rules(&sentences);
        half[3] += steps.len();
        for m in video {
            let middle = (m.sentence.start_ms + m.sentence.end_ms) / 2;
            let found = steps.iter().find(|s| (s.start_ms..s.end_ms).contains(&middle));
            match (m.is_step, found) {
                (true, Some(_)) => half[0] += 1,
                (false, Some(_)) => half[1] += 1,
                (true, None) => half[2] += 1,
                (false, None) => {}
            }
            if verbose && number % 2 == 0 {
                let sign = match (m.is_step, found.is_some()) {
                    (true, true) => "++",
                    (false, true) => "-+",
                    (true, false) => "+-",
                    (false, false) => "--",
                };
                let step = found.map_or("", |s| s.text.as_str());
                writeln!(out, "{sign} {} => {step}", m.sentence.text)?;
            }
        }
    }
    for (name, [hits, wrong, missed, steps]) in ["tuning", "held-out"].iter().zip(counts) {
        let precision = hits as f64 / (hits + wrong).max(1) as f64;
        let recall = hits as f64 / (hits + missed).max(1) as f64;
        let f1 = 2.0 * precision * recall / (precision + recall).max(1e-9);
        writeln!(
            out,
            "{name}: precision {precision:.3} recall {recall:.3} F1 {f1:.3} steps {steps}"
        )?;
    }
    writeln!(out, "{:.2} s for {} sentences", started.elapsed().as_secs_f64(), lines.len())
}

fn marked(line: &str) -> Option<Marked> {
    let fields: Vec<&str> = line.splitn(5, '\t').collect();
    let [video, start, is_step, _, text] = fields[..] else { return None };
    let start_ms: u64 = start.parse().ok()?;
    let sentence = Sentence { start_ms, end_ms: start_ms + 4000, text: text.to_string() };
    Some(Marked { video: video.to_string(), is_step: is_step == "1", sentence })
}
