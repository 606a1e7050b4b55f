//! The files in which the kernel counts and lists what a namespace has.

use std::fs;

/// The files with counters, as seen by a process in the station.
const FILES: [&str; 4] = ["snmp", "netstat", "snmp6", "dev"];
/// The files that list sockets which wait for a peer.
const SOCKETS: [&str; 9] =
    ["tcp", "tcp6", "udp", "udp6", "udplite", "udplite6", "raw", "raw6", "packet"];

/// The beginning of the names of devices of our own TCP.
pub(crate) const ENGINE: &str = "engine";

/// The file that names TCP's congestion control.
const CONGESTION: &str = "/proc/sys/net/ipv4/tcp_congestion_control";

/// The text of the counters of the namespace that the process is in, as
/// [`KernelCounters`](crate::kernel_counters::KernelCounters) reads it; of a shared one those of
/// its devices alone, since the others have counted before.
pub(crate) fn read_files(is_shared: bool) -> String {
    let mut text = String::new();
    for file in if is_shared { &FILES[3..] } else { &FILES[..] } {
        let body = fs::read_to_string(format!("/proc/self/net/{file}")).unwrap_or_default();
        text.push_str("= ");
        text.push_str(file);
        text.push('\n');
        text.push_str(&body);
    }
    if let Ok(congestion) = fs::read_to_string(CONGESTION) {
        text.push_str("= congestion\n");
        text.push_str(&congestion);
    }
    text
}

/// Counts the sockets that wait for a peer in the namespace of the process; an engine of our own
/// does as soon as its device is there.
pub(crate) fn listeners() -> usize {
    let count = |file: &&str| {
        let body = fs::read_to_string(format!("/proc/self/net/{file}")).unwrap_or_default();
        body.lines()
            .skip(1)
            .filter(|line| !file.starts_with("tcp") || line.contains(" 0A "))
            .count()
    };
    let devices = fs::read_to_string("/proc/self/net/dev").unwrap_or_default();
    let engines = devices.lines().filter(|line| line.trim_start().starts_with(ENGINE)).count();
    SOCKETS.iter().map(count).sum::<usize>() + engines
}

/// The files that list sockets with ports.
const PORTS: [&str; 6] = ["tcp", "tcp6", "udp", "udp6", "udplite", "udplite6"];

/// Tells whether a socket in the namespace of the process listens on this port, of any protocol
/// that has ports.
pub(crate) fn listens_on(port: u16) -> bool {
    PORTS.iter().any(|file| {
        let body = fs::read_to_string(format!("/proc/self/net/{file}")).unwrap_or_default();
        is_listed(&body, port, file.starts_with("tcp"))
    })
}

/// Tells whether such a file lists a socket that listens on the port.
///
/// The second column is the local address and its port in hexadecimal digits, the fourth the
/// state: 0A of a TCP socket that listens, 07 of a socket of the others that is not connected.
fn is_listed(body: &str, port: u16, is_tcp: bool) -> bool {
    let listens = if is_tcp { "0A" } else { "07" };
    body.lines().skip(1).any(|line| {
        let mut columns = line.split_whitespace();
        let local = columns.nth(1).unwrap_or_default();
        let state = columns.nth(1);
        let own = local.rsplit(':').next().and_then(|port| u16::from_str_radix(port, 16).ok());
        own == Some(port) && state == Some(listens)
    })
}

#[cfg(test)]
mod tests;
