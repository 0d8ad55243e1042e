"""A small API with FastAPI as its tutorial shows it: no `servers`, generated operation ids. Prints its URL."""

import socket

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

app = FastAPI(title="Rooms")
ROOMS = [{"id": "r-1", "name": "Fjord", "capacity": 8}, {"id": "r-2", "name": "Brook", "capacity": 2}]


class Booking(BaseModel):
    room: str
    hours: int


@app.get("/rooms")
def list_rooms(capacity: int = 1):
    """Lists the rooms that seat this many people."""
    return {"rooms": [room for room in ROOMS if room["capacity"] >= capacity]}


@app.get("/rooms/{room_id}")
def get_room(room_id: str):
    """Returns one room."""
    return next(room for room in ROOMS if room["id"] == room_id)


@app.post("/bookings", status_code=201)
def create_booking(booking: Booking):
    """Books a room."""
    return {"id": "b-1", "room": booking.room, "hours": booking.hours}


listener = socket.create_server(("127.0.0.1", 0))
print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])
