//! HTML → blocks. Tags may be missing, crossed or unknown: only what begins and ends is looked at, as it comes (WHATWG HTML, section 13.2.5).

use std::collections::HashMap;

use html5gum::{DefaultEmitter, StartTag, Token, Tokenizer};

use super::writer::Writer;
use crate::explain::blocks::{BOLD_LINE, Block};

/// Elements of which no reader sees the text, or whose text tells nothing.
const UNSEEN: [&str; 14] = [
    "script", "style", "template", "title", "nav", "svg", "canvas", "iframe", "object", "button", "select", "textarea",
    "datalist", "noembed",
];

/// Elements that hold others whose end tags may be left out: what stands in an inner one says nothing about the end of an outer one.
const HOLDERS: [&str; 6] = ["ul", "ol", "menu", "dl", "table", "select"];

/// Elements without content (section 13.1.2).
const VOID: [&str; 13] =
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"];

/// Notes which elements end in a piece of HTML that stands at `place` of a text.
pub(super) fn note_ends(ends: &mut Ends, piece: &str, place: usize) {
    if piece.contains("</") {
        for token in Tokenizer::new(piece).flatten() {
            if let Token::EndTag(tag) = token {
                ends.insert(String::from_utf8_lossy(&tag.name).into_owned(), place);
            }
        }
    }
}

/// Reads HTML.
pub(super) fn html(text: &str) -> Vec<Block> {
    let mut html = Html::default();
    html.read(text);
    html.finish()
}

/// Reads HTML piece by piece: Markdown has it in between.
#[derive(Debug, Default)]
pub(super) struct Html {
    writer: Writer,
    hidden: Option<Hidden>,
    in_code: bool,
    in_pre: bool,
    /// Of a text that only holds HTML: which elements end at all, and where what is read stands.
    ends: Option<(Ends, usize)>,
}

/// Where elements of a name end last, by their place in a text. What never ends hides nothing: in Markdown `<title>` outside of
/// backticks is a word, and no title.
pub(super) type Ends = HashMap<String, usize>;

/// An element that nobody sees.
#[derive(Debug)]
struct Hidden {
    name: String,
    /// Elements of the same name that are open, itself included.
    open: usize,
    /// Holders that are open within it.
    holders: usize,
}

impl Html {
    /// For pieces of a text in which elements end there.
    pub(super) fn within(ends: Ends) -> Self {
        Self { ends: Some((ends, 0)), ..Self::default() }
    }

    /// What is read from now on stands at this place of the text.
    pub(super) fn at(&mut self, place: usize) {
        if let Some((_, at)) = &mut self.ends {
            *at = place;
        }
    }

    /// Whatever was hidden has ended.
    pub(super) fn show(&mut self) {
        self.hidden = None;
    }

    /// Reads on.
    pub(super) fn read(&mut self, text: &str) {
        let mut emitter = DefaultEmitter::default();
        // Text of scripts and styles is no HTML.
        emitter.naively_switch_states(true);
        for token in Tokenizer::new_with_emitter(text, emitter).flatten() {
            match token {
                Token::StartTag(tag) => self.start(&tag),
                Token::EndTag(tag) => self.end(&String::from_utf8_lossy(&tag.name)),
                Token::String(text) if self.hidden.is_none() => self.writer.text(&String::from_utf8_lossy(&text)),
                _ => {}
            }
        }
    }

    /// Where the text goes.
    pub(super) fn writer(&mut self) -> &mut Writer {
        &mut self.writer
    }

    /// Does what comes next stand in an element that nobody sees?
    pub(super) fn is_hidden(&self) -> bool {
        self.hidden.is_some()
    }

    /// All blocks.
    pub(super) fn finish(self) -> Vec<Block> {
        self.writer.finish()
    }

    fn start(&mut self, tag: &StartTag<()>) {
        let name = String::from_utf8_lossy(&tag.name).into_owned();
        if self.is_hiding_start(&name) {
            return;
        }
        let is_unseen = UNSEEN.contains(&name.as_str()) || is_hidden(tag);
        if is_unseen && !VOID.contains(&name.as_str()) && self.ends_later(&name) {
            self.hidden = Some(Hidden { name, open: 1, holders: 0 });
            return;
        }
        if name == "img" {
            let alternative = tag.attributes.get(b"alt".as_slice());
            return alternative.iter().for_each(|text| self.writer.text(&String::from_utf8_lossy(text)));
        }
        self.begin(&name);
    }

    /// Is a start tag within something hidden?
    fn is_hiding_start(&mut self, name: &str) -> bool {
        let Some(hidden) = &mut self.hidden else { return false };
        if hidden.holders == 0 && ends_before(&hidden.name, name) {
            self.hidden = None;
            return false;
        }
        hidden.open += usize::from(hidden.name == name);
        hidden.holders += usize::from(HOLDERS.contains(&name));
        true
    }

    /// Does an element that begins here end at all?
    fn ends_later(&self, name: &str) -> bool {
        self.ends.as_ref().is_none_or(|(ends, at)| ends.get(name).is_some_and(|end| end >= at))
    }

    /// Is an end tag within something hidden, or its own?
    fn is_hiding_end(&mut self, name: &str) -> bool {
        let Some(hidden) = &mut self.hidden else { return false };
        if hidden.name != name && hidden.holders == 0 && ends_with(&hidden.name, name) {
            self.hidden = None;
            return false;
        }
        hidden.open -= usize::from(hidden.name == name);
        hidden.holders = hidden.holders.saturating_sub(usize::from(HOLDERS.contains(&name)));
        if hidden.open == 0 {
            self.hidden = None;
        }
        true
    }

    fn begin(&mut self, name: &str) {
        let to = &mut self.writer;
        match name {
            "br" => to.end_line(),
            "b" | "strong" => to.strong(true),
            "code" | "kbd" | "samp" | "tt" if !self.in_pre && !self.in_code => {
                self.in_code = true;
                to.text("`");
            }
            "pre" | "listing" => {
                self.in_pre = true;
                to.begin_code();
            }
            "summary" => to.begin_heading(BOLD_LINE),
            "ul" | "ol" | "menu" | "dl" => to.begin_list(),
            "li" | "dt" => to.begin_item(),
            "table" => to.begin_table(),
            "thead" => to.table_head(true),
            "tbody" | "tfoot" => to.table_head(false),
            "tr" => to.next_row(),
            "td" | "th" => to.begin_cell(name == "th"),
            _ => match heading(name) {
                Some(level) => to.begin_heading(level),
                None if is_block(name) => to.end_paragraph(),
                None => {}
            },
        }
    }

    fn end(&mut self, name: &str) {
        if self.is_hiding_end(name) {
            return;
        }
        let to = &mut self.writer;
        match name {
            "b" | "strong" => to.strong(false),
            "code" | "kbd" | "samp" | "tt" if self.in_code => {
                self.in_code = false;
                to.text("`");
            }
            "pre" | "listing" => {
                self.in_pre = false;
                to.end_paragraph();
            }
            "ul" | "ol" | "menu" | "dl" => to.end_list(),
            "li" => to.end_item(),
            "table" => to.end_table(),
            "thead" => to.table_head(false),
            "tr" => to.next_row(),
            "td" | "th" => to.end_cell(),
            _ if heading(name).is_some() || is_block(name) => to.end_paragraph(),
            _ => {}
        }
    }
}

/// Does an element whose end tag was left out end before another one that begins (section 13.1.2.4)?
fn ends_before(open: &str, next: &str) -> bool {
    match open {
        "p" => is_block(next),
        "li" => next == "li",
        "dt" | "dd" => matches!(next, "dt" | "dd"),
        "thead" | "tbody" => matches!(next, "tbody" | "tfoot"),
        "tr" => matches!(next, "tr" | "tbody" | "tfoot"),
        "td" | "th" => matches!(next, "td" | "th" | "tr" | "tbody" | "tfoot"),
        "option" => matches!(next, "option" | "optgroup"),
        _ => false,
    }
}

/// Does an element whose end tag was left out end with another one that it stands in?
fn ends_with(open: &str, parent: &str) -> bool {
    match open {
        "p" => is_block(parent),
        "li" => matches!(parent, "ul" | "ol" | "menu"),
        "dt" | "dd" => parent == "dl",
        "thead" | "tbody" => parent == "table",
        "tr" => matches!(parent, "thead" | "tbody" | "tfoot" | "table"),
        "td" | "th" => matches!(parent, "tr" | "thead" | "tbody" | "tfoot" | "table"),
        "option" => matches!(parent, "optgroup" | "select" | "datalist"),
        _ => false,
    }
}

/// `h1` to `h6`.
fn heading(name: &str) -> Option<usize> {
    match name.as_bytes() {
        [b'h', level @ b'1'..=b'6'] => Some(usize::from(level - b'0')),
        _ => None,
    }
}

/// Does an element begin and end a paragraph (section 15.3)?
fn is_block(name: &str) -> bool {
    matches!(
        name,
        "address"
            | "article"
            | "aside"
            | "blockquote"
            | "body"
            | "caption"
            | "center"
            | "dd"
            | "details"
            | "dialog"
            | "dir"
            | "div"
            | "dl"
            | "dt"
            | "fieldset"
            | "figcaption"
            | "figure"
            | "footer"
            | "form"
            | "header"
            | "hgroup"
            | "hr"
            | "html"
            | "legend"
            | "li"
            | "main"
            | "menu"
            | "ol"
            | "p"
            | "pre"
            | "search"
            | "section"
            | "summary"
            | "table"
            | "tbody"
            | "td"
            | "tfoot"
            | "th"
            | "thead"
            | "tr"
            | "ul"
    ) || heading(name).is_some()
}

/// Is an element marked as one that nobody is to see?
fn is_hidden(tag: &StartTag<()>) -> bool {
    let value = |name: &[u8]| tag.attributes.get(name).map(|value| String::from_utf8_lossy(value).to_ascii_lowercase());
    let style: String =
        value(b"style").unwrap_or_default().chars().filter(|character| !character.is_whitespace()).collect();
    let shown_when_found = value(b"hidden").is_some_and(|hidden| hidden == "until-found");
    value(b"hidden").is_some() && !shown_when_found
        || value(b"aria-hidden").is_some_and(|hidden| hidden == "true")
        || style.contains("display:none")
        || style.contains("visibility:hidden")
}
