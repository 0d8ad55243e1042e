//! HTML escaping of external text.

/// Escapes HTML special characters, replaces control characters by spaces, and removes bidirectional controls.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {}
            _ if character.is_control() => escaped.push(' '),
            _ => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn html_characters_are_escaped() {
        assert_eq!(escaped("a<b> & \"c\" 'd'\u{0}\u{202e}ü"), "a&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39; ü");
    }
}
