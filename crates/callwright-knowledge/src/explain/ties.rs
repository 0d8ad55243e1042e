//! Which operations a section of further documentation belongs to: by what the operator says, and by its headings.

use std::sync::Arc;

use super::Section;
use callwright_types::rules::ToolGlobs;

/// What operations are called.
#[derive(Debug, Clone, Copy)]
pub struct OperationNames<'a> {
    /// The tool's name within its toolset.
    pub tool: &'a str,
    /// The document's `operationId`.
    pub id: Option<&'a str>,
    /// The HTTP method.
    pub method: &'a str,
    /// The path template.
    pub path: &'a str,
    /// The document's tags.
    pub tags: &'a [String],
}

/// Globs of which one has to fit, each on names of its kind. Where there is none, documentation belongs to the whole toolset.
#[derive(Debug, Clone, Copy)]
pub struct Ties<'a> {
    /// Names of tools and `operationId`s.
    pub operations: &'a ToolGlobs,
    /// Paths.
    pub paths: &'a ToolGlobs,
    /// Tags.
    pub tags: &'a ToolGlobs,
}

impl Ties<'_> {
    /// Notes for each section which of the operations it belongs to: those that its headings name, of those that the globs fit; where the
    /// headings name none, all that the globs fit.
    pub fn tie(&self, sections: &mut [Section], operations: &[OperationNames<'_>]) {
        let open = self.operations.is_empty() && self.paths.is_empty() && self.tags.is_empty();
        let fitting: Vec<_> = operations.iter().filter(|operation| open || self.fit(operation)).collect();
        // One list for all sections: there may be thousands of both.
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
        let fit = |globs: &ToolGlobs, name: &str| !globs.is_empty() && globs.fit(name);
        fit(self.operations, operation.tool)
            || operation.id.is_some_and(|id| fit(self.operations, id))
            || fit(self.paths, operation.path)
            || operation.tags.iter().any(|tag| fit(self.tags, tag))
    }
}

/// The tools that the innermost heading names which names any: by the tool's name or `operationId` as the whole heading, or by the path,
/// with the method before it or alone.
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
    let is_name = |word: &str| word == operation.tool || operation.id == Some(word);
    let is_method = |word: &str| METHODS.iter().any(|method| method.eq_ignore_ascii_case(word));
    let before = |at: usize| at.checked_sub(1).and_then(|before| heading.get(before)).filter(|word| is_method(word));
    let by_path = heading.iter().enumerate().any(|(at, word)| {
        let other_method = before(at).is_some_and(|method| !method.eq_ignore_ascii_case(operation.method));
        word.trim_end_matches('/') == operation.path.trim_end_matches('/') && operation.path.len() > 1 && !other_method
    });
    by_path || matches!(heading, [name] if is_name(name))
}

/// Words that are methods where a path follows.
const METHODS: [&str; 8] = ["GET", "PUT", "POST", "DELETE", "OPTIONS", "HEAD", "PATCH", "TRACE"];

#[cfg(test)]
mod tests {
    use super::*;

    fn globs(texts: &[&str]) -> ToolGlobs {
        ToolGlobs::new(texts.iter().map(|text| (*text).to_owned()).collect()).unwrap()
    }

    fn tied(headings: &[&str], operations: &[&str], paths: &[&str], tags: &[&str]) -> Vec<String> {
        let (sms, admin) = (["sms".to_owned()], ["admin".to_owned()]);
        let known = [
            OperationNames { tool: "send", id: Some("sendMessage"), method: "POST", path: "/messages", tags: &sms },
            OperationNames { tool: "list", id: None, method: "GET", path: "/messages", tags: &sms },
            OperationNames { tool: "remove", id: None, method: "DELETE", path: "/keys/{id}", tags: &admin },
        ];
        let mut sections =
            [Section { path: headings.iter().map(|text| (*text).to_owned()).collect(), ..Section::default() }];
        let (operations, paths, tags) = (globs(operations), globs(paths), globs(tags));
        Ties { operations: &operations, paths: &paths, tags: &tags }.tie(&mut sections, &known);
        sections[0].tools.to_vec()
    }

    #[test]
    fn sections_that_belong_to_the_same_operations_share_their_names() {
        let known = [OperationNames { tool: "send", id: None, method: "POST", path: "/messages", tags: &[] }];
        let mut sections = [Section::default(), Section::default()];
        let (all, none) = (globs(&["*"]), globs(&[]));
        Ties { operations: &all, paths: &none, tags: &none }.tie(&mut sections, &known);
        assert_eq!(sections[0].tools.to_vec(), ["send"]);
        assert!(Arc::ptr_eq(&sections[0].tools, &sections[1].tools));
    }

    #[test]
    fn sections_belong_to_the_operations_that_the_operator_names() {
        assert!(tied(&["Errors"], &[], &[], &[]).is_empty(), "the whole toolset");
        assert_eq!(tied(&["Errors"], &["send*"], &[], &[]), ["send"]);
        assert_eq!(tied(&["Errors"], &["sendM*"], &[], &[]), ["send"]);
        assert_eq!(tied(&["Errors"], &[], &["/mess*"], &[]), ["send", "list"]);
        assert_eq!(tied(&["Errors"], &["remove"], &[], &["sms"]), ["send", "list", "remove"]);
    }

    #[test]
    fn sections_belong_to_the_operations_that_their_headings_name() {
        assert_eq!(tied(&["Reference", "`sendMessage`", "Errors"], &[], &[], &[]), ["send"]);
        assert_eq!(tied(&["list"], &[], &[], &[]), ["list"]);
        assert_eq!(tied(&["POST /messages"], &[], &[], &[]), ["send"]);
        assert_eq!(tied(&["Errors of /messages/"], &[], &[], &[]), ["send", "list"]);
        assert_eq!(tied(&["DELETE `/keys/{id}`"], &[], &[], &["sms"]), ["send", "list"], "not one that the globs fit");
        assert!(tied(&["Send a list"], &[], &[], &[]).is_empty());
    }
}
