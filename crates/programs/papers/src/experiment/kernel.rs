//! Transfers over the kernel's TCP, each through `windfall run` in namespaces of its own.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use windfall_base::Seed;
use windfall_live::end_with_this_process;
use windfall_scenario::NEAR;

use crate::experiment::bulk::BulkTransfer;
use crate::experiment::error::ExperimentError;
use crate::experiment::figure::Context;
use crate::experiment::scenario;
use crate::experiment::scratch::Scratch;

/// Transfers that run at the same time; each waits for its link most of the time.
const AT_ONCE: usize = 12;
/// The port of the receiver.
const PORT: u16 = 5001;

/// One transfer to be made.
#[derive(Clone, Debug)]
pub struct Transfer {
    /// The figure that it is for.
    pub figure: &'static str,
    /// The scenario, as TOML.
    pub scenario: &'static str,
    /// The keys that differ from the scenario in the direction of the data, as TOML.
    pub uplink: String,
    /// Bytes to transfer.
    pub bytes: u64,
    /// The size of the socket buffers in bytes; the kernel's if `None`.
    pub buffer: Option<usize>,
    /// The seed of the run.
    pub seed: Seed,
    /// Makes the sender's device write a capture.
    pub capture: bool,
}

/// The result of a transfer.
#[derive(Clone, Debug)]
pub struct Transferred {
    /// The measurements of the test program.
    pub outcome: BulkTransfer,
    /// The capture at the sender's device, if one was asked for.
    pub capture: Option<Bytes>,
}

impl Transferred {
    /// Throughput in KB/s, of 1000 bytes.
    pub fn throughput(&self) -> f64 {
        self.outcome.bytes as f64 / 1e3 / self.outcome.seconds
    }
}

/// Tells whether this machine lets `windfall run` make its namespaces.
pub fn is_possible(context: &Context<'_>) -> bool {
    let mut command = Command::new(&context.program);
    command.args(["run", "--quiet", "--", "true"]).stdin(Stdio::null());
    end_with_this_process(&mut command).output().is_ok_and(|output| output.status.success())
}

/// Makes all transfers, several at a time; the results are in their order.
///
/// # Errors
/// The first transfer that could not be made.
pub fn all(
    context: &Context<'_>,
    transfers: &[Transfer],
) -> Result<Vec<Transferred>, ExperimentError> {
    let next = AtomicUsize::new(0);
    let done = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<Result<Transferred, ExperimentError>>>> =
        transfers.iter().map(|_| Mutex::new(None)).collect();
    let work = || {
        while let Some((transfer, result)) = {
            let i = next.fetch_add(1, Ordering::Relaxed);
            transfers.get(i).zip(results.get(i))
        } {
            let outcome = one(context, transfer);
            if outcome.is_err() {
                // Whoever comes next has nothing to do.
                next.store(transfers.len(), Ordering::Relaxed);
            }
            *result.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(outcome);
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            let total = transfers.len();
            (context.progress)(&format!("{}: transfer {done} of {total}", transfer.figure));
        }
    };
    std::thread::scope(|scope| {
        // This thread does what the system has no other threads for.
        for _ in 1..transfers.len().min(AT_ONCE) {
            if std::thread::Builder::new().spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
    let taken = results.into_iter().filter_map(|result| {
        result.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
    });
    // A failure keeps others from starting, so it is among those that were taken.
    taken.collect()
}

/// Makes one transfer.
fn one(context: &Context<'_>, transfer: &Transfer) -> Result<Transferred, ExperimentError> {
    let directory = Scratch::new()?;
    let file = directory.0.join("scenario.toml");
    let changed = scenario::with(transfer.figure, transfer.scenario, &transfer.uplink, None)?;
    write(&file, &changed.to_toml())?;
    let buffer = transfer.buffer.map_or_else(String::new, |size| format!(" --buffer {size}"));
    let program = context.program.display().to_string();
    let mut command = Command::new(&context.program);
    command.arg("run").arg("--scenario").arg(&file);
    command.arg("--seed").arg(transfer.seed.to_string());
    // The paper's TCP knew no selective acknowledgements (S3.8).
    command.arg("--sysctl").arg("net.ipv4.tcp_sack=0");
    if transfer.capture {
        command.arg("--pcap").arg(&directory.0);
    }
    command.arg("--far").arg(format!("{program} bulk receive --port {PORT}{buffer}"));
    command.args(["--wait-port", &PORT.to_string(), "--", "sh", "-c"]);
    command.arg(format!(
        "exec {program} bulk send \"$WINDFALL_BASE\" --port {PORT}{buffer} --bytes {}",
        transfer.bytes
    ));
    let outcome = run(&mut command)?;
    let capture = if transfer.capture { Some(capture(&directory.0)?) } else { None };
    Ok(Transferred { outcome, capture })
}

/// Runs a command whose standard output is one [`BulkTransfer`] as JSON.
fn run(command: &mut Command) -> Result<BulkTransfer, ExperimentError> {
    let shown = format!("{command:?}").replace('"', "");
    let output = end_with_this_process(command)
        .stdin(Stdio::null())
        .output()
        .map_err(|source| ExperimentError::Start { command: shown.clone(), source })?;
    let text = String::from_utf8_lossy(&output.stdout);
    let outcome = text.lines().find_map(|line| serde_json::from_str(line).ok());
    outcome.filter(|_| output.status.success()).ok_or_else(|| {
        let errors = String::from_utf8_lossy(&output.stderr);
        let message = errors.lines().last().unwrap_or("it printed no error").to_owned();
        ExperimentError::Run { command: shown, message }
    })
}

/// The capture of the near end in `directory`.
fn capture(directory: &Path) -> Result<Bytes, ExperimentError> {
    let path = directory.join(format!("{NEAR}.pcapng"));
    fs::read(&path).map(Bytes::from).map_err(|source| ExperimentError::File { path, source })
}

fn write(path: &Path, text: &str) -> Result<(), ExperimentError> {
    fs::write(path, text).map_err(|source| ExperimentError::File { path: path.to_owned(), source })
}

/// Describes the method of the kernel's transfers, for the text below a figure.
#[must_use]
pub fn method() -> String {
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!(
        "The kernel's TCP (Linux {}) runs in real time: Reno, no selective \
         acknowledgements, socket buffers of 16 kB.",
        kernel.trim()
    )
}
