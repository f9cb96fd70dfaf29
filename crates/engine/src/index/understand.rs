//! Words that were hardly understood, settled by what is seen while they are said: "loosen the mad" in
//! front of a garden bed was "loosen the bed".

use stitch_core::features::Features;
use stitch_core::words::stems;

use super::localise::{AFTER, Suits, suits};
use crate::listen::Unclear;
use crate::summarise::by_rules;
use crate::transcript::Sentence;

/// What a cosine of words and pictures is worth, in natural logarithms of likelihood by ear.
const EYES: f32 = 40.0;
/// How much likelier than what was written another reading must be in all.
const CLEARLY: f32 = 1.0;
/// By how many standard deviations it must suit its own seconds more than the video's others: talk that
/// nothing is seen of stays as it was heard.
const SEEN: f32 = 1.0;
/// A word that is less likely by ear than this is not thought of.
const HARDLY: f32 = -5.0;
/// Nor are two that are less likely than this together.
const HARDLY_BOTH: f32 = -3.0;
/// What it is worth that a step is told then and none was before: narration tells steps.
const TELLS: f32 = 2.0;
/// The most words of one sentence that are settled.
const MOST: usize = 3;

/// A sentence with another word in it.
struct Reading {
    /// Which sentence.
    sentence: usize,
    /// What it says then.
    text: String,
    /// By how much less likely that is before anybody looks.
    likely: f32,
}

/// Puts other words into the sentences where ears and eyes together find them clearly likelier.
pub fn settle<E>(
    sentences: &mut [Sentence],
    unclear: &[Unclear],
    seconds: &Features,
    encode: impl Fn(&[&str]) -> Result<Features, E>,
) -> Result<(), E> {
    let mut open: Vec<usize> = (0..sentences.len()).collect();
    for _ in 0..MOST {
        let readings = readings(sentences, unclear, &open);
        open = best(sentences, &readings, seconds, &encode)?
            .into_iter()
            .map(|reading| {
                sentences[reading.sentence].text.clone_from(&reading.text);
                reading.sentence
            })
            .collect();
    }
    Ok(())
}

/// The best reading of each sentence that has a clearly likelier one.
fn best<'a, E>(
    sentences: &[Sentence],
    readings: &'a [Reading],
    seconds: &Features,
    encode: impl Fn(&[&str]) -> Result<Features, E>,
) -> Result<Vec<&'a Reading>, E> {
    let mut found = Vec::new();
    for of_one in readings.chunk_by(|a, b| a.sentence == b.sentence) {
        let said = &sentences[of_one[0].sentence];
        let window = (said.start_ms, said.end_ms + 1000 * AFTER as u64);
        let texts: Vec<&str> = std::iter::once(said.text.as_str())
            .chain(of_one.iter().map(|reading| reading.text.as_str()))
            .collect();
        let rows = encode(&texts)?;
        let suits: Vec<Option<Suits>> =
            rows.rows().map(|row| suits(row, window, seconds)).collect();
        let gain = |(reading, suits): (&'a Reading, &Option<Suits>), as_heard: &Suits| {
            let seen = suits.filter(|suits| suits.above > SEEN)?;
            let gain = reading.likely + EYES * (seen.cosine - as_heard.cosine);
            (gain > CLEARLY).then_some((gain, reading))
        };
        if let Some(as_heard) = &suits[0] {
            let gains = of_one.iter().zip(&suits[1..]).filter_map(|pair| gain(pair, as_heard));
            found.extend(gains.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, reading)| reading));
        }
    }
    Ok(found)
}

/// Every other reading of the open sentences, in their order: one word changed, or two that follow one
/// another, since what spoils a word often spoils the next.
fn readings(sentences: &[Sentence], unclear: &[Unclear], open: &[usize]) -> Vec<Reading> {
    let mut readings = Vec::new();
    let mut first = 0;
    for (number, sentence) in sentences.iter().enumerate() {
        let words: Vec<&str> = sentence.text.split_whitespace().collect();
        let own = first..first + words.len();
        first = own.end;
        if open.contains(&number) {
            let unclear = unclear.iter().filter(|word| own.contains(&word.place));
            let changes: Vec<Change> =
                unclear.flat_map(|word| changes(word, &words, own.start)).collect();
            let told = tells(&sentence.text);
            let reading = |changes: &[&Change]| reading(number, &words, told, changes);
            readings.extend(changes.iter().filter_map(|change| reading(&[change])));
            let pairs = changes.iter().flat_map(|a| changes.iter().map(move |b| [a, b]));
            let pairs = pairs.filter(|[a, b]| a.place + 1 == b.place);
            readings.extend(pairs.filter_map(|pair| reading(&pair)));
        }
    }
    readings
}

/// Another word in a word's place.
struct Change {
    place: usize,
    instead: String,
    heard: f32,
}

/// What an unclear word of a sentence that begins there may be instead.
fn changes<'a>(
    word: &'a Unclear,
    words: &'a [&str],
    first: usize,
) -> impl Iterator<Item = Change> + 'a {
    let place = word.place - first;
    // A word that was settled before stays.
    let others = word.others.iter().filter(move |_| words[place] == word.heard);
    others.filter_map(move |(other, heard)| {
        Some(Change { place, instead: instead(other, words[place])?, heard: *heard })
    })
}

/// The sentence with these changes; none where they are too unlikely. A word that says nothing is only
/// changed where a step is told then.
fn reading(sentence: usize, words: &[&str], told: bool, changes: &[&Change]) -> Option<Reading> {
    let heard: f32 = changes.iter().map(|change| change.heard).sum();
    let says = changes.iter().all(|change| !stems(words[change.place]).is_empty());
    let hardly = if changes.len() > 1 { HARDLY_BOTH } else { HARDLY };
    if heard <= hardly || told && !says {
        return None;
    }
    let mut words = words.to_vec();
    changes.iter().for_each(|change| words[change.place] = &change.instead);
    let text = words.join(" ");
    let tells = !told && tells(&text);
    let likely = heard + if tells { TELLS } else { 0.0 };
    (tells || says).then_some(Reading { sentence, text, likely })
}

/// Whether a sentence tells a step.
fn tells(text: &str) -> bool {
    let said = Sentence { start_ms: 0, end_ms: 1, text: text.into() };
    !by_rules("", &[said]).steps.is_empty()
}

/// A word with the capital and the punctuation of the one it is to replace; none where it says nothing
/// by itself, or one is but a form of the other.
fn instead(word: &str, of: &str) -> Option<String> {
    let bare = of.trim_matches(|c: char| !c.is_alphanumeric());
    let (new, old) = (word.to_lowercase(), bare.to_lowercase());
    let form = new.starts_with(&old) || old.starts_with(&new);
    if form || stems(&new).is_empty() {
        return None;
    }
    let mut letters = new.chars();
    let new = match bare.starts_with(char::is_uppercase) {
        true => letters.next()?.to_uppercase().chain(letters).collect(),
        false => new,
    };
    Some(of.replacen(bare, &new, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn perhaps(place: usize, heard: &str, others: &[(&str, f32)]) -> Unclear {
        let others = others.iter().map(|(word, by)| ((*word).into(), *by)).collect();
        Unclear { place, heard: heard.into(), others }
    }

    /// After "Hello." a sentence over four seconds of a garden bed, which are followed by four of
    /// something else; a text is about the bed as far as it says "bed" and "hole".
    fn settled(text: &str, unclear: &[Unclear]) -> String {
        let seconds = [[1.0, 0.1].repeat(2), [0.9, 0.1].repeat(2), [0.1, 1.0].repeat(4)].concat();
        let seconds = Features::new(2, seconds).unwrap();
        let encode = |texts: &[&str]| {
            let about = |text: &str| text.matches("bed").count() + text.matches("hole").count();
            let row = |text: &&str| [0.5 + about(&text.to_lowercase()) as f32, 1.0];
            Features::new(2, texts.iter().flat_map(row).collect())
        };
        let said = |text: &str| Sentence { start_ms: 0, end_ms: 1000, text: text.into() };
        let mut sentences = [said("Hello."), said(text)];
        settle(&mut sentences, unclear, &seconds, encode).unwrap();
        assert_eq!(sentences[0].text, "Hello.");
        sentences[1].text.clone()
    }

    #[test]
    fn what_is_seen_decides_between_words_that_sound_alike() {
        let mad = |by| perhaps(3, "Mad,", &[("bad", -0.1), ("bed", by)]);
        assert_eq!(settled("Loosen the Mad, please.", &[mad(-2.0)]), "Loosen the Bed, please.");
        let plain = "Loosen the Mad, please.";
        assert_eq!(settled(plain, &[mad(HARDLY - 1.0)]), plain, "hardly heard so");
        assert_eq!(settled(plain, &[perhaps(3, "mud", &[("bed", -2.0)])]), plain, "another word");
        let both = [mad(-2.0), perhaps(6, "pole.", &[("hole", -1.0)])];
        let text = settled("Loosen the Mad, dig a pole.", &both);
        assert_eq!(text, "Loosen the Bed, dig a hole.", "one after the other");
        // Neither is seen without the other.
        let both = [perhaps(3, "mad", &[("hole", -1.0)]), perhaps(4, "pole", &[("bed", -1.0)])];
        assert_eq!(settled("Loosen the mad pole.", &[]), "Loosen the mad pole.");
        assert_eq!(settled("Loosen the mad pole", &both), "Loosen the hole bed");
        let into = |text: &str| settled(text, &[perhaps(2, "into", &[("dig", -0.5)])]);
        assert_eq!(into("Now into the bed."), "Now dig the bed.", "a step is told");
        assert_eq!(into("Dig into the bed."), "Dig into the bed.");
    }

    #[test]
    fn words_that_say_nothing_and_forms_of_a_word_are_left_alone() {
        assert_eq!(instead("bed", "Mad,"), Some("Bed,".into()));
        assert_eq!(instead("élan", "MAD"), Some("Élan".into()));
        for (word, of) in [("the", "mad"), ("beds", "bed"), ("Bed", "bed."), ("bed", "--")] {
            assert_eq!(instead(word, of), None, "{word} for {of}");
        }
    }

    #[test]
    fn talk_that_nothing_is_seen_of_stays() {
        let seconds =
            Features::new(2, [[1.0, 0.1].repeat(4), [1.0, 0.1].repeat(4)].concat()).unwrap();
        let mut said = [Sentence { start_ms: 0, end_ms: 1000, text: "My mad.".into() }];
        let encode = |texts: &[&str]| {
            let row = |text: &&str| [if text.contains("bed") { 2.0 } else { 0.0 }, 1.0];
            Features::new(2, texts.iter().flat_map(row).collect())
        };
        settle(&mut said, &[perhaps(1, "mad.", &[("bed", -0.5)])], &seconds, encode).unwrap();
        assert_eq!(said[0].text, "My mad.");
    }
}
