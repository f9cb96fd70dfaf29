//! Reliability of probabilities: how often what was predicted was right, as figures and as a diagram.

use std::fmt::Write;

use serde::Serialize;

use crate::svg::{self, line, text};

/// A bin of the reliability table.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Reliability {
    /// Probabilities from here
    pub from: f64,
    /// to here.
    pub to: f64,
    pub count: usize,
    /// Mean predicted probability.
    #[serde(rename = "said")]
    pub predicted: f64,
    /// Share that was right.
    #[serde(rename = "was")]
    pub right: f64,
}

/// Reliability of the probabilities of a group of clips.
#[derive(Clone, Debug, Serialize)]
pub struct GroupReliability {
    pub name: String,
    pub clips: usize,
    /// Expected calibration error.
    pub calibration_error: f64,
    pub bins: Vec<Reliability>,
}

impl GroupReliability {
    pub(crate) fn new(name: &str, samples: impl Iterator<Item = (f64, bool)>) -> Self {
        let bins = reliability(samples);
        let clips = bins.iter().map(|bin| bin.count).sum();
        Self { name: name.to_owned(), clips, calibration_error: calibration_error(&bins), bins }
    }
}

impl Reliability {
    /// The 95 % interval of the share that was right, by Wilson's score.
    fn interval(&self) -> [f64; 2] {
        const Z: f64 = 1.96;
        let (n, share) = (self.count as f64, self.right);
        let middle = share + Z * Z / (2.0 * n);
        let half = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
        [middle - half, middle + half].map(|edge| edge / (1.0 + Z * Z / n))
    }
}

pub(crate) fn reliability(samples: impl Iterator<Item = (f64, bool)>) -> Vec<Reliability> {
    let mut bins = vec![Reliability::default(); 10];
    for (predicted, right) in samples {
        let bin = &mut bins[((predicted * 10.0) as usize).min(9)];
        bin.count += 1;
        bin.predicted += predicted;
        bin.right += f64::from(u8::from(right));
    }
    for (at, bin) in bins.iter_mut().enumerate() {
        (bin.from, bin.to) = (at as f64 / 10.0, (at + 1) as f64 / 10.0);
        bin.predicted /= bin.count.max(1) as f64;
        bin.right /= bin.count.max(1) as f64;
    }
    bins
}

/// Expected calibration error.
pub(crate) fn calibration_error(bins: &[Reliability]) -> f64 {
    let all: usize = bins.iter().map(|bin| bin.count).sum();
    let off = |bin: &Reliability| bin.count as f64 * (bin.predicted - bin.right).abs();
    bins.iter().map(off).sum::<f64>() / all.max(1) as f64
}

const COLUMNS: usize = 2;
/// The side of a panel's square, and of the panel with its title, ticks and counts.
const SIDE: f64 = 280.0;
const PANEL: [f64; 2] = [360.0, 370.0];
const LEFT: f64 = 50.0;
const TOP: f64 = 40.0;

/// The reliability diagram: a panel per group, with a point per bin at the mean predicted probability and
/// the share that was right, its 95 % interval, and the number of clips below the axis.
pub fn diagram(groups: &[GroupReliability]) -> String {
    let rows = groups.len().div_ceil(COLUMNS) as f64;
    let mut out = svg::begin(PANEL[0] * COLUMNS as f64, PANEL[1] * rows);
    for (number, group) in groups.iter().enumerate() {
        let (column, row) = ((number % COLUMNS) as f64, (number / COLUMNS) as f64);
        panel(&mut out, group, (column * PANEL[0] + LEFT, row * PANEL[1] + TOP));
    }
    out.push_str("</svg>\n");
    out
}

fn panel(out: &mut String, group: &GroupReliability, (left, top): (f64, f64)) {
    let x = |share: f64| left + SIDE * share;
    let y = |share: f64| top + SIDE * (1.0 - share);
    let GroupReliability { name, clips, calibration_error, bins } = group;
    let plural = if *clips == 1 { "" } else { "s" };
    let title = format!("{name}: {clips} clip{plural}, calibration error {calibration_error:.3}");
    *out += &text(left, top - 12.0, "start", &title);
    for tick in [0.0, 0.2, 0.4, 0.6, 0.8, 1.0] {
        *out += &line((x(0.0), y(tick)), (x(1.0), y(tick)), "#ddd");
        *out += &text(left - 8.0, y(tick) + 4.0, "end", &tick.to_string());
        *out += &text(x(tick), y(0.0) + 16.0, "middle", &tick.to_string());
    }
    *out += &line((x(0.0), y(0.0)), (x(1.0), y(1.0)), "#999");
    for bin in bins {
        let middle = (bin.from + bin.to) / 2.0;
        *out += &text(x(middle), y(0.0) + 32.0, "middle", &bin.count.to_string());
        if bin.count > 0 {
            let ([low, high], at) = (bin.interval(), x(bin.predicted));
            *out += &line((at, y(low)), (at, y(high)), "#1f6f8b");
            let right = y(bin.right);
            let _ = writeln!(
                out,
                "<circle cx=\"{at:.1}\" cy=\"{right:.1}\" r=\"4\" fill=\"#1f6f8b\"/>"
            );
        }
    }
    let axis = "x: probability (number of clips below); y: share that is right";
    *out += &text(x(0.5), y(0.0) + 46.0, "middle", axis);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn honest_probabilities_have_no_error() {
        let honest: Vec<(f64, bool)> = (0..100).map(|i| (0.25, i % 4 == 0)).collect();
        assert!(calibration_error(&reliability(honest.into_iter())) < 1e-9);
        let boasting: Vec<(f64, bool)> = (0..100).map(|i| (0.95, i % 2 == 0)).collect();
        assert!((calibration_error(&reliability(boasting.into_iter())) - 0.45).abs() < 1e-9);
    }

    #[test]
    fn intervals_are_wilsons() {
        let of = |count, right| Reliability { count, right, ..Reliability::default() }.interval();
        let near =
            |[a, b]: [f64; 2], [c, d]: [f64; 2]| (a - c).abs() < 1e-3 && (b - d).abs() < 1e-3;
        assert!(near(of(10, 0.5), [0.2366, 0.7634]), "{:?}", of(10, 0.5));
        assert!(near(of(10, 1.0), [0.7225, 1.0]), "{:?}", of(10, 1.0));
    }

    #[test]
    fn the_diagram_has_a_panel_per_group_and_a_point_per_bin_with_clips() {
        let some = [(0.95, true), (0.92, true), (0.15, false)];
        let groups = [
            GroupReliability::new("all", some.into_iter()),
            GroupReliability::new("knots & <hitches>", some[..1].iter().copied()),
            GroupReliability::new("empty", [].into_iter()),
        ];
        let drawn = diagram(&groups);
        assert!(drawn.contains("viewBox=\"0 0 720 740\""), "{drawn}");
        assert!(drawn.contains(">all: 3 clips, calibration error 0.093<"), "{drawn}");
        assert!(drawn.contains(">knots &amp; &lt;hitches&gt;: 1 clip,"), "{drawn}");
        assert_eq!(drawn.matches("<circle").count(), 3, "two bins, one and none");
        assert_eq!(drawn.matches("stroke=\"#1f6f8b\"").count(), 3, "an interval each");
        assert_eq!(drawn.matches("stroke=\"#999\"").count(), 3, "a diagonal each");
        assert_eq!(drawn.matches(">2</text>").count(), 1, "the counts are told");
        assert!(!drawn.contains("NaN"), "{drawn}");
    }
}
