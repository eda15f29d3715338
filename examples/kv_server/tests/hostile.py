#!/usr/bin/env python3
"""Drives kv_server as hostile and careless clients do; it must stay up, answer others, and stay small.

usage: hostile.py KV_SERVER [SCENARIO...]

Asserts no time beyond generous time-outs.
"""

import contextlib
import os
import resource
import select
import signal
import socket
import struct
import sys
import time

from server_process import ServerError, ServerProcess, connect, kv_server_command

MIB = 1 << 20
PROMPT = 10  # seconds; an answer later than this counts as a stall


class Failure(Exception):
    pass


def check(condition, text):
    if not condition:
        raise Failure(text)


def receive(client, count):
    received = b""
    while len(received) < count:
        chunk = client.recv(count - len(received))
        check(chunk, f"closed after {received!r}")
        received += chunk
    return received


def receive_all(client):
    received = b""
    with contextlib.suppress(ConnectionResetError):
        while chunk := client.recv(1 << 16):
            received += chunk
    return received


def check_answers(server):
    """A new client is served, and promptly."""
    check(server.is_running(), f"the server ended:\n{server.output()}")
    with connect(server.port, timeout=PROMPT) as client:
        client.sendall(b"PING\r\n")
        check(receive(client, 7) == b"+PONG\r\n", "no PONG")


def check_resident(server, most, what):
    resident = server.resident_bytes()
    check(resident < most, f"{what}: {resident / MIB:.1f} MiB resident, {most / MIB:.0f} allowed")


def wait_until(condition, text, timeout=20):
    deadline = time.monotonic() + timeout
    while not condition():
        check(time.monotonic() < deadline, text)
        time.sleep(0.02)


def send_until_blocked(client, data, most):
    """Sends `data` again and again until the server has taken nothing for a while, or `most` bytes."""
    client.setblocking(False)
    sent = 0
    while sent < most:
        _, writable, _ = select.select([], [client], [], 0.3)
        if not writable:
            return sent
        try:
            sent += client.send(data)
        except (ConnectionResetError, BrokenPipeError):
            return sent
    return sent


def reset(client):
    """Closes with a reset instead of a FIN."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


def bad_lengths(start):
    """Oversized, negative and nonsense lengths get Redis's error and a closed connection."""
    cases = {
        b"*-2147483649x\r\n": b"invalid multibulk length", b"*2147483648\r\n": b"invalid multibulk length",
        b"*1\r\n$-2\r\n": b"invalid bulk length", b"*1\r\n$536870913\r\n": b"invalid bulk length",
        b"*1\r\n$99999999999999999999\r\n": b"invalid bulk length",
        b"*1\r\n?\r\n": b"expected '$', got '?'", b"x" * 70000: b"too big inline request",
        b"GET \"a\r\n": b"unbalanced quotes in request",
    }
    with start() as server:
        before = server.resident_bytes()
        for sent, error in cases.items():
            with connect(server.port) as client:
                client.sendall(b"PING\r\n")
                check(receive(client, 7) == b"+PONG\r\n", "no PONG")
                client.sendall(sent)
                got = receive_all(client)
                check(got == b"-ERR Protocol error: " + error + b"\r\n", f"{sent[:40]!r} got {got!r}")
        # Announced, never sent: costs nothing.
        waiting = [connect(server.port) for _ in range(100)]
        for client in waiting:
            client.sendall(b"*2147483647\r\n$60000000\r\n")
        check_answers(server)
        check_resident(server, before + 16 * MIB, "after 100 announcements of 60 MB")
        for client in waiting:
            client.close()


def half_frames(start):
    """Clients that stop in mid-request cost only what they sent, and all of them together are bounded."""
    with start("--maxmemory-clients", str(64 * MIB)) as server:
        before = server.resident_bytes()
        small = [connect(server.port) for _ in range(300)]
        for client in small:
            client.sendall(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$50000\r\n" + b"x" * 1000)
        check_answers(server)
        big = [connect(server.port) for _ in range(12)]
        for client in big:
            client.sendall(b"*2\r\n$4\r\nECHO\r\n$20000000\r\n")
            send_until_blocked(client, b"x" * MIB, 18 * MIB)
            check_answers(server)
        check_resident(server, before + 120 * MIB, "12 clients with 18 MiB of a request each")
        for client in small:
            client.sendall(b"x" * 49000 + b"\r\n")
            check(receive(client, 5) == b"+OK\r\n", "a small half request was not served in the end")
        for client in small + big:
            client.close()
        wait_until(lambda: server.resident_bytes() < before + 40 * MIB, "memory was not given back")


def slow_sender(start):
    """One byte at a time, while others are served."""
    with start() as server, connect(server.port) as slow, connect(server.port) as other:
        for byte in b"*3\r\n$3\r\nSET\r\n$4\r\nslow\r\n$5\r\nvalue\r\nGET slow\r\n":
            slow.sendall(bytes([byte]))
            other.sendall(b"PING\r\n")
            check(receive(other, 7) == b"+PONG\r\n", "another client was not served")
        check(receive(slow, 16) == b"+OK\r\n$5\r\nvalue\r\n", "the slow client was not served")


def endless_pipelines(start):
    """Clients that send requests for ever and never read: bounded memory, others served."""
    with start() as server:
        with connect(server.port) as client:
            client.sendall(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$100000\r\n" + b"x" * 100000 + b"\r\n")
            check(receive(client, 5) == b"+OK\r\n", "SET failed")
        before = server.resident_bytes()
        clients = []
        for request in (b"PING\r\n", b"GET k\r\n", b"*1\r\n$4\r\nPING\r\n", b"COMMAND DOCS\r\n"):
            for _ in range(5):
                clients.append(connect(server.port))
                send_until_blocked(clients[-1], request * 10000, 20 * MIB)
                check_answers(server)
        check_resident(server, before + 64 * MIB, "20 clients that never read")
        # One of them reads after all: every reply is there.
        clients[0].settimeout(PROMPT)
        check(receive(clients[0], 70000) == b"+PONG\r\n" * 10000, "replies are missing")
        for client in clients:
            client.close()
        check_answers(server)


def busy_pipelines(start):
    """Clients that send for ever and do read: others are served all the same."""
    with start() as server:
        children = []
        for _ in range(4):
            child = os.fork()
            if child == 0:
                pump(server.port)
            children.append(child)
        try:
            for _ in range(200):
                check_answers(server)
        finally:
            for child in children:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)


def pump(port):
    """Never returns: sends requests and reads replies as fast as it can."""
    client = connect(port)
    client.setblocking(False)
    while True:
        readable, writable, _ = select.select([client], [client], [])
        with contextlib.suppress(BlockingIOError):
            if readable and not client.recv(1 << 18):
                os._exit(1)
            if writable:
                client.send(b"PING\r\n" * 10000)


def idle_connections(start):
    """Thousands of connections that say nothing."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    count = min(3000, limit - 200)
    with start() as server:
        before = server.resident_bytes()
        clients = [connect(server.port) for _ in range(count)]
        clients[-1].sendall(b"PING\r\n")
        check(receive(clients[-1], 7) == b"+PONG\r\n", "the last of many is not served")
        each = (server.resident_bytes() - before) / count
        check(each < 32768, f"{each:.0f} bytes for each of {count} idle connections")
        used = server.cpu_ns()
        time.sleep(1)
        check(server.cpu_ns() - used < 300_000_000, "idle connections cost CPU time")
        for client in clients:
            client.sendall(b"ECHO hello\r\n")
        for client in clients:
            check(receive(client, 11) == b"$5\r\nhello\r\n", "one of many is not served")
            client.close()
        check_answers(server)
        return f"{count} connections, {each:.0f} bytes each"


def too_many_clients(start):
    """Over --maxclients: an error and a closed connection; room again when one leaves."""
    error = b"-ERR max number of clients reached\r\n"
    with start("--maxclients", "10") as server:
        clients = [connect(server.port) for _ in range(10)]
        for client in clients:
            client.sendall(b"PING\r\n")
            check(receive(client, 7) == b"+PONG\r\n", "one within the limit is not served")
        with connect(server.port) as refused:
            check(receive_all(refused) == error, "one too many was not refused")
        clients.pop().close()
        wait_until(lambda: serves_new_client(server.port), "no room after a client left")
        for client in clients:
            client.close()


def serves_new_client(port):
    with connect(port, timeout=1) as client:
        try:
            client.sendall(b"PING\r\n")
            return client.recv(7) == b"+PONG\r\n"
        except OSError:
            return False


def flood(server, served, expect_served):
    """Opens 200 connections where there is no room for them; `served` go on being served."""
    flooding = []
    for _ in range(200):
        flooding.append(connect(server.port))
        flooding[-1].setblocking(False)
    for client in served:
        client.sendall(b"PING\r\n")
        check(receive(client, 7) == b"+PONG\r\n", "an old client is not served while descriptors run out")
    used = server.cpu_ns()
    time.sleep(2)
    check(server.cpu_ns() - used < 1_000_000_000, "the server spins while descriptors run out")
    for client in flooding + served[expect_served:]:
        client.close()
    wait_until(lambda: serves_new_client(server.port), "nobody is accepted after descriptors came back")
    for client in served[:expect_served]:
        client.sendall(b"PING\r\n")
        check(receive(client, 7) == b"+PONG\r\n", "an old client was forgotten")


def no_descriptors(start):
    """Started with few descriptors, and later robbed of those it has."""
    few = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    with start(before_start=few) as server:
        served = [connect(server.port) for _ in range(10)]
        flood(server, served, 5)
    with start() as server:
        served = [connect(server.port) for _ in range(10)]
        check_answers(server)
        wait_until(lambda: server.descriptors() >= 10, "ten clients, fewer descriptors")
        robbed = server.descriptors() + 1
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (robbed, robbed))
        flood(server, served, 5)


def resets(start):
    """Peers that vanish in the middle of a reply, or while the server waits for the rest of a request."""
    with start() as server:
        with connect(server.port) as client:
            client.sendall(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1000000\r\n" + b"x" * 1000000 + b"\r\n")
            check(receive(client, 5) == b"+OK\r\n", "SET failed")
        before = server.resident_bytes()
        for round_number in range(60):
            client = connect(server.port)
            client.sendall(b"GET k\r\n" * 50 + b"*2\r\n$4\r\nEC")
            if round_number % 2:
                receive(client, 100000)
            if round_number % 3:
                reset(client)
            else:
                client.close()
        for _ in range(60):
            client = connect(server.port)
            client.sendall(b"*2\r\n$4\r\nECHO\r\n$100000\r\nabc")
            reset(client)
        check_answers(server)
        check_resident(server, before + 48 * MIB, "after 120 resets")


def time_out(start):
    """--timeout closes those who say nothing, not those who do."""
    with start("--timeout", "1") as server, connect(server.port) as idle, connect(server.port) as busy, \
            connect(server.port) as half:
        half.sendall(b"*1\r\n$4\r\nPI")
        end = time.monotonic() + 2.5
        while time.monotonic() < end:
            busy.sendall(b"PING\r\n")
            check(receive(busy, 7) == b"+PONG\r\n", "the busy client was closed")
            time.sleep(0.1)
        check(idle.recv(1) == b"" and half.recv(1) == b"", "the idle client was not closed")


def clean_shutdown(start):
    """SIGTERM and SIGINT end it with status 0, whatever its clients are doing; the port is free at once."""
    for sent in (signal.SIGTERM, signal.SIGINT):
        with start() as server:
            clients = [connect(server.port) for _ in range(50)]
            send_until_blocked(clients[0], b"COMMAND DOCS\r\n" * 1000, 10 * MIB)
            clients[1].sendall(b"*2\r\n$4\r\nEC")
            for client in clients[3:20]:
                client.sendall(b"BLPOP queue 0\r\n")
            for client in clients[20:40]:
                client.sendall(b"SUBSCRIBE news\r\n")
            clients[2].sendall(b"PING\r\n")
            check(receive(clients[2], 7) == b"+PONG\r\n", "no PONG")
            clients[41].sendall(b"RPUSH queue a b c\r\nPUBLISH news x\r\n")
            status = server.stop(sent)
            check(status == 0, f"{sent.name}: exit status {status}\n{server.output()}")
            clients[2].settimeout(PROMPT)
            check(receive_all(clients[2]) == b"", "the connection was not closed")
            with socket.socket() as again:
                again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                again.bind(("127.0.0.1", server.port))
            for client in clients:
                client.close()


def port_taken(start):
    """A clear message and a failure, not a crash."""
    with start() as server:
        try:
            with ServerProcess(lambda _: server.process.args):
                raise Failure("two servers on one port")
        except ServerError as error:
            check("ddress already in use" in str(error), f"unclear message: {error}")
            check("status -" not in str(error), f"ended by a signal: {error}")


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
            client.sendall(b"PSUBSCRIBE n*\r\n")
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
        "queued requests": (b"MULTI\r\n", b"SET a%d " + b"x" * 1000 + b"\r\n"),
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
        waiting = []
        for number in range(count):
            waiting.append(connect(server.port))
            waiting[-1].sendall(b"BLPOP queue 0\r\n")
        wait_until(lambda: information(server, b"blocked_clients") == count, "not all are blocked")
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


def a_million_keys_run_out(start):
    """All at the same moment, while others are served: nobody waits for the end of it."""
    with start() as server, connect(server.port) as client:
        when = int(time.time() * 1000) + 6000
        for begin in range(0, 1_000_000, 20_000):
            client.sendall(b"".join(b"SET key:%d x PXAT %d\r\n" % (i, when) for i in range(begin, begin + 20_000)))
            receive(client, 5 * 20_000)
        longest = 0.0
        deadline = time.monotonic() + 60
        while information(server, b"expired_keys") < 1_000_000:
            check(time.monotonic() < deadline, "keys whose time is over stay")
            for _ in range(50):
                asked = time.monotonic()
                client.sendall(b"PING\r\n")
                receive(client, 7)
                longest = max(longest, time.monotonic() - asked)
                time.sleep(0.001)
        client.sendall(b"DBSIZE\r\n")
        check(receive(client, 4) == b":0\r\n", "keys are left")
        check(longest < PROMPT, "a stall")
        return f"longest wait for a PONG {longest * 1000:.1f} ms"


def full_of_every_type(start):
    """Over --maxmemory every command that adds is refused, whatever the type; reading and deleting go on."""
    error = b"-OOM command not allowed when used memory > 'maxmemory'.\r\n"
    adding = {b"l": b"RPUSH l %s", b"s": b"SADD s %s", b"h": b"HSET h %s v", b"z": b"ZADD z 1 %s", b"k": b"APPEND k %s"}
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
            client.sendall(b"EXISTS %s\r\nDEL %s\r\n" % (key, key) + line % b"x" + b"\r\nQUIT\r\n")
            check(receive(client, 8) == b":1\r\n:1\r\n", "reading and deleting are refused")
            check(receive(client, 4) == b":1\r\n", "still refused after everything was deleted")


SCENARIOS = [bad_lengths, half_frames, slow_sender, endless_pipelines, busy_pipelines, idle_connections,
             too_many_clients, no_descriptors, resets, time_out, clean_shutdown, port_taken, deaf_subscribers,
             many_deaf_subscribers, endless_subscriptions, thousands_blocked, killed_children,
             requests_behind_a_blocked_one, a_million_keys_run_out, full_of_every_type]


def run(scenario, binary):
    def start(*options, before_start=None):
        return ServerProcess(lambda port: kv_server_command(binary, port, *options), before_start=before_start)

    started = time.monotonic()
    try:
        said = scenario(start)
    except (Failure, ServerError, OSError) as error:
        print(f"FAIL {scenario.__name__}: {type(error).__name__}: {error}", flush=True)
        return False
    print(f"ok   {scenario.__name__} ({time.monotonic() - started:.1f} s){': ' + said if said else ''}", flush=True)
    return True


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    wanted = sys.argv[2:] or [each.__name__ for each in SCENARIOS]
    chosen = [each for each in SCENARIOS if each.__name__ in wanted]
    if len(chosen) != len(wanted):
        sys.exit("the scenarios are: " + " ".join(each.__name__ for each in SCENARIOS))
    failed = sum(not run(each, os.path.abspath(sys.argv[1])) for each in chosen)
    print(f"hostile clients: {len(chosen)} scenarios, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
