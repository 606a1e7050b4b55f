//! Transfers by Windfall's own TCP, in simulated time.

use windfall_base::{ByteCount, Duration, Instant, Seed, Stream};
use windfall_files::pcapng::LINKTYPE_RAW;
use windfall_files::pcapng::Seen;
use windfall_files::pcapng::read::CapturedPacket;
use windfall_network::{EventKind, LinkLedger, Recording};
use windfall_scenario::sim::Simulation;
use windfall_scenario::{Scenario, TcpSettings, without_span};
use windfall_tcp::Operations;

use crate::experiment::error::ExperimentError;
use crate::experiment::scenario;
use crate::experiment::sequence::Sequence;

/// The interval at which the sender's counters are read.
const INTERVAL: Duration = Duration::from_millis(10);
/// The milliseconds within which transfers begin, at random: anywhere between two ticks.
const STARTS: u64 = 1_000;

/// One transfer to be simulated.
#[derive(Clone, Debug)]
pub struct Transfer {
    /// The figure that it is for.
    pub figure: &'static str,
    /// The scenario, as TOML, with one bulk transfer.
    pub scenario: &'static str,
    /// The keys that differ from the scenario in the direction of the data, as TOML.
    pub uplink: String,
    /// The settings of the TCP of both hosts.
    pub tcp: &'static str,
    /// Bytes to transfer.
    pub bytes: u64,
    /// The seed of the run; it also draws when the transfer begins.
    pub seed: Seed,
}

/// The result of a transfer.
#[derive(Clone, Debug)]
pub struct Transferred {
    /// Bytes that arrived, in order and right.
    pub bytes: u64,
    /// From the first data to the last, as the receiver saw them.
    pub seconds: f64,
    /// The packets at the sender's device.
    pub sequence: Sequence,
    /// The operations of the sender's TCP.
    pub operations: Operations,
    /// The ledger of the packets in the direction of the data.
    pub ledger: LinkLedger,
}

impl Transferred {
    /// Throughput in KB/s, of 1000 bytes.
    pub fn throughput(&self) -> f64 {
        if self.seconds > 0.0 { self.bytes as f64 / 1e3 / self.seconds } else { 0.0 }
    }
}

impl Transfer {
    /// Simulates it, until everything has arrived or the scenario ends.
    ///
    /// # Errors
    /// If the scenario is wrong.
    pub fn run(&self) -> Result<Transferred, ExperimentError> {
        let mut simulation = self.build()?;
        simulation.network_mut().record(Recording { events: false, packets: true });
        let near = simulation.network().interfaces().next();
        let mut packets = Vec::new();
        let mut timeouts = Vec::new();
        let mut now = Instant::START;
        while report(&simulation, "received_bytes") < self.bytes as f64 && now < simulation.end() {
            now = now.saturating_add(INTERVAL);
            // Only the observer can fail.
            let _ = simulation.run(now, &mut |event| {
                if let EventKind::Passage(passage) = &event.what
                    && Some(event.element) == near
                {
                    let data = passage.payload.to_bytes();
                    packets.push(CapturedPacket {
                        at: event.at,
                        seen: if passage.arrived { Seen::Arrived } else { Seen::Sent },
                        interface: 0,
                        tag: passage.tag,
                        link_type: LINKTYPE_RAW,
                        original: data.len() as u32,
                        data,
                        comment: String::new(),
                    });
                }
                Ok(())
            });
            timeouts.resize(operations(&simulation).timeouts as usize, now);
        }
        let ledger = near.map(|near| simulation.network().ledger(near).clone());
        Ok(Transferred {
            bytes: report(&simulation, "received_bytes") as u64,
            seconds: report(&simulation, "seconds"),
            sequence: Sequence::of_packets(&packets, &timeouts),
            operations: operations(&simulation),
            ledger: ledger.unwrap_or_default(),
        })
    }

    fn build(&self) -> Result<Simulation, ExperimentError> {
        let figure = self.figure;
        let failed = |error: &dyn std::error::Error| ExperimentError::Scenario {
            figure,
            message: error.to_string(),
        };
        let mut scenario = scenario::with(figure, self.scenario, &self.uplink, None)?;
        self.set_up(&mut scenario)?;
        let no_files = &mut |name: &str| {
            Err(std::io::Error::other(format!("the scenario must not name files: {name}")))
        };
        let place = (figure, self.scenario);
        let topology = scenario.topology(0, place, no_files).map_err(|error| failed(&error))?;
        Simulation::new(&topology, self.seed).map_err(|error| failed(&error))
    }

    /// Tells both hosts how their TCP behaves, and the application how much it sends, and when.
    fn set_up(&self, scenario: &mut Scenario) -> Result<(), ExperimentError> {
        let figure = self.figure;
        let settings: TcpSettings = self
            .tcp
            .parse()
            .map_err(|error| ExperimentError::Scenario { figure, message: format!("{error}") })?;
        for station in &mut scenario.stations {
            station.tcp = Some(without_span(settings.clone()));
        }
        let start = Stream::new(self.seed, "start of the transfer").below(STARTS);
        for app in &mut scenario.apps {
            app.bytes = Some(without_span(ByteCount(self.bytes)));
            app.start = Some(without_span(Duration::from_millis(start)));
        }
        Ok(())
    }
}

/// Returns the last value that an application reports under a name.
fn report(simulation: &Simulation, name: &str) -> f64 {
    let stations = (0..2).filter_map(|number| simulation.network().station(number));
    let now = simulation.now();
    let reports = stations.flat_map(|station| station.reports(now).flatten().collect::<Vec<_>>());
    reports.rev().find(|(other, _)| *other == name).map_or(0.0, |(_, it)| it.number())
}

/// Returns the operations of the sender's TCP so far.
fn operations(simulation: &Simulation) -> Operations {
    let near = simulation.network().station(0);
    near.and_then(|near| near.connections().next().map(|c| *c.operations())).unwrap_or_default()
}
