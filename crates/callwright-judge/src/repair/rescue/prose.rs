//! Phrases around a call by which a text is about it. They are evidence for text alone: nothing becomes a call for want of them.

/// Turns of phrase before a call by which a text teaches, supposes or excuses itself; compared in lower case.
const TEACHES: [&str; 49] = [
    "available functions are",
    "available tools are",
    "tool returned",
    "function returned",
    "you can use",
    "you can call",
    "you could",
    "you would",
    "you may use",
    "you might",
    "you need to",
    "you will need",
    "you'll need",
    "you should",
    "can be used",
    "could be used",
    "can be called",
    "would be called",
    "would call",
    "would use",
    "could call",
    "could use",
    "how to use",
    "how to call",
    "how you can",
    "how you could",
    "how you would",
    "how you might",
    "here's how",
    "here is how",
    "here's an example",
    "here is an example",
    "for example",
    "for instance",
    "an example of",
    "example usage",
    "example call",
    "hypothetical",
    "if you",
    "if we had",
    "if there",
    "cannot",
    "can't",
    "can not",
    "unable to",
    "not able to",
    "sorry",
    "unfortunately",
    "does not provide",
];

/// Turns of phrase, before or after a call, by which a text says that the call is not to be made as it stands.
const DECLINES: [&str; 39] = [
    "would you like",
    "do you want me to",
    "shall i ",
    "should i proceed",
    "let me know if you would like",
    "no function call is",
    "no tool call is",
    "no function calls are",
    "for reference:",
    "not suitable",
    "not applicable",
    "not appropriate",
    "not relevant",
    "not related",
    "not directly related",
    "not designed",
    "not intended",
    "not the right",
    "not the correct",
    "not be the right",
    "isn't suitable",
    "isn't relevant",
    "cannot answer",
    "can't answer",
    "cannot be answered",
    "can't be answered",
    "cannot be used",
    "can't be used",
    "none of the",
    "no suitable",
    "placeholder",
    "should be replaced",
    "replace the",
    "will need to be adjusted",
    "needs to be adjusted",
    "unable to complete",
    "unable to answer",
    "cannot complete",
    "cannot provide",
];

/// Turns of phrase by which the last sentence before a call hands it over, whatever was said before; compared in lower case.
const PRESENTS: [&str; 11] = [
    "the function call",
    "following function call",
    "the call",
    "the tool call",
    "the api call",
    "function calls",
    "tool calls",
    "i will call",
    "i'll call",
    "i will now",
    "i'll use",
];

/// Turns of phrase by which that sentence leaves it to the reader, or supposes; compared in lower case.
const SUPPOSES: [&str; 8] = ["you can", "you could", "you may", "you might", "would", "example", "how to", "how you"];

/// Does a text end with a sentence that hands over what follows as the call, as "Here is the function call:" does?
pub(super) fn presents(text: &str) -> bool {
    let text = text.trim_end_matches(['*', ' ', '`', ':', '\n', '.']);
    let last = text.rsplit(['.', '!', '?', '\n']).next().unwrap_or(text);
    holds(last, &PRESENTS) && !holds(last, &SUPPOSES) && !declines(last)
}

/// Does a text before a call teach, suppose or excuse itself?
pub(super) fn teaches(text: &str) -> bool {
    holds(text, &TEACHES)
}

/// Does a text say that a call is not to be made?
pub(super) fn declines(text: &str) -> bool {
    holds(text, &DECLINES)
}

fn holds(text: &str, phrases: &[&str]) -> bool {
    let text = text.to_lowercase().replace('’', "'");
    phrases.iter().any(|phrase| text.contains(phrase))
}
