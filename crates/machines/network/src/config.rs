//! The configuration of a network: stations, and the links between them.

use core::net::SocketAddr;

use windfall_apps::{
    Bulk, BulkConfig, BulkSink, BulkSinkConfig, Cbr, Ping, PingConfig, SapSender, SapSenderConfig,
    SapSink, SapSinkConfig, SenderConfig, Sink, SinkConfig, Spray,
};
use windfall_base::{Seed, Stream};
use windfall_channel::MediumConfig;
use windfall_stack::socket_api::Application;
use windfall_stack::{HostConfig, InterfaceConfig, LinkLayerConfig};

use crate::station::SimulatedStation;

/// Stations and links.
#[derive(Clone, Debug, Default)]
pub struct NetworkConfig {
    /// The stations of the network.
    pub stations: Vec<StationConfig>,
    /// The links between them.
    pub links: Vec<LinkConfig>,
}

/// The configuration of one station.
#[derive(Clone, Debug)]
pub struct StationConfig {
    /// The name of the station.
    pub name: String,
    /// The host; `None` if the station's devices are ports of the network.
    pub host: Option<HostSetup>,
}

/// A host and the applications on it.
#[derive(Clone, Debug)]
pub struct HostSetup {
    /// The configuration of its host.
    pub host: HostConfig,
    /// The applications, in the order of their numbers.
    pub apps: Vec<AppConfig>,
}

/// The configuration of an application.
#[derive(Clone, Debug)]
pub enum AppConfig {
    /// Sends echo requests.
    Ping(PingConfig),
    /// Sends datagrams as fast as the link accepts them.
    Spray(SenderConfig),
    /// Sends datagrams at a constant rate.
    Cbr(SenderConfig),
    /// Receives the datagrams of senders.
    Sink(SinkConfig),
    /// Sends a stream as fast as TCP accepts it.
    Bulk(BulkConfig),
    /// Receives the streams of TCP connections.
    BulkSink(BulkSinkConfig),
    /// Sends messages as fast as SAP accepts them.
    SapBulk(SapSenderConfig),
    /// Sends SAP messages at given times.
    SapStream(SapSenderConfig),
    /// Receives the messages of SAP sessions.
    SapSink(SapSinkConfig),
}

impl AppConfig {
    /// Returns the application's name in scenarios.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Ping(_) => "ping",
            Self::Spray(_) => "spray",
            Self::Cbr(_) => "cbr",
            Self::Sink(_) => "sink",
            Self::Bulk(_) => "bulk",
            Self::BulkSink(_) => "bulk-sink",
            Self::SapBulk(_) => "sap-bulk",
            Self::SapStream(_) => "sap-stream",
            Self::SapSink(_) => "sap-sink",
        }
    }

    /// Returns its destination as `to ADDRESS port NUMBER`, or the port at which it listens.
    #[must_use]
    pub fn endpoint(&self) -> String {
        match self {
            Self::Ping(config) => format!("to {}", config.to),
            Self::Spray(config) | Self::Cbr(config) => destination(config.to),
            Self::Bulk(config) => destination(config.to),
            Self::Sink(config) => format!("port {}", config.local.port()),
            Self::BulkSink(config) => format!("port {}", config.local.port()),
            Self::SapBulk(config) | Self::SapStream(config) => destination(config.to),
            Self::SapSink(config) => format!("port {}", config.local.port()),
        }
    }

    /// Builds the application in a run with `seed`; sender and receiver of a flow need the same
    /// seed.
    fn build(&self, seed: Seed) -> Box<dyn Application> {
        match self {
            Self::Ping(config) => Box::new(Ping::new(*config, seed)),
            Self::Spray(config) => Box::new(Spray::new(*config, seed)),
            Self::Cbr(config) => Box::new(Cbr::new(*config, seed)),
            Self::Sink(config) => Box::new(Sink::new(*config, seed)),
            Self::Bulk(config) => Box::new(Bulk::new(*config, seed)),
            Self::BulkSink(config) => Box::new(BulkSink::new(*config, seed)),
            Self::SapBulk(config) | Self::SapStream(config) => {
                Box::new(SapSender::new(config.clone(), seed))
            }
            Self::SapSink(config) => Box::new(SapSink::new(config.clone(), seed)),
        }
    }
}

fn destination(to: SocketAddr) -> String {
    format!("to {} port {}", to.ip(), to.port())
}

impl HostSetup {
    /// Builds the station `name` of a run with `seed`.
    #[must_use]
    pub fn build(&self, seed: Seed, name: &str) -> SimulatedStation {
        let apps = self.apps.iter().map(|app| app.build(seed)).collect();
        // Hosts draw from random streams with fixed names, so each host gets its own seed.
        let own = Seed(Stream::new(seed, name).bits());
        SimulatedStation::new(self.host.clone(), apps, own)
    }
}

/// One link: a medium and the interfaces on it.
#[derive(Clone, Debug)]
pub struct LinkConfig {
    /// The name; the behaviour of the medium depends on it and on the seed.
    pub name: String,
    /// The medium that carries the frames.
    pub medium: MediumConfig,
    /// The interfaces, in the order of the medium's ports.
    pub ends: Vec<EndConfig>,
}

/// One end of a link: an interface of a station.
#[derive(Clone, Debug)]
pub struct EndConfig {
    /// The index of the station in [`NetworkConfig::stations`].
    pub station: usize,
    /// The configuration of its interface.
    pub interface: InterfaceConfig,
}

impl LinkConfig {
    /// Checks that stations of 802.11 which exchange frames agree on whether these are coded. They
    /// need not agree on the code, which each frame names, nor on combining, since a sender obeys
    /// the reports of its receiver.
    pub(crate) fn check_coding(&self, stations: &[StationConfig]) -> Result<(), BuildError> {
        let wifi_ends = || {
            self.ends.iter().filter_map(|end| match &end.interface.link {
                LinkLayerConfig::Wifi(wifi) => Some((end.station, wifi)),
                _ => None,
            })
        };
        for (coded, own) in wifi_ends().filter(|(_, wifi)| wifi.mac.coding.is_some()) {
            let unlike = wifi_ends().find(|(_, other)| {
                other.mac.coding.is_none() && (own.sends_to(other) || other.sends_to(own))
            });
            if let Some((uncoded, _)) = unlike {
                return Err(BuildError::UnlikeCoding {
                    link: self.name.clone(),
                    coded: stations[coded].name.clone(),
                    uncoded: stations[uncoded].name.clone(),
                });
            }
        }
        Ok(())
    }
}

/// A fault of the configuration, for which a network cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A link names a station that does not exist.
    #[error("link \"{link}\" ends at station {station}, and there are {stations}")]
    NoStation {
        /// The name of the link.
        link: String,
        /// The station's number.
        station: usize,
        /// The number of stations.
        stations: usize,
    },
    /// The number of a link's ends differs from the number of its medium's ports.
    #[error("link \"{link}\" has {ends} ends, and its medium {ports} ports")]
    Ends {
        /// The name of the link.
        link: String,
        /// The number of its ends.
        ends: usize,
        /// The number of the medium's ports.
        ports: u16,
    },
    /// Of two neighbours on an 802.11 link only one codes frames, so neither reads the other's.
    #[error(
        "on link \"{link}\" station \"{coded}\" codes its frames, and its neighbour \"{uncoded}\" \
         does not: set the coding of both, or of neither"
    )]
    UnlikeCoding {
        /// The name of the link.
        link: String,
        /// The name of the station that codes frames.
        coded: String,
        /// The name of the station that does not.
        uncoded: String,
    },
    /// There are more devices than port numbers.
    #[error("{devices} devices are too many: at most 65536 can be numbered")]
    TooManyDevices {
        /// The number of devices.
        devices: usize,
    },
}
