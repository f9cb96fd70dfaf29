//! One video's script: which steps it shows, in which order and words, and when.

use super::dice::Dice;
use super::narration::{self, Line, Position, spoken_ms};
use super::task::{Task, tasks};
use super::vocabulary::{Action, Domain, Scene};

/// Everything there is to know about a video before it is drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// Its name, without an extension.
    pub name: String,
    /// What it is called.
    pub title: String,
    /// Who presents it.
    pub presenter: &'static str,
    /// Where it is done.
    pub domain: Domain,
    /// The task's name.
    pub task: &'static str,
    /// Who speaks.
    pub speaker: Speaker,
    /// The seed of its place.
    pub place_seed: u64,
    /// What is seen, from the first moment to the last without a hole.
    pub shots: Vec<Shot>,
    /// What is said.
    pub lines: Vec<Line>,
}

/// The voice of a video.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Speaker {
    /// The speech program's name for it.
    pub voice: &'static str,
    /// How fast, in words a minute.
    pub words_per_minute: u32,
    /// How high, from 0 to 99.
    pub pitch: u32,
}

/// What is seen from one cut to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shot {
    /// When it begins, in milliseconds.
    pub start_ms: u64,
    /// When it ends.
    pub end_ms: u64,
    /// What the camera sees.
    pub scene: Scene,
    /// What it is for.
    pub role: Role,
    /// The step in short words; empty if the shot shows none.
    pub text: String,
    /// What is said about it.
    pub narration: String,
}

/// What a shot is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Shows the title.
    Title,
    /// Shows a step.
    Step,
    /// Shows somebody talking.
    Chatter,
    /// Says goodbye.
    Outro,
}

impl Shot {
    /// How long it lasts, in milliseconds.
    pub fn length_ms(&self) -> u64 {
        self.end_ms - self.start_ms
    }
}

impl Script {
    /// The script of the library's `index`-th video. Tasks take turns, so any number of videos can be
    /// asked for, and a larger library begins with the same videos as a smaller one.
    pub fn new(seed: u64, index: usize) -> Self {
        let all: Vec<&Task> = tasks().collect();
        let (turn, task) = (index / all.len(), all[index % all.len()]);
        let mut dice = Dice::new(seed, &format!("video {index}"));
        let wording = (index % all.len()) * 2 + turn;
        let steps = steps(task, seed, wording, &mut dice);
        let presenter = dice.pick(&PRESENTERS);
        let title = (*dice.pick(task.titles)).to_owned();
        let drafts = drafts(task, &title, presenter, steps, &mut dice);
        let (shots, lines) = timed(drafts, &mut dice);
        Self {
            name: format!("{}-{}", task.slug, turn + 1),
            speaker: speaker(presenter, &mut dice),
            title,
            presenter: presenter.0,
            domain: task.domain,
            task: task.name,
            place_seed: dice.roll() >> 11,
            shots,
            lines,
        }
    }

    /// How long the video lasts, in milliseconds.
    pub fn duration_ms(&self) -> u64 {
        self.shots.last().map_or(0, |shot| shot.end_ms)
    }
}

/// A name and whether its owner speaks with a woman's voice.
type Presenter = (&'static str, bool);

const PRESENTERS: [Presenter; 28] = [
    ("Ada", true),
    ("Ben", false),
    ("Carmen", true),
    ("Dev", false),
    ("Elif", true),
    ("Frank", false),
    ("Grace", true),
    ("Hugo", false),
    ("Ines", true),
    ("Jonas", false),
    ("Keiko", true),
    ("Liam", false),
    ("Mina", true),
    ("Noah", false),
    ("Olga", true),
    ("Pablo", false),
    ("Quinn", true),
    ("Ravi", false),
    ("Sofia", true),
    ("Tom", false),
    ("Uma", true),
    ("Victor", false),
    ("Wanda", true),
    ("Xavi", false),
    ("Yara", true),
    ("Zoltan", false),
    ("Nadia", true),
    ("Emil", false),
];
const WOMEN: [&str; 8] = [
    "en-us+f2",
    "en-gb+f2",
    "en-us+f4",
    "en-gb+f3",
    "en-gb-x-rp+f4",
    "en-us+f3",
    "en-gb-scotland+f2",
    "en-gb+f5",
];
const MEN: [&str; 8] = [
    "en-us+m3",
    "en-gb+m1",
    "en-us+m7",
    "en-gb+m3",
    "en-gb-scotland+m2",
    "en-us",
    "en-gb-x-rp",
    "en-gb+m7",
];

fn speaker(presenter: &Presenter, dice: &mut Dice) -> Speaker {
    let voices = if presenter.1 { &WOMEN } else { &MEN };
    Speaker {
        voice: voices[dice.below(voices.len())],
        words_per_minute: dice.between(155, 180) as u32,
        pitch: dice.between(35, 62) as u32,
    }
}

/// A step of this video: its short text, the wording the narrator uses, and what is seen.
struct Step {
    text: &'static str,
    said: &'static str,
    action: Action,
}

/// The task's steps as this video shows them: some left out, in an order that works. `wording` goes
/// up from video to video, so that videos of one library seldom say a step alike.
fn steps(task: &Task, seed: u64, wording: usize, dice: &mut Dice) -> Vec<Step> {
    let step = |part: usize, dice: &mut Dice| {
        let lesson = task.parts[part].lesson;
        let mut told = lesson.told;
        Dice::new(seed, told[0]).shuffle(&mut told);
        let said = if dice.chance(60) { wording } else { wording + dice.below(told.len()) };
        Step {
            text: told[wording % told.len()],
            said: told[said % told.len()],
            action: lesson.action(),
        }
    };
    order(task, dice).into_iter().map(|part| step(part, dice)).collect()
}

/// The parts shown, in an order in which nothing comes before what it needs.
fn order(task: &Task, dice: &mut Dice) -> Vec<usize> {
    let mut left = chosen(task, dice);
    let mut done = Vec::new();
    while !left.is_empty() {
        let ready = |at: &usize| !left.iter().any(|&other| task.must_precede(other, left[*at]));
        let ready: Vec<usize> = (0..left.len()).filter(ready).collect();
        done.push(left.remove(*dice.pick(&ready)));
    }
    done
}

/// The parts that this video shows: what is needed, some of the rest, and never too few.
fn chosen(task: &Task, dice: &mut Dice) -> Vec<usize> {
    let all = 0..task.parts.len();
    let (mut rest, mut chosen): (Vec<usize>, Vec<usize>) =
        all.partition(|&part| task.parts[part].optional);
    dice.shuffle(&mut rest);
    for part in rest {
        if chosen.len() < FEWEST_STEPS || dice.chance(60) {
            chosen.push(part);
        }
    }
    chosen.sort_unstable();
    chosen
}

/// A video with fewer steps would be too short.
const FEWEST_STEPS: usize = 5;

/// A shot before it has its time.
struct Draft {
    scene: Scene,
    role: Role,
    text: String,
    said: Vec<String>,
}

fn drafts(
    task: &Task,
    title: &str,
    presenter: &Presenter,
    steps: Vec<Step>,
    dice: &mut Dice,
) -> Vec<Draft> {
    let subtitle = format!("with {}", presenter.0);
    let scene = Scene::Title { title: title.to_owned(), subtitle };
    let mut drafts = vec![talk(Role::Title, scene, narration::greeting(task, presenter.0, dice))];
    let count = steps.len();
    let pauses = pauses(count, dice);
    for (at, step) in steps.into_iter().enumerate() {
        if pauses.contains(&at) {
            drafts.push(chatter(task.domain, &drafts, dice));
        }
        drafts.push(shown(step, at, count, dice));
    }
    let scene = if dice.chance(50) { Scene::Chatter } else { thanks(presenter.0) };
    drafts.push(talk(Role::Outro, scene, narration::farewell(dice)));
    drafts
}

/// Before which steps the presenter chats. Fewer when there are many steps, so that no video grows
/// too long, and never none.
fn pauses(steps: usize, dice: &mut Dice) -> Vec<usize> {
    let mut places: Vec<usize> = (0..steps).collect();
    dice.shuffle(&mut places);
    let most = if steps >= 7 { 2 } else { 3 };
    places.truncate(dice.between(1, most) as usize);
    places
}

fn talk(role: Role, scene: Scene, said: Vec<String>) -> Draft {
    Draft { scene, role, text: String::new(), said }
}

/// Chatter that this video has not had yet.
fn chatter(domain: Domain, before: &[Draft], dice: &mut Dice) -> Draft {
    let mut line = narration::chatter(domain, dice);
    while before.iter().any(|draft| draft.said.contains(&line)) {
        line = narration::chatter(domain, dice);
    }
    talk(Role::Chatter, Scene::Chatter, vec![line])
}

fn shown(step: Step, at: usize, count: usize, dice: &mut Dice) -> Draft {
    let position = match at {
        0 => Position::First,
        _ if at + 1 == count => Position::Last,
        _ => Position::Middle,
    };
    let said = narration::step(step.said, position, dice);
    let text = narration::sentence(step.text).trim_end_matches('.').to_owned();
    Draft { scene: Scene::Step(step.action), role: Role::Step, text, said }
}

fn thanks(presenter: &str) -> Scene {
    Scene::Title { title: "Thanks for watching".to_owned(), subtitle: presenter.to_owned() }
}

/// Gives every draft its time: long enough for what is said, whole half seconds.
fn timed(drafts: Vec<Draft>, dice: &mut Dice) -> (Vec<Shot>, Vec<Line>) {
    let (mut shots, mut lines) = (Vec::new(), Vec::new());
    let (mut now, mut quiet_from) = (0u64, 0u64);
    for draft in drafts {
        let need: u64 = draft.said.iter().map(|sentence| spoken_ms(sentence)).sum();
        let length = length_ms(draft.role, need, dice);
        let begin = now.saturating_add_signed(lead_ms(draft.role, dice)).max(quiet_from);
        let begin = begin.min((now + length).saturating_sub(need));
        quiet_from = say(&draft.said, begin, &mut lines);
        let narration = draft.said.join(" ");
        let Draft { scene, role, text, .. } = draft;
        shots.push(Shot { start_ms: now, end_ms: now + length, scene, role, text, narration });
        now += length;
    }
    (shots, lines)
}

/// Speech may begin a little before or after the picture of a step, as in life.
fn lead_ms(role: Role, dice: &mut Dice) -> i64 {
    match role {
        Role::Step => dice.between(-7, 7) * 100,
        _ => 300,
    }
}

/// How long a shot lasts whose narration takes `need`.
fn length_ms(role: Role, need: u64, dice: &mut Dice) -> u64 {
    let (least, most) = if role == Role::Step { (4_000, 9_000) } else { (3_000, 9_000) };
    let spare = if role == Role::Step { dice.between(300, 2_000) as u64 } else { 600 };
    (need + spare).clamp(least, most).next_multiple_of(500)
}

/// Puts the sentences one after the other and returns when the last has ended.
fn say(sentences: &[String], begin: u64, lines: &mut Vec<Line>) -> u64 {
    sentences.iter().fold(begin, |start_ms, text| {
        let end_ms = start_ms + spoken_ms(text);
        lines.push(Line { start_ms, end_ms: end_ms - 50, text: text.clone() });
        end_ms
    })
}
