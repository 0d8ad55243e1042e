"""The scripted model: which answer follows a conversation.

A scenario is a name after the last `:` or `/` of the model name, so that `ft:gpt-4o:repair` selects `repair`. The step
follows from the tickets in the tool results of the request. The provider keeps no state of a scenario.
"""

import json
import re
from dataclasses import dataclass, field

SCENARIOS = [
    "clean",
    "text",
    "parallel",
    "repair",
    "hermes",
    "wrong-name",
    "bad-json",
    "missing-parameter",
    "reasoning",
    "preamble",
]

TICKET = re.compile(r"ticket\W{1,12}([A-Z]\d)\b")
CITY_ID = re.compile(r"city_id\W{1,12}(\d+)")


@dataclass
class Call:
    name: str
    arguments: str


@dataclass
class Answer:
    text: str = ""
    calls: list = field(default_factory=list)
    reasoning: bool = False


@dataclass
class Entry:
    """An entry of a conversation: `user`, `assistant` or `result`, and its text."""

    role: str
    text: str = ""


class UnknownModel(Exception):
    pass


def scenario_of(model):
    name = re.split("[:/]", model)[-1]
    if name not in SCENARIOS:
        raise UnknownModel(model)
    return name


class WeatherTools:
    """The tools of the drivers: `find_city(name)` and `get_weather(city_id, days)`."""

    wrong_name = "lookup_records"

    def steps(self, scenario, results):
        ids = {match for text in results if TICKET.search(text) for match in CITY_ID.findall(text)}
        cities = ["Oslo", "Bergen"] if scenario == "parallel" else ["Oslo"]
        first = [("find_city", {"name": city}) for city in cities]
        second = [("get_weather", {"city_id": int(number), "days": 3}) for number in sorted(ids)]
        return [("AC"[: len(cities)], first), ("BD"[: len(cities)], second)]

    def repairable(self, name, arguments):
        camel = re.sub("_(.)", lambda match: match[1].upper(), name)
        return camel, {key: str(value) for key, value in arguments.items()}

    def incomplete(self, name, arguments):
        return {key: value for key, value in list(arguments.items())[1:]}


class ShellTool:
    """A shell tool of a coding agent. The results of two `echo` commands have the tickets."""

    wrong_name = "launch_terminal_session"

    def __init__(self, tool, parameter, number):
        self.tool, self.parameter, self.number = tool, parameter, number

    def steps(self, scenario, results):
        count = 2 if scenario == "parallel" else 1
        sums = [("A", "3+4"), ("C", "1+2")], [("B", "4+5"), ("D", "2+3")]
        return [
            ("".join(letter for letter, _ in step[:count]), [self.call(*echo) for echo in step[:count]])
            for step in sums
        ]

    def call(self, letter, total):
        arguments = {self.parameter: f"echo ticket: {letter}$(({total}))"}
        if self.number:
            arguments[self.number] = 20000
        return self.tool, arguments

    def repairable(self, name, arguments):
        wrong = name.upper() if name.islower() else name.lower()
        return wrong, {key: str(value) for key, value in arguments.items()}

    def incomplete(self, name, arguments):
        return {key: value for key, value in arguments.items() if key != self.parameter}


def offered(tools):
    """Selects the tools to call from the offered ones: a map of names to JSON Schemas."""
    if "find_city" in tools:
        return WeatherTools()
    for name in ("Bash", "exec_command", "shell_command", "shell"):
        if name in tools:
            properties = tools[name].get("properties", {})
            parameter = "cmd" if "cmd" in properties else "command"
            number = next((key for key in ("timeout", "yield_time_ms", "timeout_ms") if key in properties), None)
            return ShellTool(name, parameter, number)
    return None


def next_answer(model, entries, tools):
    """Returns the answer to a conversation."""
    scenario = scenario_of(model)
    world = offered(tools)
    if scenario == "text" or world is None:
        return Answer("It rains in Oslo. Token: T1.")
    results = [entry.text for entry in entries if entry.role == "result"]
    tickets = {ticket for text in results for ticket in TICKET.findall(text)}
    for step, (letters, calls) in enumerate(world.steps(scenario, results)):
        if not all(any(ticket.startswith(letter) for ticket in tickets) for letter in letters):
            if scenario == "preamble":
                # Text before the call: one that can be repaired, then one that requires feedback.
                answer = calling("wrong-name" if step else "repair", world, calls, answers_in_step(entries) > 0)
                answer.text = "I look it up."
                return answer
            return calling(scenario, world, calls, answers_in_step(entries) > 0)
    return Answer(f"It rains in Oslo. Token: {'-'.join(sorted(tickets))}.")


def answers_in_step(entries):
    """Counts the model's answers since the last result with a ticket: above 0, the last one got feedback."""
    last = max(
        (at for at, entry in enumerate(entries) if entry.role == "result" and TICKET.search(entry.text)), default=-1
    )
    return sum(entry.role == "assistant" for entry in entries[last + 1 :])


def calling(scenario, world, calls, repeated):
    right = [Call(name, json.dumps(arguments)) for name, arguments in calls]
    if repeated or scenario in ("clean", "parallel"):
        return Answer(calls=right)
    name, arguments = calls[0]
    if scenario == "repair":
        name, arguments = world.repairable(name, arguments)
        return Answer(calls=[Call(name, f"```json\n{json.dumps(arguments)}\n```")])
    if scenario == "reasoning":
        name, arguments = world.repairable(name, arguments)
        return Answer(calls=[Call(name, json.dumps(arguments))], reasoning=True)
    if scenario == "hermes":
        return Answer("<tool_call>\n" + json.dumps({"name": name, "arguments": arguments}) + "\n</tool_call>")
    if scenario == "wrong-name":
        return Answer(calls=[Call(world.wrong_name, json.dumps({"query": "Oslo"}))])
    if scenario == "bad-json":
        return Answer(calls=[Call(name, '{"' + next(iter(arguments)) + '": ')])
    return Answer(calls=[Call(name, json.dumps(world.incomplete(name, arguments)))])


def pieces(text, size=7):
    """Splits a text as a model's tokens do."""
    return [text[at : at + size] for at in range(0, len(text), size)]
