//! The cost of TCP for the processor, step by step (S2.13).
//!
//! The engine counts its steps ([`Operations`]); a [`Processor`] says what each costs, a
//! [`System`] how the operating system around it goes about interrupts and copies. Costs are linear
//! and in one unit, whatever it is: joules, cycles, shares.

use windfall_tcp::Operations;

/// The bytes of a full segment that are summed: a packet of 1500 bytes without its header of IP.
const FULL_SEGMENT_BYTES: u64 = 1_480;

/// The costs of the processing steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Processor {
    /// An interrupt: two changes of context.
    pub interrupt: f64,
    /// A byte moved between the card and memory.
    pub device_byte: f64,
    /// A byte copied between the kernel and an application.
    pub copied_byte: f64,
    /// A byte summed for the checksum in a pass of its own.
    pub checksum_byte: f64,
    /// A segment processed in full, or written without a template.
    pub segment: f64,
    /// An acknowledgment beyond its segment: the sender's queue, window and timers, or the
    /// receiver's decision to send it.
    pub acknowledgment: f64,
    /// An option of a segment, written or read: a timestamp, a SACK block.
    pub option: f64,
    /// A segment that header prediction takes, or that a template makes, as a share of that.
    pub predicted_share: f64,
    /// One comparison of addresses and ports in a lookup, or of timestamps, as a share of that.
    pub comparison_share: f64,
}

impl Processor {
    /// Shares of a full segment of 1500 bytes, so that only ratios mean something: 65 % between
    /// card and memory, 15 % between kernel and application, 15 % in TCP of which the checksum is
    /// a quarter (Wang and Singh 2003, 2004, who measured what paper 002 proposes); what is left
    /// goes to the interrupt. Prediction is taken as a fifth of full processing (five comparisons,
    /// S2.6), a comparison as a twenty-fifth; what an acknowledgment costs beyond its segment as
    /// much as a prediction, an option as much as a comparison. Bytes are those that are summed,
    /// 1480 of such a segment: its header of IP counts with the step.
    pub const SHARES: Self = Self {
        interrupt: 0.05,
        device_byte: 0.65 / FULL_SEGMENT_BYTES as f64,
        copied_byte: 0.15 / FULL_SEGMENT_BYTES as f64,
        checksum_byte: 0.0375 / FULL_SEGMENT_BYTES as f64,
        segment: 0.1125,
        acknowledgment: 0.1125 * 0.2,
        option: 0.1125 * 0.04,
        predicted_share: 0.2,
        comparison_share: 0.04,
    };
}

/// The way in which the operating system handles interrupts and copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct System {
    /// Packets that the card gathers before it interrupts; 1 interrupts for each.
    pub packets_per_interrupt: u32,
    /// Set if the card interrupts for packets sent, too.
    pub interrupts_for_sent: bool,
    /// Data stay where the card has put them, so that no copy into the application is needed.
    pub single_copy: bool,
    /// The checksum is taken in the loop that moves the bytes and costs nothing beside it (S2.15).
    pub combined_checksum: bool,
}

impl Default for System {
    /// As systems of the time of paper 002: nothing is saved.
    fn default() -> Self {
        Self {
            packets_per_interrupt: 1,
            interrupts_for_sent: true,
            single_copy: false,
            combined_checksum: false,
        }
    }
}

/// The costs of a connection by kind of step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProcessorCost {
    /// The cost of interrupts.
    pub interrupts: f64,
    /// Bytes between card and memory.
    pub device: f64,
    /// Bytes between kernel and application.
    pub copies: f64,
    /// The cost of checksums.
    pub checksums: f64,
    /// Lookups, checks and headers.
    pub processing: f64,
    /// Acknowledgments, sent and received, beyond their segments.
    pub acknowledgments: f64,
    /// Timestamps and SACK blocks.
    pub options: f64,
}

impl ProcessorCost {
    /// Returns the sum of all steps.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.parts().into_iter().map(|(_, cost)| cost).sum()
    }

    /// Returns the cost of each kind of step with its name.
    #[must_use]
    pub fn parts(&self) -> [(&'static str, f64); 7] {
        [
            ("interrupts", self.interrupts),
            ("device", self.device),
            ("copies", self.copies),
            ("checksums", self.checksums),
            ("processing", self.processing),
            ("acknowledgments", self.acknowledgments),
            ("options", self.options),
        ]
    }
}

impl Processor {
    /// Steps that cost nothing, or that are part of what the platform draws.
    pub const FREE: Self = Self {
        interrupt: 0.0,
        device_byte: 0.0,
        copied_byte: 0.0,
        checksum_byte: 0.0,
        segment: 0.0,
        acknowledgment: 0.0,
        option: 0.0,
        ..Self::SHARES
    };

    /// Returns the same costs in another unit: [`SHARES`](Self::SHARES) times the joules of a full
    /// segment of 1500 bytes are joules.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        Self {
            interrupt: self.interrupt * factor,
            device_byte: self.device_byte * factor,
            copied_byte: self.copied_byte * factor,
            checksum_byte: self.checksum_byte * factor,
            segment: self.segment * factor,
            acknowledgment: self.acknowledgment * factor,
            option: self.option * factor,
            ..self
        }
    }

    /// Returns the cost of a full segment of 1500 bytes that arrives without prediction.
    #[must_use]
    pub fn full_segment(&self) -> f64 {
        let steps = Operations {
            segments_received: 1,
            checksum_bytes: FULL_SEGMENT_BYTES,
            ..Operations::default()
        };
        let system = System { interrupts_for_sent: false, ..System::default() };
        self.cost(&steps, &system).total()
    }

    //= S2.13
    /// Computes the cost of the steps under a system.
    ///
    /// Every byte of a segment is summed once on its way in or out, so the bytes summed are those
    /// moved.
    #[must_use]
    pub fn cost(&self, steps: &Operations, system: &System) -> ProcessorCost {
        let sent = if system.interrupts_for_sent { steps.segments_sent } else { 0 };
        let packets = (steps.segments_received + sent) as f64;
        let bytes = steps.checksum_bytes as f64;
        let quick = steps.predicted_data + steps.predicted_acks + steps.templates;
        let all = steps.segments_received + steps.segments_sent;
        let comparisons = (steps.keys_compared + steps.paws_checks) as f64;
        let full = all.saturating_sub(quick) as f64;
        let segments =
            full + quick as f64 * self.predicted_share + comparisons * self.comparison_share;
        ProcessorCost {
            interrupts: self.interrupt * packets / f64::from(system.packets_per_interrupt.max(1)),
            device: self.device_byte * bytes,
            copies: if system.single_copy { 0.0 } else { self.copied_byte * bytes },
            checksums: if system.combined_checksum { 0.0 } else { self.checksum_byte * bytes },
            processing: self.segment * segments,
            acknowledgments: self.acknowledgment * (steps.acks_sent + steps.acks_received) as f64,
            options: self.option * (steps.timestamps + steps.sack_blocks) as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thousand full segments that arrive without prediction.
    fn bulk() -> Operations {
        Operations {
            segments_received: 1_000,
            checksum_bytes: 1_000 * 1480,
            ..Operations::default()
        }
    }

    #[test]
    fn a_full_segment_costs_what_was_measured() {
        //= S2.13
        let cost = Processor::SHARES.cost(&bulk(), &System::default());
        let share = |part: f64| part / cost.total();
        assert!((cost.total() - 1_000.0).abs() < 1e-9, "{cost:?}");
        assert!((Processor::SHARES.times(0.002).full_segment() - 0.002).abs() < 1e-12);
        assert!((share(cost.device) - 0.65).abs() < 1e-9, "{cost:?}");
        assert!((share(cost.copies) - 0.15).abs() < 1e-9, "{cost:?}");
        assert!((share(cost.processing + cost.checksums) - 0.15).abs() < 1e-9, "{cost:?}");
        assert!((cost.checksums / (cost.processing + cost.checksums) - 0.25).abs() < 1e-9);
    }

    #[test]
    fn each_saving_touches_its_own_part() {
        //= S2.13
        let before = Processor::SHARES.cost(&bulk(), &System::default());
        let with = |system| Processor::SHARES.cost(&bulk(), &system);
        let coalesced = with(System { packets_per_interrupt: 8, ..System::default() });
        let expected = ProcessorCost { interrupts: before.interrupts / 8.0, ..before };
        assert_eq!(coalesced, expected);
        let single = with(System { single_copy: true, ..System::default() });
        assert_eq!(single, ProcessorCost { copies: 0.0, ..before });
        let combined = with(System { combined_checksum: true, ..System::default() });
        assert_eq!(combined, ProcessorCost { checksums: 0.0, ..before });
        let sending = Operations { segments_sent: 500, ..bulk() };
        let costs = [true, false].map(|interrupts_for_sent| {
            let system = System { interrupts_for_sent, ..System::default() };
            Processor::SHARES.cost(&sending, &system).interrupts
        });
        assert!((costs[0] / costs[1] - 1.5).abs() < 1e-9);
        // All of them together: the 20 to 30 % that Wang and Singh found possible.
        let all = with(System {
            packets_per_interrupt: 8,
            interrupts_for_sent: false,
            single_copy: true,
            combined_checksum: true,
        });
        let saved = 1.0 - all.total() / before.total();
        assert!((0.2..0.3).contains(&saved), "{saved}");
    }

    #[test]
    fn acknowledgments_and_options_have_costs_of_their_own() {
        //= S2.13
        let cost = |steps: Operations| Processor::SHARES.cost(&steps, &System::default());
        let plain = cost(bulk());
        let acked = cost(Operations { acks_sent: 400, acks_received: 100, ..bulk() });
        assert!((acked.acknowledgments - 500.0 * 0.0225).abs() < 1e-9);
        assert_eq!(ProcessorCost { acknowledgments: 0.0, ..acked }, plain);
        let stamped = cost(Operations { timestamps: 2_000, sack_blocks: 3, ..bulk() });
        assert!((stamped.options - 2_003.0 * 0.0045).abs() < 1e-9);
        assert!((stamped.total() - plain.total() - stamped.options).abs() < 1e-9);
    }

    #[test]
    fn costs_in_another_unit_keep_their_shares() {
        let steps = bulk();
        let system = System::default();
        let joules = Processor::SHARES.times(0.01).cost(&steps, &system);
        let shares = Processor::SHARES.cost(&steps, &system);
        for ((_, joules), (_, share)) in joules.parts().into_iter().zip(shares.parts()) {
            assert!((joules - 0.01 * share).abs() < 1e-12);
        }
        assert_eq!(Processor::FREE.cost(&steps, &system).total(), 0.0);
    }

    #[test]
    fn prediction_and_the_order_of_the_checks_are_cheaper() {
        let cost = |steps: Operations| Processor::SHARES.cost(&steps, &System::default());
        let full = cost(bulk()).processing;
        let predicted = cost(Operations { predicted_data: 1_000, ..bulk() }).processing;
        assert!((predicted / full - 0.2).abs() < 1e-9);
        // Timestamps looked at before prediction (H1, H2) cost a comparison for each segment.
        let checked = Operations { predicted_data: 1_000, paws_checks: 1_000, ..bulk() };
        assert!((cost(checked).processing / full - 0.24).abs() < 1e-9);
    }
}
