//! tokio: a token round a ring of tasks; see threadring.hpp. Each waits on a channel, or on a Notify. The ring at
//! random is one more, of tasks made in the same order.

use sennit_bench::{next_in_ring, on_tokio, require, shuffled, Program};
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{channel, Receiver, Sender};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

const STOP: u64 = u64::MAX;
const NONE: u64 = u64::MAX - 1;

trait Inbox: Send + 'static {
    fn take(&mut self) -> impl Future<Output = u64> + Send;
}

trait Outbox: Send + Sync + 'static {
    fn put(&self, token: u64) -> impl Future<Output = ()> + Send;
}

impl Inbox for Receiver<u64> {
    async fn take(&mut self) -> u64 {
        self.recv().await.unwrap()
    }
}

impl Outbox for Sender<u64> {
    async fn put(&self, token: u64) {
        // The node that was stopped first no longer receives when the last stops.
        require(self.send(token).await.is_ok() || token == STOP, "a node has ended");
    }
}

struct Mailbox {
    token: AtomicU64,
    filled: Notify,
}

impl Mailbox {
    fn new() -> Arc<Mailbox> {
        Arc::new(Mailbox { token: AtomicU64::new(NONE), filled: Notify::new() })
    }
}

impl Inbox for Arc<Mailbox> {
    async fn take(&mut self) -> u64 {
        loop {
            let token = self.token.load(Ordering::Acquire);
            if token != NONE {
                self.token.store(NONE, Ordering::Relaxed);
                return token;
            }
            self.filled.notified().await;
        }
    }
}

impl Outbox for Arc<Mailbox> {
    async fn put(&self, token: u64) {
        self.token.store(token, Ordering::Release);
        self.filled.notify_one();
    }
}

async fn node(mut inbox: impl Inbox, next: impl Outbox, done: impl Outbox) {
    loop {
        match inbox.take().await {
            STOP => break,
            0 => done.put(0).await,
            token => next.put(token - 1).await,
        }
    }
    next.put(STOP).await;
}

struct Ring<In, Out> {
    first: Out,
    done: In,
    running: Vec<JoinHandle<()>>,
}

impl<In: Inbox, Out: Outbox + Clone> Ring<In, Out> {
    /// Links the nodes in `order`, which has each number below its length once. Call it in a runtime.
    fn new(order: &[usize], link: impl Fn() -> (Out, In)) -> Ring<In, Out> {
        let (outboxes, inboxes): (Vec<_>, Vec<_>) = order.iter().map(|_| link()).unzip();
        let (finished, done) = link();
        let start =
            |(inbox, next): (In, usize)| tokio::spawn(node(inbox, outboxes[next].clone(), finished.clone()));
        let running = inboxes.into_iter().zip(next_in_ring(order)).map(start).collect();
        Ring { first: outboxes[0].clone(), done, running }
    }

    async fn pass(mut self, hops: u64) -> Self {
        self.first.put(hops).await;
        require(self.done.take().await == 0, "the token was lost");
        self
    }

    async fn end(self) {
        self.first.put(STOP).await;
        for each in self.running {
            each.await.unwrap();
        }
    }

    fn measure(self, program: &Program, runtime: &Runtime, variant: &str, order: &'static str) {
        let n = self.running.len() as u64;
        let mut ring = Some(self);
        program.measure_rate(
            variant,
            &[("n", n.into()), ("order", order.into())],
            "hop",
            n as f64,
            |count| {
                ring = ring.take().map(|ring| on_tokio::run(runtime, ring.pass(count * n)));
            },
        );
        ring.into_iter().for_each(|ring| on_tokio::run(runtime, ring.end()));
    }
}

fn main() {
    let program = Program::new(
        "tokio",
        "mpsc: a channel(1) each; Notify: one each and an atomic word",
        &[("n", &[503, 10_000, 100_000], &[503, 10_000])],
    );
    let runtime = on_tokio::runtime(&program);
    let _entered = runtime.enter();
    for n in program.values("n") {
        let orders = [("memory", (0..n as usize).collect()), ("random", shuffled(n as usize))];
        for (name, order) in &orders {
            Ring::new(order, || channel(1)).measure(&program, &runtime, "mpsc", name);
        }
        let mailbox = || {
            let mailbox = Mailbox::new();
            (mailbox.clone(), mailbox)
        };
        for (name, order) in &orders {
            Ring::new(order, mailbox).measure(&program, &runtime, "Notify", name);
        }
    }
}
