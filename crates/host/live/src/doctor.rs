//! What this machine allows, tried out rather than guessed, and what to do about the rest.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr};

use nix::sys::resource::{Resource, getrlimit};
use nix::sys::socket::{AddressFamily, SockType};
use serde::Serialize;

use crate::congestion;
use crate::device::tun;
use crate::error::LiveError;
use crate::nat::NatGateway;
use crate::obstacle::{self, MOUNT_PROC, NO_PROC, RAISE_OPEN_FILES, REMEDY};
use crate::plan::{DeviceKind, DevicePlan, LivePlan, LiveStationPlan};
use crate::program::{self, installed};
use crate::stations::Stations;
use crate::system;

/// The degree to which something works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Health {
    /// It works as it should.
    Good,
    /// It does not, and something else stands in for it.
    Degraded,
    /// It does not, and what needs it cannot run.
    Missing,
}

/// One thing that was tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnosis {
    /// The name of the thing.
    pub name: &'static str,
    /// The degree to which it works.
    pub health: Health,
    /// The result of the attempt.
    pub found: String,
    /// Advice about it; empty if nothing need be done.
    pub fix: String,
}

impl Diagnosis {
    fn good(name: &'static str, found: impl Into<String>) -> Self {
        Self { name, health: Health::Good, found: found.into(), fix: String::new() }
    }

    fn bad(name: &'static str, health: Health, found: impl Into<String>, fix: &str) -> Self {
        Self { name, health, found: found.into(), fix: fix.to_owned() }
    }

    fn failed(name: &'static str, health: Health, error: &LiveError) -> Self {
        let text = error.to_string();
        let (found, fix) = text.split_once(REMEDY).unwrap_or((&text, ""));
        Self::bad(name, health, found, fix)
    }
}

/// Tries everything that runs in real time may need.
///
/// Must be called while the process has a single thread.
#[must_use]
pub fn examine() -> Vec<Diagnosis> {
    let mut diagnoses = stations();
    diagnoses.extend([
        open_files(),
        tun_device(),
        datagrams(),
        raw_sockets(),
        congestion_control(),
    ]);
    diagnoses.extend(PROGRAMS.iter().map(look_for));
    diagnoses
}

/// Builds stations as a run would, and looks out of them as `--net` does.
fn stations() -> Vec<Diagnosis> {
    if !obstacle::has_proc() {
        return vec![Diagnosis::bad("proc", Health::Missing, NO_PROC, MOUNT_PROC)];
    }
    let whose = if system::privileged() { "as root" } else { "in a user namespace" };
    if let Err(error) = program::no_input() {
        return vec![Diagnosis::failed("null", Health::Missing, &error)];
    }
    match Stations::build(plan(), None, Vec::new()) {
        Ok(stations) => {
            let device = match stations.kind() {
                DeviceKind::Tun => "TUN, with large segments",
                DeviceKind::Packet => "virtual Ethernet, packet sockets",
            };
            // The next ones are built when these are gone.
            drop(stations);
            vec![
                Diagnosis::good("namespaces", format!("stations can be built {whose}")),
                Diagnosis::good("devices", device),
                parameters(),
                outside(),
            ]
        }
        Err(error) => vec![Diagnosis::failed("namespaces", Health::Missing, &error)],
    }
}

/// The addresses of the stations.
const NEAR: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 77, 0, 1));
const FAR: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 77, 0, 2));

/// Two stations with a device each.
fn plan() -> LivePlan {
    let stations = vec![station("near", NEAR), station("far", FAR)];
    LivePlan { stations, ports: vec![(0, 0), (1, 0)], ..LivePlan::default() }
}

/// Returns the plan of a station with one device.
fn station(name: &str, address: IpAddr) -> LiveStationPlan {
    let device = DevicePlan { name: "wf0".into(), mtu: 1500, addresses: vec![(address, 24)] };
    LiveStationPlan { name: name.into(), devices: vec![device], ..LiveStationPlan::default() }
}

/// Gives a station a kernel parameter, as `--sysctl` does and as forwarding needs.
fn parameters() -> Diagnosis {
    const NAME: &str = "parameters";
    let mut plan = plan();
    plan.stations[0].parameters.push(("net.ipv4.ip_forward".into(), "1".into()));
    match Stations::build(plan, None, Vec::new()) {
        Ok(_) => Diagnosis::good(NAME, "stations can have kernel parameters of their own"),
        Err(error) => {
            let fix = obstacle::unmask();
            Diagnosis::bad(NAME, Health::Degraded, error.to_string(), &fix)
        }
    }
}

/// Opens the host's network behind a station.
fn outside() -> Diagnosis {
    const NAME: &str = "outside";
    let mut plan = plan();
    plan.add_nat(0, 1, FAR);
    let stations = Stations::build(plan, None, Vec::new());
    match stations.and_then(|mut stations| NatGateway::open(&mut stations, false)) {
        Ok(_) => Diagnosis::good(NAME, "--net: programs can reach the host's network"),
        Err(error) => Diagnosis::failed(NAME, Health::Degraded, &error),
    }
}

/// The number of open files that a run with programs at both ends and `--net` needs at most.
const OPEN_FILES: u64 = 64;

/// Counts the files that may be open: each device, namespace and program needs some.
fn open_files() -> Diagnosis {
    const NAME: &str = "open-files";
    match getrlimit(Resource::RLIMIT_NOFILE) {
        Ok((limit, _)) if limit < OPEN_FILES => {
            let found = format!("{limit} may be open at a time, and runs need {OPEN_FILES}");
            Diagnosis::bad(NAME, Health::Degraded, found, RAISE_OPEN_FILES)
        }
        _ => Diagnosis::good(NAME, "enough may be open at a time"),
    }
}

fn tun_device() -> Diagnosis {
    match tun::open() {
        Ok(_) => Diagnosis::good("tun", format!("{} is open", tun::PATH)),
        Err(error) => {
            let fix = "nothing need be done: packet sockets stand in for it";
            Diagnosis::bad("tun", Health::Degraded, format!("{}: {error}", tun::PATH), fix)
        }
    }
}

/// UDP-Lite of the kernel, which left Linux in 7.1.
fn datagrams() -> Diagnosis {
    match raw_open(SockType::Datagram, 136) {
        Ok(()) => Diagnosis::good("udp-lite", "the kernel has UDP-Lite sockets"),
        Err(error) => {
            let fix = "nothing need be done: programs use raw sockets or the carrier over UDP";
            Diagnosis::bad("udp-lite", Health::Degraded, error.to_string(), fix)
        }
    }
}

/// Opens and closes a socket of a protocol that no library names.
fn raw_open(kind: SockType, protocol: i32) -> io::Result<()> {
    // SAFETY: the call takes plain numbers.
    let descriptor =
        unsafe { nix::libc::socket(AddressFamily::Inet as i32, kind as i32, protocol) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just opened, and nothing else holds it.
    unsafe { nix::libc::close(descriptor) };
    Ok(())
}

fn raw_sockets() -> Diagnosis {
    match raw_open(SockType::Raw, 255) {
        Ok(()) => Diagnosis::good("raw-sockets", "open"),
        Err(error) => {
            let found = format!("closed outside stations ({error}); inside them they are open");
            Diagnosis::good("raw-sockets", found)
        }
    }
}

fn congestion_control() -> Diagnosis {
    let default = fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control");
    let default = default.unwrap_or_default().trim().to_owned();
    let there = congestion::available().join(" ");
    let may = congestion::allowed().join(" ");
    let found = format!("default {default}; there are {there}; stations may use {may}");
    if default == "bbr" {
        let fix =
            "bbr does not back off on loss: choose --tcp-congestion reno where loss should count";
        return Diagnosis::bad("tcp-congestion", Health::Degraded, found, fix);
    }
    Diagnosis::good("tcp-congestion", found)
}

/// A program that makes more possible, which the Debian package of its name has.
struct Program {
    name: &'static str,
    purpose: &'static str,
}

const PROGRAMS: [Program; 2] = [
    Program { name: "tshark", purpose: "looking into captures" },
    Program { name: "iperf3", purpose: "measuring TCP" },
];

fn look_for(&Program { name, purpose }: &Program) -> Diagnosis {
    match installed(name) {
        Some(path) => Diagnosis::good(name, path),
        None => {
            let fix = format!("apt-get install {name}");
            let found = format!("not installed; for {purpose}");
            Diagnosis::bad(name, Health::Degraded, found, &fix)
        }
    }
}
