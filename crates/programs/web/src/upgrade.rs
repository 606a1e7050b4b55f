//! Requests to change the protocol of a connection, such as to WebSocket (RFC 9110, section 7.8).

use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderMap, HeaderValue, UPGRADE};
use hyper::http::request::Parts;
use hyper::upgrade::OnUpgrade;
use hyper::{Request, Response, Version};
use hyper_util::rt::TokioIo;

use crate::fetch_error::FetchError;
use crate::forward;
use crate::server::{Reply, WayNote, empty};

/// The protocols that no program in between may pass on: HTTP/2 has no such change any more (RFC
/// 9113, section 3.1), and TLS would hide from it what it is there for.
const NONE_OF: [&str; 2] = ["h2c", "tls"];

/// A change of the protocol that a request asks for.
pub(crate) struct AskedUpgrade {
    protocol: HeaderValue,
    client: OnUpgrade,
}

impl AskedUpgrade {
    /// Returns the change that a request asks for, if it can be passed on.
    pub(crate) fn of(request: &mut Request<Incoming>) -> Option<Self> {
        let headers = request.headers();
        let words = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
        let mut words = words.flat_map(|value| value.split(','));
        let is_asked = request.version() == Version::HTTP_11
            && words.any(|word| word.trim().eq_ignore_ascii_case("upgrade"));
        let protocol = headers.get(UPGRADE).filter(|_| is_asked)?.clone();
        let mut names = protocol.to_str().ok()?.split(',').map(str::trim);
        let is_ours = |name: &str| {
            let name = name.split('/').next().unwrap_or_default();
            NONE_OF.iter().any(|none| name.eq_ignore_ascii_case(none))
        };
        if names.any(is_ours) {
            return None;
        }
        Some(Self { protocol, client: hyper::upgrade::on(request) })
    }

    /// Asks the next server for it.
    pub(crate) fn ask(&self, head: &mut Parts) {
        write(&mut head.headers, self.protocol.clone());
    }

    /// Tells whether a reply changes to what was asked for alone; it must name it (RFC 9110,
    /// section 15.2.2).
    fn admits(&self, reply: &HeaderMap) -> bool {
        let asked = names(&self.protocol);
        let mut named = reply.get_all(UPGRADE).iter().flat_map(names).peekable();
        named.peek().is_some() && named.all(|name| asked.contains(&name))
    }

    /// Joins the two connections once both have changed to the protocol that the reply names, and
    /// passes their bytes on without a look at them.
    ///
    /// # Errors
    /// If that is another one than the client has asked for, which would take its bytes for this.
    pub(crate) fn join(
        self,
        mut reply: Response<Incoming>,
        name: &str,
    ) -> Result<Reply, FetchError> {
        if !self.admits(reply.headers()) {
            return Err(FetchError::Unasked("another protocol than was asked for".to_owned()));
        }
        let server = hyper::upgrade::on(&mut reply);
        let client = self.client;
        tokio::spawn(async move {
            if let Ok((client, server)) = tokio::try_join!(client, server) {
                let mut client = TokioIo::new(client);
                let mut server = TokioIo::new(server);
                // Either end may break the connection, which is its own affair.
                let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
            }
        });
        let protocol = reply.headers().get(UPGRADE).cloned().unwrap_or(self.protocol);
        let mut reply = forward::signed(reply.map(|_| empty()), name);
        write(reply.headers_mut(), protocol);
        reply.extensions_mut().insert(WayNote("tunnel".to_owned()));
        Ok(reply)
    }
}

/// Returns the names of a list in lower case.
fn names(value: &HeaderValue) -> Vec<String> {
    let names = value.to_str().unwrap_or("?").split(',');
    names.map(|name| name.trim().to_ascii_lowercase()).collect()
}

fn write(headers: &mut HeaderMap, protocol: HeaderValue) {
    headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
    headers.insert(UPGRADE, protocol);
}
