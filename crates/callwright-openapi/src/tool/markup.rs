//! Converts HTML in descriptions to text.
//!
//! OpenAPI descriptions are Markdown, which may contain HTML; converters from other formats write HTML only. Models
//! read the tags as noise. Text in angle brackets that is no HTML element, such as `<id>` or `List<String>`, is kept,
//! and so is everything in Markdown code.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::tool::text::is_among;
use callwright_common::html::{is_block, reference, unescaped};
use callwright_common::limits::{LINE_CHARS, MARKUP_BYTES};

/// Elements within a line.
const INLINE: &str = "a abbr b big cite del dfn em font i ins kbd label mark q s samp small span strike strong sub \
    sup tt u var wbr";

/// Elements whose content is not shown.
const UNSEEN: &str = "script style";

/// Elements without an end tag.
const VOID: &str = "br hr img wbr";

/// Elements whose end tags are often omitted.
const OPEN_ENDED: &str = "dd dt li p td th";

/// Returns `text` with HTML elements and character references converted to text.
pub(crate) fn plain_text(text: &str) -> Cow<'_, str> {
    if !text.contains(['<', '&']) {
        return Cow::Borrowed(text);
    }
    let mut writer = TextWriter { text, out: String::with_capacity(text.len()), ended: ended_elements(text) };
    writer.convert();
    if writer.out == text { Cow::Borrowed(text) } else { Cow::Owned(tidy(&writer.out)) }
}

struct TextWriter<'t> {
    text: &'t str,
    out: String,
    /// Names of the elements that have an end tag.
    ended: HashSet<String>,
}

/// A tag at the beginning of a text.
struct Tag<'t> {
    /// Name in lower case.
    name: String,
    is_end: bool,
    /// The text after the tag.
    rest: &'t str,
}

impl TextWriter<'_> {
    fn convert(&mut self) {
        let mut rest = self.text;
        while let Some(at) = rest.find(['<', '&', '`']) {
            let (before, special) = rest.split_at(at);
            self.out.push_str(before);
            rest = self.special(special);
        }
        self.out.push_str(rest);
    }

    /// Converts what begins `text` with a special character, and returns the text after it.
    fn special<'t>(&mut self, text: &'t str) -> &'t str {
        if text.starts_with('`') {
            return self.code(text);
        }
        if text.starts_with('&') {
            return self.reference(text);
        }
        if let Some(comment) = text.strip_prefix("<!--") {
            return comment.split_once("-->").map_or("", |(_, rest)| rest);
        }
        match tag(text).filter(|tag| self.is_element(tag)) {
            Some(tag) => self.element(tag),
            None => {
                self.out.push('<');
                text.get(1..).unwrap_or_default()
            }
        }
    }

    /// Copies Markdown code: up to as many backquotes as it begins with.
    fn code<'t>(&mut self, text: &'t str) -> &'t str {
        let fence = text.len() - text.trim_start_matches('`').len();
        let (open, inner) = text.split_at(fence);
        let end = inner.find(open).map_or(0, |end| end + fence);
        let (code, rest) = inner.split_at(end);
        self.out.push_str(open);
        self.out.push_str(code);
        rest
    }

    fn reference<'t>(&mut self, text: &'t str) -> &'t str {
        if let Some((characters, rest)) = reference(text) {
            self.out.push_str(if characters == "\u{a0}" { " " } else { &characters });
            return rest;
        }
        self.out.push('&');
        text.get(1..).unwrap_or_default()
    }

    /// Whether the tag belongs to an HTML element. An element that is never closed is a word in angle brackets.
    fn is_element(&self, tag: &Tag<'_>) -> bool {
        let name = tag.name.as_str();
        let is_known = is_block(name)
            || is_among(INLINE, name)
            || is_among(UNSEEN, name)
            || is_among(VOID, name)
            || name == "code";
        is_known && (is_among(VOID, name) || is_among(OPEN_ENDED, name) || self.ended.contains(name))
    }

    fn element<'t>(&mut self, Tag { name, is_end, rest }: Tag<'t>) -> &'t str {
        match name.as_str() {
            "li" if !is_end => self.out.push_str("\n- "),
            "td" | "th" if !is_end => self.out.push(' '),
            "code" | "pre" => return self.html_code(is_end, &name, rest),
            name if is_among(UNSEEN, name) && !is_end => {
                return after_end(rest, name);
            }
            "li" | "td" | "th" => {}
            name if name == "br" || is_block(name) => self.out.push('\n'),
            _ => {}
        }
        rest
    }

    /// Converts code to Markdown code if it is one line of text.
    fn html_code<'t>(&mut self, is_end: bool, name: &str, rest: &'t str) -> &'t str {
        let head = rest.get(..rest.floor_char_boundary(LINE_CHARS)).unwrap_or(rest);
        let inner = head.split_once('<').map_or("", |(inner, _)| inner);
        if is_end || name != "code" || inner.is_empty() || inner.contains(['\n', '`']) {
            return rest;
        }
        let Some(end) = rest.get(inner.len()..).and_then(tag).filter(|tag| tag.is_end && tag.name == "code") else {
            return rest;
        };
        self.out.push('`');
        self.out.push_str(&unescaped(inner));
        self.out.push('`');
        end.rest
    }
}

/// Parses the tag at the beginning of `text`.
fn tag(text: &str) -> Option<Tag<'_>> {
    let inner = text.strip_prefix('<')?;
    let head = inner.get(..inner.floor_char_boundary(MARKUP_BYTES)).unwrap_or(inner);
    let (head, _) = head.split_once('>')?;
    let rest = inner.get(head.len() + 1..)?;
    let (is_end, named) = head.strip_prefix('/').map_or((false, head), |named| (true, named));
    let letters = named.bytes().take_while(u8::is_ascii_alphanumeric).count();
    let (name, attributes) = named.split_at(letters);
    let is_tag = attributes.is_empty() || attributes.starts_with([' ', '\t', '\n', '/']);
    let is_plain = attributes.trim().is_empty() || attributes.trim() == "/" || attributes.contains('=');
    (is_tag && is_plain && !name.is_empty()).then(|| Tag { name: name.to_ascii_lowercase(), is_end, rest })
}

/// Returns the text after the end tag of the element `name`; nothing if there is none.
fn after_end<'t>(text: &'t str, name: &str) -> &'t str {
    for (at, _) in text.match_indices("</") {
        if let Some(tag) = text.get(at..).and_then(tag).filter(|tag| tag.name == name) {
            return tag.rest;
        }
    }
    ""
}

/// Returns the names of the elements with an end tag in the text.
fn ended_elements(text: &str) -> HashSet<String> {
    let mut names = HashSet::new();
    let mut rest = text;
    while let Some(at) = rest.find("</") {
        rest = rest.get(at..).unwrap_or_default();
        names.extend(tag(rest).map(|tag| tag.name));
        rest = rest.get(2..).unwrap_or_default();
    }
    names
}

/// Removes spaces at the ends of lines, and all but one of several empty lines.
fn tidy(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut empty = 0;
    for line in text.trim().lines() {
        let line = line.trim_end();
        empty = if line.trim().is_empty() { empty + 1 } else { 0 };
        if empty > 1 {
            continue;
        }
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(line);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_and_references_become_text() {
        let cases = [
            ("<p>Lists <b>all</b> pets.</p><p>Sorted.</p>", "Lists all pets.\n\nSorted."),
            ("One<br>Two<br/>Three", "One\nTwo\nThree"),
            ("<ul><li>a</li><li>b</li></ul>", "- a\n- b"),
            ("See <a href=\"https://a.example/x?y=1\">the guide</a>.", "See the guide."),
            ("Use <code>a&lt;b</code> &amp; <em>more</em>&#46;", "Use `a<b` & more."),
            ("<table><tr><th>Code</th><td>4</td></tr></table>", "Code 4"),
            ("a<!-- hidden -->b<script>x</script>c", "abc"),
            ("<P>Loud</P>", "Loud"),
            ("<main><figure>a&nbsp;&notin;&nbsp;B</figure></main>", "a ∉ B"),
        ];
        for (html, text) in cases {
            assert_eq!(plain_text(html), text, "{html}");
        }
    }

    #[test]
    fn text_in_angle_brackets_and_markdown_code_are_kept() {
        for text in [
            "The path is /pets/<id>/<name>.", "A List<String> or Map<String, List<a>>", "if a < b && c > d",
            "`<b>bold</b>` and ``a ` <i>b</i>`` &c;", "```\n<p>x</p>\n```", "Replace <b> by the name.",
            "AT&T; &unknown;", "an open ` backquote <",
        ] {
            assert_eq!(plain_text(text), text);
        }
        assert!(matches!(plain_text("no markup"), Cow::Borrowed(_)));
    }

    #[test]
    fn hostile_texts_take_linear_time_and_keep_their_letters() {
        for piece in ["<", "</", "<a ", "<!--", "`", "&", "&#", "<code>", "<script>", "</b><b>"] {
            let text = piece.repeat(200_000);
            assert!(plain_text(&text).len() <= text.len() + 1, "{piece}");
        }
    }
}
