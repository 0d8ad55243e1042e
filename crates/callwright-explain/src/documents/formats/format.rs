//! Format of a documentation file, by its content where that is unmistakable, and otherwise by its extension.

use std::path::Path;

use callwright_common::limits::SHORT_BODY_BYTES;
use callwright_common::text::beginning_bytes;

/// Formats that have a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DocumentFormat {
    /// Markdown, also with HTML or components in it.
    Markdown,
    Html,
    Rst,
    Asciidoc,
    /// JSON or JSON Lines.
    Json,
    Yaml,
    /// Values separated by commas, semicolons, tabs or bars.
    Delimited,
    Plain,
}

/// Extensions of documentation files and their formats.
const ENDINGS: [(&str, DocumentFormat); 9] = [
    ("md markdown mdx mdown", DocumentFormat::Markdown),
    ("html htm xhtml", DocumentFormat::Html),
    ("txt text", DocumentFormat::Plain),
    ("json jsonl ndjson", DocumentFormat::Json),
    ("csv tsv", DocumentFormat::Delimited),
    ("yml yaml", DocumentFormat::Yaml),
    ("rst rest", DocumentFormat::Rst),
    ("adoc asciidoc asc", DocumentFormat::Asciidoc),
    ("properties proto", DocumentFormat::Plain),
];

/// Returns the extensions of documentation files.
pub fn documentation_endings() -> impl Iterator<Item = &'static str> {
    ENDINGS.iter().flat_map(|(endings, _)| endings.split(' '))
}

/// Whether the file has the extension of a documentation file.
pub(crate) fn is_documentation(path: &Path) -> bool {
    by_ending(path).is_some()
}

fn by_ending(path: &Path) -> Option<DocumentFormat> {
    let ending = path.extension()?.to_string_lossy().to_ascii_lowercase();
    ENDINGS.iter().find(|(endings, _)| endings.split(' ').any(|one| one == ending)).map(|(_, format)| *format)
}

/// Returns the format of a file.
pub(crate) fn format_of(path: &Path, text: &str) -> DocumentFormat {
    match by_ending(path).unwrap_or(DocumentFormat::Markdown) {
        DocumentFormat::Plain => by_content(text).unwrap_or(DocumentFormat::Plain),
        DocumentFormat::Markdown => by_markup(text).unwrap_or(DocumentFormat::Markdown),
        format => format,
    }
}

/// Returns the format of a text without a meaningful extension.
fn by_content(text: &str) -> Option<DocumentFormat> {
    let start = text.trim_start();
    if start.starts_with(['{', '[']) && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok() {
        return Some(DocumentFormat::Json);
    }
    let lower: String = start.chars().take(20).flat_map(char::to_lowercase).collect();
    if ["<!doctype html", "<html", "<table", "<body", "<dl", "<h1"].iter().any(|tag| lower.starts_with(tag)) {
        return Some(DocumentFormat::Html);
    }
    by_markup(text).or_else(|| has_markdown(text).then_some(DocumentFormat::Markdown))
}

/// Returns the format of a text with directives or tables that only one format has.
fn by_markup(text: &str) -> Option<DocumentFormat> {
    let (mut asciidoc, mut rst, mut markdown) = (0, 0, 0);
    for line in examined(text).lines() {
        asciidoc += usize::from(line == "|===" || line.starts_with("== ") || line.starts_with("=== "));
        rst += usize::from(is_directive(line) || line.starts_with("+--") && line.ends_with("-+"));
        markdown += usize::from(line.starts_with('#') || line.starts_with("```"));
    }
    if asciidoc > markdown && asciidoc >= rst && asciidoc > 1 {
        Some(DocumentFormat::Asciidoc)
    } else if rst > markdown && rst > 0 {
        Some(DocumentFormat::Rst)
    } else {
        None
    }
}

fn is_directive(line: &str) -> bool {
    let name = line.trim_start().strip_prefix(".. ").and_then(|rest| rest.split_once("::")).map(|(name, _)| name);
    name.is_some_and(|name| !name.is_empty() && !name.contains(' '))
}

/// Whether a text has a heading and a table or fence of Markdown.
fn has_markdown(text: &str) -> bool {
    examined(text).lines().any(|line| {
        let bars = line.bytes().all(|byte| matches!(byte, b'|' | b'-' | b':' | b' '));
        bars && line.contains("--") && line.contains('|') || line.starts_with("```") || line.starts_with("## ")
    })
}

fn examined(text: &str) -> &str {
    beginning_bytes(text, SHORT_BODY_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_decides_where_the_extension_does_not() {
        let cases = [
            ("a.txt", "{\"a\": 1}", DocumentFormat::Json),
            ("a.txt", "<!DOCTYPE html><p>x", DocumentFormat::Html),
            ("a.txt", "Errors\n\n| Code | Text |\n|---|---|\n| 1 | x |\n", DocumentFormat::Markdown),
            ("a.txt", "Errors\n======\n\n.. note:: x\n", DocumentFormat::Rst),
            ("a.txt", "7101: x\n", DocumentFormat::Plain),
            ("a.md", "= Errors\n\n== All\n\n|===\n| a | b\n|===\n", DocumentFormat::Asciidoc),
            ("a.md", "# Errors\n\n== no ==\n", DocumentFormat::Markdown),
            ("errors", "# Errors", DocumentFormat::Markdown),
            ("a.rst", "# x", DocumentFormat::Rst),
            ("a.yml", "a: b", DocumentFormat::Yaml),
        ];
        for (name, text, expected) in cases {
            assert_eq!(format_of(Path::new(name), text), expected, "{name}: {text}");
        }
    }
}
