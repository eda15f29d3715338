"""The workloads: what each measures, its parameters, and which of its results are compared with which."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Workload:
    name: str
    measures: str
    # Names of its parameters, in the order they are shown; each is an option of its programs, but for those in
    # `fixed`, whose values its programs know.
    parameters: tuple = ()
    fixed: tuple = ()
    # How many workers it is measured with when the user does not say.
    workers: tuple = (1,)
    # Variants whose names begin so do other work than the rest, and get a table of their own.
    apart: tuple = ()
    # A parameter of which each value gets a process of its own, so that one size cannot take another with it:
    # its name, its values, its values with --quick.
    split: tuple = ()
    # Peers that cannot do it at all, and why.
    cannot: dict = field(default_factory=dict)
    # Seconds until a program is given up.
    timeout: int = 60
    # Options with which its instructions are counted, if other than those of a quick run; None: they are not.
    counted: tuple | None = ()
    # The two counts of which the difference is taken.
    counts: tuple = (1_000, 11_000)

    @property
    def options(self):
        return tuple(name for name in self.parameters if name not in self.fixed)


# Of the workloads without a scheduler.
ONLY_SCHEDULED = {
    "may": "only its scheduler resumes a coroutine: see yield and spawn",
    "tokio": "its tasks have no contexts, and only its scheduler resumes them: see yield and spawn",
    "ghc": "only its scheduler resumes a thread: see yield and spawn",
    "erlang": "only its scheduler resumes a process: see yield and spawn",
}

WORKLOADS = {
    workload.name: workload
    for workload in (
        Workload("switch", "one way between two contexts", apart=("live10", "value4", "words"), cannot=ONLY_SCHEDULED),
        Workload("create", "create, run and destroy a coroutine", cannot=ONLY_SCHEDULED),
        Workload("mctx", "make a machine context, or switch to one", parameters=("work",), fixed=("work",),
                 cannot=ONLY_SCHEDULED),
        Workload("generator", "one element; a nested walk of a tree at each depth", parameters=("depth",),
                 cannot=ONLY_SCHEDULED),
        Workload("yield", "one yield among n fibers", parameters=("fibers",)),
        Workload("spawn", "spawn and join an empty fiber"),
        Workload("spawn-many", "one of n empty fibers that are all spawned, and then all joined", parameters=("n",),
                 workers=(1, 2), timeout=120, counted=("--n", "1000"), counts=(10, 110)),
        Workload(
            "fib",
            "one of the fibers that compute a Fibonacci number, one for each call; how the memory grows at most",
            parameters=("n",),
            workers=(1, 2),
            timeout=120,
            counted=("--n", "8"),
        ),
        Workload(
            "sort",
            "one of n numbers that are sorted, by as many workers as there are",
            parameters=("n",),
            workers=(1, 2),
            timeout=120,
            counted=None,
        ),
        Workload(
            "mutex",
            "one lock and unlock: uncontended with 1 worker, contended by 2 fibers with 2",
            parameters=("fibers",),
            fixed=("fibers",),
            workers=(1, 2),
            cannot={"erlang": "processes share no memory, so it has no locks"},
        ),
        Workload("condvar", "hand over a turn to another fiber",
                 cannot={"erlang": "it has no condition variables: see channel, a hand-over by messages"}),
        Workload("exception", "one fault that somebody mends: an illegal instruction left out, a closed page opened",
                 parameters=("fault",), fixed=("fault",), counted=None),
        Workload("queue", "one item through a bounded queue of 64, 2 producers and 2 consumers",
                 cannot={"erlang": "a mailbox has one reader and no bound"}),
        Workload(
            "queues",
            "one node through a shared queue, by threads that each add one and take one, again and again",
            parameters=("threads", "queued", "n"),
            workers=(2,),
            timeout=300,
            counted=None,
        ),
        Workload(
            "sysbench",
            "sysbench's test `threads`: a lock, a yield and an unlock; its test `mutex`: empty loops, a lock and an unlock",
            parameters=("test", "fibers", "yields", "loops"),
            fixed=("test",),
            workers=(1, 2),
            timeout=120,
            counted=None,
        ),
        Workload("capi", "one operation in C, by sennit.h, and in C++", parameters=("operation",), fixed=("operation",)),
        Workload("biased", "one item through a queue for each worker, biased towards it or not, with hints or without",
                 workers=(1, 2)),
        Workload(
            "channel",
            "one message through a channel: rendezvous (capacity 0) and buffered",
            parameters=("capacity", "bytes"),
            cannot={
                "libst": "it has no channel",
                "libpth": "it has no channel; its message ports have no bound",
                "pthread": "it has no channel",
                "std": "it has no channel",
            },
        ),
        Workload(
            "select",
            "one select: that need not wait, of two cases with one ready, or of three synchronous ones",
            parameters=("work",),
            fixed=("work",),
            workers=(1, 2),
        ),
        Workload(
            "rpc",
            "one call of a server that answers at once, and its reply, of n clients",
            parameters=("clients",),
            workers=(1, 2),
            split=("clients", (1, 100_000), (1, 1_000)),
            timeout=120,
        ),
        Workload(
            "crosscore",
            "one message from a worker to another",
            workers=(2,),
            counted=None,
        ),
        Workload(
            "heartbeat",
            "how late a fiber wakes that sleeps 1 ms again and again, beside others that leave it little",
            parameters=("beside",),
            fixed=("beside",),
            workers=(2,),
            counted=None,
        ),
        Workload(
            "grain",
            "one of 100 tasks that are started at a time: what two workers bring, by what a task computes",
            parameters=("steps",),
            workers=(1, 2),
        ),
        Workload(
            "parked",
            "one of n fibers that are all parked before they are all woken: from its beginning to its end",
            parameters=("n",),
            workers=(1, 2),
            split=("n", (1_000, 10_000, 100_000, 1_000_000), (1_000, 10_000)),
            timeout=120,
            counted=None,
        ),
        Workload(
            "guarded",
            "one of n coroutines that are all suspended, on a stack with a guard page: made, resumed, destroyed",
            parameters=("n",),
            split=("n", (1_000, 30_000, 1_000_000), (1_000, 30_000)),
            timeout=120,
            cannot=ONLY_SCHEDULED,
            counted=None,
        ),
        Workload(
            "timers",
            "one timer of n that are pending: restarted, a wait's that is woken before, a sleep's",
            parameters=("n", "work", "which"),
            fixed=("work", "which"),
            workers=(1, 2),
            split=("n", (1_000, 10_000, 100_000, 1_000_000), (1_000, 10_000)),
            timeout=180,
            counts=(5, 105),
        ),
        Workload(
            "waiters",
            "one of n fibers that wait for one object: to queue, and to be woken or to leave by a deadline",
            parameters=("n", "object", "ends"),
            fixed=("object", "ends"),
            workers=(1, 2),
            split=("n", (100, 1_000, 10_000, 100_000), (100, 1_000)),
            timeout=120,
            counts=(5, 105),
        ),
        Workload(
            "threadring",
            "one hop of a token round a ring of n fibers",
            parameters=("n", "order"),
            fixed=("order",),
            split=("n", (503, 10_000, 100_000, 1_000_000), (503, 10_000)),
            timeout=120,
        ),
        Workload(
            "policy",
            "one token, or one step of another fiber: a lexer and a parser among n runnable fibers",
            parameters=("fibers", "bytes"),
            workers=(1, 2),
            cannot={"erlang": "processes share no memory to work on"},
        ),
        Workload(
            "polls",
            "what checks in compiled code cost (ratios to none), and one round of a program, or one run of a kernel",
            parameters=("program", "kernel", "flags"),
            fixed=("program", "kernel", "flags"),
            timeout=1800,  # the first round compiles
            counted=None,
        ),
        Workload(
            "mp3",
            "60 s of sound decoded beside a player that is due every 22.7 us: CPU time",
            workers=(2,),
            timeout=600,
            counted=None,
        ),
        Workload(
            "context-bytes",
            "what is kept of a suspended context's stack, by where it is suspended",
            parameters=("site",),
            fixed=("site",),
            timeout=600,
            counted=None,
        ),
        Workload(
            "server",
            "one request of redis-benchmark: CPU time of the server process; and what else a server is judged by",
            parameters=("command", "pipeline", "clients", "keepalive", "idle", "square", "stack_kib", "zeroed",
                        "warm_up", "beside", "on"),
            fixed=("command", "keepalive", "idle", "square", "stack_kib", "zeroed", "warm_up", "beside", "on"),
            workers=(2,),
            timeout=400,
        ),
        Workload(
            "idle",
            "one of as many connections as descriptors allow, which have made a request and wait: bytes of the server",
            parameters=("connections",),
            fixed=("connections",),
            timeout=400,
            counted=None,
        ),
    )
}

PEERS = (
    "sennit call cxx20 corosensei boost-context boost-fiber libpth libst liblwp pthread ucontext setjmp go may tokio ghc "
    "erlang redis std tbb handler"
).split()


def workload_named(name):
    """The workload's entry; one made up for a directory that has programs and no entry."""
    return WORKLOADS.get(name, Workload(name, name))
