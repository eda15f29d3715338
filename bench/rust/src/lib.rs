//! What ../support/bench.hpp is to the C++ programs: options, one warm-up and one timed run per measurement, and
//! the lines the runner reads.

#[cfg(feature = "may")]
pub mod on_may;
#[cfg(feature = "tokio")]
pub mod on_tokio;
mod random;

pub use random::{next_in_ring, shuffled};
use std::fmt;
use std::hint::black_box;
use std::time::Instant;

/// A measurement's parameters, as the result shows them.
pub type Params<'a> = &'a [(&'a str, Value)];

/// The value of a parameter: a number, or one of a few words.
#[derive(Clone, Copy)]
pub enum Value {
    Number(u64),
    Word(&'static str),
}

impl From<u64> for Value {
    fn from(number: u64) -> Value {
        Value::Number(number)
    }
}

impl From<&'static str> for Value {
    fn from(word: &'static str) -> Value {
        Value::Word(word)
    }
}

impl fmt::Display for Value {
    /// As JSON.
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Value::Number(number) => write!(to, "{number}"),
            Value::Word(word) => write!(to, "\"{word}\""),
        }
    }
}

pub struct Program {
    parameters: Vec<(String, Vec<u64>)>,
    variant: Option<String>,
    seconds: f64,
    workers: u64,
    memory: f64,
    memory_with_one: Option<f64>,
}

fn fail(message: &str) -> ! {
    eprintln!("{message}");
    std::process::exit(2)
}

/// Ends the program unless `condition`: a peer that loses work must not get a number.
pub fn require(condition: bool, message: &str) {
    if !condition {
        eprintln!("{message}");
        std::process::exit(1);
    }
}

/// The version of the dependency `name` that this package is locked to.
fn locked_version(name: &str) -> &'static str {
    let entry = format!("name = \"{name}\"\nversion = \"");
    let lock = include_str!("../Cargo.lock");
    let start = lock.find(&entry).map_or(lock.len(), |at| at + entry.len());
    lock[start..].split('"').next().unwrap_or("")
}

/// The most memory the process has had so far, in bytes.
fn peak_memory() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
    kib.unwrap_or_else(|| fail("the kernel does not say how much memory this takes")) * 1024.0
}

impl Program {
    /// Reads the options and prints the first line. `parameters` are the workload's: name, values taken without
    /// the option, values taken with --quick.
    pub fn new(crate_name: &str, configuration: &str, parameters: &[(&str, &[u64], &[u64])]) -> Program {
        let mut program = Program {
            parameters: Vec::new(),
            variant: None,
            seconds: 0.0,
            workers: 1,
            memory: peak_memory(),
            memory_with_one: None,
        };
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let quick = arguments.iter().any(|each| each == "--quick");
        program.seconds = if quick { 0.05 } else { 0.2 };
        for (name, full, short) in parameters {
            program.parameters.push((name.to_string(), if quick { short.to_vec() } else { full.to_vec() }));
        }
        let mut rest = arguments.iter().filter(|each| *each != "--quick");
        while let Some(option) = rest.next() {
            let value = rest.next().unwrap_or_else(|| fail(&format!("{option} needs a value")));
            program.set(option, value);
        }
        println!("{{\"version\":\"{}\",\"configuration\":\"{configuration}\"}}", locked_version(crate_name));
        program
    }

    fn set(&mut self, option: &str, value: &str) {
        let wrong = || -> ! { fail(&format!("{option}: '{value}' is not a number or a list like 2,100")) };
        match option {
            "--variant" => self.variant = Some(value.to_string()),
            "--seconds" => self.seconds = value.parse().unwrap_or_else(|_| wrong()),
            "--workers" => self.workers = value.parse().unwrap_or_else(|_| wrong()),
            _ => {
                let known = self.parameters.iter_mut().find(|(name, _)| option == format!("--{name}"));
                let values = &mut known.unwrap_or_else(|| fail(&format!("unknown option {option}"))).1;
                *values = value.split(',').map(|each| each.parse().unwrap_or_else(|_| wrong())).collect();
            }
        }
    }

    /// Prints `reason` as unsupported and ends the program when more than one worker was asked for.
    pub fn require_one_worker(&self, reason: &str) {
        if self.workers != 1 {
            self.unsupported("", &[], reason);
            std::process::exit(0);
        }
    }

    /// Prints that this measurement cannot be made, and why.
    pub fn unsupported(&self, variant: &str, params: Params, reason: &str) {
        println!("{},\"unsupported\":\"{reason}\"}}", self.begin_line(variant, params));
    }

    pub fn workers(&self) -> usize {
        self.workers as usize
    }

    pub fn values(&self, name: &str) -> Vec<u64> {
        let found = self.parameters.iter().find(|(each, _)| each == name);
        found.unwrap_or_else(|| fail(&format!("the program has no parameter {name}"))).1.clone()
    }

    /// Calls `run(count)`, which must do `count` times `operations` operations, first to warm up, then timed in
    /// slices, the fastest of which is printed beside the mean.
    pub fn measure(
        &self,
        variant: &str,
        params: Params,
        operation: &str,
        operations: f64,
        run: impl FnMut(u64),
    ) {
        self.measure_time(variant, params, operation, operations, run);
    }

    /// As `measure`, and prints operations per second too.
    pub fn measure_rate(
        &self,
        variant: &str,
        params: Params,
        operation: &str,
        operations: f64,
        run: impl FnMut(u64),
    ) {
        if let Some((mean, best)) = self.measure_time(variant, params, operation, operations, run) {
            self.report(variant, params, "per_second", &format!("{operation}s/s"), 1e9 / mean, 1e9 / best);
        }
    }

    /// Returns the mean and the best that were printed, in nanoseconds per operation; None if the variant is not wanted.
    fn measure_time(
        &self,
        variant: &str,
        params: Params,
        operation: &str,
        operations: f64,
        run: impl FnMut(u64),
    ) -> Option<(f64, f64)> {
        if !self.wants(variant) {
            return None;
        }
        let (mean, best) = self.time(run);
        let (mean, best) = (mean / operations, best / operations);
        self.report(variant, params, "ns", &format!("ns/{operation}"), mean, best);
        Some((mean, best))
    }

    /// Calls `run()`, which must do the work with one of the things that `report_memory_beside_one` counts.
    pub fn begin_with_one(&mut self, variant: &str, run: impl FnOnce()) {
        if self.wants(variant) && self.memory_with_one.is_none() {
            run();
            self.memory_with_one = Some(peak_memory());
        }
    }

    /// Prints what each of `count` things takes of memory: by how many bytes the process has grown at most since
    /// `begin_with_one`, for each but the first; of one, by how many since the program began, with it.
    pub fn report_memory_beside_one(&self, variant: &str, params: Params, thing: &str, count: f64) {
        if !self.wants(variant) {
            return;
        }
        let with_one = self.memory_with_one.expect("the program begins with one");
        let each =
            if count > 1.0 { (peak_memory() - with_one) / (count - 1.0) } else { with_one - self.memory };
        self.report(variant, params, "bytes", &format!("bytes/{thing}"), each, each);
    }

    fn wants(&self, variant: &str) -> bool {
        self.variant.as_deref().map_or(true, |wanted| wanted == variant)
    }

    /// Nanoseconds per count: of a whole timed run, and of the fastest of the slices it was timed in.
    fn time(&self, mut run: impl FnMut(u64)) -> (f64, f64) {
        let mut time = |count: u64| {
            let start = Instant::now();
            run(black_box(count));
            start.elapsed().as_secs_f64()
        };
        let mut count = 1;
        let mut elapsed = time(count);
        loop {
            // At most eightfold at once, and again if it was too short: one run, on a machine that has other work,
            // tells little.
            count = ((count as f64 * (self.seconds / elapsed).min(8.0)) as u64).max(1);
            let slice = (count / 10).max(1);
            let slices = count / slice;
            count = slice * slices;
            let times: Vec<f64> = (0..slices).map(|_| time(slice)).collect();
            elapsed = times.iter().sum();
            if elapsed >= self.seconds / 2.0 {
                let best = times.iter().copied().fold(f64::INFINITY, f64::min);
                return (elapsed * 1e9 / count as f64, best * 1e9 / slice as f64);
            }
        }
    }

    fn begin_line(&self, variant: &str, params: Params) -> String {
        let shown: Vec<String> = params.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
        format!("{{\"variant\":\"{variant}\",\"workers\":{},\"params\":{{{}}}", self.workers, shown.join(","))
    }

    fn report(&self, variant: &str, params: Params, metric: &str, unit: &str, value: f64, best: f64) {
        println!(
            "{},\"metric\":\"{metric}\",\"unit\":\"{unit}\",\"value\":{value},\"best\":{best}}}",
            self.begin_line(variant, params)
        );
    }
}
