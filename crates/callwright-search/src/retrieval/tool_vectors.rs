//! Vectors of a tool's texts.

use super::tool_text::ToolText;
use crate::embedding::{EmbedError, Embedder, Vector};
use callwright_types::representation::Pattern;

/// The vectors by which a tool is found.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolVectors {
    /// Vector of [`ToolText::embedded`].
    pub description: Vector,
    /// Vector of each pattern, in order.
    pub patterns: Vec<Vector>,
}

/// Returns the texts whose vectors form that of a pattern: its description and each of its cases.
pub fn pattern_texts(pattern: &Pattern) -> impl Iterator<Item = &str> {
    let texts = std::iter::once(&pattern.description).chain(&pattern.cases);
    texts.map(|text| text.trim()).filter(|text| !text.is_empty())
}

/// Returns a pattern's vector from those of its [`pattern_texts`]: their normalised mean. It is zero if there are none
/// or they cancel out.
pub fn pattern_vector<'a>(vectors: impl IntoIterator<Item = &'a Vector>, dimensions: usize) -> Vector {
    let mut sum = vec![0.0; dimensions];
    for vector in vectors {
        sum.iter_mut().zip(vector.components()).for_each(|(sum, component)| *sum += component);
    }
    Vector::new(sum).unwrap_or_else(|| Vector::zero(dimensions))
}

/// Returns the vectors of tools, in order. All texts are sent to the embedder in one call.
///
/// # Errors
/// [`EmbedError`]: the tools can still be found by words.
pub async fn embed_tools(embedder: &dyn Embedder, tools: &[ToolText]) -> Result<Vec<ToolVectors>, EmbedError> {
    let mut texts = Vec::new();
    for tool in tools {
        texts.push(tool.embedded());
        texts.extend(tool.patterns.iter().flat_map(pattern_texts).map(str::to_owned));
    }
    let vectors = embedder.embed(texts).await?;
    let mut rest = vectors.iter();
    let dimensions = embedder.dimensions();
    let mut of_tools = Vec::with_capacity(tools.len());
    for tool in tools {
        let description = rest.next().cloned().unwrap_or_else(|| Vector::zero(dimensions));
        let patterns = tool.patterns.iter();
        let patterns = patterns
            .map(|pattern| pattern_vector(rest.by_ref().take(pattern_texts(pattern).count()), dimensions))
            .collect();
        of_tools.push(ToolVectors { description, patterns });
    }
    Ok(of_tools)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedding::{Settings, built_in};

    fn pattern(description: &str, cases: &[&str]) -> Pattern {
        let cases = cases.iter().map(|case| (*case).to_owned()).collect();
        Pattern { description: description.to_owned(), cases, weight: 1.0 }
    }

    #[tokio::test]
    async fn each_text_gets_its_own_vector() {
        let embedder = built_in(&Settings::default()).unwrap();
        let of = async |text: &str| embedder.embed(vec![text.to_owned()]).await.unwrap().remove(0);
        let tools = [
            ToolText {
                patterns: vec![pattern("", &[]), pattern("lost cards", &["", "my card is gone"])],
                ..ToolText::default()
            },
            ToolText { description: "the weather".to_owned(), ..ToolText::default() },
        ];
        let vectors = embed_tools(&*embedder, &tools).await.unwrap();
        let zero = Vector::zero(embedder.dimensions());
        let mean = pattern_vector(&[of("lost cards").await, of("my card is gone").await], embedder.dimensions());
        assert_eq!(vectors[0], ToolVectors { description: zero.clone(), patterns: vec![zero, mean] });
        assert_eq!(vectors[1], ToolVectors { description: of("the weather").await, patterns: Vec::new() });
    }
}
