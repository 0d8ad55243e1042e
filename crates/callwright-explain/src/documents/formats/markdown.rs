//! Markdown (CommonMark with GitHub tables) → blocks.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::front_matter::without_front_matter;
use super::html::{Ends, Html, note_ends};
use super::writer::BlockWriter;
use crate::documents::blocks::{DEEPEST_HEADING, DocumentBlock};
use crate::documents::records::joined;
use callwright_common::text::one_line;

/// Parses Markdown. Links are replaced by their text and images by their alternative text. Embedded HTML is parsed as
/// HTML.
pub(crate) fn markdown(text: &str) -> Vec<DocumentBlock> {
    let text = &*without_front_matter(text);
    let mut reader = MarkdownReader { html: Html::within(ends(text)), block: None, hidden_inline: false };
    for (event, range) in Parser::new_ext(text, options()).into_offset_iter() {
        reader.html.at(range.start);
        reader.read(event);
    }
    reader.html.finish()
}

/// Returns the positions of the HTML end tags in a text, ignoring code.
fn ends(text: &str) -> Ends {
    let mut ends = Ends::default();
    if text.contains("</") {
        for (event, range) in Parser::new_ext(text, options()).into_offset_iter() {
            if let Event::Html(piece) | Event::InlineHtml(piece) = event {
                note_ends(&mut ends, &piece, range.start);
            }
        }
    }
    ends
}

fn options() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_HEADING_ATTRIBUTES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_DEFINITION_LIST
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_GFM
}

struct MarkdownReader {
    html: Html,
    /// Lines of the current HTML block.
    block: Option<String>,
    /// Whether the hidden element started within the current paragraph or cell. It ends there at the latest.
    hidden_inline: bool,
}

impl MarkdownReader {
    fn read(&mut self, event: Event<'_>) {
        match (&event, &mut self.block) {
            (Event::Start(Tag::HtmlBlock), block) => *block = Some(String::new()),
            (Event::Html(line), Some(block)) => block.push_str(line),
            (Event::End(TagEnd::HtmlBlock), block) => self.html.read(&block.take().unwrap_or_default()),
            (Event::InlineHtml(text), _) => {
                let was_hidden = self.html.is_hidden();
                self.html.read(text);
                self.hidden_inline = self.html.is_hidden() && (self.hidden_inline || !was_hidden);
            }
            (Event::Html(text), _) => self.html.read(text),
            (Event::End(tag), _) if self.hidden_inline && holds_text(*tag) => {
                self.html.show();
                self.hidden_inline = false;
            }
            _ => {}
        }
        if self.html.is_hidden() {
            return;
        }
        let to = self.html.writer();
        match event {
            Event::Start(tag) => start(to, &tag),
            Event::End(tag) => end(to, tag),
            Event::Text(text) => to.text(&text),
            Event::Code(code) => to.code(&code),
            Event::InlineMath(text) | Event::DisplayMath(text) => to.text(&text),
            Event::SoftBreak => to.text("\n"),
            Event::HardBreak => to.end_line(),
            Event::Rule => to.end_paragraph(),
            Event::FootnoteReference(_) | Event::TaskListMarker(_) | Event::Html(_) | Event::InlineHtml(_) => {}
        }
    }
}

/// Whether the tag ends a block whose content is text.
fn holds_text(tag: TagEnd) -> bool {
    matches!(
        tag,
        TagEnd::Paragraph | TagEnd::Heading(_) | TagEnd::TableCell | TagEnd::Item | TagEnd::DefinitionListTitle
    )
}

fn start(to: &mut BlockWriter, tag: &Tag<'_>) {
    match tag {
        Tag::Heading { level, .. } => to.begin_heading((*level as usize).min(DEEPEST_HEADING)),
        Tag::CodeBlock(_) => to.begin_code(),
        Tag::List(_) | Tag::DefinitionList => to.begin_list(),
        Tag::Item | Tag::DefinitionListTitle => to.begin_item(),
        Tag::Table(_) => to.begin_table(),
        Tag::TableHead => to.table_head(true),
        Tag::TableRow => to.next_row(),
        Tag::TableCell => to.begin_cell(false, (1, 1)),
        Tag::Strong => to.strong(true),
        Tag::Paragraph | Tag::BlockQuote(_) | Tag::FootnoteDefinition(_) | Tag::DefinitionListDefinition => {
            to.end_paragraph();
        }
        _ => {}
    }
}

fn end(to: &mut BlockWriter, tag: TagEnd) {
    match tag {
        TagEnd::Heading(_) | TagEnd::CodeBlock | TagEnd::Paragraph | TagEnd::BlockQuote(_) => to.end_paragraph(),
        TagEnd::FootnoteDefinition | TagEnd::DefinitionListTitle | TagEnd::DefinitionListDefinition => {
            to.end_paragraph()
        }
        TagEnd::List(_) | TagEnd::DefinitionList => to.end_list(),
        TagEnd::Item => to.end_item(),
        TagEnd::Table => to.end_table(),
        TagEnd::TableHead => to.table_head(false),
        TagEnd::TableRow => to.next_row(),
        TagEnd::TableCell => to.end_cell(),
        TagEnd::Strong => to.strong(false),
        _ => {}
    }
}

/// Returns the text of a value that may contain Markdown or HTML, in one line.
pub(crate) fn inline_text(text: &str) -> String {
    let is_marked = text.contains(['<', '[', '*', '&', '\\', '#', '\n']);
    if !is_marked {
        return one_line(text);
    }
    let texts: Vec<String> = markdown(text).into_iter().filter_map(DocumentBlock::into_text).collect();
    joined(&texts)
}
