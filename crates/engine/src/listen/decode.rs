//! Writing what was heard: the best of several lines for each window, several windows side by side;
//! and again with some chance for a window whose text repeats itself or is unlikely.

use rayon::prelude::*;
use stitch_nn::whisper::{CrossCache, SelfCache, Whisper};

use super::rules::{Chance, drawn, likeliest, log_sum, restrict};
use super::tokens::Tokens;
use crate::progress::{Progress, Stopped};

/// Tried in this order until a text is good enough.
const TEMPERATURES: [f32; 6] = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0];
/// A text that can be squeezed more than this repeats itself.
const MOST_SQUEEZED: f32 = 2.4;
/// The least mean log-likelihood of a token in a good text.
const LEAST_LIKELY: f32 = -1.0;
/// From this likelihood on nobody speaks, unless the text is likely all the same.
const NO_SPEECH: f32 = 0.6;

/// What nearly stood in a token's place, and by how much less likely it was: natural logarithms.
pub type Others = Vec<(u32, f32)>;

/// What was written for one window.
#[derive(Clone, Debug, Default)]
pub struct Text {
    /// Text and times, without prompt and end.
    pub tokens: Vec<u32>,
    /// For each of them the others; none where chance chose.
    pub others: Vec<Others>,
    /// The mean log-likelihood of its tokens.
    pub likelihood: f32,
    /// How likely it is that nobody speaks.
    pub no_speech: f32,
    /// How many times shorter it can be written.
    pub squeezed: f32,
}

impl Text {
    /// Whether nobody speaks in the window.
    pub fn is_silence(&self) -> bool {
        self.no_speech > NO_SPEECH && self.likelihood < LEAST_LIKELY
    }

    fn repeats(&self) -> bool {
        self.squeezed > MOST_SQUEEZED
    }

    fn is_good(&self) -> bool {
        self.is_silence() || !self.repeats() && self.likelihood >= LEAST_LIKELY
    }
}

/// A model at work on one file.
pub struct Decoder<'a> {
    /// The network.
    pub network: &'a Whisper,
    /// Its vocabulary.
    pub tokens: &'a Tokens,
    /// Words that the speaker may use, as tokens.
    pub hint: &'a [u32],
    /// How many lines are written for each window, of which the best is kept.
    pub lines: usize,
}

impl Decoder<'_> {
    /// The language that is likeliest over all windows, and how likely.
    pub fn language(&self, heard: &[&CrossCache]) -> Option<(u32, f32)> {
        let mut groups = self.groups(heard, 1, 0.0);
        let first = self.write(&mut groups, Some(self.tokens.start));
        let mut sums = vec![0.0f32; self.tokens.languages.len()];
        for logits in first.chunks_exact(self.tokens.count) {
            let ids = self.tokens.languages.iter();
            let of: Vec<f32> = ids.map(|(id, _)| logits[*id as usize]).collect();
            let total = log_sum(&of);
            sums.iter_mut().zip(&of).for_each(|(sum, x)| *sum += (x - total).exp());
        }
        let best = sums.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1))?;
        Some((self.tokens.languages[best.0].0, best.1 / heard.len().max(1) as f32))
    }

    /// The best text for each window.
    pub fn texts(
        &self,
        heard: &[&CrossCache],
        language: Option<u32>,
        progress: &dyn Progress,
    ) -> Result<Vec<Text>, Stopped> {
        let mut best: Vec<Option<Text>> = vec![None; heard.len()];
        for temperature in TEMPERATURES {
            let bad = |text: &Option<Text>| text.as_ref().is_none_or(|text| !text.is_good());
            let open: Vec<usize> = (0..heard.len()).filter(|i| bad(&best[*i])).collect();
            if open.is_empty() {
                break;
            }
            let windows: Vec<&CrossCache> = open.iter().map(|i| heard[*i]).collect();
            let texts = self.attempt(&windows, language, temperature, progress)?;
            for (i, text) in open.into_iter().zip(texts) {
                if best[i].as_ref().is_none_or(|best| better(&text, best)) {
                    best[i] = Some(text);
                }
            }
        }
        Ok(best.into_iter().map(Option::unwrap_or_default).collect())
    }

    /// One text for each window, at a temperature.
    fn attempt(
        &self,
        heard: &[&CrossCache],
        language: Option<u32>,
        temperature: f32,
        progress: &dyn Progress,
    ) -> Result<Vec<Text>, Stopped> {
        let lines = if temperature > 0.0 { 1 } else { self.lines };
        let mut groups = self.groups(heard, lines, temperature);
        let mut logits = Vec::new();
        for token in self.tokens.prompt(self.hint, language) {
            logits = self.write(&mut groups, Some(token));
            if token == self.tokens.start {
                self.note_no_speech(&mut groups, &logits);
            }
        }
        let most = self.network.config.max_target_positions / 2;
        let mut done: Vec<Group> = Vec::new();
        for _ in 0..most {
            progress.check()?;
            self.follow(&mut groups, logits);
            let ended = |group: &Group| group.has_ended(self.tokens);
            let (ready, going): (Vec<Group>, Vec<Group>) = groups.into_iter().partition(ended);
            done.extend(ready);
            groups = going;
            if groups.is_empty() {
                break;
            }
            logits = self.write(&mut groups, None);
        }
        done.extend(groups);
        done.sort_by_key(|group| group.number);
        Ok(done.into_iter().map(|group| self.text(group)).collect())
    }

    fn groups<'h>(
        &self,
        heard: &[&'h CrossCache],
        wanted: usize,
        temperature: f32,
    ) -> Vec<Group<'h>> {
        let group = |(number, heard): (usize, &&'h CrossCache)| Group {
            number,
            heard,
            lines: vec![Line { written: self.network.self_cache(), ..Line::default() }],
            ended: Vec::new(),
            wanted,
            no_speech: 0.0,
            temperature,
            chance: Chance((number as u64) << 8 | (temperature * 10.0) as u64),
        };
        heard.iter().enumerate().map(group).collect()
    }

    /// Writes a token in every line, this one or the line's last; the logits of what follows.
    fn write(&self, groups: &mut [Group], token: Option<u32>) -> Vec<f32> {
        let heard: Vec<_> = groups.iter().map(|group| (group.heard, group.lines.len())).collect();
        let mut next = Vec::new();
        let mut written = Vec::new();
        for line in groups.iter_mut().flat_map(|group| &mut group.lines) {
            next.push(token.or(line.tokens.last().copied()).unwrap_or(self.tokens.start));
            written.push(&mut line.written);
        }
        let x = self.network.decode(&next, &mut written, &heard);
        self.network.logits(&x)
    }

    fn note_no_speech(&self, groups: &mut [Group], logits: &[f32]) {
        let Some(no_speech) = self.tokens.no_speech else { return };
        for (group, logits) in groups.iter_mut().zip(logits.chunks_exact(self.tokens.count)) {
            group.no_speech = (logits[no_speech as usize] - log_sum(logits)).exp();
        }
    }

    /// Chooses what follows in every window.
    fn follow(&self, groups: &mut [Group], mut logits: Vec<f32>) {
        let mut rest = logits.as_mut_slice();
        let mut work = Vec::new();
        for group in groups {
            let (own, others) = rest.split_at_mut(group.lines.len() * self.tokens.count);
            work.push((group, own));
            rest = others;
        }
        work.into_par_iter().for_each(|(group, logits)| group.follow(logits, self.tokens));
    }

    fn text(&self, mut group: Group) -> Text {
        group.ended.append(&mut group.lines);
        let mean = |line: &Line| line.sum / (line.tokens.len() + 1) as f32;
        let best = group.ended.into_iter().max_by(|a, b| mean(a).total_cmp(&mean(b)));
        let Some(best) = best else { return Text::default() };
        let squeezed = squeezed(&self.tokens.text(&best.tokens));
        // Cut off in a loop, it repeats itself whatever its length.
        let looped = loops(&best.tokens, self.tokens);
        Text {
            likelihood: mean(&best),
            no_speech: group.no_speech,
            squeezed: if looped { squeezed.max(2.0 * MOST_SQUEEZED) } else { squeezed },
            tokens: best.tokens,
            others: best.others,
        }
    }
}

/// A text in the making.
#[derive(Clone, Default)]
struct Line {
    written: SelfCache,
    tokens: Vec<u32>,
    others: Vec<Others>,
    /// The log-likelihood so far.
    sum: f32,
}

/// The lines of one window.
struct Group<'a> {
    number: usize,
    heard: &'a CrossCache,
    lines: Vec<Line>,
    ended: Vec<Line>,
    /// How many lines are kept.
    wanted: usize,
    no_speech: f32,
    temperature: f32,
    chance: Chance,
}

impl Group<'_> {
    /// Whether enough lines have ended, or the best goes round in circles.
    fn has_ended(&self, tokens: &Tokens) -> bool {
        self.ended.len() >= self.wanted
            || self.lines.is_empty()
            || self.lines.first().is_some_and(|line| loops(&line.tokens, tokens))
    }

    /// Goes on with the likeliest lines; those that end are put aside.
    fn follow(&mut self, logits: &mut [f32], tokens: &Tokens) {
        let mut next: Vec<(usize, u32, f32)> = Vec::new();
        let mut choices: Vec<Vec<(u32, f32)>> = Vec::new();
        let rows = logits.chunks_exact_mut(tokens.count);
        for (parent, (line, logits)) in self.lines.iter().zip(rows).enumerate() {
            restrict(logits, &line.tokens, tokens);
            let own: Vec<(u32, f32)> = match self.temperature > 0.0 {
                true => drawn(logits, self.temperature, &mut self.chance).into_iter().collect(),
                false => likeliest(logits, self.wanted + 1),
            };
            next.extend(own.iter().map(|(token, by)| (parent, *token, line.sum + by)));
            choices.push(own);
        }
        next.sort_by(|a, b| b.2.total_cmp(&a.2));
        let mut going = Vec::new();
        for (parent, token, sum) in next {
            if going.len() == self.wanted {
                break;
            } else if token == tokens.end {
                let Line { tokens, others, .. } = &self.lines[parent];
                let (tokens, others) = (tokens.clone(), others.clone());
                self.ended.push(Line { written: SelfCache::default(), tokens, others, sum });
            } else {
                going.push((parent, token, sum));
            }
        }
        self.lines = descend(std::mem::take(&mut self.lines), &going, &choices);
    }
}

/// The lines that go on, each from its parent; what was written is copied only for a second child.
fn descend(
    parents: Vec<Line>,
    going: &[(usize, u32, f32)],
    choices: &[Vec<(u32, f32)>],
) -> Vec<Line> {
    let mut parents: Vec<Option<Line>> = parents.into_iter().map(Some).collect();
    let mut lines = Vec::with_capacity(going.len());
    for (i, (parent, token, sum)) in going.iter().enumerate() {
        let again = going[i + 1..].iter().any(|(other, _, _)| other == parent);
        let line = match (&parents[*parent], again) {
            (Some(line), true) => Some(line.clone()),
            _ => parents[*parent].take(),
        };
        if let Some(mut line) = line {
            line.tokens.push(*token);
            line.others.push(others(*token, &choices[*parent]));
            line.sum = *sum;
            lines.push(line);
        }
    }
    lines
}

/// The choices that a token was preferred to.
fn others(chosen: u32, choices: &[(u32, f32)]) -> Others {
    let by = choices.iter().find(|(token, _)| *token == chosen).map_or(0.0, |(_, by)| *by);
    let others = choices.iter().filter(|(token, _)| *token != chosen);
    others.map(|(token, likely)| (*token, likely - by)).collect()
}

/// A text that does not repeat itself is better than one that does, then the likelier.
fn better(text: &Text, than: &Text) -> bool {
    (!text.repeats(), text.likelihood) > (!than.repeats(), than.likelihood)
}

/// Whether the text has begun to say the same few tokens over and over.
fn loops(tokens: &[u32], vocabulary: &Tokens) -> bool {
    let said: Vec<u32> =
        tokens.iter().rev().filter(|t| **t < vocabulary.end).take(96).copied().collect();
    (1..=16).any(|period| {
        let length = (5 * period).max(16);
        said.len() >= length && (period..length).all(|i| said[i] == said[i - period])
    })
}

/// How many times shorter a text can be written when what was said before is only pointed at, as
/// zip programs do; a pointer costs three bytes.
fn squeezed(text: &str) -> f32 {
    const LEAST: usize = 4;
    let bytes = text.as_bytes();
    let (mut at, mut cost) = (0, 0);
    while at < bytes.len() {
        let longest = (0..at).map(|from| common(bytes, from, at)).max().unwrap_or(0);
        let (step, price) = if longest >= LEAST { (longest, 3) } else { (1, 1) };
        at += step;
        cost += price;
    }
    // A zip program's own overhead keeps short texts from looking repeated.
    bytes.len() as f32 / (cost + 8) as f32
}

fn common(bytes: &[u8], a: usize, b: usize) -> usize {
    bytes[a..].iter().zip(&bytes[b..]).take_while(|(x, y)| x == y).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_text_is_told_from_plain_text() {
        let plain = "So go on and roughly chop the tomato with a sharp knife. Go ahead and take the \
                     onion and chop it finely, then put both in the bowl.";
        assert!(squeezed(plain) < 1.6, "{}", squeezed(plain));
        let again = "Thank you for watching. ".repeat(8);
        assert!(squeezed(&again) > MOST_SQUEEZED, "{}", squeezed(&again));
        assert_eq!(squeezed(""), 0.0);
    }

    #[test]
    fn likely_text_in_doubtful_silence_is_kept() {
        let text = Text { no_speech: 0.9, likelihood: -0.2, ..Text::default() };
        assert!(!text.is_silence() && text.is_good());
        let text = Text { no_speech: 0.9, likelihood: -1.4, ..Text::default() };
        assert!(text.is_silence() && text.is_good());
        let text = Text { squeezed: 3.0, likelihood: -0.1, ..Text::default() };
        assert!(!text.is_good());
    }
}
