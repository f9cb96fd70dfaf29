//! The first stage of M over the segments of a pool: every clip is bounded by its 8-bit codes, on all cores, and only
//! those that may be among the best are left.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use rayon::prelude::*;
use stitch_core::clip::ClipId;
use stitch_core::shortlist::{Linear, Shortlist, StepOdds, rival};
use stitch_nn::codes::{Coded, Functions, Reach};

use super::rows::MappedRows;
use super::segment::PoolSegment;

/// Rows whose bounds are computed together; their codes and products stay in a core's cache.
const BLOCK_ROWS: usize = 256;

impl Shortlist for MappedRows {
    fn shortlist(
        &self,
        steps: &[StepOdds],
        allowed: &(dyn Fn(usize, ClipId) -> bool + Sync),
        most: usize,
    ) -> Vec<(ClipId, usize)> {
        let scan = Scan::new(steps, most);
        let blocks: Vec<_> = self.blocks(BLOCK_ROWS).collect();
        let found = blocks.into_par_iter().flat_map_iter(|(first, segment, rows)| {
            let mut found = scan.block(segment, rows);
            found.retain_mut(|reach| {
                reach.row += first;
                let clip = ClipId(reach.row as u32);
                // Others have raised the bar meanwhile; and whether a clip is allowed is asked of few.
                let stays = scan.may_reach(reach) && allowed(reach.function, clip);
                if stays {
                    scan.best[reach.function].offer(reach.lower);
                }
                stays
            });
            found
        });
        let found: Vec<Reach> = found.collect();
        let found = found.into_iter().filter(|reach| scan.may_reach(reach));
        let mut pairs: Vec<(ClipId, usize)> =
            found.map(|reach| (ClipId(reach.row as u32), reach.function)).collect();
        pairs.sort_unstable();
        tracing::debug!(steps = steps.len(), clips = self.len(), left = pairs.len(), "shortlist");
        pairs
    }
}

/// One query over all blocks.
struct Scan {
    both: Functions,
    text: Functions,
    clip: Functions,
    /// By step.
    best: Vec<Best>,
}

impl Scan {
    fn new(steps: &[StepOdds], most: usize) -> Self {
        let of = |case: fn(&StepOdds) -> &Linear, text: bool, clip: bool| {
            let cases = || steps.iter().map(case);
            let text = text.then(|| cases().map(|linear| linear.text.as_slice()).collect());
            let clip = clip.then(|| cases().map(|linear| linear.clip.as_slice()).collect());
            let biases = cases().map(|linear| linear.bias).collect();
            let roundings = cases().map(|linear| linear.rounding).collect();
            Functions::new(biases, roundings, &text.into_iter().chain(clip).collect::<Vec<_>>())
        };
        Self {
            both: of(|odds| &odds.both, true, true),
            text: of(|odds| &odds.text, true, false),
            clip: of(|odds| &odds.clip, false, true),
            best: steps.iter().map(|_| Best::new(most)).collect(),
        }
    }

    fn may_reach(&self, reach: &Reach) -> bool {
        reach.upper.partial_cmp(&self.best[reach.function].least())
            != Some(std::cmp::Ordering::Less)
    }

    /// Where a step's log-odds may reach its bar, by row of the block.
    fn block(&self, segment: &PoolSegment, rows: Range<usize>) -> Vec<Reach> {
        let scales = [0, 1].map(|matrix| segment.scales(matrix, rows.clone()));
        let least: Vec<f32> = self.best.iter().map(Best::least).collect();
        let senses = |at: usize| (scales[0][at].scale > 0.0, scales[1][at].scale > 0.0);
        let (mut found, mut from) = (Vec::new(), 0);
        while from < rows.len() {
            // Rows of one case: mostly the whole block.
            let to = (from..rows.len()).find(|at| senses(*at) != senses(from));
            let at = from..to.unwrap_or(rows.len());
            let of = |matrix: usize| Coded {
                codes: segment.codes(matrix, rows.start + at.start..rows.start + at.end),
                scales: &scales[matrix][at.clone()],
            };
            let before = found.len();
            match senses(from) {
                (true, true) => self.both.reaching(&[of(0), of(1)], &least, &mut found),
                (true, false) => self.text.reaching(&[of(0)], &least, &mut found),
                (false, true) => self.clip.reaching(&[of(1)], &least, &mut found),
                (false, false) => {}
            }
            found[before..].iter_mut().for_each(|reach| reach.row += from);
            from = at.end;
        }
        found
    }
}

/// The lower bounds of the best clips of a step so far.
struct Best {
    most: usize,
    /// Falling.
    lower: Mutex<Vec<f32>>,
    /// The bits of what a clip must be able to reach.
    least: AtomicU32,
}

impl Best {
    fn new(most: usize) -> Self {
        Self { most, lower: Mutex::default(), least: AtomicU32::new(f32::NEG_INFINITY.to_bits()) }
    }

    fn least(&self) -> f32 {
        f32::from_bits(self.least.load(Ordering::Relaxed))
    }

    fn offer(&self, lower: f32) {
        if lower.is_nan() {
            return;
        }
        let mut best = self.lower.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let at = best.partition_point(|other| *other >= lower);
        best.insert(at, lower);
        best.truncate(self.most);
        if let Some(worst) = best.last().filter(|_| best.len() == self.most) {
            self.least.store(rival(*worst).to_bits(), Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use proptest::prelude::*;
    use stitch_core::belief::{Belief, Logit};
    use stitch_core::clip::{Clip, Span, VideoId};
    use stitch_core::features::{Features, Rows, similarity};
    use stitch_core::map::{Context, Steps, map, map_among};
    use stitch_core::pool::{Agreement, Pool};
    use stitch_core::random::SplitMix64;

    use super::super::features::half_bytes;
    use super::super::rows::MatrixRows;
    use super::super::segment::{NewSegment, SegmentVideo};
    use super::*;

    /// Of text, clip and appearance.
    const DIMS: [usize; 3] = [24, 7, 4];

    /// How rows lie to each other.
    #[derive(Clone, Copy, Debug)]
    enum Kind {
        Anywhere,
        /// Around few centres, nearer to each other than codes can tell.
        Clustered,
        /// Few distinct rows.
        Duplicates,
        /// Many equal cosines, and rows of zeros.
        Whole,
        Zeros,
    }

    fn rows(kind: Kind, dim: usize, count: usize, random: &mut SplitMix64) -> Features {
        let mut number = || random.unit() * 2.0 - 1.0;
        let centres: Vec<f32> = (0..3 * dim).map(|_| number()).collect();
        let data = (0..count * dim).map(|at| {
            let (row, column) = (at / dim, at % dim);
            match kind {
                Kind::Anywhere => number(),
                Kind::Clustered => centres[row % 3 * dim + column] + 1e-3 * number(),
                Kind::Duplicates => centres[row * row % 3 * dim + column],
                Kind::Zeros => 0.0,
                Kind::Whole if row % 7 == 3 => 0.0,
                Kind::Whole => (number() * 1.4).round(),
            }
        });
        Features::new(dim, data.collect()).unwrap()
    }

    /// Videos of four clips, in several segments that the pool does not keep in order.
    fn mapped(features: &[Features; 3], segments: usize) -> (Vec<Clip>, Arc<MappedRows>) {
        let count = features[0].len();
        let span = Span::new(0, 1000).unwrap();
        let clip = |row: usize| Clip { video: VideoId(row as u32 / 4), span, text: String::new() };
        let clips: Vec<Clip> = (0..count).map(clip).collect();
        let mut made: Vec<NewSegment> = (0..segments).map(|_| NewSegment::default()).collect();
        let mut stretches = Vec::new();
        for (at, from) in (0..count).step_by(4).enumerate() {
            let to = (from + 4).min(count);
            let new = &mut made[at * at % segments];
            stretches.push((at * at % segments, new.len()..new.len() + to - from));
            let agreement = Agreement::default();
            let video =
                SegmentVideo { id: at as u32, sha256: "-".repeat(64), rows: 0..0, agreement };
            let halves = features.each_ref().map(|rows| {
                let mut part = Features::empty(rows.dim());
                let per_clip = rows.len() / count;
                (from * per_clip..to * per_clip).for_each(|row| part.push(rows.row(row)));
                half_bytes(&part)
            });
            let own = clips[from..to].iter().cloned().map(Ok);
            new.push(&video, own, DIMS, halves.each_ref().map(Vec::as_slice)).unwrap();
        }
        let parse = |new: NewSegment| {
            let bytes = new.finish(Path::new("x")).unwrap();
            PoolSegment::new(Path::new("x"), Box::new(bytes)).unwrap()
        };
        let segments = made.into_iter().map(parse).collect();
        (clips, Arc::new(MappedRows::new(segments, stretches.into_iter())))
    }

    /// Rows of each matrix.
    fn features([text, clip]: [Kind; 2], count: usize, random: &mut SplitMix64) -> [Features; 3] {
        let (text, clip) = (rows(text, DIMS[0], count, random), rows(clip, DIMS[1], count, random));
        [text, clip, rows(Kind::Anywhere, DIMS[2], 3 * count, random)]
    }

    fn pool(features: &[Features; 3], segments: usize) -> (Pool, Arc<MappedRows>) {
        let (clips, rows) = mapped(features, segments);
        let of = |matrix: usize| -> Arc<dyn Rows> {
            Arc::new(MatrixRows { rows: Arc::clone(&rows), matrix, dim: DIMS[matrix] })
        };
        (Pool::of_rows(clips, of(0), of(1)).unwrap().with_appearance(of(2)), rows)
    }

    fn belief(random: &mut SplitMix64, scale: f32) -> Belief {
        let mut number = || (random.unit() * 2.0 - 0.7) * scale;
        let mut logit = || Logit {
            bias: number(),
            text: number(),
            words: 1.0,
            clip: number(),
            context: number(),
            context_clip: number(),
        };
        Belief { both: logit(), text: logit(), clip: logit(), ..Belief::default() }
    }

    fn any_kind() -> impl Strategy<Value = Kind> {
        use Kind::*;
        prop::sample::select(vec![Anywhere, Clustered, Duplicates, Whole, Zeros])
    }

    /// What a person rules out.
    #[derive(Clone, Copy, Debug)]
    enum Banned {
        Nothing,
        Some,
        /// All but two videos.
        Most,
        Everything,
    }

    impl Banned {
        fn allows(self, step: usize, clip: ClipId) -> bool {
            match self {
                Self::Nothing => true,
                Self::Some => (clip.row() + step) % 5 != 1,
                Self::Most => matches!(clip.row() / 4, 2 | 20),
                Self::Everything => false,
            }
        }
    }

    proptest! {
        #[test]
        fn the_answer_is_that_of_scoring_every_clip(
            seed in 0u64..1 << 32, kinds in [any_kind(), any_kind()],
            count in 1usize..700, segments in 1usize..4, top in 1usize..40,
            // 0: all are equal; 60: log-probabilities that round to 0
            scale in prop::sample::select(vec![0.0f32, 0.1, 8.0, 60.0]),
            context in any::<bool>(),
            banned in prop::sample::select(
                vec![Banned::Nothing, Banned::Some, Banned::Most, Banned::Everything]),
        ) {
            let mut random = SplitMix64::new(seed);
            let features = features(kinds, count, &mut random);
            let asked = [0, 1].map(|at| rows(Kind::Anywhere, DIMS[at], 5, &mut random));
            let understood = [0, 1].map(|at| rows(kinds[at], DIMS[at], 5, &mut random));
            let context = context.then_some(Context { text: &understood[0], clip: Some(&understood[1]) });
            let texts = vec![String::new(); 5];
            let steps = Steps { texts: &texts, text: &asked[0], clip: &asked[1], context };
            let belief = belief(&mut random, scale);
            let (whole, codes) = pool(&features, segments);
            let allowed = |step: usize, clip: ClipId| banned.allows(step, clip);
            let exact = map(&steps, &whole, allowed, &belief, top).unwrap();
            let shortlisted = map(&steps, &whole.clone().with_shortlist(codes.clone()), allowed, &belief, top).unwrap();
            prop_assert_eq!(&exact, &shortlisted);
            let few: Vec<(ClipId, usize)> = (0..count as u32 / 9)
                .flat_map(|clip| [(ClipId(clip), 1), (ClipId(clip), 3)])
                .collect();
            let is_few = |step: usize, clip: ClipId| few.contains(&(clip, step));
            let among = map_among(&few, &steps, &whole, &belief, top).unwrap();
            prop_assert_eq!(among, map(&steps, &whole.with_shortlist(codes), is_few, &belief, top).unwrap());
        }
    }

    #[test]
    fn few_clips_are_left_to_score() {
        let mut random = SplitMix64::new(1);
        let (_, codes) = pool(&features([Kind::Anywhere; 2], 4000, &mut random), 2);
        let asked = [0, 1].map(|at| rows(Kind::Anywhere, DIMS[at], 1, &mut random));
        let linear = Linear {
            bias: -3.0,
            text: asked[0].row(0).to_vec(),
            clip: asked[1].row(0).to_vec(),
            rounding: 1e-5,
        };
        let odds = StepOdds { both: linear.clone(), text: linear.clone(), clip: linear };
        let left = codes.shortlist(&[odds], &|_, _| true, 20).len();
        assert!((20..80).contains(&left), "{left}");
    }

    #[test]
    fn rows_come_back_in_the_order_of_the_pool() {
        let mut random = SplitMix64::new(2);
        let features = features([Kind::Anywhere; 2], 50, &mut random);
        let (pool, _) = pool(&features, 3);
        let found =
            [pool.text_features(), pool.clip_features(), &**pool.appearance_features().unwrap()];
        for (found, features) in found.into_iter().zip(&features) {
            assert_eq!(found.len(), features.len());
            for row in 0..found.len() {
                let cosine = similarity(&found.row(row), features.row(row));
                assert!(cosine > 0.999, "{row}: {cosine}");
            }
        }
    }
}
