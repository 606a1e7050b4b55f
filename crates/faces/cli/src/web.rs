//! HTTP whose bodies may travel over SAP: `serve`, `get`, `proxy` and `gateway`.

pub(crate) mod gateway;
pub(crate) mod get;
pub(crate) mod proxy;
pub(crate) mod serve;

use std::future::Future;
use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::available_parallelism;

use tokio::net::{TcpListener, TcpSocket};
use tokio::signal::unix::{Signal, SignalKind, signal};
use windfall_base::ByteCount;
use windfall_web::{
    AccessLog, BodyDelivery, BodyMemory, DeliverySettings, ServerLimits, WebService,
};

use crate::exchange::SapTransport;
use crate::exit::{CliError, Completion, Result};
use crate::input::{cannot_write, limit_messages_to};
use crate::usage::whole;

/// The connections that may wait to be accepted; the kernel allows no more than its own limit.
const BACKLOG: u32 = 4_096;

/// Options for the addresses of a server, over TCP and for SAP, and for its log.
#[derive(Debug, clap::Args)]
pub(crate) struct WebServerOptions {
    /// Address to listen on
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::UNSPECIFIED), value_name = "ADDRESS")]
    on: IpAddr,
    /// TCP and UDP port to listen on
    #[arg(long, default_value_t = 8080, value_parser = whole(0..=u16::MAX))]
    port: u16,
    #[command(flatten)]
    memory: MemoryOptions,
    #[command(flatten)]
    log: LogOptions,
    #[command(flatten)]
    sap: SapTransport,
}

/// The option for the memory of bodies.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "SAP")]
pub(crate) struct MemoryOptions {
    /// Memory for bodies in transit over SAP. Further bodies go over TCP. Request headers get half
    /// as much memory. SAP itself gets as much, but at most 256 MiB unless WINDFALL_MEMORY sets
    /// another size
    #[arg(long, value_name = "SIZE", default_value = "500MB", hide_short_help = true)]
    memory: ByteCount,
}

impl MemoryOptions {
    /// Limits the memory of SAP, and returns that of bodies.
    fn share(&self) -> Result<BodyMemory> {
        let most = usize::try_from(self.memory.0).unwrap_or(usize::MAX);
        limit_messages_to(most)?;
        windfall_socket::give_freed_memory_back();
        Ok(BodyMemory::new(most))
    }

    /// Returns the bytes that the heads of requests may take together.
    fn heads(&self) -> usize {
        usize::try_from(self.memory.0 / 2).unwrap_or(usize::MAX)
    }
}

/// Options for the log of requests.
#[derive(Debug, clap::Args)]
pub(crate) struct LogOptions {
    /// Append one line per request to this file [default: the standard error]
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Do not log requests, unless --log names a file
    #[arg(short, long)]
    quiet: bool,
}

impl LogOptions {
    fn open(&self) -> Result<Arc<AccessLog>> {
        let log = match &self.log {
            Some(path) => AccessLog::new(append(path)?),
            None if self.quiet => AccessLog::none(),
            None => AccessLog::new(std::io::stderr()),
        };
        Ok(Arc::new(log))
    }
}

fn append(path: &Path) -> Result<std::fs::File> {
    windfall_system::files::append(path).map_err(|error| cannot_write(path, &error))
}

/// Runs a future with a runtime of its own; what still runs in the background is left behind.
pub(crate) fn block_on<T>(future: impl Future<Output = Result<T>>) -> Result<T> {
    // Servers start further threads themselves, as far as the system has them.
    let runtime = windfall_socket::make_runtime()?;
    let outcome = runtime.block_on(future);
    runtime.shutdown_background();
    outcome
}

/// The signals that end a program, taken over so that it can clean up before.
pub(crate) struct Signals([Signal; 2]);

impl Signals {
    pub(crate) fn take_over() -> Result<Self> {
        Ok(Self([signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?]))
    }

    /// Waits for one of them, and returns its number.
    pub(crate) async fn next(&mut self) -> u8 {
        let [interrupt, terminate] = &mut self.0;
        let kind = tokio::select! {
            _ = interrupt.recv() => SignalKind::interrupt(),
            _ = terminate.recv() => SignalKind::terminate(),
        };
        kind.as_raw_value() as u8
    }
}

/// Listens for connections, and for clients that open SAP connections at the UDP port of the same
/// number.
pub(crate) async fn listen(on: IpAddr, port: u16) -> Result<TcpListener> {
    let at = SocketAddr::new(on, port);
    let listener = async {
        let socket = if at.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        socket.set_reuseaddr(true)?;
        socket.bind(at)?;
        socket.listen(BACKLOG)
    };
    listener.await.map_err(|error| {
        CliError::new(format!("cannot listen on {at}: {error}; choose another --port"))
    })
}

/// Starts the delivery over SAP of a server that listens there.
fn deliver(listener: &TcpListener, server: &WebServerOptions) -> Result<Arc<BodyDelivery>> {
    let options = server.sap.options()?;
    let listen = listener.local_addr()?;
    let settings = DeliverySettings { options, listen, memory: server.memory.share()? };
    Ok(BodyDelivery::start(settings)?)
}

/// Says where a server listens, and answers requests until a signal tells it to end.
async fn run_server<S: WebService>(
    listener: TcpListener,
    what: &str,
    service: S,
    memory: &MemoryOptions,
    log: Arc<AccessLog>,
) -> Result {
    let at = listener.local_addr()?;
    let mut signals = Signals::take_over()?;
    let _ = writeln!(std::io::stderr(), "windfall: {what} on http://{at}/");
    let threads = available_parallelism().map_or(1, NonZeroUsize::get);
    let limits = ServerLimits { threads, heads: memory.heads(), ..ServerLimits::default() };
    tokio::select! {
        never = windfall_web::serve(listener, Arc::new(service), limits, log) => match never {},
        _ = signals.next() => Ok(Completion::Success),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_bodies_limits_that_of_sap_too() {
        let (_, default) = windfall_socket::memory();
        for (bodies, messages) in
            [(500_000_000, 256 << 20), (64_000_000, 64_000_000), (1, 8 << 20), (u64::MAX, 8 << 20)]
        {
            // An option does not raise what another has set.
            let memory = MemoryOptions { memory: ByteCount(bodies) }.share().expect("no variable");
            assert_eq!(windfall_socket::memory().1, messages, "{bodies}");
            assert_eq!(memory.limit() as u64, bodies);
        }
        windfall_socket::limit_memory(default);
    }
}
