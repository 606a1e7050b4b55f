//! Fragmentation of packets that exceed a link's MTU (RFC 791, section 3.2; RFC 8200, section 4.5).

use bytes::Bytes;
use windfall_base::Payload;
use windfall_wire_net::ipv6::FRAGMENT_HEADER_LEN;
use windfall_wire_net::{Ipv4Repr, Ipv6Repr, Protocol, ipv4, ipv6};

/// Cuts an IPv4 packet into fragments of at most `mtu` bytes.
///
/// `header` describes the packet, which may be a fragment itself, and `data` is what follows the
/// header. The data of the fragments share the bytes of `data`.
#[must_use]
pub fn cut_v4(header: &Ipv4Repr, data: &Payload, mtu: usize) -> Vec<Payload> {
    let later = header.clone().with_options(header.options().copied());
    let mut fragments = Vec::new();
    let mut at = 0;
    loop {
        let repr = if at == 0 { header } else { later.as_ref().unwrap_or(header) };
        let room = room(mtu, repr.header_len());
        let rest = data.len() - at;
        let (len, more) = if rest > mtu.saturating_sub(repr.header_len()).max(room) {
            (room, true)
        } else {
            (rest, header.fragment.more())
        };
        let whole = header.fragment.offset() + at;
        let fragment = ipv4::Fragment::new(whole, more).unwrap_or(header.fragment);
        let mut repr = repr.clone().with_payload_len(len).unwrap_or_else(|_| repr.clone());
        (repr.fragment, repr.dont_fragment) = (fragment, false);
        let mut bytes = vec![0; repr.header_len()];
        repr.emit(&mut bytes);
        fragments.push(Payload::new(bytes.into(), data.slice(at..at + len)));
        at += len;
        if at >= data.len() {
            return fragments;
        }
    }
}

/// Cuts an IPv6 packet without extension headers into fragments of at most `mtu` bytes.
///
/// `header` describes the packet, `data` is what follows it, `identification` the name that the
/// fragments share. The data of the fragments share the bytes of `data`.
#[must_use]
pub fn cut_v6(header: &Ipv6Repr, identification: u32, data: &Payload, mtu: usize) -> Vec<Payload> {
    const HEADERS: usize = ipv6::HEADER_LEN + FRAGMENT_HEADER_LEN;
    let room = room(mtu, HEADERS);
    let mut fragments = Vec::new();
    let mut at = 0;
    while at < data.len() {
        let rest = data.len() - at;
        let more = rest > mtu.saturating_sub(HEADERS).max(room);
        let len = if more { room } else { rest };
        let mut bytes = vec![0; HEADERS];
        fixed_header(header, FRAGMENT_HEADER_LEN + len).emit(&mut bytes);
        if let Some(fragment) =
            ipv6::FragmentHeader::new(header.next_header, identification, at, more)
        {
            fragment.emit(&mut bytes[ipv6::HEADER_LEN..]);
        }
        fragments.push(Payload::new(Bytes::from(bytes), data.slice(at..at + len)));
        at += len;
    }
    fragments
}

/// Returns the bytes of data, a multiple of eight, that fit after headers of `headers` bytes.
fn room(mtu: usize, headers: usize) -> usize {
    (mtu.saturating_sub(headers) & !7).max(8)
}

/// Returns the header of a packet, as the header of a fragment with `len` bytes after it.
fn fixed_header(header: &Ipv6Repr, len: usize) -> Ipv6Repr {
    match Ipv6Repr::new(header.src, header.dst, Protocol::FRAGMENT, len) {
        Ok(mut repr) => {
            (repr.hop_limit, repr.traffic_class) = (header.hop_limit, header.traffic_class);
            repr.with_flow_label(header.flow_label())
        }
        // A fragment is never longer than the packet was.
        Err(_) => header.clone(),
    }
}

#[cfg(test)]
mod tests;
