//! What a packet of 1500 bytes costs at each end of a pipe: classify, queue, frame, check, account.

use divan::Bencher;
use windfall_base::frame::Tag;
use windfall_base::{Frame, Input, Instant, Node, RxVector, Seed};
use windfall_link::{Arq, PipeConfig};
use windfall_stack::{DEVICE, Interface, InterfaceConfig, LinkConfig, MEDIUM};

const PACKETS: u64 = 10_000;

fn main() {
    divan::main();
}

fn end(arq: Arq) -> Interface {
    let link = LinkConfig::Pipe(PipeConfig { arq, ..PipeConfig::default() });
    Interface::new(InterfaceConfig { link, ..InterfaceConfig::default() }, Seed(1), "end")
}

/// Moves whatever `from` has for the medium to `to`, and gives up what is for the device.
fn carry(now: Instant, from: &mut Interface, to: &mut Interface) {
    while let Some((port, outgoing)) = from.poll_transmit(now) {
        if port == MEDIUM {
            from.handle_input(now, MEDIUM, Input::TransmissionDone);
            to.handle_input(now, MEDIUM, Input::Frame(outgoing.frame, RxVector::wired(now)));
        } else {
            divan::black_box(&outgoing);
        }
    }
}

/// Both ends of a packet's way together: the cost of a side is half of it.
#[divan::bench(args = ["none", "persistent"])]
fn both_ends(bencher: Bencher, arq: &str) {
    let arq = if arq == "none" { Arq::None } else { Arq::Persistent };
    let data = bytes::Bytes::from(vec![0x45; 1_460]);
    bencher.counter(divan::counter::ItemsCount::new(PACKETS)).bench_local(|| {
        let (mut near, mut far) = (end(arq), end(arq));
        let now = Instant::START;
        for n in 0..PACKETS {
            let head = data.slice(..40);
            let payload = windfall_base::Payload::new(head, data.clone());
            let frame = Frame { tag: Some(Tag(n)), ..Frame::packet(payload) };
            near.handle_input(now, DEVICE, Input::Frame(frame, RxVector::wired(now)));
            carry(now, &mut near, &mut far);
            carry(now, &mut far, &mut near);
        }
        assert_eq!(far.counters().to_device, PACKETS);
    });
}
