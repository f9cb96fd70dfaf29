//! What is said: greetings, chatter, and a step's wording turned into a narrator's speech.

use stitch_engine::render::cues;
use stitch_engine::transcript::Sentence;

use super::dice::Dice;
use super::task::Task;
use super::vocabulary::Domain;

/// One sentence of the narration and when it is spoken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// When it begins, in milliseconds.
    pub start_ms: u64,
    /// When it has ended at the latest.
    pub end_ms: u64,
    /// The words.
    pub text: String,
}

/// How long a sentence takes to say. Timing goes by words, not by a recording, so that a library is
/// the same with and without a voice; voices are made to fit.
pub fn spoken_ms(sentence: &str) -> u64 {
    sentence.split_whitespace().count() as u64 * 340 + 250
}

/// How a step stands in the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// Nothing was done before it.
    First,
    /// Something was done before and will be after.
    Middle,
    /// Nothing is done after it.
    Last,
}

/// The narrator's sentences for a step whose imperative wording is `wording`.
pub fn step(wording: &str, position: Position, dice: &mut Dice) -> Vec<String> {
    let frames: &[&str] = match position {
        Position::First => &FIRST,
        Position::Middle => &MIDDLE,
        Position::Last => &LAST,
    };
    let mut sentences = vec![sentence(&dice.pick(frames).replace("{}", wording))];
    if dice.chance(35) && wording.split(' ').count() < 10 {
        sentences.push((*dice.pick(&REMARKS)).to_owned());
    }
    sentences
}

const FIRST: [&str; 7] = [
    "first, let's {}",
    "we start off easy, we {}",
    "the first thing I do is {}",
    "to begin with, {}",
    "all right, first of all I {}",
    "so, to get going, you {}",
    "okay, let's start, I {}",
];
const MIDDLE: [&str; 16] = [
    "now I {}",
    "next, I {}",
    "so now let's {}",
    "here we {}",
    "all right, now we {}",
    "the next thing is to {}",
    "then you {}",
    "now it's time to {}",
    "I'm going to {} now",
    "go ahead and {}",
    "what I do here is {}",
    "and now you want to {}",
    "after that, {}",
    "okay, now I'm going to {}",
    "so go on and {}",
    "and then we {}",
];
const LAST: [&str; 7] = [
    "and finally, {}",
    "last of all, we {}",
    "and to finish, I {}",
    "now for the last bit, {}",
    "at the very end, you {}",
    "and then there is only one thing left, {}",
    "so, to round it off, {}",
];
const REMARKS: [&str; 14] = [
    "Just like that.",
    "Nice and easy.",
    "Take your time with this.",
    "That looks lovely.",
    "See how it changes?",
    "I love this part.",
    "No need to rush.",
    "That's the way.",
    "It really is that simple.",
    "Look at that.",
    "You can't go wrong here.",
    "That's about right.",
    "Perfect.",
    "This is very satisfying.",
];

/// The greeting that is spoken over the title.
pub fn greeting(task: &Task, presenter: &str, dice: &mut Dice) -> Vec<String> {
    let making = match task.domain {
        Domain::Cooking => ["making", "cooking"],
        Domain::Woodworking => ["building", "making"],
        Domain::Gardening => ["growing", "looking after"],
    };
    let fill = |line: &&str, dice: &mut Dice| {
        line.replace("{presenter}", presenter)
            .replace("{making}", making[dice.below(making.len())])
            .replace("{task}", &with_article(task))
    };
    let hello = fill(dice.pick(&HELLOS), dice);
    let today = fill(dice.pick(&TODAYS), dice);
    vec![sentence(&hello), sentence(&today)]
}

fn with_article(task: &Task) -> String {
    match (task.domain, task.name) {
        (Domain::Woodworking, name) => format!("a {name}"),
        (_, "garden salad") => "a garden salad".to_owned(),
        (_, name) => name.to_owned(),
    }
}

const HELLOS: [&str; 8] = [
    "hello and welcome back, I'm {presenter}",
    "hi everyone, {presenter} here",
    "hey there, my name is {presenter}",
    "good morning friends, it's {presenter} again",
    "welcome, I'm {presenter}",
    "hi, this is {presenter}, so good to see you",
    "hello my dears, {presenter} speaking",
    "well hello, it's {presenter}",
];
const TODAYS: [&str; 6] = [
    "today we are {making} {task}",
    "in this video it is all about {task}",
    "today you'll see how I go about {making} {task}",
    "so many of you asked for it, so today it's {task}",
    "stay with me, today we are {making} {task}",
    "this one is for beginners, {task}",
];

/// Something said to the camera between two steps, which teaches nothing.
pub fn chatter(domain: Domain, dice: &mut Dice) -> String {
    let own: &[&str] = match domain {
        Domain::Cooking => &KITCHEN_CHATTER,
        Domain::Woodworking => &BENCH_CHATTER,
        Domain::Gardening => &GARDEN_CHATTER,
    };
    let at = dice.below(CHATTER.len() + own.len());
    CHATTER.iter().chain(own).nth(at).map_or_else(String::new, |line| (*line).to_owned())
}

const CHATTER: [&str; 32] = [
    "It has been raining here all week, can you believe it?",
    "If you like this, please subscribe, it helps me a lot.",
    "My grandmother always sang while she was working.",
    "Sorry about the noise, that's the neighbour's dog.",
    "I was up until two last night, so bear with me.",
    "Somebody asked me last week where I got this shirt.",
    "Leave me a comment and tell me where you're watching from.",
    "When I was a child this was my favourite time of the day.",
    "My sister says I talk too much in these videos.",
    "The sun is finally out, what a beautiful morning.",
    "I got so many kind messages after the last video, thank you.",
    "That reminds me of a summer we spent by the sea.",
    "My coffee has gone cold again, typical.",
    "I know, I know, the lighting is not great today.",
    "My father never had the patience for any of this.",
    "Give the video a thumbs up if you're enjoying it.",
    "The cat is watching me from the window right now.",
    "We used to have a radio on in the background, always.",
    "I have been doing this for almost eleven years now.",
    "A friend of mine moved to Canada and still writes about this.",
    "You know, some days nothing works, and some days it all does.",
    "There will be another video next Thursday, by the way.",
    "I promised my kids I'd mention their football team, so there.",
    "The first time I was on camera I was terribly nervous.",
    "Thanks to everyone who supports the channel.",
    "It's my birthday on Sunday, so I'm in a good mood.",
    "I once did this on live television and forgot my own name.",
    "It is unbelievably hot in here today.",
    "My uncle had a saying about that, but I can't repeat it here.",
    "I still owe you the story about the train, another time.",
    "Have a look at the links below if you're curious.",
    "We had snow in April this year, imagine that.",
];
const KITCHEN_CHATTER: [&str; 6] = [
    "My whole street could smell this last time.",
    "We were six at the table every evening back then.",
    "I was never a good eater when I was little.",
    "This kitchen is older than I am, by the way.",
    "My husband is already asking when dinner is.",
    "I have my grandmother's old apron somewhere.",
];
const BENCH_CHATTER: [&str; 6] = [
    "This bench belonged to my grandfather.",
    "I love the smell in here, it's like a forest.",
    "My first project fell apart after a week, true story.",
    "The workshop is cold in winter, but I don't mind.",
    "My neighbour borrows half of my tools, hello Frank.",
    "Everybody has a shelf full of unfinished projects, right?",
];
const GARDEN_CHATTER: [&str; 6] = [
    "Listen to those birds, aren't they wonderful?",
    "The snails had a party here last night.",
    "My mother knew every flower by its Latin name.",
    "We nearly lost the old apple tree in the storm.",
    "I could sit out here all day, honestly.",
    "The hedgehog came by again yesterday evening.",
];

/// The last words.
pub fn farewell(dice: &mut Dice) -> Vec<String> {
    vec![(*dice.pick(&FAREWELLS)).to_owned(), (*dice.pick(&GOODBYES)).to_owned()]
}

const FAREWELLS: [&str; 7] = [
    "And that's all there is to it.",
    "So there you have it.",
    "And that's us done for today.",
    "I hope you enjoyed that as much as I did.",
    "I'm really happy with how this turned out.",
    "Isn't that just lovely?",
    "And we're done, what a day.",
];
const GOODBYES: [&str; 6] = [
    "Thanks for watching, see you next time.",
    "Take care and see you soon.",
    "Don't forget to subscribe, bye bye.",
    "Until next week, goodbye.",
    "See you in the next one.",
    "Thank you for keeping me company.",
];

/// The narration as SubRip subtitles, one cue a sentence.
pub fn srt(lines: &[Line]) -> String {
    let cue = |line: &Line| Sentence {
        start_ms: line.start_ms,
        end_ms: line.end_ms,
        text: two_lines(&line.text),
    };
    cues::srt(&lines.iter().map(cue).collect::<Vec<_>>())
}

/// A long sentence broken at the space nearest to its middle, as subtitles are.
fn two_lines(text: &str) -> String {
    let middle = text.len() / 2;
    let spaces = text.match_indices(' ').map(|(at, _)| at);
    match spaces.min_by_key(|at| at.abs_diff(middle)) {
        Some(at) if text.len() > 42 => format!("{}\n{}", &text[..at], &text[at + 1..]),
        _ => text.to_owned(),
    }
}

/// With a capital and a full stop.
pub fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", letters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subtitles_read_as_players_expect_them() {
        let line = |start_ms, end_ms, text: &str| Line { start_ms, end_ms, text: text.to_owned() };
        let lines = [
            line(300, 2_000, "Hi everyone, Ada here."),
            line(3_725_042, 3_729_000, "Now I chop the onion into small pieces, nice and fine."),
        ];
        insta::assert_snapshot!(srt(&lines));
    }

    #[test]
    fn a_step_is_said_in_its_own_words() {
        let mut dice = Dice::new(3, "narration");
        for position in [Position::First, Position::Middle, Position::Last] {
            let said = step("chop the onion", position, &mut dice);
            assert!(said[0].contains("chop the onion"), "{said:?}");
            assert!(said[0].starts_with(char::is_uppercase) && said[0].ends_with('.'));
        }
    }
}
