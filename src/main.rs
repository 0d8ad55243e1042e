//! The command line: hands the arguments over to the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    callwright::cli::run(std::env::args_os())
}
