//! A failed outcome → the sentences of the API's documentation that say why.
//!
//! Owns the index of documentation. Must not know how documents are loaded, nor what is done with an explanation.
