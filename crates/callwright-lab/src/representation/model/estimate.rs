//! Estimates the maximum cost of a run.

use super::ModelSettings;
use super::prompts;
use crate::representation::Addition;
use callwright_common::tokens::estimated;
use callwright_types::Cost;

/// Estimated tokens of an answer: six patterns, each of a sentence and three phrases in JSON.
const ANSWER_TOKENS: u64 = 400;

/// Estimated tokens of an answer with a letter.
const LETTER_TOKENS: u64 = 5;

/// Cost of a run that adds to and edits every tool in every iteration. Most runs cost a fraction, because only tools
/// with errors cause requests.
#[derive(Debug, Default)]
pub struct Estimate {
    per_iteration: Cost,
}

impl Estimate {
    /// Adds a tool with its samples. Tools without samples cause no requests.
    pub fn add_tool(&mut self, tool: &str, description: &str, samples: &[&str], settings: &ModelSettings) {
        if samples.is_empty() {
            return;
        }
        let addition = Addition { tool, description, patterns: &[], missed: samples, room: 0 };
        let question = prompts::addition(&addition, settings);
        let prompt: usize = question.messages.iter().map(|(_, text)| estimated(text)).sum();
        // One request to add and one to edit, which also contains the patterns. Each is repeated once if its answer is
        // unusable, after that answer.
        let prompt = u64::try_from(prompt).unwrap_or(u64::MAX).saturating_mul(4).saturating_add(4 * ANSWER_TOKENS);
        self.per_iteration.requests += 4;
        self.per_iteration.prompt_tokens = self.per_iteration.prompt_tokens.saturating_add(prompt);
        self.per_iteration.completion_tokens += 4 * ANSWER_TOKENS;
    }

    /// Returns the cost of one selection for each sample, which is repeated once if the answer is unusable.
    /// `descriptions` are those of all tools; a request contains `candidates` of them, here the longest.
    pub fn selections<'a>(
        queries: impl IntoIterator<Item = &'a str>,
        descriptions: impl IntoIterator<Item = &'a str>,
        candidates: usize,
        settings: &ModelSettings,
    ) -> Cost {
        let mut lengths: Vec<usize> = descriptions.into_iter().map(estimated).collect();
        lengths.sort_unstable_by(|one, other| other.cmp(one));
        let longest: usize = lengths.iter().take(candidates).sum();
        let mut cost = Cost::default();
        for query in queries {
            let question = prompts::selection(query, &[], settings);
            let prompt: usize = question.messages.iter().map(|(_, text)| estimated(text)).sum();
            let prompt = u64::try_from(prompt.saturating_add(longest)).unwrap_or(u64::MAX);
            cost.requests += 2;
            cost.prompt_tokens = cost.prompt_tokens.saturating_add(prompt.saturating_mul(2));
            cost.completion_tokens += 2 * LETTER_TOKENS;
        }
        cost
    }

    /// Returns the cost of this number of iterations.
    pub fn for_iterations(&self, iterations: u64) -> Cost {
        let Cost { requests, prompt_tokens, completion_tokens } = self.per_iteration;
        Cost {
            requests: requests.saturating_mul(iterations),
            prompt_tokens: prompt_tokens.saturating_mul(iterations),
            completion_tokens: completion_tokens.saturating_mul(iterations),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimate_counts_requests_of_tools_with_samples() {
        let settings = ModelSettings::default();
        let mut estimate = Estimate::default();
        estimate.add_tool("idle", "Never asked for.", &[], &settings);
        assert_eq!(estimate.for_iterations(10), Cost::default());
        estimate.add_tool("pay", "Pays.", &["pay my bill"], &settings);
        let few = estimate.for_iterations(1);
        assert_eq!((few.requests, few.completion_tokens), (4, 1600));
        assert!((1400..6000).contains(&few.prompt_tokens), "{few:?}");
        assert_eq!(estimate.for_iterations(10).requests, 40);
        let samples = vec!["pay my bill at the end of the month"; 40];
        let mut more = Estimate::default();
        more.add_tool("pay", "Pays.", &samples, &settings);
        assert!(more.for_iterations(1).prompt_tokens > few.prompt_tokens + 2 * 40 * 8);
    }

    #[test]
    fn selections_are_estimated_with_the_longest_descriptions() {
        let settings = ModelSettings::default();
        let long = "a long description of a tool ".repeat(20);
        let estimate_of =
            |candidates| Estimate::selections(["pay it"; 3], ["short", long.as_str()], candidates, &settings);
        assert_eq!((estimate_of(1).requests, estimate_of(1).completion_tokens), (6, 30));
        assert!(estimate_of(1).prompt_tokens > 6 * 100 && estimate_of(2).prompt_tokens > estimate_of(1).prompt_tokens);
    }
}
