//! Reading a procedure from what people have: plain lines, Markdown, JSON-LD, a recipe page.
