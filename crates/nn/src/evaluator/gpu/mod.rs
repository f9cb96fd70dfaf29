//! The network on an NVIDIA GPU, its way back and Adam: the same sums as on CPU, row for row, by cuBLAS
//! and by kernels of our own. By hand and not by a tensor library, which makes a step take twice as
//! long as PyTorch's and its build need CUDA's compiler.

mod device;
mod tape;
mod forward;
mod back;

use std::collections::HashMap;
use std::ops::Range;

use super::Labels;
use super::config::EvaluatorConfig;
use super::dropout::Dropout;
use super::network::Batch;
use super::numbers::Layout;
use crate::kernels::Activation;
use device::{Arg, At, Blocks, Buffer, Device};
pub use device::{Arithmetic, GpuError};
use tape::{Saved, Sizes, Tape};

/// In how many parts sums over rows are made: enough to keep the GPU busy.
const CHUNKS: usize = 128;

/// One step of Adam.
#[derive(Clone, Copy, Debug)]
pub struct Adam {
    /// How far it goes, the first moment's correction included.
    pub rate: f32,
    /// The second moment's correction.
    pub correction: f32,
    /// What weights are multiplied by first.
    pub kept: f32,
    /// A longer gradient is shortened to this length; 0 for never.
    pub clip: f32,
    /// How much of the first moment stays.
    pub beta1: f32,
    /// How much of the second moment stays.
    pub beta2: f32,
    /// Keeps the division finite.
    pub eps: f32,
}

/// The network on the first GPU, with Adam's moments.
pub struct GpuNetwork {
    config: EvaluatorConfig,
    layout: Layout,
    device: Device,
    weights: At,
    /// The weights that products are made with: the same, or a copy in 16 bits.
    factors: At,
    first: At,
    second: At,
    gradient: At,
    squares: At,
    sums: Sums,
    tape: Tape,
    /// Holds the memory of all these.
    _memory: Vec<Buffer>,
}

/// Tensors whose gradients are sums over rows: made in parts, collected at the end of a pass.
struct Sums {
    /// \[CHUNKS, slots\]
    parts: At,
    /// Where each slot's number is among all. \[slots\]
    places: At,
    slots: usize,
    /// The first slot of the tensor whose numbers begin here.
    slot_of: HashMap<usize, usize>,
}

impl GpuNetwork {
    /// The network with these weights, and moments where they are known, on the first GPU.
    pub fn new(
        config: &EvaluatorConfig,
        numbers: &[f32],
        moments: Option<(&[f32], &[f32])>,
        arithmetic: Arithmetic,
    ) -> Result<Self, GpuError> {
        let device = Device::new(arithmetic, &constants(config, arithmetic))?;
        let layout = Layout::of(config);
        let mut memory = Vec::new();
        let mut room = |bytes: usize| {
            let mut buffer = Buffer::default();
            let at = device.room(&mut buffer, bytes);
            memory.push(buffer);
            at
        };
        let row = 4 * numbers.len();
        let (weights, gradient) = (room(row)?, room(row)?);
        let (first, second) = (room(row)?, room(row)?);
        let squares = room(4 * Blocks::THREADS)?;
        let factors = match arithmetic {
            Arithmetic::F32 => weights,
            Arithmetic::Bf16 => room(2 * numbers.len())?,
        };
        let (places, slot_of) = summed(&layout);
        let slots = places.len();
        let sums =
            Sums { parts: room(4 * CHUNKS * slots)?, places: room(4 * slots)?, slots, slot_of };
        device.write(sums.places, &places)?;
        device.write(weights, numbers)?;
        device.clear(gradient, row)?;
        match moments {
            None => [first, second].into_iter().try_for_each(|at| device.clear(at, row))?,
            Some((one, two)) => {
                device.write(first, one)?;
                device.write(second, two)?;
            }
        }
        if factors != weights {
            let args = [weights.into(), factors.into(), numbers.len().into()];
            device.launch("converted", Blocks::numbers(numbers.len()), &args)?;
        }
        let layers = (0..config.layers).map(|_| Saved::default()).collect();
        let tape = Tape { layers, ..Tape::default() };
        let config = config.clone();
        let _memory = memory;
        Ok(Self {
            config,
            layout,
            device,
            weights,
            factors,
            first,
            second,
            gradient,
            squares,
            sums,
            tape,
            _memory,
        })
    }

    /// Learns from one batch; its mean loss before that.
    pub fn step(
        &mut self,
        batch: &Batch,
        labels: &Labels,
        dropout: Dropout,
        adam: Adam,
    ) -> Result<f32, GpuError> {
        let sizes = self.pass(batch, labels, dropout)?;
        self.adam(adam)?;
        self.mean_loss(sizes)
    }

    /// The mean loss of a batch and the gradient of every weight.
    pub fn loss(
        &mut self,
        batch: &Batch,
        labels: &Labels,
        dropout: Dropout,
    ) -> Result<(f32, Vec<f32>), GpuError> {
        let sizes = self.pass(batch, labels, dropout)?;
        Ok((self.mean_loss(sizes)?, self.all(self.gradient)?))
    }

    /// Forth and back.
    fn pass(
        &mut self,
        batch: &Batch,
        labels: &Labels,
        dropout: Dropout,
    ) -> Result<Sizes, GpuError> {
        let sizes = Sizes::of(batch);
        if !sizes.fit(&self.config) {
            return Err(GpuError::TooLarge { sequences: sizes.sequences });
        }
        if sizes.steps > 0 {
            let mut tape = std::mem::take(&mut self.tape);
            let done = self.both_ways(batch, labels, dropout, sizes, &mut tape);
            self.tape = tape;
            done?;
        }
        Ok(sizes)
    }

    fn both_ways(
        &mut self,
        batch: &Batch,
        labels: &Labels,
        dropout: Dropout,
        sizes: Sizes,
        tape: &mut Tape,
    ) -> Result<(), GpuError> {
        let rows = self.send(batch, labels, sizes, tape)?;
        let pass = Pass { network: self, dropout, sizes, rows };
        pass.forward(labels.weight_of_right, tape)?;
        pass.back(tape)
    }

    fn adam(&self, adam: Adam) -> Result<(), GpuError> {
        let count = self.layout.len();
        if adam.clip > 0.0 {
            let args = [self.gradient.into(), count.into(), self.squares.into()];
            self.device.launch(
                "squares",
                Blocks::numbers(Blocks::THREADS * Blocks::THREADS),
                &args,
            )?;
        }
        let copy = if self.factors == self.weights { At::NONE } else { self.factors };
        let places = [self.weights, copy, self.first, self.second, self.gradient];
        let numbers =
            [adam.clip, adam.rate, adam.correction, adam.kept, adam.beta1, adam.beta2, adam.eps];
        let mut args: Vec<Arg> = places.into_iter().map(Arg::from).collect();
        args.extend([Arg::from(count), self.squares.into()]);
        args.extend(numbers.into_iter().map(Arg::from));
        self.device.launch("adam", Blocks::numbers(count), &args)
    }

    fn mean_loss(&mut self, sizes: Sizes) -> Result<f32, GpuError> {
        if sizes.steps == 0 {
            return Ok(0.0);
        }
        let at = self.device.room(&mut self.tape.losses, 4 * sizes.sequences)?;
        let losses = self.device.read(at, sizes.sequences)?;
        let sum: f64 = losses.into_iter().map(f64::from).sum();
        Ok((sum / sizes.sequences as f64) as f32)
    }

    /// All weights.
    pub fn numbers(&self) -> Result<Vec<f32>, GpuError> {
        self.all(self.weights)
    }

    /// Adam's moments.
    pub fn moments(&self) -> Result<(Vec<f32>, Vec<f32>), GpuError> {
        Ok((self.all(self.first)?, self.all(self.second)?))
    }

    fn all(&self, at: At) -> Result<Vec<f32>, GpuError> {
        self.device.read(at, self.layout.len())
    }
}

/// One pass forth and back.
struct Pass<'a> {
    network: &'a GpuNetwork,
    dropout: Dropout,
    sizes: Sizes,
    rows: tape::Rows,
}

/// What kernels.cu is compiled with.
fn constants(config: &EvaluatorConfig, arithmetic: Arithmetic) -> [(&'static str, usize); 7] {
    [
        ("WIDTH", config.width),
        ("HIDDEN", config.hidden),
        ("HEADS", config.heads),
        ("LAST_PLACE", config.max_steps),
        ("CHUNKS", CHUNKS),
        ("GELU", usize::from(config.activation == Activation::Gelu)),
        ("BF16", usize::from(arithmetic == Arithmetic::Bf16)),
    ]
}

/// Where the numbers of each slot are, and the first slot of each tensor.
fn summed(layout: &Layout) -> (Vec<u32>, HashMap<usize, usize>) {
    let (mut places, mut slot_of) = (Vec::new(), HashMap::new());
    let mut take = |range: &Range<usize>| {
        slot_of.insert(range.start, places.len());
        places.extend(range.clone().map(|place| place as u32));
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
    (places, slot_of)
}
