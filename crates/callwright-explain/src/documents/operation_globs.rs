//! Assigns sections of further documentation to operations by the operator's globs and by their headings.

use std::sync::Arc;

use crate::Section;
use callwright_types::rules::ToolGlobs;

#[derive(Debug, Clone, Copy)]
pub struct OperationNames<'a> {
    /// Name of the tool within its toolset.
    pub tool: &'a str,
    /// The `operationId` in the document.
    pub id: Option<&'a str>,
    /// HTTP method.
    pub method: &'a str,
    /// Path template.
    pub path: &'a str,
    /// Tags in the document.
    pub tags: &'a [String],
}

/// Globs for names of operations, at least one of which must match. Without globs, documentation belongs to the whole
/// toolset.
#[derive(Debug, Clone, Copy)]
pub struct OperationGlobs<'a> {
    /// Globs for names of tools and `operationId`s.
    pub operations: &'a ToolGlobs,
    pub paths: &'a ToolGlobs,
    pub tags: &'a ToolGlobs,
}

impl OperationGlobs<'_> {
    /// Assigns operations to each section: those that match the globs and that its headings name, or all that match the
    /// globs if the headings name none.
    pub fn assign(&self, sections: &mut [Section], operations: &[OperationNames<'_>]) {
        let open = self.operations.is_empty() && self.paths.is_empty() && self.tags.is_empty();
        let fitting: Vec<_> = operations.iter().filter(|operation| open || self.fit(operation)).collect();
        // All sections share one list, because there may be thousands of both.
        let all: Arc<[String]> = match open {
            true => Arc::default(),
            false => fitting.iter().map(|operation| operation.tool.to_owned()).collect(),
        };
        for section in sections {
            let named = named_by_headings(&section.path, &fitting);
            section.tools = if named.is_empty() { Arc::clone(&all) } else { named.into() };
        }
    }

    fn fit(&self, operation: &OperationNames<'_>) -> bool {
        fits(self.operations, operation.tool)
            || operation.id.is_some_and(|id| fits(self.operations, id))
            || fits(self.paths, operation.path)
            || operation.tags.iter().any(|tag| fits(self.tags, tag))
    }
}

/// Whether a name matches the globs. Without globs, none does.
fn fits(globs: &ToolGlobs, name: &str) -> bool {
    !globs.is_empty() && globs.fit(name)
}

/// Returns the tools that the innermost heading with any names refers to: by the tool's name or `operationId` as the
/// whole heading, or by the path with or without its method.
fn named_by_headings(path: &[String], operations: &[&OperationNames<'_>]) -> Vec<String> {
    for heading in path.iter().rev() {
        let words: Vec<&str> = heading.split([' ', '`', ':', '(', ')', '"']).filter(|word| !word.is_empty()).collect();
        let named =
            operations.iter().filter(|operation| names(&words, operation)).map(|operation| operation.tool.to_owned());
        let tools: Vec<String> = named.collect();
        if !tools.is_empty() {
            return tools;
        }
    }
    Vec::new()
}

fn names(heading: &[&str], operation: &OperationNames<'_>) -> bool {
    let by_path = heading.iter().enumerate().any(|(at, word)| {
        let before = at.checked_sub(1).and_then(|before| heading.get(before));
        let other_method = before.is_some_and(|word| is_method(word) && !word.eq_ignore_ascii_case(operation.method));
        word.trim_end_matches('/') == operation.path.trim_end_matches('/') && operation.path.len() > 1 && !other_method
    });
    by_path || matches!(heading, [name] if *name == operation.tool || operation.id == Some(name))
}

fn is_method(word: &str) -> bool {
    METHODS.iter().any(|method| method.eq_ignore_ascii_case(word))
}

/// HTTP methods before a path.
const METHODS: [&str; 8] = ["GET", "PUT", "POST", "DELETE", "OPTIONS", "HEAD", "PATCH", "TRACE"];

#[cfg(test)]
mod tests {
    use super::*;

    fn globs(texts: &[&str]) -> ToolGlobs {
        ToolGlobs::new(texts.iter().map(|text| (*text).to_owned()).collect()).unwrap()
    }

    fn assigned(headings: &[&str], operations: &[&str], paths: &[&str], tags: &[&str]) -> Vec<String> {
        let (sms, admin) = (["sms".to_owned()], ["admin".to_owned()]);
        let named = [
            OperationNames { tool: "send", id: Some("sendMessage"), method: "POST", path: "/messages", tags: &sms },
            OperationNames { tool: "list", id: None, method: "GET", path: "/messages", tags: &sms },
            OperationNames { tool: "remove", id: None, method: "DELETE", path: "/keys/{id}", tags: &admin },
        ];
        let mut sections =
            [Section { path: headings.iter().map(|text| (*text).to_owned()).collect(), ..Section::default() }];
        let (operations, paths, tags) = (globs(operations), globs(paths), globs(tags));
        OperationGlobs { operations: &operations, paths: &paths, tags: &tags }.assign(&mut sections, &named);
        sections[0].tools.to_vec()
    }

    #[test]
    fn sections_of_the_same_operations_share_their_names() {
        let named = [OperationNames { tool: "send", id: None, method: "POST", path: "/messages", tags: &[] }];
        let mut sections = [Section::default(), Section::default()];
        let (all, none) = (globs(&["*"]), globs(&[]));
        OperationGlobs { operations: &all, paths: &none, tags: &none }.assign(&mut sections, &named);
        assert_eq!(sections[0].tools.to_vec(), ["send"]);
        assert!(Arc::ptr_eq(&sections[0].tools, &sections[1].tools));
    }

    #[test]
    fn sections_belong_to_the_operations_that_the_operator_names() {
        assert!(assigned(&["Errors"], &[], &[], &[]).is_empty(), "the whole toolset");
        assert_eq!(assigned(&["Errors"], &["send*"], &[], &[]), ["send"]);
        assert_eq!(assigned(&["Errors"], &["sendM*"], &[], &[]), ["send"]);
        assert_eq!(assigned(&["Errors"], &[], &["/mess*"], &[]), ["send", "list"]);
        assert_eq!(assigned(&["Errors"], &["remove"], &[], &["sms"]), ["send", "list", "remove"]);
    }

    #[test]
    fn sections_belong_to_the_operations_that_their_headings_name() {
        assert_eq!(assigned(&["Reference", "`sendMessage`", "Errors"], &[], &[], &[]), ["send"]);
        assert_eq!(assigned(&["list"], &[], &[], &[]), ["list"]);
        assert_eq!(assigned(&["POST /messages"], &[], &[], &[]), ["send"]);
        assert_eq!(assigned(&["Errors of /messages/"], &[], &[], &[]), ["send", "list"]);
        assert_eq!(
            assigned(&["DELETE `/keys/{id}`"], &[], &[], &["sms"]),
            ["send", "list"],
            "not one that the globs fit"
        );
        assert!(assigned(&["Send a list"], &[], &[], &[]).is_empty());
    }
}
