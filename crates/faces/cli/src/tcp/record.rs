//! The outcome of a connection, as text and as JSON.

use std::io::{self, Write};

use windfall_base::Seed;
use windfall_live::tcp::ConnectionRecord;
use windfall_output::summary::tcp_step;

use crate::json;

/// Writes one line of JSON.
pub(super) fn json(
    out: &mut impl Write,
    record: &ConnectionRecord,
    tcp: &str,
    seed: Option<Seed>,
) -> io::Result<()> {
    let mut report = serde_json::to_value(record)?;
    if let Some(members) = report.as_object_mut() {
        members.insert("tcp".to_owned(), tcp.into());
        members.insert("seed".to_owned(), seed.map(|seed| seed.0).into());
    }
    out.write_all(json::line(json::CONNECTION, report).as_bytes())
}

/// Writes one line for people.
pub(super) fn line(out: &mut impl Write, record: &ConnectionRecord) -> io::Result<()> {
    match record.remote {
        Some(remote) => write!(out, "{remote}: ")?,
        None => write!(out, "no connection: ")?,
    }
    let sent = record.sent;
    let received = record.received;
    write!(out, "{sent} bytes out, {received} in, {:.3} s, ", record.seconds)?;
    let retransmissions = record.retransmissions;
    write!(out, "{:.2} Mb/s, {retransmissions} retransmissions", record.goodput_bps / 1e6)?;
    if let Some(wrong) = record.first_wrong_byte {
        write!(out, "; byte {wrong} is wrong")?;
    }
    if record.lost > 0 {
        write!(out, "; {} bytes lost", record.lost)?;
    }
    if let Some(error) = &record.error {
        write!(out, "; {error}")?;
    }
    writeln!(out)
}

/// Writes all values, one a line.
pub(super) fn table(out: &mut impl Write, record: &ConnectionRecord, tcp: &str) -> io::Result<()> {
    line(out, record)?;
    writeln!(out, "{:24}{tcp}", "tcp")?;
    if let Some(timeouts) = record.timeouts {
        writeln!(out, "{:24}{timeouts}", "timeouts")?;
    }
    if let Some(rtt) = record.rtt_seconds {
        writeln!(out, "{:24}{:.3} ms", "round trip", rtt * 1e3)?;
    }
    if let Some(rate) = record.prediction_rate {
        writeln!(out, "{:24}{:.1} % of segments", "by header prediction", rate * 100.0)?;
    }
    let Some(operations) = record.operations else { return Ok(()) };
    for (name, count) in operations.iter().filter(|(_, count)| *count > 0) {
        writeln!(out, "  {:36}{count}", tcp_step(name))?;
    }
    Ok(())
}
