"""What the scenarios of hostile clients share. Used by hostile.py and hostile_company.py."""

import contextlib
import os
import select
import signal
import socket
import struct
import time

from server_process import connect

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


def wait_until(condition, text, timeout=20, pause=0.02):
    deadline = time.monotonic() + timeout
    while not condition():
        check(time.monotonic() < deadline, text)
        time.sleep(pause)


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


@contextlib.contextmanager
def pumps(port, count):
    """So many processes that do it, as long as the block lasts."""
    children = []
    try:
        for _ in range(count):
            child = os.fork()
            if child == 0:
                pump(port)
            children.append(child)
        yield
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
