//! The receiver: packets to pictures, and the instants at which they are shown.

use std::collections::BTreeMap;

use windfall_base::{Duration, Instant};
use windfall_media::ProtectedArrival;
use windfall_rtp::{Depacketizer, RtpHeader, RtpPacket, VideoCodec};
use windfall_video::wsim::rtp_of;

use super::scheme::{ENDS, Scheme, instant, picture_at};

/// Without a new picture for so long the view is frozen: three intervals.
pub(super) const FREEZE: Duration = Duration::from_millis(100);

/// The pictures as they arrived.
#[derive(Clone, Debug)]
pub(super) struct Viewed {
    /// The coded bytes of each picture; none where nothing came in time.
    pub(super) coded: Vec<Vec<u8>>,
    /// The time from each picture that was shown to the instant at which it was.
    pub(super) delays: Vec<Duration>,
    /// Times without a new picture beyond [`FREEZE`].
    pub(super) freezes: Vec<Duration>,
    /// Packets that were used.
    pub(super) packets: usize,
}

/// A receiver that shows a picture once its last packet has come, or a packet of a later one.
struct Pilot<'a> {
    scheme: &'a Scheme,
    depacketizer: Depacketizer,
    /// The picture under way, and its packets by their numbers.
    picture: usize,
    packets: BTreeMap<u16, (RtpHeader, Vec<u8>)>,
    parts: ProtectedArrival,
    /// The time at which the picture is shown if no better copy of its end comes.
    shown_by: Option<Instant>,
    shown: Vec<(usize, Instant)>,
    viewed: Viewed,
}

/// Receives `count` pictures.
pub(super) fn view(scheme: &Scheme, arrivals: &[(Instant, Vec<u8>)], count: usize) -> Viewed {
    let mut pilot = Pilot {
        scheme,
        depacketizer: Depacketizer::new(VideoCodec::H264),
        picture: 0,
        packets: BTreeMap::new(),
        parts: ProtectedArrival::default(),
        shown_by: None,
        shown: Vec::new(),
        viewed: Viewed {
            coded: vec![Vec::new(); count],
            delays: Vec::new(),
            freezes: Vec::new(),
            packets: 0,
        },
    };
    for (at, packet) in arrivals {
        pilot.take(*at, packet);
    }
    let last = arrivals.last().map_or(Instant::START, |(at, _)| *at);
    pilot.show(pilot.shown_by.unwrap_or(last));
    pilot.depacketizer.finish();
    pilot.collect();
    pilot.finish(count)
}

impl Pilot<'_> {
    fn take(&mut self, now: Instant, packet: &[u8]) {
        if let Some(at) = self.shown_by.filter(|at| *at <= now) {
            self.show(at);
        }
        let Some((rtp, _)) = rtp_of(packet, ENDS[1]) else { return };
        let Ok(packet) = RtpPacket::parse(&rtp) else { return };
        let picture = picture_at(packet.header.timestamp);
        if picture < self.picture || picture >= self.viewed.coded.len() {
            return;
        }
        if picture > self.picture {
            self.show(now);
            self.picture = picture;
        }
        self.viewed.packets += 1;
        if self.scheme.is_protected {
            // What is no part has lost its front.
            let _ = self.parts.push(packet.payload);
        }
        self.packets.insert(packet.header.sequence, (packet.header, packet.payload.to_vec()));
        if packet.header.marker {
            let waits = self.scheme.is_protected && self.parts.damaged().next().is_some();
            let wait = if waits { self.scheme.wait } else { Duration::ZERO };
            match wait {
                Duration::ZERO => self.show(now),
                _ => self.shown_by = self.shown_by.or(Some(now + wait)),
            }
        }
    }

    /// Shows the picture under way, if anything of it has come.
    fn show(&mut self, now: Instant) {
        self.shown_by = None;
        let picture = self.picture;
        self.picture += 1;
        let packets = core::mem::take(&mut self.packets);
        if packets.is_empty() || picture >= self.viewed.coded.len() {
            return;
        }
        if self.scheme.is_protected {
            let parts = core::mem::take(&mut self.parts);
            self.viewed.coded[picture] = parts.restore().map(|file| file.bytes).unwrap_or_default();
        } else {
            for (header, payload) in packets.values() {
                self.depacketizer.push(header, payload, &[]);
            }
            self.collect();
        }
        self.shown.push((picture, now));
    }

    fn collect(&mut self) {
        while let Some(picture) = self.depacketizer.poll_picture() {
            if let Some(place) = self.viewed.coded.get_mut(picture_at(picture.timestamp)) {
                *place = picture.data;
            }
        }
    }

    fn finish(mut self, count: usize) -> Viewed {
        // Nothing can be shown of a picture whose pieces all lack their beginnings.
        let coded = &self.viewed.coded;
        self.shown.retain(|(picture, _)| !coded[*picture].is_empty());
        let end = instant(count);
        let mut before = Instant::START;
        for at in self.shown.iter().map(|(_, at)| *at).chain([end]) {
            let gap = at.saturating_since(before);
            if gap > FREEZE {
                self.viewed.freezes.push(gap - FREEZE);
            }
            before = at;
        }
        let delay = |(picture, at): &(usize, Instant)| at.saturating_since(instant(*picture));
        self.viewed.delays = self.shown.iter().map(delay).collect();
        self.viewed
    }
}
