//! Binary entry point: passes the command line to the library.

use std::process::ExitCode;

/// Every request allocates and frees many small JSON values: the system allocator takes a tenth of a turn's time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    callwright::cli::run(std::env::args_os())
}
