//! may: a token round a ring of coroutines; see threadring.hpp. Each waits on a channel, or on a Blocker, which is what
//! may's channels are made of. The ring at random is one more, of coroutines made in the same order.

use may::coroutine::JoinHandle;
use may::sync::mpsc::{channel, Receiver, Sender};
use may::sync::Blocker;
use sennit_bench::{next_in_ring, on_may, require, shuffled, Program};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

const STOP: u64 = u64::MAX;
const NONE: u64 = u64::MAX - 1;

trait Inbox: Send + 'static {
    fn take(&self) -> u64;
}

trait Outbox: Send + 'static {
    fn put(&self, token: u64);
}

impl Inbox for Receiver<u64> {
    fn take(&self) -> u64 {
        self.recv().unwrap()
    }
}

impl Outbox for Sender<u64> {
    fn put(&self, token: u64) {
        // The node that was stopped first no longer receives when the last stops.
        require(self.send(token).is_ok() || token == STOP, "a node has ended");
    }
}

struct Mailbox {
    token: AtomicU64,
    filled: Blocker,
}

impl Mailbox {
    /// Call it from a coroutine: it blocks coroutines then, else threads.
    fn new() -> Arc<Mailbox> {
        Arc::new(Mailbox { token: AtomicU64::new(NONE), filled: Blocker::new(false) })
    }
}

impl Inbox for Arc<Mailbox> {
    fn take(&self) -> u64 {
        loop {
            let token = self.token.load(Ordering::Acquire);
            if token != NONE {
                self.token.store(NONE, Ordering::Relaxed);
                return token;
            }
            self.filled.park(None).unwrap();
        }
    }
}

impl Outbox for Arc<Mailbox> {
    fn put(&self, token: u64) {
        self.token.store(token, Ordering::Release);
        self.filled.unpark();
    }
}

fn node(inbox: impl Inbox, next: impl Outbox, done: impl Outbox) {
    loop {
        match inbox.take() {
            STOP => break,
            0 => done.put(0),
            token => next.put(token - 1),
        }
    }
    next.put(STOP);
}

struct Ring<In, Out> {
    first: Out,
    done: In,
    running: Vec<JoinHandle<()>>,
}

impl<In: Inbox, Out: Outbox + Clone> Ring<In, Out> {
    /// Links the nodes in `order`, which has each number below its length once.
    fn new(order: &[usize], link: impl Fn() -> (Out, In)) -> Ring<In, Out> {
        let (outboxes, inboxes): (Vec<_>, Vec<_>) = order.iter().map(|_| link()).unzip();
        let (finished, done) = link();
        let start = |(inbox, next): (In, usize)| {
            let (next, finished) = (outboxes[next].clone(), finished.clone());
            on_may::spawn(move || node(inbox, next, finished))
        };
        let running = inboxes.into_iter().zip(next_in_ring(order)).map(start).collect();
        Ring { first: outboxes[0].clone(), done, running }
    }

    fn measure(self, program: &Program, variant: &str, order: &'static str) {
        let n = self.running.len() as u64;
        program.measure_rate(
            variant,
            &[("n", n.into()), ("order", order.into())],
            "hop",
            n as f64,
            |count| {
                self.first.put(count * n);
                require(self.done.take() == 0, "the token was lost");
            },
        );
        self.first.put(STOP);
        self.running.into_iter().for_each(|each| each.join().unwrap());
    }
}

/// How many coroutines there can be: a stack and its guard page are two mappings.
fn most_coroutines() -> u64 {
    let limit = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap_or_default();
    (limit.trim().parse::<u64>().unwrap_or(65530) / 2).saturating_sub(500)
}

fn main() {
    let program = Program::new(
        "may",
        "mpsc: a channel each; Blocker: one each and an atomic word; 8 KiB stacks; no default features",
        &[("n", &[503, 10_000], &[503, 10_000])],
    );
    may::config().set_stack_size(8 * 1024 / 8);
    on_may::run(program, |program| {
        for n in program.values("n") {
            if n > most_coroutines() {
                let reason =
                    "a stack and its guard page take two mappings, and vm.max_map_count allows no more";
                program.unsupported("", &[("n", n.into())], reason);
                continue;
            }
            let orders = [("memory", (0..n as usize).collect()), ("random", shuffled(n as usize))];
            for (name, order) in &orders {
                Ring::new(order, channel).measure(program, "mpsc", name);
            }
            let mailbox = || {
                let mailbox = Mailbox::new();
                (mailbox.clone(), mailbox)
            };
            for (name, order) in &orders {
                Ring::new(order, mailbox).measure(program, "Blocker", name);
            }
        }
    });
}
