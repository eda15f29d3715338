//! A program on tokio's runtime: of one thread for one worker, which is its fastest, else of several. It has no
//! drivers, for the programs need neither I/O nor timers.

use crate::Program;
use std::future::Future;
use tokio::runtime::{Builder, Runtime};

/// Makes the runtime with as many workers as were asked for.
pub fn runtime(program: &Program) -> Runtime {
    let mut builder = match program.workers() {
        1 => Builder::new_current_thread(),
        workers => {
            let mut builder = Builder::new_multi_thread();
            builder.worker_threads(workers);
            builder
        }
    };
    builder.build().unwrap_or_else(|error| crate::fail(&format!("tokio has no runtime: {error}")))
}

/// Runs `main` as a task, on a worker, and waits for it.
pub fn run<T: Send + 'static>(runtime: &Runtime, main: impl Future<Output = T> + Send + 'static) -> T {
    let task = runtime.spawn(main);
    runtime.block_on(task).unwrap_or_else(|error| crate::fail(&format!("a task failed: {error}")))
}
