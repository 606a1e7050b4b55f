//! What the kernel counts in a station's namespace, and what of it was dropped.

use std::collections::BTreeMap;
use std::fs;

/// The files with counters, as seen by a process in the station.
const FILES: [&str; 4] = ["snmp", "netstat", "snmp6", "dev"];
/// The files that list sockets which wait for somebody.
const SOCKETS: [&str; 9] =
    ["tcp", "tcp6", "udp", "udp6", "udplite", "udplite6", "raw", "raw6", "packet"];

/// The counters of one station, by name, such as `Udp.InCsumErrors` or `dev.wf0.rx_dropped`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters(BTreeMap<String, u64>);

impl Counters {
    /// The value of a counter; 0 if this kernel does not have it.
    #[must_use]
    pub fn get(&self, name: &str) -> u64 {
        self.0.get(name).copied().unwrap_or(0)
    }

    /// Every counter that is not zero, in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(name, value)| (name.as_str(), *value)).filter(|(_, value)| *value > 0)
    }

    /// Reads the text of the files, one after another, each after a line `= name`.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut counters = Self::default();
        for part in text.split("= ").skip(1) {
            let (file, body) = part.split_once('\n').unwrap_or((part, ""));
            match file {
                "snmp" | "netstat" => counters.parse_table(body),
                "snmp6" => counters.parse_list(body),
                "dev" => counters.parse_devices(body),
                _ => {}
            }
        }
        counters
    }

    /// Pairs of lines: `Udp: Name …` and `Udp: value …`.
    fn parse_table(&mut self, body: &str) {
        let mut lines = body.lines();
        while let (Some(names), Some(values)) = (lines.next(), lines.next()) {
            let (Some((group, names)), Some((_, values))) =
                (names.split_once(':'), values.split_once(':'))
            else {
                continue;
            };
            for (name, value) in names.split_whitespace().zip(values.split_whitespace()) {
                self.put(format!("{group}.{name}"), value);
            }
        }
    }

    /// Lines of a name and a value: `Udp6InErrors 0`.
    fn parse_list(&mut self, body: &str) {
        for line in body.lines() {
            if let Some((name, value)) = line.split_once(char::is_whitespace) {
                self.put(name.to_owned(), value.trim());
            }
        }
    }

    /// Lines of a device and 16 values, after two lines of headings.
    fn parse_devices(&mut self, body: &str) {
        const COLUMNS: [&str; 16] = [
            "rx_bytes",
            "rx_packets",
            "rx_errors",
            "rx_dropped",
            "rx_fifo",
            "rx_frame",
            "rx_compressed",
            "rx_multicast",
            "tx_bytes",
            "tx_packets",
            "tx_errors",
            "tx_dropped",
            "tx_fifo",
            "tx_collisions",
            "tx_carrier",
            "tx_compressed",
        ];
        for line in body.lines() {
            if let Some((device, values)) = line.split_once(':') {
                for (column, value) in COLUMNS.iter().zip(values.split_whitespace()) {
                    self.put(format!("dev.{}.{column}", device.trim()), value);
                }
            }
        }
    }

    fn put(&mut self, name: String, value: &str) {
        if let Ok(value) = value.parse() {
            self.0.insert(name, value);
        }
    }
}

/// The text of the counters of the namespace that the process is in, for [`Counters::parse`].
pub(crate) fn read_files() -> String {
    let mut text = String::new();
    for file in FILES {
        let body = fs::read_to_string(format!("/proc/self/net/{file}")).unwrap_or_default();
        text.push_str("= ");
        text.push_str(file);
        text.push('\n');
        text.push_str(&body);
    }
    text
}

/// How many sockets in the namespace that the process is in wait for somebody.
pub(crate) fn listeners() -> usize {
    let count = |file: &&str| {
        let body = fs::read_to_string(format!("/proc/self/net/{file}")).unwrap_or_default();
        let waits = |line: &&str| !file.starts_with("tcp") || line.contains(" 0A ");
        body.lines().skip(1).filter(waits).count()
    };
    SOCKETS.iter().map(count).sum()
}

#[cfg(test)]
mod tests;
