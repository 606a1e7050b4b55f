//! Asking again for what arrived damaged, and for what did not arrive.

use core::ops::Range;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::{Body as _, Incoming};
use hyper::header::{CONTENT_RANGE, ETAG, IF_RANGE, LAST_MODIFIED, RANGE};
use hyper::http::response;
use hyper::{HeaderMap, StatusCode, Uri};

use super::{Fetched, FetchedBody, Fetcher, place_of, set};
use crate::assembly::{BodyDamage, DeliveredBody};
use crate::fetch_error::FetchError;
use crate::memory::HeldMemory;
use crate::repair::{Repair, exceeds_whole, is_part_of, is_range_of, strong_version, wanted};
use crate::sparse::{SparseBytes, grow};

/// Repairs of a picture may show further damage, but not for ever.
const ROUNDS: usize = 3;
/// The number of times that a range is asked for.
const REQUESTS: usize = 3;
/// The time in which a range comes that can be asked for once more, besides that of its bytes at
/// the least rate, in bytes per millisecond: after damage to a length the rest would never come.
const PART: Duration = Duration::from_secs(2);
const PART_RATE: u64 = 10;
/// The reason of a body that came over TCP since its damage could not be repaired.
const CHANGED: &str = "no-repair";

impl Fetcher {
    /// Repairs a file as [`Fetcher::repair`] does, if it comes over SAP; where that fails, since
    /// the file has changed for one, or less than a quarter of it has arrived, the whole file comes
    /// over TCP in its place.
    ///
    /// # Errors
    /// As there, and if it is not the file that was asked for: the server answers otherwise, or the
    /// server has not the key of SAP that this end has, so that it would come in the clear.
    pub async fn mend(
        &self,
        repair: Repair,
        uri: &Uri,
        headers: &HeaderMap,
        fetched: &mut Fetched,
    ) -> Result<u64, FetchError> {
        fetched.check(self.settings.options.key.is_some(), headers)?;
        let FetchedBody::Sap(body) = &mut fetched.body else { return Ok(0) };
        let mut repaired = self.repair(repair, uri, headers, &fetched.head, body).await;
        if repaired.is_ok() && body.bytes.is_mostly_missing() {
            repaired = Err(FetchError::TooLittle);
        }
        match repaired {
            Err(error) if error.may_be_damage() || matches!(error, FetchError::Repair(..)) => {
                *fetched = self.fall_back_to_tcp(uri, headers, CHANGED).await?;
                fetched.check(false, headers)?;
                Ok(0)
            }
            repaired => repaired,
        }
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
        headers: &HeaderMap,
        head: &response::Parts,
        body: &mut DeliveredBody,
    ) -> Result<u64, FetchError> {
        let mut repaired = 0;
        for _ in 0..ROUNDS {
            let ranges = wanted(repair, body)?;
            if ranges.is_empty() {
                break;
            }
            let length = body.length();
            if exceeds_whole(&ranges, length)
                && let Some((whole, memory)) = self.whole_again(uri, headers, head, length).await
            {
                repaired += whole.len() as u64;
                let bytes = SparseBytes::whole(whole, memory);
                *body = DeliveredBody { bytes, damage: BodyDamage::default(), ended: true };
                break;
            }
            for range in ranges {
                let (base, of) = place_of(head, length);
                let range = base + range.start..base + range.end;
                let part = self.part_again(uri, headers, head, &range, of);
                let (came, part, _memory) = part.await?;
                repaired += part.len() as u64;
                // Of a whole file that came in place of a part only that part is of use.
                let own = came.start.max(base)..came.end.min(base + length);
                body.bytes
                    .write(own.start - base, &part[own.start - came.start..own.end - came.start])?;
                let own = own.start - base..own.end - base;
                body.damage.repaired(&own);
                if own.len() == length {
                    body.damage = BodyDamage::default();
                    break;
                }
            }
            body.ended = true;
        }
        Ok(repaired)
    }

    /// Asks for the whole of the same version of a body over precise SAP, whose check lets fewer
    /// errors through than that of TCP and which does not slow down where packets arrive damaged;
    /// `None` if it does not come that way.
    async fn whole_again(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        head: &response::Parts,
        length: usize,
    ) -> Option<(Vec<u8>, HeldMemory)> {
        // Without a version it cannot be known for the same.
        strong_version(&head.headers)?;
        let again = self.get_as(true, uri, headers, &Arc::default()).await.ok()?;
        let is_same = is_part_of(&again.head.headers, &head.headers)
            && place_of(&again.head, length) == place_of(head, length);
        if !is_same || !matches!(again.body, FetchedBody::Arriving(_)) {
            return None;
        }
        all_of(again.body, length, self.settings.memory.share()).await.ok()
    }

    /// Asks for a range as [`Fetcher::part`] does, and again if it does not come: where a link
    /// passes damaged packets up, the head of a reply over TCP may be damaged too.
    async fn part_again(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        head: &response::Parts,
        range: &Range<usize>,
        of: usize,
    ) -> Result<Part, FetchError> {
        let within = PART + Duration::from_millis(range.len() as u64 / PART_RATE);
        ask_again(within, || self.part(uri, headers, head, range, of)).await
    }

    /// Asks for the rest of a body as [`Fetcher::ask_part`] does, and again if its head does not
    /// come.
    pub(super) async fn rest_again(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        head: &response::Parts,
        range: &Range<usize>,
        of: usize,
    ) -> Result<(Range<usize>, Incoming), FetchError> {
        ask_again(PART, || self.ask_part(uri, headers, head, range, of)).await
    }

    /// Asks for a range of the same version of a file; returns what came.
    async fn part(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        head: &response::Parts,
        range: &Range<usize>,
        of: usize,
    ) -> Result<Part, FetchError> {
        let (came, body) = self.ask_part(uri, headers, head, range, of).await?;
        let memory = self.settings.memory.share();
        let (part, memory) = all_of(FetchedBody::Tcp(body), came.len(), memory).await?;
        Ok((came, part, memory))
    }

    /// Asks for a range of the same version of a file; returns what comes, which is the whole file
    /// where the server knows no ranges.
    async fn ask_part(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        head: &response::Parts,
        range: &Range<usize>,
        of: usize,
    ) -> Result<(Range<usize>, Incoming), FetchError> {
        let mut asking = headers.clone();
        let first = range.start;
        let last = range.end - 1;
        // Parts of two versions make a file that never was: without a version there are no parts.
        if let Some(version) = strong_version(&head.headers) {
            set(&mut asking, RANGE, &format!("bytes={first}-{last}"));
            asking.insert(IF_RANGE, version.clone());
        }
        let reply = self.send(uri, &asking).await?;
        let content_range = reply.headers().get(CONTENT_RANGE).and_then(|it| it.to_str().ok());
        let is_part = asking.contains_key(RANGE)
            && reply.status() == StatusCode::PARTIAL_CONTENT
            && content_range.is_some_and(|it| is_range_of(it, range, of))
            && is_part_of(reply.headers(), &head.headers);
        let is_same = [ETAG, LAST_MODIFIED]
            .iter()
            .all(|name| reply.headers().get(name) == head.headers.get(name));
        let came = match reply.status() {
            _ if is_part => range.clone(),
            // Its length is checked by the end of it.
            StatusCode::OK if is_same => 0..of,
            status => return Err(FetchError::Changed(status)),
        };
        let length = reply.body().size_hint().exact();
        if length.is_some_and(|length| length != came.len() as u64) {
            return Err(FetchError::Body(io::Error::from(io::ErrorKind::UnexpectedEof).into()));
        }
        Ok((came, reply.into_body()))
    }
}

/// A range of a file, its bytes, and the memory that they take.
type Part = (Range<usize>, Vec<u8>, HeldMemory);

/// Asks for something within a time, and again if it does not come or its head may be damaged. The
/// last request has no limit.
async fn ask_again<T, F>(within: Duration, ask: impl Fn() -> F) -> Result<T, FetchError>
where
    F: Future<Output = Result<T, FetchError>>,
{
    for _ in 1..REQUESTS {
        match tokio::time::timeout(within, ask()).await {
            Ok(Err(error)) if !error.may_be_damage() => return Err(error),
            Ok(Err(_)) | Err(_) => {}
            Ok(came) => return came,
        }
    }
    match ask().await {
        Err(error) if error.may_be_damage() => Err(FetchError::Repair(REQUESTS, error.into())),
        came => came,
    }
}

/// Returns all bytes of a body, in memory that is charged as they come.
///
/// # Errors
/// If it breaks off, has another length than this, or there is no memory left.
async fn all_of(
    mut body: FetchedBody,
    length: usize,
    mut memory: HeldMemory,
) -> Result<(Vec<u8>, HeldMemory), FetchError> {
    let mut all = Vec::new();
    while all.len() <= length
        && let Some(more) = body.next().await?
    {
        grow(&mut all, more.len(), &mut memory)?;
        all.extend_from_slice(&more);
    }
    if all.len() != length {
        return Err(FetchError::Body(io::Error::from(io::ErrorKind::UnexpectedEof).into()));
    }
    Ok((all, memory))
}
