//! Parameters of a classifier.

/// Parameters of a linear classifier of requests. The margin of a class is the dot product of its weights with the
/// features of the request plus its bias; in training, it is 1 for requests of the class and -1 for all others.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClassifierModel {
    /// Embedder of the vectors among the features; `None`: words only.
    pub embedder: Option<String>,
    /// Number of components of these vectors; 0 without vectors.
    pub dimensions: usize,
    /// Terms with their inverse document frequencies among the samples.
    pub terms: Vec<(String, f32)>,
    /// Classes.
    pub classes: Vec<ToolClass>,
}

/// Parameters of one class.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolClass {
    /// Name of the tool; `None`: requests that no tool serves.
    pub tool: Option<String>,
    /// Bias.
    pub bias: f32,
    /// Weights of terms, by their position in [`ClassifierModel::terms`], in descending order of their magnitude.
    pub terms: Vec<(usize, f32)>,
    /// Weights of the components of the vector, rounded to eight bits.
    pub meaning: Vec<i8>,
    /// Unit of [`ToolClass::meaning`].
    pub unit: f32,
}

/// Contribution of a classifier to the score of a tool: `scale * (score + weight * (margin + 1))`. A tool without a
/// class has the margin of a wrong one, -1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClassifierWeights {
    /// Weight of the margin relative to the score by patterns and words.
    pub weight: f32,
    /// Factor of the sum, which keeps differences of scores interpretable as ratios of likelihoods.
    pub scale: f32,
    /// Least amount by which the margin of "no tool" must exceed that of every tool, so that no tool is found; `None`:
    /// tools are always found.
    pub no_tool: Option<f32>,
}
