//! Plots as SVG: curves of capture over K, and mean reciprocal ranks with their intervals.

use crate::suite::compare::Method;
use crate::suite::experiments::capture::{Capture, WAYS};

const WIDTH: f64 = 640.0;
const LEFT: f64 = 44.0;
const RIGHT: f64 = 150.0;

/// The CSS class that sets the colour of the n-th line.
fn class(number: usize) -> String {
    format!("line{}", number % 6)
}

/// The share of truths among K candidates, K on a logarithmic axis.
pub fn capture(of: &str, capture: &Capture) -> String {
    let (height, top, bottom) = (300.0, 14.0, 40.0);
    let most = capture.candidates.iter().copied().max().unwrap_or(2).max(2) as f64;
    let x = |count: f64| LEFT + (WIDTH - LEFT - RIGHT) * count.max(1.0).ln() / most.ln();
    let y = |share: f64| top + (height - top - bottom) * (1.0 - share);
    let mut body = grid_y(x(1.0), x(most), &y);
    for count in &capture.candidates {
        let at = x(*count as f64);
        body += &format!(
            "<text class=tick x={at:.1} y={:.1} text-anchor=middle>{count}</text>",
            height - bottom + 18.0
        );
    }
    body += &format!(
        "<text class=axis x={:.1} y={:.1} text-anchor=middle>candidates (K)</text>",
        (x(1.0) + x(most)) / 2.0,
        height - 4.0
    );
    let mut ends: Vec<(f64, usize, &str)> = Vec::new();
    for (number, way) in WAYS.iter().enumerate() {
        let Some(curve) = capture.curves.get(*way) else { continue };
        let points = capture.candidates.iter().zip(curve);
        let points: Vec<(f64, f64)> = points.map(|(k, e)| (x(*k as f64), y(e.value))).collect();
        body += &line(&points, number);
        if let Some((_, last)) = points.last() {
            ends.push((*last, number, way));
        }
    }
    body += &labels(ends, x(most) + 10.0);
    let title = format!("Truths among K candidates: {of}");
    svg(&title, height, &body)
}

fn grid_y(from: f64, to: f64, y: &impl Fn(f64) -> f64) -> String {
    let line = |share: f64| {
        let at = y(share);
        format!(
            "<line class=grid x1={from:.1} x2={to:.1} y1={at:.1} y2={at:.1} />\
             <text class=tick x={:.1} y={:.1} text-anchor=end>{:.0} %</text>",
            from - 8.0,
            at + 4.0,
            share * 100.0
        )
    };
    [0.0, 0.25, 0.5, 0.75, 1.0].into_iter().map(line).collect()
}

fn line(points: &[(f64, f64)], number: usize) -> String {
    let class = class(number);
    let path: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let dots = points
        .iter()
        .map(|(x, y)| format!("<circle class=\"dot {class}\" cx={x:.1} cy={y:.1} r=3 />"));
    let dots: String = dots.collect();
    format!("<polyline class=\"curve {class}\" points=\"{}\" />{dots}", path.join(" "))
}

/// Names beside the ends of lines, moved apart where they would overlap.
fn labels(mut ends: Vec<(f64, usize, &str)>, x: f64) -> String {
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut last = f64::MIN;
    let mut text = String::new();
    for (y, number, name) in ends {
        let at = y.max(last + 16.0);
        last = at;
        let class = class(number);
        text += &format!(
            "<text class=\"label {class}\" x={x:.1} y={:.1}>{}</text>",
            at + 4.0,
            escape(name)
        );
    }
    text
}

/// The mean reciprocal rank of each method with its interval, the best first.
pub fn methods(methods: &[Method], title: &str) -> String {
    let (row, top) = (26.0, 10.0);
    let mut order: Vec<&Method> = methods.iter().collect();
    order.sort_by(|a, b| b.figures.mrr.total_cmp(&a.figures.mrr));
    let height = top + row * order.len() as f64 + 40.0;
    let left = 150.0;
    let x = |share: f64| left + (WIDTH - left - 60.0) * share;
    let bottom = height - 34.0;
    let mut body = String::new();
    for share in [0.0, 0.25, 0.5, 0.75, 1.0] {
        let at = x(share);
        body += &format!(
            "<line class=grid x1={at:.1} x2={at:.1} y1={top:.1} y2={bottom:.1} />\
             <text class=tick x={at:.1} y={:.1} text-anchor=middle>{share}</text>",
            bottom + 16.0
        );
    }
    for (number, method) in order.iter().enumerate() {
        let y = top + row * (number as f64 + 0.5);
        let [low, high] = method.intervals.mrr;
        let class = if method.name == "evaluator" { "line0" } else { "line5" };
        body += &format!(
            "<text class=name x={:.1} y={:.1} text-anchor=end>{}</text>\
             <line class=\"curve {class}\" x1={:.1} x2={:.1} y1={y:.1} y2={y:.1} />\
             <circle class=\"dot {class}\" cx={:.1} cy={y:.1} r=5 />\
             <text class=tick x={:.1} y={:.1}>{:.2}</text>",
            left - 12.0,
            y + 4.0,
            escape(&method.name),
            x(low),
            x(high),
            x(method.figures.mrr),
            x(high) + 8.0,
            y + 4.0,
            method.figures.mrr
        );
    }
    body += &format!(
        "<text class=axis x={:.1} y={:.1} text-anchor=middle>mean reciprocal rank</text>",
        x(0.5),
        height - 3.0
    );
    svg(title, height, &body)
}

fn svg(title: &str, height: f64, body: &str) -> String {
    format!(
        "<figure><figcaption>{0}</figcaption><svg viewBox=\"0 0 {WIDTH} {height}\" role=img \
         aria-label=\"{0}\">{body}</svg></figure>",
        escape(title)
    )
}

pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
