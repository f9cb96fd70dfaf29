//! `mini`, the encoder that comes with the program: an ensemble of two small image towers, and for
//! each a head of the sentence model, trained into one space by `recipes/mini`.

use std::sync::Arc;

use rayon::prelude::*;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use stitch_core::features::Features;
use stitch_nn::onnx::{Graph, Input, Runtime};
use stitch_nn::projection::Projection;

use super::tower::plane;
use super::{EncoderId, FrameSpec, ImageTower, Picture, Result, TextTower, TwoTowers};
use crate::files::hex;
use crate::media::frames::{Filter, Fit};
use crate::models::{NnError, Weights};
use crate::sentence::SentenceEncoder;

pub const NAME: &str = "mini";

/// Frames encoded per second.
const FPS: u32 = 8;

const CONFIG: &[u8] = include_bytes!("../../../../models/mini/config.json");
const IMAGES: [(&str, &[u8]); 2] = [
    ("mini/image1.onnx", include_bytes!("../../../../models/mini/image1.onnx")),
    ("mini/image2.onnx", include_bytes!("../../../../models/mini/image2.onnx")),
];
/// For each image tower a projection of the sentence vector.
const TEXT: &[u8] = include_bytes!("../../../../models/mini/text_projection.safetensors");
const PROJECTIONS: [&str; 2] = ["first", "second"];

/// The fields of config.json that matter here.
#[derive(Deserialize)]
struct Config {
    name: String,
    dim: usize,
    image: ImageConfig,
    text: TextConfig,
}

#[derive(Deserialize)]
struct ImageConfig {
    input: String,
    output: String,
    size: u32,
}

#[derive(Deserialize)]
struct TextConfig {
    input_dim: usize,
}

/// The encoder over a sentence model whose weights have this SHA-256; without the runtime it encodes
/// texts only.
pub fn load(
    runtime: Option<&Runtime>,
    sentences: Arc<SentenceEncoder>,
    sentence_weights: &str,
) -> Result<TwoTowers> {
    let wrong = |reason| NnError::Config { path: "mini/config.json".into(), reason };
    let config: Config =
        serde_json::from_slice(CONFIG).map_err(|error| wrong(error.to_string()))?;
    let Config { name, dim, image, text: TextConfig { input_dim } } = config;
    if sentences.dim() != input_dim || !sentences.is_mpnet() {
        let reason = format!(
            "its text tower was trained on the vectors of the sentence model `{}`, which is not the \
             one here; leave STITCH_SENTENCE_MODEL unset, or index into a new library with `--encoder \
             narration` or with the folder of an encoder that has a text tower of its own",
            SentenceEncoder::MODEL
        );
        return Err(wrong(reason).into());
    }
    let mut hash = Sha256::new();
    for part in [CONFIG, IMAGES[0].1, IMAGES[1].1, TEXT, sentence_weights.as_bytes()] {
        hash.update(part);
    }
    let text = Texts { sentences, projections: projections(TEXT, input_dim, dim)? };
    let image = runtime.map(|runtime| Images::load(runtime, image, dim)).transpose()?;
    let image = image.map(|image| Box::new(image) as Box<dyn ImageTower>);
    let id = EncoderId { name, dim, weights: hex(&hash.finalize()) };
    Ok(TwoTowers::new(id, image, Box::new(text)))
}

/// The image towers, each with its own share of the vector. In a video they take turns, a frame each:
/// neighbouring frames show nearly the same, and it costs no more than one tower.
struct Images {
    graphs: Vec<Graph>,
    config: ImageConfig,
    spec: FrameSpec,
}

impl Images {
    /// The graphs normalise the bytes themselves.
    fn load(runtime: &Runtime, config: ImageConfig, dim: usize) -> Result<Self> {
        let size = (config.size, config.size);
        let each = FrameSpec::single(size, Fit::Squash, Filter::Bilinear, FPS, dim);
        let load = |(name, bytes): (&str, &[u8])| Graph::from_bytes(runtime, name, bytes.to_vec());
        let graphs = IMAGES.into_par_iter().map(load).collect::<Result<Vec<_>, _>>()?;
        let spec = FrameSpec { frames: graphs.len(), batch: 1, ..each };
        Ok(Self { graphs, config, spec })
    }

    /// What one tower makes of frames of this size.
    fn run(
        &self,
        graph: &Graph,
        pictures: &[&[u8]],
        (width, height): (u32, u32),
    ) -> Result<Features> {
        let mut planes = Vec::with_capacity(pictures.iter().map(|picture| picture.len()).sum());
        for picture in pictures {
            (0..3).for_each(|colour| planes.extend(plane(picture, colour)));
        }
        let shape = [pictures.len(), 3, height as usize, width as usize];
        let input = [(self.config.input.as_str(), Input::Bytes(&shape, &planes))];
        let share = self.spec.dim / self.graphs.len();
        Ok(Features::new(share, graph.run(&input, &self.config.output)?.data)?)
    }
}

impl ImageTower for Images {
    fn spec(&self) -> &FrameSpec {
        &self.spec
    }

    fn encode(&self, frames: &[&[u8]]) -> Result<Features> {
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
    fn encode_views(&self, views: &[Picture]) -> Result<Features> {
        let mut rows = Features::empty(self.spec.dim);
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

/// The sentence's vector, projected once for each image tower.
struct Texts {
    sentences: Arc<SentenceEncoder>,
    projections: Vec<Projection>,
}

impl TextTower for Texts {
    fn encode(&self, texts: &[&str]) -> Result<Features> {
        project(&self.projections, &self.sentences.encode(texts)?)
    }

    fn project(&self, sentences: &Features) -> Result<Option<Features>> {
        project(&self.projections, sentences).map(Some)
    }
}

fn project(projections: &[Projection], sentences: &Features) -> Result<Features> {
    let share = |projection: &Projection| {
        Ok(Features::new(projection.dim(), projection.forward(sentences.as_slice()))?)
    };
    let shares = projections.iter().map(share).collect::<Result<Vec<_>>>()?;
    Ok(Features::side_by_side(&shares))
}

/// From vectors of `from` numbers to vectors of `to`, of which every projection has its share.
fn projections(bytes: &[u8], from: usize, to: usize) -> Result<Vec<Projection>, NnError> {
    let weights = Weights::from_bytes("mini/text_projection.safetensors", bytes)?;
    let share = to / PROJECTIONS.len();
    PROJECTIONS.iter().map(|name| Projection::load(&weights.scope(name), from, share)).collect()
}

#[cfg(test)]
mod tests {
    use stitch_core::features::similarity;

    use super::*;

    #[test]
    fn shapes_of_about_the_same_area() {
        assert_eq!(own_shape(1.0, 256), (256, 256));
        assert_eq!(own_shape(16.0 / 9.0, 256), (352, 192));
        assert_eq!(own_shape(3.0 / 4.0, 256), (224, 288));
        assert_eq!(own_shape(100.0, 256), (416, 160));
        assert_eq!(own_shape(0.01, 256), (160, 416));
    }

    #[derive(Deserialize)]
    struct Golden {
        text_features: Vec<f32>,
    }

    #[test]
    fn the_heads_give_what_training_left() {
        let golden = include_bytes!("../../../../models/mini/golden.json");
        let golden: Golden = serde_json::from_slice(golden).unwrap();
        let x = Features::new(768, (1..=768).map(|i| (i as f32).sin()).collect()).unwrap();
        let found = project(&projections(TEXT, 768, 384).unwrap(), &x).unwrap();
        assert!(similarity(found.row(0), &golden.text_features) > 0.9999);
    }

    #[test]
    fn a_head_that_is_cut_short_or_lacks_a_part_is_refused() {
        assert!(projections(&TEXT[..TEXT.len() - 8], 768, 384).is_err());
        assert!(projections(TEXT, 512, 384).is_err());
        assert!(projections(b"\x80\x02}q\x00.", 768, 384).is_err(), "a pickle");
    }
}
