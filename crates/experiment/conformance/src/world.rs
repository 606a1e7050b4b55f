//! The engine, the program's sockets and the connections that the script speaks of.

use std::collections::BTreeMap;

use core::net::{IpAddr, SocketAddr};

use windfall_base::seq::Seq32;
use windfall_packet_script::{Icmp, OptionList, ScriptSegment, SegmentOption};
use windfall_tcp::{Connection, TcpConfig, TcpState};
use windfall_wire_net::{TcpFlags, TcpPacket};

use crate::code::Facts;
use crate::compare::Unchecked;
use crate::cookie::{self, CookieKey};
use crate::flow::{Flow, adopt_cookie};
use crate::machine::{Departure, Machine};
use crate::socket::{Role, Socket};
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
    /// The settings of sockets to come.
    pub(crate) system: System,
    pub(crate) unchecked: Unchecked,
    local: IpAddr,
    peer: IpAddr,
    /// The addresses of both in the script, of which its cookies are made.
    pub(crate) script_local: IpAddr,
    pub(crate) script_peer: IpAddr,
    flows: Vec<Flow>,
    /// The segment size that the peer's last SYN named.
    pub(crate) peer_mss: u16,
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
            system: System {
                listeners_open_fast: false,
                cookie_key: None,
                tcp: config,
                answers_ecn: false,
                answers_accurate_ecn: false,
            },
            unchecked,
            local,
            peer,
            script_local,
            script_peer,
            flows: Vec::new(),
            peer_mss: 1460,
            cookies: Vec::new(),
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
        let of = |it: &&Flow| connection.is_some_and(|connection| it.is_path(connection.path()));
        let flow = self.flows.iter().rev().find(of);
        Facts {
            connection,
            listens: self.sockets.values().any(|it| it.role == Role::Listening),
            now: self.machine.now,
            last_data: flow.map_or(self.machine.now, |flow| flow.last_data),
            syn_data: flow.is_some_and(|flow| flow.syn_data),
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
        if self.flows.is_empty() || (opens && listens && self.is_over()) {
            let port = FIRST_PEER_PORT.wrapping_add(self.flows.len() as u16);
            self.follow(self.local(), SocketAddr::new(self.peer, port));
        }
        if opens {
            self.know_cookie(segment);
        }
        let Some(flow) = self.flows.last_mut() else { return };
        if segment.len > 0 || segment.flags & TcpFlags::SYN.0 != 0 {
            flow.last_data = self.machine.now;
        }
        if let OptionList::These(options) = &segment.options {
            let mss = options.iter().find_map(|option| match option {
                SegmentOption::Mss(size) => Some(*size),
                _ => None,
            });
            self.peer_mss = mss.unwrap_or(self.peer_mss);
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
        let (client, server) = (self.script_peer, self.script_local);
        let is_good = shown == cookie::NAMED
            || self.system.cookie_key.is_some_and(|key| cookie::of(&key, client, server) == shown);
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
        let is_answer = |it: &&Departure| {
            TcpPacket::new(&it.header).is_ok_and(|packet| packet.dst_port() == COOKIE_PORT)
        };
        self.machine.departures.back().filter(is_answer)?;
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
