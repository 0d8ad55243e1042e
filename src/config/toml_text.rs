//! TOML that the program prints or writes: lines to add to a configuration, and new configurations.

/// Returns a TOML basic string: a JSON string is one, except for DEL.
pub fn toml_string(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

/// Returns a TOML key, in quotation marks where it requires them.
pub fn toml_key(name: &str) -> String {
    let is_bare = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if is_bare { name.to_owned() } else { toml_string(name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_strings_are_read_back() {
        for text in ["api_key-2", "", "a b", "ü\"\\\n\u{7f}\u{1b}"] {
            let table: toml::Table = format!("{} = {}", toml_key(text), toml_string(text)).parse().unwrap();
            assert_eq!(table[text].as_str(), Some(text), "{text:?}");
        }
        assert_eq!(toml_key("api_key-2"), "api_key-2");
    }
}
