//! tokio: two tasks hand a turn to each other; see condvar.hpp. tokio has no condition variable: its Notify, of which
//! each task has one, keeps a wake-up that comes early, so the turn needs no mutex.

use sennit_bench::{on_tokio, require, Program};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::Arc;
use tokio::sync::Notify;

struct Handoff {
    turn: AtomicUsize,
    my_turn: [Notify; 2],
}

impl Handoff {
    async fn run(&self, me: usize, messages: u64) {
        for _ in 0..messages {
            while self.turn.load(Relaxed) != me {
                self.my_turn[me].notified().await;
            }
            self.turn.store(1 - me, Relaxed);
            self.my_turn[1 - me].notify_one();
        }
    }
}

fn main() {
    let program =
        Program::new("tokio", "a tokio::sync::Notify each, no mutex (it has no condition variable)", &[]);
    let runtime = on_tokio::runtime(&program);
    program.measure("Notify", &[], "message", 2.0, |count| {
        let turn = on_tokio::run(&runtime, async move {
            let shared =
                Arc::new(Handoff { turn: AtomicUsize::new(0), my_turn: [Notify::new(), Notify::new()] });
            let start = |me| {
                let shared = shared.clone();
                tokio::spawn(async move { shared.run(me, count).await })
            };
            for each in [start(0), start(1)] {
                each.await.unwrap();
            }
            shared.turn.load(Relaxed)
        });
        require(turn == 0, "a turn was lost");
    });
}
