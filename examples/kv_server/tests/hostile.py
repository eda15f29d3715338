#!/usr/bin/env python3
"""Drives kv_server as hostile and careless clients do; it must stay up, answer others, and stay small.

Asserts no time beyond generous time-outs.
"""

import contextlib
import os
import resource
import select
import signal
import socket
import time

from server_process import (
    MIB, PROMPT, Failure, ServerError, ServerProcess, check, connect, information, receive, receive_all, reset,
    run_scenarios, wait_until)


def sending(port, sent):
    """A new client that has sent it."""
    client = connect(port)
    client.sendall(sent)
    return client


def say(client, sent, expected):
    client.sendall(sent)
    got = receive(client, len(expected))
    check(got == expected, f"{sent[:60]!r}: {got[:100]!r} instead of {expected[:100]!r}")


def check_answers(server):
    """A new client is served, and promptly."""
    check(server.is_running(), f"the server ended:\n{server.output()}")
    with connect(server.port, timeout=PROMPT) as client:
        say(client, b"PING\r\n", b"+PONG\r\n")


def check_resident(server, most, what):
    resident = server.resident_bytes()
    check(resident < most, f"{what}: {resident / MIB:.1f} MiB resident, {most / MIB:.0f} allowed")


def send_until_blocked(client, data, most):
    """Sends `data` again and again until the server has taken nothing for a while, or `most` bytes."""
    client.setblocking(False)
    sent = 0
    while sent < most and select.select([], [client], [], 0.3)[1]:
        try:
            sent += client.send(data)
        except (ConnectionResetError, BrokenPipeError):
            break


def pumped(port, data, replies, rounds):
    """Sends `data`, and reads so many bytes of replies, again and again."""
    with connect(port) as client:
        for _ in range(rounds):
            client.sendall(data)
            receive(client, replies)


@contextlib.contextmanager
def children(count, function):
    """So many processes that run it, as long as the block lasts."""
    started = []
    try:
        for _ in range(count):
            child = os.fork()
            if child == 0:
                with contextlib.suppress(OSError):
                    function()
                os._exit(1)
            started.append(child)
        yield started
    finally:
        for child in started:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def half_frames(start):
    """Clients that stop in mid-request cost only what they sent, and all of them together are bounded."""
    with start("--maxmemory-clients", str(64 * MIB)) as server:
        before = server.resident_bytes()
        announcing = [sending(server.port, b"*4096\r\n$16000000\r\n") for _ in range(100)]
        check_answers(server)
        check_resident(server, before + 16 * MIB, "after 100 announcements of 16 MB")
        begun = b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$50000\r\n" + b"x" * 1000
        small = [sending(server.port, begun) for _ in range(300)]
        big = [sending(server.port, b"*2\r\n$4\r\nECHO\r\n$16700000\r\n") for _ in range(12)]
        for client in big:
            send_until_blocked(client, b"x" * MIB, 15 * MIB)
            check_answers(server)
        check_resident(server, before + 120 * MIB, "12 clients with 15 MiB of a request each")
        for client in small:
            say(client, b"x" * 49000 + b"\r\n", b"+OK\r\n")
        for client in small + big + announcing:
            client.close()
        wait_until(lambda: server.resident_bytes() < before + 40 * MIB, "memory was not given back")


def pipelines(start):
    """Clients that send requests for ever: bounded memory, others served, whether they read or not."""
    with start() as server:
        with connect(server.port) as client:
            say(client, b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$100000\r\n" + b"x" * 100000 + b"\r\n", b"+OK\r\n")
        before = server.resident_bytes()
        clients = []
        for request in (b"PING\r\n", b"GET k\r\n", b"*1\r\n$4\r\nPING\r\n", b"COMMAND DOCS\r\n"):
            for _ in range(5):
                clients.append(connect(server.port))
                send_until_blocked(clients[-1], request * 10000, 20 * MIB)
                check_answers(server)
        check_resident(server, before + 64 * MIB, "20 clients that never read")
        clients[0].settimeout(PROMPT)
        check(receive(clients[0], 70000) == b"+PONG\r\n" * 10000, "replies are missing")
        for number, client in enumerate(clients):
            reset(client) if number % 2 else client.close()
        wait_until(lambda: server.resident_bytes() < before + 16 * MIB, "memory was not given back")
        with children(4, lambda: pumped(server.port, b"PING\r\n" * 10000, 70000, 1 << 40)):
            for _ in range(200):
                check_answers(server)


def idle_connections(start):
    """Thousands of connections that are idle, then send a little: less than half a page remains of each."""
    many, most_idle = (3000, 32768) if "thread" in start.options else (8000, 2048)
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))  # the server inherits it
    first = 400  # not measured: they leave stacks that the server keeps
    count = many if limit == resource.RLIM_INFINITY else min(many, limit - 200 - first)
    with start() as server:
        clients = [connect(server.port) for _ in range(first)]
        ask_each(clients)
        before = server.resident_bytes()
        clients += [connect(server.port) for _ in range(count)]
        ask_each(clients[-1:])
        each = (server.resident_bytes() - before) / count
        used = server.cpu_ns()
        time.sleep(1)
        check(server.cpu_ns() - used < 300_000_000, "idle connections cost CPU time")
        ask_each(clients)
        again = (server.resident_bytes() - before) / count
        check(max(each, again) < most_idle, f"{each:.0f} and {again:.0f} bytes for each of {count}")
        for client in clients:
            client.close()
        wait_until(lambda: information(server, "connected_clients") == 1, "closed connections are counted")
    return f"{count} connections, {each:.0f} bytes each, then {again:.0f}"


def ask_each(clients):
    for client in clients:
        client.sendall(b"PING\r\n")
    for client in clients:
        check(receive(client, 7) == b"+PONG\r\n", "one of many is not served")


def too_many_clients(start):
    """Those beyond --maxclients are told so; when one leaves another comes in."""
    with start("--maxclients", "10") as server, connect(server.port) as first:
        wait_until(lambda: information(first, "connected_clients") == 1, "the client before it has not gone")
        served = [first] + [connect(server.port) for _ in range(9)]
        ask_each(served)
        for _ in range(20):
            with connect(server.port) as client:
                check(receive_all(client) == b"-ERR max number of clients reached\r\n", "not refused")
        served.pop().close()
        wait_until(lambda: serves_new_client(server.port), "a new client is not served")
        ask_each(served)


def serves_new_client(port):
    with contextlib.suppress(OSError, Failure), connect(port, timeout=2) as client:
        client.sendall(b"PING\r\n")
        return receive(client, 7) == b"+PONG\r\n"
    return False


def no_descriptors(start):
    """Without descriptors clients wait to be accepted; the old ones are served, and the new ones in the end."""
    with start() as server:
        served = [connect(server.port) for _ in range(10)]
        ask_each(served)
        robbed = server.descriptors() + 1
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (robbed, robbed))
        flooding = [connect(server.port) for _ in range(50)]
        used = server.cpu_ns()
        time.sleep(0.5)
        check(server.cpu_ns() - used < 250_000_000, "it spins")
        ask_each(served)
        for client in flooding + served[5:]:
            client.close()
        wait_until(lambda: serves_new_client(server.port), "no client is accepted after descriptors came back")
        ask_each(served[:5])


def clean_shutdown(start):
    """SIGTERM and SIGINT end it with status 0, whatever its clients are doing; the port is free at once."""
    for sent in (signal.SIGTERM, signal.SIGINT):
        with start() as server:
            clients = [connect(server.port) for _ in range(50)]
            send_until_blocked(clients[0], b"COMMAND DOCS\r\n" * 1000, 10 * MIB)
            clients[1].sendall(b"*2\r\n$4\r\nEC")
            for number, client in enumerate(clients[3:40]):
                client.sendall(b"BLPOP queue 0\r\n" if number % 2 else b"SUBSCRIBE news\r\n")
            say(clients[2], b"PING\r\n", b"+PONG\r\n")
            clients[41].sendall(b"RPUSH queue a b c\r\nPUBLISH news x\r\n")
            try:
                with ServerProcess(lambda _, server=server: server.process.args):
                    raise Failure("two servers on one port")
            except ServerError as error:
                check("ddress already in use" in str(error) and "status -" not in str(error), f"unclear: {error}")
            status = server.stop(sent)
            check(status == 0, f"{sent.name}: exit status {status}\n{server.output()}")
            clients[2].settimeout(PROMPT)
            check(receive_all(clients[2]) == b"", "the connection was not closed")
            with socket.socket() as again:
                again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                again.bind(("127.0.0.1", server.port))
            for client in clients:
                client.close()


def asks_right_after_waiting(start):
    """A client that was blocked asks again as soon as it is answered, or before: nothing that it sends is forgotten."""
    with start() as server, children(2, lambda: pumped(server.port, b"PING\r\n" * 10000, 70000, 1 << 40)), \
            connect(server.port) as blocked, connect(server.port) as other:
        for turn in range(400):
            blocked.sendall(b"BLPOP list 0\r\n")
            other.sendall(b"PING\r\nRPUSH list x\r\n")
            if turn % 2:
                blocked.sendall(b"PING\r\n")
            check(receive(other, 11) == b"+PONG\r\n:1\r\n", "not pushed")
            check(receive(blocked, 21) == b"*2\r\n$4\r\nlist\r\n$1\r\nx\r\n", "not handed")
            if turn % 2 == 0:
                blocked.sendall(b"PING\r\n")
            check(receive(blocked, 7) == b"+PONG\r\n", "what it sent behind is forgotten")


def endless_state(start):
    """Subscriptions, watched keys and queued requests are refused beyond a number or an amount of memory; requests behind
    a blocked one close the client."""
    endless = {
        "subscriptions": (b"", b"SUBSCRIBE %d" + b"x" * 1000 + b"\r\n"),
        "watched keys": (b"", b"WATCH %d" + b"x" * 1000 + b"\r\n"),
        "queued requests": (b"MULTI\r\n", b"SET a%d " + b"x" * 1000 + b"\r\n"),
        "requests behind": (b"BLPOP nothing 0\r\n", b"SET a%d " + b"x" * 1000 + b"\r\n"),
    }
    with start("--maxmemory-clients", str(32 * MIB)) as server:
        before = server.resident_bytes()
        for what, (opening, line) in endless.items():
            with connect(server.port) as client:
                client.sendall(opening)
                with contextlib.suppress(OSError):  # closed
                    for i in range(0, 200_000, 100):
                        client.sendall(b"".join(line % number for number in range(i, i + 100)))
                        received = client.recv(1 << 20) if select.select([client], [], [], 0)[0] else None
                        if received is not None and (not received or b" is limited to 4096 elements and" in received):
                            break
                    else:
                        raise Failure(f"{what} without end")
            check_answers(server)
            check_resident(server, before + 96 * MIB, what)
            wait_until(lambda: information(server, "blocked_clients") == 0, "a closed client waits still")
        # All was given back, except what the allocator keeps between what is still in use.
        wait_until(lambda: server.resident_bytes() < before + 40 * MIB, "memory was not given back")


def killed_children(start):
    """Clients killed in mid-frame, blocked, or stopped by SIGSTOP: nothing pushed for the dead is lost."""
    def behave(sent):
        with sending(server.port, sent):
            time.sleep(60)

    with start() as server, connect(server.port) as other:
        with children(5, lambda: behave(b"BLPOP queue 0\r\n")) as blocked, \
                children(5, lambda: behave(b"*3\r\n$5\r\nRPUSH\r\n$5\r\nqueue\r\n$10000\r\nabc")) as half, \
                children(1, lambda: behave(b"SUBSCRIBE news\r\n")) as stopped:
            wait_until(lambda: information(server, "blocked_clients") == 5 and
                       information(server, "pubsub_channels") == 1 and
                       information(server, "connected_clients") == 13, "not all are there")
            os.kill(stopped[0], signal.SIGSTOP)
            for pid in blocked + half:
                os.kill(pid, signal.SIGKILL)
            for pid in blocked + half:
                os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
            # At once: the server may not have noticed any of it.
            say(other, b"RPUSH queue a b c d e\r\nLRANGE queue 0 -1\r\n",
                b":5\r\n*5\r\n" + b"".join(b"$1\r\n%c\r\n" % item for item in b"abcde"))
            pumped(server.port, b"PUBLISH news " + b"x" * 60000 + b"\r\n", 4, 1000)
            wait_until(lambda: information(server, "pubsub_channels") == 0, "a subscriber that never reads is kept")
            check_answers(server)
        wait_until(lambda: information(server, "blocked_clients") == 0, "the dead wait still")


if __name__ == "__main__":
    run_scenarios(__doc__, [half_frames, pipelines, idle_connections, too_many_clients, no_descriptors, clean_shutdown,
                            asks_right_after_waiting, endless_state, killed_children])
