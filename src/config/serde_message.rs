//! Translation of Serde's messages for people who edit a configuration file.

use super::removed::instead_of;
use callwright_common::text::nearest;

/// Message of the standard library for a text that is no socket address.
const NOT_AN_ADDRESS: &str = "invalid socket address syntax";

/// Rewrites Serde's `message` about the value at `key`.
///
/// Values are omitted if they came from the environment (`interpolated`), because they may be secrets.
pub(super) fn explain(message: &str, key: &str, interpolated: bool) -> String {
    if let Some(rest) = message.strip_prefix("unknown field ") {
        return unknown_key(rest, key);
    }
    if let Some((found, expected)) = mismatch(message) {
        return format!("`{key}`: expected {}, found {}{}", plain(expected), kind(found), string_note(interpolated));
    }
    if message == NOT_AN_ADDRESS {
        return format!("`{key}`: expected ADDRESS:PORT with an IP address, such as \"127.0.0.1:8787\"");
    }
    if interpolated {
        return format!("`{key}`: the value from the environment is not valid here");
    }
    if let Some(rest) = message.strip_prefix("unknown variant ") {
        return unknown_value(rest, key);
    }
    if let Some(field) = message.strip_prefix("missing field ") {
        return format!("`{key}`: the key {field} is missing");
    }
    if key.is_empty() { message.to_owned() } else { format!("`{key}`: {message}") }
}

/// Splits `invalid type: string "x", expected u16` and `invalid value: ...` into the found and the expected part.
fn mismatch(message: &str) -> Option<(&str, &str)> {
    let rest = message.strip_prefix("invalid type: ").or_else(|| message.strip_prefix("invalid value: "))?;
    rest.rsplit_once(", expected ")
}

/// Returns the kind of the found value, with the value unless it is a string (which may be a misplaced secret).
fn kind(found: &str) -> &str {
    if found.starts_with("string") { "a string" } else { found }
}

fn plain(expected: &str) -> &str {
    match expected {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number that is not negative",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "f32" | "f64" => "a number",
        "a boolean" => "true or false",
        "a map" => "a table",
        "a sequence" => "an array",
        other if other.starts_with("struct ") => "a table",
        other => other,
    }
}

fn string_note(interpolated: bool) -> &'static str {
    if interpolated { "; `${NAME}` always yields a string, so it is not allowed here" } else { "" }
}

fn unknown_key(rest: &str, key: &str) -> String {
    let (name, known) = name_and_known(rest);
    let key = if key.is_empty() { name } else { key };
    if let Some(instead) = instead_of(key) {
        return format!("the key `{key}` was removed: {instead}");
    }
    match (nearest(&name.to_lowercase(), known.iter().copied()), known.is_empty()) {
        (Some(near), _) => format!("unknown key `{key}`; did you mean `{near}`?"),
        (None, false) => format!("unknown key `{key}`; known here: {}", known.join(", ")),
        (None, true) => format!("unknown key `{key}`; no keys are allowed here"),
    }
}

fn unknown_value(rest: &str, key: &str) -> String {
    let (name, known) = name_and_known(rest);
    let allowed = known.join(", ");
    match nearest(&name.to_lowercase(), known.iter().copied()) {
        Some(near) => format!("`{key}`: `{name}` is not allowed; did you mean `{near}`? Allowed: {allowed}"),
        None => format!("`{key}`: `{name}` is not allowed; allowed: {allowed}"),
    }
}

/// Splits ``\`x\`, expected one of \`a\`, \`b\` `` into the name and the known names. The name may contain anything but
/// the separator.
fn name_and_known(rest: &str) -> (&str, Vec<&str>) {
    let (name, expected) =
        rest.rsplit_once(", expected ").or_else(|| rest.rsplit_once(", there are no ")).unwrap_or((rest, ""));
    (name.trim_matches('`'), expected.split('`').skip(1).step_by(2).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_keys_get_the_nearest_known_one() {
        let message =
            explain("unknown field `lisen`, expected one of `listen`, `operator_listen`", "server.lisen", false);
        assert_eq!(message, "unknown key `server.lisen`; did you mean `listen`?");
        let message = explain("unknown field `zzz`, expected `a` or `b`", "zzz", false);
        assert_eq!(message, "unknown key `zzz`; known here: a, b");
        assert_eq!(
            explain("unknown field `x`, there are no fields", "x", false),
            "unknown key `x`; no keys are allowed here"
        );
    }

    #[test]
    fn a_removed_key_names_what_applies_in_its_place() {
        let message = explain("unknown field `repair`, expected `scanner` or `feedback`", "repair", false);
        assert!(message.starts_with("the key `repair` was removed: calls in text are recognised"), "{message}");
    }

    #[test]
    fn wrong_types_are_said_in_the_words_of_the_file() {
        let message = explain("invalid type: string \"sk-canary\", expected u64", "store.queue", false);
        assert_eq!(message, "`store.queue`: expected a whole number that is not negative, found a string");
        let message = explain("invalid value: integer `-1`, expected u64", "a.b", false);
        assert_eq!(message, "`a.b`: expected a whole number that is not negative, found integer `-1`");
        assert!(explain("invalid type: string \"5\", expected u64", "a", true).contains("always yields a string"));
    }

    #[test]
    fn an_address_needs_a_port() {
        let error = "127.0.0.1".parse::<std::net::SocketAddr>().unwrap_err().to_string();
        for interpolated in [false, true] {
            let message = explain(&error, "server.listen", interpolated);
            assert!(message.contains("`server.listen`: expected ADDRESS:PORT"), "{message}");
        }
    }

    #[test]
    fn values_from_the_environment_are_not_shown() {
        for message in ["unknown variant `sk-canary`, expected `json` or `text`", "`sk-canary` is not a fault code"] {
            assert!(!explain(message, "a.b", true).contains("canary"));
            assert!(explain(message, "a.b", false).contains("canary"));
        }
    }

    #[test]
    fn unknown_values_get_the_nearest_allowed_one() {
        let message = explain("unknown variant `jason`, expected `json` or `text`", "telemetry.format", false);
        assert_eq!(message, "`telemetry.format`: `jason` is not allowed; did you mean `json`? Allowed: json, text");
    }
}
