//! Parses YAML as raw JSON.

use std::ops::Range;

use serde_json::Value;

use super::general::general;
use super::parsed::{ParsedText, Syntax};
use super::{quick, repair};
use crate::discovery;

/// Stack size of the YAML parser. It recurses and needs about 24 KiB per level of nesting in debug builds.
const YAML_STACK_BYTES: usize = 16 * 1024 * 1024;

/// Candidate widths of a tab, in spaces.
const TAB_WIDTHS: [usize; 3] = [2, 4, 8];

/// Parses a YAML text; if it has several documents, parses one of them.
pub(super) fn parse(text: String) -> Result<ParsedText, String> {
    let Some(document) = one_document(&text) else { return one(text) };
    let what = "has several YAML documents; the first OpenAPI document among them is read, else the first one";
    let mut parsed = one(document)?;
    parsed.remarks.insert(0, what.to_owned());
    Ok(parsed)
}

/// Parses one document, with repairs if necessary.
fn one(text: String) -> Result<ParsedText, String> {
    if let Some(value) = quick::read(&text) {
        return Ok(ParsedText { value, text, syntax: Syntax::Yaml, remarks: Vec::new() });
    }
    let error = match parse_in_thread(&text) {
        Ok((value, remark)) => {
            return Ok(ParsedText { value, text, syntax: Syntax::Yaml, remarks: remark.into_iter().collect() });
        }
        Err(error) => error,
    };
    let visible = repair::without_controls(&text);
    let tabbed = TAB_WIDTHS.into_iter().filter_map(|width| {
        let what = format!("has tabs that indent lines, which YAML does not allow; each is read as {width} spaces");
        Some((repair::with_spaces_for_tabs(visible.as_ref().unwrap_or(&text), width)?, what))
    });
    let controls = "has control characters; they are read as spaces";
    let plain = visible.as_ref().map(|text| (text.clone(), controls.to_owned()));
    for (text, what) in plain.into_iter().chain(tabbed) {
        if let Ok((value, remark)) = parse_in_thread(&text) {
            let remarks = std::iter::once(what).chain(remark).collect();
            return Ok(ParsedText { value, text, syntax: Syntax::Yaml, remarks });
        }
    }
    Err(error)
}

/// Parses a YAML document and returns its value with a remark about faults. Uses a separate thread whose stack
/// suffices for the accepted nesting, independent of the caller's stack.
fn parse_in_thread(text: &str) -> Result<(Value, Option<String>), String> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("yaml".to_owned()).stack_size(YAML_STACK_BYTES);
        let parser = thread.spawn_scoped(scope, || general(text));
        let parser = parser.map_err(|error| format!("cannot start the YAML parser: {error}"))?;
        parser.join().unwrap_or_else(|_| Err("the YAML parser failed on this document".to_owned()))
    })
}

/// Returns the selected document on its original lines if the stream has several documents: the first OpenAPI
/// document, otherwise the first that is not empty.
fn one_document(text: &str) -> Option<String> {
    let documents: Vec<Range<usize>> =
        documents(text).into_iter().filter(|range| text.get(range.clone()).is_some_and(has_content)).collect();
    if documents.len() < 2 {
        return None;
    }
    let openapi = documents.iter().find(|range| text.get((*range).clone()).is_some_and(discovery::claims_in));
    let chosen = openapi.or(documents.first())?;
    let lines_before = text.get(..chosen.start)?.matches('\n').count();
    Some("\n".repeat(lines_before) + text.get(chosen.clone())?)
}

/// Returns the ranges of the documents in the stream, without the markers between them. A scalar cannot contain such
/// a marker (YAML 1.2.2, section 9.1.2).
fn documents(text: &str) -> Vec<Range<usize>> {
    let mut documents = Vec::new();
    let (mut start, mut at) = (0, 0);
    for line in text.split_inclusive('\n') {
        let rest = line.strip_prefix("---").or_else(|| line.strip_prefix("..."));
        if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(|c: char| c.is_ascii_whitespace())) {
            documents.push(start..at);
            // The rest of the marker's line belongs to the document.
            start = at + 3;
        }
        at += line.len();
    }
    documents.push(start..at);
    documents
}

fn has_content(text: &str) -> bool {
    text.lines().map(str::trim).any(|line| !line.is_empty() && !line.starts_with(['#', '%', '\u{feff}']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_openapi_document_is_selected_and_keeps_its_lines() {
        assert_eq!(one_document("a: 1\n---\nopenapi: 3.0.0\n---\nb: 2\n").as_deref(), Some("\n\nopenapi: 3.0.0\n"));
        assert_eq!(one_document("--- {a: 1}\n--- {swagger: '2.0'}").as_deref(), Some("\n {swagger: '2.0'}"));
        assert_eq!(one_document("a: 1\n...\nb: 2\n").as_deref(), Some("a: 1\n"));
    }

    #[test]
    fn a_single_document_is_unchanged() {
        for text in [
            "", "a: 1\n", "# c\n%YAML 1.2\n---\na: 1\n", "a: 1\n---\n# nothing\n", "a: |\n  ---\n  b\n",
            "----\n---a: 1\n",
        ] {
            assert_eq!(one_document(text), None, "{text}");
        }
    }
}
