//! Executions against servers in the process.
