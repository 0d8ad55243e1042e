//! Random strings with a format, a pattern or a length.

use regex_syntax::hir::{Class, Hir, HirKind};
use serde_json::{Map, Value};

/// Maximum length of a generated string.
const MAX_CHARS: usize = 2000;

/// Maximum number of repetitions beyond the minimum of a pattern.
const MORE: u32 = 4;

/// Maximum number of generation steps for one pattern, over all repetitions.
const MAX_STEPS: usize = 4000;

/// Strings that commonly break encodings.
const EDGES: [&str; 16] = [
    "", " ", "a b", "a+b", "50%", "a%2Fb", "a&b=c", "a/b?c#d", "a,b|c;d", "[x]{y}(z)", "\"quoted\" 'too' \\", "Zürich",
    "日本語", "👍🏽", "null", "~-_.!*:@$",
];

const WORDS: [&str; 8] = ["Oslo", "blue", "seven", "alpha", "North", "k7", "weekly", "open"];

/// Returns a string that satisfies the keywords, or `None` if none is found. Patterns with look-around always yield
/// `None`; the scan does not check them either.
pub(crate) fn text(keywords: &Map<String, Value>, at_edge: bool, random: &mut fastrand::Rng) -> Option<String> {
    let word = |keyword: &str| keywords.get(keyword).and_then(Value::as_str);
    let length = |keyword: &str| keywords.get(keyword).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
    if let Some(pattern) = word("pattern") {
        return matching(pattern, random);
    }
    if let Some(text) = word("format").and_then(|format| of_format(format, random)) {
        return Some(text);
    }
    let (least, most) = (length("minLength").unwrap_or(0), length("maxLength").unwrap_or(MAX_CHARS));
    if least > MAX_CHARS {
        return None;
    }
    let mut text = match at_edge {
        true => (*random.choice(&EDGES)?).to_owned(),
        false => (*random.choice(&WORDS)?).to_owned(),
    };
    let missing = least.saturating_sub(text.chars().count());
    text.extend(std::iter::repeat_with(|| random.lowercase()).take(missing));
    Some(text.chars().take(most).collect())
}

fn of_format(format: &str, random: &mut fastrand::Rng) -> Option<String> {
    let (year, month, day) = (random.u16(1990..2030), random.u8(1..=12), random.u8(1..=28));
    let (hour, minute, second) = (random.u8(0..24), random.u8(0..60), random.u8(0..60));
    let date = format!("{year}-{month:02}-{day:02}");
    Some(match format {
        "date" => date,
        "date-time" => format!("{date}T{hour:02}:{minute:02}:{second:02}Z"),
        "time" => format!("{hour:02}:{minute:02}:{second:02}Z"),
        "duration" => format!("P{day}D"),
        "email" | "idn-email" => format!("person{day}@mail{month}.test"),
        "hostname" | "idn-hostname" => format!("host{day}.test"),
        "ipv4" => format!("192.0.2.{day}"),
        "ipv6" => format!("2001:db8::{day:x}"),
        "uri" | "url" | "iri" => format!("https://host{day}.test/a?b={month}&c=d"),
        "uri-reference" | "iri-reference" => format!("/a/{day}?b={month}"),
        "uuid" | "guid" => format!(
            "{:08x}-{:04x}-4{:03x}-a{:03x}-{:012x}",
            random.u32(..),
            random.u16(..),
            random.u16(..4096),
            random.u16(..4096),
            random.u64(..1 << 48)
        ),
        "byte" | "base64" => ["aGVsbG8=", "", "AAEC/+8="].get(random.usize(..3)).map(|text| (*text).to_owned())?,
        _ => return None,
    })
}

/// Returns a string that matches `pattern`, or `None` for patterns with look-around.
fn matching(pattern: &str, random: &mut fastrand::Rng) -> Option<String> {
    let expression = regex_syntax::Parser::new().parse(pattern).ok()?;
    let (mut bytes, mut steps) = (Vec::new(), MAX_STEPS);
    append(&expression, &mut bytes, &mut steps, random)?;
    String::from_utf8(bytes).ok()
}

fn append(expression: &Hir, bytes: &mut Vec<u8>, steps: &mut usize, random: &mut fastrand::Rng) -> Option<()> {
    *steps = steps.checked_sub(1)?;
    match expression.kind() {
        HirKind::Empty | HirKind::Look(_) => Some(()),
        HirKind::Literal(literal) => {
            bytes.extend_from_slice(&literal.0);
            Some(())
        }
        HirKind::Class(class) => {
            bytes.extend_from_slice(letter(class, random)?.to_string().as_bytes());
            Some(())
        }
        HirKind::Capture(group) => append(&group.sub, bytes, steps, random),
        HirKind::Concat(parts) => parts.iter().try_for_each(|part| append(part, bytes, steps, random)),
        HirKind::Alternation(parts) => append(random.choice(parts)?, bytes, steps, random),
        HirKind::Repetition(repeated) => {
            let most = repeated.max.unwrap_or(u32::MAX).min(repeated.min.saturating_add(MORE));
            let times = random.u32(repeated.min..=most);
            (0..times).try_for_each(|_| append(&repeated.sub, bytes, steps, random))
        }
    }
}

/// Returns a character of the class, preferably a printable ASCII character.
fn letter(class: &Class, random: &mut fastrand::Rng) -> Option<char> {
    let Class::Unicode(class) = class else { return None };
    let has = |wanted: char| class.ranges().iter().any(|range| range.start() <= wanted && wanted <= range.end());
    let visible: Vec<char> = (' '..='~').filter(|wanted| has(*wanted)).collect();
    random.choice(&visible).copied().or_else(|| class.ranges().first().map(|range| range.start()))
}
