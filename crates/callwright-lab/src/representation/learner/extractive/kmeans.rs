//! Clusters texts by semantic similarity.

use callwright_search::embedding::Vector;

/// Maximum number of iterations. Clusters seldom change after ten.
const ROUNDS: usize = 25;

/// Partitions vectors into at most `count` clusters by direction (spherical k-means, Dhillon and Modha, "Concept
/// Decompositions for Large Sparse Text Data using Clustering", 2001; k-means++ initialisation). Returns the positions
/// of each cluster's vectors. A cluster of one is merged with the nearest other cluster, if there is one.
pub(super) fn clusters(vectors: &[Vector], count: usize, seed: u64) -> Vec<Vec<usize>> {
    let mut centres = first_centres(vectors, count.min(vectors.len()), seed);
    let mut assignment = vec![usize::MAX; vectors.len()];
    for _ in 0..ROUNDS {
        let now: Vec<usize> = vectors.iter().map(|vector| nearest(vector, &centres)).collect();
        if now == assignment {
            break;
        }
        assignment = now;
        for (at, centre) in centres.iter_mut().enumerate() {
            let members =
                vectors.iter().zip(&assignment).filter(|(_, cluster)| **cluster == at).map(|(vector, _)| vector);
            // An empty cluster keeps its centre and may gain members again.
            *centre = mean(members).unwrap_or_else(|| centre.clone());
        }
    }
    merge_singletons(vectors, &centres, &mut assignment);
    let mut clusters = vec![Vec::new(); centres.len()];
    for (member, cluster) in assignment.iter().enumerate() {
        clusters.get_mut(*cluster).into_iter().for_each(|members| members.push(member));
    }
    clusters.retain(|members| !members.is_empty());
    clusters
}

/// Moves the members of single-member clusters to the nearest other cluster.
fn merge_singletons(vectors: &[Vector], centres: &[Vector], assignment: &mut [usize]) {
    for at in 0..assignment.len() {
        let (Some(own), Some(vector)) = (assignment.get(at).copied(), vectors.get(at)) else { continue };
        if assignment.iter().filter(|cluster| **cluster == own).count() > 1 {
            continue;
        }
        let others = centres.iter().enumerate().filter(|(cluster, _)| *cluster != own && assignment.contains(cluster));
        let nearest = others.max_by(|left, right| left.1.cosine(vector).total_cmp(&right.1.cosine(vector)));
        if let (Some((cluster, _)), Some(slot)) = (nearest, assignment.get_mut(at)) {
            *slot = cluster;
        }
    }
}

/// Returns the direction of the sum; `None` for no vectors.
pub(super) fn mean<'a>(mut vectors: impl Iterator<Item = &'a Vector>) -> Option<Vector> {
    let mut sum = vectors.next()?.components().to_vec();
    for vector in vectors {
        sum.iter_mut().zip(vector.components()).for_each(|(sum, component)| *sum += component);
    }
    Vector::new(sum)
}

/// Returns initial centres by k-means++: each is drawn with a probability proportional to its distance from the
/// previous ones.
fn first_centres(vectors: &[Vector], count: usize, seed: u64) -> Vec<Vector> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut centres: Vec<Vector> = Vec::new();
    let mut distances = vec![2.0_f32; vectors.len()];
    while centres.len() < count {
        let total: f32 = distances.iter().sum();
        let mut drawn = random.f32() * total;
        let at = distances.iter().position(|distance| {
            drawn -= distance;
            drawn < 0.0 && *distance > 0.0
        });
        // If every vector coincides with a centre, further centres are useless.
        let Some(centre) =
            at.or_else(|| distances.iter().rposition(|distance| *distance > 0.0)).and_then(|at| vectors.get(at))
        else {
            break;
        };
        for (distance, vector) in distances.iter_mut().zip(vectors) {
            *distance = distance.min((1.0 - centre.cosine(vector)).max(0.0));
        }
        // Prevents that rounding errors allow a centre to be drawn again.
        for (distance, vector) in distances.iter_mut().zip(vectors) {
            if vector == centre {
                *distance = 0.0;
            }
        }
        centres.push(centre.clone());
    }
    centres
}

fn nearest(vector: &Vector, centres: &[Vector]) -> usize {
    let close = centres.iter().map(|centre| centre.cosine(vector)).enumerate();
    close.fold((0, f32::NEG_INFINITY), |best, here| if here.1 > best.1 { here } else { best }).0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(x: f32, y: f32) -> Vector {
        Vector::new(vec![x, y]).unwrap()
    }

    #[test]
    fn similar_vectors_form_a_cluster() {
        let vectors = [vector(1.0, 0.0), vector(0.0, 1.0), vector(1.0, 0.1), vector(0.1, 1.0), vector(1.0, 0.2)];
        for seed in 0..8 {
            let mut found = clusters(&vectors, 2, seed);
            found.sort();
            assert_eq!(found, [vec![0, 2, 4], vec![1, 3]], "seed {seed}");
        }
    }

    #[test]
    fn there_are_no_more_clusters_than_directions() {
        assert_eq!(clusters(&[vector(1.0, 0.0), vector(2.0, 0.0)], 5, 1), [vec![0, 1]]);
        assert_eq!(clusters(&[vector(1.0, 0.0)], 3, 1), [vec![0]]);
        assert!(clusters(&[], 3, 1).is_empty());
    }

    #[test]
    fn singletons_are_merged_if_there_is_another_cluster() {
        let vectors = [vector(1.0, 0.0), vector(1.0, 0.1), vector(0.0, 1.0)];
        for seed in 0..8 {
            assert!(clusters(&vectors, 3, seed).iter().all(|members| members.len() > 1), "seed {seed}");
        }
    }

    #[test]
    fn zero_vectors_are_clustered() {
        let vectors = [Vector::zero(2), Vector::zero(2), vector(1.0, 0.0)];
        let members: usize = clusters(&vectors, 3, 1).iter().map(Vec::len).sum();
        assert_eq!(members, 3);
    }
}
