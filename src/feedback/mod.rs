//! Messages to the model, made from diagnoses and outcomes.
//!
//! Owns the templates, one per fault code. Must not decide whether feedback is given.
