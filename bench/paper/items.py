"""The tables and figures of the five papers on which Sennit is based, each with the command that repeats it.

`paper` is what the paper says, in its own numbers or words. `why` is why Sennit's result differs. `seconds` are those of
a whole and of a quick run on two CPUs; they only serve to tell how long it will take.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Item:
    key: str  # of its file and its place on the page
    title: str
    paper: str
    command: str  # {lwp}: an option with LWP's folder, or nothing; {pictures}: the folder for pictures
    why: str
    quick: str = ""  # without: the command with --quick
    seconds: tuple = (60, 10)
    pictures: tuple = ()  # files that the command draws

    def line(self, quick, lwp="", pictures="."):
        text = (self.quick or f"{self.command} --quick") if quick else self.command
        return " ".join(text.format(lwp=f"--lwp {lwp}" if lwp else "", pictures=pictures).split())


@dataclasses.dataclass(frozen=True)
class Paper:
    key: str
    short: str
    title: str
    authors: str
    page: str  # of the documents: the sections of the paper, and where they are in the code
    items: tuple
    absent: tuple  # (what cannot be had, why)


SWITCH_BYTES = ("scripts/build release --target bench_threadring_sennit && scripts/switch_bytes "
                "build/release/bench/bench_threadring_sennit --markdown --ran --variant local --n 503 --count 600")

PAPERS = (
    Paper(
        "000", "Dolan 2013", "Compiler Support for Lightweight Context Switching",
        "Stephen Dolan, Servesh Muralidharan and David Gregg, 2013", "docs/papers/swapstack_2013.md",
        (
            Item("table-1", "Table I: handing control to and fro",
                 "The table prints the paper's rows beside Sennit's.",
                 "./run tables context-switch {lwp}",
                 "The paper's machine has a Sandy Bridge processor of 2.1 GHz. The kernel of today takes longer for a switch "
                 "of threads, so the speed-up is larger.", seconds=(90, 15)),
            Item("registers", "Sections 3.1 and 3.2: values in registers, and large values",
                 "A context that suspends can pass and receive values; those that do not fit registers use a return area.",
                 "./run bench switch --peers sennit --workers 1",
                 "Eight words are passed in registers. The return area costs a copy, so Sennit leaves large values in the "
                 "frame of their sender.", seconds=(90, 15)),
            Item("figure-4", "Figures 2 to 4: queues",
                 "The new queue outperforms those of Michael and Scott when the number of threads is not more than the number of "
                 "hardware threads, of which there are eight.",
                 "./run bench queues",
                 "With two CPUs a short lock beats all queues without one: a push and a pop take fewer atomic instructions.",
                 seconds=(180, 15)),
            Item("figure-5", "Section 6.3 and Figure 5: biased locks",
                 "With affinity hints a run takes 1.96 s instead of 2.74 s, 1.4 times less. Without hints there is no speed-up.",
                 "./run bench biased",
                 "Sennit's biased queue has no atomic instruction at all, so it gains more.", seconds=(150, 15)),
            Item("crosscore", "Section 6: a message between two hardware threads",
                 "20 to 35 or 120 to 150 cycles, depending on where the two threads are.",
                 "./run bench crosscore",
                 "The two virtual CPUs of this machine have second caches of their own.", seconds=(60, 10)),
            Item("figure-6", "Figure 6: tokens a second in a ring, by the number of fibers",
                 "The library outperforms Haskell, Go and Erlang by a significant margin. It slows down in the second half of "
                 "the graph: the cache is enough for around 10,000 fibers.",
                 "./run tables ring --memory 4G --picture {pictures}/figure-6.svg",
                 "Fibers without a stack keep their speed up to 16 million, because each takes 168 bytes.",
                 quick="./run tables ring --memory 256M --rounds 1 --seconds 0.01 --picture {pictures}/figure-6.svg", seconds=(600, 60),
                 pictures=("figure-6.svg",)),
            Item("figure-7", "Figures 7 and 8: other libraries",
                 "On most benchmarks the parallel library is faster than Pthreads, and the single-threaded one faster than Pth, "
                 "LWP and State Threads; Pthreads is better at the quicksort. fib is 85 times faster than with Pthreads, and "
                 "threadring over 400 times.",
                 "./run tables libraries {lwp} --pictures {pictures}",
                 "The quicksort is not behind any more. The parallel runtime still pays for atomic instructions.",
                 quick="./run tables libraries --quick --pictures {pictures}", seconds=(210, 60),
                 pictures=("swapstack_2013_figure_7.svg", "swapstack_2013_figure_8.svg")),
            Item("bytes", "Section 7.5: bytes that a switch keeps",
                 "Ten switches of threadring: 36 and 48 bytes in the benchmark, around 160 in the scheduler, around 70 in "
                 "main. A library saves at least 80, all registers are up to 656, and a ucontext_t is 936.",
                 SWITCH_BYTES,
                 "gcc compiles this program, so the switch is the library's inline one.", quick=SWITCH_BYTES, seconds=(20, 20)),
            Item("sysbench", "Section 7.4: the row of Pthreads and sysbench itself",
                 "The paper runs sysbench's tests threads and mutex.",
                 "./run tables sysbench",
                 "The ratio should be 1. With two CPUs, other programs of the machine decide about the rest.",
                 seconds=(120, 15)),
        ),
        (("The data points of Figures 4 to 8", "the paper draws them, and its text has no numbers"),
         ("The column of the Atom processor", "no such machine is at hand"),
         ("More than two hardware threads", "no such machine is at hand; more threads than CPUs are in "
                                            "docs/papers/swapstack_2013.md")),
    ),
    Paper(
        "001", "Jaaskelainen 2008", "Reducing Context Switch Overhead with Compiler-Assisted Threading",
        "Pekka Jaaskelainen et al., 2008", "docs/papers/live_registers_2008.md, docs/papers/mp3_2008.md",
        (
            Item("table-1", "Tables 1 and 2, and Figure 1: where the fewest registers are live",
                 "The table has the paper's numbers in brackets.",
                 "./run live-stats --each --figure {pictures}/figure-1.svg",
                 "x86-64 has 16 general and more vector registers, and clang 19 keeps more values in them.",
                 quick="./run live-stats --figure {pictures}/figure-1.svg", seconds=(240, 200), pictures=("figure-1.svg",)),
            Item("table-3", "Table 3: an MP3 decoder beside a player",
                 "An overhead of 12.6 % if only live registers are saved, and of 23.8 % if all are.",
                 "./run tables mp3 --cachegrind",
                 "This processor saves several registers in a cycle, and most of a turn is the scheduler.",
                 quick="./run tables mp3 --quick", seconds=(1500, 60)),
            Item("table-3-model", "Table 3 and section 5: a model of the paper's processor, and the rival that defers a switch",
                 "An overhead of 12.6 % if only live registers are saved, and of 23.8 % if all are. A rival continues to "
                 "an instruction at which scratch registers are not in use, or for a number of cycles, and then switches.",
                 "./run tables mp3 --model",
                 "The model has the paper's register file. The code is that of minimp3 for x86-64, which has 31 registers "
                 "and needs a twentieth of the cycles, so a turn for each sample is more of them.",
                 quick="./run tables mp3 --model --quick", seconds=(200, 20)),
        ),
        (("Table 3 as the paper measured it", "its decoder, its compiler and its processor cannot be had"),),
    ),
    Paper(
        "002", "RethinkDB", "Making coroutines fast", "RethinkDB's engineers, 2010", "docs/performance/server.md",
        (
            Item("graph", "The graph, stacks that are reused or zeroed, and warm-up",
                 "A naive implementation is much slower than callbacks. Reuse of stacks and a light swapcontext together "
                 "recover the speed, and both are essential. With reuse, zeroed or large stacks only take longer to warm up; "
                 "without, they cost throughput. Warm-up will be dominated by the disk.",
                 "./run tables rethinkdb --picture {pictures}/rethinkdb.svg",
                 "The same two conditions hold. Without a pool the size of a stack costs nothing, unless it is zeroed: malloc "
                 "returns the same memory again, and the kernel makes only pages that are touched. The first requests to a "
                 "store on disk mostly wait for the disk.",
                 seconds=(300, 40), pictures=("rethinkdb.svg",)),
            Item("switch", "The switch: swapcontext and its replacement",
                 "swapcontext saves registers that need not be saved, and calls the kernel for the signal mask.",
                 "./run bench mctx",
                 "Sennit's switch saves only the registers that are live.", seconds=(60, 10)),
        ),
        (("The numbers of the graph", "it has bars without an axis"),),
    ),
    Paper(
        "003", "Draves 1991", "Using Continuations to Implement Thread Management and Communication in Operating Systems",
        "Richard P. Draves, Brian N. Bershad, Richard F. Rashid and Randall W. Dean, 1991",
        "docs/papers/continuations_1991.md",
        (
            Item("tables-1-to-5", "Tables 1 to 5: blocks, stacks, and the costs of a call",
                 "The tables have Mach's numbers beside Sennit's.",
                 "./run tables",
                 "A switch that saves only live registers is cheaper than a handoff of stacks, so continuations save memory "
                 "and not time. In Mach a thread that blocks while no other is ready hands its stack to the idle thread. In "
                 "Sennit the stack goes to the pool, so handoffs depend on how long the workers sleep.", seconds=(420, 45)),
            Item("rpc", "Table 3: a null call, by one and by many clients",
                 "95 microseconds by continuation, 110 by two stacks, 185 queued (DS3100).",
                 "./run bench rpc",
                 "A call by continuation takes 1.8 times as long as by two stacks while both fit the cache, and a seventh of the "
                 "time with 100,000 clients.",
                 seconds=(180, 20)),
            Item("exception", "Table 3: an exception that a server handles",
                 "135 microseconds by continuation, 425 by two stacks, 380 queued (DS3100).",
                 "./run bench exception",
                 "Nearly all of the time is the kernel's delivery of a signal.", seconds=(60, 10)),
            Item("memory", "Table 5: memory of a blocked thread",
                 "690 bytes without a kernel stack, and 4,664 with one.",
                 "./run bench parked --peers sennit --workers 1 --set n=1,1000000 --rounds 3",
                 "The descriptor is all that a fiber without a stack takes.",
                 quick="./run bench parked --peers sennit --workers 1 --quick", seconds=(60, 10)),
        ),
        (("Table 3 on the paper's machines", "neither a DS3100 nor a Toshiba 5200 can be had"),
         ("The Firefly's five processors", "no such machine; tests/unit/cont/stack_count_test.cpp repeats the experiment "
                                           "on five workers")),
    ),
    Paper(
        "004", "Engelschall 2000", "Portable Multithreading: The Signal Stack Trick For User-Space Thread Creation",
        "Ralf S. Engelschall, 2000", "docs/papers/portability_2000.md",
        (
            Item("table-2", "Table 2: where which method works",
                 "7 of 21 systems had makecontext; the signal stack worked on all.",
                 "scripts/portability",
                 "Each row is a CPU instead of a system, since all systems are Linux.",
                 quick="scripts/portability x86-64 AArch64", seconds=(900, 120)),
            Item("table-3", "Table 3: 10,000 creations and 10,000 switches",
                 "A creation by a signal takes 14.8 times as long as by makecontext, and a switch by sigsetjmp 0.9 times as "
                 "long as by swapcontext.",
                 "scripts/portability --times",
                 "libc's jump leaves the signal mask alone today, and swapcontext still sets it by a system call.",
                 quick="scripts/portability --times x86-64", seconds=(600, 30)),
            Item("contexts", "The costs on this machine, in nanoseconds",
                 "(The paper has no such table.)",
                 "./run bench mctx",
                 "Sennit's native switch needs neither the kernel nor libc.", seconds=(60, 10)),
        ),
        (("Table 1, the survey of packages", "nothing to measure: docs/papers/portability_2000.md has it for the libraries "
                                             "of today"),
         ("Systems other than Linux", "Sennit runs on Linux only")),
    ),
)
