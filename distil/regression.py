"""Fits token vectors whose sums approximate the teacher's vectors, by ridge regression to its single-token vectors."""
import numpy as np
from scipy import sparse


def counts(lists, width):
    """Returns the matrix of texts × tokens, scaled by the root of the text length.

    The length of a sum of independent rows grows with that root.
    """
    lengths = [len(ids) for ids in lists]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    values = np.repeat(1 / np.sqrt(np.maximum(lengths, 1)), lengths).astype(np.float32)
    ids = np.concatenate([np.asarray(ids, np.int64) for ids in lists])
    matrix = sparse.csr_matrix((values, ids, starts), shape=(len(lists), width))
    matrix.sum_duplicates()
    return matrix


def principal_components(vectors, dimensions):
    """Returns the principal components of the teacher's vectors, not centred, because cosines are relative to zero."""
    _, axes = np.linalg.eigh(vectors.T @ vectors)
    return axes[:, ::-1][:, :dimensions].astype(np.float32)


def ridge(matrix, targets, start, strength, rounds):
    """Returns argmin |matrix·rows − targets|² + strength·|rows − start|², by conjugate gradients on all columns."""
    rows = start.copy()
    residual = matrix.T @ (targets - matrix @ rows)
    direction, size = residual.copy(), (residual**2).sum(0)
    for _ in range(rounds):
        image = matrix.T @ (matrix @ direction) + strength * direction
        step = size / np.maximum((direction * image).sum(0), 1e-30)
        rows += step * direction
        residual -= step * image
        fresh = (residual**2).sum(0)
        direction = residual + fresh / np.maximum(size, 1e-30) * direction
        size = fresh
    return rows


def unit(vectors):
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
