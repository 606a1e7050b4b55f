//! Ports that are taken, and the helpers that serve them.

use std::ffi::OsString;
use std::io;
use std::net::{TcpListener, ToSocketAddrs as _};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};

use crate::rule::target;
use crate::{Published, Reached};

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
    /// The socket that listens, the station, and what connections go to from there.
    published: Vec<(TcpListener, String, Vec<String>)>,
    reached: Vec<Reached>,
}

/// The programs that carry connections; they end with this.
#[derive(Debug, Default)]
pub struct RelayHelpers(Vec<Child>);

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
            let listener = TcpListener::bind(it.listen).map_err(|error| {
                PortError::Taken(format!("cannot publish port {}: {error}", it.listen))
            })?;
            open.published.push((listener, it.station.clone(), targets));
        }
        for (number, it) in reached.iter().enumerate() {
            addresses(&it.station)?;
            let host = it.target.rsplit_once(':').map_or("", |(host, _)| host);
            known_host(host.trim_matches(['[', ']']), &[])?;
            let (station, port) = (&it.station, it.port);
            if reached[..number].iter().any(|it| (&it.station, it.port) == (station, port)) {
                let text = format!("port {port} of {station} leads out already: use another port");
                return Err(PortError::Station(text));
            }
        }
        Ok(open)
    }

    /// The ports of stations that lead out: the run is to listen there before anything else does.
    pub fn wanted(&self) -> impl Iterator<Item = (&str, u16)> {
        self.reached.iter().map(|it| (it.station.as_str(), it.port))
    }

    /// Starts the helpers, as `windfall relay` of this program. `listeners` are sockets that listen
    /// at the [wanted](Self::wanted) ports, in their order. `command` makes the command line of a
    /// program in a station, or on the host where none is named, that ends with this process.
    ///
    /// # Errors
    /// If one cannot be started.
    pub fn serve<E: From<io::Error>>(
        self,
        listeners: Vec<OwnedFd>,
        command: impl Fn(Option<&str>, Vec<OsString>) -> Result<Command, E>,
    ) -> Result<RelayHelpers, E> {
        let mut helpers = RelayHelpers::default();
        let published = self
            .published
            .into_iter()
            .map(|(listener, station, targets)| (OwnedFd::from(listener), Some(station), targets));
        let reached = listeners.into_iter().zip(self.reached);
        let reached = reached.map(|(listener, it)| (listener, None, vec![it.target]));
        for (listener, station, targets) in published.chain(reached) {
            let mut words: Vec<OsString> = vec![std::env::current_exe()?.into(), "relay".into()];
            words.push("serve".into());
            words.extend(targets.into_iter().map(OsString::from));
            let mut command = command(station.as_deref(), words)?;
            command.stdin(Stdio::from(listener)).stdout(Stdio::null());
            helpers.0.push(command.spawn()?);
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
        for child in &mut self.0 {
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
