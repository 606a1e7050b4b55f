//! What to build: stations, their devices and addresses, and the programs in them.

use std::ffi::OsString;
use std::fs::File;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

pub use crate::kernel_counters::account::DeviceKind;
use windfall_ip::RouteMetric;
use windfall_netlink::RealInterface;
use windfall_network::addresses::engine_beside;

/// A network of stations, each a namespace of its own.
#[derive(Clone, Debug, Default)]
pub struct LivePlan {
    /// The stations, in order.
    pub stations: Vec<LiveStationPlan>,
    /// The order of the network's ports: station and device of each.
    pub ports: Vec<(usize, usize)>,
    /// The station and the device behind which the NAT gateway is; programs then resolve names by
    /// its resolver.
    pub nat: Option<(usize, usize)>,
    /// Programs stay root where sudo names another user.
    pub as_root: bool,
    /// The folder where the stations' network namespaces have their names, for programs outside.
    pub names: Option<PathBuf>,
    /// Interfaces of the caller that stations have while the run lasts, by the stations' numbers.
    pub interfaces: Vec<(usize, RealInterface)>,
    /// Ports on which a station must listen before the command starts.
    pub awaited: Vec<(usize, u16)>,
    /// Ports at which the run itself listens in a station, before any program starts there.
    pub listening: Vec<Listening>,
    /// The abstract name of a socket at which the run listens in every station that is its own.
    pub entry_socket: Option<String>,
}

/// A port at which the run itself listens in a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listening {
    /// The number of the station.
    pub station: usize,
    /// The number of the port.
    pub port: u16,
    /// It is a port of UDP, which is taken; if not, one of TCP.
    pub is_udp: bool,
}

impl LivePlan {
    /// The number of the station called `name`.
    #[must_use]
    pub fn station(&self, name: &str) -> Option<usize> {
        self.stations.iter().position(|station| station.name == name)
    }
}

/// Returns the variables of programs that find another station at `address`: that address, and that
/// of the TCP engine which may run there.
#[must_use]
pub fn neighbour_variables(address: Option<IpAddr>) -> Vec<(OsString, OsString)> {
    let base = ("WINDFALL_BASE".into(), address.map(variable_text).unwrap_or_default());
    let engine = address.and_then(engine_beside).map(variable_text);
    [base].into_iter().chain(engine.map(|engine| ("WINDFALL_ENGINE".into(), engine))).collect()
}

/// Returns an address as the value of a variable.
fn variable_text(address: IpAddr) -> OsString {
    OsString::from(address.to_string())
}

/// The plan of one station.
#[derive(Clone, Debug, Default)]
pub struct LiveStationPlan {
    /// The name of the station.
    pub name: String,
    /// Its devices, beside the loopback.
    pub devices: Vec<DevicePlan>,
    /// The routes for packets that no device's own prefix covers.
    pub routes: Vec<RoutePlan>,
    /// The station forwards packets between its devices.
    pub forwards: bool,
    /// The address of its neighbour, the first other station on its first link.
    pub neighbour: Option<IpAddr>,
    /// Kernel parameters, as keys with dots and values, set before the devices come up.
    pub parameters: Vec<(String, String)>,
    /// The namespace of other programs that it is, with parameters of their own.
    pub namespace: Option<Arc<File>>,
    /// Metrics of its routes, those to the networks of its links among them.
    pub metrics: Vec<RouteMetric>,
}

/// One device of a station.
#[derive(Clone, Debug)]
pub struct DevicePlan {
    /// Its name, 15 letters at most.
    pub name: String,
    /// The longest packet, in bytes.
    pub mtu: u32,
    /// Its addresses with the lengths of their prefixes.
    pub addresses: Vec<(IpAddr, u8)>,
}

/// One route of a station.
#[derive(Clone, Debug)]
pub struct RoutePlan {
    /// The prefix that it covers.
    pub destination: IpAddr,
    /// The length of the prefix, in bits.
    pub prefix: u8,
    /// The next station, if the destination is not on the link itself.
    pub gateway: Option<IpAddr>,
    /// Which of the station's devices to use.
    pub device: usize,
}

/// A program to run in a station.
#[derive(Clone, Debug)]
pub struct Program {
    /// In which station.
    pub station: usize,
    /// The program and its arguments.
    pub arguments: Vec<OsString>,
    /// Variables beside those of the caller.
    pub environment: Vec<(OsString, OsString)>,
    /// An interactive shell, which gets the terminal for itself.
    pub interactive: bool,
    /// The destination of its standard output and its standard error.
    pub output: ProgramOutput,
}

/// The destination of the standard output and the standard error of a program.
#[derive(Clone, Debug, Default)]
pub enum ProgramOutput {
    /// To those of the run.
    #[default]
    Inherit,
    /// Both to the standard error of the run, each line with this prefix.
    Prefixed(String),
    /// Both to an open file.
    File(Arc<File>),
}
