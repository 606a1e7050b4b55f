//! Golden packet timelines, written as scripts: `tests/scripts/*.script`.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use windfall_base::{Duration, Instant, Seed};
use windfall_tcp::{
    AckPolicy, CongestionControl, ConnectionHandle, Corruption, Keepalive, Listener, Lookup,
    Manner, NotificationMode, SegmentMeta, TcpConfig, TcpEndpoint, TcpError, TcpEvent,
};
use windfall_testkit::script::{self, PEER, Packet, SUBJECT, Subject, byte};

/// An endpoint with the one connection that a script is about.
struct Engine {
    tcp: TcpEndpoint,
    config: TcpConfig,
    id: Option<ConnectionHandle>,
    written: u64,
    read: u64,
    events: Vec<TcpEvent>,
}

impl Engine {
    /// Creates the textbooks' TCP without options, so that a script says which it is about.
    fn new() -> Self {
        let config = TcpConfig::new_reno().with(|it| {
            it.timestamps = false;
            it.sack = false;
            it.window_scale = false;
            it.receive_buffer = 65_535.into();
        });
        let tcp = TcpEndpoint::new(Seed(7), "script", Lookup::Hashed);
        Self { tcp, config, id: None, written: 0, read: 0, events: Vec::new() }
    }

    fn id(&self) -> Result<ConnectionHandle, String> {
        self.id.ok_or_else(|| "there is no connection yet".to_owned())
    }

    fn collect(&mut self) {
        while let Some((id, event)) = self.tcp.poll_event() {
            self.id.get_or_insert(id);
            self.events.push(event);
        }
    }

    /// Checks what a line expects of the connection.
    fn check(&mut self, words: &[&str]) -> Result<(), String> {
        self.collect();
        if let ["connections", count] = words {
            return same(count, self.tcp.len());
        }
        if let ["event", event @ ..] = words {
            let wanted = event.join("-");
            let at = self.events.iter().position(|event| name(*event) == wanted);
            let names: Vec<_> = self.events.iter().map(|event| name(*event)).collect();
            let at = at.ok_or_else(|| format!("no event {wanted} happened, only {names:?}"))?;
            self.events.remove(at);
            return Ok(());
        }
        let Some(connection) = self.tcp.connection(self.id()?) else {
            return same(words.get(1).unwrap_or(&""), "gone");
        };
        match words {
            ["state", state] => same(state, format!("{:?}", connection.state()).to_lowercase()),
            ["cwnd", bytes] => same(bytes, connection.congestion_window()),
            ["ssthresh", bytes] => same(bytes, connection.slow_start_threshold()),
            ["mss", bytes] => same(bytes, connection.segment_size()),
            ["rto", span] => same(span, connection.retransmission_timeout()),
            ["unacked", bytes] => same(bytes, connection.unacknowledged()),
            ["reductions", count] => same(count, connection.operations().reductions),
            ["refused-sack", blocks] => same(blocks, connection.operations().sack_refused),
            ["marks-received", count] => same(count, connection.received_marks()),
            ["marks-reported", count] => same(count, connection.reported_marks()),
            ["readable", bytes] => same(bytes, connection.readable()),
            _ => Err(format!("{words:?} is nothing that can be expected")),
        }
    }

    fn read(&mut self, most: usize) -> Result<(), String> {
        let id = self.id()?;
        let end = self.read + most as u64;
        while self.read < end
            && let Some(data) = self.tcp.read(id, (end - self.read) as usize).map_err(text)?
        {
            let first = self.read + 1;
            self.read += data.len() as u64;
            if !data.iter().copied().eq((first..=self.read).map(byte)) {
                return Err(format!("the bytes read from {first} on are wrong"));
            }
        }
        Ok(())
    }
}

/// Returns the name of an event in scripts.
fn name(event: TcpEvent) -> &'static str {
    match event {
        TcpEvent::Connected => "connected",
        TcpEvent::Accepted => "accepted",
        TcpEvent::Readable => "readable",
        TcpEvent::Writable => "writable",
        TcpEvent::PeerFinished => "peer-finished",
        TcpEvent::Closed(None) => "closed",
        TcpEvent::Closed(Some(TcpError::Refused)) => "refused",
        TcpEvent::Closed(Some(TcpError::Reset)) => "reset",
        TcpEvent::Closed(Some(TcpError::TimedOut)) => "timed-out",
        TcpEvent::Closed(Some(TcpError::Aborted)) => "aborted",
        _ => "unknown",
    }
}

fn same(wanted: &str, found: impl std::fmt::Display) -> Result<(), String> {
    let found = format!("{found}");
    if wanted == found { Ok(()) } else { Err(format!("expected {wanted}, got {found}")) }
}

#[expect(clippy::needless_pass_by_value, reason = "what map_err takes")]
fn text(error: impl ToString) -> String {
    error.to_string()
}

/// Reads a setting's value.
fn parse<T: std::str::FromStr>(name: &str, value: &str) -> Result<T, String> {
    value.parse().map_err(|_| format!("{name} cannot be {value:?}"))
}

fn milliseconds(name: &str, value: &str) -> Result<Duration, String> {
    parse(name, value).map(Duration::from_millis)
}

fn choose<T: Clone>(name: &str, value: &str, known: &[(&str, T)]) -> Result<T, String> {
    let found = known.iter().find(|(word, _)| *word == value).map(|(_, it)| it.clone());
    let words: Vec<_> = known.iter().map(|(word, _)| *word).collect();
    found.ok_or_else(|| format!("{name} is one of {words:?}, not {value:?}"))
}

/// Returns the setting of this name that is on or off.
fn switch_of<'a>(config: &'a mut TcpConfig, name: &str) -> Option<&'a mut bool> {
    Some(match name {
        "timestamps" => &mut config.timestamps,
        "sack" => &mut config.sack,
        "rack" => &mut config.rack,
        "prr" => &mut config.prr,
        "f-rto" => &mut config.f_rto,
        "hystart" => &mut config.hystart,
        "pacing" => &mut config.pacing,
        "window-scale" => &mut config.window_scale,
        "ecn" => &mut config.ecn,
        "accurate-ecn" => &mut config.accurate_ecn,
        "fast-open" => &mut config.fast_open,
        _ => return None,
    })
}

/// Sets a setting whose values have names.
fn choose_named(config: &mut TcpConfig, name: &str, value: &str) -> Result<(), String> {
    match name {
        "profile" => {
            let known = [("net3-reno", TcpConfig::net3_reno()), ("default", TcpConfig::default())];
            *config = choose(name, value, &known)?;
        }
        "congestion" => {
            let known = CongestionControl::BUILT_IN.iter().map(|it| (it.name(), *it));
            config.congestion_control = choose(name, value, &known.collect::<Vec<_>>())?;
        }
        "manner" => {
            let known = [("linux", Manner::LINUX), ("freebsd", Manner::FREEBSD)];
            config.manner = choose(name, value, &known)?;
        }
        "blind" => {
            (config.manner.obeys_blind_resets, config.manner.obeys_blind_syns) =
                choose(name, value, &[("obeyed", (true, true))])?;
        }
        "syn-fin" => {
            config.manner.drops_syn_fin = choose(name, value, &[("dropped", true)])?;
        }
        "corruption" => {
            let known = [
                ("draft-safe", NotificationMode::DraftSafe),
                ("paper", NotificationMode::Paper),
                ("extended", NotificationMode::Extended),
            ];
            config.corruption = Corruption::on(choose(name, value, &known)?);
        }
        _ => return Err(format!("{name} is no setting of this runner")),
    }
    Ok(())
}

impl Subject for Engine {
    fn configure(&mut self, name: &str, value: &str) -> Result<(), String> {
        if let Some(switch) = switch_of(&mut self.config, name) {
            *switch = choose(name, value, &[("on", true), ("off", false)])?;
            return Ok(());
        }
        let config = &mut self.config;
        match name {
            "memory" => self.tcp.set_memory(parse(name, value)?),
            "mss" => config.mss = parse(name, value)?,
            "receive-buffer" => {
                config.receive_buffer = parse::<usize>(name, value)?.into();
            }
            "initial-window" => config.initial_window = parse(name, value)?,
            "syn-retries" => config.syn_retries = parse(name, value)?,
            "burst" => config.burst = Some(parse(name, value)?),
            "time-wait" => config.time_wait = milliseconds(name, value)?,
            "keepalive" => {
                let idle = milliseconds(name, value)?;
                let interval = Duration::from_secs(1);
                config.keepalive = Some(Keepalive { idle, interval, probes: 2 });
            }
            "ack-every" => {
                let delay = Duration::from_millis(40);
                let segments = parse(name, value)?;
                config.acks = AckPolicy::EverySegments { segments, delay, tick: Duration::ZERO };
            }
            "ack-interval" => {
                config.acks = AckPolicy::TimeOnly { interval: milliseconds(name, value)? };
            }
            "ack-tick" => {
                let tick = milliseconds(name, value)?;
                config.acks = AckPolicy::EverySegments { segments: 2, delay: tick, tick };
            }
            _ => return choose_named(config, name, value),
        }
        Ok(())
    }

    fn command(&mut self, now: Instant, words: &[&str]) -> Result<(), String> {
        self.collect();
        let (local, remote): (SocketAddr, SocketAddr) =
            (SUBJECT.parse().unwrap(), PEER.parse().unwrap());
        let config = Arc::new(self.config.clone());
        match words {
            ["listen"] => self.tcp.listen(local, Listener::new(config)).map_err(text),
            ["connect"] => {
                self.id = Some(self.tcp.connect(now, local, remote, config).map_err(text)?);
                Ok(())
            }
            ["write", len] => {
                let len: u64 = parse("write", len)?;
                let first = self.written + 1;
                let data: Bytes = (first..first + len).map(byte).collect();
                self.written += self.tcp.write_bytes(self.id()?, data).map_err(text)? as u64;
                Ok(())
            }
            ["read", most] => self.read(parse("read", most)?),
            ["shutdown"] => self.tcp.shutdown(self.id()?).map_err(text),
            ["close"] => self.tcp.close(now, self.id()?).map_err(text),
            ["abort"] => self.tcp.abort(self.id()?).map_err(text),
            ["expect", rest @ ..] => self.check(rest),
            _ => Err(format!("{words:?} is no command of this runner")),
        }
    }

    fn handle_segment(&mut self, now: Instant, packet: &Packet) -> Result<(), &'static str> {
        let Packet { addresses, ecn, missing, bytes } = packet.clone();
        let arrival = SegmentMeta { addresses, ecn, missing, lost_before: 0 };
        let result = self.tcp.handle_segment(now, &arrival, &bytes.into());
        result.map_err(windfall_base::DropReason::name)
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.tcp.handle_timeout(now);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Packet> {
        let transmit = self.tcp.poll_transmit(now)?;
        let mut bytes = transmit.header.to_vec();
        bytes.extend_from_slice(&transmit.data);
        let addresses = transmit.addresses;
        let ecn = transmit.ecn;
        Some(Packet { addresses, ecn, missing: 0, bytes: bytes.into() })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.tcp.poll_timeout().map(|(at, _)| at)
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts")
}

/// Makes a test of each script, and one that none is forgotten.
macro_rules! scripts {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            let file = concat!(stringify!($name), ".script").replace('_', "-");
            script::play(&folder().join(file), &mut Engine::new());
        })*

        #[test]
        fn every_script_is_played() {
            let mut listed = vec![$(concat!(stringify!($name), ".script").replace('_', "-")),*];
            let entries = std::fs::read_dir(folder()).unwrap();
            let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            let mut found: Vec<String> = names.collect();
            listed.sort();
            found.sort();
            assert_eq!(listed, found);
        }
    };
}

scripts! {
    accurate_ecn
    accurate_ecn_acknowledges
    accurate_ecn_answer_changed
    accurate_ecn_answer_lost
    accurate_ecn_answer_marked
    accurate_ecn_changed
    accurate_ecn_classic_asks
    accurate_ecn_cleared
    accurate_ecn_cycled
    accurate_ecn_first_data
    accurate_ecn_first_mark
    accurate_ecn_mixed
    accurate_ecn_passive
    accurate_ecn_reflected
    accurate_ecn_refused
    accurate_ecn_reserved
    accurate_ecn_reserved_syn
    accurate_ecn_simultaneous
    accurate_ecn_superseded
    accurate_ecn_syn_capable
    accurate_ecn_syn_lost
    accurate_ecn_syn_marked
    accurate_ecn_thinned
    accurate_ecn_to_classic
    accurate_ecn_unanswered
    beyond_the_window
    challenge
    close_active
    close_half
    close_opening
    close_passive
    close_repeated_syn
    close_simultaneous
    close_simultaneous_crossed
    close_unread
    closed_window
    corruption_cut_timestamps
    corruption_draft_safe
    corruption_elsewhere
    corruption_explained
    corruption_extended
    corruption_overtaken
    corruption_paper
    corruption_paper_nonsense
    corruption_receiver
    corruption_sender
    corruption_timer
    delayed_ack
    delayed_ack_by_tick
    delayed_ack_by_time
    dsack
    dsack_overtaken
    duplicate_acknowledges
    ecn
    f_rto
    f_rto_basic
    f_rto_basic_lost
    f_rto_basic_no_data
    f_rto_in_recovery
    f_rto_nagle
    f_rto_new_data
    fast_open_client
    fast_open_retransmitted
    fast_open_server
    fast_retransmit
    fin_on_data_read
    fin_on_old_data
    fin_on_old_data_acknowledges
    fin_on_old_data_beyond_a_hole
    fin_on_old_data_closed
    fin_on_old_data_closed_window
    fin_on_old_data_finwait1
    fin_on_old_data_finwait2
    fin_on_old_data_freebsd
    fin_on_old_data_linux
    fin_on_old_data_reported
    fin_on_part_of_old_data
    fin_on_partly_new_data
    half_window
    hole_before_data
    idle
    keepalive
    keepalive_timestamps
    linux_window_half_used
    linux_window_not_filled
    manner_blind
    manner_blind_reset
    manner_freebsd
    manner_linux
    memory_of_what_is_written
    memory_pressure
    nagle
    net3_reno_timeout
    no_duplicates
    old_acknowledgments
    open_aborted
    open_active
    open_closed_port
    open_ecn_reflected
    open_half
    open_passive
    open_refused
    open_simultaneous
    open_simultaneous_data
    open_unanswered
    options_malformed
    pacing
    paws
    prr
    rack
    rack_duplicate
    rack_reordering
    rack_repair_lost
    reassembly
    reordering_opens_the_window
    reset
    reset_at_the_edge
    reset_then_abort
    reset_timestamps
    sack_nonsense
    sack_recovery
    sequence_wrap
    shrunk_window
    silly_window
    syn_ack_lost
    syn_ack_lost_timestamps
    syn_lost
    syn_lost_echo_of_the_first
    syn_lost_fast_open
    syn_lost_net3
    syn_lost_once
    syn_lost_simultaneous
    syn_lost_timestamps
    tail_probe
    tail_probe_repairs
    tail_probe_report_late
    tail_probe_single
    timeout
    timeout_cubic
    timeout_sack
    timestamp_missing
    timestamp_of_a_copy
    timestamp_of_a_later_syn
    timestamp_of_the_first_syn
    timestamp_overtaken
    timestamp_rejected
    undo_duplicate
    undo_echo
    undo_one_of_two
    undo_timeout
    undo_timeout_go_back
    undo_timeout_in_repair
    undo_timeout_probe
    undo_timeout_probe_lost
    undo_timeout_twice
    urgent
    window_by_time
    window_offered
    window_old_acknowledgment
    window_update
    zero_window
    zero_window_then_loss
    zero_window_then_loss_taken
}
