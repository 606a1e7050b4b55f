//! Ports that are taken, and the helpers that serve them.

use std::ffi::OsString;
use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};

use crate::{Published, Reached, pair};

/// Why ports cannot be served.
#[derive(Debug)]
pub enum PortError {
    /// There is no such station, or it runs no programs; the text says which do.
    Station(String),
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
    /// addresses.
    ///
    /// # Errors
    /// If there is no such station, or a port is taken.
    pub fn open(
        published: &[Published],
        reached: &[Reached],
        stations: &[(String, Vec<String>)],
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
            let hosts = match &it.host {
                Some(host) => vec![host.clone()],
                // A server may listen at either.
                None => [vec!["127.0.0.1".to_owned()], own].concat(),
            };
            let targets = hosts.iter().map(|host| format!("{host}:{}", it.port)).collect();
            let listener = TcpListener::bind(it.listen).map_err(|error| {
                PortError::Taken(format!("cannot publish port {}: {error}", it.listen))
            })?;
            open.published.push((listener, it.station.clone(), targets));
        }
        for (number, it) in reached.iter().enumerate() {
            addresses(&it.station)?;
            let (station, port) = (&it.station, it.port);
            if reached[..number].iter().any(|it| (&it.station, it.port) == (station, port)) {
                let text = format!("port {port} of {station} leads out already: use another port");
                return Err(PortError::Station(text));
            }
        }
        Ok(open)
    }

    /// Starts the helpers of a run that can be entered under this name, by `windfall exec` and
    /// `windfall relay` of this program.
    ///
    /// # Errors
    /// If one cannot be started.
    pub fn serve(self, run: &str) -> io::Result<RelayHelpers> {
        let mut helpers = RelayHelpers::default();
        for (listener, station, targets) in self.published {
            let words = [vec!["published".to_owned()], targets].concat();
            helpers.enter(run, &station, OwnedFd::from(listener), &words)?;
        }
        for it in self.reached {
            let (inside, outside) = pair()?;
            let words = ["station".to_owned(), it.port.to_string()];
            helpers.enter(run, &it.station, inside, &words)?;
            let words = ["relay", "host", &it.target].map(OsString::from);
            helpers.start(&words, outside)?;
        }
        Ok(helpers)
    }
}

impl RelayHelpers {
    /// Starts a helper in a station.
    fn enter(
        &mut self,
        run: &str,
        station: &str,
        input: OwnedFd,
        words: &[String],
    ) -> io::Result<()> {
        let program = std::env::current_exe()?;
        let mut all: Vec<OsString> = ["exec", station, "--run", run, "--"].map(Into::into).into();
        all.extend([program.into(), "relay".into()]);
        all.extend(words.iter().map(Into::into));
        self.start(&all, input)
    }

    fn start(&mut self, words: &[OsString], input: OwnedFd) -> io::Result<()> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(words).stdin(Stdio::from(input)).stdout(Stdio::null());
        self.0.push(command.spawn()?);
        Ok(())
    }
}

impl Drop for RelayHelpers {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = (child.kill(), child.wait());
        }
    }
}
