//! Delivers the bodies of replies over SAP: by a call to the client, or to a client that calls.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use bytes::Bytes;
use hyper::HeaderMap;
use hyper::header::{CACHE_CONTROL, HeaderValue};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;
use windfall_socket::{Duration, SapError, SapListener, SapOptions, SapSocket};

use crate::links::reason_of;
use crate::offer::{self, Opener, SapOffer};
use crate::quota::{CallQuota, real_time};
use crate::receiving::NO_ANSWER;
use crate::server::{Reply, WayNote, empty};
use windfall_bodies::{
    CONTROL_STREAM, Content, Control, LONGEST_BODY, Parcel, TransferToken, refuse, send,
};

/// The memory for all bodies on their way, in KiB.
const MEMORY: usize = 512 << 10;
/// Bytes that may wait for the calls of one client.
const FOR_ONE: usize = MEMORY << 8;
/// The time in which a called client answers, and in which one that calls comes for its body.
const ANSWER: Duration = Duration::from_secs(2);
const FETCHED_WITHIN: Duration = Duration::from_secs(10);
/// The time without progress after which a delivery is given up.
const PROGRESS: Duration = Duration::from_secs(15);
/// The time for which a connection of a client may ask for nothing.
const IDLE: Duration = Duration::from_secs(60);
/// The connections of clients at the same time, and the bodies on their way on one of them.
const CLIENTS: usize = 256;
const AT_ONCE: usize = 64;

/// The settings of deliveries.
#[derive(Clone, Copy, Debug)]
pub struct DeliverySettings {
    /// The profile, the carrier and the key.
    pub options: SapOptions,
    /// The UDP address where clients call that cannot be called.
    pub listen: SocketAddr,
}

/// The bytes of a reply's body.
pub(crate) enum BodySource {
    File(Arc<File>, u64),
    Memory(Bytes),
}

impl BodySource {
    fn length(&self) -> u64 {
        match self {
            Self::File(_, length) => *length,
            Self::Memory(bytes) => bytes.len() as u64,
        }
    }

    /// Reads the body unless it is to be read as it is sent; a file that has become shorter is an
    /// error.
    fn content(self, as_it_is_sent: bool) -> io::Result<Content> {
        match self {
            Self::Memory(bytes) => Ok(Content::Memory(bytes)),
            Self::File(file, length) => Content::of_file(file, length as usize, as_it_is_sent),
        }
    }
}

/// A body that a client may come for.
struct Waiting {
    parcel: Parcel,
    /// The client that asked for it.
    peer: IpAddr,
    _memory: OwnedSemaphorePermit,
}

/// Delivers bodies over SAP.
pub struct BodyDelivery {
    options: SapOptions,
    /// Takes the calls of clients, and calls them from its one socket.
    listener: SapListener,
    port: u16,
    waiting: Mutex<BTreeMap<TransferToken, Waiting>>,
    quota: Arc<CallQuota>,
    memory: Arc<Semaphore>,
    clients: AtomicUsize,
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
            memory: Arc::new(Semaphore::new(MEMORY)),
            clients: AtomicUsize::new(0),
            open: Mutex::default(),
        });
        let accepting = Arc::clone(&delivery);
        thread::spawn(move || accepting.accept());
        Ok(delivery)
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
        if matches!(offer.opener, Opener::Client { .. }) {
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
        let amount = (length >> 10) as u32 + 1;
        let memory = Arc::clone(&self.memory).try_acquire_many_owned(amount).map_err(|_| "busy")?;
        let open = self.open_connection(offer.opener, peer);
        let token = match &open {
            Some(open) => open.token,
            None => new_token()?,
        };
        let is_precise = offer.is_precise;
        let to_parcel = move |source: BodySource| -> Result<Parcel, &'static str> {
            let content = source.content(is_precise).map_err(|_| "unreadable")?;
            Ok(Parcel { token, content, is_precise })
        };
        match offer.opener {
            // A server that calls itself would take the body for delivered.
            Opener::Server(port) if port == self.port && is_of_this_host(peer) => {
                return Err(NO_ANSWER);
            }
            Opener::Server(port) => {
                let delivery = Arc::clone(self);
                let to = SocketAddr::new(peer, port);
                let call = move || delivery.call(to).and_then(|it| Ok((it, to_parcel(source)?)));
                let (socket, parcel) = spawn_blocking(call).await.map_err(|_| "busy")??;
                spawn_blocking(move || {
                    // A client that goes away needs nothing.
                    let _ = send(&socket, 1, &parcel).and_then(|()| socket.close());
                    drop(memory);
                });
            }
            Opener::Client { .. } => {
                let reading = spawn_blocking(move || to_parcel(source));
                let parcel = reading.await.map_err(|_| "busy")??;
                let waiting = Waiting { parcel, peer, _memory: memory };
                match open {
                    Some(open) => drop(spawn_blocking(move || open.send(waiting))),
                    None => self.keep(waiting)?,
                }
            }
        }
        Ok(Started { token, length })
    }

    /// Returns the connection that an offer names, if it is open and takes another transfer.
    fn open_connection(&self, opener: Opener, peer: IpAddr) -> Option<OpenTransfer> {
        let Opener::Client { open: Some((token, transfer)) } = opener else { return None };
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
        if own > 0 && own.saturating_add(body.parcel.content.len()) > FOR_ONE {
            return Err("busy");
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
        while let Ok((socket, _)) = self.listener.accept() {
            if self.clients.fetch_add(1, Ordering::Relaxed) >= CLIENTS {
                self.clients.fetch_sub(1, Ordering::Relaxed);
                continue;
            }
            let delivery = Arc::clone(self);
            let serving = move || {
                delivery.serve(&Arc::new(socket));
                delivery.clients.fetch_sub(1, Ordering::Relaxed);
            };
            if thread::Builder::new().spawn(serving).is_err() {
                self.clients.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }

    /// Answers what the client of a connection asks for.
    fn serve(&self, socket: &Arc<SapSocket>) {
        socket.set_timeout(Some(IDLE));
        let places = Arc::new(Semaphore::new(AT_ONCE));
        let used = Arc::default();
        let mut first = None;
        while let Ok(Some(message)) = socket.recv() {
            let asked = Control::decode(message.data);
            let Ok((transfer, Control::Ask(token))) = asked else { break };
            let place = Arc::clone(&places).try_acquire_owned().ok();
            let waiting = self.waiting().remove(&token);
            let client = waiting.as_ref().map(|waiting| Client {
                socket: Arc::clone(socket),
                places: Arc::clone(&places),
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
                    thread::spawn(move || open.send(waiting));
                }
                _ if refuse(socket, transfer).is_err() => break,
                _ => {}
            }
        }
        first.iter().for_each(|first| _ = self.open().remove(first));
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
        let _ = send(&self.socket, self.transfer, &waiting.parcel);
        drop(waiting);
    }
}

/// Tells whether an address is one of this host's own.
fn is_of_this_host(address: IpAddr) -> bool {
    std::net::UdpSocket::bind((address, 0)).is_ok()
}

fn new_token() -> Result<TransferToken, &'static str> {
    let mut token = TransferToken::default();
    let filled = rustix::rand::getrandom(&mut token, rustix::rand::GetRandomFlags::empty());
    filled.map(|_| token).map_err(|_| "busy")
}

/// A transfer that has begun, or that waits for its client.
struct Started {
    token: TransferToken,
    length: u64,
}
