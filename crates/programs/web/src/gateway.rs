//! SAP for a server that knows nothing of it.

use std::net::SocketAddr;
use std::sync::Arc;

use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use hyper::header::{CONTENT_ENCODING, HeaderName, HeaderValue, SET_COOKIE};
use hyper::http::uri::{Authority, PathAndQuery, Scheme};
use hyper::{Method, Request, Response, StatusCode, Uri, Version};

use crate::content_range::ContentRange;
use crate::delivery::{BUSY, BodyDelivery, BodySource};
use crate::fetch::{Fetcher, FetcherSettings, SapDirection};
use crate::fetch_error::{FetchError, check_authority};
use crate::forward;
use crate::media_types::media_type;
use crate::offer::{self, SapOffer};
use crate::server::{MessageBody, Reply, WayNote, WebService, check_address, empty, plain, whole};
use crate::sparse::grow;
use crate::upgrade::AskedUpgrade;
use windfall_bodies::LONGEST_BODY;

/// The clients that a request came from.
const FORWARDED: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Passes requests on to a server, and its replies back, over SAP where a client offers that.
pub struct Gateway {
    origin: Authority,
    delivery: Arc<BodyDelivery>,
    fetcher: Fetcher,
    name: String,
}

impl Gateway {
    /// Stands before the server at `origin`, which speaks HTTP over TCP.
    ///
    /// # Errors
    /// If the address is not one of HTTP, or has a path.
    pub fn new(origin: &Uri, delivery: Arc<BodyDelivery>) -> Result<Self, FetchError> {
        let is_plain = origin.scheme() == Some(&Scheme::HTTP) && origin.path() == "/";
        let authority = origin.authority().filter(|_| is_plain).cloned();
        check_authority(origin)?;
        let origin = authority.ok_or_else(|| FetchError::Address(origin.clone()))?;
        let options = windfall_socket::SapOptions::default();
        let types = None;
        let memory = delivery.memory().clone();
        let settings =
            FetcherSettings { options, types, is_precise: false, way: SapDirection::Tcp, memory };
        Ok(Self { origin, delivery, fetcher: Fetcher::new(settings), name: forward::name() })
    }

    fn behind(&self, uri: &Uri) -> Uri {
        let mut parts = uri.clone().into_parts();
        parts.scheme = Some(Scheme::HTTP);
        parts.authority = Some(self.origin.clone());
        parts.path_and_query.get_or_insert(PathAndQuery::from_static("/"));
        Uri::from_parts(parts).unwrap_or_default()
    }

    /// Sends the body over SAP if the offer and the reply permit that.
    async fn deliver(
        &self,
        offer: &SapOffer,
        from: SocketAddr,
        reply: Response<Incoming>,
    ) -> Result<Reply, FetchError> {
        let media_type = media_type(reply.headers());
        // An encoded body would not survive damage, and cookies belong to the reply alone.
        let is_plain = !reply.headers().contains_key(CONTENT_ENCODING)
            && !reply.headers().contains_key(SET_COOKIE);
        let length = reply.body().size_hint().exact();
        let is_short = length.is_some_and(|length| length > 0 && length <= LONGEST_BODY);
        // The damage of a type that is unknown is tolerated by no client, whatever the wildcards.
        let is_known = offer.is_precise || !media_type.is_empty();
        let is_part = reply.status() == StatusCode::PARTIAL_CONTENT;
        let is_taken = is_known && offer.takes(&media_type);
        let part = ContentRange::of(reply.headers());
        // Several parts, and one that is not as long as it says, are the client's to judge.
        let is_one = part.as_ref().is_some_and(|part| Some(part.range.len() as u64) == length);
        let is_whole = reply.status() == StatusCode::OK;
        let is_taken = is_taken && (is_whole || is_part && is_one);
        if !(is_plain && is_short && is_taken) {
            return forward::reply(reply, &self.name).await;
        }
        let (mut head, mut body) = reply.into_parts();
        let mut memory = self.delivery.memory().share();
        let mut bytes = Vec::new();
        while let Some(frame) = body.frame().await {
            let Ok(more) = frame.map_err(|error| FetchError::Body(error.into()))?.into_data()
            else {
                continue;
            };
            let whole = length.unwrap_or_default() as usize;
            while grow(&mut bytes, more.len(), &mut memory).is_err() {
                if self.delivery.make_room(from.ip(), whole).await.is_err() {
                    let busy = HeaderValue::from_static(BUSY);
                    head.headers.insert(offer::FALLBACK, busy);
                    let first = [memory.bind(bytes), more];
                    let mut reply = forward::reply_begun(head, first, body, &self.name);
                    reply.extensions_mut().insert(WayNote(format!("tcp: {BUSY}")));
                    return Ok(reply);
                }
            }
            bytes.extend_from_slice(&more);
        }
        // The reply holds them while they travel, by whatever way.
        let bytes = memory.bind(bytes);
        forward::strip(&mut head.headers);
        let _ = forward::sign(&mut head.headers, head.version, &self.name);
        head.version = Version::HTTP_11;
        let mut reply = Response::from_parts(head, empty());
        let length = reply.headers_mut().remove(hyper::header::CONTENT_LENGTH);
        let source = BodySource::Memory(bytes.clone());
        let peer = from.ip();
        // The structure of a file is told by its first bytes: other parts are exact.
        let begins = |of: &ContentRange| of.range.start == 0;
        let is_precise = offer.is_precise || is_part && !part.as_ref().is_some_and(begins);
        let offer = &SapOffer { is_precise, ..offer.clone() };
        if !self.delivery.deliver(offer, peer, &media_type, source, &mut reply).await {
            let length = length.map(|length| (hyper::header::CONTENT_LENGTH, length));
            reply.headers_mut().extend(length);
            *reply.body_mut() = whole(bytes);
        }
        Ok(reply)
    }

    async fn pass_on(&self, mut request: Request<Incoming>, from: SocketAddr) -> Reply {
        let upgrade = AskedUpgrade::of(&mut request);
        let offer = SapOffer::from_headers(request.headers());
        let offer = offer.filter(|_| request.method() == Method::GET);
        let (mut head, body) = request.into_parts();
        forward::name_the_host(&mut head);
        forward::aim(&mut head);
        head.uri = self.behind(&head.uri);
        forward::strip(&mut head.headers);
        offer::ALL.iter().for_each(|name| _ = head.headers.remove(name));
        if !forward::sign(&mut head.headers, head.version, &self.name) {
            return plain(StatusCode::LOOP_DETECTED, "the gateway stands before itself");
        }
        if let Some(reply) = forward::last_stop(&head.method, &mut head.headers) {
            return reply;
        }
        if let Ok(client) = HeaderValue::from_str(&from.ip().to_string()) {
            head.headers.append(FORWARDED, client);
        }
        head.version = Version::HTTP_11;
        upgrade.iter().for_each(|upgrade| upgrade.ask(&mut head));
        let (body, fault) = forward::request_body(&mut head.headers, body);
        let request = Request::from_parts(head, body);
        let mut reply = self.fetcher.pass_on(request).await;
        if let Ok(reply) = &mut reply {
            // The server behind knows nothing of SAP, whatever it says.
            offer::ALL.iter().for_each(|name| _ = reply.headers_mut().remove(name));
        }
        let is_changed =
            |reply: &Response<Incoming>| reply.status() == StatusCode::SWITCHING_PROTOCOLS;
        let reply = match (reply, upgrade, offer) {
            (Ok(reply), Some(upgrade), _) if is_changed(&reply) => upgrade.join(reply, &self.name),
            (Ok(reply), _, Some(offer)) => self.deliver(&offer, from, reply).await,
            (Ok(reply), _, None) => forward::reply(reply, &self.name).await,
            (Err(error), ..) => Err(error),
        };
        reply
            .unwrap_or_else(|error| fault.reply(&error).unwrap_or_else(|| forward::failure(&error)))
    }
}

impl WebService for Gateway {
    async fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
        from: SocketAddr,
    ) -> Response<MessageBody> {
        if request.method() == Method::CONNECT {
            return plain(StatusCode::METHOD_NOT_ALLOWED, "this is no proxy");
        }
        if let Err((status, reason)) = check_address(request.uri()) {
            return plain(status, reason);
        }
        self.pass_on(request, from).await
    }
}
