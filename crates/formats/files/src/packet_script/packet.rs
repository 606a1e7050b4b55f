//! Packets that arrive and leave.

use crate::packet_script::cursor::{Cursor, Read};
use crate::packet_script::segment::{self, ScriptSegment};

/// The way of a packet, as the system under test sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketDirection {
    /// `<`: it arrives.
    Inbound,
    /// `>`: it leaves.
    Outbound,
}

/// A packet that arrives or leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScriptPacket {
    /// A TCP segment.
    Tcp(ScriptSegment),
    /// A message of ICMP.
    Icmp(Icmp),
    /// A packet of another protocol, or in another packet; its first word.
    Foreign(String),
}

/// A message of ICMP, of either version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Icmp {
    /// The type, such as `unreachable`.
    pub kind: String,
    /// The code, such as `frag_needed`.
    pub code: Option<String>,
    /// The size that the path carries, in bytes.
    pub mtu: Option<u32>,
    /// The first sequence number of the segment that it quotes, and its bytes of data.
    pub quoted: Option<(u32, u32)>,
}

/// First words of packets that are not TCP over plain IP.
const FOREIGN: [&str; 10] =
    ["udp", "udplite", "sctp", "dccp", "ipv4", "ipv6", "gre", "mpls", "psp", "esp"];

/// Reads a packet behind its direction.
pub(crate) fn read(cursor: &mut Cursor<'_>) -> Read<ScriptPacket> {
    let ecn = match marks(cursor)? {
        Ok(ecn) => ecn,
        Err(unknown) => return Ok(foreign(cursor, &unknown)),
    };
    if cursor.rest().starts_with('(') {
        let what = cursor.take_until(")")?.trim_start_matches('(').to_owned();
        return Ok(foreign(cursor, &format!("the field ({what}) of the IP header")));
    }
    if cursor.take_word("icmp") || cursor.take_word("icmpv6") {
        return icmp(cursor).map(ScriptPacket::Icmp);
    }
    let word = cursor.peek_while(|it| it.is_ascii_lowercase() || it.is_ascii_digit());
    if FOREIGN.contains(&word) {
        return Ok(foreign(cursor, word));
    }
    segment::read(cursor, ecn).map(ScriptPacket::Tcp)
}

/// Passes the rest of the line.
fn foreign(cursor: &mut Cursor<'_>, what: &str) -> ScriptPacket {
    let what = what.to_owned();
    cursor.take_while(|it| it != '\n');
    ScriptPacket::Foreign(what)
}

/// Reads what the IP header is to say, in brackets: the ECN field, or what else there is.
fn marks(cursor: &mut Cursor<'_>) -> Read<Result<Option<u8>, String>> {
    if !cursor.take_spaced("[") {
        return Ok(Ok(None));
    }
    let inside = cursor.take_until("]")?;
    let mut ecn = None;
    for word in inside.split([',', ' ']).filter(|word| !word.is_empty()) {
        ecn = Some(match word {
            "noecn" => 0,
            "ect1" => 1,
            "ect0" => 2,
            "ce" => 3,
            _ => return Ok(Err(format!("[{inside}]"))),
        });
    }
    Ok(Ok(ecn))
}

fn icmp(cursor: &mut Cursor<'_>) -> Read<Icmp> {
    let kind = cursor.name()?.to_owned();
    cursor.skip_space();
    let is_code = cursor.rest().starts_with(|it: char| it.is_ascii_alphabetic());
    let word = cursor.peek_while(crate::packet_script::cursor::is_of_name);
    let code = if is_code && word != "mtu" { Some(cursor.name()?.to_owned()) } else { None };
    let mtu = if cursor.take_word("mtu") { Some(cursor.narrow("an MTU in bytes")?) } else { None };
    let mut quoted = None;
    if cursor.take_spaced("[") {
        cursor.skip_space();
        cursor.take_while(segment::is_flag_or_space);
        quoted = Some(segment::range(cursor)?);
        cursor.take_until("]")?;
    }
    Ok(Icmp { kind, code, mtu, quoted })
}
