"""How long one client's long commands keep another waiting, on a server of one worker: the rows `beside` a command.

The other client sends a GET after the other from a process of its own; what counts is its longest wait.
"""

import multiprocessing
import time

from load import ServerError, connect

SIZE = 1_000_000
PORTION = 10_000

# What each of them needs is filled in before it; {command: (fills, what is sent)}. MANY is one element for each.
COMMANDS = {
    "LRANGE": (("RPUSH list",), "LRANGE list 0 -1"),
    "SORT": (("RPUSH list",), "SORT list LIMIT 0 1"),
    "SMEMBERS": (("SADD set",), "SMEMBERS set"),
    "SUNIONSTORE": (("SADD set", "SADD other"), "SUNIONSTORE union set other"),
    "SINTER": (("SADD set", "SADD other"), "SINTER set other"),
    "RPUSH of many": ((), ("RPUSH", "list", "MANY")),
    "SADD of many": ((), ("SADD", "set", "MANY")),
    "MSET of many": ((), ("MSET", "MANY", "MANY")),
    "DEL of many": (("MSET",), ("DEL", "MANY")),
    "DEL of a list": (("RPUSH list",), "DEL list"),
    "DEL of a set": (("SADD set",), "DEL set"),
    "FLUSHALL": (("MSET", "SADD set", "RPUSH list"), "FLUSHALL"),
    "EXEC": (("RPUSH list",), "\r\n".join(["MULTI", *["INCR n"] * (SIZE // 10), "SORT list LIMIT 0 1", "EXEC"])),
}


def encode(words, size):
    """A request as an array. MANY stands for so many numbers; twice, for as many pairs of them."""
    found = [word for word in words if word != "MANY"]
    for number in range(size) if "MANY" in words else ():
        found += [str(number)] * words.count("MANY")
    return f"*{len(found)}\r\n" + "\r\n".join(f"${len(word)}\r\n{word}" for word in found)


def ping(port, until, longest):
    """Until the pipe has something; sends the longest wait in microseconds."""
    with connect(port) as client:
        worst = 0.0
        longest.send("ready")
        while not until.poll():
            began = time.perf_counter()
            client.sendall(b"GET other\r\n")
            client.recv(100)
            worst = max(worst, time.perf_counter() - began)
        longest.send(worst * 1e6)


class Filler:
    def __init__(self, port):
        self.socket = connect(port, timeout=300)

    def ask(self, text):
        """Sends commands and a marker, and receives until the marker comes back."""
        self.socket.sendall(text.encode() + b"\r\nECHO the-end-of-it\r\n")
        tail = b""
        while not tail.endswith(b"\r\n$13\r\nthe-end-of-it\r\n"):
            chunk = self.socket.recv(1 << 20)
            if not chunk:
                raise ServerError("the server closed the connection")
            tail = tail[-100:] + chunk

    def fill(self, what, size):
        for first in range(0, size, PORTION):
            numbers = range(first, min(first + PORTION, size))
            words = [str(number) for number in numbers for _ in range(2 if what == "MSET" else 1)]
            self.ask(encode([*what.split(), *words], 0))


def longest_waits(port, size=SIZE):
    """Yields each command with the longest wait beside it, in microseconds; first, beside nothing."""
    filler = Filler(port)
    for name, (fills, sent) in {"nothing": ((), "PING"), **COMMANDS}.items():
        sent = sent if isinstance(sent, str) else encode(sent, size)
        filler.ask("FLUSHALL")
        for what in fills:
            filler.fill(what, size)
        time.sleep(size / SIZE)  # what was removed before is destroyed
        told, until = multiprocessing.Pipe()
        longest, said = multiprocessing.Pipe()
        pinging = multiprocessing.Process(target=ping, args=(port, until, said))
        pinging.start()
        longest.recv()
        filler.ask(sent)
        time.sleep(size / SIZE)
        told.send("end")
        yield name, longest.recv()
        pinging.join()
