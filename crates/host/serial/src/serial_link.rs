//! A device for packets at the end of a line, from its opening to its end.

mod negotiate;

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use windfall_base::{DropReason, Drops, Duration, Instant, Seed};
use windfall_circuit::ppp::{FrameMode, PppConfig, PppEvent};
use windfall_circuit::rlp::{RlpConfig, RlpEvent, RlpRole};
use windfall_queue::{Limits, Management};
use windfall_stack::{
    InterfaceConfig, SerialConfig, SerialCounters, SerialEnd, SerialEvent, SerialFraming,
};

use negotiate::{Negotiated, close, dial, negotiate};
use windfall_live::line::{LineAddress, LineNotice, LinePump, LineRecord, OpenLine};
use windfall_live::session::{self, Observer, Signals, TimedLine};
use windfall_live::setup::open_here;
use windfall_live::{
    Clock as _, DevicePlan, ErrorContext as _, LiveError, LivePlan, LiveStationPlan, MtuSetter,
    Program, ProgramOutput, Result, RoutePlan, Stations, SystemClock, neighbour_variables,
};

use crate::modem::ModemCall;

/// The time for which a modem may call, if none is given.
const CALL: Duration = Duration::from_secs(90);
/// The least MTU of a device with IPv4 (RFC 791, section 3.2).
const LEAST_MTU: u16 = 68;
/// Packets that wait for a slow line at most, and their bytes: some seconds at 57 600 b/s.
const QUEUE: Limits =
    Limits { packets: 64, bytes: 32_768, mark: usize::MAX, management: Management::DropTail };

/// The framing on a line.
#[derive(Clone, Debug)]
pub enum LineFraming {
    /// PPP: packets whose check fails are dropped.
    Ppp,
    /// PPP Lite: packets whose check fails are passed up as damaged.
    PppLite,
    /// PPP over RLP.
    Rlp {
        /// This end connects, the other waits for it.
        calls: bool,
    },
    /// The frames of a link; both addresses must be given.
    Link(Box<InterfaceConfig>),
}

/// The plan of a device on a line.
#[derive(Clone, Debug)]
pub struct LinePlan {
    /// The line to open.
    pub address: LineAddress,
    /// The framing, the same at both ends.
    pub framing: LineFraming,
    /// The call to make by a modem before.
    pub call: Option<ModemCall>,
    /// The address of this end; PPP may get it from the peer.
    pub local: Option<Ipv4Addr>,
    /// The address of the peer; PPP may get it from the peer.
    pub peer: Option<Ipv4Addr>,
    /// The longest packet, in bytes.
    pub mtu: u16,
    /// The name of the device.
    pub device: String,
    /// The time to wait for the peer; `None`: for ever.
    pub wait: Option<Duration>,
    /// The time after which PPP sends a request again.
    pub restart: Duration,
    /// Decides what PPP chooses at random.
    pub seed: Seed,
    /// The files that get the bytes of the line from when the device is there.
    pub record: Option<LineRecord>,
}

/// Something that the user may want to know of a line.
#[derive(Debug)]
pub enum LineReport {
    /// A modem has made a connection.
    Called {
        /// The number, and the signal.
        call: String,
        /// The answer of the modem.
        answer: String,
    },
    /// The device is there.
    Up {
        /// The name of the device.
        device: String,
        /// The address of this end.
        local: Ipv4Addr,
        /// The address of the peer.
        peer: Ipv4Addr,
    },
    /// PPP or RLP reports.
    Event(SerialEvent),
    /// The line goes or comes.
    Notice(LineNotice),
    /// The device does not get the MTU that the peer asks for now.
    MtuKept(io::Error),
}

impl fmt::Display for LineReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Up { device, local, peer } => {
                write!(f, "{device} is up: {local}, peer {peer}")
            }
            Self::Called { call, answer } => write!(f, "called {call}: {answer}"),
            Self::Notice(LineNotice::Gone(error)) => {
                write!(f, "the line is gone ({error}); it is opened again when it is back")
            }
            Self::Notice(LineNotice::Back) => write!(f, "the line is back"),
            Self::Notice(LineNotice::Unrecorded(error)) => {
                write!(f, "the bytes of the line are recorded no longer: {error}")
            }
            Self::MtuKept(error) => write!(f, "the device keeps its MTU: {error}"),
            Self::Event(SerialEvent::Ppp(event)) => match event {
                PppEvent::Up => write!(f, "PPP: the peer answers"),
                PppEvent::Ipv4Up { local, .. } => write!(f, "PPP: IPv4 is up as {local}"),
                PppEvent::Ipv6Up { .. } => write!(f, "PPP: IPv6 is up"),
                PppEvent::Ipv4Down => write!(f, "PPP: IPv4 is down"),
                PppEvent::Ipv6Down => write!(f, "PPP: IPv6 is down"),
                PppEvent::Down => write!(f, "PPP: the connection is down"),
                PppEvent::Finished => {
                    write!(f, "PPP: ended; the peer did not answer, refused, or has left")
                }
                PppEvent::Looped => write!(f, "PPP: the line returns what this end sends"),
            },
            Self::Event(SerialEvent::Rlp(event)) => match event {
                RlpEvent::Up => write!(f, "RLP: connected"),
                RlpEvent::Negotiated => write!(f, "RLP: parameters negotiated"),
                RlpEvent::XidCollision => write!(f, "RLP: two negotiations met"),
                RlpEvent::Reset { unacknowledged } => {
                    write!(f, "RLP: reset with {unacknowledged} frames under way")
                }
                RlpEvent::Down(why) => write!(f, "RLP: down ({why:?})"),
            },
        }
    }
}

/// The result of a run over a line.
#[derive(Clone, Debug)]
pub struct LineOutcome {
    /// The exit status of the command; 0 without one.
    pub status: u8,
    /// The time for which the device was there.
    pub duration: Duration,
    /// The counts of packets and bytes.
    pub counters: SerialCounters,
    /// Packets that were dropped, by reason.
    pub drops: Drops,
}

/// Opens a line, brings up a device at its end, and carries packets until `command` ends in a
/// network namespace of its own, or, without one, until a signal asks for the end.
///
/// Returns `None` if a signal came before the peer.
///
/// # Errors
/// If the line cannot be opened, the peer does not come in time or gives no address, or the device
/// cannot be made.
pub fn run(
    plan: &LinePlan,
    command: Vec<OsString>,
    signals: &Signals,
    tell: impl Fn(&LineReport) + Send + Sync + 'static,
) -> Result<Option<LineOutcome>> {
    let tell = Arc::new(tell);
    let doing = || format!("open {}", plan.address);
    let mut line = OpenLine::open(&plan.address).context(doing)?;
    let mut clock = SystemClock::new().context(|| "make a clock".into())?;
    if let Some(call) = plan.call.clone()
        && !connect(plan, call, &mut line, &mut clock, signals, &*tell)?
    {
        return Ok(None);
    }
    let mut end = SerialEnd::new(config(plan, &line), plan.seed);
    let addresses = addresses(plan, &mut line, &mut end, &mut clock, signals, &*tell)?;
    let Some((local, peer)) = addresses else { return Ok(None) };
    let mut last = clock.another().context(|| "make a clock".into())?;
    let told = Arc::clone(&tell);
    let mut reports =
        Reports { tell: &*tell, local: (local, false), own_mtu: plan.mtu, mtu_setter: None };
    let notice = move |notice| told(&LineReport::Notice(notice));
    let start = || LinePump::start(line, plan.address.clone(), plan.record.clone(), notice);
    let up = LineReport::Up { device: plan.device.clone(), local, peer };
    let mtu = mtu(plan.mtu, end.peer_mru());
    let (device, routes) = device(plan, mtu, local, peer, !command.is_empty());
    let (mut outcome, mut end, pump, lost) = if command.is_empty() {
        let device = open_here(&device, &routes)?;
        let setter = MtuSetter::here(&plan.device).context(|| "make a socket".into())?;
        reports.mtu_setter = Some(setter);
        let (pump, line) = start().context(doing)?;
        let lost = line.lost();
        tell(&up);
        let (duration, end) =
            session::run_here(TimedLine { clock, line }, device, signals, end, &mut reports)?;
        (outcome(0, duration), end, pump, lost)
    } else {
        let stations = stations(device, routes, command, peer)?;
        reports.mtu_setter = Some(stations.mtu_setter(0)?);
        // A second thread may begin only when the stations stand.
        let (pump, line) = start().context(doing)?;
        let lost = line.lost();
        tell(&up);
        let began = clock.now();
        let (outcome_of_run, end) = session::run_over_line(
            TimedLine { clock, line },
            stations,
            signals,
            end,
            &mut reports,
        )?;
        let ended = Instant::START + outcome_of_run.duration;
        (outcome(outcome_of_run.status, ended.saturating_since(began)), end, pump, lost)
    };
    if reports.local.1 {
        return Err(LiveError::Line("the peer has given this end another address".into()));
    }
    outcome.counters = end.counters();
    outcome.drops = end.ledger().drops;
    outcome.drops.count_many(DropReason::Device, lost.load(Ordering::Relaxed));
    let negotiates = !matches!(plan.framing, LineFraming::Link(_));
    if let Some(mut line) = pump.stop().filter(|_| negotiates) {
        // The run is over, whether the peer confirms that or is gone with the line.
        let _ = close(&mut line, &mut end, &mut last);
    }
    Ok(Some(outcome))
}

fn outcome(status: u8, duration: Duration) -> LineOutcome {
    LineOutcome { status, duration, counters: SerialCounters::default(), drops: Drops::default() }
}

fn config(plan: &LinePlan, line: &OpenLine) -> SerialConfig {
    let mode = match plan.framing {
        LineFraming::PppLite => FrameMode::Lite,
        _ => FrameMode::Strict,
    };
    let ppp = PppConfig {
        mode,
        mru: plan.mtu,
        local: plan.local,
        peer: plan.peer,
        restart: plan.restart,
        ..PppConfig::default()
    };
    let framing = match &plan.framing {
        LineFraming::Ppp | LineFraming::PppLite => SerialFraming::Ppp(ppp),
        LineFraming::Rlp { calls } => {
            let role = if *calls { RlpRole::Mobile } else { RlpRole::Network };
            SerialFraming::Rlp { ppp, rlp: RlpConfig::standard(role), calls: *calls }
        }
        LineFraming::Link(interface) => SerialFraming::Link(interface.clone()),
    };
    let characters = plan.address.characters().or_else(|| line.characters());
    let characters = characters.and_then(NonZeroU32::new);
    SerialConfig { framing, characters, queue: QUEUE }
}

/// Calls by a modem; `false` after a signal.
fn connect(
    plan: &LinePlan,
    mut call: ModemCall,
    line: &mut OpenLine,
    clock: &mut SystemClock,
    signals: &Signals,
    tell: &impl Fn(&LineReport),
) -> Result<bool> {
    let wait = plan.wait.unwrap_or(CALL);
    let until = clock.now() + wait;
    let answer = dial(line, &mut call, clock, signals, Some(until))
        .context(|| format!("call by the modem at {}", plan.address))?;
    match answer {
        Some(answer) => tell(&LineReport::Called { call: call.to_string(), answer }),
        None if clock.now() >= until => {
            let address = &plan.address;
            let why = format!("the modem at {address} has made no connection within {wait}");
            return Err(LiveError::Line(why));
        }
        None => return Ok(false),
    }
    Ok(true)
}

/// The addresses of both ends: by negotiation, or as the plan says; `None` after a signal.
fn addresses(
    plan: &LinePlan,
    line: &mut OpenLine,
    end: &mut SerialEnd,
    clock: &mut SystemClock,
    signals: &Signals,
    tell: &impl Fn(&LineReport),
) -> Result<Option<(Ipv4Addr, Ipv4Addr)>> {
    if matches!(plan.framing, LineFraming::Link(_)) {
        let (Some(local), Some(peer)) = (plan.local, plan.peer) else {
            let why = "this framing negotiates no addresses: give both --address and --peer";
            return Err(LiveError::Line(why.into()));
        };
        return Ok(Some((local, peer)));
    }
    let until = plan.wait.map(|wait| clock.now() + wait);
    let negotiated =
        negotiate(line, end, clock, signals, until, |event| tell(&LineReport::Event(event)))
            .context(|| format!("talk over {}", plan.address))?;
    match negotiated {
        Negotiated::Interrupted => Ok(None),
        Negotiated::TimedOut => Err(LiveError::Line(format!(
            "no peer has answered on {} within {}",
            plan.address,
            plan.wait.unwrap_or(Duration::ZERO),
        ))),
        Negotiated::Up { local, peer } => match peer.or(plan.peer) {
            Some(peer) if !local.is_unspecified() => Ok(Some((local, peer))),
            _ => Err(LiveError::Line(
                "the peer gives no address to one of the ends: say them by --address and --peer"
                    .into(),
            )),
        },
    }
}

/// Returns the MTU of a device whose peer takes packets of up to `peer_mru` bytes. Within it, the
/// kernel fragments packets or tells their senders the path MTU.
fn mtu(own: u16, peer_mru: Option<u16>) -> u16 {
    own.min(peer_mru.unwrap_or(own)).max(LEAST_MTU)
}

/// The device and its routes; everything goes over the line where it is the only way.
fn device(
    plan: &LinePlan,
    mtu: u16,
    local: Ipv4Addr,
    peer: Ipv4Addr,
    is_only: bool,
) -> (DevicePlan, Vec<RoutePlan>) {
    let device = DevicePlan {
        name: plan.device.clone(),
        mtu: mtu.into(),
        addresses: vec![(IpAddr::V4(local), 32)],
    };
    let route = |destination: Ipv4Addr, prefix| RoutePlan {
        destination: destination.into(),
        prefix,
        gateway: None,
        device: 0,
    };
    let all = is_only.then(|| route(Ipv4Addr::UNSPECIFIED, 0));
    (device, [Some(route(peer, 32)), all].into_iter().flatten().collect())
}

fn stations(
    device: DevicePlan,
    routes: Vec<RoutePlan>,
    command: Vec<OsString>,
    peer: Ipv4Addr,
) -> Result<Stations> {
    let station = LiveStationPlan {
        name: "near".into(),
        devices: vec![device],
        routes,
        neighbour: Some(peer.into()),
        ..LiveStationPlan::default()
    };
    let plan = LivePlan { stations: vec![station], ports: vec![(0, 0)], ..LivePlan::default() };
    let program = Program {
        station: 0,
        arguments: command,
        environment: neighbour_variables(Some(peer.into())),
        interactive: false,
        output: ProgramOutput::Inherit,
    };
    Stations::build(plan, Some(program), Vec::new())
}

/// Tells what happens on the line while the run goes on.
struct Reports<'a, F> {
    tell: &'a F,
    /// The address of this end, and whether the peer has changed it.
    local: (Ipv4Addr, bool),
    /// The longest packet of this end, in bytes.
    own_mtu: u16,
    /// Sets the MTU of the device, once it is there.
    mtu_setter: Option<MtuSetter>,
}

impl<F: Fn(&LineReport)> Reports<'_, F> {
    /// Gives the device the MTU that the peer takes since the last negotiation.
    fn follow_mru(&self, peer_mru: Option<u16>) {
        let Some(setter) = &self.mtu_setter else { return };
        if let Err(error) = setter.set(mtu(self.own_mtu, peer_mru)) {
            (self.tell)(&LineReport::MtuKept(error));
        }
    }
}

impl<F: Fn(&LineReport)> Observer<SerialEnd> for Reports<'_, F> {
    fn observe(&mut self, _now: Instant, end: &mut SerialEnd) {
        while let Some(event) = end.poll_event() {
            if let SerialEvent::Ppp(PppEvent::Ipv4Up { local, .. }) = event {
                self.local.1 |= local != self.local.0;
                self.follow_mru(end.peer_mru());
            }
            (self.tell)(&LineReport::Event(event));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_sends_no_longer_packets_than_its_peer_takes() {
        assert_eq!(mtu(1_500, Some(576)), 576);
        assert_eq!(mtu(600, Some(1_500)), 600);
        assert_eq!(mtu(1_500, None), 1_500);
        // PPP grants 64 bytes, and IPv4 needs 68.
        assert_eq!(mtu(1_500, Some(64)), 68);
    }
}
