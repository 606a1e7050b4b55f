//! What this machine allows, tried out rather than guessed, and what to do about the rest.

use std::fs;
use std::io;

use nix::sys::socket::{AddressFamily, SockType};
use serde::Serialize;

use crate::congestion;
use crate::device::tun;
use crate::error::{Error, advice};
use crate::namespace;
use crate::plan::{DeviceKind, DevicePlan, Plan, StationPlan};
use crate::program::installed;
use crate::stage::Stage;

/// How well something works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Health {
    /// It works.
    Good,
    /// It does not, and something else stands in for it.
    Degraded,
    /// It does not, and what needs it cannot run.
    Missing,
}

/// One thing that was tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What.
    pub name: &'static str,
    /// How well it works.
    pub health: Health,
    /// What was found.
    pub found: String,
    /// What to do about it; empty if nothing need be done.
    pub fix: String,
}

impl Finding {
    fn good(name: &'static str, found: impl Into<String>) -> Self {
        Self { name, health: Health::Good, found: found.into(), fix: String::new() }
    }

    fn bad(name: &'static str, health: Health, found: impl Into<String>, fix: &str) -> Self {
        Self { name, health, found: found.into(), fix: fix.to_owned() }
    }
}

/// Tries everything that runs in real time may need.
///
/// Must be called while the process has a single thread.
#[must_use]
pub fn examine() -> Vec<Finding> {
    let mut findings = stations();
    findings.extend([tun_device(), datagrams(), raw_sockets(), congestion_control()]);
    findings.extend(PROGRAMS.iter().map(program));
    findings
}

/// Builds a station with a device, as a run would.
fn stations() -> Vec<Finding> {
    let privileged = namespace::privileged();
    let device = DevicePlan { name: "wf0".into(), mtu: 1500, addresses: Vec::new() };
    let station =
        StationPlan { name: "near".into(), devices: vec![device], ..StationPlan::default() };
    let plan = Plan { stations: vec![station], ports: vec![(0, 0)], ..Plan::default() };
    let whose = if privileged { "as root" } else { "in a user namespace" };
    match Stage::build(plan, None, Vec::new()) {
        Ok(stage) => {
            let device = match stage.kind() {
                DeviceKind::Tun => Finding::good("devices", "TUN, with large segments"),
                DeviceKind::Packet => Finding::good("devices", "virtual Ethernet, packet sockets"),
            };
            vec![Finding::good("namespaces", format!("stations can be built {whose}")), device]
        }
        Err(error) => {
            let fix = "run as root, or set user.max_user_namespaces above 0, \
                       kernel.unprivileged_userns_clone to 1 and \
                       kernel.apparmor_restrict_unprivileged_userns to 0, where they exist";
            let fix = match &error {
                Error::NamespacesClosed(source) if !is_forbidden(source) => advice(source),
                _ => fix,
            };
            vec![Finding::bad("namespaces", Health::Missing, error.to_string(), fix)]
        }
    }
}

fn is_forbidden(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}

fn tun_device() -> Finding {
    match tun::open() {
        Ok(_) => Finding::good("tun", format!("{} is open", tun::PATH)),
        Err(error) => {
            let fix = "nothing need be done: packet sockets stand in for it";
            Finding::bad("tun", Health::Degraded, format!("{}: {error}", tun::PATH), fix)
        }
    }
}

/// UDP-Lite of the kernel, which left Linux in 7.1.
fn datagrams() -> Finding {
    match raw_open(SockType::Datagram, 136) {
        Ok(()) => Finding::good("udp-lite", "the kernel has UDP-Lite sockets"),
        Err(error) => {
            let fix = "nothing need be done: programs use raw sockets or the carrier over UDP";
            Finding::bad("udp-lite", Health::Degraded, error.to_string(), fix)
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
    // SAFETY: the descriptor was just opened, and nobody else has it.
    unsafe { nix::libc::close(descriptor) };
    Ok(())
}

fn raw_sockets() -> Finding {
    match raw_open(SockType::Raw, 255) {
        Ok(()) => Finding::good("raw-sockets", "open"),
        Err(error) => {
            let found = format!("closed outside stations ({error}); inside them they are open");
            Finding::good("raw-sockets", found)
        }
    }
}

fn congestion_control() -> Finding {
    let default = fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control");
    let default = default.unwrap_or_default().trim().to_owned();
    let (there, may) = (congestion::available().join(" "), congestion::allowed().join(" "));
    let found = format!("default {default}; there are {there}; stations may use {may}");
    if default == "bbr" {
        let fix =
            "bbr does not back off on loss: choose --tcp-congestion reno where loss should count";
        return Finding::bad("tcp-congestion", Health::Degraded, found, fix);
    }
    Finding::good("tcp-congestion", found)
}

/// Programs that make more possible: the name, what for, the Debian package.
const PROGRAMS: [(&str, &str, &str); 3] = [
    ("slirp4netns", "--net: the host's network behind the link", "slirp4netns"),
    ("tshark", "looking into captures", "tshark"),
    ("iperf3", "measuring TCP", "iperf3"),
];

fn program(&(name, purpose, package): &(&'static str, &str, &str)) -> Finding {
    match installed(name) {
        Some(path) => Finding::good(name, path),
        None => {
            let fix = format!("apt-get install {package}");
            let found = format!("not installed; for {purpose}");
            Finding::bad(name, Health::Degraded, found, &fix)
        }
    }
}
