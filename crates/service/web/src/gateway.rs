//! SAP for a server that knows nothing of it.

use std::net::SocketAddr;
use std::sync::Arc;

use http_body_util::{BodyExt as _, Limited};
use hyper::body::{Body as _, Incoming};
use hyper::header::{CONTENT_ENCODING, HeaderName, HeaderValue, SET_COOKIE};
use hyper::http::uri::{Authority, PathAndQuery, Scheme};
use hyper::{Method, Request, Response, StatusCode, Uri, Version};

use crate::delivery::{BodyDelivery, BodySource};
use crate::fetch::{Fetcher, FetcherSettings, Way};
use crate::fetch_error::{FetchError, check_authority};
use crate::forward;
use crate::media_types::media_type;
use crate::offer::{self, SapOffer};
use crate::server::{MessageBody, Reply, WebService, empty, plain, whole};
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
        let (options, types) = (windfall_socket::SapOptions::default(), None);
        let settings = FetcherSettings { options, types, is_precise: false, way: Way::Tcp };
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
        let is_taken = reply.status() == StatusCode::OK && is_known && offer.takes(&media_type);
        if !(is_plain && is_short && is_taken) {
            return forward::reply(reply, &self.name).await;
        }
        let (mut head, body) = reply.into_parts();
        let bytes = Limited::new(body, LONGEST_BODY as usize).collect().await;
        let bytes = bytes.map_err(FetchError::Body)?.to_bytes();
        forward::strip(&mut head.headers);
        let _ = forward::sign(&mut head.headers, head.version, &self.name);
        head.version = Version::HTTP_11;
        let mut reply = Response::from_parts(head, empty());
        let length = reply.headers_mut().remove(hyper::header::CONTENT_LENGTH);
        let source = BodySource::Memory(bytes.clone());
        let peer = from.ip();
        if !self.delivery.deliver(offer, peer, &media_type, source, &mut reply).await {
            let length = length.map(|length| (hyper::header::CONTENT_LENGTH, length));
            reply.headers_mut().extend(length);
            *reply.body_mut() = whole(bytes);
        }
        Ok(reply)
    }

    async fn pass_on(&self, request: Request<Incoming>, from: SocketAddr) -> Reply {
        let offer = SapOffer::from_headers(request.headers());
        let offer = offer.filter(|_| request.method() == Method::GET);
        let (mut head, body) = request.into_parts();
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
        let request = Request::from_parts(head, forward::body(body));
        let mut reply = self.fetcher.pass_on(request).await;
        if let Ok(reply) = &mut reply {
            // The server behind knows nothing of SAP, whatever it says.
            offer::ALL.iter().for_each(|name| _ = reply.headers_mut().remove(name));
        }
        let reply = match (reply, offer) {
            (Ok(reply), Some(offer)) => self.deliver(&offer, from, reply).await,
            (Ok(reply), None) => forward::reply(reply, &self.name).await,
            (Err(error), _) => Err(error),
        };
        reply.unwrap_or_else(|error| forward::failure(&error))
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
        self.pass_on(request, from).await
    }
}
