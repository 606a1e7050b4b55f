//! Builds the stations: each a network namespace with devices, addresses and routes.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv6Addr, TcpListener, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;

use nix::sched::CloneFlags;
use windfall_ip::RouteMetric;
use windfall_netlink::{Netlink, VethEnd};

use crate::device::{StationDevice, packet, tun};
use crate::error::{ErrorContext, LiveError, Result};
use crate::hints;
use crate::metrics::of_kernel;
use crate::namespace;
use crate::plan::{DeviceKind, DevicePlan, LivePlan, LiveStationPlan, RoutePlan};
use crate::system;

/// The number of packets that the kernel keeps for a device. They wait in the queue of the link,
/// which has its limits from the scenario; here they wait only while this process does not run, and
/// a burst that comes then should fit in.
const DEVICE_QUEUE: u32 = 4_000;
/// The folder of the kernel's parameters.
const PARAMETERS: &str = "/proc/sys";
/// The number of checks, a millisecond apart, after which a station is taken to have its addresses.
const LOOKS: u32 = 5_000;
/// The number of parameters that an error lists at most.
const MOST_NAMES: usize = 12;

/// A station that was built.
#[derive(Debug)]
pub(crate) struct Station {
    /// Its network namespace.
    pub(crate) namespace: OwnedFd,
    /// Our side of its devices.
    pub(crate) devices: Vec<OwnedFd>,
    /// The socket at which its programs ask for hints of damage.
    pub(crate) hints: OwnedFd,
    /// Other programs use it too.
    pub(crate) is_shared: bool,
}

/// Builds every station; the process ends up in the namespace in which it began, the hub.
pub(crate) fn build_all(plan: &LivePlan) -> Result<(Vec<Station>, DeviceKind)> {
    let hub = namespace::own("net")?;
    let kind = if tun::open().is_ok() { DeviceKind::Tun } else { DeviceKind::Packet };
    let mut stations = Vec::new();
    for (number, station) in plan.stations.iter().enumerate() {
        stations.push(build(number, station, kind, hub.as_fd())?);
    }
    enter(hub.as_fd())?;
    Ok((stations, kind))
}

/// Listens at a port, of UDP or else of TCP, of the station that the process is in, whose name is
/// `station`.
pub(crate) fn listen(station: &str, port: u16, is_udp: bool) -> Result<OwnedFd> {
    let bind = |host| {
        if is_udp {
            UdpSocket::bind((host, port)).map(OwnedFd::from)
        } else {
            TcpListener::bind((host, port)).map(OwnedFd::from)
        }
    };
    // One socket of IPv6 takes what comes by IPv4 as well.
    let socket = bind("::").or_else(|_| bind("0.0.0.0"));
    socket.context(|| format!("listen at port {port} of station {station}"))
}

/// Listens under an abstract name in the station that the process is in.
pub(crate) fn listen_as(name: &str) -> io::Result<OwnedFd> {
    let socket = UnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

/// Moves the process into a network namespace.
pub(crate) fn enter(namespace: BorrowedFd<'_>) -> Result<()> {
    nix::sched::setns(namespace, CloneFlags::CLONE_NEWNET)
        .map_err(|error| LiveError::forbidden("enter a network namespace".into(), error))
}

fn build(
    number: usize,
    plan: &LiveStationPlan,
    kind: DeviceKind,
    hub: BorrowedFd<'_>,
) -> Result<Station> {
    let (namespace, mut netlink) = namespace_of(plan)?;
    let mut devices = Vec::new();
    for (position, device) in plan.devices.iter().enumerate() {
        let ours = match kind {
            DeviceKind::Tun => tun::create(&device.name)
                .context(|| format!("make the TUN device {}", device.name))?,
            DeviceKind::Packet => {
                let end = format!("s{number}d{position}");
                virtual_ethernet(&mut netlink, device, &end, namespace.as_fd(), hub)?
            }
        };
        devices.push(ours);
        if plan.namespace.is_some() {
            let quiet = format!("net/ipv6/conf/{}", device.name);
            QUIET.iter().for_each(|(key, value)| {
                let _ = write_parameter(&format!("{quiet}/{key}"), value);
            });
        }
        bring_up(&mut netlink, device, &plan.metrics)
            .context(|| format!("set up the device {} of {}", device.name, plan.name))?;
    }
    for route in &plan.routes {
        let device = &plan.devices[route.device];
        let index = netlink.index(&device.name);
        index
            .and_then(|index| {
                let RoutePlan { destination, prefix, gateway, .. } = *route;
                let metrics = of_kernel(&plan.metrics, destination.is_ipv6());
                netlink.add_route(destination, prefix, gateway, index, &metrics)
            })
            .context(|| {
                let destination = route.destination;
                let prefix = route.prefix;
                format!("add the route to {destination}/{prefix} in station {}", plan.name)
            })?;
    }
    await_addresses(plan);
    let hints = hints::open().context(|| "make a socket for hints".into())?;
    Ok(Station { namespace, devices, hints, is_shared: plan.namespace.is_some() })
}

/// Moves the process into the namespace of a station, and opens it for changes: a new one with the
/// station's parameters, or one of others, which keeps its own.
fn namespace_of(plan: &LiveStationPlan) -> Result<(OwnedFd, Netlink)> {
    if let Some(shared) = &plan.namespace {
        enter(shared.as_fd())?;
        return Ok((namespace::own("net")?, open_netlink()?));
    }
    nix::sched::unshare(CloneFlags::CLONE_NEWNET)
        .map_err(|error| LiveError::NamespacesClosed(error.into()))?;
    let namespace = namespace::own("net")?;
    quieten(plan);
    for (key, value) in &plan.parameters {
        set_parameter(key, value).map_err(|source| LiveError::Sysctl {
            station: plan.name.clone(),
            key: key.clone(),
            value: value.clone(),
            source,
        })?;
    }
    let mut netlink = open_netlink()?;
    let loopback = netlink.index("lo").context(|| "find the loopback device".into())?;
    netlink.up(loopback).context(|| "bring the loopback device up".into())?;
    Ok((namespace, netlink))
}

/// Opens a netlink socket.
fn open_netlink() -> Result<Netlink> {
    Netlink::open().context(|| "open a netlink socket".into())
}

/// Waits until the kernel takes packets to every IPv6 address of the station for its own: it does
/// so a moment after it was told, on a busy machine later, and drops what comes before.
fn await_addresses(plan: &LiveStationPlan) {
    let addresses = plan.devices.iter().flat_map(|device| &device.addresses);
    let six = addresses.filter_map(|(address, _)| match address {
        IpAddr::V6(address) => Some(address),
        IpAddr::V4(_) => None,
    });
    // As the kernel lists the route of a single address.
    let wanted: Vec<String> = six.map(route_line).collect();
    for _ in 0..LOOKS {
        let routes = fs::read_to_string("/proc/self/net/ipv6_route").unwrap_or_default();
        // A kernel without this list has no IPv6.
        if routes.is_empty() || wanted.iter().all(|route| routes.contains(route)) {
            return;
        }
        system::pause();
    }
}

/// Returns how the kernel's table of routes begins the line of an own address.
fn route_line(address: &Ipv6Addr) -> String {
    format!("{:032x} 80 ", u128::from(*address))
}

/// Makes a pair of devices and opens the far one, which lies in the hub.
fn virtual_ethernet(
    netlink: &mut Netlink,
    device: &DevicePlan,
    end: &str,
    station: BorrowedFd<'_>,
    hub: BorrowedFd<'_>,
) -> Result<OwnedFd> {
    let making = || format!("make the device {}", device.name);
    let inner = VethEnd { name: &device.name, mac: packet::INNER, namespace: station };
    let outer = VethEnd { name: end, mac: packet::OUTER, namespace: hub };
    netlink.add_veth(&inner, &outer).context(making)?;
    enter(hub)?;
    let index = (|| {
        let mut netlink = Netlink::open()?;
        let index = netlink.index(end)?;
        netlink.set_mtu(index, device.mtu)?;
        let _ = write_parameter(&format!("net/ipv6/conf/{end}/disable_ipv6"), "1");
        netlink.up_quietly(index)?;
        Ok::<_, io::Error>(index)
    })();
    let socket = index.context(making).and_then(|index| {
        packet::open(index).map_err(|error| {
            let doing = format!("open a packet socket at the device {}", device.name);
            LiveError::forbidden(doing, error)
        })
    });
    enter(station)?;
    socket
}

/// Gives a device its size and addresses and brings it up; the routes to their networks get the
/// metrics.
fn bring_up(netlink: &mut Netlink, device: &DevicePlan, metrics: &[RouteMetric]) -> io::Result<()> {
    let index = netlink.index(&device.name)?;
    netlink.set_mtu(index, device.mtu)?;
    netlink.set_queue(index, DEVICE_QUEUE)?;
    netlink.up_quietly(index)?;
    for (address, prefix) in &device.addresses {
        netlink.add_address(index, *address, *prefix)?;
        if !metrics.is_empty() {
            let metrics = of_kernel(metrics, address.is_ipv6());
            netlink.set_metrics(index, *address, *prefix, &metrics)?;
        }
    }
    Ok(())
}

/// Parameters of devices with which the kernel sends what programs send, and nothing by itself.
const QUIET: [(&str, &str); 5] = [
    ("disable_ipv6", "0"),
    ("accept_dad", "0"),
    ("accept_ra", "0"),
    ("router_solicitations", "0"),
    // No link-local address, so nothing to announce.
    ("addr_gen_mode", "1"),
];

/// Keeps the kernel from sending what no program asked for, so that runs repeat, and opens what a
/// station of one's own may have open. Where a parameter does not exist there is nothing to keep
/// quiet.
fn quieten(plan: &LiveStationPlan) {
    for (key, value) in QUIET {
        let _ = write_parameter(&format!("net/ipv6/conf/default/{key}"), value);
    }
    let mut parameters = vec![
        ("net/ipv6/conf/all/disable_ipv6", "0"),
        // Lossy measurements of one run must not shape the next connection.
        ("net/ipv4/tcp_no_metrics_save", "1"),
        // The station belongs to its user alone.
        ("net/ipv4/ping_group_range", "0 2147483647"),
        ("net/ipv4/ip_unprivileged_port_start", "0"),
    ];
    if plan.forwards {
        parameters.push(("net/ipv4/ip_forward", "1"));
        parameters.push(("net/ipv6/conf/all/forwarding", "1"));
        parameters.push(("net/ipv6/conf/default/forwarding", "1"));
        parameters.push(("net/ipv4/conf/all/send_redirects", "0"));
        parameters.push(("net/ipv4/conf/default/send_redirects", "0"));
    }
    for (path, value) in parameters {
        if write_parameter(path, value).is_err() && path == "net/ipv4/ping_group_range" {
            // In a user namespace only groups that exist there can be named.
            let group = nix::unistd::getegid();
            let _ = write_parameter(path, &format!("{group} {group}"));
        }
    }
}

/// Sets a kernel parameter; `key` has dots, as sysctl takes it.
fn set_parameter(key: &str, value: &str) -> io::Result<()> {
    let path = key.replace('.', "/");
    if !path.split('/').all(|part| !part.is_empty() && part != "..") || !path.starts_with("net/") {
        let why = "a station has parameters of its own only under net.";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    write_parameter(&path, value).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => io::Error::new(io::ErrorKind::NotFound, unknown(&path)),
        _ => error,
    })
}

/// Says that a station has no parameter of this path, and which ones are like it.
fn unknown(path: &str) -> String {
    // The deepest folder that exists, and the part of the path that is not in it.
    let (mut folder, mut part) = path.rsplit_once('/').unwrap_or(("net", path));
    while let Some((outer, inner)) = folder.rsplit_once('/')
        && !Path::new(&format!("{PARAMETERS}/{folder}")).is_dir()
    {
        folder = outer;
        part = inner;
    }
    let entries = fs::read_dir(format!("{PARAMETERS}/{folder}")).into_iter().flatten().flatten();
    let mut names: Vec<_> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    let dotted = folder.replace('/', ".");
    if let Some(nearest) = windfall_base::nearest(part, names.iter().map(String::as_str)) {
        return format!("there is no such parameter; did you mean {dotted}.{nearest}?");
    }
    let word = part.split('_').next().unwrap_or_default();
    let alike: Vec<_> = names.iter().filter(|name| name.starts_with(word)).cloned().collect();
    let shown = if alike.is_empty() { &names } else { &alike };
    let rest = match shown.len().saturating_sub(MOST_NAMES) {
        0 => String::new(),
        rest => format!(" and {rest} more in {PARAMETERS}/{folder}"),
    };
    let shown = shown.iter().take(MOST_NAMES).map(String::as_str).collect::<Vec<_>>().join(", ");
    format!("a station has no such parameter; in {dotted} there are {shown}{rest}")
}

fn write_parameter(path: &str, value: &str) -> io::Result<()> {
    fs::write(format!("{PARAMETERS}/{path}"), value)
}

/// Makes a TUN device in the namespace of this process, with its addresses and routes.
///
/// # Errors
/// If this process may not, or the name is taken.
pub fn open_here(device: &DevicePlan, routes: &[RoutePlan]) -> Result<StationDevice> {
    let descriptor =
        tun::create(&device.name).context(|| format!("make the TUN device {}", device.name))?;
    let mut netlink = Netlink::open().context(|| "open a netlink socket".into())?;
    let mut set_up = || {
        bring_up(&mut netlink, device, &[])?;
        let index = netlink.index(&device.name)?;
        routes
            .iter()
            .try_for_each(|it| netlink.add_route(it.destination, it.prefix, it.gateway, index, &[]))
    };
    set_up().context(|| format!("set up the device {}", device.name))?;
    Ok(StationDevice::new(descriptor, DeviceKind::Tun))
}
