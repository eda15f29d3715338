"""Several clients at a time, played against kv_server and redis-server: blocking, messages, transactions.

Used by against_redis.py. A scenario is a function of a Stage; what it returns must be the same for both.
"""

import contextlib
import socket
import struct
import time

from server_process import connect


class ReplyReader:
    """Reads RESP2 from bytes. An error is told from a simple string by its type byte, which is kept."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def line(self):
        end = self.data.index(b"\r\n", self.at)
        found, self.at = self.data[self.at:end], end + 2
        return found

    def one(self):
        line = self.line()
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
            try:
                chunk = self.socket.recv(1 << 16)
            except ConnectionResetError:
                chunk = b""
            if not chunk:
                return b"(closed)"
            self.received += chunk

    def ask(self, line):
        self.send(line)
        return self.reply()

    def is_silent(self, seconds=0.05):
        self.socket.settimeout(seconds)
        try:
            return not self.received and self.socket.recv(1, socket.MSG_PEEK) == b"(nothing)"
        except TimeoutError:
            return True
        finally:
            self.socket.settimeout(10)

    def close(self):
        self.socket.close()

    def reset(self):
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()


class Stage:
    """One server and the clients of one scenario."""

    def __init__(self, port):
        self.port = port
        self.clients = []

    def client(self, *lines):
        """A new client that has said so and has got its replies."""
        self.clients.append(Client(self.port))
        for line in lines:
            self.clients[-1].ask(line)
        return self.clients[-1]

    def blocked(self, line):
        """A new client that waits."""
        waiting = self.client()
        count = self.blocked_clients()
        waiting.send(line)
        self.wait_until_blocked(count + 1)
        return waiting

    def blocked_clients(self):
        with contextlib.closing(Client(self.port)) as asking:
            for line in asking.ask("INFO clients").split(b"\r\n"):
                if line.startswith(b"blocked_clients:"):
                    return int(line.partition(b":")[2])
        raise ValueError("INFO clients tells nothing of blocked clients")

    def wait_until_blocked(self, count):
        deadline = time.monotonic() + 10
        while self.blocked_clients() != count:
            if time.monotonic() > deadline:
                raise ValueError(f"{self.blocked_clients()} blocked clients instead of {count}")
            time.sleep(0.005)


def waiters_are_served_in_order(stage):
    waiting = [stage.blocked("BLPOP l 0") for _ in range(4)]
    pushing = stage.client()
    return [pushing.ask("RPUSH l a b c"), [each.reply() for each in waiting[:3]], waiting[3].is_silent(),
            pushing.ask("LPUSH l d e"), waiting[3].reply(), pushing.ask("LRANGE l 0 -1")]


def many_keys(stage):
    first, second = stage.blocked("BLPOP a b c 0"), stage.blocked("BLPOP c b 0")
    pushing = stage.client()
    return [pushing.ask("RPUSH b 1"), first.reply(), pushing.ask("RPUSH c 2"), second.reply(),
            first.ask("LRANGE b 0 -1"), pushing.ask("RPUSH a 3"), first.ask("BLPOP a b c 0")]


def a_transaction_serves_at_its_end(stage):
    waiting = stage.blocked("BLPOP a b 0")
    pushing = stage.client()
    pushing.send("MULTI", "RPUSH b 1 2", "RPUSH a 3", "LPOP b", "EXEC")
    return [[pushing.reply() for _ in range(5)], waiting.reply(), pushing.ask("LRANGE a 0 -1"),
            pushing.ask("LRANGE b 0 -1")]


def a_list_that_is_gone_again_serves_nobody(stage):
    waiting = stage.blocked("BLPOP l 0")
    pushing = stage.client()
    pushing.send("MULTI", "RPUSH l 1", "DEL l", "EXEC", "MULTI", "RPUSH l 1", "DEL l", "SET l x", "EXEC")
    return [[pushing.reply() for _ in range(9)], waiting.is_silent(), pushing.ask("DEL l"),
            pushing.ask("RPUSH l 2"), waiting.reply()]


def other_types_wake_nobody(stage):
    waiting = stage.blocked("BLPOP k 0")
    other = stage.client()
    return [other.ask("SADD k a"), waiting.is_silent(), other.ask("DEL k"), other.ask("SET k v"), waiting.is_silent(),
            other.ask("RPUSH k v"), other.ask("DEL k"), other.ask("RPUSH k v"), waiting.reply()]


def time_is_over(stage):
    waiting = stage.client()
    waiting.send("BLPOP a b 0.05", "PING", "BLPOP a 0.05", "PING")
    replies = [waiting.reply() for _ in range(4)]
    stage.wait_until_blocked(0)
    return [replies, stage.client().ask("RPUSH a 1"), waiting.ask("LRANGE a 0 -1")]


def requests_behind_a_blocked_one_wait(stage):
    waiting = stage.blocked("BLPOP a 0")
    waiting.send("SET x 1", "BLPOP b 0", "GET x")
    other = stage.client()
    found = [waiting.is_silent(), other.ask("GET x"), other.ask("RPUSH a 1"), waiting.reply(), waiting.reply()]
    stage.wait_until_blocked(1)
    return found + [waiting.is_silent(), other.ask("RPUSH b 2"), waiting.reply(), waiting.reply()]


def in_one_piece(stage):
    waiting = stage.client()
    waiting.send("PING", "BLPOP a 0", "PING")
    first = waiting.reply()
    stage.wait_until_blocked(1)
    return [first, waiting.is_silent(), stage.client().ask("RPUSH a 1"), waiting.reply(), waiting.reply()]


def gone(stage, leave):
    first, second, third = [stage.blocked("BLPOP l m 0") for _ in range(3)]
    leave(first)
    stage.wait_until_blocked(2)
    pushing = stage.client()
    found = [pushing.ask("RPUSH l a"), second.reply()]
    leave(third)
    stage.wait_until_blocked(0)
    return found + [pushing.ask("RPUSH l b"), pushing.ask("LRANGE l 0 -1"), pushing.ask("RPUSH m c"),
                    pushing.ask("LRANGE m 0 -1")]


def closed_clients_do_not_wait(stage):
    return gone(stage, Client.close)


def reset_clients_do_not_wait(stage):
    return gone(stage, Client.reset)


def half_closed_clients_do_not_wait(stage):
    return gone(stage, lambda client: client.socket.shutdown(socket.SHUT_WR))


def messages(stage):
    one, other = stage.client("SUBSCRIBE a"), stage.client("SUBSCRIBE a b")
    sending = stage.client()
    other.reply()
    found = [sending.ask("PUBLISH a 1"), sending.ask("PUBLISH b 2"), sending.ask("PUBLISH bb 3"), sending.ask("PUBLISH c 4"),
             sending.ask('PUBLISH a ""'), sending.ask('PUBLISH "a" "\\r\\n\\x00"')]
    return found + [[one.reply() for _ in range(3)], [other.reply() for _ in range(4)], one.is_silent(), one.ask("PING"), one.ask("UNSUBSCRIBE"),
                    sending.ask("PUBLISH a 5"), other.reply(), one.is_silent(), one.ask("PING")]


def messages_in_order(stage):
    listening = stage.client("SUBSCRIBE a", "SUBSCRIBE b")
    sending = stage.client()
    sending.send(*[f"PUBLISH {'ab'[i % 2]} {i}" for i in range(2000)])
    return [[sending.reply() for _ in range(2000)], [listening.reply() for _ in range(2000)]]


def a_blocked_client_may_subscribe_next(stage):
    waiting = stage.blocked("BLPOP l 0")
    waiting.send("SUBSCRIBE a", "PING")
    other = stage.client()
    found = [other.ask("PUBLISH a early"), other.ask("RPUSH l 1"), waiting.reply(), waiting.reply(), waiting.reply()]
    return found + [other.ask("PUBLISH a late"), waiting.reply(), waiting.ask("UNSUBSCRIBE"), waiting.ask("PING")]


def messages_within_a_transaction(stage):
    listening = stage.client("SUBSCRIBE a")
    both = stage.client()
    both.send("MULTI", "PUBLISH a 1", "SUBSCRIBE a", "PUBLISH a 2", "EXEC")
    replies = [both.reply() for _ in range(4)]
    raw = b""
    while not raw.endswith(b":2\r\n"):
        raw += both.received or both.socket.recv(1000)
        both.received = b""
    return [replies, raw, listening.reply(), listening.reply(), both.ask("PING")]


def watched_by_another(stage):
    watching, other = stage.client("SET a 1", "WATCH a b"), stage.client()
    found = [other.ask("SET a 2"), watching.ask("MULTI"), watching.ask("SET a 3"), watching.ask("EXEC"), watching.ask("GET a")]
    watching.ask("WATCH a b")
    found += [watching.ask("MULTI"), watching.ask("INCR a"), other.ask("GET a"), watching.ask("EXEC"), other.ask("GET a")]
    watching.ask("WATCH b")
    found += [other.ask("LPUSH b x"), watching.ask("MULTI"), watching.ask("PING"), watching.ask("EXEC")]
    return found


def transactions_do_not_interleave(stage):
    clients = [stage.client() for _ in range(5)]
    for each in clients:
        each.send("MULTI", *["INCR n"] * 200, "EXEC")
    results = []
    for each in clients:
        numbers = [int(number[1:]) for number in [each.reply() for _ in range(202)][-1]]
        results.append(numbers == list(range(numbers[0], numbers[0] + 200)))
    return results + [clients[0].ask("GET n")]


def much_is_sorted(stage):
    """More than SORT does before others have their turn, of each type, with other requests behind it."""
    client, other = stage.client(), stage.client()
    numbers = [number * 7919 % 5000 - 1000 for number in range(5000)]
    for at in range(0, 5000, 1000):
        part = numbers[at:at + 1000]
        client.ask("RPUSH list " + " ".join(map(str, part)))
        client.ask("SADD set " + " ".join(map(str, part)))
        client.ask("ZADD sorted " + " ".join(f"{-number} {number}" for number in part))
    client.ask("RPUSH list " + " ".join(["x" * 3000 + str(number) for number in range(20)]))
    said = [client.ask("SORT list"), client.ask("SORT list LIMIT 4990 20")]
    for line in ("SORT list ALPHA", "SORT list ALPHA DESC LIMIT 100 3000", "SORT set", "SORT sorted DESC",
                 "SORT set DESC STORE stored", "LRANGE stored 0 -1"):
        client.send(line, "PING", "SORT set LIMIT 5000 1")
        said += [client.reply(), client.reply(), other.ask("DEL nothing"), client.reply()]
    client.send("MULTI", "SORT set LIMIT 0 2000", "SORT sorted STORE sorted", "EXEC")
    return [*said, *(client.reply() for _ in range(4)), client.ask("LRANGE sorted 0 1999")]


def what_is_sorted_serves(stage):
    waiting = [stage.blocked("BLPOP l 0"), stage.blocked("BLPOP l 0")]
    client = stage.client("SADD s 3 1 2")
    said = [client.ask("SORT s STORE l"), *(each.reply() for each in waiting), client.ask("LRANGE l 0 -1")]
    waiting = stage.blocked("BLPOP m 0")
    client.send("MULTI", "SORT s STORE m", "LRANGE m 0 -1", "EXEC", "LRANGE m 1 -1")
    return said + [client.reply() for _ in range(5)] + [waiting.reply()]


SCENARIOS = [each for name, each in sorted(globals().items())
             if callable(each) and getattr(each, "__module__", "") == __name__ and not isinstance(each, type) and
             name not in ("connect", "gone", "compare", "play")]


def play(scenario, port):
    stage = Stage(port)
    try:
        stage.client("FLUSHALL")
        return scenario(stage)
    except (OSError, ValueError, TypeError) as error:
        return f"{type(error).__name__}: {error}"
    finally:
        for each in stage.clients:
            each.close()
        stage.wait_until_blocked(0)


def compare(ours, theirs):
    failures = 0
    for scenario in SCENARIOS:
        expected, got = play(scenario, theirs.port), play(scenario, ours.port)
        if got != expected or isinstance(got, str):
            failures += 1
            print(f"DIFFERENT {scenario.__name__}\n  redis  {expected!r}\n  kv     {got!r}")
    return len(SCENARIOS), failures
