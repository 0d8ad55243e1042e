//! Binary entry point: passes the command line to the library.

use std::process::ExitCode;

use callwright_allocator::Allocator;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

fn main() -> ExitCode {
    callwright::cli::run(std::env::args_os())
}
