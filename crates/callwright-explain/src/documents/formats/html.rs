//! HTML → blocks. Tags may be missing, misnested or unknown, so start and end tags are processed in order.

use std::collections::HashMap;

use super::writer::BlockWriter;
use crate::documents::blocks::{BOLD_LINE, DocumentBlock};
use crate::word_list::WordList;
use callwright_common::html::{HtmlTag, HtmlToken, ends_before, ends_with, heading, is_block, is_void, tokens};

/// Elements whose text is invisible or irrelevant.
const UNSEEN: WordList =
    WordList("script style template title nav svg canvas iframe object button select textarea datalist noembed");

/// Container elements whose children may omit end tags. Tags inside a nested container do not close elements outside
/// it.
const HOLDERS: [&str; 6] = ["ul", "ol", "menu", "dl", "table", "select"];

/// Records the end tags in a piece of HTML that is at `offset` of a text.
pub(crate) fn note_ends(ends: &mut Ends, piece: &str, offset: usize) {
    if piece.contains("</") {
        for token in tokens(piece) {
            if let HtmlToken::End(name) = token {
                ends.insert(name, offset);
            }
        }
    }
}

pub(crate) fn html(text: &str) -> Vec<DocumentBlock> {
    let mut html = Html::default();
    html.read(text);
    html.finish()
}

/// Parses HTML in pieces, for HTML inside Markdown.
#[derive(Debug, Default)]
pub(crate) struct Html {
    writer: BlockWriter,
    hidden: Option<HiddenElement>,
    in_code: bool,
    in_pre: bool,
    /// For HTML inside Markdown: positions of the last end tags, and the offset of the current piece.
    ends: Option<(Ends, usize)>,
}

/// Offset of the last end tag per element name. An element without an end tag hides nothing: `<title>` outside of
/// backquotes in Markdown is a word and not a title.
pub(crate) type Ends = HashMap<String, usize>;

/// Open element whose content is hidden.
#[derive(Debug)]
struct HiddenElement {
    name: String,
    /// Number of open elements of the same name, including this one.
    open: usize,
    /// Number of open containers inside it.
    holders: usize,
}

impl Html {
    /// Creates a parser for pieces of a text with these end tags.
    pub(crate) fn within(ends: Ends) -> Self {
        Self { ends: Some((ends, 0)), ..Self::default() }
    }

    /// Sets the offset of the next piece in the text.
    pub(crate) fn at(&mut self, offset: usize) {
        if let Some((_, at)) = &mut self.ends {
            *at = offset;
        }
    }

    /// Ends the hidden element.
    pub(crate) fn show(&mut self) {
        self.hidden = None;
    }

    /// Parses the next piece.
    pub(crate) fn read(&mut self, text: &str) {
        for token in tokens(text) {
            match token {
                HtmlToken::Start(tag) => self.start(tag),
                HtmlToken::End(name) => self.end(&name),
                HtmlToken::Text(text) if self.hidden.is_none() => self.writer.text(&text),
                _ => {}
            }
        }
    }

    /// Returns the writer of the output.
    pub(crate) fn writer(&mut self) -> &mut BlockWriter {
        &mut self.writer
    }

    /// Whether the parser is inside a hidden element.
    pub(crate) fn is_hidden(&self) -> bool {
        self.hidden.is_some()
    }

    pub(crate) fn finish(self) -> Vec<DocumentBlock> {
        self.writer.finish()
    }

    fn start(&mut self, tag: HtmlTag) {
        let name = tag.name.as_str();
        if self.is_hiding_start(name) {
            return;
        }
        let is_unseen = UNSEEN.contains(name) || tag.is_hidden();
        if is_unseen && !is_void(name) && self.ends_later(name) {
            self.hidden = Some(HiddenElement { name: tag.name, open: 1, holders: 0 });
            return;
        }
        match name {
            "img" => tag.attribute("alt").into_iter().for_each(|text| self.writer.text(text)),
            "td" | "th" => self.writer.begin_cell(name == "th", (span(&tag, "rowspan"), span(&tag, "colspan"))),
            _ => self.begin(name),
        }
    }

    /// Whether a start tag is inside a hidden element. Closes the hidden element if the tag implies its end.
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

    /// Whether an element that starts here has an end tag.
    fn ends_later(&self, name: &str) -> bool {
        self.ends.as_ref().is_none_or(|(ends, at)| ends.get(name).is_some_and(|end| end >= at))
    }

    /// Whether an end tag is inside a hidden element or closes it.
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

/// Returns the number of rows or columns that a cell spans.
fn span(tag: &HtmlTag, name: &str) -> usize {
    tag.attribute(name).and_then(|text| text.trim().parse().ok()).unwrap_or(1)
}
