//! Two entities on a simulated duplex channel (S1.20).

use std::collections::VecDeque;

use windfall_base::{Instant, Seed, Stream};
use windfall_circuit::rlp::{RlpConfig, RlpEvent, RlpLink, RlpRole, SLOT};
use windfall_testkit::timeline::Timeline;
use windfall_wire_link::rlp::{RLP_FRAME_LEN, RlpControl, RlpFrame, Unnumbered};

/// The direction from the mobile station to the network, and back.
pub(crate) const UP: usize = 0;
pub(crate) const DOWN: usize = 1;

type Block = [u8; RLP_FRAME_LEN];

/// A circuit: in each slot each entity sends a block, which arrives some slots later or never.
pub(crate) struct Circuit {
    /// The mobile station and the network.
    pub(crate) ends: [RlpLink; 2],
    /// The slots that have passed.
    pub(crate) slot: u64,
    /// The frames sent, but for NULL, with their time.
    pub(crate) timeline: Timeline,
    /// The characters that arrived at each end.
    pub(crate) read: [Vec<u8>; 2],
    /// The events of each end.
    pub(crate) events: [Vec<RlpEvent>; 2],
    /// All blocks sent, for other decoders.
    pub(crate) blocks: Vec<Block>,
    flying: [VecDeque<Option<Block>>; 2],
}

impl Circuit {
    /// A circuit on which a block takes `delay` slots.
    pub(crate) fn new(configs: [RlpConfig; 2], delay: usize) -> Self {
        Self {
            ends: configs.map(RlpLink::new),
            slot: 0,
            timeline: Timeline::new(),
            read: Default::default(),
            events: Default::default(),
            blocks: Vec::new(),
            flying: [0, 1].map(|_| VecDeque::from(vec![None; delay])),
        }
    }

    /// A circuit of standard entities of which the mobile station has connected.
    pub(crate) fn connected(delay: usize) -> Self {
        let mut circuit = Self::new(standard(), delay);
        circuit.ends[UP].connect();
        while !circuit.ends[UP].is_up() {
            circuit.step(|_, _| false);
        }
        circuit.timeline = Timeline::new();
        circuit
    }

    pub(crate) fn now(&self) -> Instant {
        Instant::START + SLOT * self.slot
    }

    /// One slot; `is_lost` decides by direction and frame.
    pub(crate) fn step(&mut self, mut is_lost: impl FnMut(usize, &RlpFrame) -> bool) {
        let now = self.now();
        for from in [UP, DOWN] {
            let block = self.ends[from].next_frame(now);
            let frame = RlpFrame::parse(&block).expect("an entity sends frames");
            let lost = is_lost(from, &frame);
            if frame.control != RlpControl::Unnumbered(Unnumbered::Null) {
                let direction = ["up  ", "down"][from];
                let fate = if lost { " lost" } else { "" };
                self.timeline.note(now, format_args!("{direction} {}{fate}", text(&frame)));
                self.blocks.push(block);
            }
            self.flying[from].push_back((!lost).then_some(block));
        }
        for from in [UP, DOWN] {
            if let Some(Some(block)) = self.flying[from].pop_front() {
                self.ends[1 - from].handle_frame(now, &block).expect("it is whole");
            }
            self.read[from].extend(self.ends[from].read());
            while let Some(event) = self.ends[from].poll_event() {
                self.timeline.note(now, format_args!("{} {event:?}", ["mobile", "network"][from]));
                self.events[from].push(event);
            }
        }
        self.slot += 1;
    }

    /// Slots in which a share of all blocks is lost.
    pub(crate) fn run(&mut self, slots: u64, loss: f64, seed: u64) {
        let stream = Stream::new(Seed(seed), "loss");
        for _ in 0..slots {
            let slot = self.slot;
            self.step(|from, _| stream.unit_at(2 * slot + from as u64) < loss);
        }
    }
}

/// Standard entities at both ends.
pub(crate) fn standard() -> [RlpConfig; 2] {
    [RlpConfig::standard(RlpRole::Mobile), RlpConfig::standard(RlpRole::Network)]
}

/// A frame as a line of a timeline.
pub(crate) fn text(frame: &RlpFrame) -> String {
    let kind = match frame.control {
        RlpControl::Unnumbered(kind) => format!("{kind:?}"),
        RlpControl::Supervisory { function, nr } => format!("{function:?} nr={nr}"),
        RlpControl::Information { function, ns, nr } => {
            format!("I+{function:?} ns={ns} nr={nr}")
        }
    };
    let mark = match (frame.command, frame.poll_final) {
        (true, true) => " P",
        (false, true) => " F",
        _ => "",
    };
    format!("{kind}{mark}")
}
