//! The table of benchmarks: what each side runs, which of its numbers are compared, and the bars.

/// One benchmark.
pub struct Pair {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it compares.
    pub says: &'static str,
    /// The package folder of our side and its bench target, which prints one JSON object.
    pub ours: (&'static str, &'static str),
    /// How the two sides are run.
    pub how: How,
    /// The other side, where a user has another choice.
    pub theirs: Option<Rival>,
    /// The lines of the table.
    pub rows: &'static [Row],
}

/// How the two sides of a pair are run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// Each alone, without arguments.
    Alone,
    /// Each alone, with the folder of this model as its argument.
    WithModel(&'static str),
    /// Ours is only built; the script runs both on the same material.
    ByScript,
}

/// What a user would pick instead, as a Python script that prints one JSON object.
#[derive(Clone, Copy)]
pub struct Rival {
    /// What it is.
    pub what: &'static str,
    /// The script, from the root.
    pub script: &'static str,
    /// What pip must install for it, from the root.
    pub requirements: &'static str,
}

/// One line of the table.
pub struct Row {
    /// What is measured.
    pub label: &'static str,
    /// The key of our number, or its JSON pointer.
    pub ours: &'static str,
    /// The key of theirs; empty where there is none.
    pub theirs: &'static str,
    /// How the number is read.
    pub unit: Unit,
    /// What it has to reach.
    pub bar: Bar,
}

/// How a number is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Less is better.
    Seconds,
    /// Less is better.
    Megabytes,
    /// More is better.
    PerSecond,
    /// Less is better.
    Count,
}

/// What a number has to reach.
#[derive(Clone, Copy)]
pub enum Bar {
    /// Nothing: it is there to be seen.
    None,
    /// Ours is at least so many times better than theirs.
    Times(f64),
    /// Ours is at most this much.
    AtMost(f64),
    /// Ours is at least this much.
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

/// Samples taken by both.
const fn sampling(label: &'static str, ours: &'static str, theirs: &'static str) -> Row {
    row(label, ours, theirs, PerSecond, Times(1.0))
}

/// How many seconds of video are indexed in one.
const fn indexing(label: &'static str, ours: &'static str, bar: Bar) -> Row {
    row(label, ours, "", PerSecond, bar)
}

use Bar::{AtLeast, AtMost, None as NoBar, Times};
use Unit::{Count, Megabytes, PerSecond, Seconds};

/// All benchmarks.
pub const PAIRS: [Pair; 9] = [
    Pair {
        name: "drop-dtw",
        says: "Drop-DTW against a Python loop and NumPy; the covers",
        ours: ("crates/core", "ratios"),
        how: How::Alone,
        theirs: Some(Rival {
            what: "Python and NumPy",
            script: "benches/drop_dtw.py",
            requirements: "benches/requirements-drop-dtw.txt",
        }),
        rows: &[
            row(
                "Drop-DTW 10x300, Python loop",
                "drop_dtw_10x300_s",
                "plain_10x300_s",
                Seconds,
                Times(1000.0),
            ),
            row(
                "Drop-DTW 10x300, NumPy",
                "drop_dtw_10x300_s",
                "numpy_10x300_s",
                Seconds,
                Times(20.0),
            ),
            row(
                "Drop-DTW 20x3600, Python loop",
                "drop_dtw_20x3600_s",
                "plain_20x3600_s",
                Seconds,
                Times(1000.0),
            ),
            row(
                "Drop-DTW 20x3600, NumPy",
                "drop_dtw_20x3600_s",
                "numpy_20x3600_s",
                Seconds,
                Times(20.0),
            ),
            row("Drop-DTW 20x3600", "drop_dtw_20x3600_s", "", Seconds, AtMost(0.001)),
            row(
                "greedy cover, 20 steps x 1,000 videos",
                "greedy_20x1000_s",
                "",
                Seconds,
                AtMost(0.020),
            ),
            row(
                "exact K-best, 20 steps x 1,000 videos",
                "k_best_20x1000_s",
                "",
                Seconds,
                AtMost(0.050),
            ),
        ],
    },
    Pair {
        name: "world",
        says: "drawing and encoding the made-up library",
        ours: ("crates/world", "world"),
        how: How::Alone,
        theirs: None,
        rows: &[row(
            "made-up library, video seconds per CPU second",
            "world_video_seconds_per_cpu_second",
            "",
            PerSecond,
            NoBar,
        )],
    },
    Pair {
        name: "mpnet",
        says: "sentence vectors against sentence-transformers",
        ours: ("crates/engine", "mpnet"),
        how: How::WithModel("all-mpnet-base-v2"),
        theirs: Some(Rival {
            what: "sentence-transformers",
            script: "benches/mpnet.py",
            requirements: "benches/requirements-mpnet.txt",
        }),
        rows: &[row(
            "MPNet, sentences per second",
            "mpnet_sentences_per_s",
            "sentence_transformers_sentences_per_s",
            PerSecond,
            Times(1.0),
        )],
    },
    Pair {
        name: "render",
        says: "ten 12 s clips of mixed sources against moviepy",
        ours: ("crates/engine", "render"),
        how: How::ByScript,
        theirs: Some(Rival {
            what: "moviepy",
            script: "benches/render.py",
            requirements: "benches/requirements-render.txt",
        }),
        rows: &[
            row(
                "render ten clips, CPU time",
                "/stitch/cpu_s",
                "/moviepy/cpu_s",
                Seconds,
                Times(4.0),
            ),
            row(
                "the same, moviepy with our x264 preset",
                "/stitch/cpu_s",
                "/moviepy_veryfast/cpu_s",
                Seconds,
                NoBar,
            ),
            row("render ten clips, wall time", "/stitch/wall_s", "/moviepy/wall_s", Seconds, NoBar),
            row(
                "render ten clips, peak memory",
                "/stitch/peak_mb",
                "/moviepy/peak_mb",
                Megabytes,
                AtMost(500.0),
            ),
            row("clips encoded after one is swapped", "/swapped/encoded", "", Count, AtMost(1.0)),
        ],
    },
    Pair {
        name: "decode",
        says: "sampling 8 frames per second against PyAV",
        ours: ("crates/engine", "decode"),
        how: How::ByScript,
        theirs: Some(Rival {
            what: "PyAV",
            script: "benches/decode.py",
            requirements: "benches/requirements-decode.txt",
        }),
        rows: &[
            sampling("sampling 360p, video seconds per CPU second", "/360p/stitch", "/360p/pyav"),
            sampling("sampling 720p, video seconds per CPU second", "/720p/stitch", "/720p/pyav"),
            sampling(
                "sampling 1080p, video seconds per CPU second",
                "/1080p/stitch",
                "/1080p/pyav",
            ),
        ],
    },
    Pair {
        name: "index",
        says: "indexing with the default encoder, by size and decode mode",
        ours: ("crates/engine", "decode"),
        how: How::ByScript,
        theirs: Some(Rival {
            what: "nothing else: ours by size and mode",
            script: "benches/index.py",
            requirements: "benches/requirements-index.txt",
        }),
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
        says: "one whole `stitch make` by stage, on what `make demo` leaves",
        ours: ("crates/engine", "decode"),
        how: How::ByScript,
        theirs: Some(Rival {
            what: "nothing else: ours by stage",
            script: "benches/make.py",
            requirements: "benches/requirements-make.txt",
        }),
        rows: &[
            row("make: loading models", "/first/loading models", "", Seconds, NoBar),
            row("make: choosing clips", "/first/choosing clips", "", Seconds, NoBar),
            row("make: levelling", "/first/levelling", "", Seconds, NoBar),
            row("make: encoding", "/first/encoding", "", Seconds, NoBar),
            row("make: joining", "/first/joining", "", Seconds, NoBar),
            row("make: thumbnails", "/first/thumbnails", "", Seconds, NoBar),
            row("make: the whole", "/first/whole", "", Seconds, NoBar),
            row("make: the whole, run again", "/again/whole", "", Seconds, NoBar),
        ],
    },
    Pair {
        name: "listen",
        says: "writing down speech against faster-whisper with the same weights",
        ours: ("crates/engine", "listen"),
        how: How::WithModel("whisper-base"),
        theirs: Some(Rival {
            what: "faster-whisper",
            script: "benches/listen.py",
            requirements: "benches/requirements-listen.txt",
        }),
        rows: &[
            row(
                "Whisper base, seconds of sound per second",
                "listen_s_per_s",
                "faster_whisper_float32_s_per_s",
                PerSecond,
                Times(1.0),
            ),
            row(
                "the same, faster-whisper in int8",
                "listen_s_per_s",
                "faster_whisper_int8_s_per_s",
                PerSecond,
                NoBar,
            ),
        ],
    },
    Pair {
        name: "evaluator",
        says: "learning and scoring by the evaluator at the paper's size against PyTorch",
        ours: ("crates/lab", "evaluator"),
        how: How::Alone,
        theirs: Some(Rival {
            what: "PyTorch",
            script: "benches/evaluator.py",
            requirements: "benches/requirements-evaluator.txt",
        }),
        rows: &[
            row(
                "evaluator, a training step of 24 x 8 steps",
                "train_step_24x8_s",
                "torch_step_24x8_s",
                Seconds,
                Times(1.0 / 1.2),
            ),
            row(
                "the same, PyTorch with its fused Adam",
                "train_step_24x8_s",
                "torch_step_24x8_fused_adam_s",
                Seconds,
                NoBar,
            ),
            row(
                "evaluator, 500 candidates x 8 steps scored",
                "score_500x8_s",
                "torch_score_500x8_s",
                Seconds,
                Times(1.0 / 0.7),
            ),
        ],
    },
];
