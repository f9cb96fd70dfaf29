//! Encodes every picture of a set; pictures that cannot be read are reported.

use rayon::prelude::*;
use stitch_core::features::Features;
use stitch_engine::encoder::pictures::Picture;
use stitch_engine::encoder::{EncoderError, ImageTower, Seen, appearance};
use stitch_engine::progress::Progress;

use super::set::Set;

/// A step with at least one readable picture.
#[derive(Clone, Debug)]
pub struct PicturedStep {
    /// Its video, by number in the set.
    pub video: usize,
    /// Its place among the video's usable steps.
    pub step: usize,
    pub text: String,
}

/// Pictures that a tower encodes at once, chosen by hand: enough to feed it, few enough to share among
/// threads.
const BATCH: usize = 8;

/// A picture of the set: its video, its step there, its name.
type Place = (usize, usize, String);

/// A picture's row of features, and of appearance if the tower tells it.
type Row = (Vec<f32>, Option<Vec<f32>>);

/// The steps with a readable picture, rows for each (the means of its pictures), and the number of
/// pictures read.
pub fn encode_pictures(
    tower: &dyn ImageTower,
    set: &mut Set,
    progress: &dyn Progress,
) -> Result<(Vec<PicturedStep>, Seen, usize), EncoderError> {
    let places = places(set);
    progress.begin("encoding pictures", places.len() as u64);
    let encode = |places: &[Place]| {
        progress.check()?;
        let rows = encode_batch(tower, set, places)?;
        progress.advance(places.len() as u64);
        Ok(rows)
    };
    let encoded: Result<Vec<_>, EncoderError> = places.par_chunks(BATCH).map(encode).collect();
    let encoded: Vec<_> = places.into_iter().zip(encoded?.into_iter().flatten()).collect();
    let (mut items, mut pictures) = (Vec::new(), 0);
    let (mut rows, mut looks) =
        (Features::empty(tower.spec().dim), Features::empty(appearance::DIM));
    for of_step in encoded.chunk_by(|((v, s, _), _), ((w, t, _), _)| (v, s) == (w, t)) {
        let (video, step, _) = of_step[0].0;
        let mut readable = Features::empty(tower.spec().dim);
        let mut look = Features::empty(appearance::DIM);
        for ((.., image), row) in of_step {
            match row {
                Ok((row, appearance)) => {
                    readable.push(row);
                    appearance.iter().for_each(|row| look.push(row));
                }
                Err(reason) => set.report(format!("{}, {image}", set.videos[video].id), reason),
            }
        }
        pictures += readable.len();
        if !readable.is_empty() {
            rows.push(&readable.mean_of(0..readable.len()));
            looks.push(&look.mean_of(0..look.len()));
            let text = set.videos[video].steps[step].text.clone();
            items.push(PicturedStep { video, step, text });
        }
    }
    let is_told = looks.as_slice().iter().any(|x| *x != 0.0);
    Ok((items, Seen { features: rows, appearance: is_told.then_some(looks) }, pictures))
}

fn places(set: &Set) -> Vec<Place> {
    let mut places = Vec::new();
    for (v, video) in set.videos.iter().enumerate() {
        for (s, step) in video.steps.iter().enumerate() {
            places.extend(step.images.iter().map(|image| (v, s, image.clone())));
        }
    }
    places
}

/// A row for each picture, or why there is none.
fn encode_batch(
    tower: &dyn ImageTower,
    set: &Set,
    places: &[Place],
) -> Result<Vec<Result<Row, String>>, EncoderError> {
    let read = |(.., image): &Place| {
        let picture = Picture::decode(&set.picture(image)?).map_err(|error| error.to_string())?;
        Ok(tower.views(&picture))
    };
    let views: Vec<Result<Vec<Picture>, String>> = places.iter().map(read).collect();
    let count =
        |views: &Result<Vec<Picture>, String>| views.as_ref().map(Vec::len).map_err(Clone::clone);
    let counts: Vec<Result<usize, String>> = views.iter().map(count).collect();
    let seen = tower.encode_views(&views.into_iter().flatten().flatten().collect::<Vec<_>>())?;
    let mut from = 0;
    let mut mean = |count: usize| {
        from += count;
        let own = from - count..from;
        let appearance = seen.appearance.as_ref().map(|rows| rows.mean_of(own.clone()));
        (seen.features.mean_of(own), appearance)
    };
    Ok(counts.into_iter().map(|count| count.map(&mut mean)).collect())
}
