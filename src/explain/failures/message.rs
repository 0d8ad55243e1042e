//! Does a message of a client's tool report a failure?

use serde_json::{Map, Value};

use super::error_rules::RULES;
use super::ruled::{Subject, ruling};
use crate::domain::rules::{FailureRule, RuledOutcome};

/// A tool's message, as the client sent it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolMessage<'a> {
    /// The tool's name; empty where it is not known.
    pub tool: &'a str,
    /// The message's text.
    pub text: &'a str,
}

/// What a failure was recognised by, from the surest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grounds {
    /// A rule of policy says so.
    Policy,
    /// The message has the form of an error: an error body, a traceback, an HTTP status line.
    Form,
    /// The message says so in words.
    Words,
}

/// A failure that a tool's message reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recognised {
    /// The rule that recognised it, as traces and metrics name it: `policy`, or one of the built-in rules.
    pub rule: &'static str,
    /// What it was recognised by.
    pub grounds: Grounds,
    /// The HTTP status that the message tells.
    pub status: Option<u16>,
    /// The code that it tells.
    pub code: Option<String>,
    /// What it says in words, cut to a few hundred characters.
    pub reason: Option<String>,
}

/// Finds out whether a tool's message reports a failure. Linear in the text, and bounded.
pub fn recognise(message: &ToolMessage<'_>, rules: &[FailureRule]) -> Option<Recognised> {
    let json: Option<Value> = serde_json::from_str(message.text).ok();
    let subject = Subject { tool: message.tool, status: None, text: message.text, json: json.as_ref() };
    match ruling(rules, &subject) {
        Some((_, RuledOutcome::Fine)) => return None,
        Some((_, RuledOutcome::Failed)) => return Some(recognised("policy", Grounds::Policy)),
        None => {}
    }
    let object: &Map<String, Value> = json.as_ref()?.as_object().filter(|object| !object.is_empty())?;
    let rule = RULES.iter().find(|rule| (rule.holds)(object))?;
    Some(recognised(rule.name, Grounds::Form))
}

fn recognised(rule: &'static str, grounds: Grounds) -> Recognised {
    Recognised { rule, grounds, status: None, code: None, reason: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_policy_says_holds_first() {
        let rules: Vec<FailureRule> = serde_json::from_str(
            r#"[{"tools":["search"],"text":"^nothing","outcome":"failed"},{"at":"/error","present":true,"outcome":"fine"}]"#,
        )
        .unwrap();
        let grounds = |tool, text| recognise(&ToolMessage { tool, text }, &rules).map(|found| found.grounds);
        assert_eq!(grounds("search", "nothing found"), Some(Grounds::Policy));
        assert_eq!(grounds("list", "nothing found"), None);
        assert_eq!(grounds("list", r#"{"error":{"code":"x"}}"#), None);
        assert_eq!(grounds("list", r#"{"ok":false,"message":"x"}"#), Some(Grounds::Form));
    }
}
