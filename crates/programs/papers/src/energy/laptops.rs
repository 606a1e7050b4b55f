//! Paper 002's laptops in simulated time: what they send, how often TCP repeats, and how long their
//! batteries last.

use windfall_base::{Duration, Instant, Seed};
use windfall_energy::{EnergyModel, StationUsage};
use windfall_network::LinkLedger;
use windfall_report::{Estimate, Point, statistics};
use windfall_scenario::sim::Simulation;
use windfall_scenario::{Scenario, without_span};

use crate::experiment::{Context, ExperimentError, ExperimentInput, Extent};

/// The two laptops of section 5.
pub(crate) const TWO: &str = include_str!("../../../../../scenarios/paper-002/laptops.toml");

/// The sender and the receiver, by their places in the scenarios.
pub(crate) const SENDER: usize = 0;
pub(crate) const RECEIVER: usize = 1;

/// The packet sizes of the paper, in bytes (S2.12); it calls them MSS.
pub(crate) const SIZES: [u16; 4] = [500, 1_000, 1_500, 2_296];
/// Settings of TCP as it was: everything on, an acknowledgment for every second segment. The
/// window begins where it fills the air even if acknowledgments come every 500 ms: two segments
/// more for each of those would take two minutes to get there, of the hours that a battery lasts.
/// The timeout is at least the second of RFC 6298: after a handshake of a millisecond, 200 ms would
/// pass before such an acknowledgment, and the window would begin anew at one segment.
pub(crate) const NORMAL: &str = "sack, send-buffer=1MiB, receive-buffer=1MiB, \
     initial-window=400, initial-rto=3s, min-rto=1s";
/// The settings that section 5.7 recommends together, beside the largest packets.
pub(crate) const BEST: &str = ", sack=off, timestamps=off, delayed-ack=time:500ms";
/// The time before what is measured: what fills the buffers of a megabyte first is copied and
/// summed, but not sent, and would count for a tenth of a run of a minute.
const WARM_UP: Duration = Duration::from_secs(10);
/// The time between two looks at the sender's timeout.
const SAMPLE: Duration = Duration::from_millis(100);
/// The position of the receiver in the scenario, a foot from the sender.
const NEAR: &str = "[0.33, 0.0]";
/// Bytes of the headers of IP and TCP in a packet.
const HEADERS: u16 = 40;

/// One way to run the laptops.
#[derive(Clone, Debug)]
pub(crate) struct Laptops {
    /// The figure that it is for.
    pub(crate) figure: &'static str,
    /// The scenario, as TOML.
    pub(crate) scenario: &'static str,
    /// The settings of the TCP of all stations.
    pub(crate) tcp: String,
    /// The packet size, in bytes.
    pub(crate) mtu: u16,
    /// The length of frames beyond which RTS and CTS are exchanged, in bytes, if they are at all.
    pub(crate) rts: Option<u16>,
    /// Further lines of the table `[link.radio]`, as TOML.
    pub(crate) radio: String,
    /// The distance between the two laptops, in metres, if it is not that of the scenario.
    pub(crate) metres: Option<f64>,
    /// The applications send nothing.
    pub(crate) idle: bool,
    /// The simulated time, after the warm-up.
    pub(crate) duration: Duration,
}

/// The outcome of a run of the laptops.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    /// The work of each station after the warm-up, in the order of the scenario.
    pub(crate) usage: Vec<StationUsage>,
    /// Bytes of the sender's stream that the receiver had after it.
    pub(crate) bytes: u64,
    /// The retransmission timeout of the sender's connection after each [`SAMPLE`], in seconds.
    pub(crate) timeouts: Vec<f64>,
    /// The ledgers of the stations' interfaces, in the same order, of the whole run.
    pub(crate) ledgers: Vec<LinkLedger>,
}

/// The work and the bytes up to a moment.
struct Totals {
    usage: Vec<StationUsage>,
    bytes: u64,
}

impl Totals {
    fn of(simulation: &Simulation, stations: usize) -> Self {
        let network = simulation.network();
        let now = simulation.now();
        let usage = |number| windfall_output::totals::station_usage(network, number, now);
        // The receiver has one sink for each stream, the sender's first.
        let receiver = network.station(RECEIVER);
        let mut reports = receiver.into_iter().flat_map(|it| it.reports(now)).flatten();
        let bytes = reports.find(|(name, _)| *name == "received_bytes");
        Self {
            usage: (0..stations).map(usage).collect(),
            bytes: bytes.map_or(0, |(_, bytes)| bytes.number() as u64),
        }
    }
}

impl Laptops {
    /// The two laptops with a normal TCP and packets of 1500 bytes, for as long as the extent asks.
    pub(crate) fn new(figure: &'static str, context: &Context<'_>) -> Self {
        Self {
            figure,
            scenario: TWO,
            tcp: NORMAL.to_owned(),
            mtu: 1_500,
            rts: None,
            radio: String::new(),
            metres: None,
            idle: false,
            duration: match context.extent {
                Extent::Quick => Duration::from_secs(5),
                Extent::Paper => Duration::from_secs(60),
                Extent::Full => Duration::from_secs(600),
            },
        }
    }

    /// Runs them once.
    ///
    /// # Errors
    /// If the scenario is wrong.
    pub(crate) fn run(&self, seed: Seed) -> Result<Measured, ExperimentError> {
        let figure = self.figure;
        let failed = |message: String| ExperimentError::Scenario { figure, message };
        let scenario = self.scenario()?;
        let no_files = &mut |name: &str| Err(std::io::Error::other(format!("it names {name}")));
        let topology = scenario.topology(0, (figure, self.scenario), no_files);
        let topology = topology.map_err(|error| failed(error.to_string()))?;
        let mut simulation =
            Simulation::new(&topology, seed).map_err(|error| failed(error.to_string()))?;
        let warm = Instant::START + WARM_UP;
        simulation.run(warm, &mut |_| Ok(())).map_err(|error| failed(error.to_string()))?;
        let stations = topology.stations.len();
        let before = Totals::of(&simulation, stations);
        let mut timeouts = Vec::new();
        while simulation.now() < simulation.end() {
            let until = simulation.now() + SAMPLE;
            simulation.run(until, &mut |_| Ok(())).map_err(|error| failed(error.to_string()))?;
            timeouts.extend(timeout(&simulation));
        }
        let after = Totals::of(&simulation, stations);
        let network = simulation.network();
        let usage = after.usage.iter().zip(&before.usage).map(|(after, it)| after.since(it));
        Ok(Measured {
            usage: usage.collect(),
            bytes: after.bytes - before.bytes,
            timeouts,
            ledgers: network.interfaces().map(|it| network.ledger(it).clone()).collect(),
        })
    }

    /// Runs them with independent seeds.
    ///
    /// # Errors
    /// If the scenario is wrong.
    pub(crate) fn replicate(
        &self,
        context: &Context<'_>,
    ) -> Result<Vec<Measured>, ExperimentError> {
        context.replicate(runs(context), |seed| self.run(seed)).into_iter().collect()
    }

    /// The scenario with what differs from it.
    fn scenario(&self) -> Result<Scenario, ExperimentError> {
        let figure = self.figure;
        let failed = |message: String| ExperimentError::Scenario { figure, message };
        let text = self.scenario.replacen("[link.radio]\n", &self.radio_table(), 1);
        let text = match self.metres {
            Some(metres) => text.replacen(NEAR, &format!("[{metres:?}, 0.0]"), 1),
            None => text,
        };
        let mut scenario =
            Scenario::parse(figure, &text).map_err(|error| failed(error.to_string()))?;
        let tcp = format!("{}, mss={}", self.tcp, self.mtu - HEADERS);
        for station in &mut scenario.stations {
            let tcp = tcp.parse().map_err(|error| failed(format!("{error}")))?;
            station.tcp = Some(without_span(tcp));
        }
        let mtu = self.mtu.to_string().parse().map_err(|error| failed(format!("{error}")))?;
        scenario.links[0].mtu = Some(without_span(mtu));
        scenario.run.duration = Some(without_span(WARM_UP + self.duration));
        if self.idle {
            scenario.apps.clear();
        }
        Ok(scenario)
    }

    fn radio_table(&self) -> String {
        let rts = self.rts.map(|bytes| format!("rts-threshold = {bytes}\n")).unwrap_or_default();
        format!("[link.radio]\n{rts}{}\n", self.radio)
    }
}

/// Returns the retransmission timeout of the sender's connection, in seconds.
fn timeout(simulation: &Simulation) -> Option<f64> {
    let connection = simulation.network().station(SENDER)?.connections().next()?;
    Some(connection.retransmission_timeout().as_secs_f64())
}

/// Returns the number of independent runs of each point.
pub(crate) fn runs(context: &Context<'_>) -> usize {
    if context.extent == Extent::Quick { 3 } else { 10 }
}

impl Measured {
    //= S2.27
    /// Returns how long the battery of a station lasts if it goes on so, in minutes.
    pub(crate) fn minutes(&self, model: &EnergyModel, station: usize) -> f64 {
        let lifetime = model.lifetime(&self.usage[station]);
        lifetime.map_or(f64::INFINITY, |it| it.as_secs_f64() / 60.0)
    }

    //= S2.28
    /// Returns the bytes that arrive while the battery of a station lasts.
    pub(crate) fn bytes_of_a_battery(&self, model: &EnergyModel, station: usize) -> f64 {
        self.rate() / 8.0 * 60.0 * self.minutes(model, station)
    }

    //= S2.28
    /// Returns the energy of a station for each byte that arrived, in joules.
    pub(crate) fn joules_per_byte(&self, model: &EnergyModel, station: usize) -> f64 {
        model.energy(&self.usage[station]).total() / self.bytes as f64
    }

    /// Returns the length of the whole run, with the warm-up, for which ledgers count.
    pub(crate) fn whole(&self) -> Duration {
        WARM_UP + self.usage[SENDER].span
    }

    /// Returns the share of a station's frames with packets that were repetitions, from the start.
    pub(crate) fn repeated_frames(&self, station: usize) -> f64 {
        let ledger = &self.ledgers[station];
        ledger.packets.retransmissions as f64 / ledger.packets.frames.max(1) as f64
    }

    /// Returns the rate at which the stream arrived, in b/s.
    pub(crate) fn rate(&self) -> f64 {
        self.bytes as f64 * 8.0 / self.usage[RECEIVER].span.as_secs_f64()
    }
}

/// Returns the bytes that arrive while the battery of a station lasts, of a run.
pub(crate) fn bytes(model: &EnergyModel, station: usize) -> impl Fn(&Measured) -> f64 {
    move |run| run.bytes_of_a_battery(model, station)
}

/// Returns how long the battery of a station lasts, in minutes, of a run.
pub(crate) fn minutes(model: &EnergyModel, station: usize) -> impl Fn(&Measured) -> f64 {
    move |run| run.minutes(model, station)
}

/// Returns the joules of a station for each byte that arrived, of a run.
pub(crate) fn joules(model: &EnergyModel, station: usize) -> impl Fn(&Measured) -> f64 {
    move |run| run.joules_per_byte(model, station)
}

/// Estimates a value of some runs by that of others with the same seeds.
pub(crate) fn ratio(
    runs: &[Measured],
    of: &[Measured],
    value: &dyn Fn(&Measured) -> f64,
) -> Estimate {
    let pairs = runs.iter().zip(of).map(|(one, other)| value(one) / value(other));
    Estimate::geometric_mean(&pairs.collect::<Vec<_>>())
}

/// Estimates the mean of a value.
pub(crate) fn estimate(runs: &[Measured], of: &dyn Fn(&Measured) -> f64) -> Estimate {
    Estimate::mean(&runs.iter().map(of).collect::<Vec<_>>())
}

/// Returns the mean of a value.
pub(crate) fn mean(runs: &[Measured], of: &dyn Fn(&Measured) -> f64) -> f64 {
    statistics::mean(&runs.iter().map(of).collect::<Vec<_>>()).unwrap_or(f64::NAN)
}

/// Returns the point of a value at `x`.
pub(crate) fn point(x: f64, runs: &[Measured], of: &dyn Fn(&Measured) -> f64) -> Option<Point> {
    Point::of(x, &runs.iter().map(of).collect::<Vec<_>>())
}

/// Returns the model of the laptops.
///
/// # Errors
/// If there is no such preset.
pub(crate) fn model(figure: &'static str) -> Result<EnergyModel, ExperimentError> {
    let failed = |error: windfall_energy::EnergyError| ExperimentError::Scenario {
        figure,
        message: error.to_string(),
    };
    EnergyModel::preset("laptop-2000").map_err(failed)
}

/// Returns what went into all figures of the laptops.
pub(crate) fn inputs() -> Vec<ExperimentInput> {
    let given = ExperimentInput::given;
    vec![
        given(
            "card",
            "280, 180, 180 mA sending, receiving, listening at 5 V",
            "section 5; \
              listening: Feeney and Nilsson 2001",
        ),
        given("battery", "30 Wh", "assumed: typical of its time"),
        given(
            "costs of TCP's steps among each other",
            "docs/reference/energy.md",
            "Wang and Singh 2003",
        ),
        given(
            "buffers",
            "1 MiB",
            "section 5: a buffer of 1 MB; with windows of 64 KiB an \
              acknowledgment every 500 ms would let 1 Mb/s through",
        ),
        ExperimentInput::fitted("platform and a full segment", "S2.25", "223 and 110 minutes"),
    ]
}
