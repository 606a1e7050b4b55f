//! Ends of links outside: the network namespace of a process, and a real interface.

use std::fs::File;
use std::net::IpAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use windfall_netlink::RealInterface;

use crate::error::{ErrorContext, LiveError, Result};
use crate::plan::{LivePlan, RoutePlan};
use crate::system;

/// Something real that is to be an end of a link: `far:eth1`, `far:1234`, `far:/run/netns/blue`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// The name of the station, if it was given.
    pub station: Option<String>,
    /// The thing itself.
    pub target: AttachTarget,
}

/// Something real that stands at a station.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttachTarget {
    /// This network namespace is the station's.
    Namespace(PathBuf),
    /// The station has this interface of the caller's too.
    Interface(String),
}

impl FromStr for Attachment {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let (station, target) = match text.split_once(':') {
            Some((station, target)) if !station.contains('/') => (Some(station), target),
            _ => (None, text),
        };
        let target = match target {
            "" => None,
            process if process.bytes().all(|byte| byte.is_ascii_digit()) => {
                Some(AttachTarget::Namespace(format!("/proc/{process}/ns/net").into()))
            }
            path if path.contains('/') => Some(AttachTarget::Namespace(path.into())),
            name => (name.len() < 16 && !name.contains(char::is_whitespace))
                .then(|| AttachTarget::Interface(name.to_owned())),
        };
        let advice = "use STATION: and an interface, the number of a process or the path of a \
                      network namespace, such as far:eth1";
        let target = target.filter(|_| station != Some("")).ok_or(advice)?;
        Ok(Self { station: station.map(str::to_owned), target })
    }
}

impl LivePlan {
    /// Lets these be ends of links; one that names no station is at `default`.
    ///
    /// # Errors
    /// If there is no such station or no such thing, or this process may not change it.
    pub fn attach(&mut self, attachments: &[Attachment], default: Option<&str>) -> Result<()> {
        for Attachment { station, target } in attachments {
            let name = station.as_deref().or(default);
            let number = name.and_then(|name| self.station(name));
            let number = number.filter(|number| !self.stations[*number].devices.is_empty());
            let Some(number) = number else {
                let names: Vec<_> = self.stations.iter().map(|it| it.name.as_str()).collect();
                let names = names.join(", ");
                let why = format!("name a station before it, with a colon: one of {names}");
                return Err(LiveError::Attach(why));
            };
            if !system::privileged() {
                let why = "it changes what other programs use, and so needs root".to_owned();
                return Err(LiveError::Attach(why));
            }
            if self.nat.is_some() {
                let why = "--net is another way out: leave one of the two away".to_owned();
                return Err(LiveError::Attach(why));
            }
            match target {
                AttachTarget::Namespace(path) => self.attach_namespace(number, path)?,
                AttachTarget::Interface(name) => self.attach_interface(number, name)?,
            }
        }
        Ok(())
    }

    fn attach_namespace(&mut self, number: usize, path: &Path) -> Result<()> {
        let shown = path.display();
        let file = File::open(path).context(|| format!("attach the network namespace {shown}"))?;
        let others = self.stations.iter().filter_map(|station| station.namespace.as_ref());
        if others.clone().any(|other| namespace_id(other) == namespace_id(&file)) {
            let why = format!("{shown} is another station's already");
            return Err(LiveError::Attach(why));
        }
        self.stations[number].namespace = Some(Arc::new(file));
        Ok(())
    }

    /// Lets a station have an interface, and its neighbours reach what is behind.
    fn attach_interface(&mut self, number: usize, name: &str) -> Result<()> {
        let interface = RealInterface::find(name)
            .map_err(|error| LiveError::Attach(format!("the interface {name}: {error}")))?;
        let own = self.stations[number].devices.iter().flat_map(|device| &device.addresses);
        let own: Vec<_> = own.copied().collect();
        for (other, station) in self.stations.iter_mut().enumerate() {
            if other == number {
                station.forwards = true;
                continue;
            }
            for (device, plan) in station.devices.iter().enumerate() {
                let addresses = plan.addresses.iter();
                let near = addresses.flat_map(|near| own.iter().filter(|own| share(near, own)));
                let routes = near.flat_map(|(gateway, _)| {
                    let networks = interface.networks().into_iter();
                    let networks = networks.filter(|it| it.0.is_ipv4() == gateway.is_ipv4());
                    networks.map(|(destination, prefix)| RoutePlan {
                        destination,
                        prefix,
                        gateway: Some(*gateway),
                        device,
                    })
                });
                station.routes.extend(routes);
            }
        }
        self.interfaces.push((number, interface));
        Ok(())
    }
}

/// Returns what identifies the namespace of an open file: its device and inode.
fn namespace_id(file: &File) -> Option<(u64, u64)> {
    file.metadata().map(|it| (it.dev(), it.ino())).ok()
}

/// Tells whether two addresses with their prefixes are of one network.
fn share(a: &(IpAddr, u8), b: &(IpAddr, u8)) -> bool {
    network_of(a).is_some_and(|a| Some(a) == network_of(b))
}

/// Returns the network of an address and its prefix length.
fn network_of(it: &(IpAddr, u8)) -> Option<ipnet::IpNet> {
    ipnet::IpNet::new(it.0, it.1).ok().map(|net| net.trunc())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interfaces_processes_and_namespaces_are_told_apart() {
        let read = |text: &str| text.parse::<Attachment>();
        let of = |station: Option<&str>, target| {
            Ok(Attachment { station: station.map(str::to_owned), target })
        };
        let at = |path: &str| AttachTarget::Namespace(path.into());
        assert_eq!(read("eth1"), of(None, AttachTarget::Interface("eth1".to_owned())));
        assert_eq!(read("b:12"), of(Some("b"), at("/proc/12/ns/net")));
        assert_eq!(read("/run/netns/a:b"), of(None, at("/run/netns/a:b")));
        assert_eq!(read("b:/run/netns/c"), of(Some("b"), at("/run/netns/c")));
        for wrong in ["", "b:", ":eth1", "a name", "b:a-name-of-sixteen"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
