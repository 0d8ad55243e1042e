//! Phrases around a call which show that the text describes the call. They are evidence only for text: their absence
//! never makes a call.

/// Phrases before a call that teach, suppose or apologise; compared in lower case.
const TEACHES: [&str; 46] = [
    "available functions are", "available tools are", "tool returned", "function returned", "you can use",
    "you can call", "you could", "you would", "you may use", "you might", "you need to", "you will need",
    "you'll need", "you should", "can be used", "could be used", "can be called", "would be called", "would call",
    "would use", "could call", "could use", "how to use", "how to call", "how you can", "here's how", "here is how",
    "here's an example", "here is an example", "for example", "for instance", "an example of", "example usage",
    "example call", "hypothetical", "if you", "if we had", "if there", "cannot", "can't", "can not", "unable to",
    "not able to", "sorry", "unfortunately", "does not provide",
];

/// Phrases before or after a call which show that the call must not be made as written; compared in lower case.
const DECLINES: [&str; 39] = [
    "would you like", "do you want me to", "shall i ", "should i proceed", "let me know if you would like",
    "no function call is", "no tool call is", "no function calls are", "for reference:", "not suitable",
    "not applicable", "not appropriate", "not relevant", "not related", "not directly related", "not designed",
    "not intended", "not the right", "not the correct", "not be the right", "isn't suitable", "isn't relevant",
    "cannot answer", "can't answer", "cannot be answered", "can't be answered", "cannot be used", "can't be used",
    "none of the", "no suitable", "placeholder", "should be replaced", "replace the", "will need to be adjusted",
    "needs to be adjusted", "unable to complete", "unable to answer", "cannot complete", "cannot provide",
];

/// Phrases in the last sentence before a call that present it, regardless of the preceding text; compared in lower
/// case.
const PRESENTS: [&str; 11] = [
    "the function call", "following function call", "the call", "the tool call", "the api call", "function calls",
    "tool calls", "i will call", "i'll call", "i will now", "i'll use",
];

/// Phrases in that sentence that leave the call to the reader, or suppose it; compared in lower case.
const SUPPOSES: [&str; 8] = ["you can", "you could", "you may", "you might", "would", "example", "how to", "how you"];

/// Whether a text ends with a sentence that presents the following call, such as "Here is the function call:".
pub(super) fn presents(text: &str) -> bool {
    let text = text.trim_end_matches(['*', ' ', '`', ':', '\n', '.']);
    let last = text.rsplit(['.', '!', '?', '\n']).next().unwrap_or(text);
    holds(last, &PRESENTS) && !holds(last, &SUPPOSES) && !declines(last)
}

/// Whether a text before a call teaches, supposes or apologises.
pub(super) fn teaches(text: &str) -> bool {
    holds(text, &TEACHES)
}

/// Whether a text shows that a call must not be made.
pub(super) fn declines(text: &str) -> bool {
    holds(text, &DECLINES)
}

fn holds(text: &str, phrases: &[&str]) -> bool {
    let text = text.to_lowercase().replace('’', "'");
    phrases.iter().any(|phrase| text.contains(phrase))
}
