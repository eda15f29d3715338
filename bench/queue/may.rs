//! may: a bounded queue of a mutex and two condition variables, with two producers and two consumers; see queue.hpp.

use may::sync::{Condvar, Mutex};
use sennit_bench::{on_may, require, Program};
use std::sync::Arc;

const CAPACITY: usize = 64;

struct Items {
    items: [u64; CAPACITY],
    first: usize,
    size: usize,
}

struct Queue {
    items: Mutex<Items>,
    not_empty: Condvar,
    not_full: Condvar,
}

impl Queue {
    fn push(&self, item: u64) {
        let mut queue = self.items.lock().unwrap();
        while queue.size == CAPACITY {
            queue = self.not_full.wait(queue).unwrap();
        }
        let at = (queue.first + queue.size) % CAPACITY;
        queue.items[at] = item;
        queue.size += 1;
        drop(queue);
        self.not_empty.notify_one();
    }

    fn pop(&self) -> u64 {
        let mut queue = self.items.lock().unwrap();
        while queue.size == 0 {
            queue = self.not_empty.wait(queue).unwrap();
        }
        let item = queue.items[queue.first];
        queue.first = (queue.first + 1) % CAPACITY;
        queue.size -= 1;
        drop(queue);
        self.not_full.notify_one();
        item
    }
}

fn main() {
    let program = Program::new("may", "may::sync::Mutex and Condvar; no default features", &[]);
    on_may::run(program, |program| {
        program.measure("Condvar", &[], "item", 2.0, |count| {
            let queue = Arc::new(Queue {
                items: Mutex::new(Items { items: [0; CAPACITY], first: 0, size: 0 }),
                not_empty: Condvar::new(),
                not_full: Condvar::new(),
            });
            let produce = || {
                let queue = queue.clone();
                on_may::spawn(move || (0..count).map(|item| (queue.push(item), item).1).sum::<u64>())
            };
            let consume = || {
                let queue = queue.clone();
                on_may::spawn(move || (0..count).map(|_| queue.pop()).sum::<u64>())
            };
            let [given, taken, given_too, taken_too] =
                [produce(), consume(), produce(), consume()].map(|each| each.join().unwrap());
            require(given + given_too == taken + taken_too, "the queue lost an item");
        });
    });
}
