//! Writes calls in each notation, for the property tests.

use std::fmt::Write;

use serde_json::{Map, Value};

/// A call.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Said {
    pub(super) name: String,
    pub(super) arguments: Map<String, Value>,
}

/// Kinds of arguments that a notation can express.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Values {
    /// Any JSON value.
    Json,
    /// Only strings, whose type the schema determines.
    Strings,
}

/// A notation: its name in these tests, the values that it can express, and the function that writes calls in it.
pub(super) type Notation = (&'static str, Values, fn(&[Said]) -> String);

/// All notations, as the public chat templates write them.
pub(super) const NOTATIONS: &[Notation] = &[
    ("json", Values::Json, |calls| list(calls)),
    ("json objects", Values::Json, |calls| joined(calls, "\n", |call| object(call, "arguments"))),
    ("json fence", Values::Json, |calls| format!("```json\n{}\n```", list(calls))),
    ("json openai", Values::Json, openai),
    ("json by name", Values::Json, |calls| {
        format!("[{}]", joined(calls, ", ", |call| format!("{{{}: {}}}", quoted(&call.name), json(call))))
    }),
    ("json, encoded twice", Values::Json, |calls| {
        joined(calls, "\n", |call| {
            format!("{{\"name\": {}, \"arguments\": {}}}", quoted(&call.name), quoted(&json(call)))
        })
    }),
    ("python", Values::Json, |calls| format!("[{}]", joined(calls, ", ", python))),
    ("python lines", Values::Json, |calls| joined(calls, "\n", python)),
    ("name and object", Values::Json, |calls| joined(calls, "\n", |call| format!("{}\n{}", call.name, json(call)))),
    ("hermes", Values::Json, |calls| {
        joined(calls, "\n", |call| format!("<tool_call>\n{}\n</tool_call>", object(call, "arguments")))
    }),
    ("nemotron", Values::Json, |calls| format!("<TOOLCALL>{}</TOOLCALL>", list(calls))),
    ("function tag", Values::Json, |calls| {
        joined(calls, "", |call| format!("<function={}>{}</function>", call.name, json(call)))
    }),
    ("mistral list", Values::Json, |calls| format!("[TOOL_CALLS] {}</s>", list(calls))),
    ("mistral args", Values::Json, |calls| {
        joined(calls, "", |call| format!("[TOOL_CALLS]{}[ARGS]{}", call.name, json(call)))
    }),
    ("llama", Values::Json, |calls| {
        format!("<|python_tag|>{}<|eom_id|>", joined(calls, "; ", |call| object(call, "parameters")))
    }),
    ("granite", Values::Json, |calls| format!("<|tool_call|>{}", list(calls))),
    ("lfm", Values::Json, |calls| format!("<|tool_call_start|>[{}]<|tool_call_end|>", joined(calls, ", ", python))),
    ("deepseek 3", Values::Json, |calls| {
        let calls = joined(calls, "\n", |call| {
            format!(
                "<｜tool▁call▁begin｜>function<｜tool▁sep｜>{}\n```json\n{}\n```<｜tool▁call▁end｜>",
                call.name,
                json(call)
            )
        });
        format!("<｜tool▁calls▁begin｜>{calls}<｜tool▁calls▁end｜>")
    }),
    ("deepseek 3.1", Values::Json, |calls| {
        let calls = joined(calls, "", |call| {
            format!("<｜tool▁call▁begin｜>{}<｜tool▁sep｜>{}<｜tool▁call▁end｜>", call.name, json(call))
        });
        format!("<｜tool▁calls▁begin｜>{calls}<｜tool▁calls▁end｜>")
    }),
    ("kimi", Values::Json, |calls| {
        let calls = joined(calls, "", |call| {
            format!(
                "<|tool_call_begin|>functions.{}:0<|tool_call_argument_begin|>{}<|tool_call_end|>",
                call.name,
                json(call)
            )
        });
        format!("<|tool_calls_section_begin|>{calls}<|tool_calls_section_end|>")
    }),
    ("functionary 2", Values::Json, |calls| {
        joined(calls, "\n", |call| {
            format!("<|from|>assistant\n<|recipient|>{}\n<|content|>{}<|stop|>", call.name, json(call))
        })
    }),
    ("functionary 3", Values::Json, |calls| joined(calls, "", |call| format!(">>>{}\n{}", call.name, json(call)))),
    ("harmony", Values::Json, |calls| {
        joined(calls, "", |call| {
            let name = &call.name;
            format!(
                "<|start|>assistant<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>{}<|call|>",
                json(call)
            )
        })
    }),
    ("tool_code", Values::Json, |calls| format!("```tool_code\n{}\n```", joined(calls, "\n", python))),
    ("gemma 4", Values::Json, |calls| {
        joined(calls, "", |call| format!("<|tool_call>call:{}{}<tool_call|>", call.name, gemma(&call.arguments)))
    }),
    ("react", Values::Json, |calls| {
        joined(calls, "\n", |call| format!("Action: {}\nAction Input: {}", call.name, json(call)))
    }),
    ("firefunction", Values::Json, |calls| format!(" functools{}", list(calls))),
    ("gorilla", Values::Json, |calls| format!("<<function>>[{}]", joined(calls, ", ", python))),
    ("tool input", Values::Json, |calls| {
        joined(calls, "\n", |call| format!("<tool>{}</tool><tool_input>{}</tool_input>", call.name, json(call)))
    }),
    ("plamo", Values::Json, |calls| {
        let calls = joined(calls, "", |call| {
            format!(
                "<|plamo:begin_tool_request:plamo|><|plamo:begin_tool_name:plamo|>{}<|plamo:end_tool_name:plamo|><|plamo:begin_tool_arguments:plamo|>{}<|plamo:end_tool_arguments:plamo|><|plamo:end_tool_request:plamo|>",
                call.name,
                json(call)
            )
        });
        format!("<|plamo:begin_tool_requests:plamo|>{calls}<|plamo:end_tool_requests:plamo|>")
    }),
    ("xtml", Values::Json, |calls| {
        joined(calls, "", |call| {
            let arguments = each(call, "", |key, value| {
                let kind = if value.is_string() { "string" } else { "object" };
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                format!("<|open|>argument key=\"{key}\" type=\"{kind}\"<|sep|>{text}<|close|>argument<|sep|>")
            });
            format!("<|open|>call tool=\"{}\" index=\"1\"<|sep|>{arguments}<|close|>call<|sep|>", call.name)
        })
    }),
    ("dsml", Values::Json, |calls| {
        let calls = joined(calls, "\n", |call| {
            let arguments = each(call, "\n", |key, value| {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                format!("<｜DSML｜parameter name=\"{key}\" string=\"{}\">{text}</｜DSML｜parameter>", value.is_string())
            });
            format!("<｜DSML｜invoke name=\"{}\">\n{arguments}\n</｜DSML｜invoke>", call.name)
        });
        format!("<｜DSML｜function_calls>\n{calls}\n</｜DSML｜function_calls>")
    }),
    ("invoke", Values::Strings, |calls| {
        joined(calls, "\n", |call| {
            let arguments =
                each(call, "\n", |key, value| format!("<parameter name=\"{key}\">{}</parameter>", text(value)));
            format!("<invoke name=\"{}\">\n{arguments}\n</invoke>", call.name)
        })
    }),
    ("qwen coder", Values::Strings, |calls| {
        joined(calls, "\n", |call| {
            let arguments = each(call, "\n", |key, value| format!("<parameter={key}>\n{}\n</parameter>", text(value)));
            format!("<tool_call>\n<function={}>\n{arguments}\n</function>\n</tool_call>", call.name)
        })
    }),
    ("glm", Values::Strings, |calls| {
        joined(calls, "\n", |call| {
            let arguments = each(call, "\n", |key, value| {
                format!("<arg_key>{key}</arg_key>\n<arg_value>{}</arg_value>", text(value))
            });
            format!("<tool_call>{}\n{arguments}\n</tool_call>", call.name)
        })
    }),
    ("argument token", Values::Strings, |calls| {
        joined(calls, "\n", |call| {
            let arguments = each(call, "\n", |key, value| {
                format!("<|tool_arg:start|>{key}<|tool_arg:value|>{}<|tool_arg:end|>", text(value))
            });
            format!("<|tool_call:start|>{}\n{arguments}\n<|tool_call:end|>", call.name)
        })
    }),
    ("namespace token", Values::Strings, |calls| {
        const NS: &str = "]<]minimax[>[";
        let calls = joined(calls, "\n", |call| {
            let arguments = each(call, "", |key, value| format!("{NS}<{key}>{}{NS}</{key}>", text(value)));
            format!("{NS}<invoke name=\"{}\">{arguments}{NS}</invoke>", call.name)
        });
        format!("{NS}<tool_call>\n{calls}\n{NS}</tool_call>")
    }),
];

fn joined(calls: &[Said], between: &str, write: impl Fn(&Said) -> String) -> String {
    calls.iter().map(write).collect::<Vec<_>>().join(between)
}

fn each(call: &Said, between: &str, write: impl Fn(&str, &Value) -> String) -> String {
    call.arguments.iter().map(|(key, value)| write(key, value)).collect::<Vec<_>>().join(between)
}

fn json(call: &Said) -> String {
    serde_json::to_string_pretty(&call.arguments).unwrap_or_default()
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn object(call: &Said, arguments: &str) -> String {
    format!("{{\"name\": {}, \"{arguments}\": {}}}", quoted(&call.name), Value::Object(call.arguments.clone()))
}

fn list(calls: &[Said]) -> String {
    format!("[{}]", joined(calls, ", ", |call| object(call, "arguments")))
}

fn openai(calls: &[Said]) -> String {
    let calls = joined(calls, ", ", |call| {
        format!(
            "{{\"id\": \"call_1\", \"type\": \"function\", \"function\": {{\"name\": {}, \"arguments\": {}}}}}",
            quoted(&call.name),
            quoted(&json(call))
        )
    });
    format!("{{\"tool_calls\": [{calls}]}}")
}

fn python(call: &Said) -> String {
    let arguments = each(call, ", ", |key, value| format!("{key}={}", literal(value)));
    format!("{}({arguments})", call.name)
}

/// Formats a value like Python's `repr`.
fn literal(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => {
            let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
            let mut out = String::from(quote);
            for letter in text.chars() {
                match letter {
                    '\n' => out.push_str("\\n"),
                    '\r' => out.push_str("\\r"),
                    '\t' => out.push_str("\\t"),
                    '\\' => out.push_str("\\\\"),
                    letter if letter == quote => {
                        let _ = write!(out, "\\{letter}");
                    }
                    letter if letter.is_ascii_control() => {
                        let _ = write!(out, "\\x{:02x}", u32::from(letter));
                    }
                    letter => out.push(letter),
                }
            }
            out.push(quote);
            out
        }
        Value::Array(items) => format!("[{}]", items.iter().map(literal).collect::<Vec<_>>().join(", ")),
        Value::Object(members) => {
            let member = |(key, value): (&String, &Value)| {
                format!("{}: {}", literal(&Value::from(key.as_str())), literal(value))
            };
            format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(", "))
        }
    }
}

/// Formats members in the notation of Gemma.
fn gemma(members: &Map<String, Value>) -> String {
    let member = |(key, value): (&String, &Value)| format!("{key}:{}", gemma_value(value));
    format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(","))
}

fn gemma_value(value: &Value) -> String {
    match value {
        Value::String(text) => format!("<|\"|>{text}<|\"|>"),
        Value::Array(items) => format!("[{}]", items.iter().map(gemma_value).collect::<Vec<_>>().join(",")),
        Value::Object(members) => gemma(members),
        other => other.to_string(),
    }
}
