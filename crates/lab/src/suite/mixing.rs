//! Procedures mixed by rules out of the whole videos of any collection, where a set brings none of its own.

use std::collections::{HashMap, HashSet};

use stitch_core::clip::ClipId;
use stitch_core::features::Features;

use super::test_set::TestSet;
use crate::collection::{Collection, Instance};
use crate::dataset::rules::Rules;
use crate::dataset::{MineOptions, MixedStep, Mixer, Recipe, Split, groups};

/// The set with at most `most` procedures mixed out of its held-out videos.
pub fn with_mixed(mut set: TestSet, most: usize, seed: u64) -> TestSet {
    if most > 0 {
        let mine = MineOptions { seed, most, ..MineOptions::default() };
        set.collection.instances.extend(mixed(&set.collection, Split::HeldOut, &mine));
    }
    set
}

/// At most `mine.most` procedures of one split, mixed out of similar whole videos. The text of a step is that of
/// the clip that shows it.
pub fn mixed(collection: &Collection, split: Split, mine: &MineOptions) -> Vec<Instance> {
    let whole: Vec<&Instance> = collection
        .of_split(split)
        .filter(|instance| instance.truth.len() >= 2 && collection.is_whole(instance))
        .collect();
    let recipes: Vec<Recipe> = whole.iter().map(|instance| recipe(instance, collection)).collect();
    let summaries = summaries(&whole);
    let steps = clip_steps(&whole);
    let (mut known, mut found) = (HashSet::new(), Vec::new());
    for (number, group) in groups(&summaries, mine).into_iter().enumerate() {
        if found.len() == mine.most {
            break;
        }
        let first = whole[group[0]];
        let group: Vec<&Recipe> = group.into_iter().map(|at| &recipes[at]).collect();
        let seed = mine.seed ^ number as u64;
        let Ok(mixed) = Rules.mix(&group, &collection.pool, seed) else { continue };
        let clip = |step: &MixedStep| group[step.recipe].steps[step.step];
        let truth: Vec<ClipId> = mixed.iter().map(clip).collect();
        if known.insert(truth.clone()) {
            let titles: Vec<&str> = group.iter().map(|recipe| recipe.title.as_str()).collect();
            let instance = instance(titles.join(" + "), truth, first, &steps);
            found.extend(instance.filter(|instance| !collection.is_whole(instance)));
        }
    }
    found
}

fn recipe(instance: &Instance, collection: &Collection) -> Recipe {
    let video = collection.pool.clip(instance.truth[0]).video;
    let (title, steps) = (instance.title.clone(), instance.truth.clone());
    Recipe { video, content: video.0.to_string(), title, licence: None, steps }
}

/// Each video as the mean of its steps.
fn summaries(whole: &[&Instance]) -> Features {
    let mut rows = Features::empty(whole.first().map_or(1, |instance| instance.text.dim()));
    let mean = |instance: &&Instance| instance.text.mean_of(0..instance.text.len());
    whole.iter().map(mean).for_each(|mean| rows.push(&mean));
    rows
}

/// The procedure and step of every clip.
type ClipSteps<'a> = HashMap<ClipId, (&'a Instance, usize)>;

fn clip_steps<'a>(whole: &[&'a Instance]) -> ClipSteps<'a> {
    let steps = |instance: &&'a Instance| {
        let instance = *instance;
        instance.truth.iter().enumerate().map(move |(step, clip)| (*clip, (instance, step)))
    };
    whole.iter().flat_map(steps).collect()
}

/// A procedure of these clips in the words of their own, of the split and task of another.
fn instance(
    title: String,
    truth: Vec<ClipId>,
    like: &Instance,
    steps: &ClipSteps<'_>,
) -> Option<Instance> {
    let (mut text, mut clip) = (Features::empty(like.text.dim()), Features::empty(like.clip.dim()));
    let mut texts = Vec::new();
    for shown in &truth {
        let (instance, step) = steps.get(shown)?;
        text.push(instance.text.row(*step));
        clip.push(instance.clip.row(*step));
        texts.push(instance.texts[*step].clone());
    }
    let (split, task) = (like.split, like.task.clone());
    Some(Instance { title, text, clip, texts, truth, split, builder: "rules".into(), task })
}
