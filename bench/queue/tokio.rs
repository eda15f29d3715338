//! tokio: a bounded queue with two producers and two consumers; see queue.hpp. tokio has no condition variable; its
//! bounded queue is mpsc, of which the two consumers share the receiving end by a mutex, and its semaphore bounds a
//! queue of one's own.

use sennit_bench::{on_tokio, require, Program};
use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;
use tokio::sync::{mpsc, Mutex, Semaphore};

const CAPACITY: usize = 64;

/// A queue with any number of producers and consumers.
trait Queue: Send + Sync + 'static {
    fn push(&self, item: u64) -> impl Future<Output = ()> + Send;
    fn pop(&self) -> impl Future<Output = u64> + Send;
}

struct Channel {
    sender: mpsc::Sender<u64>,
    receiver: Mutex<mpsc::Receiver<u64>>,
}

impl Channel {
    fn new() -> Channel {
        let (sender, receiver) = mpsc::channel(CAPACITY);
        Channel { sender, receiver: Mutex::new(receiver) }
    }
}

impl Queue for Channel {
    async fn push(&self, item: u64) {
        self.sender.send(item).await.unwrap();
    }

    async fn pop(&self) -> u64 {
        self.receiver.lock().await.recv().await.unwrap()
    }
}

struct Counted {
    items: std::sync::Mutex<VecDeque<u64>>,
    free: Semaphore,
    used: Semaphore,
}

impl Counted {
    fn new() -> Counted {
        Counted {
            items: std::sync::Mutex::new(VecDeque::with_capacity(CAPACITY)),
            free: Semaphore::new(CAPACITY),
            used: Semaphore::new(0),
        }
    }
}

impl Queue for Counted {
    async fn push(&self, item: u64) {
        self.free.acquire().await.unwrap().forget();
        self.items.lock().unwrap().push_back(item);
        self.used.add_permits(1);
    }

    async fn pop(&self) -> u64 {
        self.used.acquire().await.unwrap().forget();
        let item = self.items.lock().unwrap().pop_front();
        self.free.add_permits(1);
        item.unwrap()
    }
}

async fn produce_and_consume(queue: Arc<impl Queue>, count: u64) {
    let produce = || {
        let queue = queue.clone();
        tokio::spawn(async move {
            let mut sum = 0;
            for item in 0..count {
                queue.push(item).await;
                sum += item;
            }
            sum
        })
    };
    let consume = || {
        let queue = queue.clone();
        tokio::spawn(async move {
            let mut sum = 0;
            for _ in 0..count {
                sum += queue.pop().await;
            }
            sum
        })
    };
    let mut difference = 0u64;
    for (given, taken) in [(produce(), consume()), (produce(), consume())] {
        difference = difference.wrapping_add(given.await.unwrap()).wrapping_sub(taken.await.unwrap());
    }
    require(difference == 0, "the queue lost an item");
}

fn main() {
    let program = Program::new(
        "tokio",
        "mpsc: mpsc::channel(64), its Receiver in a tokio::sync::Mutex; Semaphore: two, and a VecDeque in a std Mutex",
        &[],
    );
    let runtime = on_tokio::runtime(&program);
    program.measure("mpsc", &[], "item", 2.0, |count| {
        on_tokio::run(&runtime, produce_and_consume(Arc::new(Channel::new()), count));
    });
    program.measure("Semaphore", &[], "item", 2.0, |count| {
        on_tokio::run(&runtime, produce_and_consume(Arc::new(Counted::new()), count));
    });
}
