//! Asking again for what arrived damaged, and for what did not arrive.

use core::ops::Range;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use hyper::header::{CONTENT_RANGE, ETAG, IF_RANGE, LAST_MODIFIED, RANGE};
use hyper::http::response;
use hyper::{HeaderMap, StatusCode, Uri};

use super::{Fetched, FetchedBody, Fetcher, set};
use crate::assembly::{BodyDamage, DeliveredBody};
use crate::fetch_error::FetchError;
use crate::repair::{Repair, exceeds_whole, is_part_of, is_range_of, strong_version, wanted};

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
    /// the file has changed for one, the whole file comes over TCP in its place.
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
        fetched.check(self.settings.options.key.is_some())?;
        let FetchedBody::Sap(body) = &mut fetched.body else { return Ok(0) };
        match self.repair(repair, uri, (headers, &fetched.head), body).await {
            Err(error) if error.may_be_damage() || matches!(error, FetchError::Repair(..)) => {
                *fetched = self.instead(uri, headers, CHANGED).await?;
                fetched.check(false)?;
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
        (headers, head): (&HeaderMap, &response::Parts),
        body: &mut DeliveredBody,
    ) -> Result<u64, FetchError> {
        let mut repaired = 0;
        for _ in 0..ROUNDS {
            let ranges = wanted(repair, body);
            if ranges.is_empty() {
                break;
            }
            if exceeds_whole(&ranges, body.bytes.len())
                && let Some(whole) = self.whole_again(uri, (headers, head), body.bytes.len()).await
            {
                repaired += whole.len() as u64;
                *body = DeliveredBody { bytes: whole, damage: BodyDamage::default(), ended: true };
                break;
            }
            let mut bytes = BytesMut::from(&body.bytes[..]);
            for range in ranges {
                let part = self.part_again(uri, (headers, head), &range, bytes.len());
                let (came, part) = part.await?;
                bytes[came.clone()].copy_from_slice(&part);
                body.damage.repaired(&came);
                repaired += part.len() as u64;
                if came.len() == bytes.len() {
                    body.damage = BodyDamage::default();
                    break;
                }
            }
            body.bytes = bytes.freeze();
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
        (headers, head): (&HeaderMap, &response::Parts),
        length: usize,
    ) -> Option<Bytes> {
        // Without a version it cannot be known for the same.
        strong_version(&head.headers)?;
        let again = self.get_as(true, uri, headers, &Arc::default()).await.ok()?;
        let is_same = is_part_of(&again.head.headers, &head.headers);
        if !is_same || !matches!(again.body, FetchedBody::Arriving(_)) {
            return None;
        }
        all_of(again.body, length).await.ok()
    }

    /// Asks for a range as [`Fetcher::part`] does, and again if it does not come: where a link
    /// passes damaged packets up, the head of a reply over TCP may be damaged too.
    pub(super) async fn part_again(
        &self,
        uri: &Uri,
        (headers, head): (&HeaderMap, &response::Parts),
        range: &Range<usize>,
        of: usize,
    ) -> Result<(Range<usize>, Bytes), FetchError> {
        let within = PART + Duration::from_millis(range.len() as u64 / PART_RATE);
        for _ in 1..REQUESTS {
            let part = self.part(uri, (headers, head), range, of);
            match tokio::time::timeout(within, part).await {
                Ok(Err(error)) if !error.may_be_damage() => return Err(error),
                Ok(Err(_)) | Err(_) => {}
                Ok(part) => return part,
            }
        }
        match self.part(uri, (headers, head), range, of).await {
            Err(error) if error.may_be_damage() => Err(FetchError::Repair(REQUESTS, error.into())),
            part => part,
        }
    }

    /// Asks for a range of the same version of a file; returns what came, which is the whole file
    /// where the server knows no ranges.
    async fn part(
        &self,
        uri: &Uri,
        (headers, head): (&HeaderMap, &response::Parts),
        range: &Range<usize>,
        of: usize,
    ) -> Result<(Range<usize>, Bytes), FetchError> {
        let mut asking = headers.clone();
        let (first, last) = (range.start, range.end - 1);
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
            StatusCode::OK if is_same => 0..of,
            status => return Err(FetchError::Changed(status)),
        };
        let part = all_of(FetchedBody::Tcp(reply.into_body()), came.len()).await?;
        Ok((came, part))
    }
}

/// Returns all bytes of a body.
///
/// # Errors
/// If it breaks off, or has another length than this.
async fn all_of(mut body: FetchedBody, length: usize) -> Result<Bytes, FetchError> {
    let mut all = BytesMut::new();
    while all.len() <= length
        && let Some(more) = body.next().await?
    {
        all.extend_from_slice(&more);
    }
    if all.len() != length {
        return Err(FetchError::Body(io::Error::from(io::ErrorKind::UnexpectedEof).into()));
    }
    Ok(all.freeze())
}
