//! Replies that bring a part of a file, and the rest of a body that ends early (RFC 9110, sections
//! 14 and 15.3.7).

use std::io;

use bytes::Bytes;
use hyper::body::{Body as _, Incoming};
use hyper::header::{CONTENT_LENGTH, ETAG, HeaderValue, IF_RANGE, LAST_MODIFIED, RANGE};
use hyper::{HeaderMap, StatusCode, Uri};

use super::{Fetched, FetchedBody, Fetcher, place_of, set};
use crate::assembly::BodyDamage;
use crate::content_range::{AskedRange, ContentRange, length_of_none};
use crate::fetch_error::FetchError;
use crate::repair::{is_part_of, strong_version};

/// The reason of a body that came over TCP since there was no memory for it.
const NO_MEMORY: &str = "no-memory";
/// The times in a row that a body may break off before its next byte.
const BREAKS: u32 = 3;

/// The ends of a body, as positions in its file.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Extent {
    /// The reply is a part of the file.
    is_part: bool,
    /// The end that the part announces.
    part: Option<u64>,
    /// The length of the file, if the server has named it.
    file: Option<u64>,
}

impl Extent {
    pub(super) fn of(status: StatusCode, headers: &HeaderMap) -> Self {
        if status != StatusCode::PARTIAL_CONTENT {
            let length = headers.get(CONTENT_LENGTH).and_then(|it| it.to_str().ok()?.parse().ok());
            return Self { is_part: false, part: None, file: length };
        }
        let range = ContentRange::of(headers);
        let file = range.as_ref().and_then(|it| it.of).map(|of| of as u64);
        Self { is_part: true, part: range.map(|it| it.range.end as u64), file }
    }
}

/// The meaning of the end of a body over TCP.
enum RunEnd {
    /// All that was asked for has come.
    Whole,
    /// The body has fewer bytes than its part announces.
    Cut,
    /// The part ended before what was asked for.
    Short,
    /// The server does not know whether the file goes on.
    Unknown,
}

/// The answer to a request for the rest of a body.
enum Rest {
    Part(Incoming, Extent),
    /// There is none.
    Nothing,
}

/// Checks that the range which a reply names, if it is a part, is as long as its body.
///
/// # Errors
/// If it is not, or the reply is a part and names no range.
pub(super) fn check_own_range(
    status: StatusCode,
    headers: &HeaderMap,
    length: Option<u64>,
) -> Result<(), FetchError> {
    if status != StatusCode::PARTIAL_CONTENT {
        return Ok(());
    }
    let wrong = |text: String| Err(FetchError::Part(text));
    let Some(part) = ContentRange::of(headers) else {
        return wrong("its Content-Range names no range of bytes".to_owned());
    };
    let named = part.range.len() as u64;
    match length.filter(|length| *length != named) {
        None => Ok(()),
        Some(came) => {
            wrong(format!("its Content-Range names {named} bytes, but its body has {came}"))
        }
    }
}

impl Fetched {
    /// Returns what names the version of the file against all others, if the server says it.
    #[must_use]
    pub fn version(&self) -> Option<&HeaderValue> {
        strong_version(&self.head.headers)
    }

    /// Returns the length of the file on the server, if the reply says that it has none of the
    /// bytes which were asked for (416).
    #[must_use]
    pub fn length_without_range(&self) -> Option<u64> {
        let is_none = self.head.status == StatusCode::RANGE_NOT_SATISFIABLE;
        length_of_none(&self.head.headers).filter(|_| is_none)
    }

    /// Returns the damage of a body that comes over SAP, whose ranges are positions in the file,
    /// also of a part; `None` over TCP, which knows of none.
    #[must_use]
    pub fn damage(&self) -> Option<BodyDamage> {
        match &self.body {
            FetchedBody::Sap(body) => Some(body.damage.in_file_from(self.position() as usize)),
            FetchedBody::Arriving(body) if !body.lacks_memory() => Some(BodyDamage::default()),
            FetchedBody::Arriving(_) | FetchedBody::Tcp(_) => None,
        }
    }

    /// Checks that a part is the one that was asked for, of the version that was asked for.
    pub(super) fn check_part(&self, asked: &HeaderMap) -> Result<(), FetchError> {
        let headers = &self.head.headers;
        check_own_range(self.head.status, headers, self.length())?;
        let (Some(part), Some(range)) = (ContentRange::of(headers), AskedRange::of(asked)) else {
            return Ok(());
        };
        let of = part.of.map(|of| of as u64);
        let (start, end) = range.within(of);
        let first = part.range.start as u64;
        let past = part.range.end as u64;
        if start.is_some_and(|start| first != start) || end.is_some_and(|end| past > end) {
            let wanted = asked.get(RANGE).and_then(|it| it.to_str().ok()).unwrap_or_default();
            let text = format!("{wanted} was asked for, and bytes {first}-{} came", past - 1);
            return Err(FetchError::Part(text));
        }
        if let Some(version) = asked.get(IF_RANGE)
            && ![ETAG, LAST_MODIFIED].iter().any(|name| headers.get(name) == Some(version))
        {
            return Err(FetchError::Part("it is of another version of the file".to_owned()));
        }
        // Over TCP the rest is asked for once the part is there.
        let is_short = end.is_some_and(|end| past < end);
        if is_short && !matches!(self.body, FetchedBody::Tcp(_)) {
            return Err(FetchError::Short(past, end));
        }
        Ok(())
    }

    /// Returns the position in the file of the next byte.
    fn at(&self) -> u64 {
        self.position() + self.taken
    }

    /// Returns the position where what was asked for ends, if that is known.
    fn end(&self, asked: &HeaderMap) -> Option<u64> {
        let is_range = self.head.status == StatusCode::PARTIAL_CONTENT;
        match AskedRange::of(asked).filter(|_| is_range) {
            Some(range) => range.within(self.extent.file).1,
            None => self.extent.file,
        }
    }

    fn ending(&self, asked: &HeaderMap) -> RunEnd {
        let Extent { is_part, part, .. } = self.extent;
        match (part, self.end(asked)) {
            (Some(part), _) if self.at() < part => RunEnd::Cut,
            (_, Some(end)) if self.at() < end => RunEnd::Short,
            (_, Some(_)) => RunEnd::Whole,
            (_, None) if is_part => RunEnd::Unknown,
            (_, None) => RunEnd::Whole,
        }
    }
}

impl Fetcher {
    /// Returns the next bytes of a body as [`FetchedBody::next`] does, and over TCP what is left of
    /// one that ends before all that was asked for. `headers` are those of the request.
    ///
    /// # Errors
    /// As [`FetchedBody::next`] and [`Fetcher::repair`]; if a part has other bytes than it
    /// announces, or the rest of a file does not come.
    pub async fn next(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        fetched: &mut Fetched,
    ) -> Result<Option<Bytes>, FetchError> {
        loop {
            let next = fetched.body.next().await;
            let is_tcp = matches!(fetched.body, FetchedBody::Tcp(_));
            let error = match next {
                Ok(Some(bytes)) => {
                    fetched.taken += bytes.len() as u64;
                    fetched.breaks = 0;
                    if fetched.extent.part.is_some_and(|end| fetched.at() > end) {
                        let text = "it has more bytes than its Content-Range names".to_owned();
                        return Err(FetchError::Part(text));
                    }
                    return Ok(Some(bytes));
                }
                Ok(None) if !is_tcp => return Ok(None),
                Ok(None) => match fetched.ending(headers) {
                    RunEnd::Whole => return Ok(None),
                    RunEnd::Cut => {
                        FetchError::Body(io::Error::from(io::ErrorKind::UnexpectedEof).into())
                    }
                    RunEnd::Short | RunEnd::Unknown => {
                        FetchError::Short(fetched.at(), fetched.end(headers))
                    }
                },
                Err(error) => error,
            };
            match (&error, &fetched.body) {
                (FetchError::BrokeOff, FetchedBody::Arriving(_)) if fetched.breaks < BREAKS => {
                    fetched.breaks += 1;
                    self.go_on(uri, headers, fetched).await?;
                }
                (
                    FetchError::Body(_) | FetchError::Stalled | FetchError::Short(..),
                    FetchedBody::Tcp(_),
                ) if fetched.breaks < BREAKS => {
                    fetched.breaks += 1;
                    match self.continued(uri, headers, fetched).await {
                        None => return Err(error),
                        Some(Rest::Nothing) => return Ok(None),
                        Some(Rest::Part(rest, extent)) => {
                            fetched.body = FetchedBody::Tcp(rest);
                            fetched.extent = extent;
                        }
                    }
                }
                _ => return Err(error),
            }
        }
    }

    /// Goes on over TCP with a precise body whose transfer has broken off, as the rest comes: it
    /// may be longer than all memory.
    async fn go_on(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        fetched: &mut Fetched,
    ) -> Result<(), FetchError> {
        let Fetched { head, body: FetchedBody::Arriving(body), fallback, .. } = fetched else {
            return Ok(());
        };
        // What has been handed on already is of a version that only its name tells from others.
        strong_version(&head.headers).ok_or(FetchError::BrokeOff)?;
        let (base, of) = place_of(head, body.length());
        let range = base + body.taken()..base + body.length();
        let (came, rest) = self.rest_again(uri, headers, head, &range, of).await?;
        body.go_on_with(rest, range.start - came.start);
        if body.lacks_memory() {
            *fallback = Some(NO_MEMORY.to_owned());
        }
        Ok(())
    }

    /// Asks for what is left of a body over TCP, if its version has a name: without one only the
    /// answer that nothing is left is of use.
    async fn continued(&self, uri: &Uri, headers: &HeaderMap, fetched: &Fetched) -> Option<Rest> {
        let version = strong_version(&fetched.head.headers);
        let start = fetched.at();
        let known = fetched.extent.file;
        if version.is_none() && known.is_some() {
            return None;
        }
        let end = match AskedRange::of(headers) {
            Some(AskedRange::From(_, end)) => end,
            _ => None,
        };
        let last = end.map_or(String::new(), |end| (end - 1).to_string());
        let mut asking = headers.clone();
        asking.remove(IF_RANGE);
        set(&mut asking, RANGE, &format!("bytes={start}-{last}"));
        asking.extend(version.map(|version| (IF_RANGE, version.clone())));
        let reply = self.send(uri, &asking).await.ok()?;
        if reply.status() == StatusCode::RANGE_NOT_SATISFIABLE {
            let is_end = length_of_none(reply.headers()).is_none_or(|length| length == start);
            return (is_end && known.is_none()).then_some(Rest::Nothing);
        }
        let length = reply.body().size_hint().exact();
        check_own_range(reply.status(), reply.headers(), length).ok()?;
        let came = ContentRange::of(reply.headers())?;
        let of = came.of.map(|of| of as u64);
        // Neither reply knows the length of the file, and this one has nothing further.
        if known.or(of).is_none() && came.range.end as u64 == start {
            return Some(Rest::Nothing);
        }
        let file = known.or(of);
        let is_rest = reply.status() == StatusCode::PARTIAL_CONTENT
            && came.range.start as u64 == start
            && of.is_none_or(|of| Some(of) == file)
            && [file, end].into_iter().flatten().all(|end| came.range.end as u64 <= end)
            && is_part_of(reply.headers(), &fetched.head.headers);
        let extent = Extent { is_part: true, part: Some(came.range.end as u64), file };
        is_rest.then(|| Rest::Part(reply.into_body(), extent))
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::CONTENT_RANGE;
    use hyper::{Response, http::response};

    use super::*;
    use crate::assembly::DeliveredBody;

    fn head(status: StatusCode, content_range: &'static str) -> response::Parts {
        let (mut head, ()) = Response::new(()).into_parts();
        head.status = status;
        head.headers.insert(CONTENT_RANGE, HeaderValue::from_static(content_range));
        head
    }

    #[test]
    fn damage_to_a_part_is_named_by_its_place_in_the_file() {
        let damage = BodyDamage {
            missing: core::iter::once(0..10).collect(),
            suspect: vec![20..30, 90..100],
            unchecked: 7,
        };
        let fetched = |status| {
            let body = DeliveredBody::new(vec![0; 100], damage.clone(), true);
            Fetched::new(head(status, "bytes 30000-30099/30100"), FetchedBody::Sap(body), None)
        };
        let part = fetched(StatusCode::PARTIAL_CONTENT).damage().expect("it came over SAP");
        assert_eq!(part.missing.first(), Some(&(30_000..30_010)));
        assert_eq!(part.suspect, [30_020..30_030, 30_090..30_100]);
        assert_eq!((part.bytes(), part.unchecked), (damage.bytes(), 7));
        assert_eq!(fetched(StatusCode::OK).damage(), Some(damage));
    }
}
