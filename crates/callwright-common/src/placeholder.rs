//! Lexical forms of placeholders: values that were filled in without knowing one.

/// Lexical form of a value that may be a placeholder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaceholderForm {
    /// `<city>`, `{{city}}`, `${city}`, `[insert city]`.
    Blank,
    /// `YOUR_API_KEY`, `your-name-here`, `INSERT_DATE`.
    Instruction,
    /// `string`, `TODO`, `xxx`.
    Word,
    /// An address in a domain that RFC 2606 reserves for examples.
    ExampleAddress,
    /// `1234567890`, `123-456-7890`, `0000000000`.
    Counting,
}

/// Maximum length of a checked value in bytes; placeholders are short.
const MAX_CHARS: usize = 80;

/// Returns the placeholder form of a whole value; `None` for nearly all values.
pub fn form(value: &str) -> Option<PlaceholderForm> {
    let value = value.trim();
    if value.len() > MAX_CHARS || value.contains('\n') || !may_have_one(value) {
        return None;
    }
    let lower = value.to_ascii_lowercase();
    if is_blank(value, &lower) {
        Some(PlaceholderForm::Blank)
    } else if is_instruction(value, &lower) {
        Some(PlaceholderForm::Instruction)
    } else if is_word(&lower) {
        Some(PlaceholderForm::Word)
    } else if is_counting(value) {
        Some(PlaceholderForm::Counting)
    } else if is_example_address(&lower) {
        Some(PlaceholderForm::ExampleAddress)
    } else {
        None
    }
}

/// Whether the value may have one of the forms. Inspects only a few bytes, because almost every argument value passes
/// through this check.
fn may_have_one(value: &str) -> bool {
    match value.as_bytes() {
        [b'<' | b'{' | b'$' | b'[' | b'0'..=b'9' | b'+' | b'(', ..] => true,
        [] => false,
        [first, ..] => {
            let first = first.to_ascii_lowercase();
            INSTRUCTIONS.iter().any(|word| begins_with(word, first) && has_head(value, word))
                || WORDS.iter().any(|word| begins_with(word, first) && value.eq_ignore_ascii_case(word))
                || first == b'x' && value.bytes().all(|byte| byte.eq_ignore_ascii_case(&b'x'))
                || value.contains('.')
        }
    }
}

/// Whether a word has this first byte: quicker than its comparison with a value, which it mostly spares.
fn begins_with(word: &str, first: u8) -> bool {
    word.as_bytes().first() == Some(&first)
}

/// Whether a value begins with a word, in any case of ASCII letters.
fn has_head(value: &str, word: &str) -> bool {
    value.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word))
}

/// First words of fill-in instructions.
pub const INSTRUCTIONS: [&str; 8] = ["your", "insert", "enter", "replace", "fill", "specify", "provide", "put"];

/// Brackets around a name to fill in.
const BRACKETS: [(&str, &str); 4] = [("<", ">"), ("{{", "}}"), ("${", "}"), ("[", "]")];

fn inside<'a>(value: &'a str, (open, close): (&str, &str)) -> Option<&'a str> {
    value.strip_prefix(open)?.strip_suffix(close).map(str::trim)
}

fn is_blank(value: &str, lower: &str) -> bool {
    BRACKETS.into_iter().any(|brackets| match inside(value, brackets) {
        // Square brackets alone are a list with one item.
        Some(inner) if brackets.0 == "[" => {
            is_blank_name(inner) && inside(lower, brackets).is_some_and(begins_as_instruction)
        }
        Some(inner) => is_blank_name(inner),
        None => false,
    })
}

fn is_blank_name(inner: &str) -> bool {
    inner.starts_with(char::is_alphabetic)
        && inner.chars().all(|letter| letter.is_alphanumeric() || " _-.'".contains(letter))
}

fn begins_as_instruction(lower: &str) -> bool {
    let first = lower.split([' ', '_', '-']).next().unwrap_or_default();
    INSTRUCTIONS.contains(&first)
}

/// Whether the value is a fill-in instruction: words joined by `_` or `-`, or in capitals, that begin with an
/// instruction word. It also begins with `your` or ends with `here`: `INSERT_ROWS` and `replace-all` are values.
fn is_instruction(value: &str, lower: &str) -> bool {
    let joined = value.contains(['_', '-']) && !value.contains(char::is_whitespace);
    let shouted = value.contains(char::is_whitespace) && !value.contains(char::is_lowercase);
    let plain = value.chars().all(|letter| letter.is_alphanumeric() || " _-".contains(letter));
    let mut words = lower.split([' ', '_', '-']);
    let is_explicit = words.next() == Some("your") || words.next_back() == Some("here");
    plain && is_explicit && (joined || shouted) && begins_as_instruction(lower)
}

/// Words that are used in place of a value.
const WORDS: [&str; 10] = [
    "string", "placeholder", "todo", "tbd", "to be determined", "to be filled", "sample text", "lorem ipsum",
    "your text here", "value here",
];

fn is_word(lower: &str) -> bool {
    let is_xs = lower.len() >= 3 && lower.bytes().all(|byte| byte == b'x');
    is_xs || WORDS.contains(&lower)
}

/// Minimum number of digits of a made-up number. Shorter digit sequences are counts, years or room numbers.
const MIN_DIGITS: usize = 9;

/// Whether the digits count up (`1234567890`) or are all zero, in any grouping.
fn is_counting(value: &str) -> bool {
    let grouped = value.bytes().all(|byte| byte.is_ascii_digit() || b" -().+/".contains(&byte));
    let digits: Vec<u8> = value.bytes().filter(u8::is_ascii_digit).collect();
    let counts_up = digits.windows(2).all(|pair| match pair {
        [one, next] => *next == one + 1 || (*one == b'9' && *next == b'0'),
        _ => false,
    });
    grouped && digits.len() >= MIN_DIGITS && (counts_up || digits.iter().all(|digit| *digit == b'0'))
}

/// Domains reserved for examples (RFC 2606, sections 2 and 3).
const EXAMPLE_DOMAINS: [&str; 3] = ["example.com", "example.org", "example.net"];

/// Whether the value is an e-mail address, URL or bare host in an example domain.
fn is_example_address(lower: &str) -> bool {
    if lower.contains(char::is_whitespace) {
        return false;
    }
    let host = match lower.split_once("://") {
        Some((_, rest)) => rest.split(['/', '?', '#']).next().unwrap_or_default(),
        None => lower.rsplit('@').next().unwrap_or_default(),
    };
    let host = host.split(':').next().unwrap_or_default();
    EXAMPLE_DOMAINS
        .into_iter()
        .any(|domain| host.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')))
}

impl PlaceholderForm {
    /// Returns the description of the form for feedback and messages.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Blank => "a blank to fill in",
            Self::Instruction => "an instruction to fill something in",
            Self::Word => "a word in place of a value",
            Self::ExampleAddress => "an address for examples",
            Self::Counting => "a made-up number",
        }
    }

    /// Returns the lower-case text to search for in the conversation.
    pub fn key(self, value: &str) -> String {
        let lower = value.trim().to_lowercase();
        match self {
            Self::Blank | Self::Instruction | Self::Word => lower,
            Self::ExampleAddress => {
                let domain = EXAMPLE_DOMAINS.into_iter().find(|domain| lower.contains(domain));
                domain.unwrap_or("example").to_owned()
            }
            Self::Counting => lower.chars().filter(char::is_ascii_digit).collect(),
        }
    }
}
