//! A congestion control of one's own, used from outside the workspace of Windfall.
//!
//! It adds one segment to the window in each round trip and halves the window at a loss (AIMD).
//! It has no slow start. Here it sends through a bottleneck with a short queue, as CUBIC does after
//! it.

use std::collections::VecDeque;
use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;

use windfall_base::{DropReason, Duration, Instant, Rate, Seed};
use windfall_congestion::{
    Acknowledged, CongestionControl, CongestionController, ControllerFactory, Loss, Start,
};
use windfall_tcp::{Listener, Lookup, TcpConfig, TcpEndpoint, TcpTransmit};

/// Additive increase, multiplicative decrease; windows are in bytes.
#[derive(Debug)]
struct Aimd {
    mss: u64,
    initial: u64,
    window: u64,
}

impl CongestionController for Aimd {
    fn window(&self) -> u64 {
        self.window
    }

    fn threshold(&self) -> u64 {
        self.window
    }

    fn on_acknowledged(&mut self, ack: &Acknowledged) {
        if ack.limited {
            self.window += (self.mss * ack.bytes / self.window).max(1);
        }
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.window = (loss.in_flight / 2).max(2 * self.mss);
    }

    fn on_timeout(&mut self, _loss: &Loss, _first: bool) {
        self.window = self.mss;
    }

    fn on_spurious_timeout(&mut self) {}

    fn on_idle(&mut self) {
        self.window = self.window.min(self.initial);
    }

    fn limit(&mut self, window: u64) {
        self.window = self.window.min(window).max(self.mss);
    }

    fn set_mss(&mut self, mss: u64) {
        self.mss = mss;
    }
}

/// Makes an [`Aimd`] for each connection.
struct AimdFactory;

impl ControllerFactory for AimdFactory {
    fn name(&self) -> &'static str {
        "aimd"
    }

    fn start(&self, start: &Start) -> Box<dyn CongestionController> {
        let initial = start.initial_window * start.mss;
        Box::new(Aimd { mss: start.mss, initial, window: initial })
    }
}

/// The algorithm, as a configuration of TCP or SAP takes it.
const AIMD: CongestionControl = CongestionControl::new(&AimdFactory);

const RATE: Rate = Rate::from_mbps(10).expect("more than nothing");
const BYTES: usize = 4_000_000;
const DELAY: Duration = Duration::from_millis(20);
/// The most that a segment waits in the queue.
const QUEUE: Duration = Duration::from_millis(30);
/// The headers of IPv4.
const IP: usize = 20;

/// One direction of the path: a queue of limited length, then a fixed delay.
#[derive(Default)]
struct Wire {
    free_at: Instant,
    on_the_way: VecDeque<(Instant, TcpTransmit)>,
    dropped: usize,
}

impl Wire {
    fn send(&mut self, now: Instant, segment: TcpTransmit) {
        let begin = self.free_at.max(now);
        if begin.saturating_since(now) > QUEUE {
            self.dropped += 1;
            return;
        }
        self.free_at = begin + RATE.time_of(IP + segment.payload().len());
        self.on_the_way.push_back((self.free_at + DELAY, segment));
    }
}

/// Sends [`BYTES`] under this control; returns the time that it took and the segments dropped.
fn transfer(control: CongestionControl) -> Result<(Duration, usize), Box<dyn Error>> {
    let config = Arc::new(TcpConfig::default().with(|it| it.congestion_control = control));
    let (near, far): (SocketAddr, SocketAddr) = ("10.0.0.1:0".parse()?, "10.0.0.2:80".parse()?);
    let mut ends = ["near", "far"].map(|name| TcpEndpoint::new(Seed(1), name, Lookup::Hashed));
    let mut wires = [Wire::default(), Wire::default()];
    let mut now = Instant::START;
    ends[1].listen(far, Listener::new(Arc::clone(&config)))?;
    let sender = ends[0].connect(now, near, far, config)?;
    let (mut written, mut arrived, mut receiver) = (0, 0, None);
    while arrived < BYTES {
        let data = [7; 10_000];
        written += ends[0].write(sender, &data[..data.len().min(BYTES - written)])?;
        for (end, wire) in ends.iter_mut().zip(&mut wires) {
            while let Some(segment) = end.poll_transmit(now) {
                wire.send(now, segment);
            }
        }
        let wakes = ends.iter().filter_map(|end| end.poll_timeout().map(|(at, _)| at));
        let arrivals = wires.iter().filter_map(|wire| wire.on_the_way.front().map(|(at, _)| *at));
        now = wakes.chain(arrivals).min().ok_or("nothing is on its way")?.max(now);
        for (from, wire) in wires.iter_mut().enumerate() {
            while let Some((at, _)) = wire.on_the_way.front()
                && *at <= now
                && let Some((_, segment)) = wire.on_the_way.pop_front()
            {
                let (meta, bytes) = (segment.meta(), segment.payload());
                ends[1 - from].handle_segment(now, &meta, &bytes).map_err(DropReason::name)?;
            }
        }
        ends.iter_mut().for_each(|end| end.handle_timeout(now));
        while let Some((id, _)) = ends[1].poll_event() {
            receiver = Some(id);
        }
        while let Some(id) = receiver
            && let Some(data) = ends[1].read(id, BYTES)?
        {
            arrived += data.len();
        }
    }
    Ok((now.saturating_since(Instant::START), wires[0].dropped))
}

fn main() -> Result<(), Box<dyn Error>> {
    for control in [AIMD, CongestionControl::CUBIC] {
        let (time, dropped) = transfer(control)?;
        let (name, seconds) = (control.name(), time.as_secs_f64());
        println!("{name}: {BYTES} bytes in {seconds:.2} s, {dropped} segments dropped");
    }
    Ok(())
}
