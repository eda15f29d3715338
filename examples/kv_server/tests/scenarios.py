"""Several clients at a time, played against kv_server and redis-server: blocking, messages, transactions.

Used by against_redis.py. A scenario is a line of steps, divided by ";", each of a client with a name of one letter:

    a COMMAND   asks and reads the reply          a! COMMAND   asks
    a~ COMMAND  asks, and must be blocked then    a?           reads a reply
    a-          must not have got a reply         a.close  a.reset  a.half_close
    =2          waits until two clients are blocked
"""

import contextlib
import re
import select
import socket

from server_process import Failure, connect, information, reset, wait_until


class ReplyReader:
    """Reads RESP2 from bytes. An error is told from a simple string by its type byte, which is kept."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def one(self):
        end = self.data.index(b"\r\n", self.at)
        line, self.at = self.data[self.at:end], end + 2
        kind, rest = line[:1], line[1:]
        if kind == b"*":
            return None if rest == b"-1" else [self.one() for _ in range(int(rest))]
        if kind == b"$":
            if rest == b"-1":
                return None
            self.at += int(rest) + 2
            if self.at > len(self.data):
                raise ValueError("incomplete")
            return self.data[self.at - int(rest) - 2:self.at - 2]
        return line

    def all(self):
        found = []
        while self.at < len(self.data):
            found.append(self.one())
        return found


class Client:
    def __init__(self, port):
        self.socket = connect(port, timeout=10)
        self.received = b""

    def send(self, *lines):
        self.socket.sendall(b"".join(line.encode() + b"\r\n" for line in lines))

    def reply(self):
        """The next reply; b"(closed)" at the end."""
        while True:
            reader = ReplyReader(self.received)
            with contextlib.suppress(ValueError):
                found = reader.one()
                self.received = self.received[reader.at:]
                return found
            chunk = b""
            with contextlib.suppress(ConnectionResetError):
                chunk = self.socket.recv(1 << 16)
            if not chunk:
                return b"(closed)"
            self.received += chunk

    def ask(self, line):
        self.send(line)
        return self.reply()

    def is_silent(self, seconds=0.05):
        return not self.received and not select.select([self.socket], [], [], seconds)[0]

    def close(self):
        self.socket.close()

    def reset(self):
        reset(self.socket)

    def half_close(self):
        self.socket.shutdown(socket.SHUT_WR)


LINES = r"""
a~ BLPOP l 0 ; b~ BLPOP l 0 ; c~ BLPOP l 0 ; d~ BLPOP l 0 ; p RPUSH l a b c ; a? ; b? ; c? ; d- ; p LPUSH l d e ; d? ; p LRANGE l 0 -1
a~ BLPOP a b c 0 ; b~ BLPOP c b 0 ; p RPUSH b 1 ; a? ; p RPUSH c 2 ; b? ; a LRANGE b 0 -1 ; p RPUSH a 3 ; a BLPOP a b c 0
a~ BLPOP a b 0 ; p MULTI ; p RPUSH b 1 2 ; p RPUSH a 3 ; p LPOP b ; p EXEC ; a? ; p LRANGE a 0 -1 ; p LRANGE b 0 -1
a~ BLPOP l 0 ; p MULTI ; p RPUSH l 1 ; p DEL l ; p EXEC ; p MULTI ; p RPUSH l 1 ; p DEL l ; p SET l x ; p EXEC ; a- ; p DEL l ; p RPUSH l 2 ; a?
a~ BLPOP k 0 ; p SADD k a ; a- ; p DEL k ; p SET k v ; a- ; p RPUSH k v ; p DEL k ; p RPUSH k v ; a?
a! BLPOP a b 0.05 ; a! PING ; a! BLPOP a 0.05 ; a! PING ; a? ; a? ; a? ; a? ; =0 ; p RPUSH a 1 ; a LRANGE a 0 -1
a~ BLPOP a 0 ; a! SET x 1 ; a! BLPOP b 0 ; a! GET x ; a- ; p GET x ; p RPUSH a 1 ; a? ; a? ; =1 ; a- ; p RPUSH b 2 ; a? ; a?
a! PING\r\nBLPOP a 0\r\nPING ; a? ; =1 ; a- ; p RPUSH a 1 ; a? ; a?
a~ BLPOP l m 0 ; b~ BLPOP l m 0 ; c~ BLPOP l m 0 ; a.close ; =2 ; p RPUSH l a ; b? ; c.close ; =0 ; p RPUSH l b ; p LRANGE l 0 -1 ; p RPUSH m c
a~ BLPOP l m 0 ; b~ BLPOP l m 0 ; c~ BLPOP l m 0 ; a.reset ; =2 ; p RPUSH l a ; b? ; c.reset ; =0 ; p RPUSH l b ; p LRANGE l 0 -1 ; p RPUSH m c
a~ BLPOP l m 0 ; b~ BLPOP l m 0 ; c~ BLPOP l m 0 ; a.half_close ; =2 ; p RPUSH l a ; b? ; c.half_close ; =0 ; p RPUSH l b ; p LRANGE l 0 -1
a SUBSCRIBE a ; b SUBSCRIBE a b ; b? ; p PUBLISH a 1 ; p PUBLISH b 2 ; p PUBLISH bb 3 ; p PUBLISH a 4 ; a? ; a? ; b? ; b? ; b? ; a- ; a PING ; a UNSUBSCRIBE ; p PUBLISH a 5 ; b? ; a- ; a PING
a~ BLPOP l 0 ; a! SUBSCRIBE a ; a! PING ; p PUBLISH a early ; p RPUSH l 1 ; a? ; a? ; a? ; p PUBLISH a late ; a? ; a UNSUBSCRIBE ; a PING
a SUBSCRIBE a ; b MULTI ; b PUBLISH a 1 ; b SUBSCRIBE a ; b PUBLISH a 2 ; b EXEC ; b? ; a? ; a? ; b PING
a SET a 1 ; a WATCH a b ; p SET a 2 ; a MULTI ; a SET a 3 ; a EXEC ; a GET a ; a WATCH a b ; a MULTI ; a INCR a ; p GET a ; a EXEC ; p GET a ; a WATCH b ; p LPUSH b x ; a MULTI ; a PING ; a EXEC
"""


def messages_in_order(client):
    listening, sending = client("SUBSCRIBE a", "SUBSCRIBE b"), client()
    sending.send(*[f"PUBLISH {'ab'[i % 2]} {i}" for i in range(2000)])
    return [[sending.reply() for _ in range(2000)], [listening.reply() for _ in range(2000)]]


def transactions_do_not_interleave(client):
    clients = [client() for _ in range(5)]
    for each in clients:
        each.send("MULTI", *["INCR n"] * 200, "EXEC")
    results = [[each.reply() for _ in range(202)][-1] for each in clients]
    return [[int(number[1:]) - int(numbers[0][1:]) for number in numbers] for numbers in results] + [clients[0].ask("GET n")]


def much_is_sorted(client):
    """More than SORT does before others have their turn, of each type, with other requests behind it."""
    one, other = client(), client()
    numbers = [number * 7919 % 4000 - 1000 for number in range(4000)]
    for at in range(0, 4000, 1000):
        part = numbers[at:at + 1000]
        for command in ("RPUSH list ", "SADD set "):
            one.ask(command + " ".join(map(str, part)))
        one.ask("ZADD sorted " + " ".join(f"{-number} {number}" for number in part))
    one.ask("RPUSH list " + " ".join(["x" * 3000 + str(number) for number in range(20)]))
    said = [one.ask("SORT list"), one.ask("SORT list LIMIT 3990 20")]
    for line in ("SORT list ALPHA", "SORT list ALPHA DESC LIMIT 100 3000", "SORT set", "SORT sorted DESC"):
        one.send(line, "PING", "SORT set LIMIT 4000 1")
        said += [one.reply(), one.reply(), other.ask("PING"), one.reply()]
    one.send("MULTI", "SORT set LIMIT 0 2000", "PING", "EXEC")
    return [*said, *(one.reply() for _ in range(4))]


def take(step, client, blocked):
    """The result of one step of a line; None: it has none."""
    name, how, rest = re.fullmatch(r"([a-z]?)([=~!?.-]?) ?(.*)", step).groups()
    if how == "=":
        wait_until(lambda: blocked() == int(rest), f"{blocked()} blocked clients instead of {rest}", pause=0.005)
    elif how == "~":
        count = blocked()
        client(name).send(rest)
        wait_until(lambda: blocked() == count + 1, f"{rest} does not block", pause=0.005)
    elif how == "!":
        client(name).send(rest.replace(r"\r\n", "\r\n"))
    elif how == ".":
        getattr(client(name), rest)()
    else:
        return client(name).reply() if how == "?" else client(name).is_silent() if how == "-" else client(name).ask(rest)
    return None


def play(scenario, server):
    """What the clients are told by that server; a text: what went wrong."""
    clients = {}

    def client(*lines):
        """A new client that has asked so and has got its replies."""
        made = clients[len(clients)] = Client(server.port)
        for line in lines:
            made.ask(line)
        return made

    def named(name):
        return clients.get(name) or clients.setdefault(name, Client(server.port))

    def blocked():
        return information(server, "blocked_clients")

    try:
        client("FLUSHALL")
        if callable(scenario):
            return scenario(client)
        return [take(step, named, blocked) for step in scenario.split(" ; ")]
    except (OSError, ValueError, TypeError, Failure) as error:
        return f"{type(error).__name__}: {error}"
    finally:
        for each in clients.values():
            each.close()
        wait_until(lambda: blocked() == 0, "a client that has gone is blocked")


def compare(ours, theirs):
    scenarios = [*LINES.strip().splitlines(), messages_in_order, transactions_do_not_interleave, much_is_sorted]
    failures = 0
    for scenario in scenarios:
        expected, got = play(scenario, theirs), play(scenario, ours)
        if got != expected or isinstance(got, str):
            failures += 1
            print(f"DIFFERENT {scenario}\n  redis  {expected!r}\n  kv     {got!r}")
    return len(scenarios), failures
