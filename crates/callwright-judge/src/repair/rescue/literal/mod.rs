//! Parses values as models write them: JSON, literals of programming languages, and mixtures of both.
//!
//! Parses strict JSON by its specification. Also accepts single quotes, `True` and `None`, trailing commas, tuples,
//! comments, bare keys and mismatched brackets. A value that is not a literal is kept as its source text.

mod arithmetic;
mod expression;
mod number;
mod reader;
mod string;
#[cfg(test)]
mod tests;
mod unescaped;
mod value;

pub(super) use reader::Nesting;
pub(crate) use reader::{LiteralReader, MAX_DEPTH};
pub(crate) use value::{Literal, constant};

/// Returns the JSON text of the literal that `text` consists of; `None` for an expression, or if the text is ambiguous.
pub(crate) fn whole_json(text: &str) -> Option<String> {
    let mut reader = LiteralReader::new(text, false);
    let value = reader.data()?;
    reader.skip_space()?;
    (reader.is_at_end() && !reader.has_doubt && value.expression().is_none()).then(|| value.json())
}
