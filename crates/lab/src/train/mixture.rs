//! Training on several collections. Each keeps its own pool: the standing of a clip and the clips of a
//! negative never come from another.

use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use stitch_engine::evaluator::Batch;

use super::sampler::{Sample, Sampler};

/// The samplers of all collections, each with the number of passes over it in an epoch.
pub struct Mixture<'a> {
    parts: Vec<(Sampler<'a>, usize)>,
    seed: u64,
}

/// The samples of one step, all of one collection.
pub struct MiniBatch {
    collection: usize,
    samples: Vec<Sample>,
}

impl MiniBatch {
    pub fn len(&self) -> usize {
        self.samples.len()
    }

    pub fn positives(&self) -> usize {
        self.samples.iter().filter(|sample| sample.negative.is_none()).count()
    }
}

impl<'a> Mixture<'a> {
    /// One pass over the first collection in an epoch, and over each other as many as give all others
    /// together about as many positives as the first.
    pub fn new(samplers: Vec<Sampler<'a>>, seed: u64) -> Self {
        let first = samplers.first().map_or(0, Sampler::positives);
        let share = first / samplers.len().saturating_sub(1).max(1);
        let passes = |number: usize, positives: usize| match number {
            0 => 1,
            _ => (share / positives.max(1)).max(1),
        };
        let parts = samplers.into_iter().enumerate().map(|(number, sampler)| {
            let passes = passes(number, sampler.positives());
            (sampler, passes)
        });
        Self { parts: parts.collect(), seed }
    }

    /// The batches of an epoch with at most `size` samples each, in random order where there are several
    /// collections.
    pub fn epoch(&self, epoch: usize, size: usize) -> Vec<MiniBatch> {
        let mut batches = Vec::new();
        for (collection, (sampler, passes)) in self.parts.iter().enumerate() {
            for pass in 0..*passes {
                let samples = sampler.epoch(epoch * passes + pass);
                let batch =
                    |samples: &[Sample]| MiniBatch { collection, samples: samples.to_vec() };
                batches.extend(samples.chunks(size).map(batch));
            }
        }
        if self.parts.len() > 1 {
            let mut random = ChaCha8Rng::seed_from_u64(self.seed);
            random.set_stream(epoch as u64);
            batches.shuffle(&mut random);
        }
        batches
    }

    /// The inputs of the network, and which of the samples are positives.
    pub fn inputs(&self, batch: &MiniBatch) -> (Batch, Vec<bool>) {
        self.parts[batch.collection].0.inputs(&batch.samples)
    }
}

#[cfg(test)]
mod tests {
    use stitch_engine::evaluator::Channels;

    use super::super::sampler::{NegativeRates, Windows};
    use super::*;
    use crate::collection::{Collection, Instance};
    use crate::dataset::Split;
    use crate::suite::fixture::{Made, collection};

    fn made(videos: usize, seed: u64) -> Collection {
        let mut made = collection(&Made { tasks: 3, videos, steps: 4, seed });
        made.videos.values_mut().for_each(|video| video.split = Some(Split::Train));
        made.instances.iter_mut().for_each(|instance| instance.split = Split::Train);
        made
    }

    #[test]
    fn a_small_collection_is_gone_through_more_often_and_never_mixed_into_another() {
        let (large, small) = (made(8, 1), made(2, 2));
        let rates = NegativeRates { swapped: 1.0, ..NegativeRates::default() };
        let windows = [&large, &small].map(|made| {
            let own: Vec<&Instance> = made.instances.iter().collect();
            Windows::of(made, &own, Split::Train, 32, &rates)
        });
        let samplers = |count: usize| {
            let new = |of| Sampler::new(of, Channels::default(), rates, 7);
            windows[..count].iter().map(new).collect::<Vec<_>>()
        };
        let mixture = Mixture::new(samplers(2), 7);
        let batches = mixture.epoch(0, 5);
        let right = |of: usize| -> usize {
            batches.iter().filter(|b| b.collection == of).map(MiniBatch::positives).sum()
        };
        assert_eq!(right(0), large.instances.len());
        assert_eq!(right(1), large.instances.len() / small.instances.len() * small.instances.len());
        assert!(batches.iter().all(|batch| (1..=5).contains(&batch.len())));
        assert!(
            batches.windows(2).any(|two| two[0].collection > two[1].collection),
            "they take turns"
        );
        let alone = Mixture::new(samplers(1), 7);
        let drawn: Vec<Sample> =
            alone.epoch(3, 5).into_iter().flat_map(|batch| batch.samples).collect();
        assert_eq!(drawn, samplers(1)[0].epoch(3), "one collection is seen as it always was");
    }
}
