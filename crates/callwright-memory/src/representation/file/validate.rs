//! Validates the values of a representation file.

use std::collections::HashMap;

use super::limits;
use super::stored::{RepresentationFile, StoredPattern, StoredRepresentation};
use callwright_common::json::Pointer;

/// Invalid value and its location.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct InvalidValue {
    pub(super) location: Pointer,
    pub(super) message: String,
}

fn fault(location: Pointer, message: impl Into<String>) -> InvalidValue {
    InvalidValue { location, message: message.into() }
}

/// Returns the first invalid value.
pub(super) fn validate(file: &RepresentationFile) -> Result<(), InvalidValue> {
    let root = Pointer::root();
    if let Some(toolset) = &file.toolset {
        name(toolset, "toolset", root.child("toolset"))?;
    }
    if let Some(learned) = &file.learned {
        let here = root.child("learned");
        name(&learned.proposer, "proposer", here.child("proposer"))?;
        if let Some(embedder) = &learned.embedder {
            name(embedder, "embedder", here.child("embedder"))?;
        }
        if let Some((before, after)) = learned.macro_f1 {
            let here = here.child("macro_f1");
            for (key, value) in [("before", before), ("after", after)] {
                if !(0.0..=100.0).contains(&value) {
                    let message = format!("`{key}` is {value}; it is in percent, 0 to 100");
                    return Err(fault(here.child(key), message));
                }
            }
        }
    }
    if let Some(ranking) = &file.ranking {
        for (key, value) in [("sharpness", ranking.sharpness), ("words", ranking.words)] {
            if !value.is_finite() || value < 0.0 {
                let message = format!("`{key}` is {value}; it must be a number of at least 0");
                return Err(fault(root.child("ranking").child(key), message));
            }
        }
    }
    if let Some(classifier) = &file.classifier {
        let here = root.child("classifier");
        let weights = classifier.weights;
        let values = [("weight", Some(weights.weight)), ("scale", Some(weights.scale)), ("no_tool", weights.no_tool)];
        for (key, value) in values {
            let is_valid = value.is_none_or(|value| value.is_finite() && value >= 0.0);
            if !is_valid || (key == "scale" && value == Some(0.0)) {
                let message = format!("`{key}` is {}; it must be a positive number", value.unwrap_or_default());
                return Err(fault(here.child(key), message));
            }
        }
        name(&classifier.digest, "classifier", here.child("digest"))?;
    }
    tools(&file.tools, &root.child("tools"))
}

fn tools(tools: &[StoredRepresentation], location: &Pointer) -> Result<(), InvalidValue> {
    if tools.len() > limits::TOOLS {
        let message = format!("{} tools are too many; {} are allowed in a file", tools.len(), limits::TOOLS);
        return Err(fault(location.clone(), message));
    }
    let mut seen = HashMap::with_capacity(tools.len());
    for (index, form) in tools.iter().enumerate() {
        let here = location.item(index);
        name(&form.tool, "tool", here.child("tool"))?;
        if let Some(first) = seen.insert(form.tool.as_str(), index) {
            let message = format!(
                "duplicate tool `{}`, already number {} of the list; merge their patterns in one entry",
                form.tool,
                first + 1
            );
            return Err(fault(here.child("tool"), message));
        }
        patterns(&form.patterns, &form.tool, &here.child("patterns"))?;
    }
    Ok(())
}

fn patterns(patterns: &[StoredPattern], tool: &str, location: &Pointer) -> Result<(), InvalidValue> {
    if patterns.len() > limits::PATTERNS {
        let message = format!(
            "`{tool}` has {} patterns; {} are allowed: merge similar patterns, or remove some",
            patterns.len(),
            limits::PATTERNS
        );
        return Err(fault(location.clone(), message));
    }
    let mut seen = HashMap::with_capacity(patterns.len());
    for (index, form) in patterns.iter().enumerate() {
        let here = location.item(index);
        pattern(form, &here)?;
        if let Some(first) = seen.insert((&form.pattern.description, &form.pattern.cases), index) {
            let message = format!("duplicate of pattern number {} of the same tool; remove one of the two", first + 1);
            return Err(fault(here, message));
        }
    }
    Ok(())
}

fn pattern(StoredPattern { pattern, gain, .. }: &StoredPattern, location: &Pointer) -> Result<(), InvalidValue> {
    text(&pattern.description, "description", limits::DESCRIPTION_CHARS, location.child("description"))?;
    if pattern.cases.len() > limits::CASES {
        let message = format!("{} cases are too many; give 2 or 3, {} at most", pattern.cases.len(), limits::CASES);
        return Err(fault(location.child("cases"), message));
    }
    for (index, case) in pattern.cases.iter().enumerate() {
        text(case, "case", limits::CASE_CHARS, location.child("cases").item(index))?;
    }
    if !pattern.weight.is_finite() || pattern.weight <= 0.0 || pattern.weight > limits::WEIGHT {
        let message = format!(
            "`weight` is {}; it must be above 0 and at most {}: 1 is the default, 0.5 counts half",
            pattern.weight,
            limits::WEIGHT
        );
        return Err(fault(location.child("weight"), message));
    }
    match *gain {
        Some(gain) if !gain.is_finite() => {
            Err(fault(location.child("gain"), format!("`gain` is {gain}; it must be a number, or be omitted")))
        }
        _ => Ok(()),
    }
}

/// Validates a text that is shown to a model.
fn text(text: &str, what: &str, chars: usize, location: Pointer) -> Result<(), InvalidValue> {
    visible(text, what, &location)?;
    if text.trim().is_empty() {
        return Err(fault(location, format!("the {what} is empty; describe the matching requests, or remove it")));
    }
    let length = text.chars().count();
    if length > chars {
        return Err(fault(location, format!("the {what} has {length} characters; {chars} are allowed")));
    }
    Ok(())
}

/// Validates a name that is matched exactly.
fn name(name: &str, what: &str, location: Pointer) -> Result<(), InvalidValue> {
    visible(name, what, &location)?;
    let length = name.chars().count();
    if length == 0 || length > limits::NAME_CHARS || name.trim() != name || name.contains(['\n', '\r', '\t']) {
        let message = format!(
            "the name of the {what} must be 1 to {} characters on one line, without spaces around it",
            limits::NAME_CHARS
        );
        return Err(fault(location, message));
    }
    Ok(())
}

fn visible(text: &str, what: &str, location: &Pointer) -> Result<(), InvalidValue> {
    match text.chars().find(|character| is_hidden(*character)) {
        Some(hidden) => {
            let message =
                format!("the {what} has the character U+{:04X}, which is invisible; remove it", u32::from(hidden));
            Err(fault(location.clone(), message))
        }
        None => Ok(()),
    }
}

/// Whether a character changes the displayed text invisibly: control characters, bidirectional overrides ("Trojan
/// Source", 2021), and noncharacters.
fn is_hidden(character: char) -> bool {
    let turns = matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let is_no_character = u32::from(character) & 0xfffe == 0xfffe || matches!(character, '\u{fdd0}'..='\u{fdef}');
    turns || is_no_character || character == '\u{feff}' || (character.is_control() && !character.is_whitespace())
}
