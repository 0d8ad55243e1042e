//! Chooses phrases that represent a cluster.

use callwright_search::embedding::Vector;

/// Phrase and the sample of the cluster in which it was found first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Phrase<T> {
    pub(super) text: T,
    pub(super) sample: usize,
}

/// Greedily chooses at most `count` phrases. Each choice brings the mean of the vectors, including that of the
/// `general` sentence, closest to `target`. Each phrase is of another sample, so that no user text can be reassembled
/// from its parts.
pub(super) fn pick<'a, T>(
    target: &Vector,
    general: &Vector,
    phrases: &'a [Phrase<T>],
    vectors: &[&Vector],
    count: usize,
) -> Vec<&'a Phrase<T>> {
    let mut sum = general.components().to_vec();
    let mut left: Vec<(&Phrase<T>, &Vector)> = phrases.iter().zip(vectors.iter().copied()).collect();
    let mut chosen = Vec::new();
    while chosen.len() < count {
        let mut best: Option<(f32, &Phrase<T>, &Vector)> = None;
        for (phrase, vector) in &left {
            let gain = closeness(&sum, vector, target);
            if best.is_none_or(|(most, ..)| gain > most) {
                best = Some((gain, phrase, vector));
            }
        }
        let Some((_, phrase, vector)) = best else { break };
        sum.iter_mut().zip(vector.components()).for_each(|(sum, component)| *sum += component);
        chosen.push(phrase);
        left.retain(|(other, _)| other.sample != phrase.sample);
    }
    chosen
}

/// Returns the cosine of the sum with the added vector and the target.
fn closeness(sum: &[f32], vector: &Vector, target: &Vector) -> f32 {
    let (mut dot, mut square) = (0.0_f32, 0.0_f32);
    for ((sum, component), target) in sum.iter().zip(vector.components()).zip(target.components()) {
        let together = sum + component;
        dot += together * target;
        square += together * together;
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
    fn phrases_make_up_for_what_the_others_lack() {
        let phrases: Vec<Phrase<u8>> = (0..3).map(|at| Phrase { text: 0, sample: at }).collect();
        let vectors = [vector(1.0, 0.0), vector(0.7, 0.7), vector(0.0, 1.0)];
        let vectors: Vec<&Vector> = vectors.iter().collect();
        let chosen = pick(&vector(1.0, 1.0), &vector(1.0, 0.0), &phrases, &vectors, 1);
        assert_eq!(chosen[0].sample, 2, "the general sentence says the other half");
        let chosen = pick(&vector(1.0, 1.0), &Vector::zero(2), &phrases, &vectors, 2);
        assert_eq!(chosen[0].sample, 1);
    }

    #[test]
    fn a_sample_gives_one_phrase() {
        let phrases = [0, 0, 1].map(|sample| Phrase { text: 0, sample });
        let same = vector(1.0, 0.0);
        assert_eq!(pick(&same, &same, &phrases, &[&same; 3], 3).len(), 2);
        assert!(pick(&same, &same, &phrases[..0], &[], 3).is_empty());
    }
}
