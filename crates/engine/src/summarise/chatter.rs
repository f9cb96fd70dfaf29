//! How much a sentence sounds like talk that goes with no step.

use std::sync::LazyLock;

use crate::lexicon::words::Word;

static PHRASES: LazyLock<Vec<(f32, Vec<&str>)>> = LazyLock::new(|| {
    let mut groups: Vec<(f32, Vec<&str>)> = Vec::new();
    for line in include_str!("chatter.txt").lines().filter(|line| !line.starts_with('#')) {
        match (line.parse(), groups.last_mut()) {
            (Ok(weight), _) => groups.push((weight, Vec::new())),
            (Err(_), Some((_, phrases))) => {
                phrases.extend(line.split(',').map(str::trim).filter(|phrase| !phrase.is_empty()));
            }
            (Err(_), None) => {}
        }
    }
    groups
});

/// The sum of the weights of the phrases in a sentence.
pub fn weight(words: &[Word]) -> f32 {
    let mut text = String::from(" ");
    for word in words {
        if word.low.starts_with('\'') {
            text.pop();
        }
        text.push_str(&word.low);
        text.push(' ');
    }
    let found = |phrase: &&&str| text.contains(&format!(" {phrase} "));
    PHRASES.iter().map(|(weight, list)| weight * list.iter().filter(found).count() as f32).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexicon::words::words;

    #[test]
    fn stories_weigh_more_than_steps() {
        for chatter in [
            "my grandmother used to say that onions make you cry",
            "don't forget to subscribe to the channel",
            "Hi everyone, welcome back!",
        ] {
            assert!(weight(&words(chatter)) >= 2.0, "{chatter}");
        }
        assert_eq!(PHRASES.iter().map(|(_, list)| list.len()).sum::<usize>(), 159);
        assert_eq!(weight(&words("now I take the onion and chop it nice and fine")), 0.0);
    }
}
