//! The datagrams that the system drops because their checksum is wrong.

/// The counters of both versions of IP, of the network namespace of this thread.
const FILES: [&str; 2] = ["/proc/thread-self/net/snmp", "/proc/thread-self/net/snmp6"];

/// Counts datagrams of UDP and UDP-Lite with wrong checksums since a moment, of all sockets of the
/// host or its network namespace. The counter of a socket does not tell them from those that find
/// its buffer full.
#[derive(Clone, Copy, Debug)]
pub struct ChecksumErrors {
    before: u64,
}

impl ChecksumErrors {
    /// Begins to count.
    #[must_use]
    pub fn now() -> Self {
        Self { before: total() }
    }

    /// Returns the number since then; 0 if the system does not tell it.
    #[must_use]
    pub fn since(&self) -> u64 {
        total().saturating_sub(self.before)
    }
}

/// Returns the number since the start of the system.
fn total() -> u64 {
    FILES.iter().filter_map(|path| std::fs::read_to_string(path).ok()).map(|it| errors(&it)).sum()
}

/// Adds up the counters in the text of a file: a line of names before a line of numbers, or a name
/// and a number in each line.
fn errors(text: &str) -> u64 {
    let mut sum = 0;
    let mut names: Vec<&str> = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["Udp6InCsumErrors" | "UdpLite6InCsumErrors", number] => {
                sum += number.parse::<u64>().unwrap_or(0);
            }
            ["Udp:" | "UdpLite:", ..] if names.first() == words.first() => {
                let place = names.iter().position(|name| *name == "InCsumErrors");
                let number = place.and_then(|at| words.get(at)?.parse::<u64>().ok());
                sum += number.unwrap_or(0);
            }
            _ => {}
        }
        names = words;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counters_of_both_protocols_and_versions_are_added() {
        let four = "Icmp: InCsumErrors\nIcmp: 400\n\
                    Udp: InDatagrams NoPorts InErrors InCsumErrors MemErrors\nUdp: 9 8 7 30 5\n\
                    UdpLite: InDatagrams InCsumErrors\nUdpLite: 6 200\n";
        assert_eq!(errors(four), 230);
        let six = "Udp6InErrors 5\nUdp6InCsumErrors 4\nUdpLite6InCsumErrors 3\n";
        assert_eq!(errors(six), 7);
        for other in ["", "Udp:\nUdp:\n", "Udp: InCsumErrors\n", "Udp: InCsumErrors\nUdp: x\n"] {
            assert_eq!(errors(other), 0, "{other:?}");
        }
    }
}
