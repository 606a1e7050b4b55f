//! The site of an engine: a device in the present network namespace, addresses and routes.

use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::{fs, io};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::Pid;
use windfall_ip::{IpInterfaceConfig, RouteEntry};
use windfall_netlink::{Netlink, VethEnd};
use windfall_network::addresses::engine_beside;
use windfall_stack::HostConfig;

use crate::device::{StationDevice, packet, tun};
use crate::error::{ErrorContext, LiveError, Result};
use crate::kernel::ENGINE;
use crate::plan::DeviceKind;

/// The longest packet of an engine that stands in no station, in bytes.
const MTU: u32 = 1500;

/// The addresses of an engine, and how long its packets may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineSite {
    addresses: Vec<IpAddr>,
    mtu: u32,
    /// The kernel has to pass on what goes to and comes from other stations.
    is_station: bool,
}

impl EngineSite {
    /// Beside the kernel of the station that this process is in.
    ///
    /// # Errors
    /// If the process is in no station, or in one whose addresses were not chosen automatically.
    pub fn in_station() -> Result<Self> {
        let found = nix::ifaddrs::getifaddrs().context(|| "list the network devices".into())?;
        let mut netlink = Netlink::open().context(|| "open a netlink socket".into())?;
        let mut addresses = Vec::new();
        let mut mtu = u32::MAX;
        for entry in found.filter(|entry| entry.interface_name.starts_with("wf")) {
            let address = entry.address.and_then(|it| {
                let v4 = it.as_sockaddr_in().map(|v4| IpAddr::V4(v4.ip()));
                v4.or_else(|| it.as_sockaddr_in6().map(|v6| IpAddr::V6(v6.ip())))
            });
            if let Some(engine) = address.and_then(engine_beside) {
                let name = &entry.interface_name;
                mtu = mtu.min(netlink.mtu(name).context(|| format!("look at the device {name}"))?);
                addresses.push(engine);
            }
        }
        if addresses.is_empty() {
            return Err(LiveError::NoEngineSite);
        }
        Ok(Self { addresses, mtu, is_station: true })
    }

    /// At an address of the user's choice, reached from this kernel alone unless it forwards.
    #[must_use]
    pub fn at(address: IpAddr) -> Self {
        Self { addresses: vec![address], mtu: MTU, is_station: false }
    }

    /// The addresses; at least one.
    #[must_use]
    pub fn addresses(&self) -> &[IpAddr] {
        &self.addresses
    }

    /// A host that stands here, with this TCP.
    pub(super) fn host(&self, tcp: windfall_tcp::TcpConfig) -> HostConfig {
        let addresses = self.addresses.iter().map(|address| IpNet::from(*address)).collect();
        let mtu = self.mtu as usize;
        let everywhere = [IpNet::V4(Ipv4Net::default()), IpNet::V6(Ipv6Net::default())]
            .map(|to| RouteEntry { to, interface: 0 });
        let internet = windfall_ip::IpConfig {
            interfaces: vec![IpInterfaceConfig { addresses, mtu }],
            routes: everywhere.into(),
            ..windfall_ip::IpConfig::default()
        };
        HostConfig { internet, tcp, ..HostConfig::default() }
    }

    /// Makes the device, and leads packets to it; both vanish with what is given back.
    pub(super) fn open(&self) -> Result<(StationDevice, Removal)> {
        let name = format!("{ENGINE}{}", std::process::id());
        let (device, kind) = make(&name, self.mtu)?;
        let removal = Removal(name.clone());
        let mut netlink = Netlink::open().context(|| "open a netlink socket".into())?;
        let index = netlink.index(&name).context(|| format!("find the device {name}"))?;
        let ready = netlink.set_mtu(index, self.mtu).and_then(|()| netlink.up_quietly(index));
        ready.context(|| format!("bring the device {name} up"))?;
        for address in &self.addresses {
            let prefix = if address.is_ipv4() { 32 } else { 128 };
            match netlink.add_route(*address, prefix, None, index, &[]) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    return Err(LiveError::EngineSiteTaken(*address));
                }
                other => other.context(|| format!("lead {address} to the device {name}"))?,
            }
        }
        if self.is_station {
            forward().context(|| "let this station pass packets on to its engine".into())?;
        }
        Ok((StationDevice::new(device, kind).with_large_segments(), removal))
    }
}

/// Removes the device of this name when dropped, unless it has gone with its descriptor.
#[derive(Debug)]
pub(super) struct Removal(String);

impl Drop for Removal {
    fn drop(&mut self) {
        let _ = Netlink::open().and_then(|mut netlink| remove(&mut netlink, &self.0));
    }
}

fn remove(netlink: &mut Netlink, name: &str) -> io::Result<()> {
    let index = netlink.index(name)?;
    netlink.delete(index)
}

/// Removes the pairs of devices of engines that were killed: no descriptor takes them along.
fn remove_abandoned(netlink: &mut Netlink) -> io::Result<()> {
    for entry in nix::ifaddrs::getifaddrs()? {
        let name = entry.interface_name;
        let process = name.strip_prefix(ENGINE).and_then(|id| id.parse().ok()).map(Pid::from_raw);
        // An entry for each address: the second finds the device gone.
        if process.is_some_and(|process| kill(process, None) == Err(Errno::ESRCH)) {
            let _ = remove(netlink, &name);
        }
    }
    Ok(())
}

/// Makes the device of the first kind that the system allows.
fn make(name: &str, mtu: u32) -> Result<(OwnedFd, DeviceKind)> {
    if tun::open().is_ok() {
        let device = tun::create(name).context(|| format!("make the TUN device {name}"))?;
        return Ok((device, DeviceKind::Tun));
    }
    let pair = || {
        // The kernel takes nothing that comes out of the peer device: it is not addressed to it.
        let here = fs::File::open("/proc/self/ns/net")?;
        let namespace = std::os::fd::AsFd::as_fd(&here);
        let end = format!("other{}", std::process::id());
        let mut netlink = Netlink::open()?;
        remove_abandoned(&mut netlink)?;
        netlink.add_veth(
            &VethEnd { name, mac: packet::INNER, namespace },
            &VethEnd { name: &end, mac: packet::OUTER, namespace },
        )?;
        let index = netlink.index(&end)?;
        netlink.set_mtu(index, mtu)?;
        let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{end}/disable_ipv6"), "1");
        netlink.up_quietly(index)?;
        packet::open(index)
    };
    let device = pair().context(|| format!("make the device {name}"))?;
    Ok((device, DeviceKind::Packet))
}

/// Lets the kernel pass packets on between the station's devices.
fn forward() -> io::Result<()> {
    fs::write("/proc/sys/net/ipv4/ip_forward", "1")?;
    // Absent where the kernel has no IPv6.
    let _ = fs::write("/proc/sys/net/ipv6/conf/all/forwarding", "1");
    Ok(())
}
