//! What has been learned about when a tool is wanted.

/// The learned text of a tool: what requests for it are like. Kept apart from the tool's own description.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Representation {
    /// The tool's name: within its toolset, or as clients send it.
    pub tool: String,
    /// In the order in which they are shown to a model.
    pub patterns: Vec<Pattern>,
}

/// One way in which a tool is asked for ("Large Language Models Can Learn Representation in Natural Language", section 4.2).
#[derive(Debug, Clone, PartialEq)]
pub struct Pattern {
    /// A general sentence.
    pub description: String,
    /// Two or three short phrases, as people use them.
    pub cases: Vec<String>,
    /// How much a likeness to this pattern says for the tool, above 0: 1 is as much as any other, 0.5 is half of that.
    pub weight: f32,
}

impl Pattern {
    /// Description and cases as one text.
    pub fn text(&self) -> String {
        let parts = std::iter::once(self.description.as_str()).chain(self.cases.iter().map(String::as_str));
        parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_pattern_is_all_that_it_says() {
        let pattern = |description: &str, cases: &[&str]| Pattern {
            description: description.to_owned(),
            cases: cases.iter().map(|case| (*case).to_owned()).collect(),
            weight: 1.0,
        };
        assert_eq!(
            pattern("Lost cards.", &["lost my card", "", "card is gone"]).text(),
            "Lost cards. lost my card card is gone"
        );
        assert_eq!(pattern("", &[]).text(), "");
    }
}
