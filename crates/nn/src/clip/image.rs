//! The side that sees: patches of the picture as rows, a transformer, one row for the whole
//! picture, a projection.

use candle_core::{D, Device, IndexOp, Tensor};

use super::colours::Colours;
use super::config::{Family, ImageSizes};
use super::transformer::{Curve, Naming, Sizes, Transformer, bent, joined, linear, norm, unbiased};
use crate::kernels::{Linear, Norm};
use crate::weights::{Weights, WeightsError};

/// An image tower.
pub struct Viewer {
    colours: Colours,
    sizes: ImageSizes,
    /// Whether the colours of a pixel lie side by side in a patch's row, instead of in planes.
    interleaved: bool,
    patches: Linear,       // [d, 3·patch²]
    class: Option<Tensor>, // [1, 1, d]
    positions: Tensor,     // [1, tokens, d]
    first_norm: Option<Norm>,
    transformer: Transformer,
    last_norm: Norm,
    pooling: Pooling,
}

/// How the tokens become one row.
enum Pooling {
    /// The class token's row, projected.
    Class(Linear),
    /// A learnt question to all tokens.
    Probe(Probe),
}

impl Viewer {
    /// The image tower of a folder in Hugging Face's form.
    pub fn load(
        weights: &Weights,
        family: Family,
        sizes: ImageSizes,
        colours: Colours,
    ) -> Result<Self, WeightsError> {
        let Sizes { width: d, eps, .. } = sizes.sizes;
        let name = |part: &str| format!("vision_model.{part}");
        let tensor = |part: &str, shape: &[usize]| weights.tensor(&name(part), shape, &Device::Cpu);
        let clip = family == Family::Clip;
        let tokens = sizes.along().pow(2) + usize::from(clip);
        let positions = tensor("embeddings.position_embedding.weight", &[tokens, d])?;
        let class = match clip {
            true => Some(tensor("embeddings.class_embedding", &[d])?.reshape((1, 1, d))?),
            false => None,
        };
        let first_norm = match clip {
            true => Some(norm(weights, &name("pre_layrnorm"), d, eps)?),
            false => None,
        };
        let pooling = match clip {
            true => {
                let weight = "visual_projection.weight";
                Pooling::Class(unbiased(weights.tensor(weight, &[sizes.dim, d], &Device::Cpu)?)?)
            }
            false => Pooling::Probe(Probe::load(weights, &name("head"), &sizes.sizes)?),
        };
        let layers = name("encoder.layers");
        Ok(Self {
            colours,
            sizes,
            interleaved: family == Family::Siglip2,
            patches: patches(weights, &name("embeddings.patch_embedding"), family, &sizes)?,
            class,
            positions: positions.reshape((1, tokens, d))?,
            first_norm,
            transformer: Transformer::load(weights, &layers, Naming::HuggingFace, &sizes.sizes)?,
            last_norm: norm(weights, &name("post_layernorm"), d, eps)?,
            pooling,
        })
    }

    /// The patches of a picture as rows of numbers, added to `rows`.
    fn cut(&self, picture: &[u8], rows: &mut Vec<f32>) {
        let (image, patch, along) = (self.sizes.image, self.sizes.patch, self.sizes.along());
        let colours = &self.colours;
        let value = |x: usize, y: usize, colour: usize| {
            colours.value(picture[3 * (y * image + x) + colour], colour)
        };
        for (top, left) in (0..along * along).map(|i| (i / along * patch, i % along * patch)) {
            let pixels = (0..patch * patch).map(|i| (left + i % patch, top + i / patch));
            match self.interleaved {
                true => rows.extend(pixels.flat_map(|(x, y)| [0, 1, 2].map(|c| value(x, y, c)))),
                false => {
                    let planes = (0..3).flat_map(|c| pixels.clone().map(move |(x, y)| (x, y, c)));
                    rows.extend(planes.map(|(x, y, c)| value(x, y, c)));
                }
            }
        }
    }

    /// \[pictures, dim\]
    fn forward(&self, pictures: &[&[u8]]) -> candle_core::Result<Tensor> {
        let (count, d) = (pictures.len(), self.sizes.sizes.width);
        let (n, of) = (self.sizes.along().pow(2), 3 * self.sizes.patch.pow(2));
        let mut rows = Vec::with_capacity(count * n * of);
        pictures.iter().for_each(|picture| self.cut(picture, &mut rows));
        let rows = Tensor::from_vec(rows, (count * n, of), &Device::Cpu)?;
        let mut x = self.patches.forward(&rows)?.reshape((count, n, d))?;
        if let Some(class) = &self.class {
            x = Tensor::cat(&[&class.repeat((count, 1, 1))?, &x], 1)?;
        }
        let tokens = x.dim(1)?;
        x = x.broadcast_add(&self.positions)?.reshape((count * tokens, d))?; // [N, d]
        if let Some(norm) = &self.first_norm {
            x = norm.forward_owned(x)?;
        }
        let spans: Vec<(usize, usize)> = (0..count).map(|i| (i * tokens, tokens)).collect();
        let x = self.transformer.forward(x, &spans)?; // [N, d]
        self.pool(x, count, tokens)
    }

    /// The length of a vector.
    pub fn dim(&self) -> usize {
        self.sizes.dim
    }

    /// One row per picture, one after the other: \[pictures, dim\]
    pub fn encode(&self, pictures: &[&[u8]]) -> candle_core::Result<Vec<f32>> {
        if pictures.is_empty() {
            return Ok(Vec::new());
        }
        self.forward(pictures)?.flatten_all()?.to_vec1()
    }

    fn pool(&self, x: Tensor, count: usize, tokens: usize) -> candle_core::Result<Tensor> {
        let d = self.sizes.sizes.width;
        match &self.pooling {
            Pooling::Class(projection) => {
                let class = x.reshape((count, tokens, d))?.i((.., 0))?.contiguous()?; // [count, d]
                projection.forward(&self.last_norm.forward(&class)?)
            }
            Pooling::Probe(probe) => {
                let x = self.last_norm.forward_owned(x)?.reshape((count, tokens, d))?;
                probe.forward(&x)
            }
        }
    }
}

/// The patches' projection; a convolution whose steps are as long as its kernel is a product.
fn patches(
    weights: &Weights,
    name: &str,
    family: Family,
    sizes: &ImageSizes,
) -> Result<Linear, WeightsError> {
    let (d, patch) = (sizes.sizes.width, sizes.patch);
    let of = 3 * patch * patch;
    let weight = format!("{name}.weight");
    let bias = || weights.tensor(&format!("{name}.bias"), &[d], &Device::Cpu);
    let kernel = || -> Result<Tensor, WeightsError> {
        let kernel = weights.tensor(&weight, &[d, 3, patch, patch], &Device::Cpu)?;
        Ok(kernel.reshape((d, of))?)
    };
    match family {
        Family::Clip => Ok(unbiased(kernel()?)?),
        Family::Siglip => Ok(Linear { weight: kernel()?, bias: bias()? }),
        Family::Siglip2 => {
            Ok(Linear { weight: weights.tensor(&weight, &[d, of], &Device::Cpu)?, bias: bias()? })
        }
    }
}

/// A learnt question, put to all tokens of a picture by attention; then a hidden layer.
struct Probe {
    heads: usize,
    query: Tensor, // [1, heads, 1, d / heads]
    keys: Linear,
    values: Linear,
    out: Linear,
    norm: Norm,
    wide: Linear,
    narrow: Linear,
    curve: Curve,
}

impl Probe {
    fn load(weights: &Weights, name: &str, sizes: &Sizes) -> Result<Self, WeightsError> {
        let Sizes { width: d, hidden, heads, eps, curve, .. } = *sizes;
        let part = |part: &str| format!("{name}.{part}");
        let all = joined(weights, &part("attention"), d)?;
        let third = |number: usize| -> candle_core::Result<Linear> {
            Ok(Linear {
                weight: all.weight.narrow(0, number * d, d)?.contiguous()?,
                bias: all.bias.narrow(0, number * d, d)?.contiguous()?,
            })
        };
        let probe = weights.tensor(&part("probe"), &[1, 1, d], &Device::Cpu)?.reshape((1, d))?;
        let query = third(0)?.forward(&probe)?;
        Ok(Self {
            heads,
            query: (query.reshape((1, heads, 1, d / heads))? / ((d / heads) as f64).sqrt())?,
            keys: third(1)?,
            values: third(2)?,
            out: linear(weights, &part("attention.out_proj"), d, d)?,
            norm: norm(weights, &part("layernorm"), d, eps)?,
            wide: linear(weights, &part("mlp.fc1"), hidden, d)?,
            narrow: linear(weights, &part("mlp.fc2"), d, hidden)?,
            curve,
        })
    }

    /// \[pictures, tokens, d\] to \[pictures, d\]
    fn forward(&self, x: &Tensor) -> candle_core::Result<Tensor> {
        let (count, tokens, d) = x.dims3()?;
        let heads = |x: Tensor| {
            x.reshape((count, tokens, self.heads, d / self.heads))?.transpose(1, 2)?.contiguous()
        };
        let keys = heads(self.keys.forward(x)?)?; // [count, heads, tokens, size]
        let values = heads(self.values.forward(x)?)?;
        let query = self.query.repeat((count, 1, 1, 1))?; // [count, heads, 1, size]
        let scores = query.matmul(&keys.transpose(2, 3)?.contiguous()?)?;
        let shares = candle_nn::ops::softmax(&scores, D::Minus1)?;
        let answer = shares.matmul(&values)?.reshape((count, d))?; // heads lie side by side
        let answer = self.out.forward(&answer)?;
        let wide = bent(&self.wide, &self.norm.forward(&answer)?, self.curve)?;
        self.narrow.forward_added(&wide, &answer)
    }
}
