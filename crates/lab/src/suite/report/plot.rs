//! Plots as SVG: curves of capture over K, and mean reciprocal ranks with their intervals.

use std::fmt::Display;

use crate::suite::compare::Method;
use crate::suite::experiments::capture::{Capture, WAYS};
use crate::svg::escape;

const WIDTH: f64 = 640.0;

const GRID: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];

/// The share of truths among K candidates, K on a logarithmic axis.
pub fn capture(of: &str, capture: &Capture) -> String {
    let (height, left, right, top, bottom) = (300.0, 44.0, 150.0, 14.0, 40.0);
    let most = capture.candidates.iter().copied().max().unwrap_or(2).max(2) as f64;
    let x = |count: f64| left + (WIDTH - left - right) * count.max(1.0).ln() / most.ln();
    let y = |share: f64| top + (height - top - bottom) * (1.0 - share);
    let mut body = String::new();
    for share in GRID {
        body += &line("grid", [x(1.0), x(most)], [y(share); 2]);
        let percent = format!("{:.0} %", share * 100.0);
        body += &text("tick", x(1.0) - 8.0, y(share) + 4.0, "end", percent);
    }
    for count in &capture.candidates {
        body += &text("tick", x(*count as f64), height - bottom + 18.0, "middle", count);
    }
    body += &text("axis", x(most.sqrt()), height - 4.0, "middle", "candidates (K)");
    let mut ends: Vec<(f64, String, &str)> = Vec::new();
    for (number, way) in WAYS.iter().enumerate() {
        let Some(curve) = capture.curves.get(*way) else { continue };
        let class = format!("line{}", number % 6);
        let points = capture.candidates.iter().zip(curve);
        let points: Vec<(f64, f64)> = points.map(|(k, e)| (x(*k as f64), y(e.value))).collect();
        let path: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        body += &format!("<polyline class=\"curve {class}\" points=\"{}\" />", path.join(" "));
        points.iter().for_each(|(x, y)| body += &dot(&class, *x, *y, 3));
        ends.extend(points.last().map(|(_, end)| (*end, class, *way)));
    }
    // The names of lines beside their ends, moved apart where they would overlap.
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut last = f64::MIN;
    for (end, class, way) in ends {
        last = end.max(last + 16.0);
        let class = format!("label {class}");
        body += &text(&class, x(most) + 10.0, last + 4.0, "start", escape(way));
    }
    svg(&format!("Truths among K candidates: {of}"), height, &body)
}

/// The mean reciprocal rank of each method with its interval, the best first.
pub fn methods(methods: &[Method], title: &str) -> String {
    let (row, top, left) = (26.0, 10.0, 150.0);
    let mut order: Vec<&Method> = methods.iter().collect();
    order.sort_by(|a, b| b.figures.mrr.total_cmp(&a.figures.mrr));
    let height = top + row * order.len() as f64 + 40.0;
    let x = |share: f64| left + (WIDTH - left - 60.0) * share;
    let bottom = height - 34.0;
    let mut body = String::new();
    for share in GRID {
        body += &line("grid", [x(share); 2], [top, bottom]);
        body += &text("tick", x(share), bottom + 16.0, "middle", share);
    }
    for (number, method) in order.iter().enumerate() {
        let y = top + row * (number as f64 + 0.5);
        let (mrr, [low, high]) = (method.figures.mrr, method.intervals.mrr);
        let class = if method.name == "evaluator" { "line0" } else { "line5" };
        body += &text("name", left - 12.0, y + 4.0, "end", escape(&method.name));
        body += &line(&format!("curve {class}"), [x(low), x(high)], [y; 2]);
        body += &dot(class, x(mrr), y, 5);
        body += &text("tick", x(high) + 8.0, y + 4.0, "start", format!("{mrr:.2}"));
    }
    body += &text("axis", x(0.5), height - 3.0, "middle", "mean reciprocal rank");
    svg(title, height, &body)
}

fn text(class: &str, x: f64, y: f64, anchor: &str, text: impl Display) -> String {
    format!("<text class=\"{class}\" x={x:.1} y={y:.1} text-anchor={anchor}>{text}</text>")
}

fn line(class: &str, [x1, x2]: [f64; 2], [y1, y2]: [f64; 2]) -> String {
    format!("<line class=\"{class}\" x1={x1:.1} x2={x2:.1} y1={y1:.1} y2={y2:.1} />")
}

fn dot(class: &str, x: f64, y: f64, radius: u32) -> String {
    format!("<circle class=\"dot {class}\" cx={x:.1} cy={y:.1} r={radius} />")
}

fn svg(title: &str, height: f64, body: &str) -> String {
    format!(
        "<figure><figcaption>{0}</figcaption><svg viewBox=\"0 0 {WIDTH} {height}\" role=img \
         aria-label=\"{0}\">{body}</svg></figure>",
        escape(title)
    )
}
