//! The method's query: a procedure and a library in, a demonstration out.

pub mod demonstration;
pub mod sources;
pub mod copies;
pub mod wishes;
mod parts;
pub mod stock;
mod states;
pub mod prefer;
mod describe;
mod judge;
mod decide;
mod measure;
pub mod doubts;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::Deserialize;
use stitch_core::belief::Evidence;
use stitch_core::clip::{ClipId, VideoId};
use stitch_core::cover::{self, KBestOptions, Sequence};
use stitch_core::gaps::{self, GapModel, Ranked};
use stitch_core::map::{MapError, StepMap};
use stitch_core::pool::Pool;
use stitch_core::procedure::Procedure;
use stitch_core::timeline::{self, Room, TimelineOptions};

use crate::calibration::Calibration;
use crate::encoder::{Encoder, EncoderError};
use crate::library::{Library, LibraryError};
use crate::moments::Moments;
use crate::options::{OptionError, seconds, within};
use crate::scorer::{AverageSimilarity, Query, Scorer, ScorerError, Search};
use crate::sentence::SentenceEncoder;
use crate::summarise::chat::Chat;
pub use demonstration::{
    Choice, Confidence, Demonstration, Elsewhere, Interval, PreferenceOutcome, Similarity, Source,
    SpokenStep, Step, StepPart, Voiceover,
};
pub use doubts::{Doubt, doubts};
use judge::Judge;
pub use measure::{
    GapEvidence, ReadClip, StepEvidence, answer_candidates, score_sequences, step_evidence,
};
use parts::FoundPart;
pub use prefer::Preference;
use prefer::{Facts, Prices};
pub use sources::SourceFilter;
pub use stock::{Asked, Stock};
pub use wishes::{Fixed, Place, Trim, Wish, Wishes};
use wishes::{Kept, Limits, map_within};

/// What a query works with.
pub struct Demonstrator<'a> {
    /// Where the clips are.
    pub library: &'a Library,
    /// F_M.
    pub encoder: &'a dyn Encoder,
    /// For text against text.
    pub sentence: &'a SentenceEncoder,
    /// The SHA-256 of its weights.
    pub sentence_weights: &'a str,
    /// What decides between candidates.
    pub scorer: &'a dyn Scorer,
    /// Translates procedures in languages that the sentence model does not know.
    pub chat: Option<&'a Chat>,
}

/// What a person may ask for.
#[derive(Clone, Debug)]
pub struct Options {
    /// S: the most clips that are thought of for a step.
    pub top: usize,
    /// How likely a clip must show its step, or the step is a gap; as `gaps` says where none is given.
    pub threshold: Option<f32>,
    /// What counts as shown where no threshold is given.
    pub gaps: GapPolicy,
    /// How many candidate sequences are compared.
    pub candidates: usize,
    /// The price of a source change and of going backwards in a source, in natural logarithms of
    /// probability (a change at 0.7 must make the clips twice as likely to be right): when
    /// candidates are made, and when they are ranked.
    pub k_best: KBestOptions,
    /// How clips become cuts.
    pub timeline: TimelineOptions,
    /// How long the whole may be, in milliseconds; longer clips are cut or sped up to fit.
    pub length_ms: Option<u64>,
    /// How many alternatives are told per step.
    pub alternatives: usize,
    /// Which videos may be used.
    pub sources: SourceFilter,
    /// What is preferred among clips that show a step.
    pub prefer: Vec<Preference>,
    /// What a person has decided about steps.
    pub wishes: Wishes,
    /// Of everything random.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            top: 50,
            threshold: None,
            gaps: GapPolicy::default(),
            candidates: 200,
            k_best: KBestOptions { switch_cost: 1.0, order_cost: 1.5 },
            timeline: TimelineOptions::default(),
            length_ms: None,
            alternatives: 3,
            sources: SourceFilter::default(),
            prefer: Vec::new(),
            wishes: Wishes::new(),
            seed: 0,
        }
    }
}

impl Options {
    /// An error for the first value that is out of range.
    pub fn validate(&self) -> Result<(), OptionError> {
        const LENGTH_S: [f64; 2] = [1.0, 86_400.0];
        if let Some(length) = self.length_ms {
            within("length", seconds(length), LENGTH_S, " seconds")?;
        }
        within("step length", seconds(self.timeline.longest_ms), LENGTH_S, " seconds")?;
        within("speed-up", self.timeline.fastest, [1.0, 8.0], "")?;
        within("threshold", self.threshold.map_or(0.0, f64::from), [0.0, 1.0], "")?;
        within("candidates", self.candidates as f64, [1.0, 10_000.0], "")
    }

    /// Whether gaps are weighed against clips, not set by a threshold of the user's.
    fn may_doubt(&self) -> bool {
        self.threshold.is_none() && self.gaps == GapPolicy::Balanced
    }

    /// The least probability of what a clip with this evidence shows.
    fn threshold_of(&self, calibration: &Calibration, evidence: &Evidence) -> f32 {
        let balanced = calibration.threshold(evidence);
        self.threshold.unwrap_or_else(|| self.gaps.threshold(balanced))
    }
}

/// How sure a clip must be to show its step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GapPolicy {
    /// Rather a gap than a wrong clip.
    Strict,
    /// As calibrated.
    #[default]
    Balanced,
    /// The likeliest clip, however unlikely.
    Never,
}

impl GapPolicy {
    /// What a strict answer asks for beyond a balanced one, in log-odds; chosen by hand.
    const STRICTER_LOG_ODDS: f32 = 1.5;

    /// The least probability of a shown step, from the calibrated one.
    fn threshold(self, balanced: f32) -> f32 {
        match self {
            Self::Strict => Self::stricter(balanced),
            Self::Balanced => balanced,
            Self::Never => 0.0,
        }
    }

    fn stricter(threshold: f32) -> f32 {
        let odds = threshold * Self::STRICTER_LOG_ODDS.exp();
        odds / (1.0 - threshold + odds)
    }
}

/// Why there is no demonstration.
#[derive(Debug, thiserror::Error)]
pub enum DemonstrateError {
    /// The library cannot be read.
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// The step texts cannot be encoded.
    #[error(transparent)]
    Encoder(#[from] EncoderError),
    /// The features of query and library do not belong together.
    #[error(transparent)]
    Map(#[from] MapError),
    /// The candidates cannot be scored.
    #[error(transparent)]
    Scorer(#[from] ScorerError),
    /// The source options leave no video.
    #[error("no video of the library passes the source options; `stitch library list` shows them")]
    NoSource,
}

/// V_R: the best sequence of clips for the procedure, with its evidence.
pub fn demonstrate(
    with: &Demonstrator<'_>,
    procedure: &Procedure,
    options: &Options,
) -> Result<Demonstration, DemonstrateError> {
    let stock = Stock::load(with.library)?;
    let asked = Asked::encode(with, procedure)?;
    solve(with, &stock, &asked, options)
}

/// The same for a library in memory and an encoded procedure, as often as a person changes their
/// mind.
pub fn solve(
    with: &Demonstrator<'_>,
    stock: &Stock,
    asked: &Asked,
    options: &Options,
) -> Result<Demonstration, DemonstrateError> {
    let answer_to = |options: &Options| answer(with, stock, asked, options);
    let answer = answer_to(options)?;
    let preferences = prefer::outcomes(&answer, stock, with.library, options, answer_to)?;
    Ok(Demonstration { preferences, ..answer })
}

fn answer(
    with: &Demonstrator<'_>,
    stock: &Stock,
    asked: &Asked,
    options: &Options,
) -> Result<Demonstration, DemonstrateError> {
    let options = &prefer::with_prices(options);
    let pool = &stock.pool;
    let videos = stock.usable(&options.sources)?;
    let allowed = |id| videos.contains_key(&pool.clip(id).video);
    let calibration = &stock.calibration(with.encoder);
    let map = mapped(with, stock, asked, options, allowed)?;
    let found = search(with, stock, asked, (&map, calibration), options)?;
    let (ranked, shown) = match with.scorer.decides() {
        true => found.decided(with.scorer, &asked.query())?,
        false => found.settled,
    };
    let best = &ranked[0].0;
    let belief = calibration.belief();
    let read = |map: &mut StepMap| asked.read_actions(map, with.sentence, pool, &belief);
    let parts = asked.actions.complete(best, pool, calibration, options, read)?;
    let clips = played(best, &parts);
    let rooms = rooms(best, stock, with.library)?;
    let trimming = fitted(&options.timeline, options.length_ms, &clips);
    let cuts = timeline::timeline(&clips, pool, |video| rooms[&video].clone(), &trimming);
    let solution =
        describe::Solution { ranked: &ranked, shown: &shown, parts: &parts, cuts: &cuts };
    describe::describe(with, stock, asked, &map, &solution, options)
}

/// M for this query, one match for each piece of footage.
fn mapped(
    with: &Demonstrator<'_>,
    stock: &Stock,
    asked: &Asked,
    options: &Options,
    allowed: impl Fn(ClipId) -> bool + Sync,
) -> Result<Kept, DemonstrateError> {
    let (pool, model) = (&stock.pool, stock.calibration(with.encoder).belief());
    let wishes = &options.wishes;
    let read_together = |map: &mut StepMap| asked.read_together(map, with.sentence, pool, &model);
    let steps = &asked.steps();
    let mut map = map_within(steps, pool, allowed, &model, wishes, limits(options), read_together)?;
    map.collapse(pool, with.library);
    Ok(map)
}

/// The candidates of a query and the answer without F_R.
struct Found<'a> {
    judge: Judge<'a>,
    moments: Moments,
    prices: Prices,
    /// Before gaps were decided.
    ranked: Ranked,
    settled: (Ranked, Vec<Option<f32>>),
}

fn search<'a>(
    with: &Demonstrator<'_>,
    stock: &'a Stock,
    asked: &Asked,
    (map, calibration): (&'a Kept, &'a Calibration),
    options: &'a Options,
) -> Result<Found<'a>, DemonstrateError> {
    let (pool, used, all) = (&stock.pool, &map.used, &map.all);
    let moments = moments(with, stock, used);
    let clips = || used.steps.iter().flatten().map(|found| found.clip);
    let prices =
        Facts::new(clips(), stock, with.library, options)?.prices(&options.prefer, clips());
    let gap_model = GapModel::from(calibration.gaps);
    let judge = Judge { used, all, pool, calibration, options };
    let solve = |used: &StepMap| {
        let search = Search { used, all, moments: &moments, gap_model };
        rank(with, &Query { search: Some(search), ..asked.query() }, pool, (options, &prices))
    };
    let judged = |best: &Sequence, used: &StepMap| Judge { used, ..judge }.judge(best);
    let settled = gaps::settle(&mut used.clone(), solve, judged)?;
    let ranked = solve(used)?;
    Ok(Found { judge, moments, prices, ranked, settled })
}

/// The pictures of all clips of a map.
fn moments(with: &Demonstrator<'_>, stock: &Stock, map: &StepMap) -> Moments {
    let clips = map.steps.iter().flatten().map(|found| found.clip);
    Moments::of(clips, &stock.pool, |video| {
        with.encoder.sees().then(|| stock.seconds(with.library, video)).flatten()
    })
}

impl Found<'_> {
    fn search(&self) -> Search<'_> {
        let Judge { used, all, calibration, .. } = self.judge;
        Search { used, all, moments: &self.moments, gap_model: calibration.gaps.into() }
    }

    /// Candidate answers, gaps included.
    fn answers(&self) -> Vec<Sequence> {
        decide::answers(&self.ranked, &self.settled.0[0].0, &self.judge)
    }

    /// The answers by F_R's score, best first, and how likely each clip of the best shows its step.
    fn decided(
        &self,
        scorer: &dyn Scorer,
        query: &Query<'_>,
    ) -> Result<(Ranked, Vec<Option<f32>>), ScorerError> {
        let query = Query { search: Some(self.search()), ..*query };
        let answers = self.answers();
        let scores = scorer.score(&query, self.judge.pool, &answers)?;
        let priced = |answer: Sequence, score: f32| {
            let price = self.prices.of_sequence(&answer) as f32;
            (answer, score - price)
        };
        let scored = answers.into_iter().zip(scores);
        let mut ranked: Ranked = scored.map(|(answer, score)| priced(answer, score)).collect();
        ranked.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        let shown = self.judge.probabilities(&gaps::chosen(&ranked[0].0, self.judge.used));
        Ok((ranked, shown))
    }
}

/// A clip is a match as long as taking it can cost less than leaving its source for the best one and
/// coming back.
fn limits(options: &Options) -> Limits {
    let margin = 2.0 * options.k_best.switch_cost + prefer::highest_price(&options.prefer);
    Limits { top: options.top, margin: margin as f32 }
}

/// The candidates for this M with their scores, best first; never empty. A scorer that decides comes later:
/// until then they are ranked by similarity.
fn rank(
    with: &Demonstrator<'_>,
    query: &Query<'_>,
    pool: &Pool,
    (options, prices): (&Options, &Prices),
) -> Result<Ranked, ScorerError> {
    let of_map = |of: Search<'_>| candidates(&prices.on(of.used), pool, options);
    let candidates = query.search.map_or(Vec::new(), of_map);
    let scorer = if with.scorer.decides() { &AverageSimilarity } else { with.scorer };
    let scores = scorer.score(query, pool, &candidates)?;
    let scores = with_prices(&scores, &candidates, pool, (options, prices));
    let mut ranked: Ranked = candidates.into_iter().zip(scores).collect();
    ranked.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    Ok(ranked)
}

/// The clips that are played for each step: its own, and those that show other parts of it.
fn played(best: &Sequence, parts: &[Vec<FoundPart>]) -> Vec<(usize, ClipId)> {
    let mut clips: Vec<(usize, ClipId)> = best.shown().collect();
    for (step, parts) in parts.iter().enumerate() {
        for further in parts.iter().filter_map(|part| part.clip) {
            if !clips.contains(&(step, further.clip)) {
                clips.push((step, further.clip));
            }
        }
    }
    clips
}

/// What the cuts of a sequence may be taken from; further clips of a step are of its own clip's video.
fn rooms(
    sequence: &Sequence,
    stock: &Stock,
    library: &Library,
) -> Result<HashMap<VideoId, Room>, LibraryError> {
    let videos: BTreeSet<VideoId> =
        sequence.0.iter().flatten().map(|clip| stock.pool.clip(*clip).video).collect();
    let room = |video: VideoId| {
        let length_ms = stock.videos[&video].video.length_ms;
        let clips = library.clips(video)?.iter().map(|clip| clip.span).collect();
        Ok((video, Room { length_ms, shots: library.shots(video)?, clips }))
    };
    videos.into_iter().map(room).collect()
}

/// V'_R: the covers by few sources, and the exact most likely less the price of changes.
fn candidates(step_map: &StepMap, pool: &Pool, options: &Options) -> Vec<Sequence> {
    let half = options.candidates.div_ceil(2);
    let mut candidates = cover::greedy(step_map, pool, half, &options.k_best);
    for candidate in cover::k_best(step_map, pool, 2 * options.candidates, &options.k_best) {
        if !candidates.contains(&candidate) {
            candidates.push(candidate);
        }
    }
    candidates.truncate(options.candidates);
    candidates
}

/// How often a clip is shown that another step has shown already.
fn repeats(sequence: &Sequence) -> usize {
    let mut clips: Vec<ClipId> = sequence.0.iter().flatten().copied().collect();
    clips.sort_unstable();
    clips.windows(2).filter(|pair| pair[0] == pair[1]).count()
}

/// The scores less the cost of source changes, of going backwards in a source, and of what is not as preferred, per
/// step. Showing a clip again counts as going backwards.
fn with_prices(
    scores: &[f32],
    candidates: &[Sequence],
    pool: &Pool,
    (options, prices): (&Options, &Prices),
) -> Vec<f32> {
    let price = |sequence: &Sequence| {
        let changes = cover::source_changes(sequence, pool) as f64 * options.k_best.switch_cost;
        let back = cover::steps_back(sequence, pool) + repeats(sequence);
        let back = back as f64 * options.k_best.order_cost;
        let clips = prices.of_sequence(sequence);
        ((changes + back + clips) / sequence.0.len().max(1) as f64) as f32
    };
    scores.iter().zip(candidates).map(|(score, sequence)| score - price(sequence)).collect()
}

/// The limits of a step and of a cut when the whole may only be so long.
fn fitted(
    options: &TimelineOptions,
    length_ms: Option<u64>,
    clips: &[(usize, ClipId)],
) -> TimelineOptions {
    let mut of_step: BTreeMap<usize, u64> = BTreeMap::new();
    clips.iter().for_each(|(step, _)| *of_step.entry(*step).or_default() += 1);
    let steps = of_step.len().max(1) as u64;
    let most = of_step.into_values().max().unwrap_or(1);
    let mut fitted = *options;
    if let Some(length) = length_ms {
        fitted.longest_ms = (length / steps).clamp(1, options.longest_ms.max(1));
        fitted.shortest_ms = options.shortest_ms.min(fitted.longest_ms / most);
    }
    fitted
}

#[cfg(test)]
mod tests {
    use stitch_core::belief::log_probability;
    use stitch_core::clip::{Clip, Span};
    use stitch_core::features::Features;
    use stitch_core::map::Match;

    use super::*;

    /// Scores answers by what it is told.
    struct Told(fn(&Sequence) -> f32);

    impl Scorer for Told {
        fn name(&self) -> &str {
            "told"
        }

        fn score(&self, _: &Query, _: &Pool, candidates: &[Sequence]) -> crate::scorer::Scores {
            Ok(candidates.iter().map(self.0).collect())
        }

        fn decides(&self) -> bool {
            true
        }
    }

    /// The search prefers clip 0; a scorer that decides may prefer clip 1, or a gap where clip 0 is in doubt.
    #[test]
    fn a_scorer_that_decides_has_the_last_word() {
        let clip = |video| Clip {
            video: VideoId(video),
            span: Span::new(0, 4000).unwrap(),
            text: String::new(),
        };
        let rows = Features::new(1, vec![1.0; 2]).unwrap();
        let pool = Pool::new(vec![clip(1), clip(2)], rows.clone(), rows).unwrap();
        let found = |clip, log_odds| Match {
            clip: ClipId(clip),
            evidence: Evidence::default(),
            log_prob: log_probability(log_odds),
        };
        let calibration = Calibration::of("narration");
        let sequence = |clip: Option<u32>| Sequence(vec![clip.map(ClipId)]);
        let options = &Options::default();
        let chosen = |told: fn(&Sequence) -> f32, log_odds: f32| {
            let map = &StepMap { steps: vec![vec![found(0, log_odds), found(1, log_odds - 0.1)]] };
            let judge = Judge { used: map, all: map, pool: &pool, calibration, options };
            let moments = Moments::of([], &pool, |_| None);
            let ranked = vec![(sequence(Some(0)), 2.0), (sequence(Some(1)), 1.0)];
            let settled = (ranked.clone(), vec![Some(0.9)]);
            let prices = Prices::default();
            let found = Found { judge, moments, prices, ranked, settled };
            let texts = Features::new(1, vec![1.0]).unwrap();
            let query = Query { texts: &[], text: &texts, clip: &texts, search: None };
            found.decided(&Told(told), &query).unwrap().0[0].0.clone()
        };
        let second = |answer: &Sequence| f32::from(u8::from(answer.0[0] == Some(ClipId(1)))) * 9.0;
        assert_eq!(chosen(second, 3.0), sequence(Some(1)));
        let gap = |answer: &Sequence| f32::from(u8::from(answer.0[0].is_none())) * 9.0;
        assert_eq!(chosen(gap, 3.0), sequence(None));
        assert_eq!(chosen(gap, 20.0), sequence(Some(0)), "no doubt");
    }

    #[test]
    fn a_strict_policy_asks_for_more_and_never_for_nothing() {
        let of = |policy: GapPolicy| policy.threshold(0.5);
        assert!(of(GapPolicy::Strict) > of(GapPolicy::Balanced));
        assert_eq!((of(GapPolicy::Balanced), of(GapPolicy::Never)), (0.5, 0.0));
    }

    #[test]
    fn a_length_is_shared_by_steps_and_by_their_clips() {
        let clips = |steps: &[usize]| -> Vec<(usize, ClipId)> {
            steps.iter().zip(0..).map(|(step, clip)| (*step, ClipId(clip))).collect()
        };
        let fitted = |steps: &[usize]| {
            let fitted = fitted(&TimelineOptions::default(), Some(6000), &clips(steps));
            (fitted.longest_ms, fitted.shortest_ms)
        };
        assert_eq!(fitted(&[0, 1]), (3000, 2000));
        assert_eq!(fitted(&[0, 1, 1]), (3000, 1500));
    }
}
