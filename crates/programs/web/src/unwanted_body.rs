//! The bodies of requests that need none.

use std::time::Duration;

use bytes::Buf as _;
use http_body_util::BodyExt as _;
use hyper::body::Body;
use tokio::time::timeout;

/// The most bytes that are read, as Go's server does: to end the connection is cheaper than more.
const MOST: u64 = 256 << 10;
/// The time for all of a body, as for a head.
const PATIENCE: Duration = Duration::from_secs(15);

/// Reads a body before the reply to its request, as Apache and nginx do: a malformed one gets an
/// error in place of the reply, and after any other one the connection takes the next request.
/// Returns false if the body is not read to its end, so that the connection ends with the reply.
///
/// # Errors
/// If the body is malformed.
pub(crate) async fn discard<B: Body + Unpin>(mut body: B) -> Result<bool, B::Error> {
    if body.is_end_stream() || body.size_hint().lower() > MOST {
        return Ok(body.is_end_stream());
    }
    let all = timeout(PATIENCE, async {
        let mut length = 0;
        while let Some(frame) = body.frame().await {
            let frame = frame?;
            length += frame.data_ref().map_or(0, |data| data.remaining() as u64);
            if length > MOST {
                return Ok(false);
            }
        }
        Ok(true)
    });
    all.await.unwrap_or(Ok(false))
}

#[cfg(test)]
mod tests {
    use std::io;

    use bytes::Bytes;
    use http_body_util::channel::Channel;
    use tokio::time::{Instant, sleep};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_body_is_read_while_it_is_short_and_comes_in_time() {
        for (length, pause, is_read) in [(3, 4, true), (3, 6, false), (MOST / 2, 0, false)] {
            let (mut sender, body) = Channel::<Bytes, io::Error>::new(4);
            tokio::spawn(async move {
                for _ in 0..3 {
                    sleep(Duration::from_secs(pause)).await;
                    let _ = sender.send_data(vec![7; length as usize].into()).await;
                }
            });
            let began = Instant::now();
            let read = discard(body).await.expect("it is no malformed one");
            assert_eq!(read, is_read, "{length} bytes each {pause} s");
            assert_eq!(began.elapsed().as_secs(), PATIENCE.as_secs().min(3 * pause));
        }
    }
}
