//! Parses YAML as raw JSON.

use serde_json::Value;

use super::general::general;
use super::parsed::{ParsedText, Syntax};
use super::{quick, repair, stream};

/// Stack size of the YAML parser. It recurses and needs about 24 KiB per level of nesting in debug builds.
const YAML_STACK_BYTES: usize = 16 * 1024 * 1024;

/// Candidate widths of a tab, in spaces.
const TAB_WIDTHS: [usize; 3] = [2, 4, 8];

/// Parses a YAML text; if it has several documents, parses one of them.
pub(super) fn parse(text: String) -> Result<ParsedText, String> {
    let Some(document) = stream::one_document(&text) else { return one(text) };
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
