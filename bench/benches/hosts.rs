//! A datagram from application to application through two hosts, with nothing between them.
//!
//! Every datagram has its real bytes and checksums, is checked at the far end, and compared bit by
//! bit with what was sent. Goal: below 300 ns at 1000 bytes for each side, so that hosts take no
//! more than a third of the time of 500 000 simulated frames a second.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use windfall_apps::{Departures, Pace, SenderConfig, Sink, SinkConfig, Spray};
use windfall_base::{Duration, Input, Instant, Node, Port, RxVector, Seed};
use windfall_stack::socket_api::{Application, SocketCommand, Transport};
use windfall_stack::{AppId, Host, HostConfig};

const APP: AppId = AppId(0);
const BATCH: usize = 1000;

fn main() {
    divan::main();
}

fn host(address: &str) -> Host {
    let mut config = HostConfig::default();
    let addresses = vec![address.parse().expect("an address with prefix")];
    config.internet.interfaces = vec![windfall_ip::IpInterfaceConfig { addresses, mtu: 1500 }];
    Host::new(config, Seed(1))
}

/// An application that sends a datagram of `size` bytes each microsecond.
fn spray(transport: Transport, size: usize) -> Spray {
    let config = SenderConfig {
        to: ([10, 0, 0, 2], 9).into(),
        transport,
        size,
        count: None,
        timing: Departures::exact(Instant::START, Pace::Every(Duration::from_micros(1))),
        number: 0,
        stop: None,
    };
    Spray::new(config, Seed(1))
}

struct Pair {
    now: Instant,
    spray: Spray,
    near: Host,
    far: Host,
    sink: Sink,
}

impl Pair {
    fn new(transport: Transport, size: usize) -> Self {
        let local = ([0, 0, 0, 0], 9).into();
        let mut pair = Self {
            now: Instant::START,
            spray: spray(transport, size),
            near: host("10.0.0.1/24"),
            far: host("10.0.0.2/24"),
            sink: Sink::new(SinkConfig { local, transport }, Seed(1)),
        };
        while let Some(command) = pair.sink.poll_command(pair.now) {
            pair.far.handle_command(pair.now, APP, command);
        }
        pair
    }

    fn send(&mut self) {
        while let Some(command) = self.spray.poll_command(self.now) {
            self.near.handle_command(self.now, APP, command);
        }
        while self.near.poll_event().is_some() {}
    }

    fn receive(&mut self) {
        while let Some((_, outgoing)) = self.near.poll_transmit(self.now) {
            let input = Input::Frame(outgoing.frame, RxVector::wired(self.now));
            self.far.handle_input(self.now, Port(0), input);
        }
        while let Some((_, event)) = self.far.poll_socket_event() {
            self.sink.handle_event(self.now, event);
        }
        while self.far.poll_event().is_some() {}
    }

    fn run(&mut self, datagrams: usize) {
        for _ in 0..datagrams {
            self.now += Duration::from_micros(1);
            self.send();
            self.receive();
        }
        let received = self.sink.report(Instant::START)[0].1.number();
        assert!(received >= datagrams as f64, "every datagram arrives");
    }
}

#[divan::bench(args = [100, 1000, 1400])]
fn udp(bencher: Bencher<'_, '_>, size: usize) {
    let mut pair = Pair::new(Transport::Udp, size);
    bencher.counter(ItemsCount::new(BATCH)).bench_local(|| pair.run(BATCH));
}

#[divan::bench(args = [1000])]
fn udplite(bencher: Bencher<'_, '_>, size: usize) {
    let transport = Transport::UdpLite { send_coverage: 20, min_coverage: None };
    let mut pair = Pair::new(transport, size);
    bencher.counter(ItemsCount::new(BATCH)).bench_local(|| pair.run(BATCH));
}

#[divan::bench(args = [1000])]
fn contents_alone(bencher: Bencher<'_, '_>, size: usize) {
    let mut spray = spray(Transport::Udp, size);
    let mut now = Instant::START;
    bencher.counter(ItemsCount::new(BATCH)).bench_local(|| {
        for _ in 0..BATCH {
            now += Duration::from_micros(1);
            while let Some(SocketCommand::Send { data, .. }) = spray.poll_command(now) {
                black_box(data);
            }
        }
    });
}
