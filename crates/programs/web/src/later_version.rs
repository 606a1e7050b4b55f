//! Replies of later minor versions of HTTP/1, which a client reads as those of its own (RFC 9110,
//! section 2.5).

use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::io::{self, IoSlice};

use hyper::Uri;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tower_service::Service;

use crate::resolver::Resolver;
use crate::write_through::write_through;

/// The bytes before the digit of a minor version.
const BEFORE: &[u8] = b"HTTP/1.";
/// The longest head that is held; whoever reads a longer one refuses it.
const LONGEST: usize = 512 << 10;
/// The bytes that are read at once while a head is held.
const STEP: usize = 4096;
/// The field that ends a connection after its reply.
const CLOSE: &[u8] = b"Connection: close\r\n";

/// Connects to servers whose first reply may be of a later minor version.
#[derive(Clone, Debug)]
pub(crate) struct AnyMinorVersion(pub(crate) HttpConnector<Resolver>);

impl Service<Uri> for AnyMinorVersion {
    type Response = TokioIo<As11<TcpStream>>;
    type Error = <HttpConnector<Resolver> as Service<Uri>>::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let connecting = self.0.call(to);
        Box::pin(async move { Ok(TokioIo::new(As11::new(connecting.await?.into_inner()))) })
    }
}

/// A connection whose first reply is of version 1.1 if it is of a later minor version.
///
/// Such a connection ends with its first reply, so that nothing has to tell where the next one
/// begins. A server that begins with 1.0 or 1.1 stays with it: its bytes are passed on as they are.
pub(crate) struct As11<S> {
    stream: S,
    /// The bytes up to now of a head whose version is not known, or whose end has not come.
    head: Vec<u8>,
    /// Bytes that are to be passed on, and how many of them were.
    ready: Vec<u8>,
    passed: usize,
    is_followed: bool,
}

/// The bytes of the beginning of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Beginning {
    /// More bytes tell.
    Open,
    /// The reply is of a later minor version.
    Later,
    Other,
}

impl Beginning {
    fn of(bytes: &[u8]) -> Self {
        let known = bytes.len().min(BEFORE.len());
        match (&bytes[known..], bytes[..known] == BEFORE[..known]) {
            (_, false) => Self::Other,
            ([b'2'..=b'9', b' ', ..], true) => Self::Later,
            ([] | [b'2'..=b'9'], true) => Self::Open,
            (_, true) => Self::Other,
        }
    }
}

/// Returns where the empty line of a head begins, and where the head ends.
fn end_of_head(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut line = 0;
    for (at, _) in bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n') {
        if line > 0 && matches!(&bytes[line..at], b"" | b"\r") {
            return Some((line, at + 1));
        }
        line = at + 1;
    }
    None
}

impl<S> As11<S> {
    fn new(stream: S) -> Self {
        Self { stream, head: Vec::new(), ready: Vec::new(), passed: 0, is_followed: true }
    }

    /// Takes the next bytes of the connection.
    fn take(&mut self, bytes: &[u8]) {
        self.head.extend_from_slice(bytes);
        loop {
            match Beginning::of(&self.head) {
                Beginning::Open => return,
                Beginning::Later => {}
                Beginning::Other => return self.let_go(),
            }
            let Some((line, end)) = end_of_head(&self.head) else {
                if self.head.len() > LONGEST {
                    self.let_go();
                }
                return;
            };
            self.head[BEFORE.len()] = b'1';
            let status = self.head.get(BEFORE.len() + 2..BEFORE.len() + 5);
            let is_interim = status.is_some_and(|it| it[0] == b'1' && it != b"101");
            if is_interim {
                self.ready.extend(self.head.drain(..end));
                continue;
            }
            if status != Some(b"101") {
                self.head.splice(line..line, CLOSE.iter().copied());
            }
            return self.let_go();
        }
    }

    /// Passes on what was held, and all that follows.
    fn let_go(&mut self) {
        self.ready.append(&mut self.head);
        self.is_followed = false;
    }

    /// Copies bytes that are to be passed on; tells whether there were any.
    fn pass_on(&mut self, buffer: &mut ReadBuf<'_>) -> bool {
        let rest = &self.ready[self.passed..];
        let count = rest.len().min(buffer.remaining());
        buffer.put_slice(&rest[..count]);
        self.passed += count;
        if self.passed == self.ready.len() {
            self.ready.clear();
            self.passed = 0;
        }
        count > 0
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for As11<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        while !this.pass_on(buffer) {
            if !this.is_followed {
                return Pin::new(&mut this.stream).poll_read(context, buffer);
            }
            let mut room = [0; STEP];
            let mut read = ReadBuf::new(&mut room);
            ready!(Pin::new(&mut this.stream).poll_read(context, &mut read))?;
            match read.filled() {
                [] => this.let_go(),
                bytes => this.take(bytes),
            }
        }
        Poll::Ready(Ok(()))
    }
}

write_through!(As11);

impl<S: Connection> Connection for As11<S> {
    fn connected(&self) -> Connected {
        self.stream.connected()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    /// Returns the bytes that a client reads of these, which come in pieces of this length.
    async fn read(bytes: &str, step: usize) -> String {
        let (mut server, client) = tokio::io::duplex(step);
        let sent = bytes.to_owned();
        let sending = tokio::spawn(async move {
            for piece in sent.as_bytes().chunks(step) {
                tokio::io::AsyncWriteExt::write_all(&mut server, piece).await.expect("it reads");
            }
        });
        let mut got = String::new();
        As11::new(client).read_to_string(&mut got).await.expect("text");
        sending.await.expect("no panic");
        got
    }

    #[tokio::test]
    async fn a_reply_of_a_later_minor_version_is_read_as_1_1_and_the_last() {
        let reply = |version: &str, more: &str| {
            format!("HTTP/{version} 200 OK\r\nConnection: keep-alive\r\n{more}\r\nHTTP/1.5 2\r\n")
        };
        let interim = |version: &str| format!("HTTP/{version} 103 Hints\r\nLink: a\r\n\r\n");
        let switched =
            |version: &str| format!("HTTP/{version} 101 S\r\nUpgrade: a\r\n\r\nHTTP/1.2 ");
        let close = "Connection: close\r\n";
        for step in [1, 2, 7, 9, 10, 1_000] {
            for version in ["1.2", "1.5", "1.9"] {
                assert_eq!(read(&reply(version, ""), step).await, reply("1.1", close));
                let sent = [interim(version), interim(version), reply(version, "")].concat();
                let expected = [interim("1.1"), interim("1.1"), reply("1.1", close)].concat();
                assert_eq!(read(&sent, step).await, expected);
                assert_eq!(read(&switched(version), step).await, switched("1.1"));
            }
            for version in ["1.1", "1.0", "1.22", "2.0", "3.0", "0.9", "1.", "1.x"] {
                assert_eq!(read(&reply(version, ""), step).await, reply(version, ""));
            }
            for other in ["", "HTT", "HTTP/1.5", "HTTP/1.5 200 OK\r\n", "\r\nHTTP/1.5 200\r\n\r\n"]
            {
                assert_eq!(read(other, step).await, other);
            }
            let lines = "HTTP/1.5 200 OK\nA: b\n\nbody";
            let expected = format!("HTTP/1.1 200 OK\nA: b\n{close}\nbody");
            assert_eq!(read(lines, step).await, expected);
        }
    }
}
