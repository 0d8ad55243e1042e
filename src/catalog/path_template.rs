//! Path templates: `/pets/{petId}`, and what real documents write instead.

/// One `{...}` of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Slot {
    /// What stands between the braces.
    pub(super) token: String,
    /// The parameter's name: the token without the operators of RFC 6570 (`+`, `*` and others), which some documents write.
    pub(super) name: String,
    /// May its values have slashes, as `{+name}` and `{name+}` say?
    pub(super) is_reserved: bool,
}

/// The slots of `path`, in order, each once. A fragment is not looked at: it only tells operations apart that share a path.
pub(super) fn slots(path: &str) -> Result<Vec<Slot>, String> {
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

/// A name that is nothing but operators stays as it is.
fn slot(token: &str) -> Slot {
    let name = token.trim_start_matches(['+', '#', '.', '/', ';', '&', '?']).trim_end_matches(['+', '*']).trim();
    Slot {
        token: token.to_owned(),
        name: if name.is_empty() { token } else { name }.to_owned(),
        is_reserved: token.starts_with('+') || token.ends_with('+'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_found_whatever_operators_they_bear() {
        let cases = [
            ("/pets/{petId}", vec!["petId"]),
            ("/#X-Amz-Target=A.{b}", vec![]),
            ("/{Bucket}/{Key+}", vec!["Bucket", "Key"]),
            ("/v1/{+name}:run{.format}", vec!["name", "format"]),
            ("/{a}/{a}?part={b}", vec!["a", "b"]),
            ("/{+}", vec!["+"]),
        ];
        for (path, names) in cases {
            let found: Vec<String> = slots(path).unwrap().into_iter().map(|slot| slot.name).collect();
            assert_eq!(found, names, "{path}");
        }
        assert!(slots("/{Key+}").unwrap()[0].is_reserved);
    }

    #[test]
    fn braces_that_name_nothing_are_an_error() {
        for path in ["/{open", "/{}", "/{a/{b}}"] {
            assert!(slots(path).is_err(), "{path}");
        }
    }
}
