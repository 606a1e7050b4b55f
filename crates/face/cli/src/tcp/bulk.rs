//! `windfall tcp send` and `windfall tcp receive`: a bulk source and sink.

use std::io::Write;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, TcpListener};

use windfall_base::{ByteCount, Duration};
use windfall_live::tcp::engine::Interruption;
use windfall_live::tcp::{Amount, ConnectionRecord, Engine, Job, Offer, kernel};

use super::{EngineOptions, record, resolve};
use crate::exit::{Outcome, Result, Trouble, in_plain_words};
use crate::usage::whole;

/// What is sent unless something else is said.
const AMOUNT: u64 = 10_000_000;
/// The port unless another is said.
const PORT: u16 = 5001;

/// Send bytes to TARGET as fast as TCP takes them, and say how fast that was
#[derive(Debug, clap::Args)]
pub(crate) struct SendArgs {
    /// The receiver, such as 10.77.0.2:5001
    target: String,
    /// End with 1 unless what comes back is what `windfall tcp receive --both` sends
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    common: Common,
}

/// Receive bytes, and say how fast they came
#[derive(Debug, clap::Args)]
pub(crate) struct ReceiveArgs {
    /// The port
    #[arg(default_value_t = PORT, value_parser = whole(0..=u16::MAX))]
    port: u16,
    /// End with 1 unless the bytes are those of `windfall tcp send` with the same seed
    #[arg(long)]
    check: bool,
    /// Send as well, while receiving
    #[arg(long)]
    both: bool,
    /// Connections to take, one at a time with --kernel
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole(1..=1_000_000_usize))]
    count: usize,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, clap::Args)]
struct Common {
    /// How much to send [default: 10MB]
    #[arg(long, value_name = "SIZE", conflicts_with = "time")]
    bytes: Option<ByteCount>,
    /// How long to send
    #[arg(long, value_name = "TIME")]
    time: Option<Duration>,
    /// Use the kernel's TCP, to compare
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
        let send = sends.then(|| self.amount());
        Job { send, check, seed: self.options.seed, opened }
    }
}

pub(crate) fn send(args: &SendArgs) -> Result {
    let common = &args.common;
    let (to, job) = (resolve(&args.target)?, common.job(true, args.check, true));
    if common.kernel {
        let record = kernel::connect(to, job).map_err(|error| Trouble::of_run(&error))?;
        return publish(common, "kernel", &record);
    }
    with_engine(common, 1, |engine| {
        engine.connect(to, job).map_err(|error| Trouble::of_run(&error))
    })
}

pub(crate) fn receive(args: &ReceiveArgs) -> Result {
    let common = &args.common;
    let job = common.job(args.both, args.check, false);
    if !common.kernel {
        return with_engine(common, args.count, |engine| {
            engine.listen(args.port, Offer::Bulk(job)).map_err(|error| Trouble::of_run(&error))
        });
    }
    let at = SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), args.port);
    let listener = TcpListener::bind(at)
        .map_err(|error| Trouble::new(format!("cannot listen on {at}: {error}")))?;
    let mut worst = Outcome::Done;
    for _ in 0..args.count {
        let record = kernel::accept(&listener, job).map_err(|error| Trouble::of_run(&error))?;
        if publish(common, "kernel", &record)? == Outcome::No {
            worst = Outcome::No;
        }
    }
    Ok(worst)
}

/// Runs an engine until so many connections are over, or a signal asks for the end.
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
    let (mut left, mut worst) = (count, Outcome::Done);
    while left > 0 {
        let turned = engine.turn(None).map_err(|error| Trouble::of_run(&error))?;
        let is_interrupted = matches!(turned, Some(Interruption::Signal(_)));
        if is_interrupted {
            engine.abort().map_err(|error| Trouble::of_run(&error))?;
            left = 0;
        }
        for record in engine.take_records() {
            left = left.saturating_sub(1);
            if publish(common, &tcp, &record)? == Outcome::No {
                worst = Outcome::No;
            }
        }
    }
    engine.linger().map_err(|error| Trouble::of_run(&error))?;
    Ok(worst)
}

/// Says what became of a connection; the answer is no if it failed or carried the wrong bytes.
fn publish(common: &Common, tcp: &str, one: &ConnectionRecord) -> Result {
    let error = one.error.as_deref().map(in_plain_words);
    let one = &ConnectionRecord { error, ..one.clone() };
    let mut out = std::io::stdout().lock();
    if common.options.json {
        record::json(&mut out, one, tcp, common.options.seed)?;
    } else if !common.options.quiet {
        record::table(&mut out, one, tcp)?;
    }
    out.flush()?;
    let is_good = one.error.is_none() && one.wrong.is_none();
    Ok(if is_good { Outcome::Done } else { Outcome::No })
}
