//! Asks for bodies, receives them over SAP or TCP, and repairs them.

use core::ops::Range;
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::header::{
    CACHE_CONTROL, CONTENT_LENGTH, CONTENT_RANGE, ETAG, HeaderValue, IF_RANGE, LAST_MODIFIED, RANGE,
};
use hyper::http::response;
use hyper::{HeaderMap, Method, Request, Response, StatusCode, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{HttpConnector, HttpInfo};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;
use windfall_socket::SapOptions;

use crate::assembly::{BodyDamage, DeliveredBody};
use crate::calls::{CallPort, CallPorts};
use crate::control::TransferToken;
use crate::fetch_error::{BODY, FetchError, check_authority};
use crate::media_types::TypeList;
use crate::offer::{self, Opener, SapOffer};
use crate::receiving::Link;
use crate::redirection::redirection;
use crate::repair::{Repair, wanted};
use crate::reply::{again, expected, has_ended, named};
use crate::server::{MessageBody, empty};

/// The time in which a server answers the connection, and then the request.
const CONNECT: Duration = Duration::from_secs(10);
const HEAD: Duration = Duration::from_secs(60);
/// Repairs of a picture may show further damage, but not for ever.
const ROUNDS: usize = 3;
/// The redirections that a request follows.
const REDIRECTIONS: usize = 10;

/// The way in which bodies are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Way {
    /// Over TCP alone.
    Tcp,
    /// Over SAP by a call of the server, at this port, or the following ones for several bodies at
    /// once; 0: any.
    ServerCalls(u16),
    /// Over SAP on one connection that this end opens, for all bodies of a server.
    #[default]
    ClientOpens,
}

/// The settings of a client.
#[derive(Clone, Debug)]
pub struct FetcherSettings {
    /// The profile, the carrier and the key of SAP.
    pub options: SapOptions,
    /// The types whose damage is tolerated; unset: all.
    pub types: Option<TypeList>,
    /// Asks for precise messages.
    pub is_precise: bool,
    /// The way of the bodies.
    pub way: Way,
}

/// The body of a reply, by the way that it took.
pub enum FetchedBody {
    /// The body arrives over TCP.
    Tcp(Incoming),
    /// The body has arrived over SAP.
    Sap(DeliveredBody),
}

impl FetchedBody {
    /// Returns the next bytes of a body over TCP, or all at once of one over SAP; `None` at its
    /// end.
    ///
    /// # Errors
    /// If the body breaks off, or no byte of it comes over TCP for 30 s.
    pub async fn next(&mut self) -> Result<Option<Bytes>, FetchError> {
        match self {
            Self::Tcp(body) => loop {
                let frame = tokio::time::timeout(BODY, body.frame()).await;
                match frame.map_err(|_| FetchError::Stalled)? {
                    None => return Ok(None),
                    Some(Err(error)) => return Err(FetchError::Body(error.into())),
                    Some(Ok(frame)) => {
                        if let Ok(data) = frame.into_data() {
                            return Ok(Some(data));
                        }
                    }
                }
            },
            Self::Sap(body) => {
                let bytes = core::mem::take(&mut body.bytes);
                Ok(Some(bytes).filter(|bytes| !bytes.is_empty()))
            }
        }
    }
}

/// A reply: its head, without the headers of SAP, and its body.
pub struct Fetched {
    /// The head of the reply.
    pub head: response::Parts,
    /// The body of the reply.
    pub body: FetchedBody,
    /// The reason for which the body does not come over SAP, as the server says it, or why this end
    /// could not ask for it.
    pub fallback: Option<String>,
}

/// A client that receives bodies over SAP where the server knows it.
pub struct Fetcher {
    settings: FetcherSettings,
    client: Client<HttpConnector, MessageBody>,
    /// The connections that are shared by the bodies of a server, by its authority.
    links: Mutex<BTreeMap<String, Arc<Link>>>,
    calls: CallPorts,
}

/// A body that is expected on a connection that is open.
struct OpenConnection {
    token: TransferToken,
    transfer: u16,
    body: oneshot::Receiver<Option<DeliveredBody>>,
}

impl Fetcher {
    /// Makes a client; it needs a runtime of tokio when it is used.
    #[must_use]
    pub fn new(settings: FetcherSettings) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(CONNECT));
        connector.set_nodelay(true);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(Duration::from_secs(30))
            .build(connector);
        Self { settings, client, links: Mutex::default(), calls: CallPorts::default() }
    }

    /// Asks for a body as [`Fetcher::get`] does, also at another address where the server says so
    /// (RFC 9110, section 15.4); returns the address that brought it.
    ///
    /// # Errors
    /// As [`Fetcher::get`]; if there is no end of it, or the other address is not one of HTTP.
    pub async fn follow(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        progress: &Arc<AtomicU64>,
    ) -> Result<(Uri, Fetched), FetchError> {
        let mut at = uri.clone();
        for left in (0..=REDIRECTIONS).rev() {
            let fetched = self.get(&at, headers, progress).await?;
            match redirection(&at, &fetched.head)? {
                None => return Ok((at, fetched)),
                Some(to) if left == 0 => {
                    let (status, to) = (fetched.head.status, to.to_string());
                    return Err(FetchError::Redirection(status, to, "it is the eleventh in a row"));
                }
                Some(to) => at = to,
            }
        }
        Err(FetchError::Address(at))
    }

    //= S0.25
    /// Asks for a body with GET, over SAP if the settings say so and the server takes it.
    /// `progress` counts the bytes that have arrived over SAP.
    ///
    /// # Errors
    /// If the server cannot be reached or does not answer.
    pub async fn get(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        progress: &Arc<AtomicU64>,
    ) -> Result<Fetched, FetchError> {
        // A part of a file is asked for to repair it, and is precise.
        if self.settings.way == Way::Tcp || headers.contains_key(RANGE) {
            return self.over_tcp(uri, headers).await;
        }
        let listener = match self.settings.way {
            Way::ServerCalls(port) => match self.listen(uri, port).await {
                // Where the port is taken, or this end has too many sockets, there is TCP.
                Err(FetchError::Sap(error)) => {
                    let fetched = self.over_tcp(uri, headers).await?;
                    return Ok(Fetched { fallback: Some(error.to_string()), ..fetched });
                }
                listener => Some(listener?),
            },
            Way::ClientOpens | Way::Tcp => None,
        };
        let open = match &listener {
            None => self.open_connection(uri, progress),
            Some(_) => None,
        };
        let opener = match &listener {
            Some(listener) => Opener::Server(listener.local_addr()?.port()),
            None => Opener::Client { open: open.as_ref().map(|open| (open.token, open.transfer)) },
        };
        let (types, is_precise) = (self.settings.types.clone(), self.settings.is_precise);
        let mut asking = headers.clone();
        SapOffer { types, is_precise, opener }.write(&mut asking);
        let reply = self.send(uri, &asking).await?;
        let Some((token, length)) = named(reply.headers()).map_err(FetchError::Contradicts)? else {
            return of_tcp(reply);
        };
        let named_connection = open.as_ref().map(|open| open.token);
        let server = reply.extensions().get::<HttpInfo>().map(HttpInfo::remote_addr);
        let server = server.ok_or_else(|| FetchError::Address(uri.clone()))?;
        let port = number(reply.headers(), &offer::PORT).unwrap_or(server.port());
        let received = match (listener, open.filter(|open| open.token == token)) {
            (Some(listener), _) => self.called(listener, server.ip(), token, progress).await,
            (None, Some(open)) => open.body.await.ok().flatten(),
            (None, None) => {
                // The server does not know the connection that was named: it has ended.
                if let Some(named) = named_connection {
                    self.links().retain(|_, link| link.name() != Some(named));
                }
                let server = SocketAddr::new(server.ip(), port);
                self.opened(uri, server, token, progress).await
            }
        };
        match received {
            Some(body) if length.is_none_or(|length| length == body.bytes.len()) => {
                Ok(of_sap(reply.into_parts().0, body))
            }
            Some(body) => Err(FetchError::Contradicts(format!(
                "{} is {}, but the body that came has {} bytes",
                offer::LENGTH,
                length.unwrap_or_default(),
                body.bytes.len()
            ))),
            // The reply came without the body, which only a new request can bring.
            None => {
                let fetched = self.over_tcp(uri, headers).await?;
                let fallback = fetched.fallback.or_else(|| Some("no-answer".to_owned()));
                Ok(Fetched { fallback, ..fetched })
            }
        }
    }

    /// Sends a request over TCP alone, as it is.
    ///
    /// # Errors
    /// If the server cannot be reached, does not answer, or answers with what was not asked for.
    pub async fn pass_on(
        &self,
        request: Request<MessageBody>,
    ) -> Result<Response<Incoming>, FetchError> {
        check_authority(request.uri())?;
        let again = again(&request);
        let reply = match (self.ask(request).await, again) {
            // The server may have ended a connection that was kept, while the request was on it.
            (Err(FetchError::Request(error)), Some(again)) if has_ended(&error) => {
                self.ask(again).await?
            }
            (reply, _) => reply?,
        };
        expected(&reply).map_err(FetchError::Unasked)?;
        Ok(reply)
    }

    async fn ask(&self, request: Request<MessageBody>) -> Result<Response<Incoming>, FetchError> {
        let reply = tokio::time::timeout(HEAD, self.client.request(request)).await;
        Ok(reply.map_err(|_| FetchError::TimedOut)??)
    }

    async fn send(&self, uri: &Uri, headers: &HeaderMap) -> Result<Response<Incoming>, FetchError> {
        let mut request = Request::new(empty());
        *request.method_mut() = Method::GET;
        *request.uri_mut() = uri.clone();
        *request.headers_mut() = headers.clone();
        self.pass_on(request).await
    }

    async fn over_tcp(&self, uri: &Uri, headers: &HeaderMap) -> Result<Fetched, FetchError> {
        of_tcp(self.send(uri, headers).await?)
    }

    /// Listens in the family of the server's first address.
    async fn listen(&self, uri: &Uri, port: u16) -> Result<CallPort, FetchError> {
        let host = uri.host().ok_or_else(|| FetchError::Address(uri.clone()))?;
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let found = tokio::net::lookup_host((host, 0)).await.ok();
        let first = found.and_then(|mut found| found.next());
        let on = match first {
            Some(SocketAddr::V6(_)) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
            _ => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        };
        Ok(self.calls.listen(&self.settings.options, SocketAddr::new(on, port))?)
    }

    /// Receives from a server that has called.
    async fn called(
        &self,
        listener: CallPort,
        server: IpAddr,
        token: TransferToken,
        progress: &Arc<AtomicU64>,
    ) -> Option<DeliveredBody> {
        let accept = move || (listener.accept(server), listener);
        // The port is this body's until it has come.
        let (socket, _listener) = spawn_blocking(accept).await.ok()?;
        let link = Link::new(socket?);
        let (_, body) = link.expect(token, Arc::clone(progress))?;
        link.start();
        body.await.ok()?
    }

    /// Expects a body on the connection to the server that is open, if there is one.
    fn open_connection(&self, uri: &Uri, progress: &Arc<AtomicU64>) -> Option<OpenConnection> {
        let link = self.links().get(uri.authority()?.as_str()).cloned()?;
        let token = link.name()?;
        let (transfer, body) = link.expect(token, Arc::clone(progress))?;
        Some(OpenConnection { token, transfer, body })
    }

    /// Receives on the connection to a server that this end has opened, or opens now.
    async fn opened(
        &self,
        uri: &Uri,
        server: SocketAddr,
        token: TransferToken,
        progress: &Arc<AtomicU64>,
    ) -> Option<DeliveredBody> {
        let name = uri.authority()?.as_str().to_owned();
        let known = self.links().get(&name).filter(|link| link.server() == server).cloned();
        let expect = |link: &Link| link.expect(token, Arc::clone(progress));
        let (link, (transfer, body)) = match known.and_then(|link| Some((expect(&link)?, link))) {
            Some((expected, link)) => (link, expected),
            None => {
                let options = self.settings.options;
                let connect = move || options.connect(server);
                let socket = spawn_blocking(connect).await.ok()?.ok()?;
                let link = Link::new(socket);
                link.start();
                self.links().insert(name, Arc::clone(&link));
                let expected = expect(&link)?;
                (link, expected)
            }
        };
        let asking = Arc::clone(&link);
        spawn_blocking(move || asking.ask(transfer, token)).await.ok()?.ok()?;
        let body = body.await.ok().flatten();
        if body.is_none() {
            self.links().retain(|_, known| !Arc::ptr_eq(known, &link));
        }
        // The server names the connection after the first transfer that it was asked for.
        if body.is_some() && transfer == 1 {
            link.set_name(token);
        }
        body
    }

    fn links(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Arc<Link>>> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }

    //= S0.26
    /// Asks again, precisely, for the damage that `repair` names, and writes it into the body;
    /// returns the number of bytes that came again. `headers` are those of the first request,
    /// `head` that of its reply.
    ///
    /// # Errors
    /// If the file has changed, or the server cannot be reached; the body stays as it was then, but
    /// for the ranges that have come.
    pub async fn repair(
        &self,
        repair: Repair,
        uri: &Uri,
        (headers, head): (&HeaderMap, &response::Parts),
        body: &mut DeliveredBody,
    ) -> Result<u64, FetchError> {
        let mut repaired = 0;
        for _ in 0..ROUNDS {
            let ranges = wanted(repair, body);
            if ranges.is_empty() {
                break;
            }
            let mut bytes = BytesMut::from(&body.bytes[..]);
            for range in ranges {
                let (came, part) = self.part(uri, (headers, head), &range, bytes.len()).await?;
                bytes[came.clone()].copy_from_slice(&part);
                body.damage.repaired(&came);
                repaired += part.len() as u64;
                if came.len() == bytes.len() {
                    body.damage = BodyDamage::default();
                    break;
                }
            }
            body.bytes = bytes.freeze();
            body.ended = true;
        }
        Ok(repaired)
    }

    /// Asks for a range of the same version of a file; returns what came, which is the whole file
    /// where the server knows no ranges.
    async fn part(
        &self,
        uri: &Uri,
        (headers, head): (&HeaderMap, &response::Parts),
        range: &Range<usize>,
        of: usize,
    ) -> Result<(Range<usize>, Bytes), FetchError> {
        let mut asking = headers.clone();
        let (first, last) = (range.start, range.end - 1);
        set(&mut asking, RANGE, &format!("bytes={first}-{last}"));
        let tag = head.headers.get(ETAG).filter(|tag| !tag.as_bytes().starts_with(b"W/"));
        let version = tag.or(head.headers.get(LAST_MODIFIED));
        asking.extend(version.map(|version| (IF_RANGE, version.clone())));
        let reply = self.send(uri, &asking).await?;
        let expected = format!("bytes {first}-{last}/{of}");
        let is_part = reply.status() == StatusCode::PARTIAL_CONTENT
            && reply
                .headers()
                .get(CONTENT_RANGE)
                .is_some_and(|it| it.as_bytes() == expected.as_bytes());
        let is_same = [ETAG, LAST_MODIFIED]
            .iter()
            .all(|name| reply.headers().get(name) == head.headers.get(name));
        let came = match reply.status() {
            _ if is_part => range.clone(),
            StatusCode::OK if is_same => 0..of,
            status => return Err(FetchError::Changed(status)),
        };
        let (mut body, mut part) = (FetchedBody::Tcp(reply.into_body()), BytesMut::new());
        while part.len() <= came.len()
            && let Some(more) = body.next().await?
        {
            part.extend_from_slice(&more);
        }
        if part.len() != came.len() {
            return Err(FetchError::Body(io::Error::from(io::ErrorKind::UnexpectedEof).into()));
        }
        Ok((came, part.freeze()))
    }
}

/// A reply whose body comes over TCP.
fn of_tcp(reply: Response<Incoming>) -> Result<Fetched, FetchError> {
    let (mut head, body) = reply.into_parts();
    if head.headers.contains_key(&offer::TOKEN) {
        let why = format!("{}, which was not asked for", offer::TOKEN);
        return Err(FetchError::Contradicts(why));
    }
    let fallback = head.headers.get(&offer::FALLBACK).and_then(|it| it.to_str().ok());
    let fallback = fallback.map(str::to_owned);
    offer::ALL.iter().for_each(|name| _ = head.headers.remove(name));
    Ok(Fetched { head, body: FetchedBody::Tcp(body), fallback })
}

/// A reply whose body has come over SAP: with the headers that it would have had over TCP.
fn of_sap(mut head: response::Parts, body: DeliveredBody) -> Fetched {
    let own = head.headers.remove(&offer::CACHE_CONTROL);
    head.headers.remove(CACHE_CONTROL);
    head.headers.extend(own.map(|own| (CACHE_CONTROL, own)));
    offer::ALL.iter().for_each(|name| _ = head.headers.remove(name));
    head.headers.insert(CONTENT_LENGTH, body.bytes.len().into());
    Fetched { head, body: FetchedBody::Sap(body), fallback: None }
}

fn number(headers: &HeaderMap, name: &hyper::header::HeaderName) -> Option<u16> {
    headers.get(name)?.to_str().ok()?.parse().ok()
}

fn set(headers: &mut HeaderMap, name: hyper::header::HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}
