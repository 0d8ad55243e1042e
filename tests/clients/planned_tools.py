"""An agent with the official `openai` package whose requests require ids that are not in the conversation.

The first argument is the base URL of a proxy. The loop is the one of OpenAI's documentation and has no code for plans:
it executes the received calls with its own functions and sends back the results. The proxy draws the plan and returns
the ready calls in each turn. With the aliases `office` and `flights` the proxy has the tools, and one request is
sufficient. The model behind the proxy is the demo's (tests/it/official_client.rs starts it).
"""

import inspect
import json
import sys

import openai

PEOPLE = [{"id": "q-7", "name": "Mary Jackson"}, {"id": "q-9", "name": "Jack Horner"}]
ROOMS = [{"id": "room-31", "name": "Attic", "capacity": 3}, {"id": "room-44", "name": "Cellar", "capacity": 9}]
TRAVELLERS = [{"id": "w-5", "name": "Lucas Stern"}]
TRIPS = {
    "w-5": [
        {"title": "Audit", "destination": "Turin", "date": "2026-09-01"},
        {"title": "Trade fair", "destination": "Ghent", "date": "2026-09-14"},
    ]
}
FLIGHTS = {
    ("Oslo", "Ghent", "2026-09-14"): [
        {"id": "fl-801", "departs": "07:00", "price": 240},
        {"id": "fl-802", "departs": "09:30", "price": 111},
    ],
    ("Oslo", "Turin", "2026-09-01"): [{"id": "fl-700", "departs": "08:00", "price": 90}],
}


def known(items, id):
    return any(item["id"] == id for item in items)


def findPerson(name):
    """Finds people by name. Answers like {"people": [{"id": "q-1", "name": "Ida Rhodes"}]}"""
    return {"people": [person for person in PEOPLE if name.lower() in person["name"].lower()]}


def findFreeRooms(start, end):
    """Finds rooms that are free at a time. Answers like {"rooms": [{"id": "room-1", "name": "Hall"}]}"""
    return {"rooms": ROOMS} if start < end else {"error": "the end comes first"}


def createBooking(person_id, room_id, start, end):
    """Books a room for a person."""
    if not known(PEOPLE, person_id) or not known(ROOMS, room_id):
        return {"error": "nobody and nothing has this id"}
    return {"id": "b-1", "person_id": person_id, "room_id": room_id, "start": start, "end": end}


def findTravellers(name):
    """Finds travellers by name. Answers like {"travellers": [{"id": "w-1", "name": "Ida Rhodes"}]}"""
    return {"travellers": [traveller for traveller in TRAVELLERS if name.lower() in traveller["name"].lower()]}


def listTrips(traveller_id):
    """Lists the trips of a traveller. Answers like {"trips": [{"title": "Talk", "destination": "Rome", "date": "2026-09-02"}]}"""
    return {"trips": TRIPS[traveller_id]} if traveller_id in TRIPS else {"error": "nobody has this id"}


def searchFlights(origin, destination, date):
    """Searches the flights between two cities on a day. Answers like {"flights": [{"id": "fl-1", "price": 120}]}"""
    return {"flights": FLIGHTS.get((origin, destination, date), [])}


def bookFlight(flight_id, traveller_id):
    """Books a seat on a flight for a traveller."""
    flights = [flight for flights in FLIGHTS.values() for flight in flights]
    if not known(flights, flight_id) or not known(TRAVELLERS, traveller_id):
        return {"error": "nobody and nothing has this id"}
    return {"id": "s-1", "flight_id": flight_id, "traveller_id": traveller_id}


ABOUT = {
    "destination": "City where the flight ends, such as listTrips tells.",
    "date": "The day, year first, such as listTrips tells.",
}


def described(function):
    names = list(inspect.signature(function).parameters)
    properties = {name: {"type": "string", "description": ABOUT.get(name, f"The {name}.")} for name in names}
    parameters = {"type": "object", "properties": properties, "required": names}
    about = {"name": function.__name__, "description": function.__doc__, "parameters": parameters}
    return {"type": "function", "function": about}


def whole(client, **request):
    return client.chat.completions.create(**request).choices[0].message


def streamed(client, **request):
    with client.chat.completions.stream(**request) as stream:
        return stream.get_final_completion().choices[0].message


def run(client, ask, functions, messages):
    """Runs the loop until the model answers without a call. Returns the answer, and the called functions by turn."""
    by_name = {function.__name__: function for function in functions}
    tools, turns = [described(function) for function in functions], []
    for _ in range(8):
        message = ask(client, model="scripted", messages=messages, tools=tools)
        messages.append(message)
        if not message.tool_calls:
            return message.content, turns
        turns.append([(call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls])
        for call in message.tool_calls:
            result = by_name[call.function.name](**json.loads(call.function.arguments))
            assert "error" not in result, (call, result)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})
    raise AssertionError(f"no end: {messages}")


def user(text):
    return {"role": "user", "content": text}


JACK = "Book a room for Jack on 2026-06-02 from 9 to 10."
LUCAS = "I am Lucas. Book me the cheapest flight from Oslo for my trip to the trade fair."
OFFICE = [findPerson, findFreeRooms, createBooking]
DESK = [findTravellers, listTrips, searchFlights, bookFlight]


def check_room(client, ask):
    answer, turns = run(client, ask, OFFICE, [user(JACK)])
    # Both look-ups are ready immediately and are sent together.
    assert sorted(name for name, _ in turns[0]) == ["findFreeRooms", "findPerson"], turns
    times = {"start": "2026-06-02T09:00", "end": "2026-06-02T10:00"}
    assert turns[1:] == [[("createBooking", {"person_id": "q-9", "room_id": "room-31", **times})]], turns
    assert "Attic" in answer and "Jack Horner" in answer, answer


def check_flight(client, ask):
    answer, turns = run(client, ask, DESK, [user(LUCAS)])
    assert turns == [
        [("findTravellers", {"name": "Lucas"})],
        [("listTrips", {"traveller_id": "w-5"})],
        [("searchFlights", {"origin": "Oslo", "destination": "Ghent", "date": "2026-09-14"})],
        [("bookFlight", {"flight_id": "fl-802", "traveller_id": "w-5"})],
    ], turns
    assert "fl-802" in answer and "Lucas Stern" in answer, answer


def check_missing_input(client, ask):
    messages = [user("Book a room for Jack on 2026-06-02 from 9.")]
    question, turns = run(client, ask, OFFICE, messages)
    assert (question, turns) == ("Until when?", []), (question, turns)
    answer, turns = run(client, ask, OFFICE, [*messages, user("Until 10:30.")])
    assert turns[1][0][1]["end"] == "2026-06-02T10:30" and "Jack Horner" in answer, (turns, answer)


def check_tools_of_the_proxy(client, ask):
    room = ask(client, model="office", messages=[user(JACK)])
    assert not room.tool_calls and "is booked for Jack Kilby" in room.content, room
    # A flight must not be booked twice.
    wish, flight = ("cheapest", "f-327") if ask is whole else ("earliest", "f-311")
    booked = ask(client, model="flights", messages=[user(LUCAS.replace("cheapest", wish))])
    assert not booked.tool_calls and f"Flight {flight} is booked for Lucas Nagel" in booked.content, booked


def main():
    client = openai.OpenAI(base_url=sys.argv[1] + "/v1", api_key="sk-client", max_retries=0, timeout=60)
    checks = [check for name, check in globals().items() if name.startswith("check_")]
    for ask in (whole, streamed):
        for check in checks:
            check(client, ask)
    print(f"openai {openai.__version__}: {len(checks)} planned errands, whole and streamed")


if __name__ == "__main__":
    main()
