"""The agent of every Python driver: two tools, a question, and the check of the result.

A driver is run as `DRIVER.py VARIANT BASE_URL plain|stream MODEL...`. For each model it prints one JSON line with
`model`, `ok` and `detail`. BASE_URL has no path. The API key is in the variable MATRIX_KEY.
"""

import asyncio
import json
import os
import signal
import sys
import traceback

CITIES = {"Oslo": (4711, "A7"), "Bergen": (4712, "C3")}
FORECASTS = {(4711, 3): ("rain", "B9"), (4712, 3): ("sun", "D5")}

SCHEMAS = {
    "find_city": {
        "type": "object",
        "properties": {"name": {"type": "string", "description": "Name of the city"}},
        "required": ["name"],
        "additionalProperties": False,
    },
    "get_weather": {
        "type": "object",
        "properties": {
            "city_id": {"type": "integer", "description": "Id of the city, from find_city"},
            "days": {"type": "integer", "description": "Number of days", "minimum": 1, "maximum": 7},
        },
        "required": ["city_id", "days"],
        "additionalProperties": False,
    },
}
DESCRIPTIONS = {"find_city": "Find the id of a city.", "get_weather": "Get the forecast of a city by its id."}

SECONDS = int(os.environ.get("MATRIX_SECONDS", "40"))
KEY = os.environ.get("MATRIX_KEY", "sk-matrix")


def scenario_of(model):
    return model.replace("/", ":").rpartition(":")[2]


class Tools:
    """The client's tools. `calls` records the calls with their arguments."""

    def __init__(self, model):
        self.scenario = scenario_of(model)
        cities = list(CITIES) if self.scenario == "parallel" else ["Oslo"]
        self.question = f"What is the weather in {' and '.join(cities)} in the next three days?"
        self.expected = []
        if self.scenario != "text":
            self.expected += [("find_city", {"name": city}) for city in cities]
            self.expected += [("get_weather", {"city_id": CITIES[city][0], "days": 3}) for city in cities]
        self.calls = []

    def find_city(self, name: str) -> str:
        """Find the id of a city."""
        self.calls.append(("find_city", {"name": name}))
        city_id, ticket = CITIES[name]
        return json.dumps({"city_id": city_id, "ticket": ticket})

    def get_weather(self, city_id: int, days: int) -> str:
        """Get the forecast of a city by its id."""
        self.calls.append(("get_weather", {"city_id": city_id, "days": days}))
        forecast, ticket = FORECASTS[city_id, days]
        return json.dumps({"forecast": forecast, "ticket": ticket})

    def execute(self, name, arguments):
        """Runs a call as an application without error handling does. `arguments` is JSON text or an object."""
        if isinstance(arguments, str):
            arguments = json.loads(arguments)
        return {"find_city": self.find_city, "get_weather": self.get_weather}[name](**arguments)

    def check(self, text):
        """Returns what is wrong with the result, or None."""
        if sorted(map(json.dumps, self.calls)) != sorted(map(json.dumps, self.expected)):
            return f"calls: {self.calls}"
        if self.scenario == "text":
            token = "T1"
        else:
            token = "A7-B9-C3-D5" if self.scenario == "parallel" else "A7-B9"
        return None if f"Token: {token}." in (text or "") else f"text: {text!r}"


def schema_tools(form):
    """The tools in the form of a protocol: `chat`, `responses` or `messages`."""
    tools = []
    for name, schema in SCHEMAS.items():
        head = {"name": name, "description": DESCRIPTIONS[name]}
        if form == "chat":
            tools.append({"type": "function", "function": {**head, "parameters": schema}})
        elif form == "responses":
            tools.append({"type": "function", **head, "parameters": schema, "strict": False})
        else:
            tools.append({**head, "input_schema": schema})
    return tools


def finish(client, work):
    """Runs a coroutine and closes its client in one event loop."""

    async def both():
        async with client:
            return await work

    return asyncio.run(both())


def on_alarm(*_):
    raise TimeoutError(f"no result within {SECONDS} s")


def main(variants):
    """Runs a variant with each model. A variant takes the base URL, model, stream flag and tools; returns the text."""
    variant, base_url, mode, *models = sys.argv[1:]
    signal.signal(signal.SIGALRM, on_alarm)
    for model in models:
        tools = Tools(model)
        signal.alarm(SECONDS)
        try:
            detail = tools.check(variants[variant](base_url, model, mode == "stream", tools))
        except (Exception, SystemExit) as error:
            if os.environ.get("MATRIX_TRACEBACK"):
                traceback.print_exc()
            detail = f"{type(error).__name__}: {error}"[:600]
        finally:
            signal.alarm(0)
        print(json.dumps({"model": model, "ok": detail is None, "detail": detail}), flush=True)
