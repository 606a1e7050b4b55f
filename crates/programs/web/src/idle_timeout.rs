//! Bodies whose sender may not be silent for long.

use core::pin::Pin;
use core::task::{Context, Poll};
use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep};

/// A body that fails where no byte of it comes for some time.
///
/// A server that stops amid its reply would otherwise keep the connection of a client for ever.
pub(crate) struct IdleTimeoutBody<B> {
    body: B,
    patience: Duration,
    end: Pin<Box<Sleep>>,
    /// The next bytes are awaited, and the time runs.
    waits: bool,
    /// The frames that have come already.
    first: VecDeque<Frame<Bytes>>,
}

impl<B> IdleTimeoutBody<B> {
    pub(crate) fn new(body: B, patience: Duration) -> Self {
        Self {
            body,
            patience,
            end: Box::pin(sleep(patience)),
            waits: false,
            first: VecDeque::new(),
        }
    }

    /// A body whose first frames have come.
    pub(crate) fn begun(
        first: impl IntoIterator<Item = Frame<Bytes>>,
        rest: B,
        patience: Duration,
    ) -> Self {
        Self { first: first.into_iter().collect(), ..Self::new(rest, patience) }
    }
}

impl<B> Body for IdleTimeoutBody<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<Box<dyn core::error::Error + Send + Sync>>,
{
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if let Some(first) = self.first.pop_front() {
            return Poll::Ready(Some(Ok(first)));
        }
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) {
            self.waits = false;
            return Poll::Ready(frame.map(|frame| frame.map_err(io::Error::other)));
        }
        // A receiver that takes its time is no fault of the sender's.
        if !self.waits {
            self.waits = true;
            let end = Instant::now() + self.patience;
            self.end.as_mut().reset(end);
        }
        self.end.as_mut().poll(context).map(|()| {
            let text = format!("no byte of the body came for {} s", self.patience.as_secs());
            Some(Err(io::Error::new(io::ErrorKind::TimedOut, text)))
        })
    }

    fn is_end_stream(&self) -> bool {
        self.first.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let rest = self.body.size_hint();
        let first = self.first.iter().filter_map(Frame::data_ref);
        let first: u64 = first.map(|bytes| bytes.len() as u64).sum();
        let mut whole = SizeHint::default();
        whole.set_lower(rest.lower() + first);
        rest.upper().into_iter().for_each(|upper| whole.set_upper(upper + first));
        whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::{BodyExt as _, channel::Channel};

    const PATIENCE: Duration = Duration::from_secs(30);

    #[tokio::test(start_paused = true)]
    async fn a_silent_sender_is_given_up_and_a_slow_receiver_is_not() {
        let (mut sender, body) = Channel::<Bytes, io::Error>::new(4);
        let mut body = IdleTimeoutBody::new(body, PATIENCE);
        sender.send_data(Bytes::from_static(b"1")).await.expect("room");
        tokio::time::sleep(3 * PATIENCE).await;
        let frame = body.frame().await.expect("a frame").expect("in time");
        assert_eq!(frame.into_data().expect("data"), "1");
        let began = Instant::now();
        let error = body.frame().await.expect("an end").expect_err("nothing is sent");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(began.elapsed().as_secs(), 30);
        drop(sender);
    }

    #[tokio::test(start_paused = true)]
    async fn what_has_come_already_is_a_part_of_the_body() {
        let (mut sender, rest) = Channel::<Bytes, io::Error>::new(4);
        sender.send_data(Bytes::from_static(b"rest")).await.expect("room");
        drop(sender);
        let first = ["fir", "st, "].map(|it| Frame::data(Bytes::from_static(it.as_bytes())));
        let body = IdleTimeoutBody::begun(first, rest, PATIENCE);
        assert_eq!((body.is_end_stream(), body.size_hint().lower()), (false, 7));
        assert_eq!(body.collect().await.expect("all").to_bytes(), "first, rest");
    }

    #[tokio::test(start_paused = true)]
    async fn bytes_that_come_slowly_are_passed_on() {
        let (mut sender, body) = Channel::<Bytes, io::Error>::new(4);
        let mut body = IdleTimeoutBody::new(body, PATIENCE);
        let sending = tokio::spawn(async move {
            for _ in 0..5 {
                tokio::time::sleep(PATIENCE * 9 / 10).await;
                sender.send_data(Bytes::from_static(b"1")).await.expect("room");
            }
        });
        let mut length = 0;
        while let Some(frame) = body.frame().await {
            length += frame.expect("in time").into_data().expect("data").len();
        }
        sending.await.expect("it ends");
        assert_eq!(length, 5);
    }
}
