//! Part of an API response that explains the failure of a call.

use serde_json::Value;

use super::answer;
use callwright_types::outcome::ApiAnswer;

/// Members of a JSON response that are likely to explain the failure, most relevant first (RFC 9457 and common
/// practice).
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

/// Returns at most `limit` characters of the response. A longer JSON object begins with its most relevant members; any
/// other text is shortened from its end.
pub(super) fn relevant(answer: &ApiAnswer, limit: usize) -> String {
    answer::failed(answer, limit, telling_first)
}

fn telling_first(value: Value) -> Value {
    let Value::Object(members) = value else { return value };
    let rank =
        |name: &str| TELLING.iter().position(|telling| telling.eq_ignore_ascii_case(name)).unwrap_or(TELLING.len());
    let mut members: Vec<(String, Value)> = members.into_iter().collect();
    members.sort_by_key(|(name, _)| rank(name));
    Value::Object(members.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(body: &str) -> ApiAnswer {
        ApiAnswer::new(400, body.to_owned())
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
        let told = relevant(&answer(&body), 200);
        assert!(told.starts_with(r#"{"Message":"no such room","#) && told.contains("more bytes)"), "{told}");
        assert!(serde_json::from_str::<Value>(&told).is_ok() && told.chars().count() <= 200, "{told}");
    }

    #[test]
    fn letters_are_never_cut_in_two() {
        let told = relevant(&answer(&"天气 预报\n".repeat(100)), 200);
        assert!(told.starts_with("天气 预报 天气") && told.contains("(shortened: "), "{told}");
        let broken = ApiAnswer { body: vec![0xff, b'a'].into(), ..answer("") };
        assert!(relevant(&broken, 10).contains("no text"), "{}", relevant(&broken, 10));
    }
}
