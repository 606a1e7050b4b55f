//! Traces from captures: what arrived beside what was sent, or must have been sent.

mod direction;
mod flow;
mod foreign;
mod kept;
mod likeness;
mod link;
mod monitor;
mod offload;
mod router;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use bytes::Bytes;
use windfall_apps::Pattern;
use windfall_base::{Seed, Tag};
use windfall_files::traces::ErrorTrace;
use windfall_files::traces::error_trace::{BitOrder, Fault, TraceHeader};

use flow::{Ends, Flow};
use likeness::by_likeness;
use windfall_files::pcapng::Seen;
use windfall_files::pcapng::read::CapturedPacket;

/// Fewer bytes of a payload than this do not tell which datagram it is.
const LEAST: usize = 16;

/// Fewer packets of a flow with right checksums and other headers may be damaged by chance.
const LEAST_ANEW: usize = 4;

/// Fewer packets in a row that did not arrive are no sign of a capture that was shorter.
const LEAST_MISSING: usize = 16;

/// Why two captures give no trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// Nothing was sent.
    #[error("the capture of the sender holds no sent packet: give that of the near end")]
    NothingSent,
    /// Nothing was sent from the address that was named.
    #[error(
        "the capture of the sender holds no packet from {address}, but packets from {there}: name \
         the sender by one of these in --sender (packets inside a tunnel have the addresses of \
         its ends)"
    )]
    NotFromSender {
        /// The address that was named.
        address: IpAddr,
        /// The addresses that there are.
        there: String,
    },
    /// The capture of the sender holds packets, but none of IP.
    #[error(
        "in the {0} packets of the sender's capture no packet of IP is found: capture at a device \
         that shows IP, such as that of the tunnel, or with tcpdump -i any"
    )]
    NoPacketOfIp(usize),
    /// The frames of 802.11 are encrypted.
    #[error(
        "the frames of 802.11 in the capture of {0} are encrypted, so their packets of IP cannot \
         be read: send over an open network"
    )]
    EncryptedFrames(&'static str),
    /// Frames of 802.11 carry several packets each.
    #[error(
        "frames of 802.11 in the capture of {0} carry several packets each (A-MSDU), and a trace \
         is of frames with one packet: turn A-MSDU off at the sender"
    )]
    AggregatedFrames(&'static str),
    /// Frames of 802.11 carry parts of packets.
    #[error(
        "frames of 802.11 in the capture of {0} carry parts of packets, and a trace is of frames \
         with one packet: turn fragmentation off at the sender (iw phy PHY set frag off)"
    )]
    FragmentedFrames(&'static str),
    /// A capture has no such interface.
    #[error("the capture of {end} has no interface {number}; there are: {there}")]
    NoInterface {
        /// The end whose capture it is.
        end: &'static str,
        /// The number that was asked for.
        number: u32,
        /// The numbers of the interfaces that there are.
        there: String,
    },
    /// Nothing that arrived is anything that was sent.
    #[error(
        "none of the {0} packets that arrived is like one that was sent: the captures are not of \
         the same run, or of the same direction"
    )]
    NothingAlike(usize),
    /// A capture holds what several interfaces have seen.
    #[error(
        "a capture holds the packets of the interfaces {0}, which may be the same: name one by \
         --sent-interface or --received-interface"
    )]
    SeveralInterfaces(String),
    /// Captures that tell no directions hold packets both ways.
    #[error(
        "the captures tell no directions, and hold packets from {0} to {1} and back: name the \
         address of the sender by --sender"
    )]
    BothWays(IpAddr, IpAddr),
    /// A capture holds packets that were one packet or several in the other capture.
    #[error(
        "packets in the capture of {end}, such as one with {length} bytes of TCP or UDP, are \
         several in the other capture: the network card cuts or joins them; capture after \
         `ethtool -K DEVICE {how}`"
    )]
    Segments {
        /// The end whose packets are longer.
        end: &'static str,
        /// The settings of `ethtool` that help.
        how: &'static str,
        /// The length of one of them.
        length: usize,
    },
    /// No undamaged packet arrived with the addresses of a sent one.
    #[error(
        "packets arrived undamaged from {0} to {1}, and none of those that were sent has these \
         addresses: a router translates addresses, or the captures are not of the same run; \
         capture on the same side of that router"
    )]
    OtherAddresses(IpAddr, IpAddr),
    /// Packets of TCP arrived undamaged, and with other headers than they were sent with.
    #[error(
        "{count} packets from {src} to {dst} arrived with their data, right checksums and another \
         header of TCP: a middlebox writes it anew, such as a firewall that changes sequence \
         numbers; capture on the same side of it"
    )]
    WrittenAnew {
        /// The number of such packets.
        count: usize,
        /// The source of their flow.
        src: IpAddr,
        /// The destination of their flow.
        dst: IpAddr,
    },
    /// The headers before the packets of IP are of an unknown type.
    #[error(
        "the packets of a capture have headers of the type {0}, behind which no packet of IP is \
         found: capture at a device of Ethernet, or with tcpdump -i any"
    )]
    UnknownLink(u16),
}

/// A trace from captures, and what is to be said of it.
#[derive(Clone, Debug, PartialEq)]
pub struct CaptureComparison {
    /// The errors of the direction.
    pub trace: ErrorTrace,
    /// A sentence for each thing that the trace does not show.
    pub notes: Vec<String>,
}

/// The capture of one end.
#[derive(Clone, Copy, Debug)]
pub struct Captured<'a> {
    /// The packets of all interfaces.
    pub packets: &'a [CapturedPacket],
    /// The number of interfaces that the capture describes.
    pub interfaces: u32,
    /// The number of the interface whose packets count; `None` where there is one.
    pub interface: Option<u32>,
}

/// Compares the captures of both ends of a direction.
///
/// Packets are matched by the names that `--pcap` gives them, else by their likeness: a received
/// packet belongs to the sent one that is the same, and one that is the same as none to that
/// between its neighbours from which it differs in the fewest bits, a quarter of them at most. An
/// undamaged packet between other addresses or ports belongs to no sent one. A sent packet without
/// a match was lost. Of a packet that a capture has cut, what both have kept is compared. Headers
/// of links, which routers change, and padding behind a packet of IP are no part of it. What
/// routers change in a header of IP is no damage: hops, class of traffic, identification, options,
/// checksum. Nor is a checksum of TCP or UDP that the sender's network card completes.
///
/// A capture that tells no directions is read by addresses: that of the `sender`, or those that the
/// capture of the peer tells.
///
/// Of frames of 802.11, as a monitor interface captures them, the packets of IP are compared, and
/// first transmissions only.
///
/// # Errors
/// If nothing was sent, or nothing matches, or a capture holds the packets of several interfaces,
/// or has not the one that was named, or directions are unknown.
pub fn record(
    near: Captured<'_>,
    far: Captured<'_>,
    sender: Option<IpAddr>,
    mut header: TraceHeader,
) -> Result<CaptureComparison, RecordError> {
    let mut sent = pick(near, Seen::Sent)?;
    sent.retain(|packet| packet.seen != Seen::Dropped);
    let mut received = pick(far, Seen::Arrived)?;
    let monitored_sent = monitor::unwrap_frames(&mut sent, "the sender")?;
    let monitored_received = monitor::unwrap_frames(&mut received, "the receiver")?;
    direction::keep(&mut sent, &mut received, near, far, sender)?;
    offload::check_segments(&sent, &received)?;
    offload::complete_checksums(&mut sent, &mut received);
    let foreign = foreign::numbers(&sent, &received)?;
    let copies = link::leave_out_copies(&mut sent, &received);
    let may_pad = received.iter().any(link::may_pad);
    let lengths = link::without_padding(&mut sent, None);
    link::without_padding(&mut received, Some(&lengths));
    link::align(&mut sent, &mut received)?;
    let kept = kept::clip([&mut sent, &mut received]);
    let length = sent.first().ok_or(RecordError::NothingSent)?.original;
    let is_uniform = sent.iter().all(|packet| packet.original == length);
    header.frame_length = is_uniform.then_some(length);
    let anew = router::writes_anew(&sent, &received);
    let without = |packet: &CapturedPacket| router::without_changes(packet, anew);
    let bare_sent: Vec<_> = sent.iter().map(without).collect();
    let bare: Vec<_> = received.iter().map(without).collect();
    let bare_sent: Vec<_> = bare_sent.iter().collect();
    let bare: Vec<_> = bare.iter().collect();
    let arrivals = by_name(&bare_sent, &bare)
        .unwrap_or_else(|| by_likeness(&bare_sent, &bare, &foreign, may_pad));
    if arrivals.iter().all(Option::is_none) && !received.is_empty() {
        return Err(RecordError::NothingAlike(received.len()));
    }
    kept.note(&mut header);
    let pairs = arrivals.iter().enumerate().filter_map(|(place, at)| Some((place, (*at)?)));
    let whole = pairs.filter(|(place, at)| bare_sent[*place].data == bare[*at].data);
    let routes = router::usual(whole.map(|(place, at)| (&sent[place], &received[at])));
    let mut notes = routes.notes();
    if copies > 0 {
        notes.push(format!(
            "{copies} packets of the sender's capture are copies at other devices of its host: \
             they are left out"
        ));
    }
    notes.extend(written_anew(&sent, &received, &arrivals)?);
    notes.extend(missing_ends(&arrivals));
    notes.extend(monitored_sent.notes("the sender"));
    notes.extend(monitored_received.notes("the receiver"));
    notes.extend(unmatched(&bare_sent, &bare, &arrivals));
    let order = header.bit_order;
    let mut trace = ErrorTrace::new(header);
    for (packet, arrival) in sent.iter().zip(arrivals) {
        let Some(arrived) = arrival.map(|at| &received[at]) else {
            trace.push(Fault::Lost, 1);
            continue;
        };
        let passed = routes.passed(packet, arrived);
        let sent = KeptPacket { bytes: &passed, length: packet.original };
        let received = KeptPacket { bytes: &arrived.data, length: arrived.original };
        match difference(&sent, &received, 0, order) {
            Some(fault) => trace.push(fault, 1),
            None => trace.push_ok(1),
        }
    }
    Ok(CaptureComparison { trace, notes })
}

/// Says how many packets differ from what was sent although both have right checksums.
///
/// # Errors
/// If more than a quarter of a flow of TCP arrived with its data and another header. Damage is
/// mostly in the data, also if something on the way gives damaged packets right checksums.
fn written_anew(
    sent: &[CapturedPacket],
    received: &[CapturedPacket],
    arrivals: &[Option<usize>],
) -> Result<Option<String>, RecordError> {
    let mut flows = BTreeMap::<Ends, (usize, usize)>::new();
    let mut count = 0;
    for (sent, arrived) in sent.iter().zip(arrivals) {
        let arrived = arrived.and_then(|at| Flow::of_packet(&received[at]));
        let Some((sent, arrived)) = Flow::of_packet(sent).zip(arrived) else { continue };
        let (headers, all) = flows.entry(sent.ends).or_default();
        *all += 1;
        let differs = sent.carried.bytes != arrived.carried.bytes;
        if differs && sent.is_whole() && arrived.is_whole() {
            count += 1;
            let data = sent.data_of_segment();
            *headers += usize::from(data.is_some() && data == arrived.data_of_segment());
        }
    }
    for (((addresses, _), _), (headers, all)) in &flows {
        if *headers >= LEAST_ANEW && 4 * headers > *all {
            let src = addresses.src();
            let dst = addresses.dst();
            return Err(RecordError::WrittenAnew { count: *headers, src, dst });
        }
    }
    Ok((count > 0).then(|| {
        format!(
            "{count} of the damaged packets have right checksums: the checksums miss the damage, \
             or something on the way writes them anew"
        )
    }))
}

/// Says how many packets did not arrive before the first or behind the last that did, if these are
/// far more than any others in a row.
fn missing_ends(arrivals: &[Option<usize>]) -> Vec<String> {
    let gaps: Vec<usize> = arrivals.split(Option::is_some).map(<[_]>::len).collect();
    let [first, between @ .., last] = &gaps[..] else { return Vec::new() };
    let usual = between.iter().max().copied().unwrap_or_default();
    let is_long = |gap: usize| gap >= LEAST_MISSING && gap > 2 * usual;
    let mut notes = Vec::new();
    if is_long(*first) {
        notes.push(format!(
            "none of the first {first} packets arrived: if the receiver's capture began late, they \
             were not lost"
        ));
    }
    if is_long(*last) {
        notes.push(format!(
            "none of the last {last} packets arrived: if the receiver's capture ended early, they \
             were not lost"
        ));
    }
    notes
}

/// Says how many received packets belong to none that was sent, copies of others apart.
fn unmatched(
    sent: &[&CapturedPacket],
    received: &[&CapturedPacket],
    arrivals: &[Option<usize>],
) -> Option<String> {
    let matched: BTreeSet<usize> = arrivals.iter().flatten().copied().collect();
    let arrived = matched.iter().map(|at| received[*at]);
    let known: BTreeSet<&Bytes> =
        sent.iter().copied().chain(arrived).map(|packet| &packet.data).collect();
    let names: BTreeSet<Tag> = sent.iter().filter_map(|packet| packet.tag).collect();
    let is_copy = |packet: &CapturedPacket| {
        known.contains(&packet.data) || packet.tag.is_some_and(|tag| names.contains(&tag))
    };
    let rest = received.iter().enumerate();
    let count = rest.filter(|(at, it)| !matched.contains(at) && !is_copy(it)).count();
    let belong = match count {
        0 => return None,
        1 => "1 received packet belongs".to_owned(),
        _ => format!("{count} received packets belong"),
    };
    Some(format!(
        "{belong} to none that was sent between its neighbours: of another flow, or damaged and \
         out of order, and then what was sent counts as lost"
    ))
}

/// Compares the datagrams in the capture of a receiver with what the senders of a run with `seed`
/// put into them.
///
/// Numbers that are missing were lost; those after the last that arrived are unknown. What precedes
/// the payload counts as right, since it was good enough for the datagram to be known.
///
/// # Errors
/// If no packet holds such a datagram.
pub fn record_known(
    received: Captured<'_>,
    seed: Seed,
    mut header: TraceHeader,
) -> Result<ErrorTrace, RecordError> {
    let mut received = pick(received, Seen::Arrived)?;
    monitor::unwrap_frames(&mut received, "the receiver")?;
    let may_pad = received.iter().any(link::may_pad);
    link::without_padding(&mut received, None);
    received.iter_mut().try_for_each(link::strip)?;
    let kept = kept::clip([&mut received, &mut Vec::new()]);
    let pattern = Pattern::new(seed);
    let start = payload_start(&received);
    let mut next = 0;
    let mut known = Vec::new();
    for packet in &received {
        let data = packet.data.get(start..).unwrap_or_default();
        let number = pattern.number_of(next, data).filter(|&number| number >= next);
        if let Some(number) = number.filter(|_| data.len() >= LEAST) {
            known.push((number, data, packet.original));
            next = number + 1;
        }
    }
    let lengths = known.iter().map(|(_, _, original)| *original);
    // One whose header is damaged may have padding still.
    let length = if may_pad { most_frequent(lengths) } else { lengths.max() };
    let length = length.ok_or(RecordError::NothingAlike(received.len()))?;
    header.frame_length = Some(length);
    kept.note(&mut header);
    let order = header.bit_order;
    let mut trace = ErrorTrace::new(header);
    for (number, data, original) in known {
        let missing = number - trace.len();
        if missing > 0 {
            trace.push(Fault::Lost, missing);
        }
        let sent = pattern.datagram(number, length as usize - start);
        let sent = KeptPacket { bytes: &sent, length };
        let received = KeptPacket { bytes: data, length: original };
        match difference(&sent, &received, start as u32 * 8, order) {
            Some(fault) => trace.push(fault, 1),
            None => trace.push_ok(1),
        }
    }
    Ok(trace)
}

/// Returns the offset of the UDP payload in most of these IP packets.
///
/// The headers of some may be damaged.
fn payload_start(packets: &[CapturedPacket]) -> usize {
    let starts = packets.iter().filter_map(|packet| packet.data.first()).map(|first| {
        let header = if first >> 4 == 6 { 40 } else { usize::from(first & 15).max(5) * 4 };
        header + 8
    });
    most_frequent(starts).unwrap_or_default()
}

/// The largest of the values that are there most often.
fn most_frequent<T: Ord>(values: impl Iterator<Item = T>) -> Option<T> {
    let mut found = BTreeMap::<T, usize>::new();
    values.for_each(|value| *found.entry(value).or_default() += 1);
    found.into_iter().max_by_key(|&(_, count)| count).map(|(value, _)| value)
}

/// The packets that were seen like this; captures of other tools may not tell directions
/// apart, and then all packets count.
fn pick(capture: Captured<'_>, seen: Seen) -> Result<Vec<CapturedPacket>, RecordError> {
    let Captured { packets, interfaces, interface } = capture;
    if let Some(number) = interface.filter(|number| *number >= interfaces) {
        let end = if seen == Seen::Sent { "the sender" } else { "the receiver" };
        let there: Vec<_> = (0..interfaces).map(|it| it.to_string()).collect();
        let there = if there.is_empty() { "none".to_owned() } else { there.join(", ") };
        return Err(RecordError::NoInterface { end, number, there });
    }
    let of_interface =
        || packets.iter().filter(|packet| interface.is_none_or(|it| packet.interface == it));
    let mut picked: Vec<&CapturedPacket> = of_interface().filter(|p| p.seen == seen).collect();
    if picked.is_empty() {
        picked = of_interface().collect();
    }
    let interfaces: BTreeSet<u32> =
        picked.iter().filter(|it| it.seen != Seen::Dropped).map(|it| it.interface).collect();
    if interfaces.len() > 1 {
        let numbers: Vec<_> = interfaces.iter().map(u32::to_string).collect();
        return Err(RecordError::SeveralInterfaces(numbers.join(", ")));
    }
    Ok(picked.into_iter().cloned().collect())
}

/// Matches arrivals with sent packets by name; `None` unless every sent packet has one.
fn by_name(sent: &[&CapturedPacket], received: &[&CapturedPacket]) -> Option<Vec<Option<usize>>> {
    let names: Vec<Tag> = sent.iter().map(|packet| packet.tag).collect::<Option<_>>()?;
    let named =
        received.iter().enumerate().rev().filter_map(|(at, packet)| Some((packet.tag?, at)));
    let arrived: BTreeMap<Tag, usize> = named.collect();
    Some(names.iter().map(|name| arrived.get(name).copied()).collect())
}

/// The bytes of a packet in a capture.
struct KeptPacket<'a> {
    /// The bytes that were kept.
    bytes: &'a [u8],
    /// The length of the packet.
    length: u32,
}

/// Returns the fault that made the second of two packets out of the first, of which the kept bytes
/// begin at bit `origin`.
fn difference(
    sent: &KeptPacket<'_>,
    received: &KeptPacket<'_>,
    origin: u32,
    order: BitOrder,
) -> Option<Fault> {
    let mut inverted = Vec::new();
    for (i, (a, b)) in sent.bytes.iter().zip(received.bytes).enumerate() {
        let wrong = a ^ b;
        let bits = (0..8).filter(|bit| wrong & (0x80 >> bit) != 0);
        inverted.extend(bits.map(|bit| origin + i as u32 * 8 + bit));
    }
    let inverted = order.renumber(inverted);
    let truncated = (received.length < sent.length).then_some(received.length * 8);
    let is_fault = truncated.is_some() || !inverted.is_empty();
    is_fault.then(|| Fault::Damaged { truncated, inverted: inverted.into() })
}

#[cfg(test)]
mod tests;
