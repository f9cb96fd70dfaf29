//! One video's script: which steps it shows, in which order and words, and when.

use stitch_engine::media::speech::Voice;

use crate::catalogue::{Catalogue, DomainData, Presenter, Task, TaskSet, catalogue};
use crate::narration::{self, Line, spoken_ms};
use crate::random::{SplitMix64, percent, stream};
use crate::vocabulary::{Action, Domain, OtherKind, Scene};

/// Everything there is to know about a video before it is drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// Its file name, without an extension.
    pub name: String,
    pub title: String,
    pub presenter: &'static str,
    pub domain: Domain,
    /// The task's name.
    pub task: &'static str,
    pub voice: Voice,
    pub place_seed: u64,
    /// From the first moment to the last without a hole.
    pub shots: Vec<Shot>,
    pub lines: Vec<Line>,
}

/// What is seen from one cut to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shot {
    pub start_ms: u64,
    pub end_ms: u64,
    pub scene: Scene,
    /// What it is for; none if it shows a step.
    pub other: Option<OtherKind>,
    /// The step's key in the catalogue; empty if the shot shows none.
    pub key: &'static str,
    /// The step in short words; empty if the shot shows none.
    pub text: String,
    pub narration: String,
}

impl Shot {
    pub fn length_ms(&self) -> u64 {
        self.end_ms - self.start_ms
    }
}

/// Videos with fewer steps would be too short.
const MIN_STEPS: usize = 5;

impl Script {
    /// The script of the library's `index`-th video. Tasks take turns, so any number of videos can be
    /// asked for, and a larger library begins with the same videos as a smaller one.
    pub fn new(set: TaskSet, seed: u64, index: usize) -> Self {
        let catalogue = catalogue(set);
        let tasks: Vec<(&DomainData, &Task)> = catalogue.tasks().collect();
        let (turn, (domain, task)) = (index / tasks.len(), tasks[index % tasks.len()]);
        let mut random = stream(seed, &format!("video {index}"));
        let wording = (index % tasks.len()) * 2 + turn;
        let steps = steps(domain, task, seed, wording, &mut random);
        let presenter = random.pick(&catalogue.people.presenters);
        let title = random.pick(&task.titles).clone();
        let drafts = drafts(domain, task, &title, &presenter.name, steps, &mut random);
        let (shots, lines) = timed(drafts, &mut random);
        Self {
            name: format!("{}-{}", task.slug, turn + 1),
            voice: voice(catalogue, presenter, &mut random),
            title,
            presenter: &presenter.name,
            domain: domain.domain,
            task: &task.name,
            place_seed: place_seed(set, &mut random),
            shots,
            lines,
        }
    }

    pub fn duration_ms(&self) -> u64 {
        self.shots.last().map_or(0, |shot| shot.end_ms)
    }

    /// The shots that show a step.
    pub fn steps(&self) -> impl Iterator<Item = &Shot> {
        self.shots.iter().filter(|shot| shot.other.is_none())
    }
}

fn place_seed(set: TaskSet, random: &mut SplitMix64) -> u64 {
    let seeds = set.place_seeds();
    seeds.start + (random.next_u64() >> 11) % (seeds.end - seeds.start)
}

fn voice(catalogue: &Catalogue, presenter: &Presenter, random: &mut SplitMix64) -> Voice {
    Voice {
        name: random.pick(&catalogue.people.voices[&presenter.voice]).clone(),
        words_per_minute: random.between(155, 180) as u32,
        pitch: random.between(35, 62) as u32,
    }
}

/// A step as this video shows it: its short text, and the wording that the presenter uses.
struct Step {
    key: &'static str,
    text: &'static str,
    said: &'static str,
    action: Action,
}

/// The task's steps: some left out, in an order that works. `wording` goes up from video to video, so
/// that videos of one library seldom say a step alike.
fn steps(
    domain: &'static DomainData,
    task: &'static Task,
    seed: u64,
    wording: usize,
    random: &mut SplitMix64,
) -> Vec<Step> {
    let order = order(domain, task, random);
    let step = |at: usize| {
        let key = &task.steps[at].step;
        let data = &domain.steps[key];
        let mut wordings: Vec<&str> = data.narrations.iter().map(String::as_str).collect();
        let count = wordings.len();
        stream(seed, wordings[0]).shuffle(&mut wordings);
        let said = if percent(random, 60) { wording } else { wording + random.below(count) };
        Step {
            key,
            text: wordings[wording % count],
            said: wordings[said % count],
            action: data.action(),
        }
    };
    order.into_iter().map(step).collect()
}

/// The steps shown, in an order in which nothing comes before what it needs.
fn order(domain: &DomainData, task: &Task, random: &mut SplitMix64) -> Vec<usize> {
    let mut left = chosen(task, random);
    let mut done = Vec::new();
    while !left.is_empty() {
        let waits = |late| left.iter().any(|&early| domain.must_precede(task, early, late));
        let ready: Vec<usize> = (0..left.len()).filter(|&at| !waits(left[at])).collect();
        done.push(left.remove(*random.pick(&ready)));
    }
    done
}

/// The steps that this video shows: what is needed, some of the rest, and never too few.
fn chosen(task: &Task, random: &mut SplitMix64) -> Vec<usize> {
    let (mut rest, mut chosen): (Vec<usize>, Vec<usize>) =
        (0..task.steps.len()).partition(|&at| task.steps[at].optional);
    random.shuffle(&mut rest);
    for step in rest {
        if chosen.len() < MIN_STEPS || percent(random, 60) {
            chosen.push(step);
        }
    }
    chosen.sort_unstable();
    chosen
}

/// A shot before it has its time.
struct Draft {
    scene: Scene,
    other: Option<OtherKind>,
    key: &'static str,
    text: String,
    said: Vec<String>,
}

impl Draft {
    fn other(kind: OtherKind, scene: Scene, said: Vec<String>) -> Self {
        Self { scene, other: Some(kind), key: "", text: String::new(), said }
    }
}

fn drafts(
    domain: &DomainData,
    task: &Task,
    title: &str,
    presenter: &str,
    steps: Vec<Step>,
    random: &mut SplitMix64,
) -> Vec<Draft> {
    let scene = Scene::Title { title: title.to_owned(), subtitle: format!("with {presenter}") };
    let greeting = narration::greeting(domain, task, presenter, random);
    let mut drafts = vec![Draft::other(OtherKind::Title, scene, greeting)];
    let count = steps.len();
    let pauses = pauses(count, random);
    for (at, step) in steps.into_iter().enumerate() {
        if pauses.contains(&at) {
            drafts.push(chatter(domain, &drafts, random));
        }
        drafts.push(Draft {
            said: narration::step(step.said, at, count, random),
            key: step.key,
            text: narration::capitalised(step.text),
            scene: Scene::Step(step.action),
            other: None,
        });
    }
    let scene = if percent(random, 50) { Scene::Chatter } else { thanks(presenter) };
    drafts.push(Draft::other(OtherKind::Outro, scene, narration::farewell(random)));
    drafts
}

/// Before which steps the presenter chats. Fewer when there are many steps, so that no video grows
/// too long, and never none.
fn pauses(steps: usize, random: &mut SplitMix64) -> Vec<usize> {
    let mut places: Vec<usize> = (0..steps).collect();
    random.shuffle(&mut places);
    let most = if steps >= 7 { 2 } else { 3 };
    places.truncate(random.between(1, most) as usize);
    places
}

/// Chatter that this video has not had yet.
fn chatter(domain: &DomainData, before: &[Draft], random: &mut SplitMix64) -> Draft {
    let mut line = narration::chatter(domain, random);
    while before.iter().any(|draft| draft.said.contains(&line)) {
        line = narration::chatter(domain, random);
    }
    Draft::other(OtherKind::Chatter, Scene::Chatter, vec![line])
}

fn thanks(presenter: &str) -> Scene {
    Scene::Title { title: "Thanks for watching".to_owned(), subtitle: presenter.to_owned() }
}

/// Gives every draft its time: long enough for what is said, whole half seconds.
fn timed(drafts: Vec<Draft>, random: &mut SplitMix64) -> (Vec<Shot>, Vec<Line>) {
    let (mut shots, mut lines) = (Vec::new(), Vec::new());
    let (mut now, mut quiet_from) = (0u64, 0u64);
    for Draft { scene, other, key, text, said } in drafts {
        let need: u64 = said.iter().map(|sentence| spoken_ms(sentence)).sum();
        let length = length_ms(other.is_none(), need, random);
        let lead = lead_ms(other.is_none(), random);
        let begin = now.saturating_add_signed(lead).max(quiet_from);
        let begin = begin.min((now + length).saturating_sub(need));
        quiet_from = say(&said, begin, &mut lines);
        let narration = said.join(" ");
        let end_ms = now + length;
        shots.push(Shot { start_ms: now, end_ms, scene, other, key, text, narration });
        now = end_ms;
    }
    (shots, lines)
}

/// When speech begins after the picture; of a step it may also begin before.
fn lead_ms(step: bool, random: &mut SplitMix64) -> i64 {
    if step { random.between(-7, 7) * 100 } else { 300 }
}

/// How long a shot lasts whose narration takes `need`.
fn length_ms(step: bool, need: u64, random: &mut SplitMix64) -> u64 {
    let (least, spare) =
        if step { (4_000, random.between(300, 2_000) as u64) } else { (3_000, 600) };
    (need + spare).clamp(least, 9_000).next_multiple_of(500)
}

/// Puts the sentences one after the other and returns when the last has ended.
fn say(sentences: &[String], begin: u64, lines: &mut Vec<Line>) -> u64 {
    sentences.iter().fold(begin, |start_ms, text| {
        let end_ms = start_ms + spoken_ms(text);
        lines.push(Line { start_ms, end_ms: end_ms - 50, text: text.clone() });
        end_ms
    })
}
