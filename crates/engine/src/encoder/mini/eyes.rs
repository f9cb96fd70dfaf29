//! The side of `mini` that sees: small towers that look side by side, each into its own share of the
//! vector. They err differently, so together they find more than either does alone.
//!
//! In a video they take turns, one moment each: neighbouring moments show nearly the same, and it
//! costs no more than one tower.

use rayon::prelude::*;
use stitch_core::features::Features;

use super::{IMAGES, ImageConfig};
use crate::encoder::EncoderError;
use crate::encoder::pictures::Picture;
use crate::encoder::tower::ImageTower;
use crate::encoder::wants::{Filter, Fit, Wants};
use crate::onnx::{Graph, Input, Runtime};

/// Pictures looked at in a second.
const FPS: u32 = 8;

/// The towers, side by side.
pub struct Eyes {
    graphs: Vec<Graph>,
    input: String,
    output: String,
    wants: Wants,
    dim: usize,
}

impl Eyes {
    /// The graphs normalise the bytes themselves.
    pub fn load(
        graphs: [Vec<u8>; IMAGES.len()],
        runtime: &Runtime,
        config: &ImageConfig,
        dim: usize,
    ) -> Result<Self, EncoderError> {
        let frames = graphs.len();
        let size = (config.size, config.size);
        let each = Wants::pictures(size, Fit::Squash, Filter::Bilinear, FPS);
        let named = graphs.into_par_iter().zip(IMAGES);
        let load = |(bytes, name)| Graph::from_bytes(runtime, &format!("mini/{name}"), bytes);
        Ok(Self {
            graphs: named.map(load).collect::<Result<_, _>>()?,
            input: config.input.clone(),
            output: config.output.clone(),
            wants: Wants { frames, batch: 1, ..each },
            dim,
        })
    }

    fn look(
        &self,
        graph: &Graph,
        pictures: &[&[u8]],
        (width, height): (u32, u32),
    ) -> Result<Features, EncoderError> {
        let mut planes = Vec::with_capacity(pictures.iter().map(|picture| picture.len()).sum());
        for picture in pictures {
            for channel in 0..3 {
                planes.extend(picture.iter().skip(channel).step_by(3));
            }
        }
        let shape = [pictures.len(), 3, height as usize, width as usize];
        let input = [(self.input.as_str(), Input::Bytes(&shape, &planes))];
        let share = self.dim / self.graphs.len();
        Ok(Features::new(share, graph.run(&input, &self.output)?.data)?)
    }
}

impl ImageTower for Eyes {
    fn wants(&self) -> &Wants {
        &self.wants
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn see(&self, pictures: &[&[u8]]) -> Result<Features, EncoderError> {
        let shape = (self.wants.width, self.wants.height);
        let turns = self.graphs.len();
        let seen = self.graphs.iter().enumerate().map(|(eye, graph)| {
            let its: Vec<&[u8]> = pictures.iter().skip(eye).step_by(turns).copied().collect();
            self.look(graph, &its, shape)
        });
        Ok(Features::side_by_side(&seen.collect::<Result<Vec<_>, _>>()?))
    }

    /// Squashed and in its own shape, as the towers were taught, and each as in a mirror.
    fn looks(&self, still: &Picture) -> Vec<Picture> {
        let square = (self.wants.width, self.wants.height);
        let own = own_shape(f64::from(still.width) / f64::from(still.height), square.0);
        let shaped = [square, own].map(|(w, h)| still.resized(w, h, self.wants.filter));
        shaped.into_iter().flat_map(|look| [look.mirrored(), look]).collect()
    }

    fn see_looks(&self, looks: &[Picture]) -> Result<Features, EncoderError> {
        let mut rows = Features::empty(self.dim);
        for look in looks {
            let shape = (look.width, look.height);
            let seen = self.graphs.iter().map(|graph| self.look(graph, &[&look.rgb], shape));
            rows.push(Features::side_by_side(&seen.collect::<Result<Vec<_>, _>>()?).row(0));
        }
        Ok(rows)
    }
}

/// The shape nearest to this among those of about the usual area that the graphs take.
/// Sides are multiples of 32, the area within 15 % of the square's.
fn own_shape(aspect: f64, side: u32) -> (u32, u32) {
    const STEP: u32 = 32;
    let area = f64::from(side * side);
    let sides = || (side * 5 / 8 / STEP * STEP..=side * 13 / 8).step_by(STEP as usize);
    let shapes = sides().flat_map(|width| sides().map(move |height| (width, height)));
    let near = |(w, h): &(u32, u32)| (f64::from(w * h) / area - 1.0).abs() <= 0.15;
    let apart = |(w, h): (u32, u32)| (f64::from(w) / f64::from(h) / aspect).ln().abs();
    let nearest = shapes.filter(near).min_by(|a, b| apart(*a).total_cmp(&apart(*b)));
    nearest.unwrap_or((side, side))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_of_about_the_same_area() {
        assert_eq!(own_shape(1.0, 256), (256, 256));
        assert_eq!(own_shape(16.0 / 9.0, 256), (352, 192));
        assert_eq!(own_shape(3.0 / 4.0, 256), (224, 288));
        assert_eq!(own_shape(100.0, 256), (416, 160));
        assert_eq!(own_shape(0.01, 256), (160, 416));
    }
}
