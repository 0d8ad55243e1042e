//! Rules, as data, for bodies of responses below status 400 that are evidently errors.
//!
//! Each rule lists bodies that it must recognise and look-alikes that no rule may recognise. The rules are
//! conservative: merely suspicious bodies are decided by the documentation.

use serde_json::{Map, Value};

use super::body_words::{
    has_reason, is_absent, is_code_name, is_error_code, is_error_code_name, scalar, states_reason,
};
use super::substance::{member, members, substance};

/// Rule that recognises an error in the body of a response below status 400.
pub struct Rule {
    /// Name of the rule in traces.
    pub name: &'static str,
    /// Whether the object is an error. Called only for non-empty JSON objects.
    pub(crate) holds: fn(&Map<String, Value>) -> bool,
    /// Bodies that the rule must recognise.
    pub positive: &'static [&'static str],
    /// Look-alikes that no rule may recognise.
    pub negative: &'static [&'static str],
}

/// Rules in order of evaluation.
pub const RULES: &[Rule] = &[
    Rule {
        name: "error_object",
        holds: |body| {
            let errors = members(
                body,
                &["error", "fault", "exception", "err", "problem", "odataerror", "errorresponse", "errordetails"],
            );
            let has_error = errors.into_iter().any(|error| error.as_object().is_some_and(|error| !error.is_empty()));
            has_error && substance(body) <= 1
        },
        positive: &[
            r#"{"error":{"code":"not_found","message":"No such room"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Invalid params"}}"#,
            r#"{"data":null,"error":{"type":"validation"}}"#,
            r#"{"odata.error":{"code":"","message":{"lang":"en-US","value":"Resource not found"}}}"#,
            r#"{"fault":{"faultstring":"Invalid ApiKey","detail":{"errorcode":"oauth.v2.InvalidApiKey"}}}"#,
            r#"{"Error":{"Code":"NoSuchKey","Message":"The key does not exist"},"RequestId":"17"}"#,
        ],
        negative: &[
            r#"{"error":null,"data":[]}"#,
            r#"{"error":{},"id":3}"#,
            r#"{"log":[{"error":{"code":1}}]}"#,
            r#"{"id":"job_3","status":"failed","error":{"code":"E1"},"created_at":"2024-05-01"}"#,
        ],
    },
    Rule {
        name: "error_text",
        holds: |body| {
            let errors = members(body, &["error", "exception", "fault"]).into_iter();
            errors.filter_map(Value::as_str).any(|error| !is_absent(error)) && substance(body) == 0 && !succeeded(body)
        },
        positive: &[
            r#"{"error":"invalid_auth"}"#,
            r#"{"error":"invalid_scope","error_description":"The scope is unknown"}"#,
        ],
        negative: &[
            r#"{"error":"","result":1}"#,
            r#"{"error":"none","result":1}"#,
            r#"{"success":true,"error":"one row was skipped"}"#,
            r#"{"error":0.02,"value":17.5}"#,
            r#"{"error":false,"id":1}"#,
            r#"{"id":7,"state":"done","error":"exit status 1","created_at":"2024-01-01"}"#,
        ],
    },
    Rule {
        name: "error_flag",
        holds: |body| {
            let flags = members(body, &["error", "iserror", "haserror", "failed"]);
            flags.contains(&&Value::Bool(true)) && (has_reason(body) || substance(body) == 0)
        },
        positive: &[
            r#"{"error":true,"message":"Quota used up"}"#,
            r#"{"isError":true,"content":[{"type":"text","text":"No such file"}]}"#,
        ],
        negative: &[r#"{"error":true,"id":4,"total":2}"#, r#"{"error":false,"message":"Saved"}"#],
    },
    Rule {
        name: "graphql_errors",
        holds: |body| {
            // If data is present, the errors report only a missing part (GraphQL, section 7.1.2).
            body.get("data").is_some_and(is_nothing)
                && error_list(body).is_some_and(|list| list.iter().all(has_message))
        },
        positive: &[
            r#"{"data":null,"errors":[{"message":"Cannot query field `x`","locations":[]}]}"#,
            r#"{"data":{"user":null},"errors":[{"message":"Not found","path":["user"]}]}"#,
        ],
        negative: &[
            r#"{"data":{"user":1},"errors":[]}"#,
            r#"{"data":[{"errors":["x"]}]}"#,
            r#"{"data":{"user":{"id":1},"orders":null},"errors":[{"message":"Not allowed","path":["orders"]}]}"#,
        ],
    },
    Rule {
        name: "error_list",
        holds: |body| {
            let mut lists = members(body, &["errors", "errormessages", "faults", "error"]).into_iter();
            lists.any(is_error_collection)
                && substance(body) == 0
                && !succeeded(body)
                && body.get("data").is_none_or(is_nothing)
        },
        positive: &[
            r#"{"errors":["name is required"]}"#,
            r#"{"success":false,"errors":[{"code":1003,"message":"Invalid zone"}],"messages":[],"result":null}"#,
            r#"{"message":"The given data was invalid.","errors":{"email":["The email is taken."]}}"#,
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
            members(body, SUCCESS_FLAGS).contains(&&Value::Bool(false))
                && (has_reason(body) && substance(body) <= 1 || substance(body) == 0)
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
            let statuses =
                members(body, &["status", "result", "outcome", "stat"]).into_iter().filter_map(Value::as_str);
            let mut statuses = statuses.map(str::to_ascii_lowercase);
            statuses.any(|status| ["error", "fail", "failed", "failure"].contains(&status.as_str()))
                && substance(body) == 0
                && body.len() > 1
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
            zero && substance(body) == 0
                && body.iter().any(|(name, value)| is_code_name(name) && is_error_code(value) && name != "status")
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
                && (states_reason(body) && substance(body) <= 1 || substance(body) == 0)
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
        name: "error_message",
        holds: |body| {
            let names = &["errormessage", "errmsg", "errormsg", "errordescription", "faultstring", "exceptionmessage"];
            let messages = members(body, names).into_iter();
            messages.filter_map(Value::as_str).any(|text| !is_absent(text))
                && substance(body) <= 1
                && !body.iter().any(|(name, value)| is_error_code_name(name) && !is_error_code(value))
        },
        positive: &[
            r#"{"errorMessage":"division by zero","errorType":"ZeroDivisionError","stackTrace":["x"]}"#,
            r#"{"status":"REQUEST_DENIED","error_message":"The key is missing.","results":[]}"#,
        ],
        negative: &[
            r#"{"error_message":null,"results":[1]}"#,
            r#"{"id":4,"error_message":"last run: timeout","name":"sync","next_run":"2024-05-01"}"#,
        ],
    },
    Rule {
        name: "exception_type",
        holds: |body| {
            let kinds =
                members(body, &["type", "errortype", "exception", "name", "exceptiontype", "typekey"]).into_iter();
            kinds.filter_map(Value::as_str).any(is_exception_name) && states_reason(body) && substance(body) <= 1
        },
        positive: &[
            r#"{"__type":"com.amazon.coral.service#ThrottlingException","message":"Rate exceeded"}"#,
            r#"{"name":"ValidationError","message":"`age` must be a number"}"#,
        ],
        negative: &[
            r#"{"name":"NameError","message":"Raised when a name is not found.","since":"1.0","module":"builtins"}"#,
            r#"{"type":"Terror","title":"A film"}"#,
        ],
    },
    Rule {
        name: "status_member",
        holds: |body| {
            let named = members(body, &["status", "statuscode", "httpstatus", "httpstatuscode", "httpcode"]);
            // A single code may have any meaning.
            let coded = if body.len() > 1 { members(body, &["code", "errorcode"]) } else { Vec::new() };
            named.into_iter().chain(coded).any(is_failed_status) && substance(body) == 0
        },
        positive: &[
            r#"{"status":404,"body":{"id":null}}"#,
            r#"{"statusCode":400,"error":"Bad Request","message":"`from` is late"}"#,
            r#"{"code":401,"message":"The token has expired"}"#,
        ],
        negative: &[
            r#"{"status":200,"body":{"code":404}}"#,
            r#"{"url":"https://example.org","status_code":503,"checked_at":"2024-05-01"}"#,
            r#"{"code":404,"name":"Bus to the harbour","stops":12}"#,
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
    Rule {
        name: "detail_list",
        holds: |body| {
            let entries = member(body, "detail").and_then(Value::as_array);
            entries.is_some_and(|list| {
                !list.is_empty()
                    && list.iter().all(|entry| entry.get("msg").is_some() && entry.get("loc").is_some())
                    && substance(body) == 0
            })
        },
        positive: &[r#"{"detail":[{"loc":["query","from"],"msg":"field required","type":"value_error.missing"}]}"#],
        negative: &[r#"{"detail":[{"loc":"Rome"}]}"#, r#"{"detail":[]}"#],
    },
];

/// Members that state whether a request succeeded (names folded).
const SUCCESS_FLAGS: &[&str] = &["success", "ok", "succeeded", "issuccess", "successful", "issuccessful"];

/// Whether there are no data: `null`, an empty array, or an object whose members are all null.
fn is_nothing(data: &Value) -> bool {
    match data {
        Value::Object(data) => data.values().all(Value::is_null),
        Value::Array(items) => items.is_empty(),
        data => data.is_null(),
    }
}

fn succeeded(body: &Map<String, Value>) -> bool {
    members(body, SUCCESS_FLAGS).contains(&&Value::Bool(true))
}

fn error_list(body: &Map<String, Value>) -> Option<&Vec<Value>> {
    let list = body.get("errors")?.as_array()?;
    (!list.is_empty() && list.iter().all(|entry| entry.is_object() || entry.is_string())).then_some(list)
}

/// Whether the value is a non-empty list of errors, or a non-empty object of errors by field.
fn is_error_collection(errors: &Value) -> bool {
    match errors {
        Value::Array(list) => !list.is_empty() && list.iter().all(|entry| entry.is_object() || entry.is_string()),
        Value::Object(named) => {
            !named.is_empty() && named.values().all(|entry| entry.is_array() || entry.is_object() || entry.is_string())
        }
        _ => false,
    }
}

fn has_message(entry: &Value) -> bool {
    entry.get("message").is_some_and(Value::is_string)
}

fn is_failed_status(value: &Value) -> bool {
    scalar(value).and_then(|status| status.parse::<u16>().ok()).is_some_and(|status| (400..600).contains(&status))
}

/// Whether the text is the name of an exception class: `KeyError`, `a.b#ThrottlingException`.
fn is_exception_name(text: &str) -> bool {
    let last = text.rsplit(['.', '#', ':', '/']).next().unwrap_or_default();
    let one_word = !last.is_empty() && last.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
    one_word && ["Error", "Exception", "Fault"].iter().any(|ending| last.ends_with(ending))
}
