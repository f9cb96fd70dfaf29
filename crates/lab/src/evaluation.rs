//! All experiments as one report: on sets, on a library, and on a toy set without models.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::error::Error;
use std::path::{Path, PathBuf};

use stitch_core::clip::VideoId;
use stitch_core::format::count;
use stitch_engine::encoder::Encoder;
use stitch_engine::evaluator::Channels;
use stitch_engine::library::{Library, VideoRecord};
use stitch_engine::progress::Progress;
use stitch_engine::sentence::SentenceEncoder;
use stitch_world::truth::Truth;
use stitch_world::vocabulary::Domain;

use crate::ablations::{Ablations, TrainSetup, train_evaluator};
use crate::dataset::rules::{Rules, TemporallySampled};
use crate::dataset::{self, Build, Example, MineOptions, Split, build};
use crate::rows::grouped;
use crate::suite::compare::{CompareOptions, Extra};
use crate::suite::evaluators::EvaluatorSource;
use crate::suite::experiments::consistency::Edges;
use crate::suite::experiments::localisation;
use crate::suite::made_up::file_name;
use crate::suite::mixing::with_mixed;
use crate::suite::plain::load::{Encoders, load};
use crate::suite::plain::set::{Needs, Set};
use crate::suite::report::{Ablation, EvaluationReport, Section};
use crate::suite::section::{Part, cached, fingerprint, section};
use crate::suite::test_set::TestSet;
use crate::suite::{library_set, toy};
use crate::train::{NegativeRates, TrainOptions};

type Failed = Box<dyn Error + Send + Sync>;

/// Scripts of the toy, over all domains.
const TOY_SCRIPTS: usize = 150;

/// Procedures of each kind and domain that the toy measures by default.
const TOY_PROCEDURES: usize = 40;

/// Least shares of truths among 100 candidates of the toy's mixed procedures; of whole videos all must be.
const MIN_CAPTURED: [(&str, f64); 2] = [("greedy cover", 0.95), ("exact K-best", 0.99)];

/// Every domain of the toy set. It shows that measuring works, not how good a method is.
pub fn toy(
    seed: u64,
    most: Option<usize>,
    progress: &dyn Progress,
) -> Result<EvaluationReport, Failed> {
    let most = most.unwrap_or(TOY_PROCEDURES);
    let options = CompareOptions { seed, most, resamples: 1000, ..CompareOptions::default() };
    let note = "a toy: words have random vectors and no picture was encoded; it shows that measuring \
                works, not how good a method is";
    let mut report = new_report(seed, &[note]);
    let folder = tempfile::tempdir()?;
    for domain in [Domain::Cooking, Domain::Woodworking, Domain::Gardening] {
        let set = toy::toy_set(domain, TOY_SCRIPTS, seed)?;
        let (name, edges) = (set.name.clone(), Edges::of_clips(&set));
        let setup = toy_setup(&name, seed);
        let folder = folder.path().join(&name);
        let evaluator = train_evaluator(&set, |_| true, &setup, &folder, progress)?;
        let extra: [Extra; 1] = [("evaluator", Ok(&evaluator))];
        for whole in [false, true] {
            let part =
                Part { set: "toy", domain: Some(&name), whole, extra: &extra, options: &options };
            report.sections.push(section(&set, &part, &edges, progress)?);
        }
    }
    Ok(report)
}

/// Similarities of the toy's random word vectors are distributed otherwise than a sentence encoder's.
fn toy_setup(domain: &str, seed: u64) -> TrainSetup {
    let negatives = NegativeRates {
        swapped: 1.0,
        wrong: 1.0,
        elsewhere: 1.0,
        shows: 0.5,
        unlike: 0.2,
        ..NegativeRates::default()
    };
    let train =
        TrainOptions { seed, negatives, rate: 1e-3, held_out: 40, ..TrainOptions::default() };
    TrainSetup { domain: domain.into(), channels: Channels::WITHOUT_FEATURES, train }
}

/// Where the toy's candidates hold fewer truths than they must, over all domains together.
pub fn lost_truths(toy: &EvaluationReport) -> Vec<String> {
    let mut lost = Vec::new();
    for (of, whole) in [("mixed", false), ("whole videos", true)] {
        for (way, least) in MIN_CAPTURED {
            let least = if whole { 1.0 } else { least };
            let found = captured(toy, of, way);
            if found < least {
                lost.push(format!("{of}: {way} captures {found:.3} of truths, not {least}"));
            }
        }
    }
    lost
}

fn captured(report: &EvaluationReport, of: &str, way: &str) -> f64 {
    let all = report.sections.iter().flat_map(|section| &section.capture);
    let (mut found, mut procedures) = (0.0, 0);
    for capture in all.filter(|capture| capture.of == of) {
        let share = capture.at(way, 100).map_or(0.0, |estimate| estimate.value);
        found += share * capture.procedures as f64;
        procedures += capture.procedures;
    }
    // Shares times numbers of procedures are whole up to rounding.
    found.round() / procedures.max(1) as f64
}

fn new_report(seed: u64, notes: &[&str]) -> EvaluationReport {
    let (version, notes) = (env!("CARGO_PKG_VERSION").into(), notes.iter().map(<_>::to_string));
    EvaluationReport { version, seed, notes: notes.collect(), ..EvaluationReport::default() }
}

const NOTES: [&str; 3] = [
    "HowTo100M features and InternVideo2 could not be had here, so no number can be held against \
     the paper's; the protocol is the same",
    "the step that a clip was annotated with is hidden from every method; where a set has no \
     narration, text-only knows nothing and stands in the middle",
    "the default encoder has seen the 450 YouCook2 videos that come with the project's training \
     data; sets of other videos are the honest test",
];

/// All experiments on sets and on a library. Finished sections are cached in a folder, so that a run that was
/// stopped continues.
pub struct Evaluation<'a> {
    /// Its seed is the seed of everything random.
    pub options: CompareOptions,
    /// Procedures that are mixed out of the videos of each set.
    pub mixed: usize,
    pub ablations: bool,
    /// Where sections and trained models are written.
    pub out: &'a Path,
    /// The made-up library's folder, if the library is made up.
    pub world: Option<&'a Path>,
    /// A file of procedures for the library; mixed by rules where there is none.
    pub procedures: Option<&'a Path>,
    /// A list of the library's videos whose steps have labels.
    pub labels: Option<&'a Path>,
    pub sentence: &'a SentenceEncoder,
    pub evaluators: EvaluatorSource<'a>,
    pub progress: &'a dyn Progress,
}

impl Evaluation<'_> {
    /// The report, not yet written: of the sets by one encoder, and of a library by its own.
    pub fn run(
        &self,
        sets: &[(PathBuf, &dyn Encoder)],
        library: Option<(&Library, &dyn Encoder)>,
    ) -> Result<EvaluationReport, Failed> {
        let mut report = new_report(self.options.seed, &NOTES);
        for (data, encoder) in sets {
            report.sections.extend(self.set(data, *encoder)?);
        }
        if let Some((library, encoder)) = library {
            self.library(library, encoder, &mut report)?;
        }
        Ok(report)
    }

    /// Procedures of a set, by domain where it has several.
    fn set(&self, data: &Path, encoder: &dyn Encoder) -> Result<Vec<Section>, Failed> {
        let videos = Set::open(data, Needs::Text)?.videos;
        let domains: BTreeSet<String> =
            videos.into_iter().filter_map(|video| video.domain).collect();
        let domains = match domains.len() {
            0 | 1 => vec![None],
            _ => domains.into_iter().map(Some).collect(),
        };
        let (encoders, mut sections) = (Encoders { encoder, sentence: self.sentence }, Vec::new());
        for domain in domains {
            let set = Set::open(data, Needs::Text)?;
            let (set, _) = load(set, &encoders, domain.as_deref(), self.progress)?;
            let set = with_mixed(set, self.mixed, self.options.seed);
            sections.extend(self.sections(&set, domain.as_deref(), &Edges::of_clips(&set))?);
        }
        Ok(sections)
    }

    /// Mixed procedures and whole videos of the library, by domain where the truth tells it.
    fn library(
        &self,
        library: &Library,
        encoder: &dyn Encoder,
        report: &mut EvaluationReport,
    ) -> Result<(), Failed> {
        let labels = self.labels.map(|list| Set::open(list, Needs::Text)).transpose()?;
        let examples = self.examples(library)?;
        let (mut set, _) =
            library_set::of_library(library, encoder, self.sentence, &examples, self.progress)?;
        if let Some(list) = &labels {
            label(&mut set, library, list)?;
        }
        let truth = self.world.map(|world| Truth::read(&world.join("truth.json"))).transpose()?;
        let name = if truth.is_some() { "made-up library" } else { "library" };
        for (domain, videos) in domains(truth.as_ref(), library)? {
            let part = match &videos {
                Some(videos) => set.part(name, |video| videos.contains(&video))?,
                None => set.clone(),
            };
            let edges = Edges::of_library(&part, library)?;
            let own = part.clone().without_builder("temporally-sampled");
            report.sections.extend(self.sections(&own, domain.as_deref(), &edges)?);
            if self.ablations {
                report.ablations.extend(self.ablations(&part, domain.as_deref())?);
            }
        }
        if let Some(truth) = &truth {
            self.progress.begin("localising steps", 0);
            let videos = localisation::made_up(truth, library, encoder)?;
            report.localisation = Some(localisation::localise(&videos, self.options.seed));
        }
        Ok(())
    }

    /// Evaluators trained on less; each stays in the folder where it was trained.
    fn ablations(&self, set: &TestSet, domain: Option<&str>) -> Result<Vec<Ablation>, Failed> {
        let mut set = set.measuring(false);
        let domain = domain.unwrap_or("any");
        set.name = format!("{domain}, mixed");
        let mixed = set.clone().without_builder("temporally-sampled");
        let folder = &self.out.join("models").join(domain);
        let setup = &TrainSetup::ablation(domain, self.options.seed);
        let (options, progress) = (&self.options, self.progress);
        let ablations =
            |set, of| Ablations { set, setup, folder: folder.join(of), options, progress };
        Ok(vec![ablations(&mixed, "negatives").negatives()?, ablations(&set, "data").data()?])
    }

    /// The procedures of the file, or ones mixed by rules; for the ablations also temporally sampled ones for
    /// training.
    fn examples(&self, library: &Library) -> Result<Vec<Example>, Failed> {
        let seed = self.options.seed;
        let with = Build {
            library,
            sentence: self.sentence,
            mixer: Some(&Rules),
            parallel: 0,
            mine: MineOptions { seed, most: 300, ..MineOptions::default() },
            held_out: 0.3,
            seed,
        };
        let mut examples = match self.procedures {
            Some(file) => dataset::read(file)?,
            None => build(&with, self.progress)?.0,
        };
        if self.ablations {
            let sampled = Build { mixer: Some(&TemporallySampled), ..with };
            let (mut sampled, _) = build(&sampled, self.progress)?;
            let measured = examples.iter().filter(|example| example.split == Split::HeldOut);
            let measured: HashSet<String> =
                measured.flat_map(|e| &e.sources).map(|source| source.content.clone()).collect();
            sampled.retain(|example| {
                let own = example.sources.iter().all(|source| !measured.contains(&source.content));
                own && example.builder == "temporally-sampled"
            });
            sampled.iter_mut().for_each(|example| example.split = Split::Train);
            examples.extend(sampled);
        }
        Ok(examples)
    }

    /// Mixed procedures and whole videos, whichever there are, from the cache where they are in it.
    fn sections(
        &self,
        set: &TestSet,
        domain: Option<&str>,
        edges: &Edges,
    ) -> Result<Vec<Section>, Failed> {
        let evaluator = self.evaluators.find(domain, &set.encoder);
        let with = match &evaluator {
            Ok(_) => format!("{} {domain:?}", self.evaluators.files()),
            Err(why) => why.clone(),
        };
        let extra: [Extra; 1] = [("evaluator", evaluator.as_deref().map_err(Clone::clone))];
        let (name, parts) = (set.name.as_str(), self.out.join("parts"));
        let mut sections = Vec::new();
        for whole in [false, true] {
            if set.measuring(whole).measured().is_empty() {
                continue;
            }
            let options = format!("{:?}", self.options);
            let about = [name, domain.unwrap_or(""), &whole.to_string(), &with, &options];
            let key = fingerprint(set, &about);
            let part = Part { set: name, domain, whole, extra: &extra, options: &self.options };
            let make = || section(set, &part, edges, self.progress);
            sections.push(cached(&parts, &key, make)?);
        }
        Ok(sections)
    }
}

/// Sets the labels of a list; an error where it has none for the library.
fn label(set: &mut TestSet, library: &Library, list: &Set) -> Result<(), Failed> {
    match library_set::label(&mut set.collection, &library.videos()?, &list.videos) {
        0 => Err(format!(
            "the list that --labels names has {} and none is of a clip of the library: its lines should \
             name the library's videos (`video`: the file's name without its extension) and give their \
             steps `start`, `end` and `label`",
            count(list.videos.iter().map(|video| video.steps.len()).sum(), "step")
        )
        .into()),
        _ => Ok(()),
    }
}

type DomainVideos = (Option<String>, Option<Vec<VideoId>>);

/// The videos of each domain of the truth; all of them where there is none.
fn domains(truth: Option<&Truth>, library: &Library) -> Result<Vec<DomainVideos>, Failed> {
    let Some(truth) = truth else { return Ok(vec![(None, None)]) };
    let of: HashMap<&str, Domain> =
        truth.videos.iter().map(|video| (video.file.as_str(), video.domain)).collect();
    let domain = |record: VideoRecord| {
        let domain = of.get(file_name(&record.path).as_str())?;
        Some((format!("{domain:?}").to_lowercase(), VideoId(record.id)))
    };
    let domains = grouped(library.videos()?.into_iter().filter_map(domain));
    Ok(domains.into_iter().map(|(name, videos)| (Some(name), Some(videos))).collect())
}
