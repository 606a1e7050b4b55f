//! The twin test: one scenario in simulated time, and through the loop of real time with a faked
//! clock and faked devices, gives the same timeline.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;

use windfall_base::{Duration, Frame, Input, Instant, Node, Payload, Port, RxVector, Seed};
use windfall_live::{Clock, Device, EventLoop};
use windfall_network::{EventKind, HostSetup, Network, NetworkEvent, Recording, SimulatedStation};
use windfall_scenario::Topology;
use windfall_scenario::sim::Simulation;
use windfall_testkit::timeline::Timeline;
use windfall_tests::run::{pair, topology};

const RECORDING: Recording = Recording { events: true, packets: false };
const SEED: Seed = Seed(11);

/// The stations behind the devices, in faked time.
struct World {
    now: Instant,
    stations: Vec<SimulatedStation>,
    /// The station and its port behind each port of the network.
    behind: Vec<(usize, Port)>,
    /// Packets that wait at each device to be read.
    waiting: Vec<VecDeque<Payload>>,
}

impl World {
    fn new(topology: &Topology) -> Self {
        let hosts = topology.with_hosts();
        let build = |setup: &HostSetup, name: &str| setup.build(SEED, name);
        let stations = hosts.stations.iter();
        let stations = stations.filter_map(|s| Some(build(s.host.as_ref()?, &s.name))).collect();
        let mut behind = Vec::new();
        let mut interfaces = vec![0; hosts.stations.len()];
        for end in hosts.links.iter().flat_map(|link| &link.ends) {
            behind.push((end.station, Port(interfaces[end.station])));
            interfaces[end.station] += 1;
        }
        let waiting = behind.iter().map(|_| VecDeque::new()).collect();
        let mut world = Self { now: Instant::START, stations, behind, waiting };
        // Applications may have begun when they were built.
        (0..world.stations.len()).for_each(|station| world.drain(station));
        world
    }

    fn drain(&mut self, station: usize) {
        while let Some((port, outgoing)) = self.stations[station].poll_transmit(self.now) {
            let device = self.behind.iter().position(|b| *b == (station, port));
            if let Some(device) = device {
                self.waiting[device].push_back(outgoing.frame.payload);
            }
        }
    }

    fn next(&self) -> Option<(Instant, usize)> {
        let timeouts = self.stations.iter().enumerate();
        timeouts.filter_map(|(i, s)| Some((s.poll_timeout()?.0, i))).min()
    }

    fn ready(&self, ready: &mut Vec<Port>) {
        let waiting = (0..).map(Port).zip(&self.waiting);
        ready.extend(waiting.filter(|(_, queue)| !queue.is_empty()).map(|(port, _)| port));
    }
}

struct FakeClock(Rc<RefCell<World>>);

impl Clock for FakeClock {
    fn now(&mut self) -> Instant {
        self.0.borrow().now
    }

    fn wait(&mut self, deadline: Option<Instant>, ready: &mut Vec<Port>) -> io::Result<()> {
        let mut world = self.0.borrow_mut();
        world.ready(ready);
        if !ready.is_empty() {
            return Ok(());
        }
        let next = world.next();
        let at = deadline.into_iter().chain(next.map(|(at, _)| at)).min();
        world.now = at.unwrap_or(world.now).max(world.now);
        // What is due in the network happens before what is due at the devices.
        if let Some((at, station)) = next
            && deadline.is_none_or(|deadline| at < deadline)
        {
            let now = world.now;
            assert!(at <= now);
            world.stations[station].handle_timeout(now);
            world.drain(station);
            world.ready(ready);
        }
        Ok(())
    }
}

struct FakeDevice {
    world: Rc<RefCell<World>>,
    number: usize,
}

impl Device for FakeDevice {
    fn receive(&mut self, packets: &mut Vec<Payload>) -> io::Result<()> {
        packets.extend(self.world.borrow_mut().waiting[self.number].drain(..));
        Ok(())
    }

    fn send(&mut self, frame: Frame) -> io::Result<()> {
        let world = &mut *self.world.borrow_mut();
        let (station, port) = world.behind[self.number];
        let input = Input::Frame(frame, RxVector::wired(world.now));
        world.stations[station].handle_input(world.now, port, input);
        world.drain(station);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The events of the links, in order of time and element, and the applications' measurements.
fn timeline<'a>(
    mut events: Vec<NetworkEvent>,
    stations: impl Iterator<Item = &'a SimulatedStation>,
) -> String {
    events.retain(|event| !matches!(event.what, EventKind::Host(_)));
    events.sort_by_key(|event| (event.at, event.element));
    let mut timeline = Timeline::new();
    for event in &events {
        timeline.note(event.at, format_args!("{} {:?}", event.element.0, event.what));
    }
    let reports: Vec<_> =
        stations.map(|station| station.reports(Instant::START).collect::<Vec<_>>()).collect();
    format!("{}{reports:?}\n", timeline.as_str())
}

fn simulated(topology: &Topology) -> String {
    let mut simulation = Simulation::new(topology, SEED).expect("a legal topology");
    simulation.network_mut().record(RECORDING);
    let mut events = Vec::new();
    let mut note = |event: &NetworkEvent| {
        events.push(event.clone());
        Ok(())
    };
    simulation.run(simulation.end(), &mut note).expect("noting cannot fail");
    let network = simulation.network();
    timeline(events, (0..topology.stations.len()).filter_map(|i| network.station(i)))
}

fn live(topology: &Topology) -> String {
    let mut network = Network::build(&topology.network, SEED).expect("a legal topology");
    network.record(RECORDING);
    let world = Rc::new(RefCell::new(World::new(topology)));
    let count = world.borrow().behind.len();
    let device = |number| FakeDevice { world: Rc::clone(&world), number };
    let clock = FakeClock(Rc::clone(&world));
    let mut driver = EventLoop::new(network, clock, (0..count).map(device).collect());
    let end = Instant::START + topology.duration + Duration::from_nanos(1);
    let mut events = Vec::new();
    while world.borrow().now < end {
        driver.turn_until(Some(end)).expect("fakes never fail");
        while let Some(event) = driver.node_mut().poll_event() {
            events.push(event);
        }
    }
    timeline(events, world.borrow().stations.iter())
}

/// Traffic in both directions that ends a second before the run does.
const TRAFFIC: &str = "\
    [[app]]\nkind = \"ping\"\nstation = \"near\"\nto = \"far\"\ninterval = 50\nstop = \"1s\"\n\
    [[app]]\nkind = \"spray\"\nstation = \"near\"\nto = \"far\"\nstop = \"500ms\"\n\
    [[app]]\nkind = \"cbr\"\nstation = \"far\"\nto = \"near\"\nrate = \"100kbps\"\nstop = \"1s\"\n";

/// Messages of SAP, in both modes and both directions.
const MESSAGES: &str = "\
    [[app]]\nkind = \"sap-stream\"\nstation = \"near\"\nto = \"far\"\nstop = \"1s\"\n\
    interval = 10\n\
    [[app]]\nkind = \"sap-bulk\"\nstation = \"far\"\nto = \"near\"\nbytes = \"20kB\"\nport = 9001\n\
    repeat = 2\n";

fn compare(link: &str) {
    compare_all(link, TRAFFIC);
}

fn compare_all(link: &str, traffic: &str) {
    let topology = topology(&pair(2, link, traffic));
    let simulated = simulated(&topology);
    let live = live(&topology);
    assert!(simulated.lines().count() > 100, "hardly anything happened");
    let different = simulated.lines().zip(live.lines()).find(|(a, b)| a != b);
    assert!(different.is_none(), "simulated, then live:\n{different:#?}");
    assert_eq!(simulated.lines().count(), live.lines().count());
}

#[test]
fn a_pipe_with_rate_delay_and_queue() {
    compare("rate = \"2Mbps\"\ndelay = \"7ms\"\nqueue = 20");
}

#[test]
fn a_pipe_without_a_rate() {
    compare("delay = \"1ms\"\nloss = \"5%\"");
}

#[test]
fn a_pipe_with_bit_errors() {
    compare("rate = \"2Mbps\"\ndelay = \"7ms\"\nber = 1e-4\naccept-damaged = true");
}

#[test]
fn a_pipe_with_bit_errors_and_repetition() {
    compare("rate = \"2Mbps\"\ndelay = \"7ms\"\nber = 1e-4\narq = \"persistent\"");
    compare("rate = \"2Mbps\"\nuplink.ber = 1e-4\ndownlink.loss = \"10%\"\narq = 2");
}

#[test]
fn a_pipe_that_combines_copies_and_one_with_a_code_across_packets() {
    compare("rate = \"2Mbps\"\ndelay = \"7ms\"\nber = 1e-4\narq = \"persistent\"\ncombine = true");
    compare("rate = \"2Mbps\"\ndelay = \"7ms\"\nber = 1e-3\narq = \"9\"\nincrements = true");
    let errors = "rate = \"2Mbps\"\ndelay = \"7ms\"\nber = 3e-5\nloss = \"5%\"";
    for code in ["4/6", "window:16:25%:30ms"] {
        compare(&format!("{errors}\nfec = \"{code}\""));
    }
}

#[test]
fn messages_over_a_pipe_with_bit_errors_and_over_a_radio() {
    let pipe = "rate = \"2Mbps\"\ndelay = \"7ms\"\nber = 2e-5\naccept-damaged = true";
    compare_all(pipe, MESSAGES);
    compare_all("kind = \"wavelan\"\nber = 2e-5\naccept-damaged = true", MESSAGES);
}

#[test]
fn a_radio_with_bursts_of_loss() {
    compare("kind = \"wavelan\"\nber = 2e-5\nuplink.burst = \"5/25\"");
}

#[test]
fn a_network_of_three_links() {
    let station =
        |name: &str, forward| format!("[[station]]\nname = \"{name}\"\nforward = {forward}\n");
    let link =
        |a: &str, b: &str, more: &str| format!("[[link]]\nstations = [\"{a}\", \"{b}\"]\n{more}\n");
    let text = [
        "format = 1\nduration = \"2s\"\n".to_owned(),
        station("near", false),
        station("middle", true),
        station("other", true),
        station("far", false),
        link("near", "middle", "rate = \"5Mbps\"\nloss = \"2%\""),
        link("middle", "other", "kind = \"wavelan\"\nber = 1e-5"),
        link("other", "far", "rate = \"1Mbps\"\ndelay = \"20ms\"\nmtu = 576"),
        TRAFFIC.to_owned(),
    ];
    let topology = topology(&text.concat());
    let simulated = simulated(&topology);
    let live = live(&topology);
    let different = simulated.lines().zip(live.lines()).find(|(a, b)| a != b);
    assert!(different.is_none(), "simulated, then live:\n{different:#?}");
    let delivered = |line: &str| line.contains(" 5 Packet(") && line.contains("Delivered");
    assert!(simulated.lines().any(delivered), "nothing reached the far end");
}
