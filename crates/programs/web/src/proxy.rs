//! A proxy for programs that know nothing of SAP.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use hyper::body::{Body as _, Incoming};
use hyper::header::{
    ACCEPT_RANGES, AGE, CACHE_CONTROL, ETAG, EXPIRES, HeaderMap, HeaderName, HeaderValue,
    IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED,
};
use hyper::http::request::Parts;
use hyper::http::uri::Scheme;
use hyper::{Method, Request, Response, StatusCode, Uri, Version};
use hyper_util::rt::TokioIo;
use windfall_media::restore_checks;

use crate::assembly::{BodyDamage, DeliveredBody};
use crate::fetch::{Fetched, FetchedBody, Fetcher, FetcherSettings};
use crate::fetch_error::FetchError;
use crate::forward;
use crate::media_types::{essence, media_type};
use crate::offer;
use crate::resolver::connect;
use crate::rules::DeliveryRules;
use crate::server::{MessageBody, Reply, WayNote, WebService, empty, plain, whole};
use crate::upgrade::AskedUpgrade;

/// The headers that tell a version of a body, or vouch for its bytes or their age.
const OF_VERSION: [HeaderName; 9] = [
    ACCEPT_RANGES,
    AGE,
    ETAG,
    EXPIRES,
    LAST_MODIFIED,
    HeaderName::from_static("content-digest"),
    HeaderName::from_static("content-md5"),
    HeaderName::from_static("digest"),
    HeaderName::from_static("repr-digest"),
];

/// Passes the requests of browsers on, and receives over SAP what may travel so.
pub struct Proxy {
    fetcher: Fetcher,
    rules: DeliveryRules,
    name: String,
}

impl Proxy {
    /// Makes a proxy that asks as `settings` say, for the types of the `rules`.
    #[must_use]
    pub fn new(mut settings: FetcherSettings, rules: DeliveryRules) -> Self {
        settings.types = Some(rules.approximate.clone());
        let fetcher = Fetcher::new(settings);
        Self { fetcher, rules, name: forward::name() }
    }

    async fn pass_on(&self, mut request: Request<Incoming>) -> Result<Reply, FetchError> {
        let upgrade = AskedUpgrade::of(&mut request);
        let (mut head, body) = request.into_parts();
        if head.uri.scheme() != Some(&Scheme::HTTP) {
            return Err(FetchError::Address(head.uri));
        }
        forward::strip(&mut head.headers);
        offer::ALL.iter().for_each(|name| _ = head.headers.remove(name));
        if !forward::sign(&mut head.headers, head.version, &self.name) {
            return Ok(plain(StatusCode::LOOP_DETECTED, "the proxy has passed this on before"));
        }
        forward::name_the_host(&mut head);
        forward::aim(&mut head);
        if let Some(reply) = forward::last_stop(&head.method, &mut head.headers) {
            return Ok(reply);
        }
        // A request with a body is passed on with it: a length without its bytes would let the next
        // request on the connection to the server be read as them (RFC 9112 section 11.2).
        head.version = Version::HTTP_11;
        if upgrade.is_some() || head.method != Method::GET || !body.is_end_stream() {
            upgrade.iter().for_each(|upgrade| upgrade.ask(&mut head));
            let (body, fault) = forward::request_body(&mut head.headers, body);
            let reply = self.fetcher.pass_on(Request::from_parts(head, body)).await;
            return match (reply, upgrade) {
                (Ok(reply), Some(upgrade)) if reply.status() == StatusCode::SWITCHING_PROTOCOLS => {
                    upgrade.join(reply, &self.name)
                }
                (Ok(reply), _) => forward::reply(reply, &self.name).await,
                (Err(error), _) => fault.reply(&error).ok_or(error),
            };
        }
        let progress = Arc::new(AtomicU64::new(0));
        let mut fetched = self.fetcher.get(&head.uri, &head.headers, &progress).await?;
        if fetched.head.status == StatusCode::NOT_MODIFIED
            && self.may_be_damaged(&head, &fetched.head.headers).await
        {
            head.headers.remove(IF_MODIFIED_SINCE);
            fetched = self.fetcher.get(&head.uri, &head.headers, &progress).await?;
        }
        let Fetched { head: reply, body, fallback, .. } = fetched;
        match body {
            FetchedBody::Tcp(body) => {
                let reply = Response::from_parts(reply, body);
                let mut reply = forward::reply(reply, &self.name).await?;
                let note = fallback.map(|reason| WayNote(format!("tcp: {reason}")));
                note.into_iter().for_each(|note| _ = reply.extensions_mut().insert(note));
                Ok(reply)
            }
            // Nothing of this proxy is precise over SAP.
            FetchedBody::Arriving(_) => self.over_tcp(head.uri, head.headers).await,
            FetchedBody::Sap(mut body) => {
                let repair = self.rules.repair(&essence(&media_type(&reply.headers)));
                let repaired =
                    self.fetcher.repair(repair, &head.uri, &head.headers, &reply, &mut body).await;
                match repaired {
                    // Nothing has arrived of it, or hardly anything.
                    Ok(_) if body.bytes.contiguous().is_none() => {
                        self.over_tcp(head.uri, head.headers).await
                    }
                    Ok(_) if body.damage.bytes().0 == body.length() => {
                        self.over_tcp(head.uri, head.headers).await
                    }
                    Ok(repaired) => {
                        let mut reply =
                            marked(Response::from_parts(reply, empty()), body, repaired);
                        let version = reply.version();
                        let _ = forward::sign(reply.headers_mut(), version, &self.name);
                        *reply.version_mut() = Version::HTTP_11;
                        Ok(reply)
                    }
                    // What is left of the damage cannot be borne: the whole body comes over TCP.
                    Err(_) => self.over_tcp(head.uri, head.headers).await,
                }
            }
        }
    }

    /// Tells whether what a client has may have arrived damaged: it asks by a time that is not that
    /// of the file, and a damaged reply names none. `wget -N` then asks by the time when it wrote
    /// the file, and would keep it for ever.
    async fn may_be_damaged(&self, asked: &Parts, unchanged: &HeaderMap) -> bool {
        let Some(since) = asked.headers.get(IF_MODIFIED_SINCE) else { return false };
        let is_own = |headers: &HeaderMap| headers.get(LAST_MODIFIED) == Some(since);
        if asked.headers.contains_key(IF_NONE_MATCH) || is_own(unchanged) {
            return false;
        }
        let mut request = Request::new(empty());
        *request.method_mut() = Method::HEAD;
        *request.uri_mut() = asked.uri.clone();
        *request.headers_mut() = asked.headers.clone();
        request.headers_mut().remove(IF_MODIFIED_SINCE);
        let Ok(reply) = self.fetcher.pass_on(request).await else { return false };
        let headers = reply.headers();
        headers.contains_key(LAST_MODIFIED)
            && !is_own(headers)
            && self.rules.approximate.matches(&media_type(headers))
    }

    async fn over_tcp(&self, uri: Uri, headers: hyper::HeaderMap) -> Result<Reply, FetchError> {
        let mut request = Request::new(empty());
        *request.uri_mut() = uri;
        *request.headers_mut() = headers;
        forward::reply(self.fetcher.pass_on(request).await?, &self.name).await
    }

    /// Joins the client to the host that it names, and passes bytes on without a look at them.
    async fn tunnel(&self, request: Request<Incoming>) -> Reply {
        let Some(host) = request.uri().authority().filter(|it| it.port().is_some()) else {
            return plain(StatusCode::BAD_REQUEST, "CONNECT names a host and a port");
        };
        let Ok(mut server) = connect(host.as_str().to_owned()).await else {
            return plain(StatusCode::BAD_GATEWAY, "the host cannot be reached");
        };
        tokio::spawn(async move {
            if let Ok(client) = hyper::upgrade::on(request).await {
                // Either end may break the connection, which is its own affair.
                let _ = tokio::io::copy_bidirectional(&mut TokioIo::new(client), &mut server).await;
            }
        });
        let mut reply = Response::new(empty());
        reply.extensions_mut().insert(WayNote("tunnel".to_owned()));
        reply
    }
}

/// The reply with a body that came over SAP; one that is damaged is marked, and kept by no cache.
fn marked(mut reply: Reply, mut body: DeliveredBody, repaired: u64) -> Reply {
    let (missing, suspect) = body.damage.bytes();
    let BodyDamage { unchecked, .. } = body.damage;
    let of = body.length();
    forward::strip(reply.headers_mut());
    if !body.damage.is_none() {
        let mark =
            format!("suspect={suspect}, missing={missing}, unchecked={unchecked}, length={of}");
        let mark = HeaderValue::from_str(&mark);
        reply.headers_mut().extend(mark.map(|mark| (offer::DAMAGE, mark)));
        reply.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        // These bytes are not those of the version that these name: whoever keeps them would take
        // them for it, and never ask again.
        OF_VERSION.iter().for_each(|name| _ = reply.headers_mut().remove(name));
        let damaged = body.damage.ranges();
        body.bytes.contiguous().into_iter().for_each(|bytes| restore_checks(bytes, &damaged));
    }
    let note = format!(
        "sap: {suspect} suspect, {missing} missing, {unchecked} unchecked, {repaired} repaired"
    );
    reply.extensions_mut().insert(WayNote(note));
    *reply.body_mut() = whole(body.into_bytes().unwrap_or_default());
    reply
}

impl WebService for Proxy {
    async fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
        _from: SocketAddr,
    ) -> Response<MessageBody> {
        if request.method() == Method::CONNECT {
            return self.tunnel(request).await;
        }
        self.pass_on(request).await.unwrap_or_else(|error| forward::failure(&error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `wget -N` and caches know a version by these, and would keep damaged bytes for it.
    #[test]
    fn a_damaged_reply_names_no_version() {
        let kept = [("content-type", "image/jpeg"), ("content-language", "de")];
        for is_damaged in [true, false] {
            let mut reply = Response::new(empty());
            let all = OF_VERSION;
            let of_version = all.iter().map(|name| (name.as_str(), "x"));
            for (name, value) in of_version.chain(kept) {
                let name: HeaderName = name.parse().expect("a name");
                reply.headers_mut().insert(name, HeaderValue::from_static(value));
            }
            let suspect = if is_damaged { Vec::from_iter(Some(3..5)) } else { Vec::new() };
            let damage = BodyDamage { suspect, ..BodyDamage::default() };
            let reply = marked(reply, DeliveredBody::new(vec![7; 10], damage, true), 0);
            let is_named = |name: &HeaderName| reply.headers().contains_key(name);
            assert_eq!(OF_VERSION.iter().any(is_named), !is_damaged);
            assert!(kept.iter().all(|(name, value)| reply.headers()[*name] == *value));
            let has_mark = reply.headers().contains_key(&offer::DAMAGE);
            assert_eq!((has_mark, is_named(&CACHE_CONTROL)), (is_damaged, is_damaged));
        }
    }
}
