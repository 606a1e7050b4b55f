//! Services whose requests and replies are small enough to be held whole.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use hyper::{Request, Response, StatusCode};

use crate::blocking::blocking;
use crate::server::{WebService, plain, whole};

/// The bytes that a request may have.
const LONGEST: usize = 64 << 10;

/// A service that a function answers, which may block.
pub struct BlockingService<F>(Arc<F>);

impl<F: Fn(&Request<Bytes>) -> Response<Bytes> + Send + Sync + 'static> BlockingService<F> {
    /// The service of this function.
    pub fn new(answer: F) -> Self {
        Self(Arc::new(answer))
    }
}

impl<F> WebService for BlockingService<F>
where
    F: Fn(&Request<Bytes>) -> Response<Bytes> + Send + Sync + 'static,
{
    async fn answer(
        self: Arc<Self>,
        request: Request<Incoming>,
        _from: SocketAddr,
    ) -> Response<BoxBody<Bytes, io::Error>> {
        let (head, body) = request.into_parts();
        let Ok(body) = Limited::new(body, LONGEST).collect().await else {
            return plain(StatusCode::PAYLOAD_TOO_LARGE, "the request is too long");
        };
        let request = Request::from_parts(head, body.to_bytes());
        let answer = Arc::clone(&self.0);
        match blocking(move || answer(&request)).await {
            Ok(reply) => reply.map(whole),
            Err(_) => plain(StatusCode::INTERNAL_SERVER_ERROR, "the answer failed"),
        }
    }
}
