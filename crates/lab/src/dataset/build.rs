//! From a library to examples: videos are split first, grouped within their split, and mixed.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;
use serde::Serialize;
use stitch_core::pool::Pool;
use stitch_engine::library::Library;
use stitch_engine::progress::Progress;
use stitch_engine::sentence::SentenceEncoder;

use super::DatasetError;
use super::examples::{Example, ExampleSource, ExampleStep, Split};
use super::mine::{self, MineOptions};
use super::mix::{MIN_STEPS, MixedStep, Mixer, Rejected};
use super::recipes::{Recipe, recipes};

pub struct Build<'a> {
    pub library: &'a Library,
    pub sentence: &'a SentenceEncoder,
    /// None takes real videos alone.
    pub mixer: Option<&'a dyn Mixer>,
    /// Groups that are mixed at the same time.
    pub parallel: usize,
    pub mine: MineOptions,
    pub held_out: f64,
    pub seed: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BuildReport {
    /// Videos with at least two steps.
    pub videos: usize,
    pub held_out: usize,
    /// Groups of similar videos, by size.
    pub groups: BTreeMap<usize, usize>,
    /// Examples made, by part and builder.
    pub examples: BTreeMap<String, usize>,
    /// Groups that gave no procedure, by reason.
    pub rejected: BTreeMap<Rejected, usize>,
    /// Mixtures that another group had given already.
    pub repeated: usize,
}

/// The examples, and how they came about. Every real video of three steps or more is an example too.
pub fn build(
    with: &Build<'_>,
    progress: &dyn Progress,
) -> Result<(Vec<Example>, BuildReport), DatasetError> {
    let pool = with.library.pool()?;
    let recipes = recipes(with.library, &pool)?;
    if recipes.len() < 2 {
        return Err(DatasetError::TooFewVideos { videos: recipes.len() });
    }
    let mut report = BuildReport { videos: recipes.len(), ..BuildReport::default() };
    let mut examples = Vec::new();
    for split in [Split::Train, Split::HeldOut] {
        let is_own = |r: &&Recipe| Split::of(&r.content, with.held_out, with.seed) == split;
        let own: Vec<&Recipe> = recipes.iter().filter(is_own).collect();
        if split == Split::HeldOut {
            report.held_out = own.len();
        }
        let part = with.part(split, &own, &pool, &mut report, progress)?;
        if part.is_empty() {
            let why = format!("{} videos: {:?}", own.len(), report.rejected);
            return Err(DatasetError::EmptyPart { part: split.name(), why });
        }
        examples.extend(part);
    }
    let groups: usize = report.groups.values().sum();
    if groups > 0 && report.rejected.get(&Rejected::NoAnswer) == Some(&groups) {
        return Err(DatasetError::NoAnswer { groups });
    }
    for example in &examples {
        let kind = format!("{}, {}", example.split.name(), example.builder);
        *report.examples.entry(kind).or_default() += 1;
    }
    Ok((examples, report))
}

impl Build<'_> {
    /// The real videos of a part, and mixtures of them.
    fn part(
        &self,
        split: Split,
        recipes: &[&Recipe],
        pool: &Pool,
        report: &mut BuildReport,
        progress: &dyn Progress,
    ) -> Result<Vec<Example>, DatasetError> {
        let real = recipes.iter().filter_map(|recipe| self.real(recipe, split, pool));
        let mut examples: Vec<Example> = real.collect();
        let Some(mixer) = self.mixer else { return Ok(examples) };
        let summaries: Vec<String> = recipes.iter().map(|r| r.summary(pool)).collect();
        progress.begin("encoding summaries", summaries.len() as u64);
        let rows = self.sentence.encode_with(&summaries, progress)?;
        let groups = mine::groups(&rows, &self.mine);
        progress.begin("mixing procedures", groups.len() as u64);
        let groups: Vec<Vec<&Recipe>> =
            groups.iter().map(|group| group.iter().map(|at| recipes[*at]).collect()).collect();
        let seed = |number: usize| self.seed.wrapping_add(number as u64);
        let mix = |(number, group): (usize, &Vec<&Recipe>)| {
            progress.check()?;
            let mixed = mixer.mix(group, pool, seed(number));
            progress.advance(1);
            match mixed {
                Err(Rejected::Unreachable) => {
                    Err(DatasetError::Unreachable { groups: groups.len() })
                }
                mixed => Ok(mixed),
            }
        };
        let threads = rayon::ThreadPoolBuilder::new().num_threads(self.parallel).build()?;
        let all = groups.par_iter().enumerate();
        let mixed: Vec<_> =
            threads.install(|| all.map(mix).collect::<Result<_, DatasetError>>())?;
        // In the order of groups, whichever was answered first.
        let mut known = BTreeSet::new();
        for (number, (group, mixed)) in groups.iter().zip(mixed).enumerate() {
            *report.groups.entry(group.len()).or_default() += 1;
            let clip = |s: &MixedStep| group[s.recipe].steps[s.step];
            match mixed {
                Ok(steps) if known.insert(steps.iter().map(clip).collect::<Vec<_>>()) => {
                    let mixer = mixer.name();
                    examples.push(example(mixer, split, seed(number), &steps, group, pool));
                }
                Ok(_) => report.repeated += 1,
                Err(reason) => *report.rejected.entry(reason).or_default() += 1,
            }
        }
        Ok(examples)
    }

    fn real(&self, recipe: &Recipe, split: Split, pool: &Pool) -> Option<Example> {
        let own = 0..recipe.steps.len();
        let steps: Vec<_> = own.map(|step| MixedStep { recipe: 0, step, text: None }).collect();
        (steps.len() >= MIN_STEPS)
            .then(|| example("real", split, self.seed, &steps, &[recipe], pool))
    }
}

fn example(
    builder: &str,
    split: Split,
    seed: u64,
    steps: &[MixedStep],
    group: &[&Recipe],
    pool: &Pool,
) -> Example {
    let step = |mixed: &MixedStep| {
        let clip = pool.clip(group[mixed.recipe].steps[mixed.step]);
        ExampleStep {
            text: mixed.text.clone().unwrap_or_else(|| clip.text.clone()),
            source: mixed.recipe,
            start_ms: clip.span.start(),
            end_ms: clip.span.end(),
        }
    };
    let source = |recipe: &&Recipe| ExampleSource {
        content: recipe.content.clone(),
        title: recipe.title.clone(),
        licence: recipe.licence.clone(),
    };
    Example {
        title: group.iter().map(|recipe| recipe.title.as_str()).collect::<Vec<_>>().join(" + "),
        split,
        builder: builder.into(),
        seed,
        steps: steps.iter().map(step).collect(),
        sources: group.iter().map(source).collect(),
    }
}
