//! Stations of 802.11 that always have something to send, around one ideal air.

use windfall_base::{Duration, Frame, Input, Instant, Node, Port, Rate, RxVector, Seed};
use windfall_channel::radio::{Errors, PathLoss, Position, RadioConfig, RadioStation, Thresholds};
use windfall_channel::{MediumConfig, WavelanMediumConfig};
use windfall_mac::wifi::Config;
use windfall_network::{EndConfig, LinkConfig, Network, NetworkConfig, StationConfig};
use windfall_queue::Limits;
use windfall_stack::{self as stack, InterfaceConfig, Neighbour, WifiConfig};
use windfall_wire_link::ieee80211::{MacAddress, Phy};

/// Packets that wait at every sender.
const WAITING: usize = 64;
/// The interval at which the queues are filled up; no sender empties its queue in that time.
const REFILL: Duration = Duration::from_millis(5);
/// Bytes of IPv4 and UDP before the payload.
const HEADERS: usize = 28;

/// A receiver and senders that all hear each other.
#[derive(Debug)]
pub struct Cell {
    network: Network,
    senders: usize,
    payload: usize,
    now: Instant,
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Goodput {
    /// Bits of payload that arrived from each sender, per second.
    pub senders: Vec<f64>,
    /// Data frames sent.
    pub frames: u64,
    /// Of these, repetitions.
    pub repeated: u64,
}

impl Goodput {
    /// Of all senders together, in Mb/s.
    #[must_use]
    pub fn total_mbps(&self) -> f64 {
        self.senders.iter().sum::<f64>() / 1e6
    }

    /// Jain's index: 1 if all senders get the same, 1/n if one gets all.
    #[must_use]
    pub fn fairness(&self) -> f64 {
        let sum: f64 = self.senders.iter().sum();
        let squares: f64 = self.senders.iter().map(|x| x * x).sum();
        sum * sum / (self.senders.len() as f64 * squares)
    }
}

impl Cell {
    /// A receiver and `senders` stations, each told what `change` says.
    ///
    /// # Panics
    /// If no such station can be.
    #[must_use]
    pub fn new(
        phy: Phy,
        senders: u16,
        payload: usize,
        seed: u64,
        change: impl Fn(&mut Config),
    ) -> Self {
        let rate = Rate::from_mbps(1).expect("one is not zero");
        let medium = MediumConfig::Wavelan(WavelanMediumConfig::new(senders + 1, rate));
        Self::over(medium, phy, payload, seed, change)
    }

    /// One sender whose signal loses `path_loss` decibels on the way, in noise, where formulas
    /// say whether a frame arrives and every frame is tried.
    ///
    /// # Panics
    /// If no such station can be.
    #[must_use]
    pub fn noisy(path_loss: f64, payload: usize, seed: u64, change: impl Fn(&mut Config)) -> Self {
        let station = |place| RadioStation {
            address: Some(MacAddress::of_station(place)),
            ..RadioStation::at(Position::new(f64::from(place), 0.0))
        };
        let medium = RadioConfig {
            path_loss: PathLoss::Fixed(path_loss),
            thresholds: Thresholds::none(),
            errors: Errors::Formula,
            ..RadioConfig::new(vec![station(0), station(1)])
        };
        Self::over(MediumConfig::Wifi(Box::new(medium)), Phy::G, payload, seed, change)
    }

    fn over(
        medium: MediumConfig,
        phy: Phy,
        payload: usize,
        seed: u64,
        change: impl Fn(&mut Config),
    ) -> Self {
        let senders = medium.ports() - 1;
        let end = |place: u16| {
            let mut mac = Config::new(MacAddress::of_station(place), phy);
            change(&mut mac);
            mac.check().expect("the station can be");
            let to = u16::from(place == 0);
            let receiver = Neighbour { address: MacAddress::of_station(to), behind: Vec::new() };
            let neighbours = [receiver].into();
            let queue = Limits { packets: WAITING, ..Limits::default() };
            let link = stack::LinkLayerConfig::Wifi(WifiConfig { mac, neighbours });
            let interface = InterfaceConfig { mtu: 2_304, queue, link, ..Default::default() };
            EndConfig { station: usize::from(place), interface }
        };
        let station = |place: u16| StationConfig { name: place.to_string(), host: None };
        let config = NetworkConfig {
            stations: (0..=senders).map(station).collect(),
            links: vec![LinkConfig {
                name: "cell".to_owned(),
                medium,
                ends: (0..=senders).map(end).collect(),
            }],
        };
        let network = Network::build(&config, Seed(seed)).expect("the network can be");
        Self { network, senders: usize::from(senders), payload, now: Instant::START }
    }

    /// Counts the arrivals in `span` after a tenth of it.
    #[must_use]
    pub fn run(&mut self, span: Duration) -> Goodput {
        self.run_until(self.now + span / 10);
        let before = self.delivered();
        let [frames, repeated] = self.frames();
        self.run_until(self.now + span);
        let bits = |(after, before): (&u64, &u64)| {
            (after - before) as f64 * self.payload as f64 * 8.0 / span.as_secs_f64()
        };
        Goodput {
            senders: self.delivered().iter().zip(&before).map(bits).collect(),
            frames: self.frames()[0] - frames,
            repeated: self.frames()[1] - repeated,
        }
    }

    fn delivered(&self) -> Vec<u64> {
        let interfaces = self.network.interfaces().skip(1);
        interfaces.map(|interface| self.network.ledger(interface).delivered).collect()
    }

    /// Data frames of all stations, and the repetitions among them.
    fn frames(&self) -> [u64; 2] {
        let ledgers = self.network.interfaces().map(|interface| self.network.ledger(interface));
        ledgers.fold([0, 0], |[frames, repeated], ledger| {
            [frames + ledger.packets.frames, repeated + ledger.packets.retransmissions]
        })
    }

    fn run_until(&mut self, until: Instant) {
        let mut refill = self.now;
        while self.now < until {
            if self.now >= refill {
                self.fill();
                refill = self.now + REFILL;
            }
            let next = self.network.poll_timeout().map_or(refill, |(at, _)| at.min(refill));
            self.now = next;
            self.network.handle_timeout(next);
            while self.network.poll_transmit(next).is_some() {}
        }
    }

    fn fill(&mut self) {
        let packet = vec![0; HEADERS + self.payload];
        for sender in 1..=self.senders {
            let port = Port(sender as u16);
            let interface = self.network.interface_at(port).expect("every station has a device");
            for _ in self.network.queue_len(interface).0..WAITING {
                let frame = Frame::packet(packet.clone());
                let input = Input::Frame(frame, RxVector::wired(self.now));
                self.network.handle_input(self.now, port, input);
                while self.network.poll_transmit(self.now).is_some() {}
            }
        }
    }
}
