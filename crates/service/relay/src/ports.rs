//! Ports that are taken, and the helpers that serve them.

use std::ffi::OsString;
use std::io;
use std::net::{TcpListener, ToSocketAddrs as _, UdpSocket};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};

use crate::rule::target;
use crate::{PortProtocol, Published, Reached};

/// Why ports cannot be served.
#[derive(Debug)]
pub enum PortError {
    /// There is no such station, or it runs no programs; the text says which do.
    Station(String),
    /// No host is called like this; the text names those that are there.
    Host(String),
    /// A port of this machine cannot be taken.
    Taken(String),
}

/// Ports that are taken, and the rules by which they are served.
#[derive(Debug)]
pub struct OpenPorts {
    published: Vec<OpenPort>,
    /// In the order in which [`wanted`](Self::wanted) names them.
    reached: Vec<Reached>,
}

/// A port that is taken, and where what comes there goes.
#[derive(Debug)]
struct OpenPort {
    socket: OwnedFd,
    /// The station where it goes on; `None` for the host.
    station: Option<String>,
    targets: Vec<String>,
    protocol: PortProtocol,
    /// Its address, as text for people.
    text: String,
}

/// The programs that carry connections; they end with this.
#[derive(Debug, Default)]
pub struct RelayHelpers(Vec<RelayHelper>);

/// A program that carries the connections of one port.
#[derive(Debug)]
pub struct RelayHelper {
    child: Child,
    /// The port, as text for people.
    pub port: String,
    /// The socket of the port, which processes that were copied from the run hold as well.
    pub socket: OwnedFd,
}

impl RelayHelper {
    /// The number of the program's process.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }
}

impl RelayHelpers {
    /// The programs, which all run.
    pub fn iter(&self) -> impl Iterator<Item = &RelayHelper> {
        self.0.iter()
    }
}

impl OpenPorts {
    /// Takes the ports of this machine; `stations` are those that run programs, each with its
    /// addresses, and `names` those of all stations.
    ///
    /// # Errors
    /// If there is no such station or host, or a port is taken.
    pub fn open(
        published: &[Published],
        reached: &[Reached],
        stations: &[(String, Vec<String>)],
        names: &[&str],
    ) -> Result<Self, PortError> {
        let addresses = |name: &str| {
            let known = stations.iter().find(|(station, _)| station == name);
            known.map(|(_, addresses)| addresses.clone()).ok_or_else(|| {
                let names: Vec<_> = stations.iter().map(|(name, _)| name.as_str()).collect();
                let names = names.join(", ");
                let text =
                    format!("there is no station \"{name}\" with programs: use one of {names}");
                PortError::Station(text)
            })
        };
        let mut open = Self { published: Vec::new(), reached: reached.to_vec() };
        for it in published {
            let own = addresses(&it.station)?;
            if let Some(host) = &it.host {
                known_host(host, names)?;
            }
            let hosts = match &it.host {
                Some(host) => vec![host.clone()],
                // A server may listen at either.
                None => [vec!["127.0.0.1".to_owned()], own].concat(),
            };
            let targets = hosts.iter().map(|host| target(host, it.port)).collect();
            let taken = match it.protocol {
                PortProtocol::Tcp => TcpListener::bind(it.listen).map(OwnedFd::from),
                PortProtocol::Udp => UdpSocket::bind(it.listen).map(OwnedFd::from),
            };
            let socket = taken.map_err(|error| {
                PortError::Taken(format!("cannot publish port {}: {error}", it.listen))
            })?;
            let (station, text) = (Some(it.station.clone()), it.listen.to_string());
            open.published.push(OpenPort { socket, station, targets, protocol: it.protocol, text });
        }
        for (number, it) in reached.iter().enumerate() {
            addresses(&it.station)?;
            let host = it.target.rsplit_once(':').map_or("", |(host, _)| host);
            known_host(host.trim_matches(['[', ']']), &[])?;
            let taken = |it: &Reached| (it.station.clone(), it.port, it.protocol);
            if reached[..number].iter().any(|other| taken(other) == taken(it)) {
                let (station, port) = (&it.station, it.port);
                let text = format!("port {port} of {station} leads out already: use another port");
                return Err(PortError::Station(text));
            }
        }
        open.reached.sort_by_key(|it| it.protocol);
        Ok(open)
    }

    /// The ports of stations that lead out, those of TCP first: the run is to take them before
    /// anything else does.
    pub fn wanted(&self) -> impl Iterator<Item = (&str, u16, PortProtocol)> {
        self.reached.iter().map(|it| (it.station.as_str(), it.port, it.protocol))
    }

    /// Starts the helpers, as `windfall relay` of this program. `sockets` are those that have taken
    /// the [wanted](Self::wanted) ports, in their order. `command` makes the command line of a
    /// program in a station, or on the host where none is named, that ends with this process.
    ///
    /// # Errors
    /// If one cannot be started.
    pub fn serve<E: From<io::Error>>(
        self,
        sockets: Vec<OwnedFd>,
        command: impl Fn(Option<&str>, Vec<OsString>) -> Result<Command, E>,
    ) -> Result<RelayHelpers, E> {
        let mut helpers = RelayHelpers::default();
        let reached = sockets.into_iter().zip(self.reached).map(|(socket, it)| {
            let (text, targets) = (format!("{}:{}", it.station, it.port), vec![it.target]);
            OpenPort { socket, station: None, targets, protocol: it.protocol, text }
        });
        for OpenPort { socket, station, targets, protocol, text } in
            self.published.into_iter().chain(reached)
        {
            let mut words: Vec<OsString> = vec![std::env::current_exe()?.into(), "relay".into()];
            words.push("serve".into());
            words.extend((protocol == PortProtocol::Udp).then(|| "--datagrams".into()));
            words.extend(targets.into_iter().map(OsString::from));
            let mut command = command(station.as_deref(), words)?;
            command.stdin(socket.try_clone()?).stdout(Stdio::null());
            helpers.0.push(RelayHelper { child: command.spawn()?, port: text, socket });
        }
        Ok(helpers)
    }
}

/// Refuses a host that is none of the stations, no address, and that this machine does not know;
/// stations know what it knows.
fn known_host(host: &str, stations: &[&str]) -> Result<(), PortError> {
    if stations.contains(&host) || (host, 0).to_socket_addrs().is_ok() {
        return Ok(());
    }
    let names = [stations, &["an address, or a name that this machine knows"]].concat().join(", ");
    Err(PortError::Host(format!("no host is called \"{host}\": use {names}")))
}

impl Drop for RelayHelpers {
    fn drop(&mut self) {
        for RelayHelper { child, .. } in &mut self.0 {
            let _ = (child.kill(), child.wait());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_host_is_refused_before_anything_runs() {
        let stations = ["near", "far"].map(|it| (it.to_owned(), vec!["10.77.0.1".to_owned()]));
        let open = |published: &[&str], reached: &[&str]| {
            let published: Vec<_> = published.iter().map(|it| it.parse().expect("one")).collect();
            let reached: Vec<_> = reached.iter().map(|it| it.parse().expect("one")).collect();
            OpenPorts::open(&published, &reached, &stations, &["near", "far"]).map(|_| ())
        };
        // Which port is free is not known before: 0 would be none.
        let refusal = open(&["1:near:no-such-host.invalid:80"], &[]).expect_err("no such host");
        let PortError::Host(text) = refusal else { panic!("{refusal:?}") };
        assert!(text.contains("no-such-host.invalid\": use near, far, an address"), "{text}");
        let refusal = open(&[], &["far:80:no-such-host.invalid:80"]).expect_err("no such host");
        assert!(matches!(refusal, PortError::Host(_)), "{refusal:?}");
        open(&[], &["far:80:localhost:80", "far:81:80", "near:80:192.0.2.1:80"]).expect("hosts");
        open(&[], &["far:80:[2001:db8::1]:80"]).expect("an address");
    }
}
