//! tokio: messages through its mpsc channel; see channel.hpp. tokio has no rendezvous; what its tutorial does where a
//! sender must know that its message was received is measured instead: the message brings a oneshot for the answer.

use sennit_bench::{on_tokio, require, Program};
use tokio::sync::{mpsc, oneshot};

type Message<const WORDS: usize> = [u64; WORDS];

fn message<const WORDS: usize>(first: u64) -> Message<WORDS> {
    let mut message = [0; WORDS];
    message[0] = first;
    message
}

async fn acknowledged<const WORDS: usize>(count: u64) -> [u64; 2] {
    let (sender, mut receiver) = mpsc::channel::<(Message<WORDS>, oneshot::Sender<()>)>(1);
    let sending = tokio::spawn(async move {
        let mut sum = 0;
        for next in 0..count {
            let (acknowledge, received) = oneshot::channel();
            sender.send((message(next), acknowledge)).await.unwrap();
            received.await.unwrap();
            sum += next;
        }
        sum
    });
    let receiving = tokio::spawn(async move {
        let mut sum = 0;
        for _ in 0..count {
            let (message, acknowledge) = receiver.recv().await.unwrap();
            acknowledge.send(()).unwrap();
            sum += message[0];
        }
        sum
    });
    [sending.await.unwrap(), receiving.await.unwrap()]
}

async fn buffered<const WORDS: usize>(capacity: usize, count: u64) -> [u64; 2] {
    let (sender, mut receiver) = mpsc::channel::<Message<WORDS>>(capacity);
    let sending = tokio::spawn(async move {
        let mut sum = 0;
        for next in 0..count {
            sender.send(message(next)).await.unwrap();
            sum += next;
        }
        sum
    });
    let receiving = tokio::spawn(async move {
        let mut sum = 0;
        for _ in 0..count {
            sum += receiver.recv().await.unwrap()[0];
        }
        sum
    });
    [sending.await.unwrap(), receiving.await.unwrap()]
}

async fn run<const WORDS: usize>(capacity: u64, count: u64) {
    let [given, taken] = match capacity {
        0 => acknowledged::<WORDS>(count).await,
        _ => buffered::<WORDS>(capacity as usize, count).await,
    };
    require(given == taken, "the channel lost a message");
}

fn main() {
    let program = Program::new(
        "tokio",
        "mpsc::channel; capacity 0: it has no rendezvous, so each message is acknowledged by a oneshot",
        &[("capacity", &[0, 64], &[0, 64]), ("bytes", &[8, 64], &[8, 64])],
    );
    let runtime = on_tokio::runtime(&program);
    for capacity in program.values("capacity") {
        let variant = if capacity == 0 { "mpsc-oneshot" } else { "mpsc" };
        for bytes in program.values("bytes") {
            let params = [("capacity", capacity.into()), ("bytes", bytes.into())];
            match bytes {
                8 => program.measure(variant, &params, "message", 1.0, |count| {
                    on_tokio::run(&runtime, run::<1>(capacity, count));
                }),
                64 => program.measure(variant, &params, "message", 1.0, |count| {
                    on_tokio::run(&runtime, run::<8>(capacity, count));
                }),
                _ => program.unsupported(variant, &params, "messages are of 8 or 64 bytes"),
            }
        }
    }
}
