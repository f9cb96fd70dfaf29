//! `mini`, the encoder that comes with the program: an ensemble of two small image towers, and for
//! each a head of the sentence model, trained into one space by `recipes/mini`.

use std::sync::Arc;

use rayon::prelude::*;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use stitch_core::features::Features;
use stitch_nn::layers::Linear;
use stitch_nn::onnx::{self, Graph, Input, Runtime};
use stitch_nn::projection::Projection;

use super::tower::plane;
use super::{
    EncoderId, FrameSpec, ImageTower, Picture, Result, Seen, TextTower, TwoTowers, appearance,
};
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
/// What a tower sees before its head: the name of the Flatten node's output in both graphs, and its length. It is
/// made an output when they are loaded, because the hash of the files identifies the encoder.
const POOLED: (&str, usize) = ("x_258", 1280);
/// From what both towers see to whitened principal components, by `recipes/mini/appearance.py`. No part of the
/// encoder's hash: no feature depends on it.
const APPEARANCE: &[u8] = include_bytes!("../../../../models/mini/appearance.safetensors");

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
    components: Linear,
    config: ImageConfig,
    spec: FrameSpec,
}

impl Images {
    /// The graphs normalise the bytes themselves.
    fn load(runtime: &Runtime, config: ImageConfig, dim: usize) -> Result<Self> {
        let size = (config.size, config.size);
        let each = FrameSpec::single(size, Fit::Squash, Filter::Bilinear, FPS, dim);
        let load = |(name, bytes): (&str, &[u8])| {
            Graph::from_bytes(runtime, name, onnx::with_output(bytes.to_vec(), POOLED.0))
        };
        let graphs = IMAGES.into_par_iter().map(load).collect::<Result<Vec<_>, _>>()?;
        let spec = FrameSpec { frames: graphs.len(), batch: 1, ..each };
        let weights = Weights::from_bytes("mini/appearance.safetensors", APPEARANCE)?;
        let inputs = graphs.len() * POOLED.1;
        let components = weights.scope("").linear("components", appearance::DIM, inputs)?;
        Ok(Self { graphs, components, config, spec })
    }

    /// What one tower makes of frames of this size: features, and what it sees before its head.
    fn run(
        &self,
        graph: &Graph,
        pictures: &[&[u8]],
        (width, height): (u32, u32),
    ) -> Result<(Features, Features)> {
        let mut planes = Vec::with_capacity(pictures.iter().map(|picture| picture.len()).sum());
        for picture in pictures {
            (0..3).for_each(|colour| planes.extend(plane(picture, colour)));
        }
        let shape = [pictures.len(), 3, height as usize, width as usize];
        let input = [(self.config.input.as_str(), Input::Bytes(&shape, &planes))];
        let share = self.spec.dim / self.graphs.len();
        let mut outputs = graph.run_all(&input, &[&self.config.output, POOLED.0])?.into_iter();
        let mut rows =
            |dim| Features::new(dim, outputs.next().map(|out| out.data).unwrap_or_default());
        Ok((rows(share)?, rows(POOLED.1)?))
    }

    /// The towers' shares side by side.
    fn join(&self, shares: Vec<(Features, Features)>) -> Result<Seen> {
        let (features, pooled): (Vec<_>, Vec<_>) = shares.into_iter().unzip();
        let pooled = Features::side_by_side(&pooled);
        let appearance = self.components.forward(pooled.as_slice(), None);
        let appearance = Some(Features::new(appearance::DIM, appearance)?);
        Ok(Seen { features: Features::side_by_side(&features), appearance })
    }
}

impl ImageTower for Images {
    fn spec(&self) -> &FrameSpec {
        &self.spec
    }

    fn encode(&self, frames: &[&[u8]]) -> Result<Seen> {
        let size = (self.spec.width, self.spec.height);
        let turns = self.graphs.len();
        let shares = self.graphs.iter().enumerate().map(|(turn, graph)| {
            let own: Vec<&[u8]> = frames.iter().skip(turn).step_by(turns).copied().collect();
            self.run(graph, &own, size)
        });
        self.join(shares.collect::<Result<Vec<_>, _>>()?)
    }

    /// Squashed and in its own aspect ratio, as the towers were trained, and both mirrored.
    fn views(&self, still: &Picture) -> Vec<Picture> {
        let square = (self.spec.width, self.spec.height);
        let own = own_shape(f64::from(still.width) / f64::from(still.height), square.0);
        let shaped = [square, own].map(|(w, h)| still.resized(w, h, self.spec.filter));
        shaped.into_iter().flat_map(|view| [view.mirrored(), view]).collect()
    }

    /// By every tower.
    fn encode_views(&self, views: &[Picture]) -> Result<Seen> {
        let mut features = Features::empty(self.spec.dim);
        let mut appearance = Features::empty(appearance::DIM);
        for view in views {
            let size = (view.width, view.height);
            let shares = self.graphs.iter().map(|graph| self.run(graph, &[&view.rgb], size));
            let seen = self.join(shares.collect::<Result<Vec<_>, _>>()?)?;
            features.push(seen.features.row(0));
            seen.appearance.iter().for_each(|rows| appearance.push(rows.row(0)));
        }
        Ok(Seen { features, appearance: Some(appearance) })
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
        let actions: Vec<&str> = texts.iter().map(|text| without_subject(text)).collect();
        project(&self.projections, &self.sentences.encode(&actions)?)
    }

    fn project(&self, sentences: &Features) -> Result<Option<Features>> {
        project(&self.projections, sentences).map(Some)
    }
}

/// `A person is slicing bread` as `slicing bread`. The captions of photographs taught the heads that a subject is
/// a person in view; in a demonstration somebody always acts, often only hands are seen, and the subject made
/// ranks worse (`recipes/mini/README.md`, "Subjects").
fn without_subject(text: &str) -> &str {
    const ARTICLES: [&str; 6] = ["a", "an", "the", "two", "some", "several"];
    const SUBJECTS: [&str; 13] = [
        "person", "people", "someone", "somebody", "man", "woman", "men", "women", "boy", "girl",
        "hands", "chef", "cook",
    ];
    const VERBS: [&str; 2] = ["is", "are"];
    let mut words = text.split_whitespace().peekable();
    let mut skip = |wanted: &[&str]| {
        words.next_if(|word| wanted.iter().any(|one| word.eq_ignore_ascii_case(one))).is_some()
    };
    if skip(&["there"]) {
        skip(&VERBS);
    }
    skip(&ARTICLES);
    if !skip(&SUBJECTS) {
        return text;
    }
    skip(&VERBS);
    match words.next() {
        // a word of the text: its place in memory is its place in the text
        Some(action) if action.ends_with("ing") => {
            &text[action.as_ptr() as usize - text.as_ptr() as usize..]
        }
        _ => text,
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
    fn somebody_who_acts_is_left_out() {
        for (text, action) in [
            ("A person is slicing bread.", "slicing bread."),
            ("There are  two people folding  a sheet", "folding  a sheet"),
            ("hands kneading dough", "kneading dough"),
            ("The chef plates the dish", "The chef plates the dish"),
            ("a man in a red hat holding a rope", "a man in a red hat holding a rope"),
            ("hand washing", "hand washing"),
            ("sanding", "sanding"),
            ("Mix the batter", "Mix the batter"),
            ("people", "people"),
            ("", ""),
        ] {
            assert_eq!(without_subject(text), action);
        }
    }

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
