//! The engine, the program's sockets and the connections that the script speaks of.

use std::collections::{BTreeMap, BTreeSet};

use core::net::{IpAddr, SocketAddr};

use windfall_base::seq::Seq32;
use windfall_files::packet_script::{Icmp, OptionList, ScriptSegment, SegmentOption};
use windfall_tcp::{Connection, Keepalive, TcpConfig, TcpState};
use windfall_wire_net::{TcpFlags, TcpPacket};

use crate::code::Facts;
use crate::compare::Unchecked;
use crate::cookie::{self, CookieKey};
use crate::flow::{Flow, adopt_cookie};
use crate::machine::{Departure, Machine};
use crate::socket::{Epoll, Role, Socket};
use crate::verdict::Stop;

/// The port of the engine, as in packetdrill.
const PORT: u16 = 8080;
/// The port of the first connection of the script.
const FIRST_PEER_PORT: u16 = 40_000;

/// The port of a client that asks for a cookie in the script's stead.
const COOKIE_PORT: u16 = 39_999;

/// The settings of the system, from which sockets take theirs.
#[derive(Debug)]
pub(crate) struct System {
    /// Listeners take data on SYNs without being told to.
    pub(crate) listeners_open_fast: bool,
    /// Sockets may send data on SYNs, and listeners that are told to may take them.
    pub(crate) clients_open_fast: bool,
    /// Keepalives of sockets that switch them on, and the time that an attempt to connect has.
    pub(crate) keepalive: Keepalive,
    pub(crate) patience: i64,
    /// Hard errors of ICMP end attempts to connect.
    pub(crate) heeds_refusals: bool,
    /// The key of Linux's cookies, if the script set one.
    pub(crate) cookie_key: Option<CookieKey>,
    pub(crate) tcp: TcpConfig,
    /// Explicit congestion notification where the peer asks for it.
    pub(crate) answers_ecn: bool,
    pub(crate) answers_accurate_ecn: bool,
}

#[derive(Debug)]
pub(crate) struct World {
    pub(crate) machine: Machine,
    pub(crate) sockets: BTreeMap<i64, Socket>,
    pub(crate) epolls: BTreeMap<i64, Epoll>,
    /// Descriptors of files that are read.
    pub(crate) files: BTreeSet<i64>,
    /// The settings of sockets to come.
    pub(crate) system: System,
    pub(crate) unchecked: Unchecked,
    local: IpAddr,
    peer: IpAddr,
    /// The size of the segments of which those that arrive are merged.
    pub(crate) merged_from: u32,
    /// The key of the cookies of the listener, if it has one of its own.
    pub(crate) listener_key: Option<CookieKey>,
    /// The addresses of both in the script, of which its cookies are made.
    pub(crate) script_local: IpAddr,
    pub(crate) script_peer: IpAddr,
    flows: Vec<Flow>,
    /// The next SYN to a listener begins a connection, whatever becomes of those before.
    pub(crate) listens_anew: bool,
    /// Cookies of Fast Open: in the script, and those of the engine.
    cookies: Vec<(Vec<u8>, Vec<u8>)>,
}

impl World {
    pub(crate) fn new(config: TcpConfig, unchecked: Unchecked, is_v6: bool) -> Self {
        let [local, peer] = if is_v6 {
            [[0x2001, 0xdb8, 0, 0, 0, 0, 0, 1].into(), [0x2001, 0xdb8, 0, 0, 0, 0, 0, 2].into()]
        } else {
            [[192, 0, 2, 1].into(), [192, 0, 2, 2].into()]
        };
        // Packetdrill's own, unless the script names others.
        let [script_local, script_peer] = if is_v6 {
            ["fd3d:a0b:17d6::1", "fd3d:fa7b:d17d::1"].map(|it| it.parse().unwrap_or(local))
        } else {
            [[192, 168, 0, 1].into(), [192, 0, 2, 1].into()]
        };
        Self {
            machine: Machine::new(),
            sockets: BTreeMap::new(),
            epolls: BTreeMap::new(),
            files: BTreeSet::new(),
            system: System {
                listeners_open_fast: false,
                clients_open_fast: true,
                keepalive: Keepalive::default(),
                patience: 75,
                heeds_refusals: false,
                cookie_key: None,
                tcp: config,
                answers_ecn: false,
                answers_accurate_ecn: false,
            },
            unchecked,
            local,
            peer,
            merged_from: u32::MAX,
            listener_key: None,
            script_local,
            script_peer,
            flows: Vec::new(),
            listens_anew: false,
            cookies: Vec::new(),
        }
    }

    /// Begins to listen with the cookies of `key`, or of the system: those of another are void.
    pub(crate) fn use_key(&mut self, key: Option<CookieKey>) {
        if key != self.listener_key {
            self.cookies.clear();
            self.listener_key = key;
        }
    }

    /// Returns the address at which the engine listens.
    pub(crate) fn local(&self) -> SocketAddr {
        SocketAddr::new(self.local, PORT)
    }

    /// Returns the address to which the engine connects, and the one that it connects from.
    pub(crate) fn ends(&self) -> (SocketAddr, SocketAddr) {
        (SocketAddr::new(self.local, 0), SocketAddr::new(self.peer, PORT))
    }

    pub(crate) fn connection(&self, socket: &Socket) -> Option<&Connection> {
        self.machine.connection(socket.stream()?)
    }

    /// Returns what assertions of the script may speak of.
    pub(crate) fn facts<'a>(&'a self, socket: Option<&'a Socket>) -> Facts<'a> {
        let connection = socket.and_then(|socket| self.connection(socket));
        let flow = self
            .flows
            .iter()
            .rev()
            .find(|it| connection.is_some_and(|connection| it.is_path(connection.path())));
        Facts {
            connection,
            listens: self.sockets.values().any(|it| it.role == Role::Listening),
            now: self.machine.now,
            last_data: flow.map_or(self.machine.now, |flow| flow.last_data),
            syn_data: flow.is_some_and(|flow| flow.syn_data),
            syn_len: flow.map_or(0, Flow::syn_len),
            overtaken: flow.map_or(0, |flow| flow.overtaken),
            peer_size: flow.map_or(0, |flow| flow.longest.min(self.merged_from)),
        }
    }

    /// Remembers the connection that the engine opens; the script speaks of it from now on.
    pub(crate) fn follow(&mut self, local: SocketAddr, remote: SocketAddr) {
        self.flows.push(Flow::new(local, remote));
    }

    /// Tells whether the connection that the script speaks of is no more.
    fn is_over(&self) -> bool {
        let Some(flow) = self.flows.last() else { return true };
        let id = self.machine.tcp.find(flow.local, flow.remote);
        let connection = id.and_then(|id| self.machine.connection(id));
        connection.is_none_or(|connection| connection.state() == TcpState::Closed)
    }

    /// Takes a segment from the script; a SYN to a listener begins a connection.
    pub(crate) fn arrive(&mut self, segment: &ScriptSegment) {
        let opens = segment.flags & (TcpFlags::SYN | TcpFlags::ACK).0 == TcpFlags::SYN.0;
        let listens = self.sockets.values().any(|socket| socket.role == Role::Listening);
        if self.flows.is_empty() || (opens && listens && (self.listens_anew || self.is_over())) {
            self.listens_anew = false;
            let port = FIRST_PEER_PORT.wrapping_add(self.flows.len() as u16);
            self.follow(self.local(), SocketAddr::new(self.peer, port));
        }
        if opens {
            self.know_cookie(segment);
        }
        let Some(flow) = self.flows.last_mut() else { return };
        if segment.len > 0 || segment.flags & TcpFlags::SYN.0 != 0 {
            flow.last_data = self.machine.now;
            flow.longest = flow.longest.max(segment.len);
        }
        let (meta, bytes) = flow.write(segment, &self.cookies);
        self.machine.arrive(&meta, bytes);
    }

    /// Lets a cookie that is good in the script stand for one of the engine, even if the engine has
    /// given none yet: it is asked for one, by another connection.
    fn know_cookie(&mut self, syn: &ScriptSegment) {
        let OptionList::These(options) = &syn.options else { return };
        let shown = options.iter().find_map(|option| match option {
            SegmentOption::FastOpen(cookie) if !cookie.is_empty() => Some(cookie.clone()),
            _ => None,
        });
        let Some(shown) = shown else { return };
        let client = self.script_peer;
        let server = self.script_local;
        let key = self.listener_key.or(self.system.cookie_key);
        let is_good = shown == cookie::NAMED
            || key.is_some_and(|key| cookie::of(&key, client, server) == shown);
        if is_good && !self.cookies.iter().any(|(script, _)| *script == shown) {
            let granted = self.ask_for_cookie();
            self.cookies.extend(granted.map(|live| (shown, live)));
        }
    }

    /// Returns the cookie that the engine gives to the script's client.
    fn ask_for_cookie(&mut self) -> Option<Vec<u8>> {
        let mut flow = Flow::new(self.local(), SocketAddr::new(self.peer, COOKIE_PORT));
        let options = OptionList::These(vec![SegmentOption::FastOpen(Vec::new())]);
        let flags = TcpFlags::SYN.0;
        let syn = ScriptSegment { flags, options, ..ScriptSegment::default() };
        let (meta, bytes) = flow.write(&syn, &[]);
        self.machine.arrive(&meta, bytes);
        self.machine.departures.back().filter(|it| {
            TcpPacket::new(&it.header).is_ok_and(|packet| packet.dst_port() == COOKIE_PORT)
        })?;
        let answer = self.machine.departures.pop_back()?;
        let found = flow.read(&answer, None).ok()?;
        let flags = TcpFlags::RST.0;
        let reset = ScriptSegment { flags, seq: 1, ..ScriptSegment::default() };
        let (meta, bytes) = flow.write(&reset, &[]);
        self.machine.arrive(&meta, bytes);
        let OptionList::These(options) = found.options else { return None };
        options.into_iter().find_map(|option| match option {
            SegmentOption::FastOpen(cookie) if !cookie.is_empty() => Some(cookie),
            _ => None,
        })
    }

    /// Takes a message of ICMP from the script.
    pub(crate) fn arrive_icmp(&mut self, icmp: &Icmp) -> Result<(), Stop> {
        let words = (icmp.kind.as_str(), icmp.code.as_deref().unwrap_or(""));
        match words {
            ("unreachable", "frag_needed") | ("packet_too_big", _) => self.take_too_big(icmp),
            ("unreachable", "net_unreachable" | "host_unreachable" | "source_route_failed")
            | ("time_exceeded", _) => {
                self.take_unreachable(icmp);
                Ok(())
            }
            (
                "unreachable",
                "port_unreachable"
                | "proto_unreachable"
                | "protocol_unreachable"
                | "admin_prohibited"
                | "comm_prohibited"
                | "net_prohibited"
                | "host_prohibited"
                | "net_prohib"
                | "host_prohib"
                | "pkt_filtered"
                | "no_route"
                | "addr_unreachable"
                | "net_unknown"
                | "host_unknown",
            ) => {
                self.take_refusal(icmp);
                Ok(())
            }
            // Ignored (RFC 6633).
            ("source_quench", _) => Ok(()),
            (kind, code) => Stop::unsupported(format!("icmp {kind} {code}").trim().to_owned()),
        }
    }

    /// Takes a soft error, which ends no connection (RFC 9293, section 3.9.2.2).
    fn take_unreachable(&mut self, icmp: &Icmp) {
        if let (Some((seq, _)), Some(flow)) = (icmp.quoted, self.flows.last())
            && let Some(id) = self.machine.tcp.find(flow.local, flow.remote)
        {
            let seq = Seq32(flow.on_wire(seq));
            self.machine.tcp.handle_unreachable(self.machine.now, id, seq);
        }
    }

    /// Takes a hard error, which ends an attempt to connect where the system heeds it.
    fn take_refusal(&mut self, icmp: &Icmp) {
        if self.system.heeds_refusals
            && let (Some((seq, _)), Some(flow)) = (icmp.quoted, self.flows.last())
            && let Some(id) = self.machine.tcp.find(flow.local, flow.remote)
        {
            let seq = Seq32(flow.on_wire(seq));
            self.machine.tcp.handle_refusal(id, seq);
            self.machine.drain();
        }
    }

    fn take_too_big(&mut self, icmp: &Icmp) -> Result<(), Stop> {
        let (Some(mtu), Some((seq, _)), Some(flow)) = (icmp.mtu, icmp.quoted, self.flows.last())
        else {
            return Stop::unsupported(
                "a message that a packet is too big without MTU or quotation",
            );
        };
        let mtu = u16::try_from(mtu).unwrap_or(u16::MAX);
        if let Some(id) = self.machine.tcp.find(flow.local, flow.remote) {
            let seq = Seq32(flow.on_wire(seq));
            // A message about what is not in flight changes nothing.
            let _ = self.machine.tcp.handle_too_big(id, seq, mtu);
            self.machine.drain();
        }
        Ok(())
    }

    /// Tells whether a segment belongs to a connection of before, which the script has left.
    pub(crate) fn is_of_before(&self, departure: &Departure) -> bool {
        let Ok(packet) = TcpPacket::new(&departure.header) else { return false };
        let local = SocketAddr::new(departure.addresses.src(), packet.src_port());
        let remote = SocketAddr::new(departure.addresses.dst(), packet.dst_port());
        let at = self.flows.iter().rposition(|flow| flow.is_of(local, remote));
        at.is_some_and(|at| at + 1 < self.flows.len())
    }

    /// Reads a segment that left, as the script would write it; `wanted` is what it does write.
    pub(crate) fn read(
        &mut self,
        departure: &Departure,
        wanted: Option<&ScriptSegment>,
    ) -> Result<ScriptSegment, Stop> {
        let Ok(packet) = TcpPacket::new(&departure.header) else {
            return Stop::differs("the engine sent what is no segment");
        };
        let local = SocketAddr::new(departure.addresses.src(), packet.src_port());
        let remote = SocketAddr::new(departure.addresses.dst(), packet.dst_port());
        let at = self.flows.iter().rposition(|flow| flow.is_of(local, remote));
        let Some(flow) = at.map(|at| &mut self.flows[at]) else {
            return Stop::differs(format!("the engine sent a segment to {remote}, a stranger"));
        };
        let mut found = flow.read(departure, wanted)?;
        if let Some(wanted) = wanted {
            flow.adopt(wanted, &mut found);
            adopt_cookie(wanted, &mut found, &mut self.cookies);
        }
        if wanted.is_none_or(|wanted| wanted.ecn.is_none()) {
            found.ecn = None;
        }
        Ok(found)
    }
}
