"""How long one client's largest commands keep another waiting, on a server of one worker: the rows `beside` a command.

The other client sends one GET after the other from a process of its own. Its longest wait counts.
"""

import multiprocessing
import time

from load import ServerError, connect

SIZE = 1_000_000
LARGEST = 4096  # kv_server's --most-elements
MEGABYTES = 15  # and --client-query-buffer-limit, about

# {command: (fills, what is sent)}. A fill is a command and its number of elements, "all" or "some": as many as a
# command may read; of BLPOP, clients that each wait for as many lists. In what is sent, MANY stands for as many numbers as fit.
COMMANDS = {
    "LRANGE": (("RPUSH list all",), f"LRANGE list 0 {LARGEST - 1}"),
    "SORT": (("RPUSH list quarter",), "SORT list LIMIT 0 1"),
    "SORT, whole reply": (("RPUSH list quarter",), "SORT list"),
    "SMEMBERS": (("SADD set some",), "SMEMBERS set"),
    "SUNION": (("SADD set half-some", "SADD other half-some"), "SUNION set other"),
    "SUNIONSTORE": (("SADD set half-some", "SADD other half-some"), "SUNIONSTORE union set other"),
    "SINTER": (("SADD set half-some", "SADD other all"), "SINTER set other"),
    "SDIFFSTORE": (("SADD set half-some", "SADD other all"), "SDIFFSTORE result set other"),
    "RPUSH": (("RPUSH list all",), "RPUSH list MANY"),
    "SADD": (("SADD set all",), "SADD set MANY"),
    "SREM": (("SADD set all",), "SREM set MANY"),
    "HSET": (("HSET hash all",), "HSET hash MANY"),
    "ZADD": (("ZADD sorted all",), "ZADD sorted MANY"),
    "RPUSH that serves 50 BLPOP": (("BLPOP 50",), "RPUSH 0 MANY"),
    "MSET": (("MSET all",), "MSET MANY"),
    "DEL of many": (("MSET all",), "DEL MANY"),
    "SUBSCRIBE, QUIT": ((), "SUBSCRIBE MANY"),
    "WATCH": (("MSET all",), "WATCH MANY"),
    "EXEC of INCR": ((), "\r\n".join(["MULTI", *["INCR n"] * (LARGEST // 2), "EXEC"])),
    "EXEC of ZADD and SORT": (("ZADD sorted all", "RPUSH list some"), "\r\n".join(
        ["MULTI", *[f"ZADD sorted {n} {n * 7919 % SIZE}x" for n in range(LARGEST // 4 - 2)], "SORT list", "EXEC"])),
    "SET of 15 MB": ((), "SET k " + "x" * 1000),
    "GET of 15 MB": (("SET k",), "GET k"),
    "DEL of a list": (("RPUSH list all",), "DEL list"),
    "DEL of a set": (("SADD set all",), "DEL set"),
    "DEL of a hash": (("HSET hash all",), "DEL hash"),
    "DEL of a sorted set": (("ZADD sorted all",), "DEL sorted"),
    "SET over a set": (("SADD set all",), "SET set x"),
    "FLUSHALL": (("MSET all", "SADD set all", "RPUSH list all"), "FLUSHALL"),
}


def encode(words):
    """A request as an array."""
    return f"*{len(words)}\r\n" + "".join(f"${len(word)}\r\n{word}\r\n" for word in words)


def request(sent, size):
    """What is sent for a command of the table."""
    if sent.startswith("SET k"):
        return encode(["SET", "k", "x" * (MEGABYTES * size)])
    words = sent.split(" ")
    if words[-1] != "MANY":
        return sent + "\r\n"
    words.pop()
    most = min(LARGEST, size) - len(words)
    pairs = words[0] in ("HSET", "ZADD", "MSET")
    return encode(words + [str(number * 7919 % SIZE) for number in range(most - (most % 2 if pairs else 0))])


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
        self.blocked = []

    def ask(self, text, marker="PING the-end-of-it"):
        """Sends commands and a marker, and receives until the marker comes back."""
        self.socket.sendall(text.encode() + marker.encode() + b"\r\n")
        tail = b""
        while not tail.endswith(b"\r\n$13\r\nthe-end-of-it\r\n"):
            chunk = self.socket.recv(1 << 20)
            if not chunk:
                raise ServerError("the server closed the connection")
            tail = tail[-100:] + chunk
            if b"-ERR" in chunk:
                raise ServerError(f"{text[:40]!r} was refused: {chunk[:200]!r}")

    def fill(self, what, size):
        if what.startswith("SET"):
            self.ask(request(what, size))
            return
        *words, share = what.split()
        some = min(LARGEST, size)
        if words == ["BLPOP"]:
            for _ in range(int(share)):
                self.blocked.append(connect(self.socket.getpeername()[1]))
                self.blocked[-1].sendall(encode(["BLPOP", *map(str, range(some - 2)), "0"]).encode())
            return
        count = {"all": size, "quarter": size // 4, "some": some, "half-some": some // 2}[share]
        pairs = words[0] in ("HSET", "ZADD", "MSET")
        for first in range(0, count, 2000):
            numbers = range(first, min(first + 2000, count))
            self.ask(encode([*words, *(str(number) for number in numbers for _ in range(2 if pairs else 1))]))


def longest_waits(port, size=SIZE):
    """Yields each command with the longest wait beside it, in microseconds; first, beside nothing."""
    for name, (fills, sent) in {"nothing": ((), "PING"), **COMMANDS}.items():
        filler = Filler(port)
        filler.ask("FLUSHALL\r\n")
        for what in fills:
            filler.fill(what, size)
        sent = request(sent, size)
        time.sleep(size / SIZE)  # what was removed before is destroyed
        told, until = multiprocessing.Pipe()
        longest, said = multiprocessing.Pipe()
        pinging = multiprocessing.Process(target=ping, args=(port, until, said))
        pinging.start()
        longest.recv()
        filler.ask(sent)
        filler.socket.close()  # after SUBSCRIBE and WATCH that takes longer, too
        time.sleep(size / SIZE)
        told.send("end")
        yield name, longest.recv()
        pinging.join()
