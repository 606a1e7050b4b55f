//! How `stream`, `track` and `image` send records of one length, over SAP or over TCP.
#![expect(
    clippy::disallowed_methods,
    reason = "records go out at their times, and their arrivals are timed"
)]

use std::fs::File;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::time::Instant;

use windfall_base::Duration;
use windfall_live::interrupt;
use windfall_socket::{
    Carrier, Integrity, MessageKind, Mode, Profile, SapConfig, SapError, SapListener, SapOptions,
    SapSocket, SharedKey,
};

use crate::exit::{Outcome, Result, Trouble};
use crate::usage::whole;

/// The port where receivers wait, unless told otherwise.
const PORT: u16 = 5004;

/// Which protocol carries the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Over {
    /// Approximate messages: at once or never, perhaps damaged
    Sap,
    /// Precise messages of SAP
    SapPrecise,
    /// The kernel's TCP
    Tcp,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum ProfileName {
    /// With a window and congestion control
    Standard,
    /// As in the paper: one precise message at a time
    Paper,
}

/// What both ends are told.
#[derive(Debug, clap::Args)]
struct Transport {
    /// What carries the records
    #[arg(long, value_enum, default_value = "sap")]
    over: Over,
    /// How SAP's datagrams travel: kernel, raw or udp; the same at both ends
    #[arg(long, default_value = "udp", value_name = "CARRIER")]
    carrier: Carrier,
    /// Which profile of SAP
    #[arg(long, value_enum, default_value = "standard")]
    profile: ProfileName,
    /// A file with the key that both ends share: 64 hexadecimal digits
    #[arg(long, value_name = "FILE", value_parser = read_key)]
    key: Option<SharedKey>,
}

/// Whereto a sender sends.
#[derive(Debug, clap::Args)]
pub(crate) struct To {
    /// The address of the receiver
    to: IpAddr,
    /// Port of the receiver
    #[arg(long, default_value_t = PORT, value_parser = whole(0..=u16::MAX))]
    port: u16,
    #[command(flatten)]
    transport: Transport,
}

impl To {
    /// Connects to the receiver.
    pub(crate) fn connect(&self) -> Result<Sender> {
        self.transport.send_to(SocketAddr::new(self.to, self.port))
    }
}

/// Where a receiver waits, and how it reports.
#[derive(Debug, clap::Args)]
pub(crate) struct On {
    /// The address to wait on
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::UNSPECIFIED), value_name = "ADDRESS")]
    on: IpAddr,
    /// The port to wait on
    #[arg(long, default_value_t = PORT, value_parser = whole(0..=u16::MAX))]
    port: u16,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    transport: Transport,
}

impl On {
    /// Waits for a sender, whose plan has `len` bytes.
    pub(crate) fn accept(&self, len: usize) -> Result<(Vec<u8>, Receiver)> {
        self.transport.receive_on(SocketAddr::new(self.on, self.port), len)
    }
}

/// The key in a file, so that it appears in no list of processes.
fn read_key(file: &str) -> std::result::Result<SharedKey, String> {
    let digits = crate::input::read_key(file.as_ref()).map_err(|error| error.to_string())?;
    SharedKey::from_hex(digits.trim()).ok_or_else(|| {
        format!("it holds {} characters, not 64 hexadecimal digits", digits.trim().len())
    })
}

/// Bytes of a plan that every path carries in one message.
const PLAN_PART: usize = 1_000;

/// How long a receiver waits for the next record before it gives up.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long it waits before it looks whether it was told to end.
const LOOK: Duration = Duration::from_millis(50);

impl Transport {
    fn options(&self) -> SapOptions {
        let profile = match self.profile {
            ProfileName::Standard => Profile::Standard,
            ProfileName::Paper => Profile::Paper,
        };
        SapOptions { config: SapConfig::of(profile), carrier: Some(self.carrier), key: self.key }
    }

    /// Connects to a receiver.
    fn send_to(&self, to: SocketAddr) -> Result<Sender> {
        let cannot = |error: &dyn std::fmt::Display| {
            Trouble::new(format!("cannot connect to {to}: {error}; is its receiver there?"))
        };
        Ok(match self.over {
            Over::Tcp => {
                let stream = TcpStream::connect(to).map_err(|error| cannot(&error))?;
                stream.set_nodelay(true)?;
                Sender::Tcp(stream)
            }
            over => {
                let socket = self.options().connect(to).map_err(|error| cannot(&error))?;
                Sender::Sap(socket, over == Over::SapPrecise)
            }
        })
    }

    /// Waits for a sender, whose plan has `len` bytes.
    fn receive_on(&self, on: SocketAddr, len: usize) -> Result<(Vec<u8>, Receiver)> {
        let mut receiver = if self.over == Over::Tcp {
            let listener = TcpListener::bind(on)
                .map_err(|error| Trouble::new(format!("cannot listen on {on}: {error}")))?;
            ready(listener.local_addr()?);
            let stream = listener.accept()?.0;
            stream.set_read_timeout(Some(std::time::Duration::from_nanos(PATIENCE.as_nanos())))?;
            Receiver::Tcp { stream, next: 0, record: Vec::new() }
        } else {
            let listener: SapListener = self.options().listen(on)?;
            ready(listener.local_addr()?);
            let socket = listener.accept()?.0;
            socket.set_timeout(Some(PATIENCE));
            Receiver::Sap { socket, precise: self.over == Over::SapPrecise, plans: 0, suspect: 0 }
        };
        let plan = receiver.plan(len)?;
        Ok((plan, receiver))
    }
}

/// Says on the standard error that somebody may connect, and where.
fn ready(at: SocketAddr) {
    let _ = writeln!(std::io::stderr(), "windfall: waiting on {at}");
}

/// The end that sends.
pub(crate) enum Sender {
    Sap(SapSocket, bool),
    Tcp(TcpStream),
}

impl Sender {
    /// Sends a plan precisely, and waits until it has arrived where records could overtake it.
    pub(crate) fn plan(&mut self, plan: &[u8]) -> Result<()> {
        match self {
            Self::Tcp(stream) => stream.write_all(plan)?,
            Self::Sap(socket, _) => {
                for part in plan.chunks(PLAN_PART) {
                    socket.send(part)?;
                }
                socket.flush()?;
            }
        }
        Ok(())
    }

    /// Sends the records that `record` gives, one in each `interval`, the first `protected` bytes
    /// of each exact.
    pub(crate) fn records(
        &mut self,
        count: u32,
        interval: Duration,
        protected: usize,
        mut record: impl FnMut(u32) -> Vec<u8>,
    ) -> Result<()> {
        if let Self::Sap(socket, false) = self {
            socket.set_mode(Mode::Approximate { protected });
        }
        let began = Instant::now();
        let interval = std::time::Duration::from_nanos(interval.as_nanos());
        for number in 0..count {
            let due = interval * number;
            std::thread::sleep(due.saturating_sub(began.elapsed()));
            let record = record(number);
            match self {
                Self::Tcp(stream) => stream.write_all(&record)?,
                Self::Sap(socket, _) => socket.send(&record)?,
            }
        }
        Ok(())
    }

    /// Ends in order, and waits until the receiver has done its work, as it says by its own end.
    pub(crate) fn close(self) -> Result<()> {
        let gone = |error: &dyn std::fmt::Display| {
            Trouble::new(format!("all was sent, but the receiver did not end in order: {error}"))
        };
        match self {
            Self::Tcp(mut stream) => {
                stream.shutdown(std::net::Shutdown::Write)?;
                stream.read_to_end(&mut Vec::new()).map_err(|error| gone(&error))?;
            }
            Self::Sap(socket, _) => {
                socket.finish_or_abort()?;
                while socket.recv().map_err(|error| gone(&error))?.is_some() {}
            }
        }
        Ok(())
    }
}

/// The end that receives.
pub(crate) enum Receiver {
    Sap { socket: SapSocket, precise: bool, plans: u32, suspect: u64 },
    Tcp { stream: TcpStream, next: u32, record: Vec<u8> },
}

impl Receiver {
    /// Expects records from now on, until the process is told to end: whoever waits for them sums
    /// up what has come by then.
    pub(crate) fn expect_records(&self) -> Result<()> {
        match self {
            Self::Sap { socket, .. } => socket.set_timeout(Some(LOOK)),
            Self::Tcp { stream, .. } => {
                let look = std::time::Duration::from_nanos(LOOK.as_nanos());
                stream.set_read_timeout(Some(look))?;
            }
        }
        Ok(interrupt::note_requests()?)
    }

    /// Waits for a plan of `len` bytes.
    pub(crate) fn plan(&mut self, len: usize) -> Result<Vec<u8>> {
        let mut plan = Vec::new();
        match self {
            Self::Tcp { stream, .. } => {
                plan.resize(len, 0);
                stream.read_exact(&mut plan)?;
            }
            // The sender waits until a plan is acknowledged, so it comes before all records.
            Self::Sap { socket, plans, .. } => {
                while plan.len() < len {
                    match socket.recv()? {
                        Some(message) if message.kind == MessageKind::Precise => {
                            plan.extend(&message.data);
                        }
                        _ => return Err(Trouble::new("the sender did not say what it will send")),
                    }
                    *plans += 1;
                }
            }
        }
        Ok(plan)
    }

    /// Tells the sender that everything is done; it may be gone already.
    pub(crate) fn close(self) {
        // Who was told to end does not wait for the sender's word.
        if let Self::Sap { socket, .. } = self
            && interrupt::noted().is_none()
        {
            let _ = socket.close();
        }
    }

    /// How many records came marked as suspect.
    pub(crate) fn suspect(&self) -> u64 {
        match self {
            Self::Sap { suspect, .. } => *suspect,
            Self::Tcp { .. } => 0,
        }
    }

    /// The next record of `size` bytes and its number; `None` at the end, and once the process is
    /// told to end.
    pub(crate) fn next(&mut self, size: usize) -> Result<Option<(u32, Vec<u8>)>> {
        let began = Instant::now();
        while interrupt::noted().is_none() {
            if let Some(next) = self.look(size)? {
                return Ok(next);
            }
            if began.elapsed() >= std::time::Duration::from_nanos(PATIENCE.as_nanos()) {
                return Err(Trouble::new("the sender sends nothing any more"));
            }
        }
        Ok(None)
    }

    /// Waits a moment for the next record; the outer `None` says that nothing came.
    #[expect(clippy::option_option, reason = "nothing yet, the end, or a record")]
    fn look(&mut self, size: usize) -> Result<Option<Option<(u32, Vec<u8>)>>> {
        match self {
            Self::Sap { socket, precise, plans, suspect } => {
                let message = match socket.recv() {
                    Ok(Some(message)) => message,
                    Ok(None) => return Ok(Some(None)),
                    Err(SapError::TimedOut) => return Ok(None),
                    Err(error) => return Err(error.into()),
                };
                *suspect += u64::from(matches!(message.integrity, Integrity::Suspect(_)));
                // The first ones of the precise messages were plans.
                let number = message.number.wrapping_sub(if *precise { *plans } else { 0 });
                Ok(Some(Some((number, message.data.to_vec()))))
            }
            Self::Tcp { stream, next, record } => {
                let missing = (size - record.len()) as u64;
                match stream.take(missing).read_to_end(record) {
                    Ok(_) if record.len() < size => return Ok(Some(None)),
                    Ok(_) => {}
                    Err(error) if is_timeout(&error) => return Ok(None),
                    Err(error) => return Err(error.into()),
                }
                *next += 1;
                Ok(Some(Some((*next - 1, core::mem::take(record)))))
            }
        }
    }
}

/// Tells whether a read ended because nothing came in time.
fn is_timeout(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// The end of a receiver that has summed up: that of a signal if one asked for it.
pub(crate) fn ended(outcome: Outcome) -> Outcome {
    interrupt::noted().map_or(outcome, |signal| Outcome::Command(128 + signal as u8))
}

/// A file that is opened before there is anything to write, so that it fails early; what it holds
/// stays until then.
pub(crate) struct Output<'a>(&'a Path, File);

impl<'a> Output<'a> {
    pub(crate) fn open(path: &'a Path) -> Result<Self> {
        let file = File::options().write(true).create(true).truncate(false).open(path);
        Ok(Self(path, file.map_err(|error| cannot_write(path, &error))?))
    }

    /// Writes all of it in place of what the file held.
    pub(crate) fn write(mut self, bytes: &[u8]) -> Result<()> {
        let is_file = self.1.metadata().is_ok_and(|it| it.is_file());
        let emptied = if is_file { self.1.set_len(0) } else { Ok(()) };
        let written = emptied.and_then(|()| self.1.write_all(bytes));
        written.map_err(|error| cannot_write(self.0, &error))
    }
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Trouble {
    Trouble::new(format!("cannot write {}: {error}", path.display())).into_arguments()
}

//= S0.58
/// When records arrived.
#[derive(Debug, Default)]
pub(crate) struct Pulse {
    first: Option<Instant>,
    last: Option<Instant>,
    gaps: u32,
    /// The mean of the gaps in seconds, and the sum of the squares of their distances to it.
    mean: f64,
    squares: f64,
}

impl Pulse {
    /// A record arrives now.
    pub(crate) fn beat(&mut self) {
        let now = Instant::now();
        if let Some(last) = self.last {
            self.note(now.duration_since(last).as_secs_f64());
        }
        self.first.get_or_insert(now);
        self.last = Some(now);
    }

    /// Takes the gap into the mean and the squares, which need no memory of the others (Welford).
    fn note(&mut self, gap: f64) {
        self.gaps = self.gaps.saturating_add(1);
        let distance = gap - self.mean;
        self.mean += distance / f64::from(self.gaps);
        self.squares += distance * (gap - self.mean);
    }

    /// Seconds from the first record to the last.
    pub(crate) fn seconds(&self) -> f64 {
        let span = self.first.zip(self.last).map(|(first, last)| last.duration_since(first));
        span.unwrap_or_default().as_secs_f64()
    }

    /// Mean and variance of the time between records, in seconds and seconds squared.
    pub(crate) fn gaps(&self) -> (f64, f64) {
        (self.mean, self.squares / f64::from(self.gaps.max(1)))
    }
}
