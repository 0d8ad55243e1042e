//! Policy files → the rules and limits of a turn.
//!
//! Owns reading, matching, precedence and reload of policies. Must not know what the rules are used for.
