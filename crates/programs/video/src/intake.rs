//! What arrives at the port of a receiver, by its sources.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use windfall_base::{Duration, Instant};
use windfall_rtp::{RtcpPacket, RtpError, RtpPacket, VideoCodec};

use crate::clock::VideoTime;
use crate::discards::VideoDiscards;
use crate::session::Session;

/// Sources that are listened to at once; another one takes the place of the one of the fewest
/// packets.
const SOURCES: usize = 8;
/// Payload types that the types of RTCP packets look like (RFC 5761, section 4).
const RTCP: core::ops::RangeInclusive<u8> = 72..=76;

/// The sources that are heard, and the datagrams that belong to none.
#[derive(Debug)]
pub(crate) struct Intake {
    codec: VideoCodec,
    payload_type: Option<u8>,
    delay: Duration,
    sessions: BTreeMap<u32, Session>,
    /// The first report of a source comes before its first packet, and waits for it.
    early: BTreeMap<(u32, IpAddr), (u64, u32)>,
    /// The datagrams discarded that belong to no source, or of sources that are forgotten.
    discards: VideoDiscards,
}

impl Intake {
    /// Hears sources of `codec`, of any payload type if it is `None`, and plays them after `delay`.
    pub(crate) fn new(codec: VideoCodec, payload_type: Option<u8>, delay: Duration) -> Self {
        let sessions = BTreeMap::new();
        let early = BTreeMap::new();
        let discards = VideoDiscards::default();
        Self { codec, payload_type, delay, sessions, early, discards }
    }

    /// Takes a datagram that came from this address.
    pub(crate) fn take(&mut self, time: &VideoTime, now: Instant, from: SocketAddr, bytes: &[u8]) {
        let packet = match RtpPacket::parse(bytes) {
            _ if bytes.get(1).is_some_and(|kind| RTCP.contains(&(kind & 0x7f))) => {
                self.discards.rtcp += 1;
                return;
            }
            Ok(packet) => packet,
            Err(error) => {
                *match error {
                    RtpError::Contributing | RtpError::Extension => &mut self.discards.cut_headers,
                    RtpError::Padding => &mut self.discards.bad_padding,
                    _ => &mut self.discards.strangers,
                } += 1;
                return;
            }
        };
        let header = packet.header;
        let kind = header.payload_type;
        let may_change = self.payload_type.is_none();
        let is_wanted = match self.sessions.get_mut(&header.ssrc) {
            Some(session) => session.hears_type(kind, may_change && session.is_from(from)),
            None => self.payload_type.is_none_or(|wanted| wanted == kind),
        };
        if !is_wanted {
            self.discards.other_types += 1;
            return;
        }
        if !self.sessions.contains_key(&header.ssrc) {
            self.make_room();
        }
        let is_third = self.sessions.get_mut(&header.ssrc).is_some_and(|it| !it.hears(now, from));
        if is_third {
            self.discards.other_sources += 1;
            return;
        }
        let session = self.sessions.entry(header.ssrc).or_insert_with(|| {
            let report = self.early.remove(&(header.ssrc, from.ip()));
            Session::new(&packet, self.codec, self.delay, now, from).with_report(report)
        });
        session.take(time, now, &packet, bytes);
    }

    /// Forgets the source of the fewest packets, and of several the one that was heard longest
    /// ago, where there is room for no other: strangers shut no sender out.
    fn make_room(&mut self) {
        if self.sessions.len() < SOURCES {
            return;
        }
        let least =
            self.sessions.iter().min_by_key(|(_, it)| (it.statistics.total_distinct(), it.last()));
        let least = least.map(|(ssrc, _)| *ssrc).and_then(|ssrc| self.sessions.remove(&ssrc));
        self.discards.other_sources += least.map_or(0, |it| it.taken);
    }

    /// Takes packets of RTCP from this address, and returns the answers to sender reports of known
    /// sources; what another address says of a source is none of its own (RFC 3550, section 8.2).
    pub(crate) fn take_reports(&mut self, from: IpAddr, packets: &[RtcpPacket]) -> Vec<Vec<u8>> {
        let mut answers = Vec::new();
        for packet in packets {
            match packet {
                RtcpPacket::Report { ssrc, sender: Some(info), .. } => {
                    if let Some(session) = self.sessions.get_mut(ssrc) {
                        let is_own = session.address() == from;
                        answers.extend(is_own.then(|| session.take_report(info)));
                    } else {
                        let source = (*ssrc, from);
                        if self.early.len() == SOURCES && !self.early.contains_key(&source) {
                            self.early.pop_first();
                        }
                        self.early.insert(source, (info.ntp, info.timestamp));
                    }
                }
                RtcpPacket::Goodbye { sources, .. } => {
                    for ssrc in sources {
                        let own = self.sessions.get_mut(ssrc).filter(|it| it.address() == from);
                        own.into_iter().for_each(Session::take_goodbye);
                    }
                }
                _ => {}
            }
        }
        answers
    }

    /// Returns the source of the most packets.
    pub(crate) fn busiest(&self) -> Option<u32> {
        let busiest = self.sessions.iter().max_by_key(|(_, it)| it.statistics.total_distinct());
        busiest.map(|(ssrc, _)| *ssrc)
    }

    /// Passes on the packets whose playout time has come; `true` if the stream of `ssrc` is over.
    pub(crate) fn play(&mut self, ssrc: u32, now: Instant, idle: Duration) -> bool {
        let mut is_over = false;
        for (source, session) in &mut self.sessions {
            is_over |= session.play(now, idle) && *source == ssrc;
        }
        is_over
    }

    /// Returns the source `ssrc`, all of whose packets are passed on, and what was discarded.
    pub(crate) fn finish(mut self, ssrc: u32) -> Option<(Session, VideoDiscards)> {
        let mut session = self.sessions.remove(&ssrc)?;
        session.finish();
        let others: u64 = self.sessions.values().map(|it| it.taken).sum();
        let of_all =
            VideoDiscards { other_sources: self.discards.other_sources + others, ..self.discards };
        let VideoDiscards { late, copies, far, overflow, malformed, .. } = session.discards();
        Some((session, VideoDiscards { late, copies, far, overflow, malformed, ..of_all }))
    }

    /// Returns the datagrams that belong to no source.
    pub(crate) const fn outside(&self) -> u64 {
        self.discards.outside()
    }
}

#[cfg(test)]
mod tests;
