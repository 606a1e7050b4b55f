//! What a packet of 1500 bytes costs at each end of a pipe: classify, queue, frame, check, account.

use divan::Bencher;
use windfall_base::frame::Tag;
use windfall_base::{Duration, Frame, Input, Instant, Node, RxVector, Seed, Stream};
use windfall_link::policy::{Cost, PolicyKind};
use windfall_link::{Arq, Coding, PipeConfig};
use windfall_stack::{DEVICE, Interface, InterfaceConfig, LinkLayerConfig, MEDIUM};

const PACKETS: u64 = 10_000;

fn main() {
    divan::main();
}

fn end(error_control: &str) -> Interface {
    let cost = Cost { per_frame: Duration::from_nanos(60), per_byte: Duration::from_nanos(1) };
    let policy = error_control.parse::<PolicyKind>();
    let coding = policy.ok().map(|policy| Coding { policy: policy.into(), padded: false, cost });
    let arq = if error_control == "none" { Arq::None } else { Arq::Persistent };
    let link = LinkLayerConfig::Pipe(PipeConfig { arq, coding, ..PipeConfig::default() });
    Interface::new(InterfaceConfig { link, ..InterfaceConfig::default() }, Seed(1), "end")
}

/// Inverts independent bits of what frames carry.
struct Noise {
    random: Stream,
    rate: f64,
    /// Bits until the next inverted one.
    ahead: u64,
}

impl Noise {
    fn new(rate: f64) -> Self {
        let mut noise = Self { random: Stream::new(Seed(1), "noise"), rate, ahead: 0 };
        noise.ahead = noise.gap();
        noise
    }

    fn gap(&mut self) -> u64 {
        ((1.0 - self.random.unit()).ln() / (1.0 - self.rate).ln()) as u64
    }

    fn strike(&mut self, frame: &mut Frame) {
        let origin = frame.header.len() as u64 * 8;
        let bits = frame.payload.len() as u64 * 8;
        let mut hit = Vec::new();
        while self.ahead < bits {
            hit.push((origin + self.ahead) as u32);
            self.ahead += 1 + self.gap();
        }
        self.ahead -= bits;
        frame.invert(&hit);
    }
}

/// Moves whatever `from` has for the medium to `to`, and gives up what is for the device.
fn carry(now: Instant, from: &mut Interface, to: &mut Interface, noise: Option<&mut Noise>) {
    let mut noise = noise;
    while let Some((port, mut outgoing)) = from.poll_transmit(now) {
        if port == MEDIUM {
            from.handle_input(now, MEDIUM, Input::TransmissionDone);
            if let Some(noise) = &mut noise {
                noise.strike(&mut outgoing.frame);
            }
            to.handle_input(now, MEDIUM, Input::Frame(outgoing.frame, RxVector::wired(now)));
        } else {
            divan::black_box(&outgoing);
        }
    }
}

/// Both ends of a packet's way together: the cost of a side is half of it. A path of 1.5 Gbit/s has
/// eight microseconds for each packet, the kernel's share included.
#[divan::bench(args = ["none", "persistent", "light", "flex", "flex, noisy", "best, noisy"])]
fn both_ends(bencher: Bencher, what: &str) {
    let (error_control, noisy) =
        what.split_once(',').map_or((what, false), |(name, _)| (name, true));
    let data = bytes::Bytes::from(vec![0x45; 1_460]);
    bencher.counter(divan::counter::ItemsCount::new(PACKETS)).bench_local(|| {
        let mut near = end(error_control);
        let mut far = end(error_control);
        let mut noise = noisy.then(|| Noise::new(1e-4));
        let now = Instant::START;
        for n in 0..PACKETS {
            let head = data.slice(..40);
            let payload = windfall_base::Payload::new(head, data.clone());
            let frame = Frame { tag: Some(Tag(n)), ..Frame::packet(payload) };
            near.handle_input(now, DEVICE, Input::Frame(frame, RxVector::wired(now)));
            carry(now, &mut near, &mut far, noise.as_mut());
            carry(now, &mut far, &mut near, None);
        }
        for _ in 0..1_000 {
            carry(now, &mut near, &mut far, noise.as_mut());
            carry(now, &mut far, &mut near, None);
        }
        assert_eq!(far.counters().to_device, PACKETS);
    });
}
