//! How often a crop that follows what moves has the working hand inside, on the made-up library, where the hands are known.

use rayon::prelude::*;
use stitch_engine::render::follow::{CropShare, GreyFrames, MAX_ACCELERATION, RATE, follow};
use stitch_world::catalogue::TaskSet;
use stitch_world::drawing::{Place, draw};
use stitch_world::library::scripts;
use stitch_world::script::{Script, Shot};
use stitch_world::vocabulary::Scene;
use tiny_skia::Pixmap;

/// Moments of a second at which hands are looked for; every third is a frame that the path is found from.
const MOMENTS: u32 = 3 * RATE;
/// Drawn three times as large as the path is found from.
const FINE: usize = 3;
const SIZE: (usize, usize) = (64, 36);

/// Shares of the picture's width or height.
type Point = (f64, f64);

/// A shot as the path is found from it, and where its hands and what they work on are at every moment.
struct Seen {
    clip: GreyFrames,
    hands: Vec<[Option<Point>; 2]>,
    subjects: Vec<Option<Point>>,
}

fn seen(place: &Place, shot: &Shot) -> Seen {
    let (width, height) = SIZE;
    let mut canvas = Pixmap::new((width * FINE) as u32, (height * FINE) as u32).unwrap();
    let length_s = shot.length_ms() as f32 / 1000.0;
    let (mut frames, mut hands, mut subjects) = (Vec::new(), Vec::new(), Vec::new());
    for moment in 0..(length_s * MOMENTS as f32) as u32 {
        let seconds = moment as f32 / MOMENTS as f32;
        let drawn = draw(place, &shot.scene, seconds / length_s, seconds, &mut canvas);
        let share = |at: f32, side: usize| f64::from(at) / (side * FINE) as f64;
        let point = |(x, y): (f32, f32)| (share(x, width), share(y, height));
        hands.push(drawn.hands.map(|hand| hand.map(point)));
        subjects.push(drawn.subject.map(point));
        if moment % (MOMENTS / RATE) == 0 {
            frames.push(grey(&canvas));
        }
    }
    Seen { clip: GreyFrames { width, height, frames }, hands, subjects }
}

/// The picture in grey, at the size that the path is found from.
fn grey(canvas: &Pixmap) -> Vec<u8> {
    let pixel = |x: usize, y: usize| {
        let p = canvas.pixel(x as u32, y as u32).unwrap();
        (u32::from(p.red()) * 3 + u32::from(p.green()) * 6 + u32::from(p.blue())) / 10
    };
    let (width, height) = SIZE;
    let mean = |at: usize| {
        let inside =
            (0..FINE * FINE).map(|i| (at % width * FINE + i % FINE, at / width * FINE + i / FINE));
        (inside.map(|(x, y)| pixel(x, y)).sum::<u32>() / (FINE * FINE) as u32) as u8
    };
    (0..width * height).map(mean).collect()
}

/// The hand that moves most, at every moment at which it is in the picture.
fn working_hand(hands: &[[Option<Point>; 2]]) -> Vec<(usize, Point)> {
    let track = |hand: usize| -> Vec<(usize, Point)> {
        hands.iter().enumerate().filter_map(|(i, both)| Some((i, both[hand]?))).collect()
    };
    let way = |track: &Vec<(usize, Point)>| {
        track.windows(2).map(|w| (w[1].1.0 - w[0].1.0).hypot(w[1].1.1 - w[0].1.1)).sum::<f64>()
    };
    let (left, right) = (track(0), track(1));
    let mut most = if way(&left) > way(&right) { left } else { right };
    most.retain(|(_, (x, y))| (0.0..1.0).contains(x) && (0.0..1.0).contains(y));
    most
}

#[derive(Debug, Default, Clone, Copy)]
struct Measured {
    moments: usize,
    /// With the hand.
    inside: usize,
    /// With the hand or what it works on.
    work_inside: usize,
    /// Of a crop that stays in the middle.
    inside_middle: usize,
    /// In sides of the picture per second squared.
    acceleration: f64,
}

impl Measured {
    fn with(self, other: Self) -> Self {
        Self {
            moments: self.moments + other.moments,
            inside: self.inside + other.inside,
            work_inside: self.work_inside + other.work_inside,
            inside_middle: self.inside_middle + other.inside_middle,
            acceleration: self.acceleration.max(other.acceleration),
        }
    }
}

fn measure_shot(Seen { clip, hands, subjects }: &Seen, share: f64) -> Measured {
    let path = follow(clip, CropShare { is_vertical: false, share });
    let left = |second: f64| path.at(second) * (1.0 - share);
    let hand = working_hand(hands);
    let has = |moment: usize, x: f64| {
        (0.0..=share).contains(&(x - left(moment as f64 / f64::from(MOMENTS))))
    };
    let hand_inside = |(moment, (x, _)): &&(usize, Point)| has(*moment, *x);
    let work_inside = |(moment, (x, _)): &&(usize, Point)| {
        has(*moment, *x) || subjects[*moment].is_some_and(|(x, _)| has(*moment, x))
    };
    let step = 0.05;
    let bend = |i: usize| {
        let at = |i: usize| left(i as f64 * step);
        ((at(i + 2) - at(i + 1)) - (at(i + 1) - at(i))).abs() / (step * step)
    };
    Measured {
        moments: hand.len(),
        inside: hand.iter().filter(hand_inside).count(),
        work_inside: hand.iter().filter(work_inside).count(),
        inside_middle: hand.iter().filter(|(_, (x, _))| (x - 0.5).abs() <= share / 2.0).count(),
        acceleration: (0..hands.len()).map(bend).fold(0.0, f64::max),
    }
}

fn measure(scripts: &[Script], share: f64) -> Measured {
    let of_video = |script: &Script| {
        let place = Place::new(script.domain, script.place_seed);
        let steps = script.shots.iter().filter(|shot| matches!(shot.scene, Scene::Step(_)));
        let shots = steps.map(|shot| measure_shot(&seen(&place, shot), share));
        shots.fold(Measured::default(), Measured::with)
    };
    scripts.par_iter().map(of_video).reduce(Measured::default, Measured::with)
}

/// Of 16:9 in 9:16 and 1:1.
const SHARES: [(&str, f64); 2] = [("9:16", 81.0 / 256.0), ("1:1", 9.0 / 16.0)];

#[allow(clippy::print_stdout)]
fn check(scripts: &[Script]) {
    for (name, share) in SHARES {
        let Measured { moments, inside, work_inside, inside_middle, acceleration } =
            measure(scripts, share);
        let percent = |count: usize| 100.0 * count as f64 / moments as f64;
        println!(
            "{name}: hand inside at {:.1} % of {moments} moments, hand or what it works on at {:.1} %, hand at {:.1} % \
             in a crop of the middle; greatest acceleration {acceleration:.3} sides/s²",
            percent(inside),
            percent(work_inside),
            percent(inside_middle)
        );
        assert!(percent(work_inside) >= 95.0 && acceleration <= MAX_ACCELERATION * 1.001);
    }
}

#[test]
fn the_working_hand_is_inside() {
    check(&scripts(TaskSet::Demonstration, 1, 36).into_iter().step_by(6).collect::<Vec<_>>());
}

#[test]
#[ignore = "a minute: all videos of the demonstration library"]
fn the_working_hand_is_inside_in_the_whole_library() {
    check(&scripts(TaskSet::Demonstration, 1, 36));
}
