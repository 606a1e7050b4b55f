//! Windfall's links for tests on [turmoil-net](https://docs.rs/turmoil-net): packets between a
//! client and its servers cross a [`SimLink`], which delays, drops and damages them as its settings
//! say.
//!
//! ```
//! use turmoil_net::shim::tokio::net::UdpSocket;
//! use windfall_sim_link::SimSettings;
//! use windfall_turmoil::OverLink;
//!
//! let link = SimSettings::new().rate("2Mbps").delay("20ms").seed(7).build().unwrap();
//! let (len, counts) = OverLink::new(link)
//!     .server("server", async {
//!         let socket = UdpSocket::bind("0.0.0.0:4000").await.unwrap();
//!         let (_, client) = socket.recv_from(&mut [0; 16]).await.unwrap();
//!         socket.send_to(b"hello", client).await.unwrap();
//!         std::future::pending().await
//!     })
//!     .run("client", async {
//!         let socket = UdpSocket::bind("0.0.0.0:0").await.unwrap();
//!         socket.send_to(b"hi", "server:4000").await.unwrap();
//!         socket.recv_from(&mut [0; 16]).await.unwrap().0
//!     });
//! assert_eq!((len, counts.near().delivered, counts.far().delivered), (5, 1, 1));
//! ```
//!
//! Packets of turmoil-net have no field of ECN: [`OverLink::ecn`] gives them one on the link, whose
//! marks are counted and do not reach its sockets.

mod packet;

use std::cell::RefCell;
use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::task::LocalSet;
use turmoil_net::{EnterGuard, HostId, KernelConfig, Net, Packet, ToIpAddrs, Verdict};
use windfall_sim_link::{Ecn, SimCounts, SimEnd, SimError, SimLink};

type Program = Pin<Box<dyn Future<Output = ()>>>;

/// The time from one look at what hosts have sent to the next.
const TICK: Duration = Duration::from_micros(100);

/// The looks after which TCP retransmits: 200 ms, the least that Linux waits.
const RETRANSMISSION: u32 = 2_000;

/// Servers behind a link, and a client before it: as `turmoil_net::fixture::ClientServer`.
pub struct OverLink {
    link: SimLink,
    net: Net,
    servers: Vec<(HostId, Program)>,
    ecn: Ecn,
    is_checked: bool,
}

/// The link while the test runs, and its counts after it.
#[derive(Clone)]
pub struct LinkHandle(Rc<RefCell<(SimLink, Duration)>>);

impl LinkHandle {
    /// Returns the fates of what the client has sent.
    pub fn near(&self) -> SimCounts {
        self.0.borrow().0.counts(SimEnd::Near)
    }

    /// Returns the fates of what the servers have sent.
    pub fn far(&self) -> SimCounts {
        self.0.borrow().0.counts(SimEnd::Far)
    }

    /// Changes the link from now on, whole or not at all: `rate 1Mbps, uplink loss 5%`.
    ///
    /// # Errors
    /// If a setting makes no sense or cannot change.
    pub fn set(&self, change: &str) -> Result<(), SimError> {
        let (link, now) = &mut *self.0.borrow_mut();
        link.set(*now, change)
    }
}

impl OverLink {
    /// Puts a link between the client, at its near end, and the servers; damaged data is passed up
    /// to sockets of UDP, and dropped by TCP as its checksum does.
    pub fn new(link: SimLink) -> Self {
        let config = KernelConfig::default().retx_threshold(RETRANSMISSION).retx_max(15);
        Self::with_config(link, config)
    }

    /// Does the same with other kernels; their `retx_threshold` counts looks of 100 µs.
    pub fn with_config(link: SimLink, config: KernelConfig) -> Self {
        let (net, servers) = (Net::with_config(config), Vec::new());
        Self { link, net, servers, ecn: Ecn::NotCapable, is_checked: false }
    }

    /// Drops damaged datagrams as UDP does whose checksum covers its data.
    pub fn checked(mut self) -> Self {
        self.is_checked = true;
        self
    }

    /// Sets the field of ECN that packets have on the link.
    pub fn ecn(mut self, ecn: Ecn) -> Self {
        self.ecn = ecn;
        self
    }

    /// Adds a server.
    pub fn server<A: ToIpAddrs>(
        mut self,
        addrs: A,
        program: impl Future<Output = ()> + 'static,
    ) -> Self {
        let id = self.net.add_host(addrs);
        self.servers.push((id, Box::pin(program)));
        self
    }

    /// Runs the client to its end, and returns what it returned.
    pub fn run<T: 'static>(
        self,
        name: &str,
        program: impl Future<Output = T> + 'static,
    ) -> (T, LinkHandle) {
        self.run_with(name, |_| program)
    }

    /// Runs a client that holds the link, to change it and to read its counts while it runs.
    ///
    /// # Panics
    /// If the client panics.
    pub fn run_with<T: 'static, F: Future<Output = T> + 'static>(
        mut self,
        name: &str,
        program: impl FnOnce(LinkHandle) -> F,
    ) -> (T, LinkHandle) {
        let near = name.parse().unwrap_or_else(|_| self.net.lookup(name));
        let client = self.net.add_host(near);
        let guard = self.net.enter();
        let handle = LinkHandle(Rc::new(RefCell::new((self.link, Duration::ZERO))));
        let mut crossing = Crossing {
            handle: handle.clone(),
            near,
            ecn: self.ecn,
            is_checked: self.is_checked,
            egress: Vec::new(),
        };
        let program = program(handle.clone());
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_time().start_paused(true).build().expect("a runtime");
        let returned = runtime.block_on(async {
            let set = LocalSet::new();
            for (id, inner) in self.servers {
                set.spawn_local(OnHost { id, inner });
            }
            let client = set.spawn_local(OnHost { id: client, inner: Box::pin(program) });
            loop {
                set.run_until(tokio::time::sleep(TICK)).await;
                crossing.step(&guard);
                if client.is_finished() {
                    break client.await.expect("the client ends");
                }
            }
        });
        (returned, handle)
    }
}

/// The way of packets over the link.
struct Crossing {
    handle: LinkHandle,
    near: IpAddr,
    ecn: Ecn,
    is_checked: bool,
    egress: Vec<Packet>,
}

impl Crossing {
    /// Carries what hosts have sent, and delivers what has arrived.
    fn step(&mut self, guard: &EnterGuard) {
        let (link, now) = &mut *self.handle.0.borrow_mut();
        *now += TICK;
        guard.egress_all(&mut self.egress);
        for packet in self.egress.drain(..) {
            // Rules of the test come before the link; a delay of theirs is the link's matter.
            if guard.evaluate(&packet) == Verdict::Drop {
                continue;
            }
            let end = if packet.src == self.near { SimEnd::Near } else { SimEnd::Far };
            if (packet.dst == self.near) == (end == SimEnd::Near) {
                guard.deliver(packet);
                continue;
            }
            // What is too long for the link is lost, as on a path that drops fragments.
            if let Some(bytes) = packet::write(&packet, self.ecn) {
                let _ = link.send(*now, end, bytes);
            }
        }
        while let Some(delivery) = link.poll_delivery(*now) {
            if let Some(packet) = packet::read(&delivery.packet, self.is_checked) {
                guard.deliver(packet);
            }
        }
    }
}

/// A program whose sockets are of one host.
struct OnHost<F> {
    id: HostId,
    inner: F,
}

impl<F: Future + Unpin> Future for OnHost<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        turmoil_net::set_current(self.id);
        Pin::new(&mut self.inner).poll(context)
    }
}
