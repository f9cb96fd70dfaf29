//! XML with an element a line.

use maud::html;

pub(super) struct Element {
    name: &'static str,
    attributes: Vec<(&'static str, String)>,
    text: String,
    children: Vec<Element>,
}

/// An element of this name, empty.
pub(super) fn element(name: &'static str) -> Element {
    Element { name, attributes: Vec::new(), text: String::new(), children: Vec::new() }
}

/// An element with nothing but this text.
pub(super) fn leaf(name: &'static str, text: impl ToString) -> Element {
    Element { text: text.to_string(), ..element(name) }
}

impl Element {
    pub fn with(mut self, attribute: &'static str, value: impl ToString) -> Self {
        self.attributes.push((attribute, value.to_string()));
        self
    }

    pub fn child(self, child: Element) -> Self {
        self.children([child])
    }

    pub fn children(mut self, children: impl IntoIterator<Item = Element>) -> Self {
        self.children.extend(children);
        self
    }

    /// The document with this root; `doctype` is what follows the declaration.
    pub fn document(&self, doctype: &str) -> String {
        let mut text = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{doctype}");
        self.write(0, &mut text);
        text
    }

    fn write(&self, depth: usize, out: &mut String) {
        let (indent, name) = ("  ".repeat(depth), self.name);
        out.push_str(&format!("{indent}<{name}"));
        for (attribute, value) in &self.attributes {
            out.push_str(&format!(" {attribute}=\"{}\"", escaped(value)));
        }
        if self.children.is_empty() && self.text.is_empty() {
            out.push_str("/>\n");
        } else if self.children.is_empty() {
            out.push_str(&format!(">{}</{name}>\n", escaped(&self.text)));
        } else {
            out.push_str(">\n");
            self.children.iter().for_each(|child| child.write(depth + 1, out));
            out.push_str(&format!("{indent}</{name}>\n"));
        }
    }
}

/// XML has no way to write most control characters: they are left out.
fn escaped(text: &str) -> String {
    let is_unwritable = |c: char| {
        c.is_control() && !matches!(c, '\t' | '\n') || matches!(c, '\u{fffe}' | '\u{ffff}')
    };
    let text = text.replace(is_unwritable, "");
    html! { (text) }.into_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_never_become_markup() {
        let tree =
            element("a").with("b", "\"<&>\u{1}").children([leaf("c", "</c>\u{0}é"), element("d")]);
        let expected = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
            <a b=\"&quot;&lt;&amp;&gt;\">\n  <c>&lt;/c&gt;é</c>\n  <d/>\n</a>\n";
        assert_eq!(tree.document(""), expected);
    }
}
