//! Windfall's links for tests on [bach](https://docs.rs/bach): datagrams of its sockets cross a
//! [`SimLink`], which delays, drops, damages and marks them as its settings say.
//!
//! ```
//! use bach::environment::default::Runtime;
//! use bach::{ext::*, net::UdpSocket};
//! use windfall_bach::OverLink;
//! use windfall_sim_link::SimSettings;
//!
//! let link = SimSettings::new().rate("2Mbps").delay("20ms").loss("1%").seed(7).build().unwrap();
//! let over = OverLink::new(link, "near");
//! let counts = over.counts();
//! Runtime::new().with_net_queues(Some(Box::new(over))).run(|| {
//!     async {
//!         let socket = UdpSocket::bind("near:0").await.unwrap();
//!         socket.send_to(b"hello", "far:4000").await.unwrap();
//!     }
//!     .group("near")
//!     .spawn();
//!     async {
//!         let socket = UdpSocket::bind("far:4000").await.unwrap();
//!         let (len, _) = socket.recv_from(&mut [0; 16]).await.unwrap();
//!         assert_eq!(len, 5);
//!     }
//!     .group("far")
//!     .primary()
//!     .spawn();
//! });
//! assert_eq!(counts.near().delivered, 1);
//! ```

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bach::environment::net::ip::transport::Udp;
use bach::environment::net::ip::{Packet, Segments, Transport};
use bach::environment::net::monitor;
use bach::environment::net::pcap;
use bach::environment::net::queue::{Allocator, Dispatch, PacketQueue};
use bach::ext::*;
use bach::group::Group;
use bach::net::SocketAddr;
use bach::queue::vec_deque::{Overflow, Queue};
use bach::sync::channel::{Receiver, Sender};
use bach::time::{Instant, timeout};
use windfall_sim_link::{Ecn, SimCounts, SimDatagram, SimDelivery, SimEnd, SimLink};

/// Packets that wait at a socket at most.
const CAPACITY: usize = 4096;
/// Longer than any test.
const NEVER: Duration = Duration::from_secs(1 << 30);

/// The queues of bach's network, with a link between one group and all others.
///
/// Between sockets of the same side, datagrams take no time.
pub struct OverLink {
    link: Arc<Mutex<SimLink>>,
    near: String,
    is_checked: bool,
    /// Wakes the task that delivers; made with the first socket.
    wake: Option<Sender<()>>,
    /// The addresses of the sockets of the near group.
    near_sockets: Arc<Mutex<Vec<SocketAddr>>>,
}

/// Counts what the link did, also after the test.
#[derive(Clone)]
pub struct LinkCounts(Arc<Mutex<SimLink>>);

impl LinkCounts {
    /// Returns the fates of what the near end has sent.
    pub fn near(&self) -> SimCounts {
        locked(&self.0).counts(SimEnd::Near)
    }

    /// Returns the fates of what the far end has sent.
    pub fn far(&self) -> SimCounts {
        locked(&self.0).counts(SimEnd::Far)
    }

    /// Changes the link from now on, whole or not at all: `rate 1Mbps, uplink loss 5%`.
    ///
    /// # Errors
    /// If a setting makes no sense or cannot change.
    pub fn set(&self, change: &str) -> Result<(), windfall_sim_link::SimError> {
        locked(&self.0).set(now(), change)
    }
}

impl OverLink {
    /// Puts a link between the group `near` and all others; damaged data is passed up, as to
    /// sockets without a checksum.
    pub fn new(link: SimLink, near: impl Into<String>) -> Self {
        Self {
            link: Arc::new(Mutex::new(link)),
            near: near.into(),
            is_checked: false,
            wake: None,
            near_sockets: Arc::default(),
        }
    }

    /// Drops damaged datagrams as UDP does whose checksum covers its data.
    pub fn checked(mut self) -> Self {
        self.is_checked = true;
        self
    }

    /// Returns the counts of the link.
    pub fn counts(&self) -> LinkCounts {
        LinkCounts(Arc::clone(&self.link))
    }

    /// Starts the task that delivers what has arrived, once.
    fn waker(&mut self, dispatch: &Dispatch) -> Sender<()> {
        if let Some(wake) = &self.wake {
            return wake.clone();
        }
        let queue = Queue::builder().with_capacity(Some(1)).with_overflow(Overflow::PreferOldest);
        let (wake, woken) = queue.build().mutex().channel();
        deliver(Arc::clone(&self.link), dispatch.clone(), woken, self.is_checked)
            .spawn_named("windfall/deliver");
        self.wake = Some(wake.clone());
        wake
    }
}

impl Allocator for OverLink {
    fn for_udp(
        &mut self,
        group: &Group,
        addr: SocketAddr,
        dispatch: &Dispatch,
        _monitors: &monitor::List,
        _pcaps: &mut pcap::Registry,
    ) -> PacketQueue {
        let wake = self.waker(dispatch);
        let end = if group.name() == self.near { SimEnd::Near } else { SimEnd::Far };
        if end == SimEnd::Near {
            locked(&self.near_sockets).push(addr);
        }
        let queue = || Queue::builder().with_capacity(Some(CAPACITY));
        let (local_sender, segments) =
            queue().with_overflow(Overflow::PreferOldest).build().mutex().channel();
        let (remote_sender, local_receiver) =
            queue().with_overflow(Overflow::PreferOldest).build().mutex().channel();
        let sender = Sending {
            link: Arc::clone(&self.link),
            near_sockets: Arc::clone(&self.near_sockets),
            end,
            dispatch: dispatch.clone(),
            wake,
        };
        sender.run(segments).spawn_named(format_args!("windfall/{addr}"));
        PacketQueue { local_sender, local_receiver, remote_sender }
    }
}

/// The sender of the datagrams of one socket.
struct Sending {
    link: Arc<Mutex<SimLink>>,
    near_sockets: Arc<Mutex<Vec<SocketAddr>>>,
    end: SimEnd,
    dispatch: Dispatch,
    wake: Sender<()>,
}

impl Sending {
    async fn run(mut self, mut segments: Receiver<Segments>) {
        while let Ok(several) = segments.recv().await {
            for packet in several {
                let is_near = |to| locked(&self.near_sockets).iter().any(|it| it.ip() == to);
                let to = packet.destination();
                if is_near(to.ip()) == (self.end == SimEnd::Near) {
                    self.dispatch.send(packet).await;
                    continue;
                }
                let datagram = SimDatagram {
                    from: packet.source(),
                    to,
                    ecn: Ecn::from_bits(packet.header.ecn()),
                    payload: packet.transport.payload().clone(),
                };
                // What is too long for the link is lost, as on a path that drops fragments.
                if let Ok(bytes) = datagram.to_packet() {
                    let _ = locked(&self.link).send(now(), self.end, bytes);
                }
                let _ = self.wake.push_nowait(()).await;
            }
        }
    }
}

/// Delivers what has arrived when it has, and waits for what is sent.
async fn deliver(
    link: Arc<Mutex<SimLink>>,
    dispatch: Dispatch,
    mut woken: Receiver<()>,
    is_checked: bool,
) {
    loop {
        let arrived = locked(&link).poll_delivery(now());
        if let Some(delivery) = arrived {
            if let Some(packet) = received(&delivery, is_checked) {
                dispatch.send(packet).await;
            }
            continue;
        }
        let next = locked(&link).poll_timeout();
        let wait = next.map_or(NEVER, |next| next.saturating_sub(now()));
        if let Ok(Err(_)) = timeout(wait, woken.recv()).await {
            return;
        }
    }
}

/// Returns a packet as bach has it, if the receiver takes it for a datagram.
fn received(delivery: &SimDelivery, is_checked: bool) -> Option<Packet> {
    let read = if is_checked { SimDatagram::parse_checked } else { SimDatagram::parse };
    let SimDatagram { from, to, ecn, payload } = read(&delivery.packet)?;
    let udp = Udp { source: from.port(), destination: to.port(), payload, checksum: 0 };
    let mut header = match (from, to) {
        (SocketAddr::V4(from), SocketAddr::V4(to)) => bach::environment::net::ip::header::V4 {
            source: *from.ip(),
            destination: *to.ip(),
            ..Default::default()
        }
        .into(),
        (SocketAddr::V6(from), SocketAddr::V6(to)) => {
            bach::environment::net::ip::Header::V6(bach::environment::net::ip::header::V6 {
                source: *from.ip(),
                destination: *to.ip(),
                ..Default::default()
            })
        }
        _ => return None,
    };
    header.set_ecn(ecn.bits());
    Some(Packet { header, transport: Transport::Udp(udp), is_duplicate: false })
}

fn now() -> Duration {
    Instant::now().elapsed_since_start()
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
