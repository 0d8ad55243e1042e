"""File format of the table that crates/callwright-search/src/embedding/table/ reads."""
import hashlib
import struct

import numpy as np

MAGIC = b"CWTABLE1"


def quantise(rows):
    """Quantises each row to int8 with its own scale."""
    scales = np.abs(rows).max(1) / 127
    scales[scales == 0] = 1
    return np.rint(rows / scales[:, None]).astype(np.int8), scales.astype(np.float32)


def write(path, words, rows):
    """Returns magic, a hash that identifies the table, number of rows and columns (little-endian u32), one scale (f32)
    per row, the rows, and the words, each with a line break."""
    numbers, scales = quantise(rows)
    text = "".join(word + "\n" for word in words).encode()
    content = struct.pack("<II", *numbers.shape) + scales.tobytes() + numbers.tobytes() + text
    path.write_bytes(MAGIC + hashlib.sha256(content).digest()[:8] + content)


def read(path):
    """Returns the rows of a table as float32, and their words."""
    content = path.read_bytes()[len(MAGIC) + 8 :]
    count, columns = struct.unpack("<II", content[:8])
    scales = np.frombuffer(content, np.float32, count, 8)
    numbers = np.frombuffer(content, np.int8, count * columns, 8 + 4 * count).reshape(count, columns)
    words = content[8 + 4 * count + count * columns :].decode().split("\n")[:count]
    return (numbers * scales[:, None]).astype(np.float32), words
