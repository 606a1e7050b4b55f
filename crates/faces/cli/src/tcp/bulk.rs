//! `windfall tcp send` and `windfall tcp receive`: a bulk source and sink.

use std::io::Write;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, TcpListener};

use windfall_base::{ByteCount, Duration};
use windfall_live::tcp::engine::Interruption;
use windfall_live::tcp::{Amount, ConnectionRecord, Engine, Job, ListenService, kernel};

use super::{EngineOptions, record, resolve_target};
use crate::exit::{CliError, Completion, Result, without_error_numbers};
use crate::times::with_unit;
use crate::usage::whole;

/// Bytes to send by default.
const AMOUNT: u64 = 10_000_000;
/// The default port of receivers.
const PORT: u16 = 5001;

/// Send bytes as fast as TCP accepts them, and print the goodput
#[derive(Debug, clap::Args)]
pub(crate) struct SendArgs {
    /// Receiver, such as 10.77.0.2:5001
    target: String,
    /// Exit with 1 unless the bytes received are those of `windfall tcp receive --both`
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    common: Common,
}

/// Receive bytes, and print the goodput
#[derive(Debug, clap::Args)]
pub(crate) struct ReceiveArgs {
    /// Port to listen on
    #[arg(default_value_t = PORT, value_parser = whole(0..=u16::MAX))]
    port: u16,
    /// Exit with 1 unless the bytes are those of `windfall tcp send` with the same seed
    #[arg(long)]
    check: bool,
    /// Also send while receiving
    #[arg(long)]
    both: bool,
    /// Number of connections to accept. With --kernel, one after the other
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole(1..=1_000_000_usize))]
    count: usize,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, clap::Args)]
struct Common {
    /// Number of bytes to send, such as 500kB [default: 10MB]
    #[arg(long, value_name = "SIZE", conflicts_with = "time")]
    bytes: Option<ByteCount>,
    /// Send for this time instead of a number of bytes
    #[arg(long, value_name = "TIME", value_parser = with_unit)]
    time: Option<Duration>,
    /// Use the kernel's TCP instead, for comparison
    #[arg(long, conflicts_with_all = ["tcp", "address"])]
    kernel: bool,
    #[command(flatten)]
    options: EngineOptions,
}

impl Common {
    fn amount(&self) -> Amount {
        let bytes = self.bytes.map_or(AMOUNT, |ByteCount(bytes)| bytes);
        self.time.map_or(Amount::Bytes(bytes), Amount::Time)
    }

    fn job(&self, sends: bool, check: bool, opened: bool) -> Job {
        Job { send: sends.then(|| self.amount()), check, seed: self.options.data_seed(), opened }
    }
}

pub(crate) fn send(args: &SendArgs) -> Result {
    let common = &args.common;
    let to = resolve_target(&args.target)?;
    let job = common.job(true, args.check, true);
    if common.kernel {
        let record = kernel::connect(to, job)?;
        return publish(common, "kernel", &record);
    }
    with_engine(common, 1, |engine| Ok(engine.connect(to, job)?))
}

pub(crate) fn receive(args: &ReceiveArgs) -> Result {
    let common = &args.common;
    let job = common.job(args.both, args.check, false);
    if !common.kernel {
        return with_engine(common, args.count, |engine| {
            Ok(engine.listen(args.port, ListenService::Bulk(job))?)
        });
    }
    let at = SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), args.port);
    let listener = TcpListener::bind(at).map_err(|error| {
        CliError::new(format!("cannot listen on {at}: {error}; choose another port"))
    })?;
    let mut worst = Completion::Success;
    for _ in 0..args.count {
        let record = kernel::accept(&listener, job)?;
        if publish(common, "kernel", &record)? == Completion::Negative {
            worst = Completion::Negative;
        }
    }
    Ok(worst)
}

/// Runs an engine until `count` connections are over, or a signal asks for the end.
fn with_engine(
    common: &Common,
    count: usize,
    begin: impl FnOnce(&mut Engine) -> Result<()>,
) -> Result {
    let settings = common.options.settings()?;
    let place = common.options.place()?;
    let mut engine = common.options.engine(&place, &settings)?;
    begin(&mut engine)?;
    let tcp = settings.to_string();
    let mut left = count;
    let mut worst = Completion::Success;
    while left > 0 {
        let turned = engine.turn(None)?;
        let is_interrupted = matches!(turned, Some(Interruption::Signal(_)));
        if is_interrupted {
            engine.abort()?;
            left = 0;
        }
        for record in engine.take_records() {
            left = left.saturating_sub(1);
            if publish(common, &tcp, &record)? == Completion::Negative {
                worst = Completion::Negative;
            }
        }
    }
    engine.linger()?;
    Ok(worst)
}

/// Prints the outcome of a connection, which is negative if it failed or carried wrong bytes.
fn publish(common: &Common, tcp: &str, one: &ConnectionRecord) -> Result {
    let error = one.error.as_deref().map(without_error_numbers);
    let one = &ConnectionRecord { error, ..one.clone() };
    let mut out = std::io::stdout().lock();
    if common.options.json {
        record::json(&mut out, one, tcp, common.options.seed)?;
    } else if !common.options.quiet {
        record::table(&mut out, one, tcp)?;
    }
    out.flush()?;
    let is_good = one.error.is_none() && one.first_wrong_byte.is_none();
    Ok(if is_good { Completion::Success } else { Completion::Negative })
}
