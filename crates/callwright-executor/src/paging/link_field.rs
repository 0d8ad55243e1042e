//! The `Link` header field (RFC 8288 section 3).

/// Returns the target of the first link with the relation `next` whose context is the response itself.
pub(super) fn next(values: &[String]) -> Option<String> {
    values.iter().find_map(|value| next_in(value))
}

fn next_in(value: &str) -> Option<String> {
    let mut rest = value;
    loop {
        rest = rest.get(rest.find('<')? + 1..)?;
        let (target, mut behind) = rest.split_once('>')?;
        let (mut is_next, mut has_relation, mut is_about_another) = (false, false, false);
        while let Some(parameter) = behind.trim_start().strip_prefix(';') {
            let (name, text, after) = parameter_of(parameter);
            // A second `rel` is ignored (section 3.3).
            if name.eq_ignore_ascii_case("rel") && !has_relation {
                has_relation = true;
                is_next = text.split_ascii_whitespace().any(|relation| relation.eq_ignore_ascii_case("next"));
            }
            is_about_another |= name.eq_ignore_ascii_case("anchor");
            behind = after;
        }
        if is_next && !is_about_another {
            return Some(target.trim().to_owned());
        }
        rest = behind;
    }
}

/// Parses a parameter: returns its name, its value and the rest of the text.
fn parameter_of(text: &str) -> (&str, String, &str) {
    let end = text.find(['=', ';', ',']).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let Some(value) = rest.strip_prefix('=') else { return (name.trim(), String::new(), rest) };
    match value.trim_start().strip_prefix('"') {
        Some(quoted) => {
            let (value, after) = quoted_string(quoted);
            (name.trim(), value, after)
        }
        None => {
            let end = value.find([';', ',']).unwrap_or(value.len());
            let (value, after) = value.split_at(end);
            (name.trim(), value.trim().to_owned(), after)
        }
    }
}

/// Returns the text up to the closing quotation mark, and the rest after it.
fn quoted_string(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return (value, text.get(at + 1..).unwrap_or_default()),
            '\\' => value.extend(letters.next().map(|(_, escaped)| escaped)),
            _ => value.push(letter),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_relation_next_is_selected_among_others() {
        for (value, target) in [
            (r#"<https://a.example.com/?page=2>; rel="next""#, "https://a.example.com/?page=2"),
            (r#"</1>; rel="prev", </3>; rel="next"; title="x", </9>; rel="last""#, "/3"),
            (r#"</a,b;c>; rel=next"#, "/a,b;c"),
            (r#"</1>;rel="first  NEXT""#, "/1"),
            (r#"< /1 > ; title="a, <b>; rel=\"next\"" ; rel = "prev", </2>; REL="next""#, "/2"),
            (r#"</1>; rel=prev; rel=next, </2>; rel=next"#, "/2"),
            (r##"</1>; rel=next; anchor="#part", </2>; rel=next"##, "/2"),
        ] {
            assert_eq!(next_in(value).as_deref(), Some(target), "{value}");
        }
    }

    #[test]
    fn other_relations_and_broken_fields_have_none() {
        for value in [
            "", "</1>", "</1>; rel=prev", "</1; rel=next", "rel=next", "</1>; rel=\"next", "<>", "</1>; title=\"next\"",
        ] {
            let found = next_in(value);
            // An open quotation ends with the field.
            assert_eq!(found.is_some(), value.ends_with("=\"next"), "{value}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            rng_seed: proptest::test_runner::RngSeed::Fixed(1),
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn no_field_panics(value in "[<>;,=\"\\\\ relnxtü/]{0,60}") {
            let _ = next_in(&value);
        }
    }
}
