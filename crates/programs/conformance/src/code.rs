//! Python code of scripts: assertions on what the system tells of a connection.
//!
//! Of Python there is `assert` with comparisons, `and`, `or`, `not`, whole numbers and arithmetic;
//! everything else is named as not supported.

use windfall_base::Instant;
use windfall_tcp::{Connection, SendPhase, TcpState};

use crate::verdict::Stop;

/// Binary operators, those that bind least first.
const LEVELS: [&[&str]; 7] = [
    &["or"],
    &["and"],
    &["==", "!=", "<=", ">=", "<", ">"],
    &["|"],
    &["&"],
    &["+", "-"],
    &["*", "//"],
];

/// The place of comparisons among them.
const COMPARISONS: usize = 2;

/// The number of the state of a socket that listens.
const LISTENING: i64 = 10;
/// The most parentheses that may stand within each other.
const DEPTH: usize = 32;

/// The facts that assertions speak of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts<'a> {
    pub(crate) connection: Option<&'a Connection>,
    /// Without a connection: a socket listens.
    pub(crate) listens: bool,
    pub(crate) now: Instant,
    /// When the script last sent data.
    pub(crate) last_data: Instant,
    /// Data on a SYN were acknowledged with it.
    pub(crate) syn_data: bool,
    /// The bytes of such data that the engine had sent.
    pub(crate) syn_len: u64,
    /// The greatest distance at which a segment of the engine was overtaken, in bytes.
    pub(crate) overtaken: u64,
    /// The size of the segments that arrive.
    pub(crate) peer_size: u32,
}

/// Checks every assertion of `text`.
pub(crate) fn run(text: &str, facts: Facts<'_>) -> Result<(), Stop> {
    // A backslash at the end of a line joins it with the next.
    let text = text.replace("\\\n", " ");
    for line in text.lines().flat_map(|line| line.split(';')).map(str::trim) {
        if line.is_empty() || line.starts_with('#') || line.starts_with("print") {
            continue;
        }
        // A constant of Linux may be named again.
        if let Some((name, value)) = line.split_once(" = ")
            && let (Some(known), Some(value)) = (constant(name), literal(value))
            && known == value
        {
            continue;
        }
        let Some(rest) = line.strip_prefix("assert") else {
            return Stop::unsupported(format!("the Python code \"{line}\""));
        };
        let words = words(rest);
        let mut reader = Reader { words: &words, facts, line };
        let value = reader.expression(0, DEPTH)?;
        // Behind a comma stands what Python would say.
        if !matches!(reader.words.first(), None | Some(&",")) {
            return reader.unsupported();
        }
        if value == 0 {
            let names = words.iter().filter(|it| it.starts_with("tcpi_"));
            let values: Result<Vec<_>, Stop> =
                names.map(|name| Ok(format!("{name} = {}", named(name, facts)?))).collect();
            return Stop::instead("an assertion does not hold", line, values?.join(", "));
        }
    }
    Ok(())
}

/// Cuts a line into names, numbers and operators.
fn words(mut text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    loop {
        text = text.trim_start();
        let mut len =
            text.find(|it: char| !(it.is_alphanumeric() || it == '_')).unwrap_or(text.len());
        if len == 0 {
            let double = ["==", "!=", "<=", ">=", "//"].iter().any(|it| text.starts_with(it));
            len = if double { 2 } else { text.chars().next().map_or(0, char::len_utf8) };
        }
        if len == 0 {
            return words;
        }
        let (word, rest) = text.split_at(len);
        words.push(word);
        text = rest;
    }
}

struct Reader<'a> {
    words: &'a [&'a str],
    facts: Facts<'a>,
    line: &'a str,
}

impl Reader<'_> {
    fn unsupported<T>(&self) -> Result<T, Stop> {
        Stop::unsupported(format!("the Python code \"{}\"", self.line))
    }

    fn expression(&mut self, level: usize, depth: usize) -> Result<i64, Stop> {
        let Some(operators) = LEVELS.get(level) else { return self.single(depth) };
        if level == COMPARISONS
            && let (Some((&"not", rest)), Some(depth)) =
                (self.words.split_first(), depth.checked_sub(1))
        {
            self.words = rest;
            return Ok(i64::from(self.expression(level, depth)? == 0));
        }
        let mut left = self.expression(level + 1, depth)?;
        // Comparisons that follow each other hold if each of them does.
        let mut holds = None;
        while let Some((operator, rest)) =
            self.words.split_first().filter(|(it, _)| operators.contains(*it))
        {
            let operator = *operator;
            self.words = rest;
            let right = self.expression(level + 1, depth)?;
            let Some(value) = apply(left, operator, right) else { return self.unsupported() };
            if level == COMPARISONS {
                holds = Some(holds.unwrap_or(1) & value);
                left = right;
            } else {
                left = value;
            }
        }
        Ok(holds.unwrap_or(left))
    }

    fn single(&mut self, depth: usize) -> Result<i64, Stop> {
        let (Some((word, rest)), Some(depth)) = (self.words.split_first(), depth.checked_sub(1))
        else {
            return self.unsupported();
        };
        self.words = rest;
        match *word {
            "(" => {
                let value = self.expression(0, depth)?;
                let Some((&")", rest)) = self.words.split_first() else {
                    return self.unsupported();
                };
                self.words = rest;
                Ok(value)
            }
            "-" => Ok(self.single(depth)?.wrapping_neg()),
            word if word.starts_with(|it: char| it.is_ascii_digit()) => {
                literal(word).map_or_else(|| self.unsupported(), Ok)
            }
            name => named(name, self.facts),
        }
    }
}

/// Reads a whole number, decimal or hexadecimal.
fn literal(word: &str) -> Option<i64> {
    let hexadecimal = word.strip_prefix("0x").map(|it| i64::from_str_radix(it, 16));
    hexadecimal.unwrap_or_else(|| word.parse()).ok()
}

fn apply(left: i64, operator: &str, right: i64) -> Option<i64> {
    Some(match operator {
        "or" => i64::from(left != 0 || right != 0),
        "and" => i64::from(left != 0 && right != 0),
        "==" => i64::from(left == right),
        "!=" => i64::from(left != right),
        "<=" => i64::from(left <= right),
        ">=" => i64::from(left >= right),
        "<" => i64::from(left < right),
        ">" => i64::from(left > right),
        "|" => left | right,
        "&" => left & right,
        "+" => left.checked_add(right)?,
        "-" => left.checked_sub(right)?,
        "*" => left.checked_mul(right)?,
        _ => left.checked_div_euclid(right)?,
    })
}

/// Returns what a name stands for: a constant of Linux, or a member of its `tcp_info`.
fn named(name: &str, facts: Facts<'_>) -> Result<i64, Stop> {
    if let Some(value) = constant(name) {
        return Ok(value);
    }
    if name == "tcpi_state" && facts.connection.is_none() {
        return Ok(if facts.listens { LISTENING } else { state(TcpState::Closed) });
    }
    let Some(connection) = facts.connection else {
        return Stop::unsupported(format!("{name} without a connection"));
    };
    let mss = connection.segment_size().max(1);
    let flight = connection.flight();
    let segments = |bytes: u64| bytes.div_ceil(mss) as i64;
    let is_open = !matches!(connection.state(), TcpState::SynSent | TcpState::SynReceived);
    let negotiated = connection.negotiated();
    Ok(match name {
        "tcpi_state" => state(connection.state()),
        "tcpi_snd_cwnd" => (connection.congestion_window() / mss) as i64,
        "tcpi_snd_ssthresh" => {
            let threshold = connection.slow_start_threshold() / mss;
            threshold.min(0x7fff_ffff) as i64
        }
        "tcpi_ca_state" => phase(flight.phase),
        "tcpi_unacked" => segments(flight.outstanding) + i64::from(!is_open),
        "tcpi_rcv_mss" => i64::from(facts.peer_size),
        // Three at least, as Linux has it.
        "tcpi_reordering" => segments(facts.overtaken).max(3),
        "tcpi_lost" => segments(flight.lost),
        "tcpi_retrans" => segments(flight.repeated),
        "tcpi_sacked" => segments(flight.reported),
        // The SYN counts, with the data on it.
        "tcpi_delivered" => {
            let later = connection.acknowledged().saturating_sub(facts.syn_len);
            i64::from(is_open) + segments(later) + segments(flight.reported)
        }
        "tcpi_snd_mss" => mss as i64,
        "tcpi_advmss" => i64::from(connection.config().mss),
        "tcpi_last_data_recv" => (facts.now.saturating_since(facts.last_data)).as_millis() as i64,
        "tcpi_rto" => connection.retransmission_timeout().as_micros() as i64,
        "tcpi_rtt" => connection.round_trip_time().map_or(0, |it| it.as_micros() as i64),
        "tcpi_total_retrans" => connection.operations().retransmissions as i64,
        "tcpi_delivered_ce" => i64::from(connection.reported_marks()),
        "tcpi_snd_wscale" => i64::from(negotiated.send_shift),
        "tcpi_rcv_wscale" => i64::from(negotiated.receive_shift),
        "tcpi_options" => {
            i64::from(negotiated.timestamps)
                | i64::from(negotiated.sack) << 1
                | i64::from(negotiated.scaling) << 2
                | i64::from(negotiated.ecn) << 3
                | i64::from(facts.syn_data) << 5
        }
        _ => return Stop::unsupported(name),
    })
}

/// Returns the number of a phase in Linux.
fn phase(phase: SendPhase) -> i64 {
    match phase {
        SendPhase::Open => 0,
        SendPhase::Disorder => 1,
        SendPhase::Reduced => 2,
        SendPhase::Recovery => 3,
        SendPhase::Loss => 4,
    }
}

fn constant(name: &str) -> Option<i64> {
    Some(match name {
        "True" => 1,
        "False" => 0,
        "TCPI_OPT_TIMESTAMPS" => 1,
        "TCPI_OPT_SACK" => 2,
        "TCPI_OPT_WSCALE" => 4,
        "TCPI_OPT_ECN" => 8,
        "TCPI_OPT_SYN_DATA" => 32,
        "TCP_CA_Open" => 0,
        "TCP_CA_Disorder" => 1,
        "TCP_CA_CWR" => 2,
        "TCP_CA_Recovery" => 3,
        "TCP_CA_Loss" => 4,
        "TCP_INFINITE_SSTHRESH" => 0x7fff_ffff,
        // The states of Linux, and FreeBSD's names of the same.
        "TCP_ESTABLISHED" | "TCPI_ESTABLISHED" => 1,
        "TCP_SYN_SENT" | "TCPI_SYN_SENT" => 2,
        "TCP_SYN_RECV" | "TCPI_SYN_RECEIVED" => 3,
        "TCP_FIN_WAIT1" | "TCPI_FIN_WAIT_1" => 4,
        "TCP_FIN_WAIT2" | "TCPI_FIN_WAIT_2" => 5,
        "TCP_TIME_WAIT" | "TCPI_TIME_WAIT" => 6,
        "TCP_CLOSE" | "TCPI_CLOSED" => 7,
        "TCP_CLOSE_WAIT" | "TCPI_CLOSE_WAIT" => 8,
        "TCP_LAST_ACK" | "TCPI_LAST_ACK" => 9,
        "TCP_CLOSING" | "TCPI_CLOSING" => 11,
        "TCP_LISTEN" | "TCPI_LISTEN" => LISTENING,
        _ => return None,
    })
}

/// Returns the number of a state in Linux.
fn state(state: TcpState) -> i64 {
    match state {
        TcpState::Established => 1,
        TcpState::SynSent => 2,
        TcpState::SynReceived => 3,
        TcpState::FinWait1 => 4,
        TcpState::FinWait2 => 5,
        TcpState::TimeWait => 6,
        TcpState::Closed => 7,
        TcpState::CloseWait => 8,
        TcpState::LastAck => 9,
        TcpState::Closing => 11,
    }
}
