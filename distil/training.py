"""Trains token vectors so that texts have the directions, and the similarities to each other, that the teacher gives them."""
import numpy as np
import torch
from torch.nn import functional

STEPS, RATE, BATCH = 300, 3e-3, 1024
TEMPERATURE = 0.1


def directions(rows, lists):
    """Returns the direction of the sum of the rows of each list; an empty list has row 0."""
    lists = [numbers or [0] for numbers in lists]
    starts = torch.from_numpy(np.cumsum([0] + [len(numbers) for numbers in lists[:-1]]))
    flat = torch.from_numpy(np.concatenate(lists).astype(np.int64))
    return functional.normalize(functional.embedding_bag(flat, rows, starts, mode="sum"), dim=1)


def divergence(found, expected):
    """Returns how far the distribution of each text's similarities is from the expected one (Kullback and Leibler)."""
    logs = [functional.log_softmax(similarities / TEMPERATURE, 1) for similarities in (found, expected)]
    return functional.kl_div(*logs, reduction="batchmean", log_target=True)


def distance_to_teacher(texts, said):
    """Returns the distance of texts to the teacher's vectors, in direction and in similarities within the batch."""
    itself = torch.eye(len(said), dtype=torch.bool)
    others = lambda similarities: similarities.masked_fill(itself, -1e3)
    among = divergence(others(texts @ texts.T), others(said @ said.T))
    across = divergence(texts @ said.T, said @ said.T)
    return (1 - (texts * said).sum(1)).mean() + (among + across) / 2


def train(start, lists, said, seed, steps=STEPS):
    """Returns rows trained from `start`. `lists` are the tokens of texts, `said` the directions of the teacher's
    vectors."""
    torch.set_num_threads(1)
    chance = np.random.default_rng(seed)
    rows = torch.nn.Parameter(torch.tensor(start))
    optimiser = torch.optim.Adam([rows], lr=RATE, betas=(0.9, 0.99))
    known = np.array([at for at, tokens in enumerate(lists) if tokens])
    for step in range(steps):
        for group in optimiser.param_groups:
            group["lr"] = RATE * (1 - step / steps)
        batch = chance.choice(known, min(BATCH, len(known)), replace=False)
        loss = distance_to_teacher(directions(rows, [lists[at] for at in batch]), torch.from_numpy(said[batch]))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return rows.detach().numpy()
