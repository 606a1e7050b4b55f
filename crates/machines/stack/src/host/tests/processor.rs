use windfall_base::{Duration, Rate};
use windfall_energy::processor::{Processor, System};

use super::*;

/// The speed of the processor: 2 ms for a full segment.
const SPEED: Rate = Rate::from_mbps(6).expect("a rate");
/// The bytes of the stream.
const BYTES: usize = 300_000;

fn processor() -> ProcessorConfig {
    ProcessorConfig::with_speed(SPEED, Processor::SHARES, System::default())
}

/// Two hosts and a wire that takes no time.
struct Wire {
    hosts: Row,
    now: Instant,
    /// The bytes of the stream that the far application has received, and when the last came.
    received: usize,
    received_at: Instant,
}

impl Wire {
    /// Opens a stream between hosts with these processors, and writes [`BYTES`].
    fn stream(processors: [Option<ProcessorConfig>; 2]) -> Self {
        let host = |(processor, address): (Option<ProcessorConfig>, &str)| HostConfig {
            processor,
            ..config(vec![interface(&[address], 1500)], &[])
        };
        let addresses = ["10.0.0.1/24", "10.0.0.2/24"];
        let hosts = processors.into_iter().zip(addresses).map(host).collect();
        let hosts = Row::new(hosts);
        let mut wire = Self { hosts, now: NOW, received: 0, received_at: NOW };
        wire.hosts.open(1, Transport::Tcp, "0.0.0.0:80");
        wire.command(1, SocketCommand::Listen { socket: SOCKET });
        wire.hosts.open(0, Transport::Tcp, "0.0.0.0:0");
        let to = "10.0.0.2:80".parse().expect("an address");
        wire.command(0, SocketCommand::Connect { socket: SOCKET, to });
        wire.run();
        wire.command(0, SocketCommand::Send { socket: SOCKET, to, data: vec![7; BYTES].into() });
        wire
    }

    fn command(&mut self, host: usize, command: SocketCommand) {
        self.hosts.hosts[host].handle_command(self.now, APP, command);
    }

    /// Passes packets until nothing is left to do, and keeps the accounts.
    fn run(&mut self) {
        loop {
            let packets: Vec<(usize, Frame)> = (0..2)
                .flat_map(|from| {
                    let host = &mut self.hosts.hosts[from];
                    let packets = core::iter::from_fn(|| host.poll_transmit(self.now));
                    packets.map(|(_, it)| (1 - from, it.frame)).collect::<Vec<_>>()
                })
                .collect();
            self.receive();
            let is_quiet = packets.is_empty();
            for (to, frame) in packets {
                let input = Input::Frame(frame, RxVector::wired(self.now));
                self.hosts.hosts[to].handle_input(self.now, Port(0), input);
            }
            assert!(self.hosts.hosts.iter().all(|host| host.ledger().balances()));
            if !is_quiet {
                continue;
            }
            let next = self.hosts.hosts.iter().filter_map(Node::poll_timeout);
            let Some((at, _)) = next.min_by_key(|(at, _)| *at) else { return };
            assert!(at > self.now, "the wake-up of a drained node lies in the future");
            self.now = at;
            self.hosts.hosts.iter_mut().for_each(|host| host.handle_timeout(at));
        }
    }

    /// Counts what the far application has received.
    fn receive(&mut self) {
        for event in self.hosts.events(1) {
            if let SocketEvent::Stream { data, .. } = event {
                self.received += data.len();
                self.received_at = self.now;
            }
        }
    }

    /// Returns the time that the processor of a host takes for all steps so far.
    fn work(&self, host: usize) -> Duration {
        let steps = self.hosts.hosts[host].tcp_operations();
        let ProcessorConfig { steps: costs, system, .. } = processor();
        Duration::from_secs_f64(costs.cost(&steps, &system).total())
    }
}

//= S2.13
#[test]
fn a_full_segment_takes_the_time_that_the_speed_says() {
    let doubled = Processor::SHARES.times(2.0);
    let config = ProcessorConfig::with_speed(SPEED, doubled, System::default());
    assert!((config.steps.full_segment() - 0.002).abs() < 1e-12);
    assert_eq!(config.backlog, 300);
}

#[test]
fn a_stream_takes_as_long_as_the_work_of_its_processor() {
    for slow in 0..2 {
        let mut processors = [None, None];
        processors[slow] = Some(processor());
        let mut wire = Wire::stream(processors);
        let began = wire.now;
        wire.run();
        assert_eq!(wire.received, BYTES);
        let took = wire.received_at - began;
        let work = wire.work(slow);
        // 206 segments at nearly 2 ms each; it waits only for the first packets and the last.
        assert!(work > Duration::from_millis(350), "{work}");
        let idle = took.saturating_sub(work);
        assert!(took + Duration::from_millis(10) >= work, "{took} {work}");
        assert!(idle < Duration::from_millis(60), "{took} {work}");
    }
}

#[test]
fn without_a_processor_work_takes_no_time() {
    let mut wire = Wire::stream([None, None]);
    let began = wire.now;
    wire.run();
    assert_eq!(wire.received, BYTES);
    assert_eq!(wire.received_at, began);
}

#[test]
fn packets_leave_one_by_one_as_their_work_ends() {
    let mut wire = Wire::stream([Some(processor()), None]);
    let first = wire.hosts.hosts[0].poll_transmit(wire.now);
    assert!(first.is_none(), "the work has only begun");
    let mut times = Vec::new();
    while times.len() < 5 {
        let host = &mut wire.hosts.hosts[0];
        let (at, _) = host.poll_timeout().expect("work is left");
        host.handle_timeout(at);
        times.extend(core::iter::from_fn(|| host.poll_transmit(at)).map(|_| at));
    }
    let gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64()).collect();
    // 65, 15 and 3.75 per cent of 2 ms for the bytes of 1480, 5 for the interrupt, a little for a
    // template and its timestamp.
    assert!(gaps.iter().all(|gap| (0.0017..0.0019).contains(gap)), "{gaps:?}");
}

#[test]
fn received_packets_beyond_the_backlog_are_dropped_by_name() {
    let processor = ProcessorConfig { backlog: 3, ..processor() };
    let mut wire = Wire::stream([None, Some(processor)]);
    wire.run();
    assert_eq!(wire.received, BYTES, "TCP sends them again");
    assert!(wire.hosts.dropped(1, DropReason::ReceiveBuffer) > 0);
}

#[test]
fn a_processor_keeps_the_laws_of_a_node() {
    let build = |seed| {
        let config = HostConfig {
            processor: Some(ProcessorConfig { backlog: 4, ..processor() }),
            ..config(vec![interface(&["10.0.0.2/24"], 1500)], &[])
        };
        let mut host = Host::new(config, seed);
        let local = "10.0.0.2:80".parse().expect("an address");
        let open = SocketCommand::Open { socket: SOCKET, transport: Transport::Tcp, local };
        host.handle_command(Instant::START, APP, open);
        host.handle_command(Instant::START, APP, SocketCommand::Listen { socket: SOCKET });
        host
    };
    laws::check(laws::Subject::new(1, build).input(any_segment).ledger(Host::ledger));
}
