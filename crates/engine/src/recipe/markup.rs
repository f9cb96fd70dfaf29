//! The words in a text that has tags and entities in it, as fields of JSON often do.

use crate::transcript::text::{entities, fold, without_tags};

/// The words of a text that may contain tags and entities, twice encoded ones too.
pub fn words(text: &str) -> String {
    fold(&entities(&without_tags(&entities(&without_tags(&breaks(text))))))
}

/// As [`words`], with the line breaks that tags stand for.
pub fn text_lines(text: &str) -> String {
    entities(&without_tags(&breaks(text)))
}

/// Tags that end a line as line breaks.
fn breaks(text: &str) -> String {
    let mut text = text.to_string();
    for tag in ["<br>", "<br/>", "<br />", "</p>", "</li>", "</div>", "<BR>", "</P>", "</LI>"] {
        text = text.replace(tag, "\n");
    }
    text
}
