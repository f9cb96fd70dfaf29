//! Which evaluator scores a query: one of the library's encoder, and of the query's domain.

use std::collections::{BTreeMap, BTreeSet};

use stitch_core::cover::Sequence;
use stitch_core::features::{Features, similarity};
use stitch_core::pool::Pool;

use super::shipped::SHIPPED;
use super::{Config, Evaluator, EvaluatorError};
use crate::encoder::EncoderId;
use crate::models::weights;
use crate::models::{Card, Store};
use crate::scorer::{Query, Scorer, Scores};
use crate::sentence::SentenceEncoder;

/// The evaluators of one encoder, by domain. A query is scored by those of the domain whose description
/// its steps are most similar to; several of one domain (trained from different seeds) are averaged.
pub struct Evaluators {
    domains: Vec<Vec<Evaluator>>,
    /// Sentence features; row i belongs to domain i.
    descriptions: Features,
}

impl Evaluators {
    /// Those of the store that were trained on this encoder's features, and those that come with the program
    /// for domains of which the store has none; only of `domain` if it is given.
    pub fn find(
        store: &Store,
        encoder: &EncoderId,
        domain: Option<&str>,
        sentence: &SentenceEncoder,
    ) -> Result<Option<Self>, EvaluatorError> {
        let about =
            |card: Option<Card>, domain: &str| card.map_or(domain.into(), |card| card.about);
        let is_wanted = |name: &str| domain.is_none_or(|domain| domain == name);
        let mut names = BTreeSet::new();
        let mut known: BTreeMap<String, (String, Vec<Evaluator>)> = BTreeMap::new();
        for folder in store.folders() {
            let config = weights::read_json::<Config>(&folder, Config::FILE);
            let Some(config) = config.ok().filter(|config| config.encoder == *encoder) else {
                continue;
            };
            if is_wanted(&config.domain) {
                let new = || (about(Card::read(&folder), &config.domain), Vec::new());
                let (_, evaluators) = known.entry(config.domain.clone()).or_insert_with(new);
                evaluators.push(Evaluator::load(&folder)?);
            }
            names.insert(config.domain);
        }
        for shipped in &SHIPPED {
            let Config { encoder: of, domain, .. } = shipped.config()?;
            if of == *encoder && names.insert(domain.clone()) && is_wanted(&domain) {
                let about = about(shipped.card(), &domain);
                known.insert(domain, (about, vec![shipped.load()?]));
            }
        }
        match domain {
            Some(domain) if known.is_empty() => Err(EvaluatorError::no_domain(domain, names)),
            None if known.is_empty() => Ok(None),
            _ => {
                let (abouts, domains): (Vec<String>, _) = known.into_values().unzip();
                Ok(Some(Self { domains, descriptions: sentence.encode(&abouts)? }))
            }
        }
    }

    /// Those of the domain most similar to these steps; the first of equals.
    fn nearest(&self, steps: &Features) -> &[Evaluator] {
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
    fn name(&self) -> &str {
        "evaluator"
    }

    /// The mean log odds of the domain's evaluators.
    fn score(&self, query: &Query, pool: &Pool, candidates: &[Sequence]) -> Scores {
        let nearest = self.nearest(query.text);
        let mut means = vec![0.0; candidates.len()];
        for evaluator in nearest {
            let scores = evaluator.score(query, pool, candidates)?;
            let share = 1.0 / nearest.len() as f32;
            means.iter_mut().zip(scores).for_each(|(mean, score)| *mean += share * score);
        }
        Ok(means)
    }
}
