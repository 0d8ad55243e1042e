"""The teacher model, from its tokenizer and its ONNX file."""
import json

import numpy as np
import onnxruntime
from tokenizers import Tokenizer

BATCH = 64
# Texts are cut at this many tokens; few texts of the corpus are longer.
TOKENS = 64


class Teacher:
    """Normalised mean of the last hidden states over the tokens, as in sentence-transformers/all-MiniLM-L6-v2."""

    def __init__(self, folder, threads=0):
        self.tokenizer = self.tokenizer_of(folder)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self.session = onnxruntime.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
        self.dimensions = json.loads((folder / "config.json").read_text())["hidden_size"]

    @staticmethod
    def tokenizer_of(folder):
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        tokenizer.no_padding()
        tokenizer.enable_truncation(TOKENS)
        return tokenizer

    def vectors_of_ids(self, lists):
        """Returns one vector per list of token ids, special tokens included. Batches have similar lengths."""
        vectors = np.zeros((len(lists), self.dimensions), np.float32)
        order = sorted(range(len(lists)), key=lambda at: len(lists[at]))
        for start in range(0, len(order), BATCH):
            chosen = order[start : start + BATCH]
            width = max(len(lists[at]) for at in chosen)
            ids, mask = np.zeros((len(chosen), width), np.int64), np.zeros((len(chosen), width), np.int64)
            for row, at in enumerate(chosen):
                ids[row, : len(lists[at])] = lists[at]
                mask[row, : len(lists[at])] = 1
            states = self.session.run(None, {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)})[0]
            pooled = (states * mask[:, :, None]).sum(1) / mask.sum(1, keepdims=True)
            vectors[chosen] = pooled / np.linalg.norm(pooled, axis=1, keepdims=True)
            if start // BATCH % 100 == 0:
                print(f"  {start} of {len(order)}", flush=True)
        return vectors

    def ids(self, texts):
        return [encoding.ids for encoding in self.tokenizer.encode_batch(texts)]

    def vectors(self, texts):
        return self.vectors_of_ids(self.ids(texts))
