"""The table's file: what crates/callwright-search/src/embedding/table/ reads."""
import hashlib
import struct

import numpy as np

MAGIC = b"CWTABLE1"


def quantise(rows):
    """Each row as int8 with a scale of its own."""
    scales = np.abs(rows).max(1) / 127
    scales[scales == 0] = 1
    return np.rint(rows / scales[:, None]).astype(np.int8), scales.astype(np.float32)


def write(path, words, rows):
    """Magic, a hash that names the table, number of rows and columns (little-endian u32), one scale (f32) a row, the rows, the words
    with a line break each."""
    numbers, scales = quantise(rows)
    text = "".join(word + "\n" for word in words).encode()
    content = struct.pack("<II", *numbers.shape) + scales.tobytes() + numbers.tobytes() + text
    path.write_bytes(MAGIC + hashlib.sha256(content).digest()[:8] + content)
