//! may: two coroutines hand a turn to each other by a mutex and a condition variable each; see condvar.hpp.

use may::sync::{Condvar, Mutex};
use sennit_bench::{on_may, Program};
use std::sync::Arc;

struct Handoff {
    turn: Mutex<usize>,
    my_turn: [Condvar; 2],
}

impl Handoff {
    fn run(&self, me: usize, messages: u64) {
        for _ in 0..messages {
            let mut turn = self.turn.lock().unwrap();
            while *turn != me {
                turn = self.my_turn[me].wait(turn).unwrap();
            }
            *turn = 1 - me;
            drop(turn);
            self.my_turn[1 - me].notify_one();
        }
    }
}

fn main() {
    let program = Program::new("may", "may::sync::Mutex and Condvar; no default features", &[]);
    on_may::run(program, |program| {
        program.measure("Condvar", &[], "message", 2.0, |count| {
            let shared = Arc::new(Handoff { turn: Mutex::new(0), my_turn: [Condvar::new(), Condvar::new()] });
            let start = |me| {
                let shared = shared.clone();
                on_may::spawn(move || shared.run(me, count))
            };
            let running = [start(0), start(1)];
            running.into_iter().for_each(|each| each.join().unwrap());
        });
    });
}
