//! may in its own policy: a lexer feeds a parser among other coroutines; see policy.hpp.

use may::coroutine::yield_now;
use may::sync::{Condvar, Mutex};
use sennit_bench::{on_may, Program};
use std::sync::Arc;

struct Text {
    full: bool,
    words: Vec<u64>,
}

struct Pipeline {
    text: Mutex<Text>,
    given: Condvar,
    taken: Condvar,
    rounds: u64,
}

/// Touches each cache line of `block`.
fn work(block: &mut [u64]) {
    block.iter_mut().step_by(8).for_each(|word| *word += 1);
}

impl Pipeline {
    /// The lexer waits for a text that is not full and fills it, the parser waits for one that is and empties it.
    fn hand_over(&self, full: bool, mine: &Condvar, other: &Condvar) {
        for _ in 0..self.rounds {
            let mut text = self.text.lock().unwrap();
            while text.full != full {
                text = mine.wait(text).unwrap();
            }
            work(&mut text.words);
            text.full = !full;
            drop(text);
            other.notify_one();
        }
    }

    fn other(&self, words: usize) {
        let mut block = vec![0; words];
        for _ in 0..self.rounds {
            work(&mut block);
            yield_now();
        }
    }
}

fn main() {
    let program = Program::new(
        "may",
        "may's scheduler as it is; may::sync::Mutex and Condvar; no default features",
        &[("fibers", &[0, 10, 100, 1000], &[0, 10, 100]), ("bytes", &[4096], &[4096])],
    );
    on_may::run(program, |program| {
        for others in program.values("fibers") {
            for bytes in program.values("bytes") {
                let params = [("fibers", others.into()), ("bytes", bytes.into())];
                program.measure("coroutines", &params, "step", (others + 1) as f64, |count| {
                    let words = bytes as usize / 8;
                    let shared = Arc::new(Pipeline {
                        text: Mutex::new(Text { full: false, words: vec![0; words] }),
                        given: Condvar::new(),
                        taken: Condvar::new(),
                        rounds: count,
                    });
                    let (lexer, parser) = (shared.clone(), shared.clone());
                    let mut running = vec![
                        on_may::spawn(move || lexer.hand_over(false, &lexer.taken, &lexer.given)),
                        on_may::spawn(move || parser.hand_over(true, &parser.given, &parser.taken)),
                    ];
                    running.extend((0..others).map(|_| {
                        let shared = shared.clone();
                        on_may::spawn(move || shared.other(words))
                    }));
                    running.into_iter().for_each(|each| each.join().unwrap());
                });
            }
        }
    });
}
