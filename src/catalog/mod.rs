//! OpenAPI documents → operations → tools, and the report of what could not become one.
//!
//! Owns reading documents, resolving `$ref`s, naming tools, joining parameters and body into one argument object. Must not know
//! who offers, calls or executes a tool, nor do network I/O.
