//! tokio in its own policy (current_thread: a FIFO): a lexer feeds a parser among other tasks; see policy.hpp. A Notify
//! stands for a condition variable, which tokio does not have.

use sennit_bench::{on_tokio, Program};
use std::sync::Arc;
use tokio::sync::{Mutex, Notify};
use tokio::task::yield_now;

struct Text {
    full: bool,
    words: Vec<u64>,
}

struct Pipeline {
    text: Mutex<Text>,
    given: Notify,
    taken: Notify,
    rounds: u64,
}

/// Touches each cache line of `block`.
fn work(block: &mut [u64]) {
    block.iter_mut().step_by(8).for_each(|word| *word += 1);
}

impl Pipeline {
    /// The lexer waits for a text that is not full and fills it, the parser waits for one that is and empties it.
    async fn hand_over(&self, full: bool, mine: &Notify, other: &Notify) {
        for _ in 0..self.rounds {
            let mut text = self.text.lock().await;
            while text.full != full {
                drop(text);
                mine.notified().await;
                text = self.text.lock().await;
            }
            work(&mut text.words);
            text.full = !full;
            drop(text);
            other.notify_one();
        }
    }

    async fn other(&self, words: usize) {
        let mut block = vec![0; words];
        for _ in 0..self.rounds {
            work(&mut block);
            yield_now().await;
        }
    }
}

async fn run(rounds: u64, others: u64, bytes: u64) {
    let words = bytes as usize / 8;
    let shared = Arc::new(Pipeline {
        text: Mutex::new(Text { full: false, words: vec![0; words] }),
        given: Notify::new(),
        taken: Notify::new(),
        rounds,
    });
    let (lexer, parser) = (shared.clone(), shared.clone());
    let mut running = vec![
        tokio::spawn(async move { lexer.hand_over(false, &lexer.taken, &lexer.given).await }),
        tokio::spawn(async move { parser.hand_over(true, &parser.given, &parser.taken).await }),
    ];
    running.extend((0..others).map(|_| {
        let shared = shared.clone();
        tokio::spawn(async move { shared.other(words).await })
    }));
    for each in running {
        each.await.unwrap();
    }
}

fn main() {
    let program = Program::new(
        "tokio",
        "tokio's scheduler as it is; tokio::sync::Mutex and Notify",
        &[("fibers", &[0, 10, 100, 1000], &[0, 10, 100]), ("bytes", &[4096], &[4096])],
    );
    let runtime = on_tokio::runtime(&program);
    for others in program.values("fibers") {
        for bytes in program.values("bytes") {
            let params = [("fibers", others.into()), ("bytes", bytes.into())];
            program.measure("tasks", &params, "step", (others + 1) as f64, |count| {
                on_tokio::run(&runtime, run(count, others, bytes));
            });
        }
    }
}
