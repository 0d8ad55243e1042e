//! Parses numbers and keeps their digits exactly.

/// Returns the length of the number of JSON or Python at the start of `text`, and the number in JSON syntax.
pub(super) fn scan(text: &str) -> Option<(usize, String)> {
    let bytes = text.as_bytes();
    let mut at = usize::from(text.starts_with(['+', '-']));
    let mut out = String::from(if text.starts_with('-') { "-" } else { "" });
    let whole = digits(text, &mut at);
    let mut fraction = String::new();
    if bytes.get(at) == Some(&b'.') {
        at += 1;
        fraction = digits(text, &mut at);
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        if fraction.is_empty() {
            fraction.push('0');
        }
    }
    if whole.is_empty() && fraction.is_empty() || whole.len() > 1 && whole.starts_with('0') {
        return None;
    }
    out.push_str(if whole.is_empty() { "0" } else { &whole });
    if !fraction.is_empty() {
        out.push('.');
        out.push_str(&fraction);
    }
    if let Some(exponent) = exponent(text.get(at..)?) {
        out.push_str(exponent);
        at += exponent.len();
    }
    // Texts such as `5km` and `1.2.3` are not numbers.
    let goes_on = text.get(at..)?.starts_with(|letter: char| letter.is_alphanumeric() || "._".contains(letter));
    let is_json = serde_json::from_str::<serde_json::Number>(&out).is_ok();
    (!goes_on && is_json).then_some((at, out))
}

fn digits(text: &str, at: &mut usize) -> String {
    let mut out = String::new();
    while let Some(byte) = text.as_bytes().get(*at) {
        match byte {
            b'0'..=b'9' => out.push(char::from(*byte)),
            b'_' if !out.is_empty() => {}
            _ => break,
        }
        *at += 1;
    }
    out
}

fn exponent(text: &str) -> Option<&str> {
    let rest = text.strip_prefix(['e', 'E'])?;
    let unsigned = rest.strip_prefix(['+', '-']).unwrap_or(rest);
    let digits = unsigned.len() - unsigned.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
    (digits > 0).then(|| text.get(..text.len() - unsigned.len() + digits)).flatten()
}
