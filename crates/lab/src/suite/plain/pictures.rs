//! Encodes every picture of a set; pictures that cannot be read are reported.

use rayon::prelude::*;
use stitch_core::features::Features;
use stitch_engine::encoder::pictures::Picture;
use stitch_engine::encoder::{EncoderError, ImageTower};
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

/// The steps with a readable picture, a row for each (the mean of its pictures), and the number of
/// pictures read.
pub fn encode_pictures(
    tower: &dyn ImageTower,
    set: &mut Set,
    progress: &dyn Progress,
) -> Result<(Vec<PicturedStep>, Features, usize), EncoderError> {
    let places = places(set);
    progress.begin("encoding pictures", places.len() as u64);
    let encoded: Result<Vec<_>, EncoderError> = places
        .par_chunks(BATCH)
        .map(|places| {
            progress.check()?;
            let rows = encode_batch(tower, set, places)?;
            progress.advance(places.len() as u64);
            Ok(rows)
        })
        .collect();
    let encoded: Vec<Result<Vec<f32>, String>> = encoded?.into_iter().flatten().collect();
    Ok(mean_by_step(set, places, encoded, tower.dim()))
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
) -> Result<Vec<Result<Vec<f32>, String>>, EncoderError> {
    let read = |(_, _, image): &Place| {
        let picture = Picture::decode(&set.picture(image)?).map_err(|error| error.to_string())?;
        Ok(tower.views(&picture))
    };
    let mut read: Vec<Result<Vec<Picture>, String>> = places.iter().map(read).collect();
    let ways =
        |looks: &Result<Vec<Picture>, String>| looks.as_ref().map(Vec::len).map_err(String::clone);
    let counts: Vec<Result<usize, String>> = read.iter().map(ways).collect();
    let looks: Vec<Picture> = read.iter_mut().flatten().flat_map(std::mem::take).collect();
    let rows = tower.encode_views(&looks)?;
    let mut from = 0;
    let mut row = |count: usize| {
        from += count;
        rows.mean_of(from - count..from)
    };
    Ok(counts.into_iter().map(|count| count.map(&mut row)).collect())
}

/// One row for each step that has a readable picture.
fn mean_by_step(
    set: &mut Set,
    places: Vec<Place>,
    encoded: Vec<Result<Vec<f32>, String>>,
    dim: usize,
) -> (Vec<PicturedStep>, Features, usize) {
    let (mut items, mut rows, mut pictures) = (Vec::new(), Features::empty(dim), 0);
    let mut encoded = places.into_iter().zip(encoded).peekable();
    while let Some(((video, step, _), _)) = encoded.peek() {
        let (video, step) = (*video, *step);
        let mut of_step = Features::empty(dim);
        while let Some(((_, _, image), row)) =
            encoded.next_if(|((v, s, _), _)| (*v, *s) == (video, step))
        {
            match row {
                Ok(row) => of_step.push(&row),
                Err(reason) => set.report(format!("{}, {image}", set.videos[video].id), reason),
            }
        }
        pictures += of_step.len();
        if !of_step.is_empty() {
            rows.push(&of_step.mean_of(0..of_step.len()));
            items.push(PicturedStep {
                video,
                step,
                text: set.videos[video].steps[step].text.clone(),
            });
        }
    }
    (items, rows, pictures)
}
