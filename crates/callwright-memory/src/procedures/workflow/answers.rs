//! Answers of the outline's questions.

use schemars::JsonSchema;
use serde_json::Value;

use callwright_judge::repair::answers::{AnswerShape, after_reasoning, read_value};
use callwright_prompt::{BudgetedModel, MAX_BYTES, NoAnswer, Question};

/// Member that is one text. All others are lists.
pub(super) const ONE_TEXT: &str = "answer";

/// Answer with the steps of an outline.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only the form is used: the list may also be written alone")]
pub(super) struct StepsAnswer {
    steps: Vec<String>,
}

/// Answer with questions about an outline.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only the form is used: the list may also be written alone")]
pub(super) struct QuestionsAnswer {
    outline: Vec<String>,
    questions: Vec<String>,
}

/// Answer to one of the questions.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only the form is used: the text may also be written alone")]
pub(super) struct SummaryAnswer {
    answer: String,
}

/// Answer with the necessary edits of an outline.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only the form is used: the list may also be written alone")]
pub(super) struct EditsAnswer {
    edits: Vec<String>,
}

/// Returns the texts of a member of the answer; `None` if all `tries` answers are unusable.
///
/// # Errors
/// [`NoAnswer`]: a limit is reached, or the model does not answer.
pub(super) async fn request<T>(
    model: &mut BudgetedModel<'_>,
    question: &Question<T>,
    member: &str,
    tries: u32,
) -> Result<Option<Vec<String>>, NoAnswer> {
    for _ in 0..tries.max(1) {
        let text = model.request(question).await?;
        if let Some(answer) = text.and_then(|text| parse(&text, member)) {
            return Ok(Some(answer));
        }
    }
    Ok(None)
}

/// Parses an answer: the list of texts, or the one text, that is the member of a JSON object. Models may give the value
/// of that member alone: a JSON list, the items of a written list, or a text.
fn parse(text: &str, member: &str) -> Option<Vec<String>> {
    if text.len() > MAX_BYTES {
        return None;
    }
    let texts = |value: Value| serde_json::from_value::<Vec<String>>(value).map_err(|error| error.to_string());
    let of_member = |object: Value| match object.get(member) {
        Some(Value::String(text)) if member == ONE_TEXT => Ok(vec![text.clone()]),
        Some(value) => texts(value.clone()),
        None => Err(format!("it has no `{member}`")),
    };
    if let Ok(answer) = read_value(text, AnswerShape::Object, of_member) {
        return Some(answer);
    }
    if member == ONE_TEXT {
        let text = Some(after_reasoning(text)).filter(|text| !text.starts_with(['{', '`', '[']))?;
        return Some(vec![text.to_owned()]);
    }
    let items = written_items(after_reasoning(text));
    // Items may have words in brackets, which are no list.
    let is_written = items.len() > 1 && items.iter().all(|item| !item.starts_with(['[', '{']));
    if !is_written && let Ok(answer) = read_value(text, AnswerShape::List, texts) {
        return Some(answer);
    }
    (!items.is_empty()).then_some(items)
}

/// Returns the items of a list in plain text or Markdown: lines that begin with a number or a bullet.
fn written_items(text: &str) -> Vec<String> {
    text.lines().filter_map(|line| written_item(line.trim())).map(str::to_owned).collect()
}

fn written_item(line: &str) -> Option<&str> {
    let numbered = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let rest = match line.strip_prefix(['-', '*', '•']) {
        Some(rest) => rest,
        None => numbered.strip_prefix(['.', ')']).filter(|_| numbered.len() < line.len())?,
    };
    rest.strip_prefix(' ').map(str::trim).filter(|item| !item.is_empty())
}

#[cfg(test)]
mod tests {
    use callwright_judge::repair::answers::{assert_understood, habits};

    use super::*;

    const STEPS: [&str; 2] = ["Find the fern's id with list_plants.", "Water it: [user] is asked for the litres."];

    #[test]
    fn answers_of_all_prompts_are_parsed_in_every_habit() {
        let expected = STEPS.map(str::to_owned).to_vec();
        let object = |member: &str| format!("{{\"{member}\": {}}}", serde_json::json!(STEPS));
        // The prompts for a draft, an update and an edit request the same form.
        assert_understood("steps", &object("steps"), &expected, |text| parse(text, "steps"));
        assert_understood("review", &object("edits"), &expected, |text| parse(text, "edits"));
        let one = object("questions").replace('{', "{\"outline\": [\"find the plant\"], ");
        assert_understood("questions", &one, &expected, |text| parse(text, "questions"));
        let one = r#"{"answer": "It takes the \"id\", and litres."}"#;
        let expected = "It takes the \"id\", and litres.".to_owned();
        assert_understood("summary", one, &expected, |text| parse(text, ONE_TEXT)?.pop());
    }

    #[test]
    fn essential_member_alone_is_parsed_in_every_habit() {
        let list = serde_json::json!(STEPS).to_string();
        let written = [format!("1. {}\n2. {}", STEPS[0], STEPS[1]), format!("Steps:\n- {}\n- {}", STEPS[0], STEPS[1])];
        for text in habits(&list).into_iter().chain(written) {
            assert_eq!(parse(&text, "steps").as_deref(), Some(&STEPS.map(str::to_owned)[..]), "{text}");
        }
    }
}
