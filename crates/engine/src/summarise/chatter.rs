//! How much a sentence sounds like talk that goes with no step.

use super::words::Word;

/// Phrases of greetings, stories, opinions and the channel's own business, with their weight.
const PHRASES: &[(f32, &[&str])] = &[
    (
        4.0,
        &[
            "used to",
            "grandmother",
            "grandma",
            "grandfather",
            "grandpa",
            "when i was",
            "years ago",
            "subscribe",
            "my channel",
            "this channel",
            "thumbs up",
            "like button",
            "comments below",
            "in the comments",
            "a comment",
            "your time",
            "take care",
            "bear with me",
            "stay tuned",
            "thanks for",
            "thank you",
            "welcome",
            "see you",
            "my name",
            "last week",
            "last year",
            "last summer",
            "yesterday",
            "told me",
            "always says",
            "always said",
            "always say",
            "reminds me",
            "remember when",
            "people ask",
            "people say",
            "i grew up",
            "growing up",
            "next time",
            "good morning",
            "good luck",
            "my mum",
            "my mom",
            "my mother",
            "my father",
            "my dad",
            "my wife",
            "my husband",
            "my kids",
            "my neighbour",
            "my neighbor",
            "my uncle",
            "my aunt",
            "my sister",
            "my brother",
            "my dog",
            "my cat",
            "my friend",
            "next video",
            "this video",
            "the video",
            "my website",
            "the website",
            "check out",
            "visit us",
            "a story",
            "fun fact",
            "did you know",
            "by the way",
            "hit that",
            "follow me",
            "sponsor",
        ],
    ),
    (
        2.0,
        &[
            "hello",
            "hi everyone",
            "hi guys",
            "hey guys",
            "hey everyone",
            "hi there",
            "favourite",
            "favorite",
            "i love",
            "i think",
            "i guess",
            "i believe",
            "i remember",
            "i hope",
            "i mean",
            "my opinion",
            "for me",
            "show you",
            "you'll see how",
            "many of you",
            "asked for",
            "today i",
            "today we",
            "today's",
            "i promise",
            "believe it",
            "ever had",
            "you might",
            "you may",
            "some people",
            "a lot of people",
            "restaurant",
            "recipe",
            "enjoy",
            "delicious",
            "of the best",
            "story",
            "i wonder",
            "who knows",
            "i never",
            "i always",
            "i once",
            "the reason",
            "the secret",
            "important",
            "depends",
            "it's okay",
            "it's ok",
            "that's why",
            "no need",
            "worry",
            "you'd be",
            "looks like",
            "tastes like",
            "as a child",
            "back then",
            "if you want",
            "if you like",
            "you could also",
            "i was",
            "we were",
            "you were",
            "bought",
        ],
    ),
    (
        0.8,
        &[
            "because",
            "you can see",
            "you know",
            "i like",
            "this is",
            "that's",
            "it's",
            "there's",
            "these are",
            "those are",
            "they're",
            "you can use",
            "if you",
            "i've",
            "we've",
            "was",
            "were",
            "you'll see",
            "you'll notice",
            "would be",
            "it was",
            "really",
            "which is",
            "perfect",
        ],
    ),
];

/// The weight of the chatter in a sentence, 0 where there is none.
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
    use super::super::words::words;
    use super::*;

    #[test]
    fn stories_weigh_more_than_steps() {
        for chatter in [
            "my grandmother used to say that onions make you cry",
            "don't forget to subscribe to the channel",
            "Hi everyone, welcome back!",
        ] {
            assert!(weight(&words(chatter)) >= 2.0, "{chatter}");
        }
        assert_eq!(weight(&words("now I take the onion and chop it nice and fine")), 0.0);
    }
}
