//! The table of notations with marks: one file each.

mod argument_token;
mod deepseek;
mod function_tag;
mod functionary;
mod gemma_call;
mod harmony;
mod invoke;
mod kimi;
mod mistral;
mod namespace_token;
mod plamo;
mod prefix_word;
mod react;
#[cfg(test)]
mod samples;
mod special_token;
#[cfg(test)]
mod tests;
mod tool_call;
mod tool_code;
mod tool_input;
mod xtml;

use super::grammar::Grammar;

/// Every notation that has marks; of two whose marks begin at one place, the one with the longer mark counts.
pub(super) static MARKED: [&dyn Grammar; 21] = [
    &tool_call::ToolCall,
    &function_tag::FunctionTag,
    &invoke::Invoke,
    &mistral::Mistral,
    &special_token::SpecialToken,
    &deepseek::DeepSeek,
    &kimi::Kimi,
    &functionary::Recipient,
    &functionary::Turn,
    &harmony::Harmony,
    &harmony::HarmonyHeader,
    &tool_code::ToolCode,
    &gemma_call::MarkedCall,
    &gemma_call::BareCall,
    &react::React,
    &prefix_word::PrefixWord,
    &tool_input::ToolInput,
    &argument_token::ArgumentToken,
    &xtml::Xtml,
    &namespace_token::NamespaceToken,
    &plamo::Plamo,
];
