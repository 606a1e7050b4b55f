//! The files of a folder.

use std::cmp::Reverse;
use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Incoming};
use hyper::header::{
    ACCEPT_ENCODING, ACCEPT_RANGES, ALLOW, CACHE_CONTROL, CONNECTION, CONTENT_ENCODING,
    CONTENT_RANGE, CONTENT_TYPE, ETAG, EXPECT, HeaderValue, LAST_MODIFIED, LOCATION, RANGE, VARY,
    X_CONTENT_TYPE_OPTIONS,
};
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, fstat, openat2};
use rustix::io::Errno;
use windfall_system::as_caller;

use crate::blocking::blocking;
use crate::conditional::{Selection, Validators, select};
use crate::delivery::{BodyDelivery, BodySource};
use crate::file_body::FileBody;
use crate::listing::{page, quoted};
use crate::media_types;
use crate::offer::SapOffer;
use crate::server::{MessageBody, Reply, WebService, check_address, closing, empty, plain, whole};
use crate::unwanted_body::discard;

/// The file that stands for its folder.
const INDEX: &str = "index.html";
/// The most names that the list of a folder has.
const LISTED: usize = 10_000;

/// A folder whose files are served; no path leads out of it, not even by a symbolic link.
pub struct Site {
    root: OwnedFd,
    delivery: Option<Arc<BodyDelivery>>,
    cache_control: Option<HeaderValue>,
}

/// The time that opening a file may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pace {
    /// Only what the system has in its caches is found.
    AtOnce,
    /// A disk may be waited for.
    Waiting,
}

/// The thing that was found, or an error; `None` if it takes longer than it may.
type Finding = Option<io::Result<Found>>;

/// A thing that a path leads to.
enum Found {
    File(OpenFile, PathBuf),
    /// A folder and the names in it, and whether there are more.
    Folder(Vec<OsString>, bool),
    /// A folder that was asked for without the slash at its end.
    WithoutSlash,
    Refused(StatusCode),
}

impl Site {
    /// Serves the files below `folder`, over SAP too if there is a `delivery`.
    ///
    /// # Errors
    /// If the folder cannot be opened.
    pub fn new(folder: &Path, delivery: Option<Arc<BodyDelivery>>) -> io::Result<Self> {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY;
        let root = as_caller(folder, || rustix::fs::open(folder, flags, Mode::empty()))?;
        Ok(Self { root, delivery, cache_control: None })
    }

    /// Sends this `Cache-Control` with each file.
    #[must_use]
    pub fn with_cache_control(self, value: Option<HeaderValue>) -> Self {
        Self { cache_control: value, ..self }
    }

    /// Opens what lies at a path below the root; the kernel refuses every way out of it.
    fn open(&self, path: &Path, pace: Pace) -> rustix::io::Result<File> {
        // Opening a pipe must not wait for its writer.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let mut resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        resolve.set(ResolveFlags::CACHED, pace == Pace::AtOnce);
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        as_caller(path, || openat2(&self.root, path, flags, Mode::empty(), resolve).map(File::from))
    }

    fn find(&self, path: &Path, has_slash: bool, pace: Pace) -> Finding {
        self.found(path, has_slash, pace).transpose()
    }

    fn found(&self, path: &Path, has_slash: bool, pace: Pace) -> io::Result<Option<Found>> {
        let refused = |status| Ok(Some(Found::Refused(status)));
        let file = match self.open(path, pace) {
            Ok(file) => file,
            // Older kernels know no caches here, and say that this is no path.
            Err(Errno::AGAIN | Errno::INVAL) if pace == Pace::AtOnce => return Ok(None),
            // A socket cannot be opened at all (ENXIO).
            Err(Errno::ACCESS | Errno::PERM | Errno::XDEV | Errno::LOOP | Errno::NXIO) => {
                return refused(StatusCode::FORBIDDEN);
            }
            Err(Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG | Errno::INVAL) => {
                return refused(StatusCode::NOT_FOUND);
            }
            Err(error) => return Err(error.into()),
        };
        let metadata = file.metadata()?;
        let kind = metadata.file_type();
        if kind.is_file() {
            if has_slash {
                return refused(StatusCode::NOT_FOUND);
            }
            return Ok(Some(Found::File(OpenFile { file, metadata }, path.to_owned())));
        }
        if !kind.is_dir() {
            return refused(StatusCode::FORBIDDEN);
        }
        if !has_slash {
            return Ok(Some(Found::WithoutSlash));
        }
        let index = path.join(INDEX);
        let opened = match self.open(&index, pace) {
            Ok(file) => Some((file.metadata()?, file)),
            Err(_) => None,
        };
        match opened {
            Some((metadata, opened)) if metadata.is_file() => {
                Ok(Some(Found::File(OpenFile { file: opened, metadata }, index)))
            }
            _ if pace == Pace::AtOnce => Ok(None),
            _ => self.list(path, &file).map(Some),
        }
    }

    /// Lists what can be asked for in a folder.
    fn list(&self, path: &Path, folder: &File) -> io::Result<Found> {
        let mut names = Vec::new();
        let mut is_cut = false;
        for entry in rustix::fs::Dir::read_from(folder)? {
            let entry = entry?;
            let mut name = OsStr::from_bytes(entry.file_name().to_bytes()).to_owned();
            if name.as_bytes().starts_with(b".") {
                continue;
            }
            let is_folder = match entry.file_type() {
                FileType::Directory => true,
                FileType::RegularFile => false,
                // A link may lead nowhere or out of the folder, and pipes are not served.
                _ => {
                    match self.open(&path.join(&name), Pace::Waiting).and_then(|file| fstat(&file))
                    {
                        Ok(found) if FileType::from_raw_mode(found.st_mode).is_dir() => true,
                        Ok(found) if FileType::from_raw_mode(found.st_mode).is_file() => false,
                        _ => continue,
                    }
                }
            };
            if names.len() == LISTED {
                is_cut = true;
                break;
            }
            if is_folder {
                name.push("/");
            }
            names.push(name);
        }
        names.sort();
        Ok(Found::Folder(names, is_cut))
    }

    /// Finds what a path leads to, at once if the system has it in its caches.
    async fn look_up(self: &Arc<Self>, path: &Path, has_slash: bool) -> io::Result<Found> {
        if let Some(found) = self.find(path, has_slash, Pace::AtOnce) {
            return found;
        }
        let site = Arc::clone(self);
        let place = path.to_owned();
        let found = blocking(move || site.find(&place, has_slash, Pace::Waiting)).await;
        // Without another thread this one waits.
        let found = found.unwrap_or_else(|_| self.find(path, has_slash, Pace::Waiting));
        found.unwrap_or_else(|| Err(Errno::AGAIN.into()))
    }

    /// Returns the file compressed by an encoding that the client takes, as it lies beside the file
    /// and is no older, and the name of the encoding.
    async fn compressed(
        &self,
        context: &Context<'_>,
        of: &Metadata,
        path: &Path,
    ) -> Option<Encoded> {
        let accepted = encodings(context.headers);
        let modified = of.modified().ok()?;
        for (ending, encoding) in accepted {
            let mut beside = path.as_os_str().to_owned();
            beside.push(ending);
            let opened = match self.open(Path::new(&beside), Pace::AtOnce) {
                Err(Errno::AGAIN | Errno::INVAL) => self.open(Path::new(&beside), Pace::Waiting),
                opened => opened,
            };
            let Ok(file) = opened else { continue };
            let metadata = file.metadata().ok()?;
            if metadata.is_file() && metadata.modified().is_ok_and(|it| it >= modified) {
                return Some((OpenFile { file, metadata }, encoding));
            }
        }
        None
    }

    async fn file(&self, context: &Context<'_>, file: OpenFile, path: &Path) -> io::Result<Reply> {
        let encoded = if context.offer.is_none() && !context.headers.contains_key(RANGE) {
            self.compressed(context, &file.metadata, path).await
        } else {
            None
        };
        let encoding = encoded.as_ref().map(|(_, encoding)| *encoding);
        let OpenFile { file, metadata } = encoded.map_or(file, |(encoded, _)| encoded);
        let since = u64::try_from(metadata.mtime()).unwrap_or_default();
        let modified = Duration::new(since, metadata.mtime_nsec() as u32);
        let validators = Validators::new(modified, metadata.len(), encoding);
        let media_type = media_types::of_file(path);
        let file = Arc::new(file);
        let mut reply = Response::new(empty());
        describe(reply.headers_mut(), &validators, &media_type);
        if let Some(encoding) = encoding {
            set(reply.headers_mut(), CONTENT_ENCODING, encoding);
        }
        if let Some(value) = &self.cache_control {
            reply.headers_mut().insert(CACHE_CONTROL, value.clone());
        }
        let range = match select(context.headers, &validators) {
            // Ranges are defined for GET alone (RFC 9110, section 14.2).
            Selection::Part(_) | Selection::Unsatisfiable if context.is_head => {
                0..validators.length
            }
            Selection::Whole => 0..validators.length,
            Selection::Part(range) => {
                *reply.status_mut() = StatusCode::PARTIAL_CONTENT;
                let first = range.start;
                let last = range.end - 1;
                let of = validators.length;
                set(reply.headers_mut(), CONTENT_RANGE, &format!("bytes {first}-{last}/{of}"));
                range
            }
            Selection::NotModified => {
                *reply.status_mut() = StatusCode::NOT_MODIFIED;
                // Whoever asks knows the representation (RFC 9110, section 15.4.5).
                reply.headers_mut().remove(CONTENT_TYPE);
                return Ok(reply);
            }
            Selection::Failed => return Ok(plain(StatusCode::PRECONDITION_FAILED, "changed")),
            Selection::Unsatisfiable => {
                let mut reply = plain(StatusCode::RANGE_NOT_SATISFIABLE, "no such range");
                let of = format!("bytes */{}", validators.length);
                set(reply.headers_mut(), CONTENT_RANGE, &of);
                return Ok(reply);
            }
        };
        if let Some((delivery, offer)) = self.delivery.as_ref().zip(context.offer.as_ref()) {
            let file = Arc::clone(&file);
            let of = validators.length;
            let source = BodySource::File { file, range: range.clone(), of };
            let peer = context.from.ip();
            if delivery.deliver(offer, peer, &media_type, source, &mut reply).await {
                return Ok(reply);
            }
        }
        *reply.body_mut() = FileBody::new(file, range).boxed();
        Ok(reply)
    }

    async fn reply(self: &Arc<Self>, request: &Request<Incoming>, from: SocketAddr) -> Reply {
        let is_head = request.method() == Method::HEAD;
        if let Err((status, reason)) = check_address(request.uri()) {
            return plain(status, reason);
        }
        if !is_known(request.method()) {
            return plain(StatusCode::NOT_IMPLEMENTED, "the method is not known");
        }
        if !is_head && request.method() != Method::GET {
            let mut reply = plain(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD");
            set(reply.headers_mut(), ALLOW, "GET, HEAD");
            return reply;
        }
        let Some((path, has_slash)) = local_path(request.uri().path()) else {
            return plain(StatusCode::NOT_FOUND, "not found");
        };
        let found = self.look_up(&path, has_slash).await;
        let offer = SapOffer::from_headers(request.headers()).filter(|_| !is_head);
        let context = Context { headers: request.headers(), is_head, offer, from };
        let reply = match found {
            Ok(Found::File(file, path)) => self.file(&context, file, &path).await,
            Ok(Found::Folder(names, is_cut)) => Ok(folder(&path, &names, is_cut)),
            Ok(Found::WithoutSlash) => Ok(with_slash(&path, request.uri().query())),
            Ok(Found::Refused(StatusCode::FORBIDDEN)) => {
                Ok(plain(StatusCode::FORBIDDEN, "forbidden"))
            }
            Ok(Found::Refused(status)) => Ok(plain(status, "not found")),
            Err(error) => Err(error),
        };
        reply.unwrap_or_else(|_| plain(StatusCode::INTERNAL_SERVER_ERROR, "cannot be read"))
    }
}

/// The parts of a request that a file's reply depends on.
struct Context<'a> {
    headers: &'a HeaderMap,
    is_head: bool,
    offer: Option<SapOffer>,
    from: SocketAddr,
}

impl WebService for Site {
    async fn answer(
        self: Arc<Self>,
        mut request: Request<Incoming>,
        from: SocketAddr,
    ) -> Response<MessageBody> {
        // A client that waits for leave to send a body keeps it (RFC 9110, section 10.1.1).
        let waits = request.headers().contains_key(EXPECT) && !request.body().is_end_stream();
        let is_read = if waits { Ok(false) } else { discard(request.body_mut()).await };
        let Ok(is_read) = is_read else {
            return closing(StatusCode::BAD_REQUEST, "the body of the request is malformed");
        };
        let mut reply = self.reply(&request, from).await;
        if !is_read {
            set(reply.headers_mut(), CONNECTION, "close");
        }
        reply
    }
}

/// Returns the path below the root that a request names, and whether it ends in a slash. Hidden
/// files have no path, nor has anything above the root.
fn local_path(of_request: &str) -> Option<(PathBuf, bool)> {
    let decoded: Vec<u8> = percent_encoding::percent_decode_str(of_request).collect();
    if !decoded.starts_with(b"/") || decoded.contains(&0) {
        return None;
    }
    let mut path = PathBuf::new();
    for part in decoded.split(|byte| *byte == b'/').filter(|part| !part.is_empty()) {
        if part.starts_with(b".") {
            return None;
        }
        path.push(OsStr::from_bytes(part));
    }
    Some((path, decoded.ends_with(b"/")))
}

fn folder(path: &Path, names: &[OsString], is_cut: bool) -> Reply {
    let shown = format!("/{}", path.display());
    let shown = if shown.ends_with('/') { shown } else { shown + "/" };
    let mut reply = Response::new(whole(page(&shown, names, is_cut)));
    set(reply.headers_mut(), CONTENT_TYPE, "text/html; charset=utf-8");
    reply
}

/// Sends the client to the path of a folder that ends in a slash, where relative links hold.
fn with_slash(path: &Path, query: Option<&str>) -> Reply {
    let mut reply = plain(StatusCode::MOVED_PERMANENTLY, "moved");
    // Made of the parts of the path, so that it cannot begin with two slashes and name a host.
    let to = quoted(path.as_os_str());
    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
    set(reply.headers_mut(), LOCATION, &format!("/{to}/{query}"));
    reply
}

/// The endings of compressed files, with the encodings, the better one first.
const ENCODINGS: [(&str, &str); 2] = [(".br", "br"), (".gz", "gzip")];

/// A file that is open, and what the system knows of it.
struct OpenFile {
    file: File,
    metadata: Metadata,
}

/// A compressed file, and its encoding.
type Encoded = (OpenFile, &'static str);

/// Returns the endings and names of the encodings that a client takes, the one of the greatest
/// weight first, of equal ones the better one; none that it wants less than the file as it is
/// (RFC 9110, section 12.5.3).
fn encodings(headers: &HeaderMap) -> Vec<(&'static str, &'static str)> {
    let values = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    let named: Vec<(String, u16)> = values
        .flat_map(|value| value.split(','))
        .map(|element| {
            let (name, weight) = element.split_once(';').unwrap_or((element, "q=1"));
            (name.trim().to_ascii_lowercase(), thousandths(weight))
        })
        .collect();
    let weight = |encoding: &str| {
        let own =
            named.iter().find(|(name, _)| name.strip_prefix("x-").unwrap_or(name) == encoding);
        let any = named.iter().find(|(name, _)| name == "*");
        // What is not named is taken only if nothing else is there.
        own.or(any).map_or(0, |(_, weight)| *weight)
    };
    let least = weight("identity").max(1);
    let mut taken: Vec<_> = ENCODINGS.into_iter().filter(|(_, it)| weight(it) >= least).collect();
    taken.sort_by_key(|(_, encoding)| Reverse(weight(encoding)));
    taken
}

/// Reads a weight such as `q=0.5`, in thousandths; what is none means that nothing is taken (RFC
/// 9110, section 12.4.2).
fn thousandths(parameter: &str) -> u16 {
    let parameter = parameter.trim().to_ascii_lowercase();
    let weight = parameter.strip_prefix("q=").unwrap_or("");
    let is_number = weight.bytes().all(|byte| byte == b'.' || byte.is_ascii_digit());
    let weight: f32 = weight.parse().ok().filter(|_| is_number).unwrap_or(0.0);
    if weight > 1.0 { 0 } else { (weight * 1_000.0).round() as u16 }
}

/// The methods that are registered for HTTP (RFC 9110, section 16.1.1).
const METHODS: [&str; 40] = [
    "ACL",
    "BASELINE-CONTROL",
    "BIND",
    "CHECKIN",
    "CHECKOUT",
    "CONNECT",
    "COPY",
    "DELETE",
    "GET",
    "HEAD",
    "LABEL",
    "LINK",
    "LOCK",
    "MERGE",
    "MKACTIVITY",
    "MKCALENDAR",
    "MKCOL",
    "MKREDIRECTREF",
    "MKWORKSPACE",
    "MOVE",
    "OPTIONS",
    "ORDERPATCH",
    "PATCH",
    "POST",
    "PRI",
    "PROPFIND",
    "PROPPATCH",
    "PUT",
    "QUERY",
    "REBIND",
    "REPORT",
    "SEARCH",
    "TRACE",
    "UNBIND",
    "UNCHECKOUT",
    "UNLINK",
    "UNLOCK",
    "UPDATE",
    "UPDATEREDIRECTREF",
    "VERSION-CONTROL",
];

/// Tells whether a method is one of those that are registered for HTTP.
fn is_known(method: &Method) -> bool {
    METHODS.contains(&method.as_str())
}

fn describe(headers: &mut HeaderMap, of: &Validators, media_type: &str) {
    set(headers, CONTENT_TYPE, media_type);
    set(headers, ETAG, &of.tag);
    set(headers, LAST_MODIFIED, &httpdate::fmt_http_date(of.modified));
    set(headers, ACCEPT_RANGES, "bytes");
    set(headers, X_CONTENT_TYPE_OPTIONS, "nosniff");
    // Another client gets other bytes of the same file.
    set(headers, VARY, "Accept-Encoding");
}

/// Sets a header whose value is text of this program.
fn set(headers: &mut HeaderMap, name: hyper::header::HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_names_a_path_below_the_root() {
        let path =
            |of: &str| local_path(of).map(|(path, slash)| (path.display().to_string(), slash));
        let found = |path: &str, slash| Some((path.to_owned(), slash));
        assert_eq!(path("/"), found("", true));
        assert_eq!(path("//a///b/"), found("a/b", true));
        assert_eq!(path("/a%20b/%C3%A9.jpg"), found("a b/é.jpg", false));
        for none in ["", "a", "*", "/..", "/a/../b", "/%2e%2e/x", "/a%2f..%2fb", "/.git", "/a%00"] {
            assert_eq!(path(none), None, "{none}");
        }
    }

    #[test]
    fn a_registered_method_is_known_in_its_case() {
        let known = |name: &str| is_known(&name.parse().expect("a method"));
        assert!(METHODS.is_sorted() && METHODS.iter().all(|name| known(name)));
        assert!(known("PROPFIND") && known("UPDATEREDIRECTREF"));
        assert!(!known("get") && !known("FETCH"));
    }

    #[test]
    fn the_encoding_of_the_greatest_weight_is_sent() {
        let both = vec!["br", "gzip"];
        let br = vec!["br"];
        let gzip = vec!["gzip"];
        for (accepted, wanted) in [
            ("gzip, br", &both),
            ("br;q=0.1, gzip;q=0.9", &vec!["gzip", "br"]),
            ("br; Q=0.899 ,x-gzip ; q=0.9", &vec!["gzip", "br"]),
            ("gzip;q=0.001, *;q=0.002", &br),
            ("*", &both),
            ("*;q=0", &vec![]),
            ("gzip, *;q=0", &gzip),
            ("identity;q=0, gzip;q=0.1", &gzip),
            ("identity, br;q=0.9", &vec![]),
            ("identity;q=0.5, br;q=0.4, gzip;q=0.5", &gzip),
            ("identity, *;q=0.5", &vec![]),
            ("br;q=2, gzip;q=inf", &vec![]),
            ("br;q=-1, gzip;q=", &vec![]),
            ("br;level=1, gzip;q=1.000", &gzip),
            ("", &vec![]),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, accepted.parse().expect("a value"));
            let found: Vec<_> = encodings(&headers).into_iter().map(|(_, name)| name).collect();
            assert_eq!(found, *wanted, "{accepted}");
        }
    }
}
