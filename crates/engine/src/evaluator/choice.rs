//! Which evaluator judges a query: one of the library's encoder, and of the query's domain.

use std::collections::BTreeMap;
use std::path::PathBuf;

use stitch_core::cover::Sequence;
use stitch_core::features::{Features, similarity};
use stitch_core::pool::Pool;

use super::config::sigmoid;
use super::{Config, Evaluator, EvaluatorError};
use crate::encoder::EncoderId;
use crate::models::weights;
use crate::models::{Card, Store};
use crate::scorer::{Query, Scorer, ScorerError};
use crate::sentence::SentenceEncoder;

/// The evaluators of one encoder, by domain. Each query is judged by those of the domain whose
/// description its steps are most similar to; several of one domain (trained from different seeds) are
/// averaged.
pub struct Evaluators {
    domains: Vec<Vec<Evaluator>>,
    /// A row for each domain.
    descriptions: Features,
}

impl Evaluators {
    /// Those of the store that were trained on this encoder's features, of one domain where it is
    /// asked for; none if there is none. Folders of other models are passed over.
    pub fn find(
        store: &Store,
        encoder: &EncoderId,
        domain: Option<&str>,
        sentence: &SentenceEncoder,
    ) -> Result<Option<Self>, EvaluatorError> {
        let mut known: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
        for folder in store.folders() {
            match weights::read_json::<Config>(&folder, Config::FILE) {
                Ok(config) if config.encoder == *encoder => {
                    known.entry(config.domain).or_default().push(folder);
                }
                _ => {}
            }
        }
        if let Some(domain) = domain {
            if !known.contains_key(domain) {
                return Err(EvaluatorError::no_domain(domain, known.into_keys().collect()));
            }
            known.retain(|name, _| name == domain);
        }
        if known.is_empty() { Ok(None) } else { Self::load(&known, sentence).map(Some) }
    }

    fn load(
        known: &BTreeMap<String, Vec<PathBuf>>,
        sentence: &SentenceEncoder,
    ) -> Result<Self, EvaluatorError> {
        let load = |folders: &Vec<PathBuf>| {
            folders.iter().map(|folder| Evaluator::load(folder)).collect::<Result<Vec<_>, _>>()
        };
        let domains = known.values().map(load).collect::<Result<Vec<_>, _>>()?;
        let about = |(domain, folders): (&String, &Vec<PathBuf>)| {
            let card = folders.first().and_then(|folder| Card::read(folder));
            card.map_or_else(|| domain.clone(), |card| card.about)
        };
        let abouts: Vec<String> = known.iter().map(about).collect();
        Ok(Self { domains, descriptions: sentence.encode(&abouts)? })
    }

    /// The domains there are evaluators of.
    pub fn domains(&self) -> impl Iterator<Item = &str> {
        self.domains.iter().filter_map(|all| Some(all.first()?.config.domain.as_str()))
    }

    /// Those of the domain nearest to these steps, by the sentence encoder; the first of equals.
    fn suited(&self, steps: &Features) -> &[Evaluator] {
        if steps.dim() != self.descriptions.dim() {
            return &self.domains[0];
        }
        let near = |domain: usize| -> f32 {
            steps.rows().map(|step| similarity(step, self.descriptions.row(domain))).sum()
        };
        let nearer = |a: usize, b: usize| if near(b) > near(a) { b } else { a };
        &self.domains[(0..self.domains.len()).reduce(nearer).unwrap_or(0)]
    }
}

impl Scorer for Evaluators {
    fn judges_coherence(&self) -> bool {
        true
    }

    fn name(&self) -> &str {
        "evaluator"
    }

    fn probability(&self, score: f32) -> Option<f32> {
        Some(sigmoid(score))
    }

    /// The mean of what the domain's evaluators say.
    fn score(
        &self,
        query: &Query,
        pool: &Pool,
        candidates: &[Sequence],
    ) -> Result<Vec<f32>, ScorerError> {
        let suited = self.suited(query.text);
        let mut means = vec![0.0; candidates.len()];
        for evaluator in suited {
            let scores = evaluator.score(query, pool, candidates)?;
            let share = 1.0 / suited.len() as f32;
            means.iter_mut().zip(scores).for_each(|(mean, score)| *mean += share * score);
        }
        Ok(means)
    }
}
