//! Changes to calls that lose nothing and need no model.
//!
//! Owns renames, coercions and mended JSON. Must not judge: what it cannot mend it leaves to the scanner.
