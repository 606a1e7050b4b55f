//! The link from the drone to the pilot, in simulated time and without hosts.

use windfall_base::{Frame, Input, Instant, Node as _, Port, RxVector, Seed};
use windfall_network::Network;
use windfall_scenario::Scenario;

use super::scheme::Scheme;
use crate::experiment::ExperimentError;

/// The station at each device.
const DRONE: Port = Port(0);
const PILOT: Port = Port(1);

/// The packets as the link carried them.
pub(super) struct Carried {
    /// The packets that arrived, with their times.
    pub(super) arrivals: Vec<(Instant, Vec<u8>)>,
    /// Frames that the drone sent.
    pub(super) frames: u64,
    /// The share of the time for which the drone sent.
    pub(super) busy: f64,
}

/// Returns the scenario of a scheme at a distance in metres.
fn scenario(scheme: &Scheme, metres: f64) -> String {
    let Scheme { link, flow, takes_damaged, .. } = scheme;
    format!(
        r#"
        format = 1
        [[station]]
        name = "drone"
        [[station]]
        name = "pilot"
        [[link]]
        stations = ["drone", "pilot"]
        kind = "wifi-g"
        rate = "24Mbps"
        queue = "fifo,200"
        accept-damaged = {takes_damaged}
        {link}
        [link.radio]
        distance = "{metres}m"
        path-loss = "free-space"
        fading = "rician 6 20"
        [[flow]]
        name = "video"
        dst-port = 5004
        lifetime = "100ms"
        {flow}
        "#
    )
}

/// Carries packets, each from its time on, until nothing is under way.
pub(super) fn carry(
    figure: &'static str,
    scheme: &Scheme,
    metres: f64,
    packets: &[(Instant, Vec<u8>)],
    seed: Seed,
) -> Result<Carried, ExperimentError> {
    let text = scenario(scheme, metres);
    let failed = |message: String| ExperimentError::Scenario { figure, message };
    let scenario = Scenario::parse(figure, &text).map_err(|error| failed(error.to_string()))?;
    let no_files = &mut |name: &str| Err(std::io::Error::other(format!("it names {name}")));
    let topology = scenario.topology(0, (figure, &text), no_files);
    let topology = topology.map_err(|error| failed(error.to_string()))?;
    let network = Network::build(&topology.network, seed);
    let mut network = network.map_err(|error| failed(error.to_string()))?;
    let mut arrivals = Vec::new();
    let mut waiting = packets.iter().peekable();
    let mut now = Instant::START;
    loop {
        while let Some((_, packet)) = waiting.next_if(|(at, _)| *at <= now) {
            let frame = Frame::packet(packet.clone());
            network.handle_input(now, DRONE, Input::Frame(frame, RxVector::wired(now)));
        }
        network.handle_timeout(now);
        while let Some((port, outgoing)) = network.poll_transmit(now) {
            if port == PILOT {
                arrivals.push((now, outgoing.frame.to_vec()));
            }
        }
        let next = waiting.peek().map(|(at, _)| *at);
        let Some(due) = next.into_iter().chain(network.next_event()).min() else { break };
        now = due.max(now);
    }
    let drone = network.interface_at(DRONE).ok_or_else(|| failed("no device".to_owned()))?;
    let ledger = network.ledger(drone);
    let busy = ledger.busy.as_secs_f64() / now.saturating_since(Instant::START).as_secs_f64();
    Ok(Carried { arrivals, frames: ledger.packets.frames, busy })
}
