//! Ports that are taken, and the helpers that serve them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::net::{TcpListener, ToSocketAddrs as _, UdpSocket};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::io::Errno;
use rustix::net::{Shutdown, shutdown};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use crate::relay::counts::CountsFile;
use crate::relay::rule::target;
use crate::relay::{PortProtocol, Published, Reached};

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
    /// Its address, as text for people.
    text: String,
}

/// The totals of what a port carried and dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortTotals {
    /// The address of the port.
    pub port: String,
    /// The station where it goes on; `None` for the host.
    pub station: Option<String>,
    /// The counts by their names ([`PortCount`](crate::relay::PortCount)).
    pub counts: BTreeMap<&'static str, u64>,
}

/// The programs that carry connections; they end with this.
#[derive(Debug, Default)]
pub struct RelayHelpers {
    children: Vec<Child>,
    /// The port of each of them, and what it counts there.
    counts: Vec<(PortTotals, CountsFile)>,
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    is_ending: AtomicBool,
    is_lost: AtomicBool,
}

impl RelayHelpers {
    /// Lets a thread see that a helper ends before its time: it then closes the port, at which
    /// clients would wait for ever, and says so.
    fn watch(&self, process: Pid, port: OpenPort) -> io::Result<()> {
        let state = Arc::clone(&self.state);
        let wait = move || {
            let until = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while matches!(waitid(WaitId::Pid(process), until), Err(Errno::INTR)) {}
            if state.is_ending.load(Ordering::Acquire) {
                return;
            }
            // Processes that were copied from the run hold the socket as well.
            let _ = shutdown(&port.socket, Shutdown::Both);
            state.is_lost.store(true, Ordering::Release);
            let number = process.as_raw_nonzero();
            let text = &port.text;
            let said =
                format!("windfall: the process {number}, which serves port {text}, has ended");
            let _ = writeln!(io::stderr(), "{said}: no data passes there any more");
        };
        std::thread::Builder::new().spawn(wait).map(drop)
    }

    /// Returns what each port has carried and dropped up to now.
    #[must_use]
    pub fn totals(&self) -> Vec<PortTotals> {
        self.counts
            .iter()
            .map(|(port, file)| PortTotals { counts: file.read(), ..port.clone() })
            .collect()
    }

    /// Ends the helpers; returns the failure, as text, if one had ended before.
    #[must_use]
    pub fn end(self) -> Option<&'static str> {
        let is_lost = self.state.is_lost.load(Ordering::Acquire);
        is_lost
            .then_some("a process that carried data of --publish or --reach ended before the run")
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
            let station = Some(it.station.clone());
            let text = it.listen.to_string();
            open.published.push(OpenPort { socket, station, targets, text });
        }
        for (number, it) in reached.iter().enumerate() {
            addresses(&it.station)?;
            let host = it.target.rsplit_once(':').map_or("", |(host, _)| host);
            known_host(host.trim_matches(['[', ']']), &[])?;
            let taken = |it: &Reached| (it.station.clone(), it.port, it.protocol);
            if reached[..number].iter().any(|other| taken(other) == taken(it)) {
                let station = &it.station;
                let port = it.port;
                let text = format!("port {port} of {station} leads out already: use another port");
                return Err(PortError::Station(text));
            }
        }
        Ok(open)
    }

    /// The ports of stations that lead out: the run is to take them before anything else does.
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
        let mut ports = Vec::new();
        let reached = sockets.into_iter().zip(self.reached).map(|(socket, it)| {
            let text = format!("{}:{}", it.station, it.port);
            let targets = vec![it.target];
            OpenPort { socket, station: None, targets, text }
        });
        for port in self.published.into_iter().chain(reached) {
            let mut words: Vec<OsString> = vec![std::env::current_exe()?.into(), "relay".into()];
            words.push("serve".into());
            words.extend(port.targets.iter().map(OsString::from));
            let mut command = command(port.station.as_deref(), words)?;
            let counts = CountsFile::new()?;
            command.stdin(port.socket.try_clone()?).stdout(counts.writer()?);
            let totals = PortTotals {
                port: port.text.clone(),
                station: port.station.clone(),
                counts: BTreeMap::new(),
            };
            helpers.counts.push((totals, counts));
            // The terminal's signals are for the run, which ends the helpers.
            command.process_group(0);
            helpers.children.push(command.spawn()?);
            ports.push(port);
        }
        // Not before: a process with threads is no good one to copy.
        for (child, port) in helpers.children.iter().zip(ports) {
            helpers.watch(Pid::from_child(child), port)?;
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
        self.state.is_ending.store(true, Ordering::Release);
        for child in &mut self.children {
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

    fn stations() -> [(String, Vec<String>); 2] {
        [("near", ["10.77.0.1", "fd77::1"]), ("far", ["10.77.0.2", "fd77::2"])]
            .map(|(name, addresses)| (name.to_owned(), addresses.map(str::to_owned).to_vec()))
    }

    fn open(published: &[&str], reached: &[&str]) -> Result<OpenPorts, PortError> {
        let published: Vec<_> = published.iter().map(|it| it.parse().expect("one")).collect();
        let reached: Vec<_> = reached.iter().map(|it| it.parse().expect("one")).collect();
        OpenPorts::open(&published, &reached, &stations(), &["near", "far"])
    }

    /// A port that was free just now, in the text of one that is published.
    fn free(rest: &str) -> String {
        let socket = TcpListener::bind("127.0.0.1:0").expect("a port");
        format!("{}:{rest}", socket.local_addr().expect("an address").port())
    }

    /// Opens ports that were free just now. Another test may have taken one since.
    fn open_free(rests: &[&str], reached: &[&str]) -> (Vec<String>, OpenPorts) {
        let attempts = std::iter::repeat_with(|| {
            let texts: Vec<_> = rests.iter().map(|rest| free(rest)).collect();
            let published: Vec<_> = texts.iter().map(String::as_str).collect();
            match open(&published, reached) {
                Err(PortError::Taken(_)) => None,
                other => Some((texts, other.expect("ports"))),
            }
        });
        attempts.take(20).flatten().next().expect("a free port")
    }

    #[test]
    fn the_targets_of_a_port_are_the_host_or_all_addresses_of_the_station() {
        let (_, ports) = open_free(&["near:80", "near:far:443/udp"], &[]);
        let [own, across] = &ports.published[..] else { panic!("{ports:?}") };
        assert_eq!(own.targets, ["127.0.0.1:80", "10.77.0.1:80", "[fd77::1]:80"]);
        assert_eq!(across.targets, ["far:443"]);
        assert_eq!(
            (own.station.as_deref(), across.station.as_deref()),
            (Some("near"), Some("near"))
        );
        let type_of =
            |port: &OpenPort| rustix::net::sockopt::socket_type(&port.socket).expect("one");
        assert_eq!(type_of(own), rustix::net::SocketType::STREAM);
        assert_eq!(type_of(across), rustix::net::SocketType::DGRAM);
    }

    #[test]
    fn ports_that_lead_out_are_wanted_in_their_order_and_each_once() {
        let reached = ["far:80:8000", "far:80:8000/udp", "near:80:8000", "far:81:8000"];
        let ports = open(&[], &reached).expect("ports");
        let wanted: Vec<_> = ports.wanted().collect();
        let tcp = PortProtocol::Tcp;
        let udp = PortProtocol::Udp;
        let all = [("far", 80, tcp), ("far", 80, udp), ("near", 80, tcp), ("far", 81, tcp)];
        assert_eq!(wanted, all);
        let refusal = open(&[], &["far:80:8000", "near:80:1", "far:80:9000"]).expect_err("twice");
        let PortError::Station(text) = refusal else { panic!("{refusal:?}") };
        assert!(text.starts_with("port 80 of far leads out already"), "{text}");
    }

    #[test]
    fn unknown_stations_and_taken_ports_are_refused_by_their_names() {
        for refusal in [open(&["1:middle:80"], &[]), open(&[], &["middle:80:80"])] {
            let Err(PortError::Station(text)) = refusal else { panic!("{refusal:?}") };
            assert_eq!(text, "there is no station \"middle\" with programs: use one of near, far");
        }
        let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
        let number = taken.local_addr().expect("an address").port();
        let refusal = open(&[&format!("{number}:near:80")], &[]);
        let Err(PortError::Taken(text)) = refusal else { panic!("{refusal:?}") };
        assert!(text.starts_with(&format!("cannot publish port 127.0.0.1:{number}: ")), "{text}");
    }

    /// Waits until `holds`, for ten seconds at most.
    #[expect(clippy::disallowed_methods, reason = "a process ends in real time")]
    fn eventually(holds: impl Fn() -> bool) -> bool {
        (0..1_000).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            holds()
        })
    }

    #[test]
    fn helpers_count_into_the_totals_of_their_ports_and_end_with_the_run() {
        let (texts, ports) = open_free(&["near:80"], &["far:81:8000"]);
        let text = &texts[0];
        let socket = TcpListener::bind("127.0.0.1:0").expect("a port");
        let words = std::cell::RefCell::new(Vec::new());
        let helpers = ports
            .serve::<io::Error>(vec![socket.into()], |station, line| {
                let line: Vec<_> =
                    line[1..].iter().map(|it| it.to_string_lossy().into_owned()).collect();
                words.borrow_mut().push((station.map(str::to_owned), line.join(" ")));
                let mut command = Command::new("sh");
                command.args(["-c", "echo 'clients 3'; exec sleep 60"]);
                Ok(command)
            })
            .expect("helpers");
        let lines = [
            (
                Some("near".to_owned()),
                "relay serve 127.0.0.1:80 10.77.0.1:80 [fd77::1]:80".to_owned(),
            ),
            (None, "relay serve 127.0.0.1:8000".to_owned()),
        ];
        assert_eq!(words.into_inner(), lines);
        assert!(
            eventually(|| helpers.totals().iter().all(|it| it.counts.get("clients") == Some(&3))),
            "{:?}",
            helpers.totals()
        );
        let listen = text.split_once(':').expect("a port").0;
        let named: Vec<_> = helpers.totals().into_iter().map(|it| (it.port, it.station)).collect();
        let near = (format!("127.0.0.1:{listen}"), Some("near".to_owned()));
        assert_eq!(named, [near, ("far:81".to_owned(), None)]);
        let processes: Vec<_> = helpers.children.iter().map(Pid::from_child).collect();
        assert_eq!(helpers.end(), None);
        for process in processes {
            assert!(rustix::process::test_kill_process(process).is_err(), "{process:?}");
        }
    }

    #[test]
    fn a_helper_that_ends_before_the_run_closes_its_port_and_is_a_failure() {
        let (texts, ports) = open_free(&["near:80"], &[]);
        let helpers =
            ports.serve::<io::Error>(Vec::new(), |_, _| Ok(Command::new("true"))).expect("helpers");
        let address = format!("127.0.0.1:{}", texts[0].split_once(':').expect("a port").0);
        assert!(eventually(|| std::net::TcpStream::connect(&address).is_err()));
        assert!(eventually(|| helpers.state.is_lost.load(Ordering::Acquire)));
        assert!(helpers.end().is_some_and(|text| text.contains("ended before the run")));
    }
}
