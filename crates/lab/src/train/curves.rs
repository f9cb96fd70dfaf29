//! The curves of a training as one SVG: the loss, and the median rank and R@50 on held-out procedures, each in
//! a panel over the epochs.

use super::history::{Epoch, TrainEvent};
use crate::svg::{self, line, text};

const WIDTH: f64 = 720.0;
const PANEL: f64 = 170.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 34.0;
const GAP: f64 = 34.0;

struct Panel {
    title: &'static str,
    colour: &'static str,
    points: Vec<(f64, f64)>,
    logarithmic: bool,
    /// The epoch whose weights were kept.
    best: Option<f64>,
}

pub fn svg(events: &[TrainEvent]) -> String {
    let (mut epochs, mut losses): (Vec<Epoch>, _) = (Vec::new(), Vec::new());
    for event in events {
        match event {
            TrainEvent::Epoch(epoch) => epochs.push(*epoch),
            TrainEvent::Steps(steps) => losses.push((steps.epoch, steps.loss)),
        }
    }
    let best = epochs.iter().reduce(|best, next| if next.is_better(best) { next } else { best });
    let best = best.map(|epoch| epoch.epoch as f64);
    let points = |of: fn(&Epoch) -> f64| -> Vec<(f64, f64)> {
        epochs.iter().map(|epoch| (epoch.epoch as f64, of(epoch))).collect()
    };
    let panel =
        |title, colour, logarithmic, points| Panel { title, colour, points, logarithmic, best };
    let median_rank = "median rank of 500 (held out; lower is better)";
    let r50 = "R@50 (held out; higher is better)";
    draw(&[
        Panel { best: None, ..panel("loss (train)", "#b4532a", false, losses) },
        panel(median_rank, "#1f6f8b", true, points(|epoch| epoch.medr)),
        panel(r50, "#3c7a3b", false, points(|epoch| epoch.r50)),
    ])
}

fn draw(panels: &[Panel]) -> String {
    let bottom = TOP + panels.len() as f64 * (PANEL + GAP) - GAP;
    let height = bottom + GAP + 20.0;
    let last = panels.iter().flat_map(|panel| &panel.points).map(|point| point.0);
    let last = last.fold(1.0, f64::max);
    let mut out = svg::begin(WIDTH, height);
    for (number, panel) in panels.iter().enumerate() {
        out += &panel.draw(TOP + number as f64 * (PANEL + GAP), last);
    }
    for epoch in ticks(0.0, last, 10) {
        out += &text(across(epoch, last), bottom + 16.0, "middle", &number(epoch));
    }
    out += &text((LEFT + WIDTH - RIGHT) / 2.0, bottom + 34.0, "middle", "epoch");
    out + "</svg>\n"
}

fn across(epoch: f64, last: f64) -> f64 {
    LEFT + (WIDTH - LEFT - RIGHT) * epoch / last
}

impl Panel {
    fn draw(&self, top: f64, last: f64) -> String {
        let (low, high) = self.bounds();
        let scale = |value: f64| if self.logarithmic { value.max(1e-9).log10() } else { value };
        let down = |value: f64| {
            let share = (scale(value) - scale(low)) / (scale(high) - scale(low));
            top + PANEL * (1.0 - share)
        };
        let mut out = text(LEFT, top - 10.0, "start", self.title);
        for tick in self.ticks(low, high) {
            let y = down(tick);
            out += &line((LEFT, y), (WIDTH - RIGHT, y), "#ddd");
            out += &text(LEFT - 8.0, y + 4.0, "end", &number(tick));
        }
        for epoch in ticks(0.0, last, 10) {
            let x = across(epoch, last);
            out += &line((x, top), (x, top + PANEL), "#eee");
        }
        let (mut path, mut dots) = (Vec::new(), String::new());
        let colour = self.colour;
        for (epoch, value) in &self.points {
            let (x, y) = (across(*epoch, last), down(*value));
            path.push(format!("{x:.1},{y:.1}"));
            let kept = self.best == Some(*epoch);
            let size = if kept { 5.0 } else { 2.0 };
            dots +=
                &format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{size}\" fill=\"{colour}\"/>\n");
            if kept {
                dots += &text(x, y - 8.0, "middle", "kept");
            }
        }
        let path = path.join(" ");
        let style = format!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"");
        out + &format!("<polyline points=\"{path}\" {style}/>\n{dots}")
    }

    /// The range of the vertical axis, never empty.
    fn bounds(&self) -> (f64, f64) {
        let high = self.points.iter().map(|point| point.1).reduce(f64::max);
        match (high, self.logarithmic) {
            (None, false) => (0.0, 10.0),
            (None, true) => (1.0, 10.0),
            (Some(high), false) => (0.0, (high * 1.15).max(1e-3)),
            (Some(high), true) => (1.0, high.max(10.0) * 1.2),
        }
    }

    fn ticks(&self, low: f64, high: f64) -> Vec<f64> {
        if !self.logarithmic {
            return ticks(low, high, 5);
        }
        let round = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0];
        round.into_iter().filter(|tick| (low..=high).contains(tick)).collect()
    }
}

/// Round numbers from low to high, about so many.
fn ticks(low: f64, high: f64, about: usize) -> Vec<f64> {
    let rough = ((high - low) / about as f64).max(1e-12);
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|times| times * power);
    let step = step.into_iter().find(|step| *step >= rough * 0.999).unwrap_or(power * 10.0);
    let first = (low / step).ceil() as i64;
    (first..).map(|n| n as f64 * step).take_while(|tick| *tick <= high * 1.0001).collect()
}

fn number(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::history::Steps;
    use super::*;

    fn lines() -> Vec<TrainEvent> {
        let steps = |i: u32| {
            let (epoch, loss) = (f64::from(i) / 5.0, 0.7 / f64::from(i));
            TrainEvent::Steps(Steps { epoch, step: u64::from(i) * 10, loss, rate: 3e-4 })
        };
        let epoch = |i: u32, medr: f64| {
            TrainEvent::Epoch(Epoch {
                epoch: i as usize,
                step: 50 * u64::from(i),
                loss: 0.5,
                rate: 1e-4,
                medr,
                r50: 1.0 - medr / 500.0,
                mrr: 0.1,
                samples_per_s: 100.0,
                left_s: 3.0,
            })
        };
        let epochs = [(1, 120.0), (2, 14.5), (3, 20.0)].map(|(i, medr)| epoch(i, medr));
        (1..=15).map(steps).chain(epochs).collect()
    }

    #[test]
    fn curves_have_axes_and_tell_what_was_kept() {
        let drawn = svg(&lines());
        for words in
            ["loss (train)", "median rank of 500", "R@50 (held out", ">epoch<", ">100<", ">0.2<"]
        {
            assert!(drawn.contains(words), "{words} in {drawn}");
        }
        assert_eq!(drawn.matches("<polyline").count(), 3);
        assert_eq!(drawn.matches(">kept<").count(), 2, "the second epoch, in both of its panels");
        assert_eq!(drawn.matches("<circle").count(), 15 + 3 + 3);
        assert!(!drawn.contains("NaN"), "{drawn}");
    }

    #[test]
    fn nothing_yet_is_drawn_as_nothing() {
        let empty = svg(&[]);
        assert!(empty.contains("epoch") && !empty.contains("NaN"), "{empty}");
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(ticks(0.0, 10.0, 10).len(), 11);
        assert_eq!(ticks(0.0, 0.7, 5), [0.0, 0.2, 0.4, 0.6000000000000001]);
        assert_eq!(number(0.6000000000000001), "0.6");
    }
}
