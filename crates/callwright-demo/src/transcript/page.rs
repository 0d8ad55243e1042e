//! Terminal output of the transcript: wrapped at a common width, with colours.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

use super::{TranscriptLabel, TranscriptLine};

/// Width of the page in columns.
const WIDTH: usize = 100;

/// Width of the left margin in columns.
const MARGIN: usize = 4;

/// Width of the label column, including the gap after it.
const LABEL: usize = 11;

/// Output of lines.
#[derive(Debug)]
pub(crate) struct TranscriptPage<'a, W> {
    out: &'a mut W,
    /// Whether the last line is blank.
    is_free: bool,
}

impl<'a, W: Write> TranscriptPage<'a, W> {
    /// Creates a page that writes to `out` with ANSI styles.
    pub(crate) fn new(out: &'a mut W) -> Self {
        Self { out, is_free: false }
    }

    /// Writes a heading after a blank line.
    pub(crate) fn heading(&mut self, text: &str) -> io::Result<()> {
        let style = Style::new().bold();
        if !std::mem::take(&mut self.is_free) {
            writeln!(self.out)?;
        }
        writeln!(self.out, "{style}{text}{style:#}")
    }

    /// Writes a paragraph and a blank line.
    pub(crate) fn paragraph(&mut self, text: &str) -> io::Result<()> {
        let style = Style::new().dimmed();
        for line in wrap(text, WIDTH - MARGIN) {
            writeln!(self.out, "{:MARGIN$}{style}{line}{style:#}", "")?;
        }
        self.is_free = true;
        writeln!(self.out)
    }

    /// Writes a labelled line; the rest of a long text continues below, indented.
    pub(crate) fn line(&mut self, line: &TranscriptLine) -> io::Result<()> {
        let (label_style, text_style) = styles(line.label);
        let mut label = line.label.text();
        self.is_free = false;
        for text in wrap(&line.text, WIDTH - MARGIN - LABEL) {
            write!(self.out, "{:MARGIN$}{label_style}{label:LABEL$}{label_style:#}", "")?;
            writeln!(self.out, "{text_style}{text}{text_style:#}")?;
            label = "";
        }
        Ok(())
    }

    /// Writes a command to copy: unwrapped and without margin, because wrapped text cannot be copied.
    pub(crate) fn command(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "{text}\n")
    }

    /// Writes a line as it is.
    pub(crate) fn command_line(&mut self, text: &str) -> io::Result<()> {
        self.is_free = text.is_empty();
        writeln!(self.out, "{text}")
    }

    /// Writes rows of a short and a long column.
    pub(crate) fn table<'r>(&mut self, rows: impl Iterator<Item = (String, &'r str)>) -> io::Result<()> {
        let style = AnsiColor::Green.on_default();
        rows.into_iter()
            .try_for_each(|(short, long)| writeln!(self.out, "{:MARGIN$}{style}{short:>6}{style:#}  {long}", ""))
    }
}

/// Returns the styles of label and text.
fn styles(label: TranscriptLabel) -> (Style, Style) {
    let plain = Style::new();
    match label {
        TranscriptLabel::User => (AnsiColor::Cyan.on_default().bold(), plain.bold()),
        TranscriptLabel::Model => (AnsiColor::Magenta.on_default(), plain),
        TranscriptLabel::Plan | TranscriptLabel::Recall => (AnsiColor::Blue.on_default().bold(), plain),
        TranscriptLabel::Without => (AnsiColor::Red.on_default(), plain.dimmed()),
        TranscriptLabel::Finding => (AnsiColor::Yellow.on_default(), plain),
        TranscriptLabel::Repaired | TranscriptLabel::Explained => {
            (AnsiColor::Green.on_default(), AnsiColor::Green.on_default())
        }
        TranscriptLabel::SentBack => (AnsiColor::Blue.on_default(), plain.dimmed()),
        TranscriptLabel::Api | TranscriptLabel::Client => (AnsiColor::Cyan.on_default(), plain),
        TranscriptLabel::Limit | TranscriptLabel::Problem => {
            (AnsiColor::Red.on_default().bold(), AnsiColor::Red.on_default())
        }
        TranscriptLabel::Record => (AnsiColor::Yellow.on_default(), plain.dimmed()),
        TranscriptLabel::Answer => (plain.bold(), plain.bold()),
        TranscriptLabel::Verdict => (plain.dimmed(), plain.dimmed()),
    }
}

/// Wraps a text at spaces to lines of at most `width` characters (at least 2). Indentation is kept. Control characters,
/// which could affect the terminal, are replaced by `�`.
fn wrap(text: &str, width: usize) -> Vec<String> {
    text.lines().flat_map(|line| wrap_line(line, width)).collect()
}

fn wrap_line(source: &str, width: usize) -> Vec<String> {
    let indent = source.chars().take_while(|char| *char == ' ').count().min(width / 2);
    let (mut lines, mut line) = (Vec::new(), Vec::new());
    for word in source.split_whitespace() {
        let mut word: Vec<char> =
            word.chars().map(|char| if char.is_control() { char::REPLACEMENT_CHARACTER } else { char }).collect();
        while !word.is_empty() {
            let gap = usize::from(!line.is_empty());
            let room = (width - indent).saturating_sub(line.len() + gap);
            let fitting =
                if word.len() <= room { word.len() } else { break_position(&word, room, gap == 0, width - indent) };
            let rest = word.split_off(fitting);
            if fitting > 0 {
                line.extend(std::iter::repeat_n(' ', gap).chain(word));
            }
            if !rest.is_empty() {
                lines.push(std::mem::take(&mut line));
            }
            word = rest;
        }
    }
    lines.push(line);
    lines.into_iter().map(|line| " ".repeat(indent) + &String::from_iter(line)).collect()
}

/// Returns how many characters of an overlong word stay on the line: none if it fits on a separate line. Otherwise the
/// part up to the last comma that fits or, on an empty line, as many as fit.
fn break_position(word: &[char], room: usize, line_is_empty: bool, line_room: usize) -> usize {
    if word.len() <= line_room {
        return 0;
    }
    let fitting = word.get(..room).unwrap_or_default();
    let otherwise = if line_is_empty { room } else { 0 };
    fitting.iter().rposition(|char| *char == ',').map_or(otherwise, |comma| comma + 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn long_lines_continue_below_without_the_label() {
        let mut out = Vec::new();
        let line = TranscriptLine::new(TranscriptLabel::User, format!("{} {}", "a".repeat(60), "b".repeat(60)));
        TranscriptPage::new(&mut out).line(&line).unwrap();
        let plain = anstream::adapter::strip_str(std::str::from_utf8(&out).unwrap()).to_string();
        let expected = format!("    user       {}\n               {}\n", "a".repeat(60), "b".repeat(60));
        assert_eq!(plain, expected);
    }

    #[test]
    fn indentation_is_kept_and_control_characters_stay_silent() {
        assert_eq!(wrap("a\n  - b c\n\nd\u{1b}[2J", 5), ["a", "  - b", "  c", "", "d�[2J"]);
    }

    #[test]
    fn a_word_longer_than_a_line_is_broken_after_a_comma() {
        assert_eq!(wrap("f {aa,bb,cc,dd}", 9), ["f {aa,bb,", "cc,dd}"]);
        assert_eq!(wrap("ab cdefgh", 4), ["ab", "cdef", "gh"]);
        assert_eq!(wrap("ab cdef", 6), ["ab", "cdef"]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..ProptestConfig::default() })]

        #[test]
        fn no_line_is_too_long_and_no_letter_is_lost(text in "[ a-zé\n]{0,300}", width in 2..40_usize) {
            let lines = wrap(&text, width);
            prop_assert!(lines.iter().all(|line| line.chars().count() <= width), "{lines:?}");
            let letters = |text: &str| text.chars().filter(|char| !char.is_whitespace()).collect::<String>();
            prop_assert_eq!(letters(&lines.concat()), letters(&text));
        }
    }
}
