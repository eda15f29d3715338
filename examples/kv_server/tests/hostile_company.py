"""Hostile clients that wait for others, listen to them, or fill the store. Run by hostile.py."""

import os
import resource
import select
import signal
import time

from hostile_support import (
    MIB, PROMPT, Failure, check, check_answers, check_resident, pumps, receive, receive_all, reset, send_until_blocked, wait_until)
from server_process import connect


def pumped(port, data, rounds):
    """Sends `data` so often, reading replies, and returns when a PING behind it all is answered."""
    with connect(port) as client:
        client.setblocking(False)
        left, tail = rounds, b""
        while not tail.endswith(b"+PONG\r\n"):
            readable, writable, _ = select.select([client], [client] if left >= 0 else [], [], PROMPT)
            check(readable or writable, "a client that reads is not served")
            if readable:
                chunk = client.recv(1 << 18)
                check(chunk, "a client that reads was closed")
                tail = (tail + chunk)[-7:]
            if writable:
                client.setblocking(True)
                client.sendall(data if left else b"PING\r\n")
                client.setblocking(False)
                left -= 1


def asks_right_after_waiting(start):
    """A client that was blocked asks again as soon as it is answered, or before: nothing that it sends is forgotten."""
    rounds = 400
    with start() as server, pumps(server.port, 2), connect(server.port) as blocked, connect(server.port) as other:
        for turn in range(rounds):
            blocked.sendall(b"BLPOP list 0\r\n")
            other.sendall(b"PING\r\nRPUSH list x\r\n")
            if turn % 2:
                blocked.sendall(b"PING\r\n")
            check(receive(other, 11) == b"+PONG\r\n:1\r\n", "not pushed")
            check(receive(blocked, 21) == b"*2\r\n$4\r\nlist\r\n$1\r\nx\r\n", "not handed")
            if turn % 2 == 0:
                blocked.sendall(b"PING\r\n")
            check(receive(blocked, 7) == b"+PONG\r\n", "what it sent behind is forgotten")
        return f"{rounds} times"


def deaf_subscribers(start):
    """Subscribers that never read cost no more than their bound, and are closed at it; others get every message."""
    with start() as server:
        before = server.resident_bytes()
        deaf = [connect(server.port) for _ in range(5)]
        for client in deaf:
            client.sendall(b"SUBSCRIBE news\r\n")
            check(receive(client, 4) == b"*3\r\n", "not subscribed")
        publish = b"*3\r\n$7\r\nPUBLISH\r\n$4\r\nnews\r\n$100000\r\n" + b"x" * 100000 + b"\r\n"
        most = 0
        for _ in range(60):
            pumped(server.port, publish, 10)
            most = max(most, server.resident_bytes())
            check_answers(server)
        check(most < before + 400 * MIB, f"{(most - before) / MIB:.0f} MiB for 5 subscribers that never read")
        with connect(server.port) as client:
            client.sendall(b"PUBLISH news x\r\n")
            check(receive(client, 4) == b":0\r\n", "subscribers that never read are not closed")
        wait_until(lambda: server.resident_bytes() < before + 64 * MIB, "memory was not given back")
        for client in deaf:
            client.close()
        return f"{(most - before) / MIB:.0f} MiB at most"


def many_deaf_subscribers(start):
    """All of them together are bounded too, below what each might have for itself."""
    with start("--maxmemory-clients", str(32 * MIB)) as server:
        before = server.resident_bytes()
        deaf = [connect(server.port) for _ in range(40)]
        for client in deaf:
            client.sendall(b"SUBSCRIBE news\r\n")
            check(receive(client, 4) == b"*3\r\n", "not subscribed")
        pumped(server.port, b"PUBLISH news " + b"x" * 60000 + b"\r\n", 400)
        check_resident(server, before + 128 * MIB, "40 subscribers that never read")
        check_answers(server)
        for client in deaf:
            client.close()


def endless_subscriptions(start):
    """Subscriptions, watched keys and queued requests are memory of clients, and bounded like it."""
    endless = {
        "subscriptions": (b"", b"SUBSCRIBE %d" + b"x" * 1000 + b"\r\n"),
        "watched keys": (b"", b"WATCH %d" + b"x" * 1000 + b"\r\n"),
        "queued requests": (b"MULTI\r\n", b"SET a%d " + b"x" * 10000 + b"\r\n"),
    }
    with start("--maxmemory-clients", str(32 * MIB)) as server:
        before = server.resident_bytes()
        for what, (opening, line) in endless.items():
            with connect(server.port) as client:
                client.sendall(opening)
                closed = False
                for i in range(0, 200_000, 100):
                    try:
                        client.sendall(b"".join(line % number for number in range(i, i + 100)))
                        closed = not client.recv(1 << 20)
                    except OSError:
                        closed = True
                    if closed:
                        break
                check(closed, f"{what} without end")
            check_answers(server)
            wait_until(lambda: server.resident_bytes() < before + 100 * MIB, f"{what}: memory was not given back")


def thousands_blocked(start):
    """Thousands of clients wait for one key: each is served in its turn; those that vanish leave nothing behind."""
    count = min(2000, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 200)
    with start() as server, connect(server.port) as pushing:
        before = server.resident_bytes()
        waiting = [connect(server.port) for _ in range(count)]
        for number, client in enumerate(waiting, 1):
            client.sendall(b"BLPOP queue 0\r\n")
            wait_until(lambda number=number: blocked_clients(pushing) == number, "it does not block", pause=0)
        each = (server.resident_bytes() - before) / count
        check(each < 65536, f"{each:.0f} bytes for each of {count} blocked clients")
        used = server.cpu_ns()
        time.sleep(1)
        check(server.cpu_ns() - used < 300_000_000, "blocked clients cost CPU time")
        for number in range(0, count, 2):
            reset(waiting[number]) if number % 4 else waiting[number].close()
        wait_until(lambda: information(server, b"blocked_clients") == count // 2, "the dead are not noticed")
        left = waiting[1::2]
        pushing.sendall(b"".join(b"RPUSH queue %04d\r\n" % number for number in range(len(left))))
        for number, client in enumerate(left):
            expected = b"*2\r\n$5\r\nqueue\r\n$4\r\n%04d\r\n" % number
            check(receive(client, len(expected)) == expected, "out of turn")
            client.close()
        check(information(server, b"blocked_clients") == 0, "somebody waits still")
        return f"{count} clients, {each:.0f} bytes each"


def blocked_clients(client):
    client.sendall(b"INFO clients\r\n")
    received = b""
    while b"\r\n\r\n" not in received:
        received += client.recv(4096)
    return int(received.partition(b"\r\nblocked_clients:")[2].partition(b"\r\n")[0])


def information(server, name):
    with connect(server.port, timeout=PROMPT) as client:
        client.sendall(b"INFO\r\nQUIT\r\n")
        for line in receive_all(client).split(b"\r\n"):
            if line.startswith(name + b":"):
                return int(line.partition(b":")[2])
    raise Failure(f"INFO does not tell {name}")


def killed_children(start):
    """Clients killed in mid-frame, blocked, or stopped by SIGSTOP: nothing pushed for the dead is lost."""
    with start() as server, connect(server.port) as other:
        def child(sent):
            reader, writer = os.pipe()
            pid = os.fork()
            if pid == 0:
                client = connect(server.port)
                client.sendall(sent)
                os.write(writer, b"x")
                time.sleep(60)
                os._exit(0)
            os.read(reader, 1)
            os.close(reader)
            os.close(writer)
            return pid

        blocked = [child(b"BLPOP queue 0\r\n") for _ in range(5)]
        half = [child(b"*3\r\n$5\r\nRPUSH\r\n$5\r\nqueue\r\n$10000\r\nabc") for _ in range(5)]
        stopped = child(b"SUBSCRIBE news\r\n")
        wait_until(lambda: information(server, b"blocked_clients") == 5, "not all are blocked")
        os.kill(stopped, signal.SIGSTOP)
        for pid in blocked + half:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        # At once: the server may not have noticed any of it.
        other.sendall(b"RPUSH queue a b c d e\r\nLRANGE queue 0 -1\r\n")
        expected = b":5\r\n*5\r\n" + b"".join(b"$1\r\n%c\r\n" % item for item in b"abcde")
        check(receive(other, len(expected)) == expected, "items were given to the dead")
        pumped(server.port, b"PUBLISH news " + b"x" * 60000 + b"\r\n", 1000)
        check_answers(server)
        os.kill(stopped, signal.SIGKILL)
        os.waitpid(stopped, 0)
        wait_until(lambda: information(server, b"blocked_clients") == 0, "the dead wait still")


def requests_behind_a_blocked_one(start):
    """A blocked client that goes on sending is bounded by what a request may have."""
    with start("--maxmemory-clients", str(32 * MIB)) as server:
        before = server.resident_bytes()
        for _ in range(3):
            with connect(server.port) as client:
                client.sendall(b"BLPOP nothing 0\r\n")
                send_until_blocked(client, b"SET a b\r\n" * 100_000, 200 * MIB)
                check_answers(server)
        check_resident(server, before + 96 * MIB, "after 3 blocked clients with endless requests")
        wait_until(lambda: information(server, b"blocked_clients") == 0, "a closed client waits still")


def a_million_elements_are_destroyed(start):
    """Deleting a list and all keys gives the memory back while others are served."""
    with start() as server, connect(server.port) as client:
        for begin in range(0, 500_000, 20_000):
            client.sendall(b"".join(b"SET key:%d %040d\r\nRPUSH list %040d\r\n" % (i, i, i)
                                    for i in range(begin, begin + 20_000)))
            end = b":%d\r\n" % (begin + 20_000)
            tail = b""
            while not tail.endswith(end):
                tail = (tail + client.recv(1 << 20))[-100:]
        used = information(server, b"used_memory")
        client.sendall(b"DEL list\r\nFLUSHALL\r\nDBSIZE\r\n")
        check(receive(client, 13) == b":1\r\n+OK\r\n:0\r\n", "not deleted")
        wait_until(lambda: information(server, b"used_memory") < used // 100, "removed values are not destroyed")


def full_of_every_type(start):
    """Over --maxmemory every command that adds is refused, whatever the type; reading and deleting go on."""
    error = b"-OOM command not allowed when used memory > 'maxmemory'.\r\n"
    adding = {b"l": b"RPUSH l %s", b"s": b"SADD s %s", b"h": b"HSET h %s v", b"z": b"ZADD z 1 %s", b"k": b"SET k%s x"}
    for key, line in adding.items():
        with start("--maxmemory", str(4 * MIB)) as server, connect(server.port) as client:
            before = server.resident_bytes()
            reply = b""
            for number in range(0, 1_000_000):
                client.sendall(line % (b"%06d" % number + b"x" * 994) + b"\r\n")
                reply = client.recv(1000)
                if reply.startswith(b"-"):
                    break
            check(reply == error, f"{line!r} got {reply!r}")
            check_resident(server, before + 16 * MIB, f"{line!r} within 4 MiB")
            client.sendall(b"EXISTS %s\r\nFLUSHALL\r\n" % key)
            check(receive(client, 9)[1:] in (b"1\r\n+OK\r\n", b"0\r\n+OK\r\n"), "reading and deleting are refused")
            wait_until(lambda: information(server, b"used_memory") < MIB, "deleted values count still")
            client.sendall(line % b"x" + b"\r\n")
            check(not client.recv(100).startswith(b"-"), "still refused after everything was deleted")


SCENARIOS = [asks_right_after_waiting, deaf_subscribers, many_deaf_subscribers, endless_subscriptions,
             thousands_blocked, killed_children, requests_behind_a_blocked_one,
             a_million_elements_are_destroyed, full_of_every_type]
