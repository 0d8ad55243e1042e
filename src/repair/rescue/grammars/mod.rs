//! The table of notations with marks: one file each.

mod deepseek;
mod function_gemma;
mod function_tag;
mod functionary;
mod harmony;
mod invoke;
mod kimi;
mod mistral;
mod react;
mod special_token;
mod tool_call;
mod tool_code;

use super::grammar::Grammar;

/// Every notation that has marks; of two whose marks begin at one place, the one with the longer mark counts.
pub(super) static MARKED: [&dyn Grammar; 12] = [
    &tool_call::ToolCall,
    &function_tag::FunctionTag,
    &invoke::Invoke,
    &mistral::Mistral,
    &special_token::SpecialToken,
    &deepseek::DeepSeek,
    &kimi::Kimi,
    &functionary::Functionary,
    &harmony::Harmony,
    &tool_code::ToolCode,
    &function_gemma::FunctionGemma,
    &react::React,
];
