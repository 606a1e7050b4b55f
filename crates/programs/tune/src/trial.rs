//! One mode of a link under the traffic of an application, in simulated time.

use std::collections::BTreeMap;

use serde::Serialize;
use windfall_base::{Duration, Instant, Payload, Rate, Seed};
use windfall_files::traces::ErrorTrace;
use windfall_network::{EventKind, NetworkEvent, Recording};
use windfall_report::statistics;
use windfall_scenario::Scenario;
use windfall_scenario::sim::Simulation;
use windfall_stack::HostEvent;

use crate::channel::{MeasuredChannel, TunedLink};
use crate::mode::LinkMode;
use crate::needs::TrafficNeeds;

/// The time in which RLP connects, before the first datagram.
const CALL: f64 = 3.0;
/// The time for which datagrams under way are waited for at the end.
const WAIT: f64 = 30.0;
/// Datagrams of a trial, between the shortest and the longest time.
const DATAGRAMS: f64 = 1_000.0;
const SECONDS: [f64; 2] = [60.0, 600.0];
/// Datagrams of a trial at most.
const MOST: f64 = 20_000.0;
/// Datagrams a second that a scenario takes at most.
const FASTEST: f64 = 1e8;
/// Bytes of the header of UDP and of UDP-Lite.
const UDP_LEN: u32 = 8;

/// A trial that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum TuneError {
    /// The scenario is refused.
    #[error("{0}")]
    Scenario(String),
    /// The datagrams follow each other faster than simulated time tells apart.
    #[error(
        "{rate} in datagrams of {size} bytes is more than one each 10 ns: use a lower rate or \
         larger datagrams"
    )]
    TooFast {
        /// The rate of the application's data.
        rate: Rate,
        /// Bytes of data in a datagram.
        size: u32,
    },
    /// Nothing that a lifetime could be of.
    #[error(
        "no station has an energy model with a battery: add energy = \"laptop-2000\" to the \
         scenario, or a model of your own"
    )]
    NoBattery,
    /// More bytes must be right than a datagram has.
    #[error(
        "{exact} bytes must be right, and the largest datagram that is tried has {largest}: give \
         fewer, or the size of the datagrams with --size"
    )]
    TooExact {
        /// Bytes at the front that must be right.
        exact: u32,
        /// Bytes of the largest datagram.
        largest: u32,
    },
    /// The rate is below one datagram in a trial.
    #[error("{rate} is less than one datagram of {size} bytes in ten minutes: use a higher rate")]
    TooSlow {
        /// The rate of the application's data.
        rate: Rate,
        /// Bytes of data in a datagram.
        size: u32,
    },
}

/// The outcome of an application's datagrams over one mode of a link.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trial {
    /// The name of the mode.
    pub mode: &'static str,
    /// The options that choose it.
    pub options: String,
    /// It sends something again.
    pub repeats: bool,
    /// Bytes of data in a datagram.
    pub size: u32,
    /// Bytes that the checksum of UDP-Lite covers, its header among them; none with UDP.
    pub coverage: Option<u32>,
    /// The datagrams that were sent.
    pub sent: usize,
    /// The share that never arrived.
    pub lost: f64,
    /// The share that arrived after the deadline.
    pub late: f64,
    /// The share that arrived in time, but damaged.
    pub damaged: f64,
    /// The share of inverted bits in the data that arrived.
    pub bit_error_rate: f64,
    /// The mean time from sending to arriving, if any arrived.
    pub delay_seconds: Option<f64>,
    /// The time within which nineteen in twenty of those that arrived did.
    pub most_delay_seconds: Option<f64>,
    /// The application bears all that.
    pub is_enough: bool,
}

/// A datagram on its way.
struct Datagram {
    since: Instant,
    packet: Payload,
    arrived: Option<Instant>,
    wrong_bits: u64,
    bits: u64,
}

impl Trial {
    /// Sends the datagrams of the application over the channel in a mode.
    ///
    /// # Errors
    /// If the mode and the traffic make no scenario.
    pub(crate) fn make(
        channel: &MeasuredChannel,
        traces: &[ErrorTrace; 2],
        mode: &LinkMode,
        size: u32,
        needs: &TrafficNeeds,
        seed: Seed,
    ) -> Result<Self, TuneError> {
        let coverage = mode.accepts_damaged().then(|| UDP_LEN + needs.exact.min(size));
        let text = scenario(channel, mode, size, coverage, needs)?;
        let datagrams = simulate(&text, traces, seed)?;
        Ok(Self::of(mode, size, coverage, &datagrams, needs))
    }

    fn of(
        mode: &LinkMode,
        size: u32,
        coverage: Option<u32>,
        datagrams: &BTreeMap<u64, Datagram>,
        needs: &TrafficNeeds,
    ) -> Self {
        let sent = datagrams.len();
        let delay = |it: &Datagram| Some(it.arrived?.saturating_since(it.since));
        let is_late = |age: Duration| needs.deadline.is_some_and(|deadline| age > deadline);
        let share = |chosen: &dyn Fn(&Datagram) -> bool| {
            datagrams.values().filter(|it| chosen(it)).count() as f64 / sent.max(1) as f64
        };
        let mut delays: Vec<f64> =
            datagrams.values().filter_map(delay).map(Duration::as_secs_f64).collect();
        delays.sort_by(f64::total_cmp);
        let most = (delays.len() * 19).div_ceil(20).checked_sub(1).map(|at| delays[at]);
        let lost = share(&|it| it.arrived.is_none());
        let late = share(&|it| delay(it).is_some_and(is_late));
        let in_time = |it: &Datagram| delay(it).is_some_and(|age| !is_late(age));
        let damaged = share(&|it| in_time(it) && it.wrong_bits > 0);
        let arrived = || datagrams.values().filter(|it| it.arrived.is_some());
        let bits = arrived().map(|it| it.bits).sum::<u64>();
        let wrong = arrived().map(|it| it.wrong_bits).sum::<u64>();
        let is_enough = sent > 0 && lost + late <= needs.loss && damaged <= needs.damage;
        Self {
            mode: mode.name,
            options: mode.options(needs.deadline),
            repeats: mode.repeats(),
            size,
            coverage,
            sent,
            lost,
            late,
            damaged,
            bit_error_rate: wrong as f64 / bits.max(1) as f64,
            delay_seconds: statistics::mean(&delays),
            most_delay_seconds: most,
            is_enough,
        }
    }

    /// The share of datagrams that are of use: in time, and undamaged where damage is not borne.
    pub(crate) fn useful(&self, needs: &TrafficNeeds) -> f64 {
        let in_time = 1.0 - self.lost - self.late;
        if needs.damage > 0.0 { in_time } else { in_time - self.damaged }
    }
}

/// The scenario of a trial, as a user would write it.
fn scenario(
    channel: &MeasuredChannel,
    mode: &LinkMode,
    size: u32,
    coverage: Option<u32>,
    needs: &TrafficNeeds,
) -> Result<String, TuneError> {
    let pace = needs.rate.as_bps() as f64 / (8.0 * f64::from(size));
    let [least, most] = SECONDS;
    let seconds = (DATAGRAMS / pace).clamp(least, most).min(MOST / pace);
    if pace * seconds < 1.0 {
        return Err(TuneError::TooSlow { rate: needs.rate, size });
    }
    if pace > FASTEST {
        return Err(TuneError::TooFast { rate: needs.rate, size });
    }
    let end = CALL + seconds + WAIT;
    let stop = CALL + seconds;
    let interval = 1e9 / pace;
    let mut link = format!("kind = \"{}\"\n{}", channel.link.name(), mode.keys());
    if channel.link == TunedLink::Pipe {
        link += &format!("rate = \"{}bps\"\n", channel.rate.as_bps());
    }
    let transport = match coverage {
        None => "transport = \"udp\"".to_owned(),
        Some(coverage) => format!("transport = \"udplite\"\ncoverage = {coverage}"),
    };
    let sink = transport.lines().next().unwrap_or_default();
    Ok(format!(
        "format = 1\nduration = \"{:.0}ms\"\n\
         [[station]]\nname = \"near\"\n[[station]]\nname = \"far\"\n\
         [[link]]\nstations = [\"near\", \"far\"]\n{link}\
         [link.uplink]\nerror-trace = \"there\"\n[link.downlink]\nerror-trace = \"back\"\n\
         [[app]]\nkind = \"cbr\"\nstation = \"near\"\nto = \"far\"\nsize = {size}\n{transport}\n\
         interval = \"{interval:.0}ns\"\nstart = \"{CALL}s\"\nstop = \"{:.0}ms\"\n\
         [[app]]\nkind = \"sink\"\nstation = \"far\"\n{sink}\n{}",
        1e3 * end,
        1e3 * stop,
        mode.flow(needs.deadline),
    ))
}

fn simulate(
    text: &str,
    traces: &[ErrorTrace; 2],
    seed: Seed,
) -> Result<BTreeMap<u64, Datagram>, TuneError> {
    let failed = |error: &dyn core::fmt::Display| TuneError::Scenario(error.to_string());
    let scenario = Scenario::parse("tune", text).map_err(|error| failed(&error))?;
    let read = &mut |name: &str| {
        let trace = if name == "there" { &traces[0] } else { &traces[1] };
        Ok(trace.to_text().into_bytes())
    };
    let topology = scenario.topology(0, ("tune", text), read);
    let topology = topology.map_err(|error| failed(&error))?;
    let mut simulation = Simulation::new(&topology, seed).map_err(|error| failed(&error))?;
    simulation.network_mut().record(Recording { events: true, packets: true });
    let mut datagrams = BTreeMap::new();
    let end = simulation.end();
    let ran = simulation.run(end, &mut |event| {
        note(&mut datagrams, event);
        Ok(())
    });
    ran.map_err(|error| failed(&error))?;
    Ok(datagrams)
}

/// Notes what an event tells of a datagram: that it entered the link, left it, or reached the sink.
fn note(datagrams: &mut BTreeMap<u64, Datagram>, event: &NetworkEvent) {
    match &event.what {
        EventKind::Passage(passage) => {
            let Some(tag) = passage.tag else { return };
            if !passage.arrived {
                let packet = passage.payload.clone();
                let arrived = None;
                let wrong_bits = 0;
                let bits = 0;
                let datagram = Datagram { since: event.at, packet, arrived, wrong_bits, bits };
                datagrams.insert(tag.0, datagram);
            } else if let Some(datagram) = datagrams.get_mut(&tag.0) {
                datagram.compare(&passage.payload);
            }
        }
        EventKind::Host(HostEvent::Delivered { tag: Some(tag), .. }) => {
            if let Some(datagram) = datagrams.get_mut(&tag.0) {
                datagram.arrived = datagram.arrived.or(Some(event.at));
            }
        }
        _ => {}
    }
}

impl Datagram {
    /// Counts the bit errors of the data; bytes that are missing are wrong.
    fn compare(&mut self, arrived: &Payload) {
        let sent = self.packet.to_bytes();
        let headers = match sent.first().map(|byte| byte >> 4) {
            Some(6) => 48,
            _ => 28,
        };
        let arrived = arrived.to_bytes();
        let data = sent.get(headers..).unwrap_or_default();
        let got = arrived.get(headers..).unwrap_or_default();
        let missing = data.len().saturating_sub(got.len());
        let wrong = data.iter().zip(got).map(|(a, b)| u64::from((a ^ b).count_ones()));
        self.wrong_bits = wrong.sum::<u64>() + 8 * missing as u64;
        self.bits = 8 * data.len() as u64;
    }
}
