//! Several collections learnt from together. Each keeps its own pool: what a clip stands against, and what
//! negatives are made of, never comes from another.

use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use stitch_engine::evaluator::Batch;

use super::sampler::{Drawn, Sampler};

/// The samplers of all collections, and how often each is gone through in an epoch.
pub struct Mixture<'a> {
    parts: Vec<(Sampler<'a>, usize)>,
    seed: u64,
}

/// What one step learns from, all of one collection.
pub struct Portion {
    of: usize,
    drawn: Vec<Drawn>,
}

impl Portion {
    /// How many sequences.
    pub fn len(&self) -> usize {
        self.drawn.len()
    }

    /// How many of them are right.
    pub fn right(&self) -> usize {
        self.drawn.iter().filter(|drawn| drawn.fault.is_none()).count()
    }
}

impl<'a> Mixture<'a> {
    /// The first collection is gone through once an epoch, the others as often as makes all of them
    /// together weigh about as much as the first.
    pub fn new(samplers: Vec<Sampler<'a>>, seed: u64) -> Self {
        let first = samplers.first().map_or(0, Sampler::positives);
        let share = first / samplers.len().saturating_sub(1).max(1);
        let times = |(number, sampler): (usize, Sampler<'a>)| match number {
            0 => (sampler, 1),
            _ => {
                let times = (share / sampler.positives().max(1)).max(1);
                (sampler, times)
            }
        };
        Self { parts: samplers.into_iter().enumerate().map(times).collect(), seed }
    }

    /// The steps of an epoch with at most so many sequences each, in an order by chance where there are
    /// several collections.
    pub fn epoch(&self, epoch: usize, batch: usize) -> Vec<Portion> {
        let mut portions = Vec::new();
        for (of, (sampler, times)) in self.parts.iter().enumerate() {
            for time in 0..*times {
                let drawn = sampler.epoch(epoch * times + time);
                portions.extend(drawn.chunks(batch).map(|d| Portion { of, drawn: d.to_vec() }));
            }
        }
        if self.parts.len() > 1 {
            let mut random = ChaCha8Rng::seed_from_u64(self.seed);
            random.set_stream(epoch as u64);
            portions.shuffle(&mut random);
        }
        portions
    }

    /// Sequences ready for the network, and which of them are right.
    pub fn batch(&self, portion: &Portion) -> (Batch, Vec<bool>) {
        self.parts[portion.of].0.batch(&portion.drawn)
    }
}

#[cfg(test)]
mod tests {
    use stitch_engine::evaluator::Channels;

    use super::super::sampler::{Drawing, Pieces};
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
        let drawing = Drawing { swapped: 1.0, ..Drawing::default() };
        let pieces = [&large, &small].map(|made| {
            let own: Vec<&Instance> = made.instances.iter().collect();
            Pieces::of(made, &own, Split::Train, 32, &drawing)
        });
        let samplers = |count: usize| {
            let new = |of| Sampler::new(of, Channels::default(), drawing, 7);
            pieces[..count].iter().map(new).collect::<Vec<_>>()
        };
        let mixture = Mixture::new(samplers(2), 7);
        let portions = mixture.epoch(0, 5);
        let right = |of: usize| -> usize {
            portions.iter().filter(|p| p.of == of).map(Portion::right).sum()
        };
        assert_eq!(right(0), large.instances.len());
        assert_eq!(right(1), large.instances.len() / small.instances.len() * small.instances.len());
        assert!(portions.iter().all(|portion| (1..=5).contains(&portion.len())));
        assert!(portions.windows(2).any(|two| two[0].of > two[1].of), "they take turns");
        let alone = Mixture::new(samplers(1), 7);
        let drawn: Vec<Drawn> = alone.epoch(3, 5).into_iter().flat_map(|p| p.drawn).collect();
        assert_eq!(drawn, samplers(1)[0].epoch(3), "one collection is seen as it always was");
    }
}
