//! Asks for bodies, receives them over SAP or TCP, and repairs them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use hyper::header::{CACHE_CONTROL, CONTENT_LENGTH, HeaderValue, RANGE, UPGRADE};
use hyper::http::response;
use hyper::{HeaderMap, Method, Request, Response, StatusCode, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{HttpConnector, HttpInfo};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use windfall_socket::SapOptions;

use crate::arriving::ArrivingBody;
use crate::assembly::DeliveredBody;
use crate::blocking::blocking;
use crate::calls::{CallPort, CallPorts};
use crate::connection_pool::{KEYS_DIFFER, SapConnectionPool};
use crate::content_range::ContentRange;
use crate::fetch_error::{BODY, FetchError, check_authority};
use crate::later_version::AnyMinorVersion;
use crate::media_types::{TypeList, media_type};
use crate::memory::BodyMemory;
use crate::offer::{self, SapOffer, SapOpener};
use crate::receiving::{AskedBody, Delivery, Expected, Link, NO_ANSWER, NO_THREAD};
use crate::redirection::{of_other_host, redirection};
use crate::reply::{
    expected, has_ended, one_length, repeatable_request, sap_transfer_headers, unreadable,
};
use crate::resolver::{Resolver, addresses};
use crate::server::{MessageBody, empty};
use windfall_bodies::TransferToken;

mod parts;
mod retry;

use self::parts::{Extent, check_own_range};

/// The time in which a server answers the connection, and then the request.
const CONNECT: Duration = Duration::from_secs(10);
const HEAD: Duration = Duration::from_secs(60);
/// The redirections that a request follows.
const REDIRECTIONS: usize = 10;

/// The way in which bodies are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SapDirection {
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
    pub way: SapDirection,
    /// The memory that all bodies may take together.
    pub memory: BodyMemory,
}

/// The body of a reply, by the way that it took.
pub enum FetchedBody {
    /// The body arrives over TCP.
    Tcp(Incoming),
    /// The body has arrived over SAP.
    Sap(DeliveredBody),
    /// The body arrives over SAP, precisely.
    Arriving(ArrivingBody),
}

impl FetchedBody {
    /// Returns the next bytes of a body, with zeros for those that did not arrive over SAP; `None`
    /// at its end.
    ///
    /// # Errors
    /// If the body breaks off, whose rest [`Fetcher::next`] asks for where it came over SAP, or no
    /// byte of it comes over TCP for 30 s.
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
            Self::Arriving(body) => body.next().await,
            Self::Sap(body) => Ok(body.bytes.next_chunk()),
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
    /// The bytes that were read.
    taken: u64,
    /// The times in a row that the body has broken off without a byte.
    breaks: u32,
    /// The end of what arrives now, and that of the file.
    extent: Extent,
}

impl FetchedBody {
    /// Returns the bytes that came over TCP in place of a transfer that broke off.
    #[must_use]
    pub fn repaired(&self) -> u64 {
        match self {
            Self::Arriving(body) if !body.lacks_memory() => body.repaired(),
            Self::Arriving(_) | Self::Sap(_) | Self::Tcp(_) => 0,
        }
    }
}

impl Fetched {
    fn new(head: response::Parts, body: FetchedBody, fallback: Option<String>) -> Self {
        let extent = Extent::of(head.status, &head.headers);
        Self { head, body, fallback, taken: 0, breaks: 0, extent }
    }

    /// Returns the media type, as the server says it.
    #[must_use]
    pub fn media_type(&self) -> String {
        media_type(&self.head.headers)
    }

    /// Returns the length of the body, if it is known.
    #[must_use]
    pub fn length(&self) -> Option<u64> {
        match &self.body {
            FetchedBody::Tcp(body) => body.size_hint().exact(),
            FetchedBody::Sap(body) => Some(body.length() as u64),
            FetchedBody::Arriving(body) => Some(body.length() as u64),
        }
    }

    /// Returns the position of the body in its file, which is not 0 for a part of it.
    #[must_use]
    pub fn position(&self) -> u64 {
        let is_part = self.head.status == StatusCode::PARTIAL_CONTENT;
        let part = ContentRange::of(&self.head.headers).filter(|_| is_part);
        part.map_or(0, |part| part.range.start as u64)
    }

    /// Checks that this is the file that was asked for, by a way that a client with a key permits.
    fn check(&self, has_key: bool, asked: &HeaderMap) -> Result<(), FetchError> {
        if has_key && self.fallback.as_deref() == Some(KEYS_DIFFER) {
            return Err(FetchError::KeysDiffer);
        }
        match self.head.status {
            StatusCode::PARTIAL_CONTENT if asked.contains_key(RANGE) => self.check_part(asked),
            // A part that was not asked for is not the file.
            StatusCode::PARTIAL_CONTENT => Err(FetchError::Status(self.head.status)),
            StatusCode::OK | StatusCode::NON_AUTHORITATIVE_INFORMATION => Ok(()),
            // Others have not the file, but none in its place, or a message.
            status if status.is_success() && !asked.contains_key(RANGE) => Ok(()),
            status => Err(FetchError::Status(status)),
        }
    }
}

/// A client that receives bodies over SAP where the server knows it.
pub struct Fetcher {
    settings: FetcherSettings,
    client: HttpClient,
    /// Keeps no connection, so that each request has a new one.
    unpooled: HttpClient,
    /// The connections that are shared by the bodies of a server.
    links: SapConnectionPool,
    calls: CallPorts,
}

type HttpClient = Client<AnyMinorVersion, MessageBody>;

/// A body that is expected on a connection that is open.
struct OpenConnection {
    token: TransferToken,
    transfer: u16,
    body: Expected,
}

impl Fetcher {
    /// Makes a client; it needs a runtime of tokio when it is used.
    #[must_use]
    pub fn new(settings: FetcherSettings) -> Self {
        let mut connector = HttpConnector::new_with_resolver(Resolver);
        connector.set_connect_timeout(Some(CONNECT));
        connector.set_nodelay(true);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(Duration::from_secs(30))
            .build(AnyMinorVersion(connector.clone()));
        let unpooled = Client::builder(TokioExecutor::new())
            .pool_max_idle_per_host(0)
            .build(AnyMinorVersion(connector));
        let links = SapConnectionPool::default();
        Self { settings, client, unpooled, links, calls: CallPorts::default() }
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
            let fetched = self.get(&at, &of_other_host(headers, uri, &at), progress).await?;
            match redirection(&at, &fetched.head)? {
                None => return Ok((at, fetched)),
                Some(to) if left == 0 => {
                    let status = fetched.head.status;
                    let to = to.to_string();
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
        self.get_as(self.settings.is_precise, uri, headers, progress).await
    }

    async fn get_as(
        &self,
        is_precise: bool,
        uri: &Uri,
        headers: &HeaderMap,
        progress: &Arc<AtomicU64>,
    ) -> Result<Fetched, FetchError> {
        // Several parts come in one body of their own kind.
        let ranges = headers.get_all(RANGE).iter();
        let are_several = ranges.filter(|it| it.as_bytes().contains(&b',')).count() > 0;
        if self.settings.way == SapDirection::Tcp || are_several {
            return self.over_tcp(uri, headers).await;
        }
        let listener = match self.settings.way {
            SapDirection::ServerCalls(port) => match self.listen(uri, port).await {
                // Where the port is taken, or this end has too many sockets, there is TCP.
                Err(FetchError::Sap(error)) => {
                    return self.fall_back_to_tcp(uri, headers, &error.to_string()).await;
                }
                listener => Some(listener?),
            },
            SapDirection::ClientOpens | SapDirection::Tcp => {
                let server = uri.authority().map_or("", |authority| authority.as_str());
                if let Some(reason) = self.links.failure(server) {
                    return self.fall_back_to_tcp(uri, headers, reason).await;
                }
                None
            }
        };
        let open = match &listener {
            None => self.open_connection(uri, is_precise, progress),
            Some(_) => None,
        };
        let opener = match &listener {
            Some(listener) => SapOpener::Server(listener.local_addr()?.port()),
            None => {
                SapOpener::Client { open: open.as_ref().map(|open| (open.token, open.transfer)) }
            }
        };
        let types = self.settings.types.clone();
        let mut asking = headers.clone();
        SapOffer { types, is_precise, opener, forbids_change: false }.write(&mut asking);
        let reply = self.send(uri, &asking).await?;
        let Some((token, length)) =
            sap_transfer_headers(reply.headers()).map_err(FetchError::Contradicts)?
        else {
            return of_tcp(reply);
        };
        let named_connection = open.as_ref().map(|open| open.token);
        let server = reply.extensions().get::<HttpInfo>().map(HttpInfo::remote_addr);
        let server = server.ok_or_else(|| FetchError::Address(uri.clone()))?;
        let port = number(reply.headers(), &offer::PORT).unwrap_or(server.port());
        let asked = AskedBody { token, is_precise, progress: Arc::clone(progress) };
        let received = match (listener, open.filter(|open| open.token == token)) {
            (Some(listener), _) => self.called(listener, server.ip(), &asked).await,
            (None, Some(open)) => open.body.complete().await,
            (None, None) => {
                // The server does not know the connection that was named: it has ended.
                if let Some(named) = named_connection {
                    self.links.forget_named(named);
                }
                let server = SocketAddr::new(server.ip(), port);
                self.opened(uri, server, &asked).await
            }
        };
        match received {
            Ok(body) => {
                check_length(length, body.len())?;
                check_own_range(reply.status(), reply.headers(), Some(body.len() as u64))?;
                Ok(of_sap(reply.into_parts().0, body))
            }
            // The reply came without the body, which only a new request can bring.
            Err(reason) => self.fall_back_to_tcp(uri, headers, &reason).await,
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
        let asks = request.headers().contains_key(UPGRADE);
        let again = repeatable_request(&request);
        let mut reply = match (ask(&self.client, request).await, again) {
            // The server may have ended a connection that was kept, while the request was on it.
            // Other connections that were kept may have ended too.
            (Err(FetchError::Request(error)), Some(again)) if has_ended(&error) => {
                ask(&self.unpooled, again).await?
            }
            // Or it has said before that no request came (RFC 9110, section 15.5.9).
            (Ok(reply), Some(again)) if reply.status() == StatusCode::REQUEST_TIMEOUT => {
                ask(&self.unpooled, again).await?
            }
            (reply, _) => reply?,
        };
        expected(&reply, asks).map_err(FetchError::Unasked)?;
        one_length(reply.headers_mut()).map_err(FetchError::Unasked)?;
        Ok(reply)
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

    /// Asks over TCP in place of SAP, for this reason unless the server has one of its own.
    async fn fall_back_to_tcp(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        reason: &str,
    ) -> Result<Fetched, FetchError> {
        let fetched = self.over_tcp(uri, headers).await?;
        let fallback = fetched.fallback.or_else(|| Some(reason.to_owned()));
        Ok(Fetched { fallback, ..fetched })
    }

    /// Listens in the family of the server's first address.
    async fn listen(&self, uri: &Uri, port: u16) -> Result<CallPort, FetchError> {
        let host = uri.host().ok_or_else(|| FetchError::Address(uri.clone()))?;
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let first = addresses(host, 0).await.ok().and_then(|found| found.first().copied());
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
        asked: &AskedBody,
    ) -> Result<Delivery, String> {
        let accept = move || (listener.accept(server), listener);
        // The port is this body's until it has come.
        let (socket, _listener) = blocking(accept).await.map_err(|_| NO_THREAD)?;
        let link = Link::new(socket.ok_or(NO_ANSWER)?, self.settings.memory.clone());
        let expected = link.expect(asked);
        let (_, body) = expected.ok_or(NO_ANSWER)?;
        link.start().map_err(|_| NO_THREAD)?;
        body.complete().await
    }

    /// Expects a body on the connection to the server that is open, if there is one.
    fn open_connection(
        &self,
        uri: &Uri,
        is_precise: bool,
        progress: &Arc<AtomicU64>,
    ) -> Option<OpenConnection> {
        let link = self.links.known(uri.authority()?.as_str())?;
        let token = link.name()?;
        let progress = Arc::clone(progress);
        let (transfer, body) = link.expect(&AskedBody { token, is_precise, progress })?;
        Some(OpenConnection { token, transfer, body })
    }

    /// Receives on the connection to a server that this end has opened, or opens now.
    async fn opened(
        &self,
        uri: &Uri,
        server: SocketAddr,
        asked: &AskedBody,
    ) -> Result<Delivery, String> {
        let name = uri.authority().ok_or(NO_ANSWER)?.as_str();
        let options = self.settings.options;
        let asked = self.links.ask(name, server, options, &self.settings.memory, asked);
        let (link, body) = asked.await?;
        let body = body.complete().await;
        if body.is_err() {
            self.links.forget(&link);
        }
        body
    }
}

async fn ask(
    client: &HttpClient,
    request: Request<MessageBody>,
) -> Result<Response<Incoming>, FetchError> {
    let reply = tokio::time::timeout(HEAD, client.request(request)).await;
    let reply = reply.map_err(|_| FetchError::TimedOut)?;
    reply.map_err(|error| match unreadable(&error) {
        Some(what) => FetchError::Unasked(what.to_owned()),
        None => error.into(),
    })
}

/// Returns the position in its file of a body of this length, and the length of the file: others
/// than 0 and this length are those of a part.
fn place_of(head: &response::Parts, length: usize) -> (usize, usize) {
    let part =
        (head.status == StatusCode::PARTIAL_CONTENT).then(|| ContentRange::of(&head.headers));
    let part = part.flatten().filter(|part| part.range.len() == length);
    part.map_or((0, length), |part| (part.range.start, part.of.unwrap_or(part.range.end)))
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
    Ok(Fetched::new(head, FetchedBody::Tcp(body), fallback))
}

/// Checks that a body has the length that the reply names.
fn check_length(named: Option<usize>, came: usize) -> Result<(), FetchError> {
    match named.filter(|named| *named != came) {
        None => Ok(()),
        Some(named) => Err(FetchError::Contradicts(format!(
            "{} is {named}, but the body that came has {came} bytes",
            offer::LENGTH,
        ))),
    }
}

/// A reply whose body has come over SAP, or begins to: with the headers that it would have had over
/// TCP.
fn of_sap(mut head: response::Parts, body: Delivery) -> Fetched {
    let own = head.headers.remove(&offer::CACHE_CONTROL);
    head.headers.remove(CACHE_CONTROL);
    head.headers.extend(own.map(|own| (CACHE_CONTROL, own)));
    offer::ALL.iter().for_each(|name| _ = head.headers.remove(name));
    head.headers.insert(CONTENT_LENGTH, body.len().into());
    let body = match body {
        Delivery::Whole(body) => FetchedBody::Sap(body),
        Delivery::Arriving(body) => FetchedBody::Arriving(body),
    };
    Fetched::new(head, body, None)
}

fn number(headers: &HeaderMap, name: &hyper::header::HeaderName) -> Option<u16> {
    headers.get(name)?.to_str().ok()?.parse().ok()
}

fn set(headers: &mut HeaderMap, name: hyper::header::HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}
