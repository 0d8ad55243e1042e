//! Integers that are sent only if all their digits are.

/// Returns the first integer of a JSON text that no 64-bit number holds: its last digits would be lost.
pub(super) fn first(json: &str) -> Option<&str> {
    let mut rest = json;
    loop {
        let start = rest.find(|sign: char| sign == '"' || sign.is_ascii_digit() || sign == '-')?;
        let token = rest.get(start..)?;
        let end = if token.starts_with('"') { string_end(token)? } else { number_end(token) };
        let (number, after) = token.split_at_checked(end)?;
        let is_integer = number.trim_start_matches('-').bytes().all(|digit| digit.is_ascii_digit());
        if is_integer && number.parse::<i64>().is_err() && number.parse::<u64>().is_err() {
            return Some(number);
        }
        rest = after;
    }
}

fn string_end(token: &str) -> Option<usize> {
    let mut is_escaped = false;
    let end = token.bytes().skip(1).position(|byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    })?;
    Some(end + 2)
}

fn number_end(token: &str) -> usize {
    let is_part = |sign: char| sign.is_ascii_digit() || matches!(sign, '-' | '+' | '.' | 'e' | 'E');
    token.find(|sign| !is_part(sign)).unwrap_or(token.len())
}

#[cfg(test)]
mod tests {
    use super::first;

    #[test]
    fn only_integers_that_lose_digits_are_found() {
        for (text, expected) in [
            (r#"{"id":12345678901234567890123}"#, Some("12345678901234567890123")),
            (r#"{"a":"\"","ids":[1,-12345678901234567890123]}"#, Some("-12345678901234567890123")),
            (r#"{"id":18446744073709551615,"b":-9223372036854775808}"#, None),
            (r#"{"id":"12345678901234567890123","b":"\\"}"#, None),
            (r#"{"id":1e30,"b":12345678901234567890123.5}"#, None),
            (r#"{"id":18446744073709551616}"#, Some("18446744073709551616")),
            ("{}", None),
        ] {
            assert_eq!(first(text), expected, "{text}");
        }
    }
}
