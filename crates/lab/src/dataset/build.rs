//! From a library to examples: videos are parted first, grouped within their part, and mixed.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use sha2::{Digest, Sha256};
use stitch_core::pool::Pool;
use stitch_engine::library::{Library, LibraryError};
use stitch_engine::progress::{Progress, Stopped};
use stitch_engine::sentence::{SentenceEncoder, SentenceError};

use super::examples::{Example, ExampleSource, ExampleStep, Split};
use super::mine::{self, MineOptions};
use super::mix::{FEWEST_STEPS, MixedStep, Mixer, Rejected};
use super::recipes::{Recipe, recipes};

/// How a dataset is made.
pub struct Build<'a> {
    /// Out of what.
    pub library: &'a Library,
    /// What compares summaries.
    pub sentence: &'a SentenceEncoder,
    /// What mixes; none takes real videos alone.
    pub mixer: Option<&'a dyn Mixer>,
    /// Which videos belong together.
    pub mine: MineOptions,
    /// The share of videos that are held out.
    pub held_out: f64,
    /// Of everything random.
    pub seed: u64,
}

/// What was made, in numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BuildReport {
    /// Videos with at least two steps.
    pub videos: usize,
    /// Of these, how many are held out.
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

/// Why there is no dataset.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The library cannot be read.
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// The summaries cannot be encoded.
    #[error(transparent)]
    Sentence(#[from] SentenceError),
    /// Too few videos.
    #[error(
        "{videos} videos of the library name two steps or more; procedures are mixed out of at least \
         two, so index more videos with narration"
    )]
    TooFew {
        /// How many there are.
        videos: usize,
    },
    /// A part came out empty.
    #[error(
        "no procedure of at least three steps could be made for the {part} part ({why}); lower \
         `--similarity`, index more videos, or change `--held-out`"
    )]
    EmptyPart {
        /// `train` or `held-out`.
        part: &'static str,
        /// What happened to the groups.
        why: String,
    },
    /// A language model was to mix, and never answered.
    #[error(
        "the language model answered for none of {groups} groups; check --llm-url and --llm-model \
         (`--verbose` shows what it said), or mix with `--builder rules`"
    )]
    NoAnswer {
        /// How many it was asked about.
        groups: usize,
    },
    /// The work was asked to stop.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// The examples, and how they came about. Every real video of three steps or more is one as well.
pub fn build(
    with: &Build<'_>,
    progress: &dyn Progress,
) -> Result<(Vec<Example>, BuildReport), BuildError> {
    let pool = with.library.pool()?;
    let recipes = recipes(with.library, &pool)?;
    if recipes.len() < 2 {
        return Err(BuildError::TooFew { videos: recipes.len() });
    }
    let mut report = BuildReport { videos: recipes.len(), ..BuildReport::default() };
    let mut examples = Vec::new();
    for split in [Split::Train, Split::HeldOut] {
        let own: Vec<&Recipe> = recipes.iter().filter(|r| with.split_of(r) == split).collect();
        if split == Split::HeldOut {
            report.held_out = own.len();
        }
        let before = examples.len();
        with.build_part(split, &own, &pool, &mut examples, &mut report, progress)?;
        if examples.len() == before {
            let (part, why) = (name(split), format!("{} videos: {:?}", own.len(), report.rejected));
            return Err(BuildError::EmptyPart { part, why });
        }
    }
    let groups: usize = report.groups.values().sum();
    if groups > 0 && report.rejected.get(&Rejected::NoAnswer) == Some(&groups) {
        return Err(BuildError::NoAnswer { groups });
    }
    for example in &examples {
        let kind = format!("{}, {}", name(example.split), example.builder);
        *report.examples.entry(kind).or_default() += 1;
    }
    Ok((examples, report))
}

fn name(split: Split) -> &'static str {
    match split {
        Split::Train => "train",
        Split::HeldOut => "held-out",
    }
}

impl Build<'_> {
    /// A video's part: by its content, so that it stays when others come and go.
    fn split_of(&self, recipe: &Recipe) -> Split {
        let mut hash = Sha256::new();
        hash.update(self.seed.to_le_bytes());
        hash.update(&recipe.content);
        let digest = hash.finalize();
        let number = u32::from_le_bytes([digest[0], digest[1], digest[2], digest[3]]);
        let share = f64::from(number) / f64::from(u32::MAX);
        if share < self.held_out { Split::HeldOut } else { Split::Train }
    }

    fn build_part(
        &self,
        split: Split,
        recipes: &[&Recipe],
        pool: &Pool,
        examples: &mut Vec<Example>,
        report: &mut BuildReport,
        progress: &dyn Progress,
    ) -> Result<(), BuildError> {
        examples.extend(recipes.iter().filter_map(|recipe| self.real(recipe, split, pool)));
        let Some(mixer) = self.mixer else { return Ok(()) };
        let summaries: Vec<String> = recipes.iter().map(|r| r.summary(pool)).collect();
        progress.begin("encoding summaries", summaries.len() as u64);
        let rows = self.sentence.encode_with(&summaries, progress)?;
        let groups = mine::groups(&rows, &self.mine);
        progress.begin("mixing procedures", groups.len() as u64);
        let mut known = BTreeSet::new();
        for (number, group) in groups.iter().enumerate() {
            progress.check()?;
            *report.groups.entry(group.len()).or_default() += 1;
            let group: Vec<&Recipe> = group.iter().map(|at| recipes[*at]).collect();
            let seed = self.seed.wrapping_add(number as u64);
            match mixer.mix(&group, pool, seed) {
                Ok(steps) if known.insert(clips(&steps, &group)) => {
                    examples.push(example(mixer.name(), split, seed, &steps, &group, pool));
                }
                Ok(_) => report.repeated += 1,
                Err(reason) => *report.rejected.entry(reason).or_default() += 1,
            }
            progress.advance(1);
        }
        Ok(())
    }

    /// A real video as it is.
    fn real(&self, recipe: &Recipe, split: Split, pool: &Pool) -> Option<Example> {
        let own = 0..recipe.steps.len();
        let steps: Vec<_> = own.map(|step| MixedStep { recipe: 0, step, text: None }).collect();
        (steps.len() >= FEWEST_STEPS)
            .then(|| example("real", split, self.seed, &steps, &[recipe], pool))
    }
}

fn clips(steps: &[MixedStep], group: &[&Recipe]) -> Vec<u32> {
    steps.iter().map(|s| group[s.recipe].steps[s.step].0).collect()
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
