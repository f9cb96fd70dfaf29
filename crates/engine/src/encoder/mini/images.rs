//! The image side of `mini`: an ensemble of small towers, each with its own share of the vector.
//!
//! In a video they take turns, a frame each: neighbouring frames show nearly the same, and it costs no
//! more than one tower.

use rayon::prelude::*;
use stitch_core::features::Features;

use super::{IMAGES, ImageConfig};
use crate::encoder::EncoderError;
use crate::encoder::pictures::Picture;
use crate::encoder::spec::FrameSpec;
use crate::encoder::tower::ImageTower;
use crate::media::frames::{Filter, Fit};
use crate::onnx::{Graph, Input, Runtime};

/// Frames encoded per second.
const FPS: u32 = 8;

pub struct Images {
    graphs: Vec<Graph>,
    input: String,
    output: String,
    spec: FrameSpec,
    dim: usize,
}

impl Images {
    /// The graphs normalise the bytes themselves.
    pub fn load(
        graphs: [Vec<u8>; IMAGES.len()],
        runtime: &Runtime,
        config: &ImageConfig,
        dim: usize,
    ) -> Result<Self, EncoderError> {
        let frames = graphs.len();
        let size = (config.size, config.size);
        let each = FrameSpec::single(size, Fit::Squash, Filter::Bilinear, FPS);
        let named = graphs.into_par_iter().zip(IMAGES);
        let load = |(bytes, name)| Graph::from_bytes(runtime, &format!("mini/{name}"), bytes);
        Ok(Self {
            graphs: named.map(load).collect::<Result<_, _>>()?,
            input: config.input.clone(),
            output: config.output.clone(),
            spec: FrameSpec { frames, batch: 1, ..each },
            dim,
        })
    }

    /// What one tower makes of frames of this size.
    fn run(
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

impl ImageTower for Images {
    fn spec(&self) -> &FrameSpec {
        &self.spec
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn encode(&self, frames: &[&[u8]]) -> Result<Features, EncoderError> {
        let size = (self.spec.width, self.spec.height);
        let turns = self.graphs.len();
        let rows = self.graphs.iter().enumerate().map(|(turn, graph)| {
            let own: Vec<&[u8]> = frames.iter().skip(turn).step_by(turns).copied().collect();
            self.run(graph, &own, size)
        });
        Ok(Features::side_by_side(&rows.collect::<Result<Vec<_>, _>>()?))
    }

    /// Squashed and in its own aspect ratio, as the towers were trained, and both mirrored.
    fn views(&self, still: &Picture) -> Vec<Picture> {
        let square = (self.spec.width, self.spec.height);
        let own = own_shape(f64::from(still.width) / f64::from(still.height), square.0);
        let shaped = [square, own].map(|(w, h)| still.resized(w, h, self.spec.filter));
        shaped.into_iter().flat_map(|view| [view.mirrored(), view]).collect()
    }

    /// By every tower.
    fn encode_views(&self, views: &[Picture]) -> Result<Features, EncoderError> {
        let mut rows = Features::empty(self.dim);
        for view in views {
            let size = (view.width, view.height);
            let parts = self.graphs.iter().map(|graph| self.run(graph, &[&view.rgb], size));
            rows.push(Features::side_by_side(&parts.collect::<Result<Vec<_>, _>>()?).row(0));
        }
        Ok(rows)
    }
}

/// The size nearest to this aspect ratio that the graphs take: sides are multiples of 32, the area
/// within 15 % of the square's.
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
