//! Interpolation of `${NAME}` and `${NAME:-default}` in string values.
//!
//! Form and meaning are those of POSIX parameter expansion (POSIX.1-2024, Shell Command Language, 2.6.2). A default may
//! have references itself: `${NAME:-${OTHER:-default}}`. The document is parsed first. A variable's value is therefore always a string and cannot add a key or a
//! table.

use std::borrow::Cow;

use super::Environment;

/// Start of a reference, and its escaped form.
const OPEN: &str = "${";
const ESCAPED_OPEN: &str = "$${";

/// Maximum number of references inside one another.
const MAX_DEPTH: usize = 8;

/// Error of an interpolation. Messages never contain values of variables.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum InterpolationError {
    #[error("environment variable `{0}` is not set; set it, or give a default: `${{{0}:-default}}`")]
    Unset(String),
    #[error("environment variable `{0}` does not hold UTF-8 text")]
    NotText(String),
    #[error("more than {MAX_DEPTH} references inside one another")]
    TooDeep,
    #[error("`${{` without a closing `}}`; write `$${{` for a literal `${{`")]
    Unclosed,
    #[error(
        "`{0}` is not a name of an environment variable (letters, digits and `_`, no digit first); write `$${{` for a literal `${{`"
    )]
    BadName(String),
}

/// Interpolates every reference in `text`; borrows if there is none.
///
/// `${NAME}` requires the variable to be set (it may be empty). `${NAME:-default}` takes the default if the variable is
/// unset or empty. `$${` is a literal `${`. A `$` before any other character is literal.
pub(super) fn interpolate<'t>(text: &'t str, environment: &Environment) -> Result<Cow<'t, str>, InterpolationError> {
    interpolate_at(0, text, environment)
}

fn interpolate_at<'t>(
    depth: usize,
    text: &'t str,
    environment: &Environment,
) -> Result<Cow<'t, str>, InterpolationError> {
    if !text.contains(OPEN) {
        return Ok(Cow::Borrowed(text));
    }
    if depth >= MAX_DEPTH {
        return Err(InterpolationError::TooDeep);
    }
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(dollar) = rest.find('$') {
        let (before, from_dollar) = rest.split_at(dollar);
        filled.push_str(before);
        rest = if let Some(after) = from_dollar.strip_prefix(ESCAPED_OPEN) {
            filled.push_str(OPEN);
            after
        } else if let Some(after) = from_dollar.strip_prefix(OPEN) {
            let (reference, after) = split_at_close(after).ok_or(InterpolationError::Unclosed)?;
            filled.push_str(&value_of(depth, reference, environment)?);
            after
        } else {
            filled.push('$');
            from_dollar.get(1..).unwrap_or_default()
        };
    }
    filled.push_str(rest);
    Ok(Cow::Owned(filled))
}

/// Splits the text after `${` at the `}` that closes the reference.
fn split_at_close(text: &str) -> Option<(&str, &str)> {
    let (mut open, mut at) = (0_usize, 0);
    while let Some(rest) = text.get(at..) {
        at += rest.find(['$', '}'])?;
        let rest = text.get(at..)?;
        if rest.starts_with(ESCAPED_OPEN) {
            at += ESCAPED_OPEN.len();
        } else if rest.starts_with(OPEN) {
            open += 1;
            at += OPEN.len();
        } else if rest.starts_with('}') && open == 0 {
            return Some((text.get(..at)?, text.get(at + 1..)?));
        } else {
            open -= usize::from(rest.starts_with('}'));
            at += 1;
        }
    }
    None
}

/// Returns the value of `NAME` or `NAME:-default`.
fn value_of(depth: usize, reference: &str, environment: &Environment) -> Result<String, InterpolationError> {
    let (name, default) = match reference.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (reference, None),
    };
    if !is_variable_name(name) {
        return Err(InterpolationError::BadName(name.to_owned()));
    }
    match (environment(name).filter(|value| !value.is_empty() || default.is_none()), default) {
        (Some(value), _) => value.into_string().map_err(|_| InterpolationError::NotText(name.to_owned())),
        (None, Some(default)) => Ok(interpolate_at(depth + 1, default, environment)?.into_owned()),
        (None, None) => Err(InterpolationError::Unset(name.to_owned())),
    }
}

fn is_variable_name(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && name.bytes().next().is_some_and(|first| !first.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::variables;
    use super::*;

    fn filled(text: &str) -> Result<String, InterpolationError> {
        let environment = variables(&[("KEY", "value"), ("EMPTY", ""), ("TRICK", "\"\n[server]\n${KEY}")]);
        interpolate(text, &environment).map(Cow::into_owned)
    }

    #[test]
    fn references_are_filled_in_wherever_they_stand() {
        assert_eq!(filled("${KEY}").unwrap(), "value");
        assert_eq!(filled("a ${KEY} b ${KEY}c").unwrap(), "a value b valuec");
        assert_eq!(filled("é${KEY}é").unwrap(), "évalueé");
    }

    #[test]
    fn the_default_holds_where_the_variable_is_unset_or_empty() {
        assert_eq!(filled("${NONE:-http://localhost:1/v1}").unwrap(), "http://localhost:1/v1");
        assert_eq!(filled("${EMPTY:-other}").unwrap(), "other");
        assert_eq!(filled("${KEY:-other}").unwrap(), "value");
        assert_eq!(filled("${NONE:-}").unwrap(), "");
        assert_eq!(filled("a ${NONE:-${EMPTY:-${KEY}}} b").unwrap(), "a value b");
        assert_eq!(filled("${NONE:-a${NONE:-b}c}d}").unwrap(), "abcd}");
        assert_eq!(filled("${KEY:-${UNSET}}").unwrap(), "value", "an unused default is not read");
        assert_eq!(filled("${NONE:-$${KEY}").unwrap(), "${KEY");
        assert_eq!(filled("${NONE:-${NONE:-x}"), Err(InterpolationError::Unclosed));
        assert_eq!(filled(&("${NONE:-".repeat(9) + &"}".repeat(9))), Err(InterpolationError::TooDeep));
        assert_eq!(filled("${EMPTY}").unwrap(), "", "set but empty is set");
    }

    #[test]
    fn an_escaped_or_lonely_dollar_is_itself() {
        assert_eq!(filled("$${KEY}").unwrap(), "${KEY}");
        assert_eq!(filled("$KEY costs $5 or $").unwrap(), "$KEY costs $5 or $");
        assert_eq!(filled("$$5 and ${KEY}$").unwrap(), "$$5 and value$");
    }

    #[test]
    fn a_value_is_never_read_again() {
        assert_eq!(filled("${TRICK}").unwrap(), "\"\n[server]\n${KEY}");
    }

    #[test]
    fn what_cannot_be_filled_in_is_an_error_that_names_the_variable() {
        assert_eq!(filled("${NONE}"), Err(InterpolationError::Unset("NONE".into())));
        assert_eq!(filled("a ${KEY"), Err(InterpolationError::Unclosed));
        assert_eq!(filled("${1ST}"), Err(InterpolationError::BadName("1ST".into())));
        assert_eq!(filled("${}"), Err(InterpolationError::BadName(String::new())));
        assert!(filled("${NONE}").unwrap_err().to_string().contains("`${NONE:-default}`"));
    }

    #[cfg(unix)]
    #[test]
    fn a_variable_that_is_no_text_is_an_error() {
        use std::ffi::OsString;
        use std::os::unix::ffi::OsStringExt;
        let environment = |_: &str| Some(OsString::from_vec(vec![0xff]));
        assert_eq!(interpolate("${KEY}", &environment), Err(InterpolationError::NotText("KEY".into())));
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            rng_seed: proptest::test_runner::RngSeed::Fixed(1),
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn text_without_references_stays_as_it_is(text in "[^{]{0,40}") {
            prop_assert_eq!(filled(&text).unwrap(), text);
        }

        #[test]
        fn no_text_panics(text in ".{0,60}|([$]{0,2}[{]?[A-Z:}-]{0,5}){0,6}") {
            let _ = filled(&text);
        }
    }
}
