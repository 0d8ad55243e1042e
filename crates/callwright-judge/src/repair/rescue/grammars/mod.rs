//! Readers of notations that the table (`notations.toml`) cannot express, one file each.

mod arrow_hash;
mod deepseek;
mod gemma_call;
mod harmony;
mod invoke;
mod lone_tag;
mod mistral;
mod namespace_token;
mod prefix_word;
mod react;
#[cfg(test)]
mod reserved_tests;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;
mod tool_call;
mod tool_input;
mod turn;
mod xtml;

use super::grammar::Grammar;

/// All readers, by the name that an entry of the built-in table refers to.
static READERS: [(&str, &dyn Grammar); 20] = [
    ("tool_call", &tool_call::ToolCall),
    ("function_tag", &invoke::Invoke),
    ("invoke", &invoke::Invoke),
    ("mistral", &mistral::Mistral),
    ("deepseek", &deepseek::DeepSeek),
    ("turn", &turn::TurnGrammar),
    ("harmony", &harmony::Harmony),
    ("gemma_call", &gemma_call::MarkedCall),
    ("gemma_call_bare", &gemma_call::BareCall),
    ("react", &react::React),
    ("prefix_word", &prefix_word::PrefixWord),
    ("tool_input", &tool_input::ToolInput),
    ("xtml", &xtml::Xtml),
    ("namespace_token", &namespace_token::NamespaceToken),
    ("tool_tag", &lone_tag::ToolTag),
    ("name_tag", &lone_tag::NameTag),
    ("parameter_tag", &lone_tag::ParameterTag),
    ("json_head", &lone_tag::JsonHead),
    ("arrow_hash", &arrow_hash::MarkedHash),
    ("arrow_hash_bare", &arrow_hash::BareHash),
];

pub(super) fn reader(name: &str) -> Option<&'static dyn Grammar> {
    READERS.iter().find(|(known, _)| *known == name).map(|(_, reader)| *reader)
}
