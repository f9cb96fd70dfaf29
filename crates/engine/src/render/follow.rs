//! Where a crop of a clip stands over time: over what moves, without haste.
//!
//! A pure function of small grey frames. The path is the best of all that keep to the limits, by dynamic programming over
//! positions and speeds: it begins and ends at rest, so no pan is cut off, and it stays where it is unless moving shows
//! more of what moves.

/// Frames a second that a path is found from; also the time in which a crop may change its acceleration.
pub const RATE: u32 = 4;
/// The longer side of these frames, in pixels.
pub const SIDE: u32 = 64;

/// The greatest acceleration and speed of a crop, in sides of the picture per second: gentle pans that are at full speed
/// after a second.
pub const MAX_ACCELERATION: f64 = 0.5;
pub const MAX_SPEED: f64 = 0.5;

/// Differences up to this many grey levels are noise of the camera and of compression.
const NOISE: u8 = 6;
/// The camera is taken to have moved at most so many pixels between two frames.
const MAX_SHIFT: isize = 2;
/// A frame in which this many grey levels change, on average over all pixels, counts half.
const LITTLE_MOTION: f64 = 0.1;
/// What contrast counts beside motion: it decides where nothing moves.
const CONTRAST_WEIGHT: f64 = 0.02;
/// What it costs to begin to move, and to move by one side, in seconds of losing all that moves. Without the first a crop
/// fidgets; chosen on the made-up library.
const STARTING_COST: f64 = 0.25;
const MOVING_COST: f64 = 0.5;

/// Grey frames of a clip, [`RATE`] a second: rows of bytes.
#[derive(Clone, Debug)]
pub struct GreyFrames {
    pub width: usize,
    pub height: usize,
    pub frames: Vec<Vec<u8>>,
}

/// The part of a picture that is seen: all of one side and a share of the other, along which it moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CropShare {
    pub is_vertical: bool,
    /// Below 1.
    pub share: f64,
}

impl CropShare {
    /// Of a crop with these shares of the width and the height; none where it is the whole picture.
    pub fn of((across, down): (f64, f64)) -> Option<Self> {
        let is_vertical = down < across;
        let share = across.min(down);
        (share < 1.0).then_some(Self { is_vertical, share })
    }
}

/// Where a crop begins, as a share of the room that it has: 0 at the left or top, 1 at the right or bottom.
#[derive(Clone, Debug, PartialEq)]
pub struct CropPath {
    start: f64,
    /// Seconds at which the acceleration changes, and by how much; it begins at rest.
    changes: Vec<(f64, f64)>,
}

impl CropPath {
    pub fn at(&self, second: f64) -> f64 {
        let term = |(from, change): &(f64, f64)| change / 2.0 * (second - from).max(0.0).powi(2);
        (self.start + self.changes.iter().map(term).sum::<f64>()).clamp(0.0, 1.0)
    }

    /// For ffmpeg, with `n` as the number of the frame after frame `first`.
    pub fn expression(&self, first: u64, fps: u32) -> String {
        let term = |(from, change): &(f64, f64)| {
            format!("{:+.9}*pow(max(0,(n+{first})/{fps}-{from}),2)", change / 2.0)
        };
        let terms: String = self.changes.iter().map(term).collect();
        format!("clip({:.9}{terms},0,1)", self.start)
    }
}

/// The path of a crop of this clip.
pub fn follow(clip: &GreyFrames, crop: CropShare) -> CropPath {
    let room = 1.0 - crop.share;
    let seconds = 1.0 / f64::from(RATE);
    // A change of speed by one unit in the time of a frame moves the crop by one place.
    let unit = MAX_ACCELERATION * seconds;
    let places = (room / (unit * seconds / 2.0)).ceil().max(1.0) as usize;
    let place = room / places as f64;
    let costs = costs(clip, crop, place, places + 1);
    let top_speed = (MAX_SPEED / unit) as usize;
    let rate = f64::from(RATE);
    let prices = (STARTING_COST * rate, MOVING_COST * rate * place);
    let (start, speeds) = best_path(&costs, top_speed, prices);
    let mut changes = Vec::new();
    let (mut speed, mut acceleration) = (0, 0);
    for (frame, next) in speeds.iter().chain([&0]).enumerate().skip(1) {
        let new = next - speed;
        if new != acceleration {
            // Two places per unit of speed and frame.
            let change = 2.0 * f64::from(new - acceleration) / (seconds * seconds) / places as f64;
            changes.push(((frame - 1) as f64 * seconds, change));
        }
        (speed, acceleration) = (*next, new);
    }
    CropPath { start: start as f64 / places as f64, changes }
}

/// What a crop at each place loses at each frame: what moves, by its squared distance from the middle of the crop, and
/// all of it from the edge on.
fn costs(clip: &GreyFrames, crop: CropShare, place: f64, places: usize) -> Vec<Vec<f64>> {
    let motion = motion(clip, crop.is_vertical);
    let contrast = contrast(clip, crop.is_vertical);
    let weighted = |motion: &[f64]| -> Vec<f64> {
        let all = motion.iter().sum::<f64>() + LITTLE_MOTION * (clip.width * clip.height) as f64;
        motion.iter().zip(&contrast).map(|(m, c)| m / all + CONTRAST_WEIGHT * c).collect()
    };
    let half = crop.share / 2.0;
    let cost = |weights: &[f64], at: usize| {
        let middle = at as f64 * place + half;
        let side = weights.len() as f64;
        let far = |i: usize| ((((i as f64 + 0.5) / side) - middle) / half).powi(2).min(1.0);
        weights.iter().enumerate().map(|(i, weight)| weight * far(i)).sum::<f64>()
    };
    let row = |motion: &Vec<f64>| {
        let weights = weighted(motion);
        (0..places).map(|at| cost(&weights, at)).collect()
    };
    motion.iter().map(row).collect()
}

/// What changes around each frame, summed over the side along which the crop does not move.
fn motion(clip: &GreyFrames, is_vertical: bool) -> Vec<Vec<f64>> {
    let side = if is_vertical { clip.height } else { clip.width };
    let mut motion = vec![vec![0.0; side]; clip.frames.len()];
    for (i, pair) in clip.frames.windows(2).enumerate() {
        for (along, change) in changed(clip, &pair[0], &pair[1], is_vertical).iter().enumerate() {
            motion[i][along] += change / 2.0;
            motion[i + 1][along] += change / 2.0;
        }
    }
    motion
}

/// What is different in the second frame. It is shifted by what the camera has moved, if that explains changes in most of
/// the picture: a thing that moves explains those of some of it.
fn changed(clip: &GreyFrames, before: &[u8], after: &[u8], is_vertical: bool) -> Vec<f64> {
    let shifted = |shift| difference(clip, before, after, shift, is_vertical);
    let still = shifted((0, 0));
    let moves =
        (-MAX_SHIFT..=MAX_SHIFT).flat_map(|y| (-MAX_SHIFT..=MAX_SHIFT).map(move |x| (x, y)));
    let explains = |change: &Vec<f64>| {
        change.iter().zip(&still).filter(|(new, old)| new < old).count() > still.len() / 2
    };
    let sum = |change: &Vec<f64>| change.iter().sum::<f64>();
    let best = moves.map(shifted).filter(explains).min_by(|a, b| sum(a).total_cmp(&sum(b)));
    best.unwrap_or(still)
}

fn difference(
    clip: &GreyFrames,
    before: &[u8],
    after: &[u8],
    (x, y): (isize, isize),
    is_vertical: bool,
) -> Vec<f64> {
    let (width, height) = (clip.width, clip.height);
    let inside =
        |at: usize, shift: isize, side: usize| at.saturating_add_signed(shift).min(side - 1);
    let mut sums = vec![0.0; if is_vertical { height } else { width }];
    for (row, column) in (0..height).flat_map(|row| (0..width).map(move |column| (row, column))) {
        let seen = after[inside(row, y, height) * width + inside(column, x, width)];
        let change = seen.abs_diff(before[row * width + column]).saturating_sub(NOISE);
        let weight = (centre(row, height) * centre(column, width)).powi(2);
        sums[if is_vertical { row } else { column }] += weight * f64::from(change);
    }
    sums
}

/// How near to the middle of a side a pixel is, 0 to 1. Hands work in the middle; arms, which move more, reach in from the
/// sides.
fn centre(at: usize, side: usize) -> f64 {
    1.0 - (2.0 * (at as f64 + 0.5) / side as f64 - 1.0).abs()
}

/// The contrast of the clip along the side, more in the middle; its sum is 1.
fn contrast(clip: &GreyFrames, is_vertical: bool) -> Vec<f64> {
    let side = if is_vertical { clip.height } else { clip.width };
    let step = if is_vertical { clip.width } else { 1 };
    let mut contrast = vec![f64::MIN_POSITIVE; side];
    for frame in &clip.frames {
        for at in 0..frame.len().saturating_sub(step) {
            let along = if is_vertical { at / clip.width } else { at % clip.width };
            if along + 1 < side {
                let change = frame[at].abs_diff(frame[at + step]);
                contrast[along] += centre(along, side) * f64::from(change);
            }
        }
    }
    let all: f64 = contrast.iter().sum();
    contrast.iter().map(|c| c / all).collect()
}

/// The first place and the speed at every frame of the cheapest path that begins and ends at rest. From one frame to the
/// next the crop moves by the sum of both speeds.
fn best_path(
    costs: &[Vec<f64>],
    top_speed: usize,
    (starting, moving): (f64, f64),
) -> (usize, Vec<i32>) {
    let Some(first) = costs.first() else { return (0, Vec::new()) };
    let (top, places) = (top_speed as i32, first.len());
    let speeds = 2 * top_speed + 1;
    let state = |place: usize, speed: i32| place * speeds + (speed + top) as usize;
    let mut best = vec![f64::INFINITY; places * speeds];
    first.iter().enumerate().for_each(|(place, cost)| best[state(place, 0)] = *cost);
    // By frame and state, the speed before.
    let mut before: Vec<Vec<i32>> = Vec::new();
    for row in &costs[1..] {
        let (mut next, mut from) = (vec![f64::INFINITY; best.len()], vec![0; best.len()]);
        for (place, speed) in (0..places).flat_map(|p| (-top..=top).map(move |v| (p, v))) {
            for old in (speed - 1).max(-top)..=(speed + 1).min(top) {
                let origin = place.checked_add_signed(-(speed + old) as isize);
                let Some(origin) = origin.filter(|origin| *origin < places) else { continue };
                let start = if old == 0 && speed != 0 { starting } else { 0.0 };
                let way = f64::from((speed + old).abs()) * moving;
                let cost = best[state(origin, old)] + start + way;
                if cost + row[place] < next[state(place, speed)] {
                    next[state(place, speed)] = cost + row[place];
                    from[state(place, speed)] = old;
                }
            }
        }
        best = next;
        before.push(from);
    }
    let end = |place: &usize| best[state(*place, 0)];
    let last = (0..places).min_by(|a, b| end(a).total_cmp(&end(b))).unwrap_or(0);
    let (mut place, mut path) = (last, vec![0]);
    for from in before.iter().rev() {
        let speed = path[path.len() - 1];
        let old = from[state(place, speed)];
        place = place.saturating_add_signed(-(speed + old) as isize);
        path.push(old);
    }
    path.reverse();
    (place, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NARROW: CropShare = CropShare { is_vertical: false, share: 0.3 };

    /// A bright square on a dark ground, its middle where `at` says for each frame, as a share of the width.
    fn square(frames: usize, at: impl Fn(usize) -> f64) -> GreyFrames {
        let (width, height) = (64, 36);
        let frame = |i: usize| {
            let middle = (at(i) * 64.0) as usize;
            let bright =
                |at: usize| (at % width).abs_diff(middle) < 4 && (at / width).abs_diff(18) < 4;
            (0..width * height).map(|at| if bright(at) { 200 } else { 40 }).collect()
        };
        GreyFrames { width, height, frames: (0..frames).map(frame).collect() }
    }

    /// The middle of the crop at a frame, as a share of the width.
    fn middle(path: &CropPath, frame: usize) -> f64 {
        path.at(frame as f64 / f64::from(RATE)) * (1.0 - NARROW.share) + NARROW.share / 2.0
    }

    #[test]
    fn what_moves_stays_inside_and_the_limits_are_kept() {
        let wander = |i: usize| 0.5 + 0.35 * (i as f64 / 10.0).sin();
        let path = follow(&square(80, wander), NARROW);
        for frame in 0..80 {
            let off = (middle(&path, frame) - wander(frame)).abs();
            assert!(off < NARROW.share / 2.0, "{off} at frame {frame}");
        }
        let (step, room) = (0.01, 1.0 - NARROW.share);
        let at = |i: usize| path.at(i as f64 * step) * room;
        let speed = |i: usize| (at(i + 1) - at(i)) / step;
        for i in 0..2100 {
            assert!(speed(i).abs() <= MAX_SPEED + 1e-6);
            let acceleration = (speed(i + 1) - speed(i)) / step;
            assert!(acceleration.abs() <= MAX_ACCELERATION + 1e-6, "{acceleration} at {i}");
        }
        assert!(speed(0).abs() < 0.01 && speed(1990).abs() < 1e-9, "begins and ends at rest");
    }

    #[test]
    fn a_crop_rests_where_little_moves_and_does_not_chase_a_glimpse() {
        let still = follow(&square(40, |_| 0.7), NARROW);
        assert!(still.changes.is_empty() && (middle(&still, 0) - 0.7).abs() < 0.15, "{still:?}");
        let glimpse = |i: usize| if i == 20 { 0.9 } else { 0.3 + 0.02 * (i % 2) as f64 };
        let path = follow(&square(40, glimpse), NARROW);
        assert!(path.changes.is_empty(), "{path:?}");
        // A pan that could not end before the cut is not begun.
        let late = |i: usize| if i >= 38 { 0.9 } else { 0.3 + 0.02 * (i % 2) as f64 };
        assert!(follow(&square(40, late), NARROW).changes.is_empty());
    }

    #[test]
    fn a_moving_camera_is_no_motion() {
        let texture = |x: usize, y: usize| ((x * 7919 + y * 104_729) % 97 * 2) as u8;
        let frame = |i: usize| {
            let bright =
                |at: usize| (at % 64).abs_diff(12 + i % 2) < 3 && (at / 64).abs_diff(18) < 4;
            let seen = |at: usize| if bright(at) { 255 } else { texture(at % 64 + i, at / 64) };
            (0..64 * 36).map(seen).collect()
        };
        let clip = GreyFrames { width: 64, height: 36, frames: (0..20).map(frame).collect() };
        assert!(middle(&follow(&clip, NARROW), 10) < 0.35);
    }

    #[test]
    fn too_few_frames_give_a_crop_that_rests() {
        for frames in 0..3 {
            let path = follow(&square(frames, |_| 0.5), NARROW);
            assert!(path.changes.is_empty() && (0.0..=1.0).contains(&path.at(0.0)));
        }
        assert_eq!(CropShare::of((1.0, 1.0)), None);
        let tall = CropShare { is_vertical: true, share: 0.5 };
        assert_eq!(CropShare::of((1.0, 0.5)), Some(tall));
        assert!((0.0..=1.0).contains(&follow(&square(9, |_| 0.5), tall).at(1.0)));
    }

    #[test]
    fn ffmpeg_gets_the_same_path_from_any_frame_on() {
        let path = CropPath { start: 0.25, changes: vec![(0.5, 0.1), (1.0, -0.2)] };
        let expected = "clip(0.250000000+0.050000000*pow(max(0,(n+12)/24-0.5),2)\
            -0.100000000*pow(max(0,(n+12)/24-1),2),0,1)";
        assert_eq!(path.expression(12, 24), expected);
        assert!((path.at(1.5) - (0.25 + 0.05 - 0.1 * 0.25)).abs() < 1e-12);
    }
}
