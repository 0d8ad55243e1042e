//! Front matter of Markdown files, also where several files were joined.

use std::borrow::Cow;

/// Replaces each block of front matter by its title as a heading, and drops the imports and exports of components.
pub(crate) fn without_front_matter(text: &str) -> Cow<'_, str> {
    if !text.contains("---\n") && !text.contains("---\r") && !text.contains("import ") && !text.contains("export ") {
        return Cow::Borrowed(text);
    }
    let lines: Vec<&str> = text.lines().collect();
    let mut kept = String::with_capacity(text.len());
    let mut at = 0;
    let mut in_fence = false;
    while let Some(line) = lines.get(at) {
        in_fence ^= line.trim_start().starts_with("```");
        let taken = if in_fence { None } else { front_matter(lines.get(at..).unwrap_or_default(), at == 0) };
        if let Some((taken, title)) = taken {
            if let Some(title) = title {
                kept.push_str("\n# ");
                kept.push_str(title);
                kept.push_str("\n\n");
            }
            at += taken;
            continue;
        }
        if in_fence || !is_component_line(line) {
            kept.push_str(line);
        }
        kept.push('\n');
        at += 1;
    }
    Cow::Owned(kept)
}

/// Returns the number of lines of the front matter at the start of `lines`, and its title.
fn front_matter<'a>(lines: &[&'a str], is_first: bool) -> Option<(usize, Option<&'a str>)> {
    let (open, rest) = lines.split_first()?;
    if open.trim_end() != "---" {
        return None;
    }
    let end = rest.iter().position(|line| line.trim_end() == "---")?;
    let inner = rest.get(..end)?;
    let has_keys = inner.first().is_some_and(|line| key(line).is_some()) && inner.iter().all(|line| is_metadata(line));
    let title = inner.iter().find_map(|line| key(line).filter(|(name, _)| *name == "title"));
    let title = title.map(|(_, value)| value.trim_matches(['"', '\'']));
    (has_keys && (is_first || title.is_some())).then_some((end + 2, title.filter(|title| !title.is_empty())))
}

fn is_metadata(line: &str) -> bool {
    line.is_empty() || line.starts_with([' ', '\t', '-', '#', ']', '}']) || key(line).is_some()
}

/// Parses `name: value`.
fn key(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once(':')?;
    let is_name =
        !name.is_empty() && name.chars().all(|mark| mark.is_alphanumeric() || matches!(mark, '_' | '-' | '.'));
    (is_name && (value.is_empty() || value.starts_with(' '))).then(|| (name, value.trim()))
}

/// Whether a line imports or exports something (MDX).
fn is_component_line(line: &str) -> bool {
    let quoted = line.contains(['"', '\'']);
    line.starts_with("import ") && quoted && (line.contains(" from ") || line.ends_with(';'))
        || line.starts_with("export ") && (line.contains('=') || line.contains(" from "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn front_matter_becomes_a_heading_wherever_it_is() {
        let text = "---\ntitle: \"A\"\nnote: |-\n  x\n---\n\nimport T from \"t\";\n\ntext\n\n---\ntitle: B\norder: 3\n---\nmore\n";
        assert_eq!(without_front_matter(text), "\n# A\n\n\n\n\ntext\n\n\n# B\n\nmore\n");
    }

    #[test]
    fn rules_tables_and_code_are_kept() {
        for text in ["a\n\n---\n\nb: c\n", "| a |\n|---|\n| b |\n", "```\n---\ntitle: x\n---\n```\n", "import it all\n"]
        {
            assert_eq!(without_front_matter(text), text);
        }
    }
}
