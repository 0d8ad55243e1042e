//! Confirmed and forbidden argument sources from the operator's YAML file.

use std::path::Path;

use serde::Deserialize;

use callwright_common::json::Pointer;
use callwright_common::limits::FILE_BYTES;
use callwright_common::watch::{FileError, read_file};
use callwright_common::yaml::{self, Bounds, YamlProblem};

const BOUNDS: Bounds = Bounds { depth: 16, events: 1_000_000 };

/// Argument sources that the operator confirms or forbids. Tools have their offered names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Edges {
    /// Sources with precedence over inferred ones.
    pub confirmed: Vec<Edge>,
    /// Sources that are never candidates.
    pub forbidden: Vec<Edge>,
}

/// Connection from one tool's answer to an argument of another.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edge {
    /// Name of the tool that supplies the value.
    pub from: String,
    /// Location of the value in its answer, as a JSON Pointer. `None`: the best match.
    pub output: Option<String>,
    /// Name of the tool that takes the value.
    pub to: String,
    /// Name of the argument. `None`: every argument; only valid for forbidden edges.
    pub argument: Option<String>,
}

/// Deserialized form of the file.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct EdgesFileForm {
    confirmed: Vec<Edge>,
    forbidden: Vec<Edge>,
}

impl Edges {
    /// Reads and parses a file.
    ///
    /// # Errors
    /// [`FileError`] with the file, the location and the fix.
    pub fn from_file(path: &Path) -> Result<Self, FileError> {
        let text = read_file(path, FILE_BYTES, "remove edges that are inferred anyway")?;
        Self::parse(&text).map_err(|problem| {
            let YamlProblem { line, column, message } = problem;
            FileError::Invalid { path: path.to_owned(), line, column, message }
        })
    }

    /// Parses a file's text.
    ///
    /// # Errors
    /// The problem with its location and fix.
    pub fn parse(text: &str) -> Result<Self, YamlProblem> {
        if yaml::is_blank(text) {
            return Ok(Self::default());
        }
        let EdgesFileForm { confirmed, forbidden } = yaml::read(text, BOUNDS)?;
        let edges = Self { confirmed, forbidden };
        match edges.first_mistake() {
            None => Ok(edges),
            Some((location, message)) => Err(yaml::problem_at(text, &location, message, BOUNDS)),
        }
    }

    /// Returns the first invalid or contradictory edge, with its location.
    fn first_mistake(&self) -> Option<(Pointer, String)> {
        let all = [("confirmed", &self.confirmed), ("forbidden", &self.forbidden)];
        for (list, edges) in all {
            for (at, edge) in edges.iter().enumerate() {
                let location = Pointer::root().child(list).item(at);
                let (location, message) = if edge.from.trim().is_empty() || edge.to.trim().is_empty() {
                    (location, "`from` and `to` are names of tools; give both")
                } else if list == "confirmed" && edge.argument.is_none() {
                    (location, "`argument` is missing; name the argument that the tool supplies")
                } else if list == "forbidden" && edge.output.is_some() {
                    (location.child("output"), "a forbidden edge covers the whole answer; remove `output`")
                } else if edge.output.as_deref().is_some_and(|output| !output.is_empty() && !output.starts_with('/')) {
                    (location.child("output"), "not a JSON Pointer; write `/rooms/0/id`, or remove it")
                } else {
                    continue;
                };
                return Some((location, message.to_owned()));
            }
        }
        let at = self.confirmed.iter().position(|edge| {
            self.forbidden.iter().any(|other| {
                (&other.from, &other.to) == (&edge.from, &edge.to)
                    && (other.argument.is_none() || other.argument == edge.argument)
            })
        })?;
        Some((Pointer::root().child("confirmed").item(at), "confirmed and also forbidden; remove one".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(from: &str, output: Option<&str>, to: &str, argument: Option<&str>) -> Edge {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        Edge { from: from.to_owned(), output: owned(output), to: to.to_owned(), argument: owned(argument) }
    }

    #[test]
    fn confirmed_and_forbidden_edges_are_parsed() {
        let text = "confirmed:\n- {from: people, output: /0/id, to: book, argument: person_id}\n\
                    forbidden:\n- {from: rooms, to: book, argument: person_id}\n- {from: log, to: book}\n";
        let edges = Edges::parse(text).unwrap();
        assert_eq!(edges.confirmed, [edge("people", Some("/0/id"), "book", Some("person_id"))]);
        assert_eq!(edges.forbidden, [edge("rooms", None, "book", Some("person_id")), edge("log", None, "book", None)]);
        assert_eq!(Edges::parse("# nothing yet\n").unwrap(), Edges::default());
    }

    #[test]
    fn mistakes_are_reported_with_their_location_and_fix() {
        for (text, line, expected) in [
            ("confirmed:\n- {from: a, to: b}\n", 2, "`argument` is missing"),
            ("confirmed:\n- {from: a, to: '', argument: c}\n", 2, "give both"),
            ("confirmed:\n- from: a\n  to: b\n  argument: c\n  output: id\n", 5, "not a JSON Pointer"),
            ("forbidden:\n- {from: a, to: b, output: /id}\n", 2, "remove `output`"),
            ("confirmed:\n- {from: a, to: b, argument: c}\nforbidden:\n- {from: a, to: b}\n", 2, "also forbidden"),
            ("confirm: []\n", 1, "did you mean `confirmed`?"),
            ("confirmed: 7\n", 1, "sequence"),
            ("confirmed: [", 1, ""),
        ] {
            let problem = Edges::parse(text).unwrap_err();
            assert!(problem.message.contains(expected), "{text:?}: {problem:?}");
            assert_eq!(problem.line, line, "{text:?}: {problem:?}");
        }
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named() {
        let error = Edges::from_file(Path::new("/nowhere/edges.yaml")).unwrap_err().to_string();
        assert!(error.contains("/nowhere/edges.yaml"), "{error}");
    }
}
