//! Parses Markdown runbooks.
//!
//! A workflow is an ordered list below a heading. Each item names its operation in code: a tool, an `operationId`, or
//! method and path. Further code of the item names arguments: `name` is an input, `name = value` a constant, and
//! `name = step 1 /path` the value at a JSON Pointer in the answer to the item with that number. Items without code are
//! notes.

use pulldown_cmark::{Event, Parser, Tag, TagEnd};
use serde_json::Value;

use super::{ImportedStep, ImportedWorkflow, OperationName, input, label};
use callwright_common::json::Pointer;
use callwright_types::plan::{Argument, Item, Reference, Source};

/// Methods of HTTP, in upper case.
const METHODS: [&str; 8] = ["GET", "PUT", "POST", "DELETE", "OPTIONS", "HEAD", "PATCH", "QUERY"];

/// Returns the workflows of a runbook.
pub(super) fn parse(text: &str) -> Vec<ImportedWorkflow> {
    let mut parser = RunbookParser::default();
    for event in Parser::new(text) {
        parser.event(event);
    }
    parser.workflows
}

#[derive(Default)]
struct RunbookParser {
    workflows: Vec<ImportedWorkflow>,
    heading: String,
    /// First paragraph below the heading.
    summary: String,
    in_heading: bool,
    in_paragraph: bool,
    /// Nesting of lists; the ordered list at the top has level 1.
    list_depth: usize,
    is_ordered: bool,
    /// Number of the current item.
    number: usize,
    /// Code of each item that has any, with the item's number.
    items: Vec<(usize, Vec<String>)>,
    item: Vec<String>,
}

impl RunbookParser {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(Tag::Heading { .. }) => self.begin_heading(),
            Event::End(TagEnd::Heading(_)) => self.in_heading = false,
            Event::Start(Tag::Paragraph) => self.in_paragraph = self.list_depth == 0 && self.summary.is_empty(),
            Event::End(TagEnd::Paragraph) => self.in_paragraph = false,
            Event::Start(Tag::List(start)) => {
                self.list_depth += 1;
                if self.list_depth == 1 {
                    self.is_ordered = start.is_some();
                    self.number = start.and_then(|start| usize::try_from(start).ok()).unwrap_or(1);
                }
            }
            Event::End(TagEnd::List(_)) => {
                self.list_depth = self.list_depth.saturating_sub(1);
                if self.list_depth == 0 && self.is_ordered {
                    self.finish_list();
                }
            }
            Event::End(TagEnd::Item) if self.list_depth == 1 => {
                let item = std::mem::take(&mut self.item);
                if !item.is_empty() {
                    self.items.push((self.number, item));
                }
                self.number = self.number.saturating_add(1);
            }
            Event::Code(code) if self.list_depth > 0 => self.item.push(code.trim().to_owned()),
            Event::Text(text) | Event::Code(text) => self.text(&text),
            Event::SoftBreak | Event::HardBreak => self.text(" "),
            _ => {}
        }
    }

    fn begin_heading(&mut self) {
        self.heading.clear();
        self.summary.clear();
        self.in_heading = true;
    }

    fn text(&mut self, text: &str) {
        if self.in_heading {
            self.heading.push_str(text);
        } else if self.in_paragraph {
            self.summary.push_str(text);
        }
    }

    fn finish_list(&mut self) {
        let items = std::mem::take(&mut self.items);
        let mut steps = Vec::with_capacity(items.len());
        for (number, code) in &items {
            let Some((operation, arguments)) = code.split_first() else { continue };
            steps.push(ImportedStep {
                label: label(*number),
                operation: operation_name(operation),
                arguments: arguments.iter().filter_map(|code| argument(code, *number)).collect(),
            });
        }
        if steps.is_empty() {
            return;
        }
        let summary = if self.heading.is_empty() { &self.summary } else { &self.heading };
        let name = if self.heading.is_empty() { "steps" } else { &self.heading };
        self.workflows.push(ImportedWorkflow { name: name.to_owned(), summary: summary.clone(), steps });
    }
}

fn operation_name(code: &str) -> OperationName {
    let method_and_path = code.split_once(' ').filter(|(method, _)| METHODS.contains(method));
    match method_and_path {
        Some((method, path)) => OperationName::Path(method.to_owned(), path.trim().to_owned()),
        None => OperationName::Id(code.trim_end_matches("()").to_owned()),
    }
}

/// Parses the code of an argument in the step with this number.
fn argument(code: &str, number: usize) -> Option<Argument> {
    let (name, value) = code.split_once('=').map_or((code, None), |(name, value)| (name, Some(value.trim())));
    let name = name.trim();
    let is_name = !name.is_empty() && !name.contains(char::is_whitespace);
    let source = match value {
        None => input(name),
        Some(value) => output(value, number).unwrap_or_else(|| constant(value)),
    };
    is_name.then(|| Argument { name: name.to_owned(), source })
}

/// Parses `step 1 /path`, a value of an earlier step.
fn output(value: &str, number: usize) -> Option<Source> {
    let rest = value.strip_prefix("step")?.trim_start();
    let (from, pointer) = rest.split_once('/')?;
    let from: usize = from.trim().parse().ok().filter(|from| *from < number)?;
    let mut output = Pointer::root();
    let mut item = Item::Whole;
    for token in Pointer::from(format!("/{pointer}").as_str()).tokens() {
        let is_index = token.bytes().all(|byte| byte.is_ascii_digit());
        item = if is_index { Item::Chosen } else { item };
        output = if is_index { output.item(0) } else { output.child(&token) };
    }
    Some(Source::Output(Reference { node: label(from), output, item }))
}

fn constant(value: &str) -> Source {
    let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
    Source::Value { value, words: String::new() }
}
