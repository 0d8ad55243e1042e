//! Standard output of subcommands. A closed pipe (`callwright keys list | head -1`) is not an error: further output is
//! dropped silently.

use std::error::Error;
use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write};
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use super::plain;
use super::shared_arguments::OutputFormat;
use super::table::TextTable;

/// First error of writing to standard output.
static FAULT: Mutex<Option<io::Error>> = Mutex::new(None);

/// Prints to standard output like `print!`, without a panic.
macro_rules! out {
    ($($argument:tt)*) => {
        $crate::cli::output::write(format_args!($($argument)*))
    };
}

/// Prints a line to standard output like `println!`, without a panic.
macro_rules! outln {
    ($($argument:tt)*) => {
        $crate::cli::output::write(format_args!("{}\n", format_args!($($argument)*)))
    };
}

pub(super) use {out, outln};

/// Writes to standard output, with styles only on a terminal. An error is kept for [`finish`].
pub(super) fn write(text: Arguments<'_>) {
    let mut fault = FAULT.lock().unwrap_or_else(PoisonError::into_inner);
    if fault.is_none() {
        let mut out = anstream::stdout().lock();
        *fault = out.write_fmt(text).and_then(|()| out.flush()).err();
    }
}

/// Prints a value as JSON on one line, safe for a terminal.
pub(super) fn print_json(value: &impl Serialize) {
    outln!("{}", plain::json(callwright_common::json::raw(value).get().to_owned()));
}

/// Prints the items of a list: as one JSON object per line, or as a table; `none` if there are none.
pub(super) fn print_list<T: Serialize>(
    items: &[T],
    format: OutputFormat,
    none: &str,
    table: impl FnOnce(&[T]) -> TextTable,
) {
    match format {
        OutputFormat::Json => items.iter().for_each(print_json),
        OutputFormat::Text if items.is_empty() => outln!("{none}"),
        OutputFormat::Text => out!("{}", table(items).into_text()),
    }
}

/// Prints one item: as a JSON object, or as a table of its members.
pub(super) fn print_item<T: Serialize>(item: &T, format: OutputFormat, details: impl FnOnce(&T) -> TextTable) {
    match format {
        OutputFormat::Json => print_json(item),
        OutputFormat::Text => out!("{}", details(item).into_text()),
    }
}

/// Whether standard output accepts no more text.
pub(super) fn is_closed() -> bool {
    FAULT.lock().unwrap_or_else(PoisonError::into_inner).is_some()
}

/// Returns the error of earlier writes, such as a full disk, unless the reader has closed the pipe.
pub(super) fn finish() -> Result<(), String> {
    match FAULT.lock().unwrap_or_else(PoisonError::into_inner).take() {
        Some(error) if error.kind() != ErrorKind::BrokenPipe => Err(format!("standard output: {error}")),
        _ => Ok(()),
    }
}

/// Whether the error is a closed pipe of standard output.
pub(super) fn is_closed_pipe(error: &(dyn Error + 'static)) -> bool {
    std::iter::successors(Some(error), |&error| error.source())
        .filter_map(|error| error.downcast_ref::<io::Error>())
        .any(|error| error.kind() == ErrorKind::BrokenPipe)
}
