//! Writing what was heard: greedily for several windows side by side, and again with some chance for
//! a window whose text repeats itself or is unlikely.

use rayon::prelude::*;

use super::network::{Heard, Network, Written};
use super::rules::{Chance, choose, log_sum, restrict};
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

/// What was written for one window.
#[derive(Clone, Debug, Default)]
pub struct Text {
    /// Text and times, without prompt and end.
    pub tokens: Vec<u32>,
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
    pub network: &'a Network,
    pub tokens: &'a Tokens,
}

impl Decoder<'_> {
    /// How likely each language is, over all windows: the likeliest, and how likely.
    pub fn language(&self, heard: &[&Heard]) -> Option<(u32, f32)> {
        let first = self.first_logits(heard);
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

    /// What follows the very first token: \[windows, vocabulary\].
    fn first_logits(&self, heard: &[&Heard]) -> Vec<f32> {
        let mut written = vec![self.network.blank(); heard.len()];
        let start = vec![self.tokens.start; heard.len()];
        self.network.logits(&self.network.write(&start, &mut written, heard))
    }

    /// The best text for each window.
    pub fn texts(
        &self,
        heard: &[&Heard],
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
            let windows: Vec<&Heard> = open.iter().map(|i| heard[*i]).collect();
            let texts = self.attempt(&windows, language, temperature, progress)?;
            for (i, text) in open.into_iter().zip(texts) {
                let keep = best[i].as_ref().is_none_or(|best| better(&text, best));
                if keep {
                    best[i] = Some(text);
                }
            }
        }
        Ok(best.into_iter().map(Option::unwrap_or_default).collect())
    }

    /// One text for each window, at a temperature.
    fn attempt(
        &self,
        heard: &[&Heard],
        language: Option<u32>,
        temperature: f32,
        progress: &dyn Progress,
    ) -> Result<Vec<Text>, Stopped> {
        let mut lines = Line::all(self.network, heard, temperature);
        let prompt = self.tokens.prompt(language);
        for (i, token) in prompt.iter().enumerate() {
            let next = vec![*token; lines.len()];
            let logits = self.write(&mut lines, &next, i == 0 || i + 1 == prompt.len());
            if i == 0 {
                self.note_no_speech(&mut lines, &logits);
            }
            if i + 1 == prompt.len() {
                self.follow(&mut lines, logits, temperature);
            }
        }
        let most = self.network.config.max_target_positions / 2;
        let mut done: Vec<Line> = Vec::new();
        for _ in 0..most {
            progress.check()?;
            let ended = |line: &Line| line.ended || loops(&line.tokens, self.tokens);
            let (ready, going): (Vec<Line>, Vec<Line>) = lines.into_iter().partition(ended);
            done.extend(ready);
            lines = going;
            if lines.is_empty() {
                break;
            }
            let next: Vec<u32> =
                lines.iter().filter_map(|line| line.tokens.last().copied()).collect();
            let logits = self.write(&mut lines, &next, true);
            self.follow(&mut lines, logits, temperature);
        }
        done.extend(lines);
        done.sort_by_key(|line| line.number);
        Ok(done.into_iter().map(|line| self.text(line)).collect())
    }

    /// Writes a token for each line; the logits of what follows, where they are wanted.
    fn write(&self, lines: &mut [Line], next: &[u32], wanted: bool) -> Vec<f32> {
        let heard: Vec<&Heard> = lines.iter().map(|line| line.heard).collect();
        let mut written: Vec<Written> =
            lines.iter_mut().map(|line| std::mem::take(&mut line.written)).collect();
        let x = self.network.write(next, &mut written, &heard);
        lines.iter_mut().zip(written).for_each(|(line, written)| line.written = written);
        if wanted { self.network.logits(&x) } else { Vec::new() }
    }

    fn note_no_speech(&self, lines: &mut [Line], logits: &[f32]) {
        let Some(no_speech) = self.tokens.no_speech else { return };
        for (line, logits) in lines.iter_mut().zip(logits.chunks_exact(self.tokens.count)) {
            line.no_speech = (logits[no_speech as usize] - log_sum(logits)).exp();
        }
    }

    /// Chooses the next token of each line.
    fn follow(&self, lines: &mut [Line], mut logits: Vec<f32>, temperature: f32) {
        let rows = logits.par_chunks_exact_mut(self.tokens.count);
        lines.par_iter_mut().zip(rows).for_each(|(line, logits)| {
            restrict(logits, &line.tokens, self.tokens);
            let (token, likelihood) = choose(logits, temperature, &mut line.chance);
            line.likelihood += likelihood;
            line.ended = token == self.tokens.end;
            if !line.ended {
                line.tokens.push(token);
            }
        });
    }

    fn text(&self, line: Line) -> Text {
        let count = line.tokens.len() + 1;
        let squeezed = squeezed(&self.tokens.text(&line.tokens));
        // Cut off in a loop, it repeats itself whatever its length.
        let looped = !line.ended && loops(&line.tokens, self.tokens);
        Text {
            likelihood: line.likelihood / count as f32,
            no_speech: line.no_speech,
            squeezed: if looped { squeezed.max(2.0 * MOST_SQUEEZED) } else { squeezed },
            tokens: line.tokens,
        }
    }
}

/// A text in the making.
struct Line<'a> {
    number: usize,
    heard: &'a Heard,
    written: Written,
    tokens: Vec<u32>,
    likelihood: f32,
    no_speech: f32,
    ended: bool,
    chance: Chance,
}

impl<'a> Line<'a> {
    fn all(network: &Network, heard: &[&'a Heard], temperature: f32) -> Vec<Self> {
        let line = |(number, heard): (usize, &&'a Heard)| Self {
            number,
            heard,
            written: network.blank(),
            tokens: Vec::new(),
            likelihood: 0.0,
            no_speech: 0.0,
            ended: false,
            chance: Chance((number as u64) << 8 | (temperature * 10.0) as u64),
        };
        heard.iter().enumerate().map(line).collect()
    }
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
