//! The table of benchmarks: what runs on each side, which values are compared, and the bars.

use Bar::{AtLeast, AtMost, None as NoBar, Times};
use Mode::{Scripted, Separate, WithModel};
use Unit::{Count, Megabytes, PerSecond, Seconds};

/// One benchmark: a bench target of the workspace, and the alternative that a user has.
pub struct Pair {
    pub name: &'static str,
    pub summary: &'static str,
    /// The bench target, which prints one JSON object.
    pub ours: &'static str,
    pub mode: Mode,
    /// What `benches/NAME.py` measures. The script prints one JSON object and needs the packages in
    /// `benches/requirements-NAME.txt`.
    pub theirs: Option<&'static str>,
    pub rows: &'static [Row],
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Each side runs without arguments.
    Separate,
    /// Each side runs with this model's folder as its argument.
    WithModel(&'static str),
    /// The bench target is only built; the script runs both sides on the same input.
    Scripted,
}

/// One row of the report.
pub struct Row {
    pub label: &'static str,
    /// The key or JSON pointer of our value.
    pub ours: &'static str,
    /// The same for theirs; empty if there is none.
    pub theirs: &'static str,
    pub unit: Unit,
    pub bar: Bar,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Seconds,
    Megabytes,
    /// The only unit of which more is better.
    PerSecond,
    Count,
}

/// What our value must reach.
#[derive(Clone, Copy)]
pub enum Bar {
    None,
    /// At least this many times better than theirs.
    Times(f64),
    AtMost(f64),
    AtLeast(f64),
}

const fn row(
    label: &'static str,
    ours: &'static str,
    theirs: &'static str,
    unit: Unit,
    bar: Bar,
) -> Row {
    Row { label, ours, theirs, unit, bar }
}

/// Seconds of video indexed per second.
const fn indexing(label: &'static str, ours: &'static str, bar: Bar) -> Row {
    row(label, ours, "", PerSecond, bar)
}

#[rustfmt::skip]
pub const PAIRS: [Pair; 9] = [
    Pair {
        name: "drop-dtw",
        summary: "Drop-DTW against a Python loop and NumPy; covers",
        ours: "ratios",
        mode: Separate,
        theirs: Some("Python and NumPy"),
        rows: &[
            row("Drop-DTW 10x300, Python loop", "drop_dtw_10x300_s", "plain_10x300_s", Seconds, Times(1000.0)),
            row("Drop-DTW 10x300, NumPy", "drop_dtw_10x300_s", "numpy_10x300_s", Seconds, Times(20.0)),
            row("Drop-DTW 20x3600, Python loop", "drop_dtw_20x3600_s", "plain_20x3600_s", Seconds, Times(1000.0)),
            row("Drop-DTW 20x3600, NumPy", "drop_dtw_20x3600_s", "numpy_20x3600_s", Seconds, Times(20.0)),
            row("Drop-DTW 20x3600", "drop_dtw_20x3600_s", "", Seconds, AtMost(0.001)),
            row("greedy cover, 20 steps x 1,000 videos", "greedy_20x1000_s", "", Seconds, AtMost(0.020)),
            row("exact K-best, 20 steps x 1,000 videos", "k_best_20x1000_s", "", Seconds, AtMost(0.050)),
        ],
    },
    Pair {
        name: "world",
        summary: "drawing and encoding the made-up library",
        ours: "world",
        mode: Separate,
        theirs: None,
        rows: &[row(
            "made-up library, video seconds per CPU second",
            "world_video_seconds_per_cpu_second", "", PerSecond, NoBar,
        )],
    },
    Pair {
        name: "mpnet",
        summary: "sentence embeddings against sentence-transformers",
        ours: "mpnet",
        mode: WithModel("all-mpnet-base-v2"),
        theirs: Some("sentence-transformers"),
        rows: &[row(
            "MPNet, sentences per second",
            "mpnet_sentences_per_s", "sentence_transformers_sentences_per_s", PerSecond, Times(1.0),
        )],
    },
    Pair {
        name: "render",
        summary: "rendering ten 12 s clips of mixed sources against moviepy",
        ours: "render",
        mode: Scripted,
        theirs: Some("moviepy"),
        rows: &[
            row("render ten clips, CPU time", "/stitch/cpu_s", "/moviepy/cpu_s", Seconds, Times(4.0)),
            row("the same, moviepy with our x264 preset", "/stitch/cpu_s", "/moviepy_veryfast/cpu_s", Seconds, NoBar),
            row("render ten clips, wall time", "/stitch/wall_s", "/moviepy/wall_s", Seconds, NoBar),
            row("render ten clips, peak memory", "/stitch/peak_mb", "/moviepy/peak_mb", Megabytes, AtMost(500.0)),
            row("clips encoded after one is swapped", "/swapped/encoded", "", Count, AtMost(1.0)),
        ],
    },
    Pair {
        name: "decode",
        summary: "sampling 8 frames per second against PyAV",
        ours: "decode",
        mode: Scripted,
        theirs: Some("PyAV"),
        rows: &[
            row("sampling 360p, video seconds per CPU second", "/360p/stitch", "/360p/pyav", PerSecond, Times(1.0)),
            row("sampling 720p, video seconds per CPU second", "/720p/stitch", "/720p/pyav", PerSecond, Times(1.0)),
            row("sampling 1080p, video seconds per CPU second", "/1080p/stitch", "/1080p/pyav", PerSecond, Times(1.0)),
        ],
    },
    Pair {
        name: "index",
        summary: "indexing with the default encoder, by resolution and decode mode",
        ours: "decode",
        mode: Scripted,
        theirs: Some("no alternative: by resolution and mode"),
        rows: &[
            indexing("index 360p, exact", "/360p_exact/times_real_time", NoBar),
            indexing("index 360p, fast", "/360p_fast/times_real_time", NoBar),
            indexing("index 360p, keyframes", "/360p_keyframes/times_real_time", NoBar),
            indexing("index 720p, exact", "/720p_exact/times_real_time", AtLeast(5.0)),
            indexing("index 720p, fast", "/720p_fast/times_real_time", NoBar),
            indexing("index 720p, keyframes", "/720p_keyframes/times_real_time", AtLeast(40.0)),
            indexing("index 1080p, exact", "/1080p_exact/times_real_time", NoBar),
            indexing("index 1080p, fast", "/1080p_fast/times_real_time", NoBar),
            indexing("index 1080p, keyframes", "/1080p_keyframes/times_real_time", NoBar),
            row("index, peak memory", "/peak_mb", "", Megabytes, AtMost(1610.0)),
        ],
    },
    Pair {
        name: "make",
        summary: "one `stitch make` by stage, on the output of `make demo`",
        ours: "decode",
        mode: Scripted,
        theirs: Some("no alternative: by stage"),
        rows: &[
            row("make: loading models", "/first/loading models", "", Seconds, NoBar),
            row("make: choosing clips", "/first/choosing clips", "", Seconds, NoBar),
            row("make: levelling", "/first/levelling", "", Seconds, NoBar),
            row("make: encoding", "/first/encoding", "", Seconds, NoBar),
            row("make: joining", "/first/joining", "", Seconds, NoBar),
            row("make: thumbnails", "/first/thumbnails", "", Seconds, NoBar),
            row("make: total", "/first/whole", "", Seconds, NoBar),
            row("make: total, second run", "/again/whole", "", Seconds, NoBar),
        ],
    },
    Pair {
        name: "listen",
        summary: "speech recognition against faster-whisper with the same weights",
        ours: "listen",
        mode: WithModel("whisper-base"),
        theirs: Some("faster-whisper"),
        rows: &[
            row(
                "Whisper base, seconds of audio per second",
                "listen_s_per_s", "faster_whisper_float32_s_per_s", PerSecond, Times(1.0),
            ),
            row(
                "the same, faster-whisper in int8",
                "listen_s_per_s", "faster_whisper_int8_s_per_s", PerSecond, NoBar,
            ),
        ],
    },
    Pair {
        name: "evaluator",
        summary: "training and scoring with the evaluator at the paper's size against PyTorch",
        ours: "evaluator",
        mode: Separate,
        theirs: Some("PyTorch"),
        rows: &[
            row(
                "evaluator, a training step of 24 x 8 steps",
                "train_step_24x8_s", "torch_step_24x8_s", Seconds, Times(1.0 / 1.2),
            ),
            row(
                "the same, PyTorch with its fused Adam",
                "train_step_24x8_s", "torch_step_24x8_fused_adam_s", Seconds, NoBar,
            ),
            row(
                "evaluator, 500 candidates x 8 steps scored",
                "score_500x8_s", "torch_score_500x8_s", Seconds, Times(1.0 / 0.7),
            ),
        ],
    },
];
