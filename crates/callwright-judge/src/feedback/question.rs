//! Question to the user about missing inputs of a plan.

use minijinja::context;
use minijinja::value::Value;

use super::quote::one_line;

/// Maximum number of characters of a question, which a model wrote.
const MAX_QUESTION: usize = 500;

/// Returns the template context with each distinct question on one line.
pub(super) fn context(questions: &[&str]) -> Value {
    let mut distinct: Vec<String> = Vec::new();
    for question in questions {
        let line: String = one_line(question).chars().take(MAX_QUESTION).collect();
        if !line.is_empty() && !distinct.contains(&line) {
            distinct.push(line);
        }
    }
    context! { questions => distinct }
}

#[cfg(test)]
mod tests {
    use crate::feedback;

    #[test]
    fn one_question_is_asked_as_it_is_and_several_in_one_list() {
        assert_eq!(feedback::missing_inputs(&["Until\nwhen?"]), "Until when?");
        let text = feedback::missing_inputs(&["Until when?", "Where?", "Until when?"]);
        assert!(text.ends_with("- Until when?\n- Where?"), "{text}");
    }
}
