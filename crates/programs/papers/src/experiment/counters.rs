//! The kernel's TCP counters of a network namespace.

use std::collections::BTreeMap;
use std::fs;

use serde::{Deserialize, Serialize};

use crate::experiment::error::ExperimentError;

/// The counters of the kernel's TCP since its namespace began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TcpCounters {
    /// Retransmission timers that fired.
    pub timeouts: u64,
    /// Segments sent with data that had been sent before.
    pub retransmitted: u64,
    /// Segments sent, retransmissions not included.
    pub segments: u64,
}

impl TcpCounters {
    /// Reads the counters of the namespace in which this program runs.
    ///
    /// # Errors
    /// If the system does not show them.
    pub fn read() -> Result<Self, ExperimentError> {
        let text = |path: &str| {
            fs::read_to_string(path)
                .map_err(|source| ExperimentError::File { path: path.into(), source })
        };
        let values = parse(&format!("{}{}", text("/proc/net/snmp")?, text("/proc/net/netstat")?));
        let value = |name: &str| values.get(name).copied().unwrap_or(0);
        Ok(Self {
            timeouts: value("TcpExt:TCPTimeouts"),
            retransmitted: value("Tcp:RetransSegs"),
            segments: value("Tcp:OutSegs"),
        })
    }
}

/// Pairs of lines, the first with names, the second with values, both after the same word.
fn parse(text: &str) -> BTreeMap<String, u64> {
    let lines: Vec<_> = text.lines().collect();
    let mut values = BTreeMap::new();
    for pair in lines.chunks_exact(2) {
        let mut names = pair[0].split_whitespace();
        let mut numbers = pair[1].split_whitespace();
        let (Some(group), Some(same)) = (names.next(), numbers.next()) else { continue };
        if group != same {
            continue;
        }
        for (name, number) in names.zip(numbers) {
            // Some values are negative; none of those is a counter.
            if let Ok(number) = number.parse() {
                values.insert(format!("{group}{name}"), number);
            }
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_stand_in_pairs_of_lines() {
        let text = "Tcp: RtoAlgorithm MaxConn OutSegs RetransSegs\nTcp: 1 -1 120 7\n\
                    TcpExt: TCPTimeouts\nTcpExt: 2\nodd\n";
        let values = parse(text);
        assert_eq!(values.get("Tcp:RetransSegs"), Some(&7));
        assert_eq!(values.get("TcpExt:TCPTimeouts"), Some(&2));
        assert_eq!(values.get("Tcp:MaxConn"), None);
    }

    #[test]
    fn this_system_has_them() {
        assert!(TcpCounters::read().is_ok());
    }
}
