//! Extraction of JSON from a model's text.

/// Returns the text without a leading `<think>` block and without an enclosing Markdown fence.
pub fn bare(text: &str) -> &str {
    let text = text.trim();
    let text = match text.strip_prefix("<think>").and_then(|rest| rest.split_once("</think>")) {
        Some((_, rest)) => rest.trim(),
        None => text,
    };
    let Some(fenced) = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```")) else { return text };
    match fenced.split_once('\n') {
        Some((language, rest)) if language.trim().chars().all(char::is_alphanumeric) => rest.trim(),
        _ => fenced.trim(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thoughts_and_a_fence_are_taken_off_and_nothing_else() {
        for text in
            ["[1]", " [1]\n", "```json\n[1]\n```", "```\n[1]```", "```[1]```", "<think>[] ?</think>```\n[1]\n```"]
        {
            assert_eq!(bare(text), "[1]", "{text}");
        }
        for text in ["", "<think>[1]", "see: ```[1]```", "```[1]"] {
            assert_eq!(bare(text), text);
        }
    }
}
