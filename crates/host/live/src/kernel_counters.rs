//! What the kernel counts in a station's namespace, and what of it was dropped.

pub mod account;

use std::collections::BTreeMap;

use windfall_base::{DropReason, Drops};

/// The counters of one station, by name, such as `Udp.InCsumErrors` or `dev.wf0.rx_dropped`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelCounters {
    values: BTreeMap<String, u64>,
    congestion: Option<String>,
}

/// Counters of one device of a station, of what came from the link.
#[derive(Clone, Copy, Debug, Default)]
pub struct DeviceCounters {
    /// Packets that it passed up.
    pub rx_packets: u64,
    /// Packets dropped for want of room or of a receiver.
    pub rx_dropped: u64,
    /// Packets that were no frames.
    pub rx_frame: u64,
}

impl KernelCounters {
    /// The value of a counter; 0 if this kernel does not have it.
    #[must_use]
    pub fn get(&self, name: &str) -> u64 {
        self.values.get(name).copied().unwrap_or(0)
    }

    /// The congestion control that TCP in the station begins with.
    #[must_use]
    pub fn congestion(&self) -> Option<&str> {
        self.congestion.as_deref()
    }

    /// Returns the packets that the kernel dropped on their way to the link, by reason.
    #[must_use]
    pub fn drops_before(&self) -> Drops {
        let mut drops = Drops::default();
        drops.count_many(DropReason::Device, self.of_devices(".tx_dropped"));
        drops
    }

    /// Returns the sum of one column over the station's devices.
    fn of_devices(&self, column: &str) -> u64 {
        self.values
            .iter()
            .filter(|(name, _)| name.starts_with("dev.wf") && name.ends_with(column))
            .map(|(_, value)| value)
            .sum()
    }

    //= S0.71
    /// Returns the packets that the kernel dropped on their way from the link, by reason (S0.71),
    /// but for those that it took from its devices no further.
    #[must_use]
    pub fn drops_after(&self) -> Drops {
        let sum = |names: &[&str]| names.iter().map(|name| self.get(name)).sum::<u64>();
        let tcp_checksum = self.get("Tcp.InCsumErrors");
        let lite_checksum = sum(&["UdpLite.InCsumErrors", "UdpLite6InCsumErrors"]);
        let hop_limit = self.hops_exceeded();
        let malformed = self.header_errors().iter().sum::<u64>().saturating_sub(hop_limit)
            + self.get("Tcp.InErrs").saturating_sub(tcp_checksum)
            + self.datagram_errors("Udp.", "Udp6")
            + sum(&["IpExt.InTruncatedPkts", "Ip6InTruncatedPkts"]);
        let counts = [
            (DropReason::TooBig, self.too_big()),
            (
                DropReason::NotForUs,
                sum(&["Ip.InAddrErrors", "Ip6InAddrErrors", "TcpExt.IPReversePathFilter"]),
            ),
            (DropReason::Malformed, malformed),
            (DropReason::IpHeaderChecksum, self.get("IpExt.InCsumErrors")),
            (DropReason::HopLimit, hop_limit),
            (DropReason::NoRoute, sum(&["IpExt.InNoRoutes", "Ip6InNoRoutes"])),
            (DropReason::Reassembly, sum(&["Ip.ReasmFails", "Ip6ReasmFails"])),
            (DropReason::UdpChecksum, sum(&["Udp.InCsumErrors", "Udp6InCsumErrors"])),
            (DropReason::UdpLiteChecksum, lite_checksum),
            (DropReason::UdpLiteCoverage, self.datagram_errors("UdpLite.", "UdpLite6")),
            (DropReason::TcpChecksum, tcp_checksum),
            (DropReason::IcmpChecksum, sum(&["Icmp.InCsumErrors", "Icmp6InCsumErrors"])),
            (
                DropReason::NoListener,
                sum(&[
                    "Udp.NoPorts",
                    "Udp6NoPorts",
                    "UdpLite.NoPorts",
                    "UdpLite6NoPorts",
                    "Ip.InUnknownProtos",
                    "Ip6InUnknownProtos",
                ]),
            ),
            (
                DropReason::ReceiveBuffer,
                sum(&[
                    "Udp.RcvbufErrors",
                    "Udp6RcvbufErrors",
                    "UdpLite.RcvbufErrors",
                    "UdpLite6RcvbufErrors",
                    "Udp.MemErrors",
                    "Udp6MemErrors",
                    "UdpLite.MemErrors",
                    "UdpLite6MemErrors",
                    "TcpExt.TCPBacklogDrop",
                    "TcpExt.TCPRcvQDrop",
                ]),
            ),
            (DropReason::Device, self.of_devices(".rx_errors")),
        ];
        let mut drops = Drops::default();
        for (reason, count) in counts {
            drops.count_many(reason, count);
        }
        drops
    }

    /// Tells whether the station forwards, so that what came from a link may have to leave again.
    fn forwards(&self) -> bool {
        self.get("Ip.Forwarding") == 1
    }

    /// Returns the packets that came from a link and were too big for the next one.
    ///
    /// The kernel counts one of IPv6 twice, as `Ip6FragFails` as well.
    fn too_big(&self) -> u64 {
        let cut = if self.forwards() { self.get("Ip.FragFails") } else { 0 };
        cut + self.get("Ip6InTooBigErrors")
    }

    /// Returns the errors in headers of IPv4, but for wrong checksums, and of IPv6. A hop limit
    /// that ran out is among them.
    fn header_errors(&self) -> [u64; 2] {
        let errors = self.get("Ip.InHdrErrors").saturating_sub(self.get("IpExt.InCsumErrors"));
        [errors, self.get("Ip6InHdrErrors")]
    }

    /// Returns the packets whose hop limit ran out at the station.
    ///
    /// The kernel tells them apart only by the errors with which it answers, and of those it holds
    /// back most when there are many: what it held back counts too, once it has sent one.
    fn hops_exceeded(&self) -> u64 {
        if !self.forwards() {
            return 0;
        }
        let of = |family: &str, errors: u64| {
            let count = |name: &str| self.get(&format!("{family}{name}"));
            let held_back = count("OutRateLimitHost") + count("OutRateLimitGlobal");
            match count("OutTimeExcds") {
                0 => 0,
                told => errors.min(told + held_back),
            }
        };
        let [v4, v6] = self.header_errors();
        of("Icmp.", v4) + of("Icmp6", v6)
    }

    /// Returns the datagrams that were neither damaged nor without room: those of a wrong length,
    /// and of UDP-Lite those that cover too little. `v4` and `v6` begin the names of the counters.
    fn datagram_errors(&self, v4: &str, v6: &str) -> u64 {
        let named = ["InCsumErrors", "RcvbufErrors", "MemErrors"];
        let of = |family: &str| {
            let named = named.iter().map(|name| self.get(&format!("{family}{name}"))).sum();
            self.get(&format!("{family}InErrors")).saturating_sub(named)
        };
        of(v4) + of(v6)
    }

    /// Returns the counters of the device called `name`, if there is one.
    #[must_use]
    pub fn device(&self, name: &str) -> Option<DeviceCounters> {
        let count = |column: &str| self.values.get(&format!("dev.{name}.{column}")).copied();
        Some(DeviceCounters {
            rx_packets: count("rx_packets")?,
            rx_dropped: count("rx_dropped")?,
            rx_frame: count("rx_frame")?,
        })
    }

    /// Every counter that is not zero, in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.values
            .iter()
            .map(|(name, value)| (name.as_str(), *value))
            .filter(|(_, value)| *value > 0)
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
                "congestion" => counters.congestion = Some(body.trim().to_owned()),
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
            self.values.insert(name, value);
        }
    }
}

#[cfg(test)]
mod tests;
