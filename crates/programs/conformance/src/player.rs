//! Plays a script: lets time pass, packets arrive and calls be made, and compares what happens.

use windfall_base::{Duration, Instant};
use windfall_files::packet_script::{
    Action, Argument, Call, Event, OptionList, PacketDirection, Returned, Script, ScriptOption,
    ScriptPacket, ScriptSegment, SegmentOption, When,
};
use windfall_tcp::TcpConfig;
use windfall_wire_net::TcpFlags;

use crate::argument::{Progress, Step};
use crate::call;
use crate::compare::{Unchecked, differences};
use crate::machine::Departure;
use crate::socket_option;
use crate::verdict::{ScriptFailure, ScriptOutcome, Stop};
use crate::world::World;
use crate::{code, control};

/// The time that a packet may take whose time is `*`.
const PATIENCE: Duration = Duration::from_secs(120);
/// The longest that a script may take: ten days.
const LONGEST: Duration = Duration::from_secs(10 * 24 * 3600);
/// The most data of a segment that arrives, in bytes.
const MOST_DATA: u32 = u16::MAX as u32;

/// Options of scripts that say where packetdrill runs and how, which is of no matter here.
const WITHOUT_EFFECT: [&str; 24] = [
    "mss",
    "wire_client",
    "wire_server",
    "wire_server_ip",
    "wire_server_port",
    "wire_client_dev",
    "wire_server_dev",
    "local_linklocal_ip",
    "gateway_ip",
    "netmask_ip",
    "bind_port",
    "connect_port",
    "speed",
    "init_scripts",
    "non_fatal",
    "dry_run",
    "verbose",
    "debug",
    "code_command",
    "code_format",
    "tcp_ts_tick_usecs",
    "tcp_ts_ecr_scaled",
    "strict_segments",
    "psp_udp_port",
];

/// The manner in which scripts are run.
#[derive(Clone, Debug)]
pub struct Conformance {
    /// The settings of the engine at the beginning.
    pub tcp: TcpConfig,
    /// The distance from its time at which something may happen, unless the script says another.
    pub tolerance: Duration,
    /// The parts of segments that are not compared.
    pub unchecked: Unchecked,
}

impl Default for Conformance {
    /// The engine's own settings, and packetdrill's tolerance of 4 ms.
    fn default() -> Self {
        let tcp = TcpConfig::default();
        let unchecked = Unchecked::default();
        Self { tcp, tolerance: Duration::from_millis(4), unchecked }
    }
}

impl Conformance {
    /// Runs a script.
    #[must_use]
    pub fn run(&self, script: &Script) -> ScriptOutcome {
        if let Some(verdict) = foreign(script) {
            return verdict;
        }
        let mut player = match Player::new(self, script) {
            Ok(player) => player,
            Err(verdict) => return verdict,
        };
        for (at, event) in script.events.iter().enumerate() {
            if let Err(stop) = player.play(at, event) {
                return player.verdict(event, stop);
            }
        }
        match (player.await_blocked(), script.events.last()) {
            (Err(stop), Some(event)) => player.verdict(event, stop),
            _ => ScriptOutcome::Passed,
        }
    }
}

/// Finds what is not there before anything is run.
fn foreign(script: &Script) -> Option<ScriptOutcome> {
    let of_event = |event: &Event| match &event.action {
        Action::Packet(_, ScriptPacket::Foreign(name)) => Some(name.clone()),
        Action::Packet(_, ScriptPacket::Tcp(segment)) => match &segment.encapsulation {
            Some(protocol) => Some(format!("TCP in {protocol}")),
            None => foreign_option(segment),
        },
        Action::Call(call) if !call::is_known(&call.name) => Some(call.name.clone()),
        _ => None,
    };
    script.events.iter().find_map(|event| {
        let place = event.place;
        of_event(event).map(|feature| ScriptOutcome::Unsupported { place, feature })
    })
}

fn foreign_option(segment: &ScriptSegment) -> Option<String> {
    let OptionList::These(options) = &segment.options else { return None };
    options.iter().find_map(|option| match option {
        SegmentOption::Foreign(name) => Some(format!("the option {name}")),
        _ => None,
    })
}

/// A call that blocks.
struct Blocked<'a> {
    event: &'a Event,
    call: &'a Call,
    progress: Progress,
    /// When it must return.
    ends: Option<Instant>,
    /// When it gives up waiting by itself.
    wakes: Option<Instant>,
}

struct Player<'a> {
    script: &'a Script,
    world: World,
    tolerance: Duration,
    /// The time of the event before.
    last: Instant,
    blocked: Option<Blocked<'a>>,
    timeline: Vec<String>,
}

impl<'a> Player<'a> {
    fn new(conformance: &Conformance, script: &'a Script) -> Result<Self, ScriptOutcome> {
        let mut tcp = conformance.tcp.clone();
        let mut tolerance = conformance.tolerance;
        let mut is_v6 = false;
        let mut mtu = None;
        for option in &script.options {
            let number = option.value.parse::<u64>();
            match (option.name.as_str(), option.value.as_str(), number) {
                ("tolerance_usecs", _, Ok(value)) => tolerance = Duration::from_micros(value),
                ("tolerance_percent", ..) => {}
                ("ip_version", "ipv4", _) => is_v6 = false,
                ("ip_version", "ipv6", _) => is_v6 = true,
                ("mtu", _, Ok(value @ 128..=65_535)) => mtu = Some(value as u16),
                ("local_ip" | "remote_ip", ..) => {}
                (name, ..) if WITHOUT_EFFECT.contains(&name) => {}
                _ => return Err(unknown_option(option)),
            }
        }
        let headers = if is_v6 { 60 } else { 40 };
        if let Some(mtu) = mtu.or(is_v6.then_some(1500)) {
            tcp.mss = mtu - headers;
        }
        let mut world = World::new(tcp, conformance.unchecked, is_v6);
        for option in &script.options {
            match (option.name.as_str(), option.value.parse()) {
                ("local_ip", Ok(address)) => world.script_local = address,
                ("remote_ip", Ok(address)) => world.script_peer = address,
                _ => {}
            }
            if let ("mss", Ok(size)) = (option.name.as_str(), option.value.parse()) {
                world.merged_from = size;
            }
        }
        Ok(Self {
            script,
            world,
            tolerance,
            last: Instant::START,
            blocked: None,
            timeline: Vec::new(),
        })
    }

    fn verdict(&self, event: &Event, stop: Stop) -> ScriptOutcome {
        let place = event.place;
        match stop {
            Stop::Unsupported(feature) => ScriptOutcome::Unsupported { place, feature },
            Stop::Differs { what, expected, got } => {
                let timeline = self.timeline.clone();
                ScriptOutcome::Failed(Box::new(ScriptFailure {
                    place,
                    what,
                    expected,
                    got,
                    timeline,
                }))
            }
        }
    }

    fn note(&mut self, what: &str) {
        let what = what.split_whitespace().collect::<Vec<_>>().join(" ");
        self.timeline.push(format!("{} {what}", self.world.machine.now));
    }

    /// The earliest and the latest time of an event.
    fn span(&self, time: When) -> (Instant, Instant) {
        match time {
            When::Now => (self.last, self.last),
            When::Any => {
                let now = self.world.machine.now;
                (now, now.saturating_add(PATIENCE))
            }
            When::At { relative, from, until } => {
                let base = if relative { self.last } else { Instant::START };
                let until = until.unwrap_or(from);
                (base.saturating_add(from), base.saturating_add(until))
            }
        }
    }

    fn play(&mut self, at: usize, event: &'a Event) -> Result<(), Stop> {
        let (from, until) = self.span(event.time);
        if until > Instant::START.saturating_add(LONGEST) {
            return Stop::unsupported("a time beyond ten days");
        }
        match &event.action {
            Action::Packet(PacketDirection::Outbound, ScriptPacket::Tcp(wanted)) => {
                let left = self.expect(wanted, event.time, from, until)?;
                let exact = matches!(event.time, When::Now | When::At { until: None, .. });
                self.last = if exact { from } else { left };
                return Ok(());
            }
            Action::Packet(PacketDirection::Outbound, _) => {
                return Stop::unsupported("what leaves and is not TCP");
            }
            _ => {}
        }
        let base = self.last;
        self.advance(from)?;
        self.last = from;
        if let Action::Call(_) = event.action {
            self.await_blocked()?;
        }
        self.note(&event.text);
        match &event.action {
            Action::Packet(_, ScriptPacket::Tcp(segment)) if segment.len > MOST_DATA => {
                return Stop::unsupported(format!("a segment of {} bytes", segment.len));
            }
            Action::Packet(_, ScriptPacket::Tcp(segment)) => self.world.arrive(segment),
            Action::Packet(_, ScriptPacket::Icmp(icmp)) => self.world.arrive_icmp(icmp)?,
            Action::Packet(_, ScriptPacket::Foreign(name)) => {
                return Stop::unsupported(name.clone());
            }
            Action::Call(call) => {
                self.prepare_listener(at, call);
                self.prepare_client(at, call);
                let relative = matches!(event.time, When::At { relative: true, .. });
                let start = if relative { base } else { Instant::START };
                let ends = call.ends.map(|ends| start.saturating_add(ends));
                self.begin(event, call, ends)?;
            }
            Action::Shell(text) => control::run(&mut self.world.system, text)?,
            Action::Code(text) => {
                let mut streams = self.world.sockets.values().rev();
                let socket = streams.find(|socket| socket.stream().is_some());
                code::run(text, self.world.facts(socket))?;
            }
        }
        self.retry()
    }

    /// Lets time pass until `to`.
    fn advance(&mut self, to: Instant) -> Result<(), Stop> {
        while let Some(next) = self.next_wake().filter(|next| *next <= to) {
            self.world.machine.wake(next);
            self.retry()?;
        }
        self.world.machine.now = self.world.machine.now.max(to);
        Ok(())
    }

    fn next_wake(&self) -> Option<Instant> {
        let wakes = self.blocked.as_ref().and_then(|it| it.wakes);
        self.world.machine.next_wake().into_iter().chain(wakes).min()
    }

    /// Lets an accepted connection have from its beginning what the script sets on it before it
    /// writes: the engine's settings do not change on the way.
    fn prepare_listener(&mut self, at: usize, call: &Call) {
        let (true, Some(fd)) = (call.name == "listen", call.arguments.first()) else { return };
        let later = self.script.events[at..].iter().filter_map(|event| match &event.action {
            Action::Call(call) => Some(call),
            _ => None,
        });
        let Some(socket) = fd.number().and_then(|fd| self.world.sockets.get_mut(&fd)) else {
            return;
        };
        let mut accepted = None;
        for call in later {
            let first = call.arguments.first();
            match (call.name.as_str(), &call.returned) {
                ("accept" | "accept4", Returned::Value(it)) if first == Some(fd) => {
                    accepted = Some(*it);
                }
                ("setsockopt", _)
                    if first == Some(fd)
                        || (accepted.is_some() && first.and_then(Argument::number) == accepted) =>
                {
                    if let (Some(Argument::Name(name)), Some(Argument::List(values))) =
                        (call.arguments.get(2), call.arguments.get(3))
                        && let Some(value) = values.first().and_then(Argument::number)
                        && (first != Some(fd) || !name.ends_with("BUF"))
                    {
                        // What is not known is told when its turn comes.
                        let _ = socket_option::apply(&mut socket.config, name, value);
                    }
                }
                ("write" | "send" | "sendto" | "close", _) if accepted.is_some() => return,
                _ => {}
            }
        }
    }

    /// Lets a connection have from its beginning the number of retries that the script sets later.
    fn prepare_client(&mut self, at: usize, call: &Call) {
        let opens = ["connect", "sendto", "sendmsg"].contains(&call.name.as_str());
        let (true, Some(fd)) = (opens, call.arguments.first()) else { return };
        let calls = self.script.events[at..].iter().filter_map(|event| match &event.action {
            Action::Call(call) if call.arguments.first() == Some(fd) => Some(call),
            _ => None,
        });
        let Some(socket) = fd.number().and_then(|fd| self.world.sockets.get_mut(&fd)) else {
            return;
        };
        for call in calls.take_while(|call| call.name != "close") {
            if let (Some(Argument::Name(name)), Some(Argument::List(values))) =
                (call.arguments.get(2), call.arguments.get(3))
                && call.name == "setsockopt"
                && name == "TCP_SYNCNT"
                && let Some(value) = values.first().and_then(Argument::number)
            {
                let _ = socket_option::apply(&mut socket.config, name, value);
            }
        }
    }

    fn begin(
        &mut self,
        event: &'a Event,
        call: &'a Call,
        ends: Option<Instant>,
    ) -> Result<(), Stop> {
        let progress = Progress::new(self.world.machine.now);
        self.blocked = Some(Blocked { event, call, progress, ends, wakes: None });
        self.retry()?;
        if self.blocked.is_some() && ends.is_none() {
            return Stop::differs(format!("{} blocks; write START...END as its time", event.text));
        }
        Ok(())
    }

    /// Goes on with the call that blocks, if there is one.
    fn retry(&mut self) -> Result<(), Stop> {
        let Some(blocked) = &mut self.blocked else { return Ok(()) };
        match call::attempt(&mut self.world, blocked.call, &mut blocked.progress)? {
            Step::Waits(wakes) => blocked.wakes = wakes,
            Step::Done(value, errno) => {
                let now = self.world.machine.now;
                let event = blocked.event;
                let ends = blocked.ends;
                let returned = &blocked.call.returned;
                compare_result(returned, value, errno)?;
                self.blocked = None;
                if let Some(ends) = ends
                    && !self.is_within(now, ends, ends)
                {
                    return Stop::instead(
                        format!("{} returns at another time", event.text),
                        ends.to_string(),
                        now.to_string(),
                    );
                }
                if ends.is_some() {
                    self.note(&format!("{} returns", event.text));
                }
            }
        }
        Ok(())
    }

    fn is_within(&self, at: Instant, from: Instant, until: Instant) -> bool {
        let early = Duration::from_nanos(from.as_nanos().saturating_sub(self.tolerance.as_nanos()));
        early.as_nanos() <= at.as_nanos() && at <= until.saturating_add(self.tolerance)
    }

    /// Lets the call that blocks come to its end.
    fn await_blocked(&mut self) -> Result<(), Stop> {
        let Some(blocked) = &self.blocked else { return Ok(()) };
        let ends = blocked.ends.unwrap_or(self.world.machine.now);
        self.advance(ends.saturating_add(self.tolerance))?;
        match &self.blocked {
            None => Ok(()),
            Some(blocked) => Stop::differs(format!("{} still blocks", blocked.event.text)),
        }
    }

    /// Compares the next segment that leaves; returns when it left.
    fn expect(
        &mut self,
        wanted: &ScriptSegment,
        time: When,
        from: Instant,
        until: Instant,
    ) -> Result<Instant, Stop> {
        let span = if from == until { from.to_string() } else { format!("{from}~{until}") };
        let shown =
            if time == When::Any { format!("* > {wanted}") } else { format!("{span} > {wanted}") };
        let deadline = until.saturating_add(self.tolerance);
        let Some(departure) = self.next_departure(deadline)? else {
            return Stop::instead("nothing left", shown, "nothing");
        };
        let at = departure.at;
        let mut found = self.world.read(&departure, Some(wanted))?;
        self.gather(wanted, &mut found, deadline)?;
        let mut differs = differences(wanted, &found, self.world.unchecked);
        if time != When::Any && !self.is_within(at, from, until) {
            differs.insert(0, "time");
        }
        let got = format!("{at} > {found}");
        if differs.is_empty() {
            self.timeline.push(got);
            return Ok(at);
        }
        Stop::instead(format!("what left differs in {}", differs.join(", ")), shown, got)
    }

    /// Waits for a segment to leave, until `deadline`.
    fn next_departure(&mut self, deadline: Instant) -> Result<Option<Departure>, Stop> {
        loop {
            while let Some(departure) = self.world.machine.departures.pop_front() {
                // As with packetdrill, the script speaks of the last connection alone.
                if !self.world.is_of_before(&departure) {
                    return Ok(Some(departure));
                }
            }
            let Some(next) = self.next_wake().filter(|next| *next <= deadline) else {
                return Ok(None);
            };
            self.world.machine.wake(next);
            self.retry()?;
        }
    }

    /// Joins segments that follow each other while the script writes them as one: systems hand
    /// several to their device at once.
    fn gather(
        &mut self,
        wanted: &ScriptSegment,
        found: &mut ScriptSegment,
        deadline: Instant,
    ) -> Result<(), Stop> {
        while found.len > 0 && found.len < wanted.len && found.seq == wanted.seq {
            let Some(departure) = self.next_departure(deadline)? else { break };
            let next = self.world.read(&departure, None)?;
            let follows = next.seq == found.seq.wrapping_add(found.len) && next.len > 0;
            if !follows || next.ack != found.ack {
                self.world.machine.departures.push_front(departure);
                break;
            }
            found.len += next.len;
            // The push flag is that of the last, as packetdrill has it.
            found.flags = (found.flags & !TcpFlags::PSH.0) | next.flags;
        }
        Ok(())
    }
}

fn unknown_option(option: &ScriptOption) -> ScriptOutcome {
    let feature = format!("the option --{}={}", option.name, option.value);
    ScriptOutcome::Unsupported { place: option.place, feature }
}

/// Compares what a call returned with what the script says.
fn compare_result(wanted: &Returned, value: i64, errno: Option<&str>) -> Result<(), Stop> {
    let (same, wanted) = match wanted {
        Returned::Any => return Ok(()),
        // Without the name of an error any will do.
        Returned::Value(wanted) => {
            let is_named = errno.is_some() && *wanted >= 0;
            (*wanted == value && !is_named, result_text(*wanted, None))
        }
        Returned::Error(wanted, name) => {
            // One number of Linux and FreeBSD has two names.
            let name = if name == "EWOULDBLOCK" { "EAGAIN" } else { name.as_str() };
            (*wanted == value && errno == Some(name), result_text(*wanted, Some(name)))
        }
    };
    if same {
        Ok(())
    } else {
        Stop::instead("the result differs", wanted, result_text(value, errno))
    }
}

/// Returns a result as scripts write it: its value and its error.
fn result_text(value: i64, errno: Option<&str>) -> String {
    match errno {
        Some(errno) => format!("{value} {errno}"),
        None => value.to_string(),
    }
}
