//! may: messages through its channel; see channel.hpp. The channel has no bound, so that one of 64 is made with a
//! semaphore, and a rendezvous by waiting for an acknowledgement.

use may::sync::{spsc, Semphore};
use sennit_bench::{on_may, require, Program};
use std::sync::Arc;

type Message<const WORDS: usize> = [u64; WORDS];

fn message<const WORDS: usize>(first: u64) -> Message<WORDS> {
    let mut message = [0; WORDS];
    message[0] = first;
    message
}

fn rendezvous<const WORDS: usize>(count: u64) -> [u64; 2] {
    let (sender, receiver) = spsc::channel::<Message<WORDS>>();
    let (acknowledge, acknowledged) = spsc::channel::<()>();
    let send = move |next| {
        sender.send(message(next)).unwrap();
        acknowledged.recv().unwrap();
        next
    };
    let receive = move |_| {
        let message = receiver.recv().unwrap();
        acknowledge.send(()).unwrap();
        message[0]
    };
    let sending = on_may::spawn(move || (0..count).map(send).sum());
    let receiving = on_may::spawn(move || (0..count).map(receive).sum());
    [sending, receiving].map(|each| each.join().unwrap())
}

fn buffered<const WORDS: usize>(capacity: usize, count: u64) -> [u64; 2] {
    let (sender, receiver) = spsc::channel::<Message<WORDS>>();
    let free = Arc::new(Semphore::new(capacity));
    let freed = free.clone();
    let send = move |next| {
        free.wait();
        sender.send(message(next)).unwrap();
        next
    };
    let receive = move |_| {
        let message = receiver.recv().unwrap();
        freed.post();
        message[0]
    };
    let sending = on_may::spawn(move || (0..count).map(send).sum());
    let receiving = on_may::spawn(move || (0..count).map(receive).sum());
    [sending, receiving].map(|each| each.join().unwrap())
}

fn run<const WORDS: usize>(capacity: u64, count: u64) {
    let [given, taken] =
        if capacity == 0 { rendezvous::<WORDS>(count) } else { buffered::<WORDS>(capacity as usize, count) };
    require(given == taken, "the channel lost a message");
}

fn main() {
    let program = Program::new(
        "may",
        "spsc::channel; capacity 0: one more, to acknowledge; else: bounded by a Semphore; no default features",
        &[("capacity", &[0, 64], &[0, 64]), ("bytes", &[8, 64], &[8, 64])],
    );
    on_may::run(program, |program| {
        for capacity in program.values("capacity") {
            for bytes in program.values("bytes") {
                let params = [("capacity", capacity.into()), ("bytes", bytes.into())];
                match bytes {
                    8 => program.measure("spsc", &params, "message", 1.0, |count| run::<1>(capacity, count)),
                    64 => program.measure("spsc", &params, "message", 1.0, |count| run::<8>(capacity, count)),
                    _ => program.unsupported("spsc", &params, "messages are of 8 or 64 bytes"),
                }
            }
        }
    });
}
