//! The event queue against the standard heap, each event dispatched to its element.
//!
//! The "hold" model: take the earliest event, let its element draw its next wake-up, put that back.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hint::black_box;

use divan::Bencher;
use divan::counter::ItemsCount;
use windfall_base::{Duration, Instant, Seed, Stream};
use windfall_network::{Agenda, ElementId};

const PENDING: [usize; 3] = [10, 100, 10_000];
const EVENTS: usize = 100_000;

fn main() {
    divan::main();
}

/// An element that does next to nothing: draws when to be woken next.
struct Sleeper(u64);

impl Sleeper {
    fn wake(&mut self, now: Instant) -> Instant {
        // A multiplicative generator: cheap, so that the queue dominates.
        self.0 = self.0.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(1);
        now + Duration::from_nanos(self.0 >> 44)
    }
}

fn sleepers(pending: usize) -> Vec<Sleeper> {
    let mut stream = Stream::new(Seed(1), "sleepers");
    (0..pending).map(|_| Sleeper(stream.bits())).collect()
}

#[divan::bench(args = PENDING, sample_count = 30)]
fn agenda(bencher: Bencher, pending: usize) {
    let mut elements = sleepers(pending);
    let mut agenda = Agenda::new(pending);
    for (index, element) in elements.iter_mut().enumerate() {
        agenda.set(ElementId(index as u32), Some(element.wake(Instant::START)));
    }
    bencher.counter(ItemsCount::new(EVENTS)).bench_local(|| {
        for _ in 0..EVENTS {
            let Some((now, element)) = agenda.next() else { break };
            let next = elements[element.0 as usize].wake(now);
            agenda.set(element, Some(next));
        }
        black_box(agenda.next())
    });
}

#[divan::bench(args = PENDING, sample_count = 30)]
fn standard_heap(bencher: Bencher, pending: usize) {
    let mut elements = sleepers(pending);
    let mut heap = BinaryHeap::with_capacity(pending);
    for (index, element) in elements.iter_mut().enumerate() {
        heap.push(Reverse((element.wake(Instant::START), index as u32)));
    }
    bencher.counter(ItemsCount::new(EVENTS)).bench_local(|| {
        for _ in 0..EVENTS {
            let Some(Reverse((now, index))) = heap.pop() else { break };
            let next = elements[index as usize].wake(now);
            heap.push(Reverse((next, index)));
        }
        black_box(heap.peek().copied())
    });
}
