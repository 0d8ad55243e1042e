//! The command line: hands the arguments over to the library.

use std::process::ExitCode;

/// Small JSON values come and go with every request: the system's allocator takes a tenth of the time of a turn.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    callwright::cli::run(std::env::args_os())
}
