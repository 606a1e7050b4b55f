//! Ports of the host that lead into a run, ports of its stations that lead out, names and ends of
//! it outside: the options, and the helpers that carry the connections.

use std::path::PathBuf;

use windfall_live::{Attachment, Listening, LivePlan, Stations, end_with_this_process};
use windfall_output::summary::PortSummary;
use windfall_scenario::Topology;
use windfall_system::relay::{
    OpenPorts, PortCount, PortError, PortProtocol, PortTotals, Published, Reached, RelayHelpers,
    SocketKind,
};

use crate::exit::{CliError, Completion, Result};

/// Options for what leads into a run and out of it.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Stations")]
pub(crate) struct PortOptions {
    /// Forward a port of this machine to a port of a station: 8080:near:80. 8080:near:far:80 also
    /// crosses the link, from near to far. Append /udp for UDP, or prepend an address to listen on
    /// [default: 127.0.0.1]
    #[arg(long, value_name = "PORT:STATION:PORT", conflicts_with = "generate")]
    publish: Vec<Published>,
    /// Forward a port of a station to a port of this machine: far:80:8000. Append /udp for UDP
    #[arg(long, value_name = "STATION:PORT:PORT", conflicts_with = "generate")]
    reach: Vec<Reached>,
    /// Folder for the names of the stations' network namespaces. /run/netns serves `ip netns exec`.
    /// Needs root
    #[arg(long, value_name = "DIR", conflicts_with = "generate")]
    netns_dir: Option<PathBuf>,
    /// Use a real interface, far:eth1, or the network namespace of a process, far:1234, as an end
    /// of the link. The station is far for `run`. Needs root
    #[arg(long, value_name = "STATION:IFACE|PID", conflicts_with = "generate")]
    attach: Vec<Attachment>,
}

impl PortOptions {
    /// Adds to a plan what its stations are outside; what is attached without a name of a station
    /// is at `default`.
    pub(crate) fn add_to(&self, plan: &mut LivePlan, default: Option<&str>) -> Result<()> {
        plan.names.clone_from(&self.netns_dir);
        Ok(plan.attach(&self.attach, default)?)
    }

    /// Takes the ports of this machine, before anything runs, and plans those of stations.
    pub(crate) fn open(&self, topology: &Topology, plan: &mut LivePlan) -> Result<OpenPorts> {
        let stations = topology.stations.iter().filter(|it| !it.simulated).map(|station| {
            let addresses = station.interfaces.iter().flat_map(|interface| &interface.addresses);
            let addresses = addresses.map(|it| it.address).filter(std::net::IpAddr::is_ipv4);
            (station.name.clone(), addresses.map(|it| it.to_string()).collect())
        });
        let stations: Vec<_> = stations.collect();
        let names: Vec<_> = topology.stations.iter().map(|it| it.name.as_str()).collect();
        let open = OpenPorts::open(&self.publish, &self.reach, &stations, &names);
        let open = open.map_err(|error| match error {
            PortError::Station(text) | PortError::Host(text) => CliError::usage(text),
            PortError::Taken(text) => CliError::new(text),
        })?;
        for (station, port, protocol) in open.wanted() {
            let is_udp = protocol == PortProtocol::Udp;
            let listening = |station| Listening { station, port, is_udp };
            plan.listening.extend(plan.station(station).map(listening));
        }
        Ok(open)
    }
}

/// Starts the helpers that carry the connections of a run.
pub(crate) fn serve(ports: OpenPorts, stations: &mut Stations) -> Result<RelayHelpers> {
    let listeners = stations.take_listeners();
    ports.serve(listeners, |station, words| match station {
        Some(station) => Ok(stations.helper(station, words)?),
        None => {
            let mut command = std::process::Command::new(&words[0]);
            command.args(&words[1..]);
            end_with_this_process(&mut command);
            Ok(command)
        }
    })
}

/// Returns what the ports of a run carried and dropped.
pub(crate) fn totals(helpers: &RelayHelpers) -> Vec<PortSummary> {
    let summary = |PortTotals { port, station, mut counts }: PortTotals| {
        let clients = counts.remove(PortCount::Clients.name()).unwrap_or_default();
        PortSummary { port, station, clients, dropped: counts }
    };
    helpers.totals().into_iter().map(summary).collect()
}

/// Carry connections between this machine and a station; the standard input is a socket
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    side: Side,
}

#[derive(Debug, clap::Subcommand)]
enum Side {
    /// Carry connections of the standard input, which listens, to the first of these that answers
    Serve {
        /// Addresses with ports
        targets: Vec<String>,
    },
    /// Make a socket in this station, and hand it over the standard input
    Socket {
        /// One of listen, connect and udp
        kind: SocketKind,
        /// An address or a name, and a port
        address: String,
    },
}

pub(crate) fn run(args: &Args) -> Result {
    match &args.side {
        Side::Serve { targets } => {
            windfall_system::relay::serve(targets, windfall_socket::make_runtime)?;
        }
        Side::Socket { kind, address } => windfall_system::relay::hand_socket(*kind, address)
            .map_err(|error| CliError::new(format!("{address}: {error}")))?,
    }
    Ok(Completion::Success)
}
