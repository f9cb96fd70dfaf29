//! Training on an NVIDIA GPU: the same sums as on CPU, row for row, by cuBLAS and by the kernels of
//! kernels.cu. By hand and not by a tensor library, which makes a step take twice as long as PyTorch's
//! and its build need CUDA's compiler.

mod device;
mod activations;
mod forward;
mod backward;

use std::collections::HashMap;
use std::ops::Range;

use super::Labels;
use super::activations::LayerActivations;
use super::adamw::{AdamW, AdamWState};
use super::config::EvaluatorConfig;
use super::dropout::Dropout;
use super::forward::Batch;
use super::parameters::ParameterLayout;
use crate::error::{NnError, Result};
use crate::kernels::Activation;
use activations::{BatchShape, GpuActivations};
pub use device::Arithmetic;
use device::{Address, Arg, Device, GpuBuffer, LaunchGrid};

/// In how many parts sums over rows are made: enough to keep the GPU busy; chosen by hand.
const CHUNKS: usize = 128;

/// The network on the first GPU, with the moments of AdamW.
pub struct GpuNetwork {
    config: EvaluatorConfig,
    layout: ParameterLayout,
    device: Device,
    weights: GpuBuffer,
    /// The weights in 16 bits, if products are made with these.
    half_weights: Option<GpuBuffer>,
    first: GpuBuffer,
    second: GpuBuffer,
    gradient: GpuBuffer,
    squares: GpuBuffer,
    sums: Sums,
    activations: GpuActivations,
    steps: u64,
}

/// Tensors whose gradients are sums over rows: made in parts, added up at the end of a pass.
struct Sums {
    parts: GpuBuffer, // [CHUNKS, slots]
    /// The index of each slot's parameter. \[slots\]
    parameters: GpuBuffer,
    slots: usize,
    /// The first slot of the tensor that begins at this parameter.
    slot_of: HashMap<usize, usize>,
}

impl Sums {
    fn new(device: &Device, layout: &ParameterLayout) -> Result<Self> {
        let (parameters, slot_of) = slots(layout);
        let count = parameters.len();
        let sums = Self {
            parts: device.buffer(4 * CHUNKS * count)?,
            parameters: device.buffer(4 * count)?,
            slots: count,
            slot_of,
        };
        device.write(&sums.parameters, &parameters)?;
        Ok(sums)
    }
}

impl GpuNetwork {
    /// The network with these parameters, and the optimiser's state where there is one.
    pub fn new(
        config: &EvaluatorConfig,
        parameters: &[f32],
        state: Option<&AdamWState>,
        arithmetic: Arithmetic,
    ) -> Result<Self> {
        assert_eq!(config.outputs, 1, "the kernels write one logit per sequence");
        let device = Device::new(arithmetic, &constants(config, arithmetic))?;
        let layout = ParameterLayout::new(config);
        let (count, bytes) = (parameters.len(), 4 * parameters.len());
        assert_eq!(count, layout.len(), "the kernels read every parameter");
        let layers = (0..config.layers).map(|_| LayerActivations::default()).collect();
        let network = Self {
            weights: device.buffer(bytes)?,
            half_weights: match arithmetic {
                Arithmetic::F32 => None,
                Arithmetic::Bf16 => Some(device.buffer(2 * count)?),
            },
            first: device.buffer(bytes)?,
            second: device.buffer(bytes)?,
            gradient: device.buffer(bytes)?,
            squares: device.buffer(4 * LaunchGrid::THREADS)?,
            sums: Sums::new(&device, &layout)?,
            activations: GpuActivations { layers, ..GpuActivations::default() },
            steps: state.map_or(0, |state| state.steps),
            config: config.clone(),
            layout,
            device,
        };
        let (device, weights) = (&network.device, network.weights.address);
        let moments = [&network.first, &network.second];
        device.write(&network.weights, parameters)?;
        device.clear(&network.gradient, bytes)?;
        match state {
            None => moments.into_iter().try_for_each(|moment| device.clear(moment, bytes))?,
            Some(state) => {
                assert_eq!([&state.first, &state.second].map(Vec::len), [count; 2]);
                device.write(moments[0], &state.first)?;
                device.write(moments[1], &state.second)?;
            }
        }
        if let Some(half) = &network.half_weights {
            let args = [weights.into(), half.address.into(), count.into()];
            // SAFETY: both buffers have as many values.
            unsafe { device.launch("convert", LaunchGrid::elements(count), &args) }?;
        }
        Ok(network)
    }

    /// One training step; the mean loss of the batch before it.
    pub fn step(
        &mut self,
        batch: &Batch,
        labels: &Labels,
        dropout: Dropout,
        adamw: AdamW,
    ) -> Result<f32> {
        let shape = self.pass(batch, labels, dropout)?;
        self.update(adamw)?;
        self.mean_loss(shape)
    }

    /// The mean loss of a batch and the gradient of every parameter.
    pub fn loss(
        &mut self,
        batch: &Batch,
        labels: &Labels,
        dropout: Dropout,
    ) -> Result<(f32, Vec<f32>)> {
        let shape = self.pass(batch, labels, dropout)?;
        Ok((self.mean_loss(shape)?, self.all(&self.gradient)?))
    }

    /// Forward and backward.
    fn pass(&mut self, batch: &Batch, labels: &Labels, dropout: Dropout) -> Result<BatchShape> {
        let shape = BatchShape::of(batch);
        let (inputs, sequences) = (shape.steps * self.config.inputs, shape.sequences);
        assert_eq!((batch.inputs.len(), labels.right.len()), (inputs, sequences));
        if !shape.fits(&self.config) {
            return Err(NnError::GpuBatch { sequences: shape.sequences });
        }
        if shape.steps > 0 {
            let mut activations = std::mem::take(&mut self.activations);
            let done = self.forward_and_backward(batch, labels, dropout, shape, &mut activations);
            self.activations = activations;
            done?;
        }
        Ok(shape)
    }

    fn forward_and_backward(
        &mut self,
        batch: &Batch,
        labels: &Labels,
        dropout: Dropout,
        shape: BatchShape,
        activations: &mut GpuActivations,
    ) -> Result<()> {
        let index = self.send(batch, labels, shape, activations)?;
        let pass = Pass { network: self, dropout, shape, index };
        pass.forward(labels.weight_of_right, activations)?;
        pass.backward(activations)
    }

    fn update(&mut self, adamw: AdamW) -> Result<()> {
        self.steps += 1;
        let (step, count) = (adamw.factors(self.steps), self.layout.len());
        let (gradient, squares) = (self.gradient.address, self.squares.address);
        if adamw.max_gradient_norm > 0.0 {
            let grid = LaunchGrid::elements(LaunchGrid::THREADS * LaunchGrid::THREADS);
            let args = [gradient.into(), count.into(), squares.into()];
            // SAFETY: the gradient has as many values, and there is a sum for each block.
            unsafe { self.device.launch("squared_norm", grid, &args) }?;
        }
        let half = self.half_weights.as_ref().map_or(Address::NULL, |half| half.address);
        let (first, second) = (self.first.address, self.second.address);
        let mut args =
            [self.weights.address, half, first, second, gradient].map(Arg::from).to_vec();
        args.extend([Arg::from(count), squares.into()]);
        let max_norm = adamw.max_gradient_norm as f32;
        args.extend([max_norm, step.rate, step.correction, step.decay].map(Arg::from));
        args.extend([step.beta1, step.beta2, step.eps].map(Arg::from));
        // SAFETY: all these buffers have as many values, or the one is NULL that kernels.cu lets be.
        unsafe { self.device.launch("adamw", LaunchGrid::elements(count), &args) }
    }

    fn mean_loss(&self, shape: BatchShape) -> Result<f32> {
        if shape.steps == 0 {
            return Ok(0.0);
        }
        let losses = self.device.read(&self.activations.losses, shape.sequences)?;
        let sum: f64 = losses.into_iter().map(f64::from).sum();
        Ok((sum / shape.sequences as f64) as f32)
    }

    pub fn parameters(&self) -> Result<Vec<f32>> {
        self.all(&self.weights)
    }

    pub fn state(&self) -> Result<AdamWState> {
        let (first, second) = (self.all(&self.first)?, self.all(&self.second)?);
        Ok(AdamWState { first, second, steps: self.steps })
    }

    fn all(&self, buffer: &GpuBuffer) -> Result<Vec<f32>> {
        self.device.read(buffer, self.layout.len())
    }
}

/// One pass forward and backward.
struct Pass<'a> {
    network: &'a GpuNetwork,
    dropout: Dropout,
    shape: BatchShape,
    index: activations::BatchIndex,
}

/// What kernels.cu is compiled with.
fn constants(config: &EvaluatorConfig, arithmetic: Arithmetic) -> [(&'static str, usize); 7] {
    [
        ("WIDTH", config.width),
        ("HIDDEN", config.hidden),
        ("HEADS", config.heads),
        ("LAST_POSITION", config.max_steps),
        ("CHUNKS", CHUNKS),
        ("GELU", usize::from(config.activation == Activation::Gelu)),
        ("BF16", usize::from(arithmetic == Arithmetic::Bf16)),
    ]
}

/// The parameter of each slot, and the first slot of each tensor.
fn slots(layout: &ParameterLayout) -> (Vec<u32>, HashMap<usize, usize>) {
    let (mut parameters, mut slot_of) = (Vec::new(), HashMap::new());
    let mut take = |range: &Range<usize>| {
        slot_of.insert(range.start, parameters.len());
        parameters.extend(range.clone().map(|parameter| parameter as u32));
    };
    [&layout.project.bias, &layout.cls, &layout.position].into_iter().for_each(&mut take);
    for layer in &layout.layers {
        // The biases of queries and of keys and values lie side by side, here as there.
        [&layer.query.bias, &layer.key_value.bias, &layer.out.bias].into_iter().for_each(&mut take);
        [&layer.linear1.bias, &layer.linear2.bias].into_iter().for_each(&mut take);
        for norm in [&layer.norm1, &layer.norm2] {
            [&norm.weight, &norm.bias].into_iter().for_each(&mut take);
        }
    }
    if let Some(norm) = &layout.norm {
        [&norm.weight, &norm.bias].into_iter().for_each(&mut take);
    }
    let (first, second) = &layout.head;
    [&first.bias, &second.weight, &second.bias].into_iter().for_each(&mut take);
    (parameters, slot_of)
}
