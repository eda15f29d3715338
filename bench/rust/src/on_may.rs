//! A program on may's scheduler: as many workers as were asked for, and its stacks.

use crate::Program;
use may::coroutine::{Builder, JoinHandle};

/// In words, as may counts: what prints results needs more than the coroutines that are measured.
const MAIN_STACK: usize = 32 * 1024;

/// Runs `main` as a coroutine and waits for it.
pub fn run(program: Program, main: impl FnOnce(&Program) + Send + 'static) {
    // The runner pins the process; pinning workers to cores is for processes that have all of them.
    may::config().set_workers(program.workers()).set_worker_pin(false);
    let main_coroutine = Builder::new().stack_size(MAIN_STACK);
    // Safe as in `spawn`.
    let started = unsafe { main_coroutine.spawn(move || main(&program)) };
    let done =
        started.unwrap_or_else(|error| crate::fail(&format!("may starts no coroutine: {error}"))).join();
    crate::require(done.is_ok(), "a coroutine panicked");
}

pub fn spawn<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    // Safe for code that neither overflows its stack nor keeps references to thread-local variables while it waits.
    unsafe { may::coroutine::spawn(body) }
}

/// Runs `body` at once, until it waits for the first time, in front of the caller.
pub fn spawn_local<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    // Safe as in `spawn`.
    let started = unsafe { Builder::new().spawn_local(body) };
    started.unwrap_or_else(|error| crate::fail(&format!("may starts no coroutine: {error}")))
}
