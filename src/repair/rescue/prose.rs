//! What the prose around a call says about it.

/// A line that only announces what follows, by its ending.
const ANNOUNCES: [char; 2] = [':', '：'];

/// Words of an announcement.
const MAX_ANNOUNCEMENT: usize = 30;

/// Turns of phrase by which a text teaches, supposes, doubts or declines, rather than does; compared in lower case.
const HEDGES: [&str; 60] = [
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
    "would look like",
    "would be:",
    "would call",
    "would use",
    "could call",
    "could use",
    "how to use",
    "how to call",
    "how you can",
    "how you could",
    "how you would",
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
    "replace ",
    "placeholder",
    "assuming",
    "not suitable",
    "not applicable",
    "not appropriate",
    "not relevant",
    "not related",
    "not designed",
    "not the right",
    "not possible",
    "cannot",
    "can't",
    "can not",
    "unable to",
    "not able to",
    "sorry",
    "unfortunately",
    "none of the",
    "does not provide",
    "doesn't provide",
    "no function",
];

/// Does a line only announce the call that follows it, as "Here is the call:" does?
pub(super) fn announces(line: &str) -> bool {
    let line = line.trim_end_matches(['*', ' ', '`']);
    line.ends_with(ANNOUNCES) && line.split_whitespace().count() <= MAX_ANNOUNCEMENT && !hedges(line)
}

/// Does a text teach, suppose, doubt or decline?
pub(super) fn hedges(text: &str) -> bool {
    let text = text.to_lowercase().replace('’', "'");
    HEDGES.iter().any(|phrase| text.contains(phrase))
}
