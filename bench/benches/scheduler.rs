//! What a decision of the effort-limited fair scheduler costs with few flows and with many.
//!
//! One decision is a choice and the charge for it, all flows busy. The goal: with 10 000 flows at
//! most twice what it costs with 10, in one process in turn.

use std::hint::black_box;

use windfall_base::{Seed, Stream};
use windfall_bench::compare;
use windfall_queue::{Discipline, FlowConfig, Scheduler, Service};

/// Decisions in one execution.
const DECISIONS: usize = 100_000;

fn main() {
    for discipline in [Discipline::ELF_PACKETS, Discipline::ELF, Discipline::WFQ, Discipline::WRR] {
        let unit = if discipline == Discipline::ELF { 0.003 } else { 1.0 };
        for (name, make) in MIXES {
            let mut few = Busy::new(discipline, 10, unit, make);
            let mut many = Busy::new(discipline, 10_000, unit, make);
            // Goal 0.5: the few may be twice as fast.
            let ratio = compare(|| many.run(), || few.run()).per_unit(DECISIONS, DECISIONS);
            ratio.print_time(&format!("{discipline}, {name}: 10000 against 10"), 0.5);
        }
    }
}

/// Describes the flow at `place` among all flows.
type Make = fn(&mut Stream, usize, usize) -> FlowConfig;

/// The flows of each comparison.
const MIXES: [(&str, Make); 3] = [
    ("one weight", |_, _, _| best_effort(1.0)),
    ("weights 1 to 16", |stream, _, _| best_effort(1.0 + (stream.bits() >> 60) as f64)),
    ("a tenth reserve", |_, place, flows| match place % 10 {
        // Half of the link in all.
        0 => FlowConfig { weight: 5.0 / flows as f64, power_factor: 1.5, reserved: true },
        _ => best_effort(1.0),
    }),
];

fn best_effort(weight: f64) -> FlowConfig {
    FlowConfig { weight, power_factor: 1.2, reserved: false }
}

/// Flows that always have packets, one in ten of which is lost.
struct Busy {
    scheduler: Box<dyn Scheduler>,
    draw: u64,
    unit: f64,
}

impl Busy {
    fn new(discipline: Discipline, flows: usize, unit: f64, make: Make) -> Self {
        let mut scheduler = discipline.build();
        let mut stream = Stream::new(Seed(1), "weights");
        for place in 0..flows {
            if let Ok(flow) = scheduler.add(make(&mut stream, place, flows)) {
                scheduler.arrive(flow);
            }
        }
        let mut busy = Self { scheduler, draw: 1, unit };
        // Until the flows are as far apart as they stay.
        for _ in 0..flows.div_ceil(1_000) {
            busy.run();
        }
        busy
    }

    fn run(&mut self) -> Option<usize> {
        let mut last = None;
        for _ in 0..DECISIONS {
            last = self.scheduler.choose();
            let Some(flow) = last else { break };
            self.draw = self.draw.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(1);
            let effort = self.unit * (0.5 + (self.draw >> 44) as f64 / f64::from(1 << 20));
            let outcome = if self.draw >> 60 < 2 { 0.0 } else { effort };
            self.scheduler.charge(flow, Service { effort, outcome });
        }
        black_box(last)
    }
}
