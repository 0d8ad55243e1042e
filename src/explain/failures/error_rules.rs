//! Which bodies of answers below 400 are evidently errors, as data.
//!
//! Each rule has bodies that it must recognise and look-alikes that no rule may. The rules are conservative; what is only suspicious is
//! left to the documentation to decide.

use serde_json::{Map, Value};

use crate::explain::body_words::{
    has_reason, is_code_name, is_companion, is_error_code, is_error_code_name, only_companions, says_why,
};
use crate::explain::body_words::{is_absent, scalar};

/// A rule that recognises an error in the body of an answer below 400.
pub struct Rule {
    /// Name, as records show it.
    pub name: &'static str,
    /// Is this object an error? Only asked of non-empty JSON objects.
    pub(super) holds: fn(&Map<String, Value>) -> bool,
    /// Bodies that the rule must recognise.
    pub positive: &'static [&'static str],
    /// Look-alikes that no rule may recognise.
    pub negative: &'static [&'static str],
}

/// The rules, in the order in which they are asked.
pub const RULES: &[Rule] = &[
    Rule {
        name: "error_object",
        holds: |body| body.get("error").and_then(Value::as_object).is_some_and(|error| !error.is_empty()),
        positive: &[
            r#"{"error":{"code":"not_found","message":"No such room"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params"}}"#,
            r#"{"data":null,"error":{"type":"validation"}}"#,
        ],
        negative: &[r#"{"error":null,"data":[]}"#, r#"{"error":{},"id":3}"#, r#"{"log":[{"error":{"code":1}}]}"#],
    },
    Rule {
        name: "error_text",
        holds: |body| {
            body.get("error").and_then(Value::as_str).is_some_and(|error| !is_absent(error)) && only_companions(body)
        },
        positive: &[
            r#"{"error":"invalid_auth"}"#,
            r#"{"error":"invalid_scope","error_description":"The scope is unknown"}"#,
        ],
        negative: &[
            r#"{"error":"","result":1}"#,
            r#"{"error":"none","result":1}"#,
            r#"{"error":0.02,"value":17.5}"#,
            r#"{"error":false,"id":1}"#,
            r#"{"id":7,"state":"done","error":"exit status 1","created_at":"2024-01-01"}"#,
        ],
    },
    Rule {
        name: "error_flag",
        holds: |body| body.get("error") == Some(&Value::Bool(true)) && has_reason(body),
        positive: &[r#"{"error":true,"message":"Quota used up"}"#],
        negative: &[r#"{"error":true,"id":4,"total":2}"#, r#"{"error":false,"message":"Saved"}"#],
    },
    Rule {
        name: "graphql_errors",
        holds: |body| body.contains_key("data") && error_list(body).is_some_and(|list| list.iter().all(has_message)),
        positive: &[
            r#"{"data":null,"errors":[{"message":"Cannot query field `x`","locations":[]}]}"#,
            r#"{"data":{"user":null},"errors":[{"message":"Not found","path":["user"]}]}"#,
        ],
        negative: &[r#"{"data":{"user":1},"errors":[]}"#, r#"{"data":[{"errors":["x"]}]}"#],
    },
    Rule {
        name: "error_list",
        holds: |body| error_list(body).is_some() && body.keys().all(|name| name == "errors" || is_companion(name)),
        positive: &[
            r#"{"errors":["name is required"]}"#,
            r#"{"success":false,"errors":[{"code":1003,"message":"Invalid zone"}],"messages":[],"result":null}"#,
        ],
        negative: &[
            r#"{"errors":[],"success":true}"#,
            r#"{"errors":[{"id":1,"message":"TypeError"}],"total_count":1,"page":1}"#,
            r#"{"errors":null}"#,
            r#"{"success":true,"errors":["one row was skipped"],"imported":41}"#,
            r#"{"errors":3}"#,
        ],
    },
    Rule {
        name: "not_successful",
        holds: |body| {
            ["success", "ok", "succeeded", "is_success", "isSuccess"]
                .iter()
                .any(|name| body.get(*name) == Some(&Value::Bool(false)))
                && (has_reason(body) || body.len() == 1)
        },
        positive: &[
            r#"{"success":false,"message":"The date is in the past"}"#,
            r#"{"ok":false}"#,
            r#"{"ok":false,"error":"missing_scope","needed":"chat:write","provided":"users:read"}"#,
            r#"{"success":false,"data":null,"reason":"closed"}"#,
        ],
        negative: &[
            r#"{"success":true,"message":"Saved"}"#,
            r#"{"ok":false,"service":"mail","checked_at":"2024-05-01"}"#,
            r#"{"success":"false alarm"}"#,
        ],
    },
    Rule {
        name: "status_word",
        holds: |body| {
            let failed = body.get("status").and_then(Value::as_str).is_some_and(|status| {
                ["error", "fail", "failed", "failure"].contains(&status.to_ascii_lowercase().as_str())
            });
            failed && only_companions(body) && body.len() > 1
        },
        positive: &[
            r#"{"status":"error","message":"Unable to reach the database"}"#,
            r#"{"status":"fail","data":{"title":"A title is required"}}"#,
            r#"{"status":"ERROR","code":"E17"}"#,
        ],
        negative: &[
            r#"{"id":12,"status":"failed","name":"nightly build","message":"2 tests failed"}"#,
            r#"{"status":"success","message":"No error"}"#,
            r#"{"status":"failed"}"#,
        ],
    },
    Rule {
        name: "status_zero",
        holds: |body| {
            let zero = body.get("status").and_then(scalar).is_some_and(|status| status == "0" || status == "false");
            zero && only_companions(body) && body.iter().any(|(name, value)| is_code_name(name) && is_error_code(value))
        },
        positive: &[
            r#"{"status":"0","info":"INVALID_PARAMS","infocode":"20000"}"#,
            r#"{"status":0,"info_code":"20003","message":"unknown error"}"#,
        ],
        negative: &[
            r#"{"status":"1","info":"OK","infocode":"10000","route":{}}"#,
            r#"{"status":0,"result":{"formatted":"x"}}"#,
            r#"{"status":0,"code":0,"message":"ok"}"#,
        ],
    },
    Rule {
        name: "error_code",
        holds: |body| {
            body.iter().any(|(name, value)| is_error_code_name(name) && is_error_code(value))
                && (says_why(body) || only_companions(body))
        },
        positive: &[
            r#"{"errcode":40013,"errmsg":"invalid appid"}"#,
            r#"{"error_code":110,"error_msg":"Access token invalid","log_id":99}"#,
            r#"{"errorCode":"E-17"}"#,
        ],
        negative: &[
            r#"{"errcode":0,"errmsg":"ok","openid":"x"}"#,
            r#"{"error_code":null,"name":"n"}"#,
            r#"{"errorCode":"","value":1}"#,
            r#"{"id":1,"errorCode":"E-17","device":"pump","seen":"2024-01-01"}"#,
        ],
    },
    Rule {
        name: "problem_details",
        holds: |body| {
            body.get("status").and_then(Value::as_u64).is_some_and(|status| (400..600).contains(&status))
                && body.get("title").is_some_and(Value::is_string)
                && (body.contains_key("type") || body.contains_key("detail"))
        },
        positive: &[r#"{"type":"about:blank","title":"Not Found","status":404}"#],
        negative: &[r#"{"type":"report","title":"404 pages","status":200}"#, r#"{"title":"Room 404","status":"open"}"#],
    },
];

fn error_list(body: &Map<String, Value>) -> Option<&Vec<Value>> {
    let list = body.get("errors")?.as_array()?;
    (!list.is_empty() && list.iter().all(|entry| entry.is_object() || entry.is_string())).then_some(list)
}

fn has_message(entry: &Value) -> bool {
    entry.get("message").is_some_and(Value::is_string)
}
