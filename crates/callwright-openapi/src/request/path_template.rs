//! Path templates: `/pets/{petId}`, non-standard notations in real documents, and the path parameters that fill them.

use crate::{DocumentOperation, LoadNotes, LocatedValue, Location, OperationParameter, Style};
use callwright_common::text::letters;

/// One template expression `{...}` of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PathSlot {
    /// The text between the braces.
    pub(crate) token: String,
    /// The parameter's name: the token without operators of RFC 6570 (`+`, `*` and others), which some documents use.
    pub(crate) name: String,
    /// Whether its values may contain slashes, as with `{+name}` and `{name+}`.
    pub(crate) is_reserved: bool,
}

/// Returns the distinct slots of `path` in order. Ignores the fragment, which only distinguishes operations that
/// share a path.
pub(crate) fn slots(path: &str) -> Result<Vec<PathSlot>, String> {
    let mut rest = path.split('#').next().unwrap_or_default();
    let mut slots = Vec::new();
    while let Some((_, behind)) = rest.split_once('{') {
        let (token, after) =
            behind.split_once('}').ok_or_else(|| format!("the path `{path}` has a `{{` without its `}}`"))?;
        if token.is_empty() || token.contains(['{', '/']) {
            return Err(format!("`{{{token}}}` in the path `{path}` names no parameter"));
        }
        let slot = slot(token);
        if !slots.contains(&slot) {
            slots.push(slot);
        }
        rest = after;
    }
    Ok(slots)
}

/// Rewrites `path` so that every template expression has the form `{name}`. `described` lists the names of the
/// described path parameters.
///
/// Frameworks have notations of their own, which generators and authors leave in documents: `:name`, `<name>`,
/// `{name:pattern}`, `{name?}`, `{*name}`, `{name=projects/*}`. Doubled or unclosed braces are treated as one pair.
/// An expression without a name gets the name of the unassigned parameter. `{?a,b}` of RFC 6570 denotes query
/// parameters, which a document describes separately, and is removed.
pub(crate) fn normalised_template(path: &str, described: &[&str]) -> String {
    let mut written = String::new();
    let mut rest = path;
    while let Some((before, behind)) = rest.split_once('{') {
        written.push_str(before);
        let (token, after) = token(behind);
        rest = after;
        let name = plain_token(token, described);
        match name.as_deref() {
            None => {}
            Some("") => {
                let unplaced = described.iter().find(|name| !path.contains(&format!("{{{name}}}")));
                written.push_str(&format!("{{{}}}", unplaced.unwrap_or(&UNNAMED)));
            }
            Some(name) => written.push_str(&format!("{{{name}}}")),
        }
    }
    written.push_str(rest);
    let unplaced = described.iter().filter(|name| !written.contains(&format!("{{{name}}}")));
    let unplaced: Vec<&str> = unplaced.copied().collect();
    let segments = written.split('/').map(|segment| {
        let meant = unplaced
            .iter()
            .find(|name| [format!(":{name}"), format!("<{name}>"), format!("[{name}]")].contains(&segment.to_owned()));
        meant.map_or_else(|| segment.to_owned(), |name| format!("{{{name}}}"))
    });
    segments.collect::<Vec<_>>().join("/")
}

/// Name of an expression without a name if no parameter is left for it.
const UNNAMED: &str = "value";

/// Splits the text behind an opening brace into the token and the rest. Without a closing brace, the token ends with
/// the path segment.
fn token(behind: &str) -> (&str, &str) {
    let mut depth = 1_usize;
    let mut is_pattern = false;
    for (at, letter) in behind.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            // A pattern may contain slashes; a name may not.
            '=' | ':' => is_pattern = true,
            '/' if !is_pattern => return behind.split_at(at),
            _ => {}
        }
        if depth == 0 {
            return (behind.get(..at).unwrap_or_default(), behind.get(at + 1..).unwrap_or_default());
        }
    }
    behind.split_at(behind.find('/').unwrap_or(behind.len()))
}

/// Returns the token reduced to the parameter's name; `None` if it does not belong to the path.
fn plain_token(token: &str, described: &[&str]) -> Option<String> {
    let token = token.trim_matches(['{', '}']);
    if described.contains(&token) {
        return Some(token.to_owned());
    }
    if token.starts_with(['?', '&', '#']) && token.len() > 1 {
        return None;
    }
    if let Some((name, _)) = token.split_once('=') {
        return Some(format!("+{}", name.trim()));
    }
    let name = token.split(':').next().unwrap_or_default().trim_end_matches('?');
    let rest = name.trim_start_matches('*');
    Some(if rest.len() < name.len() && !rest.is_empty() { format!("+{rest}") } else { name.to_owned() })
}

/// Parses a token. A token that consists only of operators is kept as the name.
fn slot(token: &str) -> PathSlot {
    let name = token.trim_start_matches(['+', '#', '.', '/', ';', '&', '?']).trim_end_matches(['+', '*']).trim();
    PathSlot {
        token: token.to_owned(),
        name: if name.is_empty() { token } else { name }.to_owned(),
        is_reserved: token.starts_with('+') || token.ends_with('+'),
    }
}

/// A path and the parameters of its operation, one for each template expression.
pub(crate) struct TemplateParameters<'d> {
    /// The path template, with `{name}` for every template expression.
    pub(crate) path: String,
    pub(crate) parameters: Vec<OperationParameter<'d>>,
}

/// Assigns a parameter to every template expression of the path. Drops path parameters without an expression, which
/// cannot be sent. An expression without a described parameter accepts any string.
pub(crate) fn match_template<'d>(
    source: &DocumentOperation<'d>,
    mut parameters: Vec<OperationParameter<'d>>,
    notes: &mut LoadNotes,
) -> Result<TemplateParameters<'d>, String> {
    let in_path = parameters.iter().filter(|parameter| parameter.location == Location::Path);
    let described: Vec<&str> = in_path.map(|parameter| parameter.name.as_str()).collect();
    let path = normalised_template(source.path, &described);
    if path != source.path {
        notes.remark(format!("the path is read as `{path}`"));
    }
    let mut empty = slots(&path)?;
    for matches in [is_named, is_named_alike, is_only_one] {
        fill(&mut parameters, &mut empty, matches, notes);
    }
    parameters.retain(|parameter| {
        let is_sendable = parameter.location != Location::Path || parameter.slot.is_some();
        if !is_sendable {
            notes.remark(format!("path parameter `{}` has no place in the path; left out", parameter.name));
        }
        is_sendable
    });
    let mut all: Vec<OperationParameter<'d>> = Vec::new();
    for slot in &empty {
        notes.remark(format!("path parameter `{}` is not described; any text is accepted", slot.name));
        all.push(undescribed(slot, &source.operation));
    }
    all.extend(parameters);
    Ok(TemplateParameters { path, parameters: all })
}

/// Whether the parameter `name` belongs to `slot`. `unassigned` has the numbers of unassigned slots and parameters.
type SlotMatcher = fn(name: &str, slot: &PathSlot, unassigned: (usize, usize)) -> bool;

fn is_named(name: &str, slot: &PathSlot, _: (usize, usize)) -> bool {
    name == slot.token || name == slot.name
}

/// Whether the names differ only in case and separators: `petId` matches `{pet_id}`.
fn is_named_alike(name: &str, slot: &PathSlot, _: (usize, usize)) -> bool {
    let [name, slot] = [name, &slot.name].map(letters);
    !name.is_empty() && name == slot
}

fn is_only_one(_: &str, _: &PathSlot, unassigned: (usize, usize)) -> bool {
    unassigned == (1, 1)
}

/// Removes the slots from `empty` that match an unassigned parameter, and assigns them.
fn fill(
    parameters: &mut [OperationParameter<'_>],
    empty: &mut Vec<PathSlot>,
    matches: SlotMatcher,
    notes: &mut LoadNotes,
) {
    let unassigned = (empty.len(), parameters.iter().filter(|parameter| is_unassigned(parameter)).count());
    empty.retain(|slot| {
        let parameter = parameters
            .iter_mut()
            .find(|parameter| is_unassigned(parameter) && matches(&parameter.name, slot, unassigned));
        let Some(parameter) = parameter else { return true };
        if !is_named(&parameter.name, slot, unassigned) {
            notes.remark(format!("path parameter `{}` is used for `{{{}}}` in the path", parameter.name, slot.token));
        }
        parameter.slot = Some(slot.token.clone());
        parameter.allow_reserved |= slot.is_reserved;
        false
    });
}

/// Whether it is a path parameter without a template expression.
fn is_unassigned(parameter: &OperationParameter<'_>) -> bool {
    parameter.location == Location::Path && parameter.slot.is_none()
}

fn undescribed<'d>(slot: &PathSlot, operation: &LocatedValue<'d>) -> OperationParameter<'d> {
    OperationParameter {
        name: slot.name.clone(),
        slot: Some(slot.token.clone()),
        location: Location::Path,
        required: true,
        style: Style::Simple,
        explode: false,
        allow_reserved: slot.is_reserved,
        allows_empty: false,
        media_type: None,
        nested: Vec::new(),
        schema: None,
        description: None,
        deprecated: false,
        at: operation.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_recognised_with_every_operator() {
        let cases = [
            ("/pets/{petId}", vec!["petId"]),
            ("/#X-Amz-Target=A.{b}", vec![]),
            ("/{Bucket}/{Key+}", vec!["Bucket", "Key"]),
            ("/v1/{+name}:run{.format}", vec!["name", "format"]),
            ("/{a}/{a}?part={b}", vec!["a", "b"]),
            ("/{+}", vec!["+"]),
        ];
        for (path, names) in cases {
            let parsed: Vec<String> = slots(path).unwrap().into_iter().map(|slot| slot.name).collect();
            assert_eq!(parsed, names, "{path}");
        }
        assert!(slots("/{Key+}").unwrap()[0].is_reserved);
    }

    #[test]
    fn template_expressions_in_other_notations_are_normalised() {
        for (path, described, expected) in [
            ("/pets/{petId}", vec!["petId"], "/pets/{petId}"),
            ("/pets/:id/toys/:name", vec!["id"], "/pets/{id}/toys/:name"),
            ("/pets/<id>/[toy]", vec!["id", "toy"], "/pets/{id}/{toy}"),
            ("/pets/{id:[0-9]{4}}/x", vec!["id"], "/pets/{id}/x"),
            ("/pets/{id:int}/{page?}", vec![], "/pets/{id}/{page}"),
            ("/files/{*path}", vec!["path"], "/files/{+path}"),
            ("/v1/{name=projects/*/keys/*}:run", vec!["name"], "/v1/{+name}:run"),
            ("/pets/{{id}}", vec!["id"], "/pets/{id}"),
            ("/pets/{id", vec!["id"], "/pets/{id}"),
            ("/pets/{id/toys", vec!["id"], "/pets/{id}/toys"),
            ("/pets/{}", vec!["id"], "/pets/{id}"),
            ("/pets/{}", vec![], "/pets/{value}"),
            ("/pets{?limit,page}", vec![], "/pets"),
            ("/{Bucket}/{Key+}#x=A.{b}", vec!["Bucket"], "/{Bucket}/{Key+}#x=A.{b}"),
            ("/a:b/{c}:run", vec![], "/a:b/{c}:run"),
        ] {
            assert_eq!(normalised_template(path, &described), expected, "{path}");
        }
    }

    #[test]
    fn braces_without_a_name_are_an_error() {
        for path in ["/{open", "/{}", "/{a/{b}}"] {
            assert!(slots(path).is_err(), "{path}");
        }
    }
}
