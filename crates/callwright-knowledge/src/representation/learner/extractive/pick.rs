//! Chooses phrases that represent a cluster.

use callwright_search::embedding::Vector;

/// Phrase and the sample of the cluster in which it was found first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CasePhrase<T> {
    pub(super) text: T,
    pub(super) sample: usize,
}

/// Greedily chooses at most `count` phrases. Each choice brings the mean of the vectors, including that of the
/// `general` sentence, closest to `target`. Each phrase is of another sample, so that no user text can be reassembled
/// from its parts.
pub(super) fn choose_phrases<'a, T>(
    target: &Vector,
    general: &Vector,
    phrases: &'a [CasePhrase<T>],
    vectors: &[&Vector],
    count: usize,
) -> Vec<&'a CasePhrase<T>> {
    let mut sum = general.components().to_vec();
    let mut remaining: Vec<(&CasePhrase<T>, &Vector)> = phrases.iter().zip(vectors.iter().copied()).collect();
    let mut chosen = Vec::new();
    while chosen.len() < count {
        let mut best: Option<(f32, &CasePhrase<T>, &Vector)> = None;
        for (phrase, vector) in &remaining {
            let gain = similarity_with(&sum, vector, target);
            if best.is_none_or(|(most, ..)| gain > most) {
                best = Some((gain, phrase, vector));
            }
        }
        let Some((_, phrase, vector)) = best else { break };
        sum.iter_mut().zip(vector.components()).for_each(|(sum, component)| *sum += component);
        chosen.push(phrase);
        remaining.retain(|(other, _)| other.sample != phrase.sample);
    }
    chosen
}

/// Returns the cosine of the sum with the added vector and the target.
fn similarity_with(sum: &[f32], vector: &Vector, target: &Vector) -> f32 {
    let (mut dot, mut square) = (0.0_f32, 0.0_f32);
    for ((sum, component), target) in sum.iter().zip(vector.components()).zip(target.components()) {
        let component_sum = sum + component;
        dot += component_sum * target;
        square += component_sum * component_sum;
    }
    if square > 0.0 { dot / square.sqrt() } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(x: f32, y: f32) -> Vector {
        Vector::new(vec![x, y]).unwrap()
    }

    #[test]
    fn phrases_complement_each_other() {
        let phrases: Vec<CasePhrase<u8>> = (0..3).map(|at| CasePhrase { text: 0, sample: at }).collect();
        let vectors = [vector(1.0, 0.0), vector(0.7, 0.7), vector(0.0, 1.0)];
        let vectors: Vec<&Vector> = vectors.iter().collect();
        let chosen = choose_phrases(&vector(1.0, 1.0), &vector(1.0, 0.0), &phrases, &vectors, 1);
        assert_eq!(chosen[0].sample, 2, "the general sentence covers the other half");
        let chosen = choose_phrases(&vector(1.0, 1.0), &Vector::zero(2), &phrases, &vectors, 2);
        assert_eq!(chosen[0].sample, 1);
    }

    #[test]
    fn each_sample_contributes_one_phrase() {
        let phrases = [0, 0, 1].map(|sample| CasePhrase { text: 0, sample });
        let same = vector(1.0, 0.0);
        assert_eq!(choose_phrases(&same, &same, &phrases, &[&same; 3], 3).len(), 2);
        assert!(choose_phrases(&same, &same, &phrases[..0], &[], 3).is_empty());
    }
}
