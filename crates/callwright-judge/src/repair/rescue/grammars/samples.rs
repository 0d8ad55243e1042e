//! Samples of each notation with markers: texts that are calls, adversarial texts, and similar texts that must remain
//! text.

/// Texts in one notation.
pub(super) struct NotationSample {
    /// Name of the notation.
    pub(super) notation: &'static str,
    /// Texts with the calls that they contain.
    pub(super) right: &'static [(&'static str, &'static [(&'static str, &'static str)])],
    /// Texts with an intended call that cannot be recovered, or that only resemble one.
    pub(super) hostile: &'static [&'static str],
    /// Texts that contain the markers, or similar ones, and are not calls.
    pub(super) alike: &'static [&'static str],
}

const PARIS: (&str, &str) = ("get_weather", r#"{"city":"Paris"}"#);
const OSLO: (&str, &str) = ("get_weather", r#"{"city":"Oslo","days":3}"#);
const OSLO_TEXT: (&str, &str) = ("get_weather", r#"{"city":"Oslo","days":"3"}"#);
const CANCEL: (&str, &str) = ("orders.cancel", r#"{"order_id":12345678901234567890123}"#);
const READ: (&str, &str) = ("mcp__files__read", r#"{"path":"a/{b}.txt"}"#);
const PING: (&str, &str) = ("ping", "{}");

/// The table, in the order of the grammars.
pub(super) const SAMPLES: &[NotationSample] = &[
    NotationSample {
        notation: "tool_call",
        right: &[
            ("<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}\n</tool_call>", &[PARIS]),
            (
                "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}\n</tool_call>\n<tool_call>\n{\"name\": \"ping\", \"arguments\": {}}\n</tool_call>",
                &[PARIS, PING],
            ),
            // The closing marker is missing, or a surplus bracket precedes it.
            ("<tool_call>{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}", &[PARIS]),
            ("<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}}\n</tool_call>", &[PARIS]),
            (
                "<tool_call>{'name': 'orders.cancel', 'arguments': {'order_id': 12345678901234567890123,}}</tool_call><|im_end|>",
                &[CANCEL],
            ),
            (
                "<tool_call>{\"arguments\": \"{\\\"path\\\": \\\"a/{b}.txt\\\"}\", \"name\": \"mcp__files__read\"}</tool_call>",
                &[READ],
            ),
            (
                "<tool_calls>[{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}, {\"name\": \"ping\", \"arguments\": {}}]</tool_calls>",
                &[PARIS, PING],
            ),
            (
                "<tool_calls>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}\n{\"name\": \"ping\", \"arguments\": {}}\n</tool_calls>",
                &[PARIS, PING],
            ),
            (
                "<TOOLCALL>[{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\", \"days\": 3}}]</TOOLCALL>",
                &[OSLO],
            ),
            ("<function_call> {\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}} ", &[PARIS]),
            (
                "<functioncall> {\"name\": \"get_weather\", \"arguments\": '{\"city\": \"Paris\"}'} <|endoftext|>",
                &[PARIS],
            ),
            ("<function_calls>\nget_weather(city=\"Oslo\", days=3)\nping()\n</function_calls>", &[OSLO, PING]),
            (
                "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n</tool_call>",
                &[OSLO_TEXT],
            ),
            ("<tool_call>ping</tool_call>", &[PING]),
            (
                "<tool_calls>\n<tool_call>get_weather<tool_sep>\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n</tool_call>\n<tool_call>ping<tool_sep>\n</tool_call>\n</tool_calls>",
                &[PARIS, PING],
            ),
            (
                "<longcat_tool_call>get_weather\n<longcat_arg_key>city</longcat_arg_key>\n<longcat_arg_value>Paris</longcat_arg_value>\n</longcat_tool_call>",
                &[PARIS],
            ),
            (
                "<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>",
                &[OSLO_TEXT],
            ),
            (
                "<seed:tool_call>\n<function=get_weather>\n<parameter=city>Paris</parameter>\n</function>\n</seed:tool_call>",
                &[PARIS],
            ),
            (
                "<minimax:tool_call>\n<invoke name=\"get_weather\">\n<parameter name=\"city\">Paris</parameter>\n</invoke>\n<invoke name=\"ping\">\n</invoke>\n</minimax:tool_call>",
                &[PARIS, PING],
            ),
            (
                "<function_calls>\n<invoke>\n<tool_name>get_weather</tool_name>\n<parameters>\n<city>Paris</city>\n</parameters>\n</invoke>\n</function_calls>",
                &[PARIS],
            ),
            (
                "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"get_weather\">\n<｜DSML｜parameter name=\"city\" string=\"true\">Oslo</｜DSML｜parameter>\n<｜DSML｜parameter name=\"days\" string=\"false\">3</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
                &[OSLO],
            ),
            (
                "<tool_use>\n<tool_name>get_weather</tool_name>\n<arguments>{\"city\": \"Paris\"}</arguments>\n</tool_use>",
                &[PARIS],
            ),
            (
                "<tool_call>\n```json\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}\n```\n</tool_call>",
                &[PARIS],
            ),
        ],
        hostile: &[
            "<tool_call>",
            "<tool_call><tool_call><tool_call><tool_call><tool_call>",
            "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Par",
            "<tool_call>{\"name\": \"get_wether_map\", \"arguments\": {}}</tool_call>",
            "<tool_call>get_weather<arg_key>city</arg_key></tool_call>",
            "<tool_call>}}}]]]</tool_call>",
        ],
        alike: &[
            "The template puts a `<tool_call>` tag around each call.",
            "> <tool_call>{\"name\": \"ping\", \"arguments\": {}}</tool_call>\n\nThat is what the log says.",
            "You wrote \"<tool_call>{}</tool_call>\" in your mail; what did you expect?",
            "A <tool_call> element is closed by its end tag.",
            "Here is an example of the format:\n```xml\n<tool_call>{\"name\": \"ping\", \"arguments\": {}}</tool_call>\n```",
            "<think>I could write <tool_call>{\"name\": \"ping\", \"arguments\": {}}</tool_call></think>No need for that.",
        ],
    },
    NotationSample {
        notation: "function_tag",
        right: &[
            ("<function=get_weather>{\"city\": \"Paris\"}</function>", &[PARIS]),
            ("<function=get_weather>{\"city\": \"Paris\"}</function><function=ping>{}</function>", &[PARIS, PING]),
            ("<function=get_weather>{\"city\": \"Paris\"}</function><|eom_id|>", &[PARIS]),
            (
                "<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>",
                &[OSLO_TEXT],
            ),
            // An end tag is missing.
            (
                "<function=get_weather>\n<parameter=city>\nOslo\n<parameter=days>\n3\n</parameter>\n</function>",
                &[OSLO_TEXT],
            ),
            ("<function=get_weather>\n<parameter=city>\nParis\n</function>", &[PARIS]),
            ("<function=ping></function>", &[PING]),
            ("<function name=\"get_weather\"><parameter name=\"city\">Paris</parameter></function>", &[PARIS]),
        ],
        hostile: &[
            "<function=",
            "<function=get_weather>{\"city\": ",
            "<function=get_weather><parameter=city>Paris",
            "<function=nothing_here>{}</function>",
        ],
        alike: &["Llama writes `<function=name>{...}</function>`.", "The tag <function=name> names the function."],
    },
    NotationSample {
        notation: "invoke",
        right: &[
            (
                "<invoke name=\"get_weather\">\n<parameter name=\"city\">Oslo</parameter>\n<parameter name=\"days\">3</parameter>\n</invoke>",
                &[OSLO_TEXT],
            ),
            ("<invoke name=\"ping\"></invoke>", &[PING]),
            ("<invoke name='get_weather'><city>Paris</city></invoke>", &[PARIS]),
            (
                "<steptml:invoke name=\"get_weather\"><steptml:parameter name=\"city\">Paris</steptml:parameter></steptml:invoke>",
                &[PARIS],
            ),
            (
                "<use_mcp_tool>\n<server_name>files</server_name>\n<tool_name>mcp__files__read</tool_name>\n<arguments>\n{\"path\": \"a/{b}.txt\"}\n</arguments>\n</use_mcp_tool>",
                &[READ],
            ),
        ],
        hostile: &[
            "<invoke name=",
            "<invoke name=\"get_weather\">",
            "<invoke name=\"get_weather\"><parameter name=\"city\">Paris</invoke",
            "<invoke><invoke><invoke>",
        ],
        alike: &[
            "Each call is an `<invoke name=\"...\">` element.",
            "> <invoke name=\"ping\"></invoke>\n\nI did not run that.",
        ],
    },
    NotationSample {
        notation: "mistral",
        right: &[
            (
                "[TOOL_CALLS] [{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}, \"id\": \"D681PevKs\"}]</s>",
                &[PARIS],
            ),
            (
                "[TOOL_CALLS][{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}, {\"name\": \"ping\", \"arguments\": {}}]",
                &[PARIS, PING],
            ),
            ("[TOOL_CALLS]get_weather[ARGS]{\"city\": \"Paris\"}[TOOL_CALLS]ping[ARGS]{}</s>", &[PARIS, PING]),
            ("[TOOL_CALLS]get_weather[CALL_ID]a1b2c3d4e[ARGS]{\"city\": \"Paris\"}", &[PARIS]),
            ("[TOOL_CALLS]get_weather{\"city\": \"Paris\"}", &[PARIS]),
            (
                "[TOOL_REQUEST]{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}[END_TOOL_REQUEST]",
                &[PARIS],
            ),
        ],
        hostile: &[
            "[TOOL_CALLS]",
            "[TOOL_CALLS] [{\"name\": \"get_weather\", \"argu",
            "[TOOL_CALLS]get_weather[ARGS]",
            "[TOOL_CALLS][TOOL_CALLS][TOOL_CALLS]",
            "[TOOL_CALLS]get_weather[CALL_ID]x",
        ],
        alike: &[
            "The token `[TOOL_CALLS]` precedes a list of calls.",
            "See section [TOOL_CALLS] of the manual for more.",
        ],
    },
    NotationSample {
        notation: "special_token",
        right: &[
            ("<|python_tag|>{\"name\": \"get_weather\", \"parameters\": {\"city\": \"Paris\"}}<|eom_id|>", &[PARIS]),
            (
                "<|python_tag|>{\"name\": \"get_weather\", \"parameters\": {\"city\": \"Paris\"}}; {\"name\": \"ping\", \"parameters\": {}}",
                &[PARIS, PING],
            ),
            ("<|python_tag|>get_weather.call(city=\"Paris\")", &[PARIS]),
            ("<|python_start|>[get_weather(city=\"Oslo\", days=3), ping()]<|python_end|><|eot|>", &[OSLO, PING]),
            (
                "<|tool_call|>[{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}]<|/tool_call|><|end|>",
                &[PARIS],
            ),
            ("<|tool_call_start|>[get_weather(city=\"Paris\")]<|tool_call_end|>Let me see.", &[PARIS]),
            (
                "<|tool_call_start|>\n```python\nget_weather(city=\"Paris\")\nping()\n```\n<|tool_call_end|>",
                &[PARIS, PING],
            ),
            (
                "<|action_start|><|plugin|>\n{\"name\": \"get_weather\", \"parameters\": {\"city\": \"Paris\"}}<|action_end|>",
                &[PARIS],
            ),
            (
                "<|START_ACTION|>[\n    {\"tool_call_id\": \"0\", \"tool_name\": \"get_weather\", \"parameters\": {\"city\": \"Paris\"}}\n]<|END_ACTION|>",
                &[PARIS],
            ),
            (
                "<|START_THINKING|>I will ask.<|END_THINKING|><|START_ACTION|>[{\"tool_call_id\": \"0\", \"tool_name\": \"ping\", \"parameters\": {}}]<|END_ACTION|>",
                &[PING],
            ),
            (
                "<|tools_prefix|>[{\"get_weather\": {\"city\": \"Paris\"}}, {\"ping\": {}}]<|tools_suffix|>",
                &[PARIS, PING],
            ),
            ("<|function_call|>{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}", &[PARIS]),
            (
                "<|content_invoke_tool_json|>{\"name\": \"get_weather\", \"args\": {\"city\": \"Paris\"}}<|end_message|>",
                &[PARIS],
            ),
            ("<|START_OF_FUNCTION_CALL|>get_weather:\n{\"city\": \"Paris\"}<|END_OF_FUNCTION_CALL|>", &[PARIS]),
            ("<|reserved_special_token_249|>get_weather\n{\"city\": \"Paris\"}<|eot_id|>", &[PARIS]),
            ("[unused11][{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}][unused12]", &[PARIS]),
            (
                "<|im_start|>assistant -> tool/function_call\n[{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}]<|im_end|>",
                &[PARIS],
            ),
        ],
        hostile: &[
            "<|python_tag|>",
            "<|tool_call|>[{\"name\": ",
            "<|action_start|><|plugin|>",
            "<|START_ACTION|>[]<|END_ACTION|>",
            "<|python_tag|>import os; os.remove('x')",
        ],
        alike: &["Llama marks code with `<|python_tag|>`.", "The token <|tool_call|> is reserved."],
    },
    NotationSample {
        notation: "deepseek",
        right: &[
            (
                "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n{\"city\": \"Paris\"}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>ping\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
                &[PARIS, PING],
            ),
            (
                "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{\"city\": \"Paris\"}<｜tool▁call▁end｜><｜tool▁call▁begin｜>ping<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
                &[PARIS, PING],
            ),
            ("<｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n{\"city\": \"Paris\"}\n```", &[PARIS]),
            (
                "<|tool▁calls▁begin|><|tool▁call▁begin|>get_weather<|tool▁sep|>{\"city\": \"Paris\"}<|tool▁call▁end|><|tool▁calls▁end|>",
                &[PARIS],
            ),
            (
                "<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name=\"get_weather\"><steptml:parameter name=\"city\">Paris</steptml:parameter></steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>",
                &[PARIS],
            ),
        ],
        hostile: &[
            "<｜tool▁calls▁begin｜>",
            "<｜tool▁calls▁begin｜><｜tool▁calls▁end｜>",
            "<｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n{\"city\"",
            "<｜tool▁call▁begin｜><｜tool▁call▁begin｜><｜tool▁call▁begin｜>",
        ],
        alike: &[
            "The template begins calls with `<｜tool▁calls▁begin｜>`.",
            "Between <｜tool▁calls▁begin｜> and its end stand the calls.",
        ],
    },
    NotationSample {
        notation: "kimi",
        right: &[
            (
                "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{\"city\": \"Paris\"}<|tool_call_end|><|tool_call_begin|>functions.ping:1<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>",
                &[PARIS, PING],
            ),
            (
                "<|tool_call_begin|>functions.orders.cancel:0<|tool_call_argument_begin|>{\"order_id\": 12345678901234567890123}<|tool_call_end|>",
                &[CANCEL],
            ),
            (
                "<|tool_calls_section_begin|>\n<|tool_call_begin|> get_weather:0 <|tool_call_argument_begin|> {\"city\": \"Paris\"} <|tool_call_end|>\n<|tool_calls_section_end|>",
                &[PARIS],
            ),
        ],
        hostile: &[
            "<|tool_calls_section_begin|>",
            "<|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{\"ci",
            "<|tool_call_begin|>functions.get_weather:0{\"city\": \"Paris\"}",
            "<|tool_calls_section_begin|><|tool_calls_section_end|>",
        ],
        alike: &["Calls stand in a `<|tool_calls_section_begin|>` section.", "After <|tool_call_begin|> comes an id."],
    },
    NotationSample {
        notation: "recipient",
        right: &[
            ("<|from|>assistant\n<|recipient|>get_weather\n<|content|>{\"city\": \"Paris\"}<|stop|>", &[PARIS]),
            (
                "<|recipient|>get_weather\n<|content|>{\"city\": \"Paris\"}\n<|from|>assistant\n<|recipient|>ping\n<|content|>{}<|stop|>",
                &[PARIS, PING],
            ),
            ("<|recipient|> get_weather\n<|content|> {\"city\": \"Paris\"}", &[PARIS]),
            (
                "<|recipient|>all\n<|content|>Let me look.\n<|from|>assistant\n<|recipient|>get_weather\n<|content|>{\"city\": \"Paris\"}",
                &[PARIS],
            ),
        ],
        hostile: &["<|recipient|>", "<|recipient|>get_weather", "<|recipient|>get_weather\n<|content|>{\"city\": "],
        alike: &[
            "<|recipient|>all\n<|content|>It is sunny (and warm) in Paris.",
            "The token `<|recipient|>` names who is addressed.",
        ],
    },
    NotationSample {
        notation: "turn",
        right: &[
            (">>>get_weather\n{\"city\": \"Paris\"}", &[PARIS]),
            (">>>get_weather\n{\"city\": \"Paris\"}>>>ping\n{}", &[PARIS, PING]),
            (">>>all\nLet me look.>>>get_weather\n{\"city\": \"Paris\"}", &[PARIS]),
            ("all\nLet me look.\n>>>orders.cancel\n{\"order_id\": 12345678901234567890123}", &[CANCEL]),
        ],
        hostile: &[">>>", ">>>get_weather\n{\"city\": ", ">>>>>>>>>>>>"],
        alike: &[
            ">>> print(1 + 1)\n2",
            ">>>all\nIt is sunny (and warm) in Paris.",
            "The interpreter shows a prompt:\n>>> total = {\"a\": 1}\n>>> total\n{'a': 1}",
            "In Java, a >>> b\n{shifts} without the sign.",
        ],
    },
    NotationSample {
        notation: "harmony",
        right: &[
            (
                "<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{\"city\": \"Paris\"}<|call|>",
                &[PARIS],
            ),
            (
                "<|start|>assistant<|channel|>commentary to=functions.get_weather<|message|>{\"city\": \"Paris\"}<|call|>",
                &[PARIS],
            ),
            (
                "<|start|>assistant to=functions.get_weather<|channel|>commentary json<|message|>{\"city\": \"Paris\"}<|call|>",
                &[PARIS],
            ),
            (
                "<|channel|>analysis<|message|>I should ask, e.g. ping().<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{\"city\": \"Paris\"}<|call|>",
                &[PARIS],
            ),
            (
                "<|channel|>commentary to=multi_tool_use.parallel<|message|>{\"tool_uses\": [{\"recipient_name\": \"functions.get_weather\", \"parameters\": {\"city\": \"Paris\"}}, {\"recipient_name\": \"functions.ping\", \"parameters\": {}}]}<|call|>",
                &[PARIS, PING],
            ),
        ],
        hostile: &[
            "<|channel|>commentary to=",
            "<|channel|>commentary to=functions.get_weather<|message|>{\"city\": \"Par",
            "<|start|>assistant to=<|message|>{}",
            "<|channel|>commentary to=functions.<|message|>{}",
        ],
        alike: &[
            "<|channel|>final<|message|>It is sunny {as ever} in Paris.",
            "<|start|>assistant<|channel|>final<|message|>It is sunny (and warm).<|return|>",
            "Tools are called in the `<|channel|>commentary to=functions.name` channel.",
        ],
    },
    NotationSample {
        notation: "harmony_header",
        right: &[
            ("commentary to=functions.get_weather json\n{\"city\": \"Paris\"}", &[PARIS]),
            ("to=functions.get_weather {\"city\": \"Paris\"}", &[PARIS]),
            ("assistant to=functions.get_weather:\n{\"city\": \"Paris\"}", &[PARIS]),
            (
                "to=multi_tool_use.parallel {\"tool_uses\": [{\"recipient_name\": \"functions.ping\", \"parameters\": {}}]}",
                &[PING],
            ),
        ],
        hostile: &[
            "to=functions.",
            "commentary to=functions.get_weather json\n{\"city\": ",
            "to=functions.to=functions.to=functions.",
        ],
        alike: &[
            "commentary to=the second chapter (see below)",
            "A header like to=functions.get_weather {\"city\": \"Paris\"} names the recipient.",
            "to=functions.get_weather is how {names} are written.",
        ],
    },
    NotationSample {
        notation: "tool_code",
        right: &[
            ("```tool_code\nget_weather(city=\"Paris\")\n```", &[PARIS]),
            (
                "```tool_code\nprint(default_api.get_weather(city='Oslo', days=3))\nprint(default_api.ping())\n```",
                &[OSLO, PING],
            ),
            ("```tool_code\n[get_weather(city=\"Paris\"), ping()]\n```", &[PARIS, PING]),
            ("```tool_call\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}\n```", &[PARIS]),
            ("<tool_code>\nprint(get_weather(city=\"Paris\"))\n</tool_code>", &[PARIS]),
            ("<execute_tool>get_weather(city=\"Paris\")</execute_tool>", &[PARIS]),
            ("```tool_use\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}\n```", &[PARIS]),
        ],
        hostile: &[
            "```tool_code",
            "```tool_code\n```",
            "```tool_code\nget_weather(city=\"Par",
            "```tool_code\nfor i in range(3): pass\n```",
            "<tool_code></tool_code>",
        ],
        alike: &["A fence of the kind `tool_code` holds calls.", "Gemma writes \"```tool_code\" before a call."],
    },
    NotationSample {
        notation: "gemma_call",
        right: &[
            ("<start_function_call>call:get_weather{city:<escape>Paris<escape>}<end_function_call>", &[PARIS]),
            (
                "<start_function_call>call:get_weather{city:<escape>Oslo<escape>,days:3}<end_function_call><start_function_call>call:ping{}<end_function_call>",
                &[OSLO, PING],
            ),
            ("<|tool_call>call:get_weather{city:<|\"|>Oslo<|\"|>,days:3}<tool_call|>", &[OSLO]),
            ("<|tool_call>call:mcp__files__read{path:<|\"|>a/{b}.txt<|\"|>}<tool_call|>", &[READ]),
            (
                "<|tool_call>call:get_weather{city:<|\"|>It's, \"so\"<|\"|>,spot:{lat:-1.5,lon:2},tags:[<|\"|>a,b<|\"|>,<|\"|>}<|\"|>]}<tool_call|>",
                &[("get_weather", r#"{"city":"It's, \"so\"","spot":{"lat":-1.5,"lon":2},"tags":["a,b","}"]}"#)],
            ),
        ],
        hostile: &[
            "<start_function_call>",
            "<start_function_call>call:get_weather{city:<escape>Par",
            "<|tool_call>call:get_weather{{{{{{",
            "<|tool_call>call:get_weather{city}<tool_call|>",
        ],
        alike: &["It writes `<start_function_call>` first.", "After <|tool_call> comes the call."],
    },
    NotationSample {
        notation: "gemma_call_bare",
        right: &[
            ("call:default_api:get_weather{city:Paris}", &[PARIS]),
            ("call:get_weather{city:\"Oslo\",days:3}", &[OSLO]),
        ],
        hostile: &["call:", "call:get_weather{city:", "call:get_weather{:}"],
        alike: &[
            "call:  the number {below} is free of charge",
            "Please call:default_api:get_weather{city:Paris} when you need it.",
            "call: {\"phone\": 5551234}",
        ],
    },
    NotationSample {
        notation: "react",
        right: &[
            ("Thought: I need the weather.\nAction: get_weather\nAction Input: {\"city\": \"Paris\"}", &[PARIS]),
            ("Action: get_weather\nAction Input: {\"city\": \"Paris\"}\nObservation: sunny", &[PARIS]),
            ("Action: get_weather\nAction Input: Paris\n", &[PARIS]),
            ("Action: ping\nAction Input:\n", &[PING]),
            ("Action: ping\nAction Input: {}", &[PING]),
            ("Action: `get_weather`\nAction Input: ```json\n{\"city\": \"Paris\"}\n```", &[PARIS]),
            ("Action: get_weather(city=\"Paris\")", &[PARIS]),
            ("Action:\n```\n{\"action\": \"get_weather\", \"action_input\": {\"city\": \"Paris\"}}\n```", &[PARIS]),
            (
                "Action: ```json\n[\n    {\n        \"tool_name\": \"get_weather\",\n        \"parameters\": {\"city\": \"Paris\"}\n    }\n]\n```",
                &[PARIS],
            ),
            ("✿FUNCTION✿: get_weather\n✿ARGS✿: {\"city\": \"Paris\"}\n✿RESULT✿", &[PARIS]),
        ],
        hostile: &[
            "Action:",
            "Action: get_weather\nAction Input: {\"city\": ",
            "Action: get_weather\nAction:get_weather\nAction Input",
            "✿FUNCTION✿✿FUNCTION✿✿FUNCTION✿",
        ],
        alike: &[
            "Action: we should fix the pump (soon).",
            "Action: Final Answer\nAction Input: It is sunny (and warm).",
            "Action:\n```\n{\"action\": \"Final Answer\", \"action_input\": \"It is sunny.\"}\n```",
            "Action: get_weather is what I would use (if asked).",
        ],
    },
    NotationSample {
        notation: "labelled",
        right: &[
            ("Tool: get_weather\nArguments: {\"city\": \"Paris\"}", &[PARIS]),
            ("**Function:** `get_weather`\n**Parameters:** {\"city\": \"Oslo\", \"days\": 3}", &[OSLO]),
            ("Function name: get_weather\nArgs:\n```json\n{\"city\": \"Paris\"}\n```", &[PARIS]),
            ("Tool: get_weather\nInput: {\"city\": \"Paris\"}\n\nTool: ping\nInput: {}", &[PARIS, PING]),
        ],
        hostile: &["Tool:", "Tool: get_weather\nArguments: {\"city\": ", "Tool: Tool: Tool: get_weather"],
        alike: &[
            "Tool: a hammer (or a stone)\nInput: {nails}",
            "Tool: get_weather\nParameters: {\"city\": \"string\", \"days\": \"integer\"}",
            "For example:\n\nTool: get_weather\nArguments: {\"city\": \"Paris\"}",
        ],
    },
    NotationSample {
        notation: "prefix_word",
        right: &[
            ("<<function>>get_weather(city=\"Paris\")", &[PARIS]),
            ("<<function>>[get_weather(city=\"Oslo\", days=3), ping()]", &[OSLO, PING]),
            (
                " functools[{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}, {\"name\": \"ping\", \"arguments\": {}}]",
                &[PARIS, PING],
            ),
            ("<<api_call>>: get_weather(city=\"Paris\")", &[PARIS]),
        ],
        hostile: &[
            "<<function>>",
            "functools[{",
            "functools[{\"name\": \"get_weather\", \"arguments\": {",
            "<<function>><<function>><<function>>((",
        ],
        alike: &[
            "In Python, functools [sic] is a module.",
            "The mark <<function>> stands before the call.",
            "It uses `functools[{}]` (a joke).",
        ],
    },
    NotationSample {
        notation: "tool_input",
        right: &[
            ("<tool>get_weather</tool><tool_input>Paris</tool_input>", &[PARIS]),
            ("<tool>get_weather</tool>\n<tool_input>{\"city\": \"Oslo\", \"days\": 3}</tool_input>", &[OSLO]),
            ("<tool><name>get_weather</name><parameters><city>Paris</city></parameters></tool>", &[PARIS]),
        ],
        hostile: &["<tool>", "<tool>get_weather</tool><tool_input>Paris", "<tool><tool><tool><tool>"],
        alike: &["A <tool> is (mostly) made of steel.", "Write `<tool>name</tool><tool_input>x</tool_input>`."],
    },
    NotationSample {
        notation: "argument_token",
        right: &[
            (
                "<|tool_call:start|>get_weather\n<|tool_arg:start|>city<|tool_arg:value|>Oslo<|tool_arg:end|>\n<|tool_arg:start|>days<|tool_arg:value|>3<|tool_arg:end|>\n<|tool_call:end|>",
                &[OSLO_TEXT],
            ),
            ("<|tool_call:start|>ping\n<|tool_call:end|>", &[PING]),
        ],
        hostile: &[
            "<|tool_call:start|>",
            "<|tool_call:start|>get_weather\n<|tool_arg:start|>city<|tool_arg:value|>Par",
            "<|tool_call:start|>get_weather\n<|tool_arg:start|><|tool_arg:start|>",
        ],
        alike: &["The call begins with `<|tool_call:start|>`.", "Behind <|tool_call:start|> stands a name."],
    },
    NotationSample {
        notation: "xtml",
        right: &[
            (
                "<|open|>tools<|sep|><|open|>call tool=\"get_weather\" index=\"1\"<|sep|><|open|>argument key=\"city\" type=\"string\"<|sep|>Oslo<|close|>argument<|sep|><|open|>argument key=\"days\" type=\"number\"<|sep|>3<|close|>argument<|sep|><|close|>call<|sep|><|open|>call tool=\"ping\" index=\"2\"<|sep|><|close|>call<|sep|><|close|>tools<|sep|><|close|>message<|sep|><|end_of_msg|>",
                &[OSLO, PING],
            ),
            (
                "<|open|>call tool=\"get_weather\" index=\"1\"<|sep|><|open|>json type=\"object\"<|sep|>{\"city\": \"Paris\"}<|close|>json<|sep|><|close|>call<|sep|>",
                &[PARIS],
            ),
        ],
        hostile: &[
            "<|open|>tools<|sep|>",
            "<|open|>call tool=\"get_weather\" index=\"1\"<|sep|><|open|>argument key=\"city\"",
            "<|open|>call <|sep|><|close|>call<|sep|>",
        ],
        alike: &["A call opens with `<|open|>call tool=`.", "After <|open|>tools<|sep|> come the calls."],
    },
    NotationSample {
        notation: "namespace_token",
        right: &[
            (
                "]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"get_weather\">]<]minimax[>[<city>Oslo]<]minimax[>[</city>]<]minimax[>[<days>3]<]minimax[>[</days>]<]minimax[>[</invoke>\n]<]minimax[>[<invoke name=\"ping\">]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>",
                &[OSLO_TEXT, PING],
            ),
            (
                "]<]minimax[>[<tool_call>]<]minimax[>[<invoke name=\"get_weather\">]<]minimax[>[<city>Rome]<]minimax[>[</city>]<]minimax[>[<spot>]<]minimax[>[<lat>1.5]<]minimax[>[</lat>]<]minimax[>[</spot>]<]minimax[>[<tags>]<]minimax[>[<item>a]<]minimax[>[</item>]<]minimax[>[<item>b]<]minimax[>[</item>]<]minimax[>[</tags>]<]minimax[>[</invoke>]<]minimax[>[</tool_call>",
                &[("get_weather", r#"{"city":"Rome","spot":{"lat":"1.5"},"tags":["a","b"]}"#)],
            ),
        ],
        hostile: &[
            "]<]minimax[>[<tool_call>",
            "]<]minimax[>[<tool_call>]<]minimax[>[<invoke name=\"get_weather\">]<]minimax[>[<city>Par",
            "]<]minimax[>[<invoke name=\"ping\">]<]minimax[>[<a>]<]minimax[>[<a>]<]minimax[>[<a>",
        ],
        alike: &["Each tag follows `]<]minimax[>[<tool_call>`.", "The token ]<]minimax[>[<tool_call> opens a block."],
    },
    NotationSample {
        notation: "plamo",
        right: &[(
            "<|plamo:begin_tool_requests:plamo|><|plamo:begin_tool_request:plamo|><|plamo:begin_tool_name:plamo|>get_weather<|plamo:end_tool_name:plamo|><|plamo:begin_tool_arguments:plamo|>{\"city\": \"Paris\"}<|plamo:end_tool_arguments:plamo|><|plamo:end_tool_request:plamo|><|plamo:begin_tool_request:plamo|><|plamo:begin_tool_name:plamo|>ping<|plamo:end_tool_name:plamo|><|plamo:begin_tool_arguments:plamo|>{}<|plamo:end_tool_arguments:plamo|><|plamo:end_tool_request:plamo|><|plamo:end_tool_requests:plamo|>",
            &[PARIS, PING],
        )],
        hostile: &[
            "<|plamo:begin_tool_requests:plamo|>",
            "<|plamo:begin_tool_request:plamo|><|plamo:begin_tool_name:plamo|>get_weather<|plamo:end_tool_name:plamo|>",
            "<|plamo:begin_tool_request:plamo|>{}",
        ],
        alike: &[
            "Requests begin with `<|plamo:begin_tool_requests:plamo|>`.",
            "Behind <|plamo:begin_tool_requests:plamo|> stand requests.",
        ],
    },
    NotationSample {
        notation: "arrow_hash",
        right: &[
            ("[TOOL_CALL]\n{tool => \"get_weather\", args => {\n  --city \"Paris\"\n}}\n[/TOOL_CALL]", &[PARIS]),
            ("[TOOL_CALL]{tool => 'get_weather', args => {--city \"Oslo\" --days 3}}[/TOOL_CALL]", &[OSLO]),
            ("[TOOL_CALL]{:name => \"get_weather\", :arguments => {:city => \"Paris\"}}[/TOOL_CALL]", &[PARIS]),
        ],
        hostile: &[
            "[TOOL_CALL]{tool => \"get_weather\", args => {--city \"Par",
            "[TOOL_CALL]{tool => \"get_weather\", args => {--place \"Paris\"}}[/TOOL_CALL]",
            "[TOOL_CALL]{tool => \"no_such_tool\", args => {}}[/TOOL_CALL]",
        ],
        alike: &["The mark [TOOL_CALL] opens a hash."],
    },
    NotationSample {
        notation: "arrow_hash_bare",
        right: &[("{tool => \"get_weather\", args => {\"city\" => \"Paris\"}}", &[PARIS])],
        hostile: &["{tool => \"get_weather\", args => {--city \"Par"],
        alike: &["{tool => \"hammer\", args => {--weight \"2\"}}", "{name => \"Paris\", population => 2100000}"],
    },
    NotationSample {
        notation: "json_head",
        right: &[
            (
                "{\"name\": \"get_weather\",\n<parameter=city>\nOslo\n</parameter>\n<parameter=days>\n3\n</parameter>\n</function>",
                &[OSLO_TEXT],
            ),
            ("{\"name\": \"get_weather\", \"arguments>\n{\"city\": \"Paris\"}", &[PARIS]),
            ("{\"name\": \"get_weather\", \"parameters\">{\"city\": \"Paris\"}}", &[PARIS]),
        ],
        hostile: &[
            "{\"name\": \"get_weather\", \"arguments>\n{\"city\": \"Par",
            "{\"name\": \"no_such_tool\", \"arguments>\n{}",
        ],
        alike: &["{\"name\": \"Paris\", \"population>\n2100000"],
    },
    NotationSample {
        notation: "tool_tag",
        right: &[
            ("<get_weather>\n<city>Paris</city>\n</get_weather>", &[PARIS]),
            ("<get_weather><city>Oslo</city><days>3</days></get_weather>", &[OSLO_TEXT]),
            ("<get_weather city=\"Paris\"/>", &[PARIS]),
            ("<get_weather>{\"city\": \"Paris\"}</get_weather>", &[PARIS]),
        ],
        hostile: &["<get_weather><city>Par", "<get_weather><city>Paris</get_w"],
        alike: &[
            "<get_weather>Paris, or so</get_weather>",
            "<get_weather><colour>red</colour></get_weather>",
            "The element <get_weather> has no content.",
        ],
    },
    NotationSample {
        notation: "name_tag",
        right: &[
            ("<tool_name>get_weather</tool_name>\n<parameters>{\"city\": \"Paris\"}</parameters>", &[PARIS]),
            (
                "<name>get_weather\n</parameter>\n<parameter=city>\nOslo\n</parameter>\n<parameter=days>\n3\n</parameter>\n</function>",
                &[OSLO_TEXT],
            ),
        ],
        hostile: &["<tool_name>get_weather</tool_name>\n<parameters>{\"city\": \"Par"],
        alike: &[
            "<name>get_weather</name>\n<description>Gets the weather</description>",
            "<name>Paris</name>\n<city>Paris</city>",
        ],
    },
    NotationSample {
        notation: "parameter_tag",
        right: &[
            ("<parameter=city>\nOslo\n</parameter>\n<parameter=days>\n3\n</parameter>\n</function>", &[OSLO_TEXT]),
            (
                "<parameter=name>\nget_weather\n</parameter>\n<parameter=city>\nParis\n</parameter>\n</function>",
                &[PARIS],
            ),
            ("<parameter=get_weather>\n<parameter=city>\nParis\n</parameter>\n</function>", &[PARIS]),
        ],
        hostile: &["<parameter=city>\nPar", "<parameter=days>\n3\n</parameter>\n</function>"],
        alike: &["The docs say that <parameter=city> is the opener.", "<parameter=colour>\nred\n</parameter>"],
    },
];
