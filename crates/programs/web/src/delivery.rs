//! Delivers the bodies of replies over SAP: by a call to the client, or to a client that calls.

use core::ops::Range;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::FileExt as _;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;

use bytes::Bytes;
use hyper::HeaderMap;
use hyper::header::{CACHE_CONTROL, HeaderValue};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use windfall_media::exact_ranges;
use windfall_socket::{Duration, SapError, SapListener, SapOptions, SapSocket};

use crate::blocking::{STACK, begin_or, blocking_or};
use crate::connection_limiter::client_at;
use crate::connection_pool::reason_of;
use crate::memory::{BodyMemory, HeldMemory};
use crate::offer::{self, SapOffer, SapOpener};
use crate::quota::{CallQuota, real_time};
use crate::receiving::NO_ANSWER;
use crate::sap_connections::SapConnections;
use crate::server::{Reply, WayNote, empty};
use crate::under_way::{Entry, UnderWay};
use windfall_bodies::{
    CONTROL_STREAM, Content, Control, LONGEST_BODY, Parcel, TransferToken, refuse, send, zeros,
};

/// The reason of a body that goes over TCP since there is no room for it.
pub(crate) const BUSY: &str = "busy";
/// The part of the memory that may wait for the calls of one client.
const PART_OF_ONE: usize = 4;
/// The time for which a body waits for the memory of one that gives way to it.
const GIVING_WAY: Duration = Duration::from_secs(1);
/// The most exact ranges of a file of which parts are asked for.
const MOST_RANGES: usize = 1 << 16;
/// The memory that a body takes besides its bytes.
const OF_BODY: usize = 1 << 10;
/// The time in which a called client answers, and in which one that calls comes for its body.
const ANSWER: Duration = Duration::from_secs(2);
const FETCHED_WITHIN: Duration = Duration::from_secs(10);
/// The time without progress after which a delivery is given up.
const PROGRESS: Duration = Duration::from_secs(15);
/// The time for which a connection of a client may ask for nothing, or take nothing.
const IDLE: Duration = Duration::from_secs(60);
/// The time after which a connection that has asked for nothing looks whether it makes room for
/// another, and the number of looks after which it ends.
const LOOK: Duration = Duration::from_secs(1);
const IDLE_LOOKS: u32 = 60;
/// The connections to clients at the same time, as far as the memory of SAP has this room for the
/// thread of each, and the bodies on their way on one of them.
const CONNECTIONS: usize = 256;
const OF_CONNECTION: usize = 128 << 10;
/// The threads of all connections: other requests need some, too.
const THREADS: usize = 384;
const AT_ONCE: usize = 64;

/// The settings of deliveries.
#[derive(Clone, Debug)]
pub struct DeliverySettings {
    /// The profile, the carrier and the key.
    pub options: SapOptions,
    /// The UDP address where clients call that cannot be called.
    pub listen: SocketAddr,
    /// The memory that all bodies may take together.
    pub memory: BodyMemory,
}

/// The bytes of a reply's body.
pub(crate) enum BodySource {
    /// A range of a file, and the length of the whole file.
    File { file: Arc<File>, range: Range<u64>, of: u64 },
    /// Bytes whose memory is charged already.
    Memory(Bytes),
}

impl BodySource {
    fn length(&self) -> u64 {
        match self {
            Self::File { range, .. } => range.end - range.start,
            Self::Memory(bytes) => bytes.len() as u64,
        }
    }

    /// Tells whether it is a part of a file.
    fn is_part(&self) -> bool {
        matches!(self, Self::File { range, of, .. } if *range != (0..*of))
    }

    /// Returns the exact ranges of a part of a file, which only the whole file tells.
    fn exact_of_part(
        &self,
        memory: &BodyMemory,
    ) -> Result<Option<Vec<Range<usize>>>, &'static str> {
        let Self::File { file, range, of } = self else { return Ok(None) };
        if !self.is_part() {
            return Ok(None);
        }
        if *of > LONGEST_BODY {
            return Err("too-long");
        }
        let mut held = memory.share();
        held.take(*of as usize).map_err(|_| BUSY)?;
        let mut whole = zeros(*of as usize).map_err(|error| reason(&error))?;
        file.read_exact_at(&mut whole, 0).map_err(|error| reason(&error))?;
        let start = range.start as usize;
        let end = range.end as usize;
        let within = exact_ranges(&whole, MOST_RANGES).into_iter().filter_map(|exact| {
            let cut = exact.start.max(start)..exact.end.min(end);
            (!cut.is_empty()).then(|| cut.start - start..cut.end - start)
        });
        Ok(Some(within.collect()))
    }

    /// Reads the body unless it is to be read as it is sent; a file that has become shorter is an
    /// error. The bytes keep their part of `memory` until the last message that holds some of them
    /// is gone.
    fn content(self, as_it_is_sent: bool, memory: &mut HeldMemory) -> io::Result<Content> {
        let content = match self {
            Self::Memory(bytes) => return Ok(Content::Memory(bytes)),
            Self::File { file, range, .. } => Content::of_file(file, range, as_it_is_sent)?,
        };
        Ok(match content {
            Content::Memory(bytes) => Content::Memory(memory.split(bytes.len()).bind(bytes)),
            content => content,
        })
    }
}

/// A body that a client may come for.
struct Waiting {
    parcel: Parcel,
    /// The client that asked for it.
    peer: IpAddr,
    _memory: HeldMemory,
    /// Ends when the memory is given back.
    entry: Entry,
}

/// Delivers bodies over SAP.
pub struct BodyDelivery {
    options: SapOptions,
    /// Takes the calls of clients, and calls them from its one socket.
    listener: SapListener,
    port: u16,
    waiting: Mutex<BTreeMap<TransferToken, Waiting>>,
    quota: Arc<CallQuota>,
    memory: BodyMemory,
    under_way: Arc<UnderWay>,
    /// The connections that take threads.
    threaded: Mutex<SapConnections<Threaded>>,
    /// The connections that clients have opened, by the token of their first transfer.
    open: Mutex<BTreeMap<TransferToken, Client>>,
}

/// A connection that a client has opened, and places for the transfers on it.
#[derive(Clone)]
struct Client {
    socket: Arc<SapSocket>,
    places: Arc<Semaphore>,
    /// The client that asked for the first body: the token is in a reply that others may read.
    peer: IpAddr,
    /// The numbers of its transfers, none of which comes twice.
    used: Arc<Mutex<BTreeSet<u16>>>,
}

impl Client {
    /// Takes a number for a transfer; tells whether it is one, and was free.
    fn take(&self, transfer: u16) -> bool {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        transfer != CONTROL_STREAM && used.insert(transfer)
    }
}

impl BodyDelivery {
    /// Listens for clients that call.
    ///
    /// # Errors
    /// If the address is in use or not of this host.
    pub fn start(settings: DeliverySettings) -> Result<Arc<Self>, SapError> {
        let mut options = settings.options;
        options.config.connect_timeout = ANSWER;
        options.config.silence_timeout = Some(PROGRESS);
        options.config.close_timeout = PROGRESS;
        let listener = options.listen(settings.listen)?;
        let delivery = Arc::new(Self {
            options,
            port: listener.local_addr()?.port(),
            listener,
            waiting: Mutex::default(),
            quota: Arc::default(),
            memory: settings.memory,
            under_way: Arc::default(),
            threaded: Mutex::default(),
            open: Mutex::default(),
        });
        let accepting = Arc::clone(&delivery);
        let started = thread::Builder::new().stack_size(STACK).spawn(move || accepting.accept());
        let what = "cannot start a thread".to_owned();
        started.map_err(|source| SapError::System { what, source })?;
        Ok(delivery)
    }

    /// Returns the memory that all bodies may take together.
    pub(crate) fn memory(&self) -> &BodyMemory {
        &self.memory
    }

    /// Returns the UDP port where clients call.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    //= S0.40
    //= S0.42
    /// Delivers a body over SAP and completes its reply; returns false if it must go over TCP.
    pub(crate) async fn deliver(
        self: &Arc<Self>,
        offer: &SapOffer,
        peer: IpAddr,
        media_type: &str,
        source: BodySource,
        reply: &mut Reply,
    ) -> bool {
        if !offer.takes(media_type) {
            return false;
        }
        let headers = reply.headers_mut();
        let forbids_change = offer.forbids_change || offer::forbids_change(headers);
        let outcome = if offer.is_precise || !forbids_change {
            self.start_transfer(offer, peer, source).await
        } else {
            Err("no-transform")
        };
        match outcome {
            Ok(transfer) => {
                self.announce(headers, offer, &transfer);
                *reply.body_mut() = empty();
                let kind = if offer.is_precise { "precise" } else { "approximate" };
                let note = WayNote(format!("sap {kind} {}", transfer.length));
                reply.extensions_mut().insert(note);
                true
            }
            Err(reason) => {
                headers.insert(offer::FALLBACK, HeaderValue::from_static(reason));
                let note = WayNote(format!("tcp: {reason}"));
                reply.extensions_mut().insert(note);
                false
            }
        }
    }

    fn announce(&self, headers: &mut HeaderMap, offer: &SapOffer, transfer: &Started) {
        let token = HeaderValue::from_str(&offer::token_to_hex(&transfer.token));
        headers.extend(token.map(|token| (offer::TOKEN, token)));
        headers.insert(offer::LENGTH, transfer.length.into());
        if matches!(offer.opener, SapOpener::Client { .. }) {
            headers.insert(offer::PORT, self.port.into());
        }
        // A cache must not take a reply without its body for the resource.
        let own = headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.extend(own.map(|own| (offer::CACHE_CONTROL, own)));
    }

    async fn start_transfer(
        self: &Arc<Self>,
        offer: &SapOffer,
        peer: IpAddr,
        source: BodySource,
    ) -> Result<Started, &'static str> {
        let length = source.length();
        if length > LONGEST_BODY {
            return Err("too-long");
        }
        let own = if matches!(source, BodySource::File { .. }) { length as usize } else { 0 };
        let mut memory = self.memory.share();
        while memory.take(OF_BODY + own).is_err() {
            self.make_room(peer, OF_BODY + length as usize).await?;
        }
        let open = self.open_connection(offer.opener, peer);
        let token = match &open {
            Some(open) => open.token,
            None => new_token()?,
        };
        let entry = self.under_way.enter(peer, OF_BODY + length as usize, token);
        let is_precise = offer.is_precise;
        let all = self.memory.clone();
        let read = move || -> Result<Waiting, &'static str> {
            let exact = if is_precise { None } else { source.exact_of_part(&all)? };
            let content =
                source.content(is_precise, &mut memory).map_err(|error| reason(&error))?;
            let parcel = Parcel { token, content, is_precise, exact };
            Ok(Waiting { parcel, peer, _memory: memory, entry })
        };
        match offer.opener {
            // A server that calls itself would take the body for delivered.
            SapOpener::Server(port) if port == self.port && is_of_this_host(peer) => {
                return Err(NO_ANSWER);
            }
            SapOpener::Server(port) => {
                let delivery = Arc::clone(self);
                let to = SocketAddr::new(peer, port);
                let call = move || delivery.call(to).and_then(|it| Ok((it, read()?)));
                let make_room = || self.give_way(peer, None);
                let (socket, body) = blocking_or(call, make_room).await.map_err(|_| BUSY)??;
                self.send_and_finish(Arc::new(socket), body)?;
            }
            SapOpener::Client { .. } => {
                let on = open.as_ref().map(|open| Arc::clone(&open.socket));
                let make_room = || self.give_way(peer, on.as_ref());
                let waiting = blocking_or(read, make_room).await.map_err(|_| BUSY)??;
                match open {
                    Some(open) => {
                        self.bound(peer, on.as_ref());
                        begin_or(move || open.send(waiting), make_room).map_err(|_| BUSY)?;
                    }
                    None => self.keep(waiting)?,
                }
            }
        }
        Ok(Started { token, length })
    }

    /// Sends a body to a client that was called, and ends the connection.
    fn send_and_finish(
        self: &Arc<Self>,
        socket: Arc<SapSocket>,
        body: Waiting,
    ) -> Result<(), &'static str> {
        let peer = body.peer;
        body.entry.travels_on(&socket);
        // One body is on its way.
        let places = Arc::new(Semaphore::new(AT_ONCE - 1));
        let number = self.enter(peer, &socket, &places);
        let delivery = Arc::clone(self);
        let own = Arc::clone(&socket);
        let sending = move || {
            // A client that goes away needs nothing.
            let sent = send(&socket, 1, &body.parcel);
            drop(body);
            let _ = sent.and_then(|()| socket.finish_or_abort());
            delivery.threaded().leave(number);
        };
        begin_or(sending, || self.give_way(peer, Some(&own))).map_err(|_| {
            self.threaded().leave(number);
            BUSY
        })
    }

    /// Makes room for a body of a client that has `bytes` bytes: one of the client that has most
    /// gives way, and ends. A client that asks and goes away would otherwise hold all memory until
    /// its bodies are given up.
    ///
    /// # Errors
    /// If none gives way.
    pub(crate) async fn make_room(&self, peer: IpAddr, bytes: usize) -> Result<(), &'static str> {
        if bytes > self.memory.limit() {
            return Err(BUSY);
        }
        let ended = self.under_way.ended.notified();
        let body = self.under_way.giving_way(peer, bytes).ok_or(BUSY)?;
        drop(self.waiting().remove(&body.token));
        body.socket.upgrade().iter().for_each(|socket| socket.reset());
        let _ = tokio::time::timeout(GIVING_WAY.into(), ended).await;
        Ok(())
    }

    /// Returns the connection that an offer names, if it is open and takes another transfer.
    fn open_connection(&self, opener: SapOpener, peer: IpAddr) -> Option<OpenTransfer> {
        let SapOpener::Client { open: Some((token, transfer)) } = opener else { return None };
        let client = self.open().get(&token).filter(|client| client.peer == peer).cloned()?;
        let place = Arc::clone(&client.places).try_acquire_owned().ok()?;
        client.take(transfer).then_some(())?;
        Some(OpenTransfer { socket: client.socket, token, transfer, _place: place })
    }

    fn open(&self) -> std::sync::MutexGuard<'_, BTreeMap<TransferToken, Client>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls a client at its own address.
    fn call(&self, to: SocketAddr) -> Result<SapSocket, &'static str> {
        let permit = self.quota.permit(to.ip(), real_time).ok_or("too-many-calls")?;
        let socket = match self.listener.connect(to) {
            // A listener of IPv6 takes clients of IPv4 too, but cannot call them.
            Err(SapError::Address(_)) => self.options.connect(to),
            socket => socket,
        };
        let socket = socket.map_err(|error| reason_of(&error));
        // Whoever refuses a key has answered.
        if !matches!(socket, Err(NO_ANSWER)) {
            permit.answered();
        }
        let socket = socket?;
        Ok(socket)
    }

    /// Keeps a body for a client that calls, for some time.
    ///
    /// # Errors
    /// If too much waits for the same client, who could otherwise take the room of all.
    fn keep(self: &Arc<Self>, body: Waiting) -> Result<(), &'static str> {
        let token = body.parcel.token;
        let mut waiting = self.waiting();
        let own = waiting.values().filter(|it| it.peer == body.peer);
        let own: usize = own.map(|it| it.parcel.content.len()).sum();
        if own > 0
            && own.saturating_add(body.parcel.content.len()) > self.memory.limit() / PART_OF_ONE
        {
            return Err(BUSY);
        }
        waiting.insert(token, body);
        drop(waiting);
        let delivery = Arc::clone(self);
        tokio::spawn(async move {
            tokio::time::sleep(FETCHED_WITHIN.into()).await;
            delivery.waiting().remove(&token);
        });
        Ok(())
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, BTreeMap<TransferToken, Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the connections of clients until the listener fails.
    fn accept(self: &Arc<Self>) {
        while let Ok((socket, from)) = self.listener.accept() {
            let socket = Arc::new(socket);
            let places = Arc::new(Semaphore::new(AT_ONCE));
            let number = self.enter(from.ip(), &socket, &places);
            let delivery = Arc::clone(self);
            let serving = Arc::clone(&socket);
            let serve = move || delivery.serve(&serving, &places, number);
            // Without a thread the client finds that the connection ends.
            if begin_or(serve, || self.give_way(from.ip(), Some(&socket))).is_err() {
                self.threaded().leave(number);
            }
        }
    }

    fn threaded(&self) -> std::sync::MutexGuard<'_, SapConnections<Threaded>> {
        self.threaded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in a connection to a client that takes threads; returns its number.
    fn enter(&self, peer: IpAddr, socket: &Arc<SapSocket>, places: &Arc<Semaphore>) -> u64 {
        self.bound(peer, None);
        let connection = Threaded { socket: Arc::downgrade(socket), places: Arc::clone(places) };
        self.threaded().enter(client_at(peer), connection)
    }

    /// Ends a connection if there are as many connections or threads as may be.
    fn bound(&self, peer: IpAddr, on: Option<&Arc<SapSocket>>) {
        let threaded = self.threaded();
        let is_full = threaded.len() >= most_connections()
            || threaded.threads(Threaded::under_way) >= THREADS;
        drop(threaded);
        if is_full {
            self.give_way(peer, on);
        }
    }

    /// Ends a connection whose threads further work of a client needs, but for the one that it is
    /// on; returns whether there is one.
    fn give_way(&self, peer: IpAddr, on: Option<&Arc<SapSocket>>) -> bool {
        let own = on.map(Arc::downgrade).unwrap_or_default();
        let may = |it: &Threaded| !Weak::ptr_eq(&it.socket, &own);
        let connection = self.threaded().giving_way(client_at(peer), may, Threaded::under_way);
        connection.iter().for_each(Threaded::end);
        connection.is_some()
    }

    /// Answers what the client of a connection asks for.
    fn serve(self: &Arc<Self>, socket: &Arc<SapSocket>, places: &Arc<Semaphore>, mut number: u64) {
        socket.set_timeout(Some(IDLE));
        let used = Arc::default();
        let mut first = None;
        let mut looks = 0;
        loop {
            let message = match socket.recv_timeout(LOOK) {
                Ok(Some(message)) => message,
                Err(SapError::TimedOut) if looks < IDLE_LOOKS && self.threaded().has(number) => {
                    let is_busy = places.available_permits() < AT_ONCE;
                    looks = if is_busy { 0 } else { looks + 1 };
                    continue;
                }
                Ok(None) | Err(_) => break,
            };
            looks = 0;
            number = self.threaded().touch(number);
            let asked = Control::decode(message.data);
            let Ok((transfer, Control::Ask(token))) = asked else { break };
            let place = Arc::clone(places).try_acquire_owned().ok();
            let waiting = self.waiting().remove(&token);
            let client = waiting.as_ref().map(|waiting| Client {
                socket: Arc::clone(socket),
                places: Arc::clone(places),
                peer: waiting.peer,
                used: Arc::clone(&used),
            });
            let client = client.filter(|client| client.take(transfer));
            match (waiting, place, client) {
                (Some(waiting), Some(place), Some(client)) => {
                    if first.is_none() {
                        first = Some(token);
                        self.open().insert(token, client);
                    }
                    let socket = Arc::clone(socket);
                    let open = OpenTransfer { socket, token, transfer, _place: place };
                    let again = Arc::clone(&open.socket);
                    let peer = waiting.peer;
                    self.bound(peer, Some(&again));
                    let sending =
                        begin_or(move || open.send(waiting), || self.give_way(peer, Some(&again)));
                    if sending.is_err() && refuse(&again, transfer).is_err() {
                        break;
                    }
                }
                _ if refuse(socket, transfer).is_err() => break,
                _ => {}
            }
        }
        first.iter().for_each(|first| _ = self.open().remove(first));
        self.threaded().leave(number);
    }
}

/// Returns the number of connections that the memory has room for.
fn most_connections() -> usize {
    (windfall_socket::memory().1 / OF_CONNECTION).clamp(1, CONNECTIONS)
}

/// A connection that takes threads, and may give way to others.
#[derive(Clone)]
struct Threaded {
    socket: Weak<SapSocket>,
    places: Arc<Semaphore>,
}

impl Threaded {
    /// Returns the number of bodies on their way.
    fn under_way(&self) -> usize {
        AT_ONCE - self.places.available_permits()
    }

    /// Ends the connection at once, and its threads with it.
    fn end(&self) {
        self.socket.upgrade().iter().for_each(|socket| socket.reset());
    }
}

/// A transfer on a connection that its client has opened.
struct OpenTransfer {
    socket: Arc<SapSocket>,
    token: TransferToken,
    transfer: u16,
    _place: OwnedSemaphorePermit,
}

impl OpenTransfer {
    /// Sends the body; a client that goes away needs nothing.
    fn send(self, waiting: Waiting) {
        waiting.entry.travels_on(&self.socket);
        let _ = send(&self.socket, self.transfer, &waiting.parcel);
        drop(waiting);
    }
}

/// Returns the reason of a body that goes over TCP since it cannot be read.
fn reason(error: &io::Error) -> &'static str {
    if error.kind() == io::ErrorKind::OutOfMemory { BUSY } else { "unreadable" }
}

/// Tells whether an address is one of this host's own.
fn is_of_this_host(address: IpAddr) -> bool {
    std::net::UdpSocket::bind((address, 0)).is_ok()
}

fn new_token() -> Result<TransferToken, &'static str> {
    let mut token = TransferToken::default();
    let filled = rustix::rand::getrandom(&mut token, rustix::rand::GetRandomFlags::empty());
    filled.map(|_| token).map_err(|_| BUSY)
}

/// A transfer that has begun, or that waits for its client.
struct Started {
    token: TransferToken,
    length: u64,
}

#[cfg(test)]
mod tests;
