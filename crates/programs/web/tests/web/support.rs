//! Servers in this process, and a client that writes requests by hand.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use windfall_socket::SapOptions;
use windfall_testkit::folder::Folder;
use windfall_web::{
    AccessLog, BodyDelivery, BodyMemory, DeliverySettings, Fetched, FetchedBody, Fetcher,
    FetcherSettings, HeaderMap, SapDirection, ServerLimits, Site, Uri, WebService, serve,
};

/// Longer than anything takes here, on a machine however busy.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// A server that ends with this value.
pub(crate) struct Running {
    pub(crate) at: SocketAddr,
    runtime: Option<Runtime>,
}

impl Running {
    pub(crate) fn start<S: WebService>(make: impl FnOnce(SocketAddr) -> S) -> Self {
        Self::logging(AccessLog::none(), make)
    }

    pub(crate) fn logging<S: WebService>(
        log: AccessLog,
        make: impl FnOnce(SocketAddr) -> S,
    ) -> Self {
        Self::within(ServerLimits::default(), log, make)
    }

    pub(crate) fn within<S: WebService>(
        limits: ServerLimits,
        log: AccessLog,
        make: impl FnOnce(SocketAddr) -> S,
    ) -> Self {
        let runtime = Runtime::new().expect("threads");
        let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)));
        let listener = listener.expect("a free port");
        let at = listener.local_addr().expect("bound");
        let service = Arc::new(make(at));
        let log = Arc::new(log);
        runtime.spawn(async move { serve(listener, service, limits, log).await });
        Self { at, runtime: Some(runtime) }
    }

    /// A server of another kind, which outlives this value.
    pub(crate) fn at(at: SocketAddr) -> Self {
        Self { at, runtime: None }
    }

    pub(crate) fn uri(&self, path: &str) -> Uri {
        format!("http://{}{path}", self.at).parse().expect("an address")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.runtime.take().into_iter().for_each(Runtime::shutdown_background);
    }
}

pub(crate) fn delivery() -> Arc<BodyDelivery> {
    delivery_with(SapOptions::default())
}

pub(crate) fn delivery_with(options: SapOptions) -> Arc<BodyDelivery> {
    let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let settings = DeliverySettings { options, listen, memory: BodyMemory::default() };
    BodyDelivery::start(settings).expect("a free port")
}

pub(crate) fn site(folder: &Folder) -> Running {
    Running::start(|_| Site::new(folder.path(), Some(delivery())).expect("a folder"))
}

/// Bytes that no compression and no coincidence makes.
pub(crate) fn noise(length: usize, seed: u32) -> Vec<u8> {
    let mut state = seed.wrapping_mul(2_654_435_761) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as u8
    };
    (0..length).map(|_| next()).collect()
}

/// Writes a file of bytes into a folder.
pub(crate) fn put(folder: &Folder, name: &str, bytes: &[u8]) {
    std::fs::write(folder.path().join(name), bytes).expect("a file");
}

/// A reply as it came over the wire.
pub(crate) struct Raw {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Raw {
    pub(crate) fn status(&self) -> u16 {
        self.head.split(' ').nth(1).and_then(|it| it.parse().ok()).expect("a status")
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

/// Sends a request as it is, and reads the reply to the end of its connection.
pub(crate) fn raw(at: SocketAddr, request: &str) -> Raw {
    let mut stream = TcpStream::connect(at).expect("it listens");
    stream.set_read_timeout(Some(LONG)).expect("a timeout");
    stream.write_all(request.as_bytes()).expect("room");
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).expect("a reply");
    let end = bytes.windows(4).position(|it| it == b"\r\n\r\n").expect("a head") + 4;
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    Raw { head, body: bytes.split_off(end) }
}

/// Asks for a path with these header lines.
pub(crate) fn get(at: SocketAddr, path: &str, headers: &[&str]) -> Raw {
    let lines: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
    raw(at, &format!("GET {path} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n{lines}\r\n"))
}

/// A client that tolerates damage of these types.
pub(crate) fn fetcher(types: &str, is_precise: bool, way: SapDirection) -> Fetcher {
    fetcher_with(SapOptions::default(), types, is_precise, way)
}

pub(crate) fn fetcher_with(
    options: SapOptions,
    types: &str,
    is_precise: bool,
    way: SapDirection,
) -> Fetcher {
    let types = types.parse().ok();
    let memory = BodyMemory::default();
    Fetcher::new(FetcherSettings { options, types, is_precise, way, memory })
}

/// A body that was fetched.
#[derive(Debug)]
pub(crate) struct Got {
    pub(crate) bytes: Vec<u8>,
    pub(crate) over_sap: bool,
    pub(crate) is_damaged: bool,
    pub(crate) headers: HeaderMap,
    pub(crate) fallback: Option<String>,
}

pub(crate) async fn fetch(fetcher: &Fetcher, uri: &Uri) -> Got {
    fetch_with(fetcher, uri, &HeaderMap::new()).await
}

pub(crate) async fn fetch_with(fetcher: &Fetcher, uri: &Uri, headers: &HeaderMap) -> Got {
    let fetched = fetcher.get(uri, headers, &Arc::default()).await;
    let Fetched { head, mut body, fallback, .. } = fetched.expect("a reply");
    let (over_sap, is_damaged) = match &body {
        FetchedBody::Sap(body) => (true, !body.damage.is_none()),
        FetchedBody::Arriving(_) => (true, false),
        FetchedBody::Tcp(_) => (false, false),
    };
    let mut bytes = Vec::new();
    while let Some(more) = body.next().await.expect("all of it") {
        bytes.extend(more);
    }
    Got { bytes, over_sap, is_damaged, headers: head.headers, fallback }
}

/// Runs a client.
pub(crate) fn run<T>(future: impl Future<Output = T>) -> T {
    let runtime = Runtime::new().expect("threads");
    let done = runtime.block_on(async { tokio::time::timeout(4 * LONG, future).await });
    runtime.shutdown_background();
    done.expect("it ends")
}
