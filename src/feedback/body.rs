//! The part of an API's answer that says why a call failed.

use serde_json::{Map, Value};

use crate::domain::outcome::ApiAnswer;

/// Members of a JSON answer that are likely to say why, most telling first (RFC 9457 and common practice).
const TELLING: [&str; 18] = [
    "error",
    "errors",
    "message",
    "detail",
    "details",
    "title",
    "reason",
    "code",
    "error_code",
    "errorcode",
    "error_description",
    "info",
    "info_code",
    "infocode",
    "status",
    "description",
    "msg",
    "fault",
];

/// At most `limit` characters of the answer: of a JSON object that is longer the telling members first, of any other text
/// the beginning.
pub(super) fn relevant(answer: &ApiAnswer, limit: usize) -> String {
    let text = answer.text();
    let compact = match serde_json::from_str::<Value>(&text) {
        Ok(Value::Object(members)) => members_within(members, limit),
        Ok(value) => value.to_string(),
        Err(_) => text.split_whitespace().collect::<Vec<_>>().join(" "),
    };
    let mut kept: String = compact.chars().take(limit).collect();
    if answer.truncated || kept.len() < compact.len() {
        kept.push_str(" [cut]");
    }
    kept
}

fn members_within(members: Map<String, Value>, limit: usize) -> String {
    let whole = Value::Object(members);
    let text = whole.to_string();
    let Value::Object(members) = whole else { return text };
    if text.chars().count() <= limit {
        return text;
    }
    let rank =
        |name: &str| TELLING.iter().position(|telling| telling.eq_ignore_ascii_case(name)).unwrap_or(TELLING.len());
    let mut members: Vec<(String, Value)> = members.into_iter().collect();
    members.sort_by_key(|(name, _)| rank(name));
    Value::Object(members.into_iter().collect()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(body: &str) -> ApiAnswer {
        ApiAnswer { status: 400, headers: Vec::new(), body: body.to_owned().into(), truncated: false }
    }

    #[test]
    fn a_short_answer_is_told_whole() {
        assert_eq!(relevant(&answer("{\n  \"info_code\": \"20000\"\n}"), 100), r#"{"info_code":"20000"}"#);
        assert_eq!(relevant(&answer("<html>\n\n  Bad   gateway</html>"), 100), "<html> Bad gateway</html>");
        assert_eq!(relevant(&answer(""), 100), "");
    }

    #[test]
    fn of_a_long_answer_the_telling_members_come_first() {
        let body = format!(r#"{{"request":"{}","Message":"no such room","id":1}}"#, "x".repeat(500));
        let told = relevant(&answer(&body), 60);
        assert!(told.starts_with(r#"{"Message":"no such room","#) && told.ends_with(" [cut]"), "{told}");
        assert!(told.chars().count() <= 66);
    }

    #[test]
    fn letters_are_never_cut_in_two() {
        assert_eq!(relevant(&answer("天气预报"), 2), "天气 [cut]");
        let broken = ApiAnswer { body: vec![0xff, b'a'].into(), ..answer("") };
        assert_eq!(relevant(&broken, 10), "\u{fffd}a");
    }
}
