"""Collections of requests with the tools that serve them."""
import json

import numpy as np


class RequestSet:
    """The requests and tools of `retrieval/NAME`."""

    def __init__(self, data, name):
        folder = data / "retrieval" / name
        read = lambda file: [json.loads(line) for line in (folder / file).open(encoding="utf-8") if line.strip()]
        tools, asked = read("tools.jsonl"), read("train.jsonl")
        position = {tool["name"]: at for at, tool in enumerate(tools)}
        self.name = name
        self.queries = [line["query"] for line in asked]
        self.right = [[position[tool] for tool in line["tools"] if tool in position] for line in asked]
        self.descriptions = [tool.get("description") or tool["name"] for tool in tools]

    def accuracy(self, queries, descriptions):
        """Returns the percentage of queries whose nearest description, by these vectors, belongs to a right tool."""
        nearest = (queries @ descriptions.T).argmax(1)
        return round(100 * float(np.mean([best in right for best, right in zip(nearest, self.right)])), 1)


def sets(data):
    return [RequestSet(data, folder.name) for folder in sorted((data / "retrieval").iterdir())]
