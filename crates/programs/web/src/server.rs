//! Accepts connections and answers their requests, within limits.

use core::convert::Infallible;
use core::future::Future;
use core::sync::atomic::{AtomicU64, Ordering};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Empty, Full};
use hyper::body::{Body as _, Incoming};
use hyper::header::{CONNECTION, CONTENT_TYPE, HOST, HeaderMap, HeaderValue, TRANSFER_ENCODING};
use hyper::http::uri::{Authority, Scheme};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Uri, Version};
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::process::{Resource, getrlimit, setrlimit};
use tokio::net::{TcpListener, TcpStream};

use crate::connection_limiter::{ConnectionLimiter, Place};
use crate::log::{Access, AccessLog};
use crate::userinfo::without_user;
use crate::versions::AtMost11;
use crate::workers::Workers;

/// The body of a reply or of a request that is passed on.
pub(crate) type MessageBody = BoxBody<Bytes, io::Error>;
/// A reply to a request.
pub(crate) type Reply = Response<MessageBody>;

/// The bytes that the head of a message may have.
const HEAD: usize = 64 << 10;
/// The descriptors that a connection takes: its own, that of a file, and those of SAP.
const DESCRIPTORS: usize = 3;
/// The headers that a message may have.
const HEADERS: usize = 100;

/// The way that a body took, for the log.
#[derive(Clone, Debug)]
pub(crate) struct WayNote(pub(crate) String);

/// Limits of a server.
#[derive(Clone, Copy, Debug)]
pub struct ServerLimits {
    /// Connections at the same time, as far as the system has descriptors for them: the one that is
    /// idle for longest makes room for another, or where none is, one of the client that has most.
    pub connections: usize,
    /// The bytes that the heads of requests may take together, which come before anything is known
    /// of a client: there are only as many connections as long heads fit.
    pub heads: usize,
    /// The threads that answer requests, as far as the system has them.
    pub threads: usize,
    /// The time for the head of a request, and for which a connection may be idle.
    pub head: Duration,
    /// The time for which a client may take nothing of a reply.
    pub stall: Duration,
}

impl Default for ServerLimits {
    fn default() -> Self {
        let head = Duration::from_secs(15);
        let stall = Duration::from_secs(30);
        Self { connections: 8_192, heads: 256 << 20, threads: 1, head, stall }
    }
}

impl ServerLimits {
    /// Returns how many connections there may be, by all limits; at least one.
    fn most_connections(&self) -> usize {
        let of_system = connections_within(permit_descriptors(), open_descriptors());
        self.connections.min(self.heads / HEAD).min(of_system).max(1)
    }
}

/// A service that answers requests.
pub trait WebService: Send + Sync + 'static {
    /// Answers a request of the client at `from`.
    fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
        from: SocketAddr,
    ) -> impl Future<Output = Response<BoxBody<Bytes, io::Error>>> + Send;
}

/// Answers the requests of all connections; it only ends if its future is dropped.
pub async fn serve<S: WebService>(
    listener: TcpListener,
    service: Arc<S>,
    limits: ServerLimits,
    log: Arc<AccessLog>,
) -> Infallible {
    // The workers have descriptors of their own.
    let mut workers = Workers::start(limits.threads.saturating_sub(1));
    let places = ConnectionLimiter::new(limits.most_connections());
    loop {
        match listener.accept().await {
            Ok((stream, from)) => {
                let service = Arc::clone(&service);
                let log = Arc::clone(&log);
                let place = places.take(from.ip()).await;
                workers.spawn(stream, move |stream| async move {
                    tokio::select! {
                        // One that ends early is the client's choice, and no error here.
                        _ = connection(Client { stream, from }, &place, service, limits, &log) => {}
                        () = place.sent_away() => {}
                    }
                });
            }
            // The connection is gone again, or there is no descriptor left: others may end.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

/// A client that has connected.
struct Client {
    stream: TcpStream,
    from: SocketAddr,
}

/// Answers the requests of a client until its connection ends.
async fn connection<S: WebService>(
    client: Client,
    place: &Arc<Place>,
    service: Arc<S>,
    limits: ServerLimits,
    log: &AccessLog,
) -> hyper::Result<()> {
    let Client { stream, from } = client;
    let from = SocketAddr::new(from.ip().to_canonical(), from.port());
    let _ = stream.set_nodelay(true);
    // Covers clients that have vanished, and those whose window stays closed.
    let stall = u32::try_from(limits.stall.as_millis()).unwrap_or(u32::MAX);
    let _ = rustix::net::sockopt::set_tcp_user_timeout(&stream, stall);
    let stream = AtMost11::new(stream);
    let lines = stream.lines();
    let requests = AtomicU64::new(0);
    let answer = service_fn(|mut request: Request<Incoming>| {
        let service = Arc::clone(&service);
        let work = place.work();
        let number = requests.fetch_add(1, Ordering::Relaxed);
        let is_other_version = lines.is_other_version(number);
        lines
            .take_for_server(number)
            .into_iter()
            .for_each(|it| _ = request.extensions_mut().insert(it));
        async move {
            let is_head = request.method() == Method::HEAD;
            let line = log.is_kept().then(|| {
                if is_other_version {
                    return "-".to_owned();
                }
                let target = without_user(&request.uri().to_string());
                format!("{} {target} {:?}", request.method(), request.version())
            });
            let reply = match check(&request) {
                _ if is_other_version => {
                    let text = "this server speaks HTTP/1.1 and HTTP/1.0";
                    closing(StatusCode::HTTP_VERSION_NOT_SUPPORTED, text)
                }
                Ok(()) => service.answer(request, from).await,
                Err((status, reason)) => closing(status, reason),
            };
            line.iter().for_each(|line| note(log, from, line, is_head, &reply));
            Ok::<_, Infallible>(reply.map(|body| work.with(body).boxed()))
        }
    });
    let served = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .max_headers(HEADERS)
        .max_buf_size(HEAD)
        // A client that has said all still listens.
        .half_close(true)
        .serve_connection(TokioIo::new(stream), answer)
        .with_upgrades()
        .await;
    if let Some(status) = served.as_ref().err().and_then(refused) {
        let status = status.as_u16();
        let length = Some(0);
        log.write(&Access { from: from.ip(), request: "-", status, length, way: "tcp" });
    }
    served
}

/// Returns the status with which a head was answered that could not be read, so that there was no
/// request.
fn refused(error: &hyper::Error) -> Option<StatusCode> {
    if error.is_parse_too_large() {
        let is_address = error.to_string().contains("URI");
        let of_fields = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
        return Some(if is_address { StatusCode::URI_TOO_LONG } else { of_fields });
    }
    error.is_parse().then_some(StatusCode::BAD_REQUEST)
}

/// Permits this process as many open descriptors as it may have: each connection has one, each file
/// and each call over SAP too, and 1024 are the usual limit for a start.
/// Returns how many there are.
fn permit_descriptors() -> usize {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // What it has must do otherwise.
    let _ = setrlimit(Resource::Nofile, limit);
    let now = getrlimit(Resource::Nofile).current;
    now.map_or(usize::MAX, |now| usize::try_from(now).unwrap_or(usize::MAX))
}

/// Returns the number of descriptors that this process has open.
fn open_descriptors() -> usize {
    // The folder is open while it is read.
    std::fs::read_dir("/proc/self/fd").map_or(0, |open| open.count().saturating_sub(1))
}

/// Returns how many connections have enough descriptors, of which `open` are in use.
fn connections_within(descriptors: usize, open: usize) -> usize {
    descriptors.saturating_sub(open) / DESCRIPTORS
}

/// The bytes of the head of a request. The buffer that reads a head bounds it too, but takes more
/// where its bytes come at once.
fn head_len(request: &Request<Incoming>) -> usize {
    let fields = request.headers().iter();
    let fields: usize = fields.map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    // The method, two spaces, the version and the ends of two lines.
    let path = request.uri().path_and_query().map_or(0, |it| it.as_str().len());
    request.method().as_str().len() + path + 14 + fields
}

/// Checks the head of a request before any service sees it.
fn check(request: &Request<Incoming>) -> Result<(), (StatusCode, &'static str)> {
    if head_len(request) > HEAD {
        return Err((StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "the head is too long"));
    }
    host_of(request).map_err(|reason| (StatusCode::BAD_REQUEST, reason))?;
    encoding_of(request.headers())
}

/// Checks that a body is encoded for its transfer in chunks once, and otherwise not at all (RFC
/// 9112, sections 6.1 and 7): whoever it is passed on to would take it for something else.
fn encoding_of(headers: &HeaderMap) -> Result<(), (StatusCode, &'static str)> {
    let lines = headers.get_all(TRANSFER_ENCODING).iter();
    let codings = lines.flat_map(|it| it.as_bytes().split(|byte| *byte == b','));
    let mut codings = codings.map(<[u8]>::trim_ascii).filter(|coding| !coding.is_empty());
    match (codings.next(), codings.next()) {
        (None, _) => Ok(()),
        (Some(only), None) if is_chunked(only) => Ok(()),
        (Some(first), Some(_)) if is_chunked(first) => {
            Err((StatusCode::BAD_REQUEST, "the body is encoded again after its chunks"))
        }
        _ => Err((StatusCode::NOT_IMPLEMENTED, "no Transfer-Encoding but chunked is known")),
    }
}

/// Returns whether a transfer coding is `chunked`.
fn is_chunked(coding: &[u8]) -> bool {
    coding.eq_ignore_ascii_case(b"chunked")
}

/// Checks that a server without TLS may answer for the address of a request: others are not its own
/// (RFC 9110, section 7.4), and a user in an address may hide which host it names (section 4.2.4).
pub(crate) fn check_address(address: &Uri) -> Result<(), (StatusCode, &'static str)> {
    if address.authority().is_some_and(|it| it.as_str().contains('@')) {
        return Err((StatusCode::BAD_REQUEST, "the address names a user"));
    }
    match address.scheme() {
        Some(scheme) if *scheme != Scheme::HTTP => {
            Err((StatusCode::MISDIRECTED_REQUEST, "only addresses of http are served here"))
        }
        _ => Ok(()),
    }
}

/// A reply after which the connection ends.
pub(crate) fn closing(status: StatusCode, text: &str) -> Reply {
    let mut reply = plain(status, text);
    reply.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    reply
}

/// Checks that a request names its host once (RFC 9112, section 3.2): a server and one before it
/// that take different ones serve or keep a wrong file.
fn host_of(request: &Request<Incoming>) -> Result<(), &'static str> {
    let mut hosts = request.headers().get_all(HOST).iter();
    match (hosts.next(), hosts.next()) {
        (None, _) if request.version() < Version::HTTP_11 => Ok(()),
        (None, _) => Err("the request names no Host"),
        (Some(_), Some(_)) => Err("the request names several Hosts"),
        (Some(host), None) if is_host(host.as_bytes()) => Ok(()),
        (Some(_), None) => Err("the Host of the request is none"),
    }
}

/// Tells whether a text is a host with or without a port; it is empty where the address has none.
fn is_host(text: &[u8]) -> bool {
    let authority = Authority::try_from(text);
    text.is_empty() || authority.is_ok_and(|it| !it.as_str().contains('@') && port_of(&it).is_ok())
}

/// Returns the port of an authority, or none if it names none.
///
/// # Errors
/// If what it names is no port.
pub(crate) fn port_of(authority: &Authority) -> Result<Option<u16>, ()> {
    let after = authority.as_str().rsplit('@').next().unwrap_or_default();
    let after = after.strip_prefix(authority.host()).unwrap_or_default();
    match after.strip_prefix(':') {
        None | Some("") => Ok(None),
        Some(digits) if !digits.bytes().all(|it| it.is_ascii_digit()) => Err(()),
        Some(digits) => digits.parse().map(Some).map_err(drop).and_then(|port| match port {
            Some(0) => Err(()),
            port => Ok(port),
        }),
    }
}

fn note(log: &AccessLog, from: SocketAddr, request: &str, is_head: bool, reply: &Reply) {
    let way = reply.extensions().get::<WayNote>().map_or("tcp", |note| note.0.as_str());
    // The reply to HEAD has the length of the file in its head, and no body.
    let length = if is_head { Some(0) } else { reply.body().size_hint().exact() };
    let status = reply.status().as_u16();
    log.write(&Access { from: from.ip(), request, status, length, way });
}

/// A body of these bytes.
pub(crate) fn whole(bytes: impl Into<Bytes>) -> MessageBody {
    Full::new(bytes.into()).map_err(|never: Infallible| match never {}).boxed()
}

pub(crate) fn empty() -> MessageBody {
    Empty::new().map_err(|never: Infallible| match never {}).boxed()
}

/// A reply that consists of its status and a line of text.
pub(crate) fn plain(status: StatusCode, text: &str) -> Reply {
    let mut reply = Response::new(whole(format!("{text}\n")));
    *reply.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    reply.headers_mut().insert(CONTENT_TYPE, plain);
    reply
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_get_the_descriptors_that_are_not_in_use() {
        assert_eq!(connections_within(1_024, 12), 337);
        assert_eq!((connections_within(16, 12), connections_within(8, 12)), (1, 0));
        assert!(open_descriptors() >= 3, "the standard streams are open");
    }

    #[test]
    fn a_server_without_tls_answers_for_addresses_of_http_alone() {
        for (address, status) in [
            ("/a", None),
            ("*", None),
            ("http://a/b", None),
            ("HTTP://a/b@c", None),
            ("https://a/b", Some(StatusCode::MISDIRECTED_REQUEST)),
            ("ftp://a/b", Some(StatusCode::MISDIRECTED_REQUEST)),
            ("http://user@a/b", Some(StatusCode::BAD_REQUEST)),
            ("http://a:1@b/c", Some(StatusCode::BAD_REQUEST)),
        ] {
            let checked = check_address(&address.parse().expect("an address"));
            assert_eq!(checked.err().map(|(status, _)| status), status, "{address}");
        }
    }
}
