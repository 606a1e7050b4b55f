//! What ports that lead into a run and out of it carried and dropped.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

/// A port of `--publish` or `--reach`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PortSummary {
    /// The address of the port, or the station and its number.
    pub port: String,
    /// The station in which connections go on; `None` for the host.
    pub station: Option<String>,
    /// Connections of TCP, or clients of UDP, that came.
    pub clients: u64,
    /// Connections, clients and datagrams that were dropped, by reason.
    pub dropped: BTreeMap<&'static str, u64>,
}

impl fmt::Display for PortSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { port, clients, dropped, .. } = self;
        write!(f, "port {port}: {clients} clients")?;
        let mut reasons = dropped.iter();
        if let Some((reason, count)) = reasons.next() {
            write!(f, "; dropped {count} {reason}")?;
        }
        reasons.try_for_each(|(reason, count)| write!(f, ", {count} {reason}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_dropped_is_named() {
        let mut port =
            PortSummary { port: "127.0.0.1:53".to_owned(), clients: 9, ..PortSummary::default() };
        assert_eq!(port.to_string(), "port 127.0.0.1:53: 9 clients");
        port.dropped = BTreeMap::from([("evicted-idle", 3), ("refused", 2)]);
        let text = "port 127.0.0.1:53: 9 clients; dropped 3 evicted-idle, 2 refused";
        assert_eq!(port.to_string(), text);
    }
}
