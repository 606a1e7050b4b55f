//! The loop: real time in, packets in, packets out.

use std::io;

use windfall_base::{Duration, Frame, Input, Instant, Node, Payload, Port, RxVector};

/// Deliveries at most this much behind their due time count as punctual.
pub const PUNCTUAL: Duration = Duration::from_millis(1);

/// Where a [`Loop`] gets its time from, and where it waits.
pub trait Clock {
    /// The time since the run began; never goes back.
    fn now(&mut self) -> Instant;

    /// Waits until `deadline`, or for ever if `None`, or until something else happens.
    ///
    /// Appends the ports whose devices may have something to read. Returning early and naming a
    /// port that has nothing are both harmless.
    ///
    /// # Errors
    /// If the system refuses to wait; the run cannot go on.
    fn wait(&mut self, deadline: Option<Instant>, ready: &mut Vec<Port>) -> io::Result<()>;
}

/// One end of the network: a kernel's network device that carries bare IP packets.
pub trait Device {
    /// Appends the packets that wait on the device; a bounded number, and never blocks.
    ///
    /// # Errors
    /// If the device is gone. A packet that makes no sense is no error: the device counts it.
    fn receive(&mut self, packets: &mut Vec<Payload>) -> io::Result<()>;

    /// Takes a packet for delivery; may hold it until [`flush`](Self::flush) to merge it with
    /// others.
    ///
    /// # Errors
    /// If the device is gone. A packet that the device refuses is no error: the device counts it.
    fn send(&mut self, frame: Frame) -> io::Result<()>;

    /// Delivers whatever [`send`](Self::send) still holds.
    ///
    /// # Errors
    /// If the device is gone.
    fn flush(&mut self) -> io::Result<()>;
}

/// How far deliveries were behind their due time, for want of processor time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lateness {
    /// Packets delivered to a device.
    pub delivered: u64,
    /// Of them, later than [`PUNCTUAL`] after their due time.
    pub late: u64,
    /// The worst of all.
    pub worst: Duration,
}

/// Drives a node in the time of a [`Clock`]; `Port(i)` of the node is the i-th [`Device`].
///
/// Call [`turn`](Self::turn) for ever; between turns, drain the node's events and look at whatever
/// else the clock waits for. Timers fire with the time at which they were due, even if the loop
/// comes late, so that lateness never adds up and the node sees the timeline of the simulator.
#[derive(Debug)]
pub struct Loop<N, C, D> {
    node: N,
    clock: C,
    devices: Vec<D>,
    lateness: Lateness,
    ready: Vec<Port>,
    packets: Vec<Payload>,
    /// The last instant that the node was told: it must never see time go back.
    told: Instant,
}

impl<N: Node, C: Clock, D: Device> Loop<N, C, D> {
    /// A loop around `node`, one device for each of its ports.
    pub fn new(node: N, clock: C, devices: Vec<D>) -> Self {
        Self {
            node,
            clock,
            devices,
            lateness: Lateness::default(),
            ready: Vec::new(),
            packets: Vec::new(),
            told: Instant::START,
        }
    }

    /// Waits once, then does all that is due and takes what the devices have.
    ///
    /// # Errors
    /// If the clock cannot wait or a device is gone.
    pub fn turn(&mut self) -> io::Result<()> {
        self.turn_until(None)
    }

    /// As [`turn`](Self::turn), and waits no longer than until `limit`.
    ///
    /// # Errors
    /// If the clock cannot wait or a device is gone.
    pub fn turn_until(&mut self, limit: Option<Instant>) -> io::Result<()> {
        let due = self.node.poll_timeout().map(|(at, _)| at);
        let deadline = due.into_iter().chain(limit).min();
        self.ready.clear();
        self.clock.wait(deadline, &mut self.ready)?;
        let now = self.clock.now();
        self.catch_up(now)?;
        self.flush()?;
        for i in 0..self.ready.len() {
            let port = self.ready[i];
            // The first packet is on its way before anybody looks for a second one.
            if self.take_in(now, port)? {
                self.flush()?;
                self.take_in(now, port)?;
            }
        }
        self.catch_up(now)?;
        self.flush()
    }

    /// The node.
    pub fn node(&self) -> &N {
        &self.node
    }

    /// The node, to drain its events.
    pub fn node_mut(&mut self) -> &mut N {
        &mut self.node
    }

    /// Gives the node back.
    pub fn into_node(self) -> N {
        self.node
    }

    /// The clock.
    pub fn clock_mut(&mut self) -> &mut C {
        &mut self.clock
    }

    /// The devices, in the order of the node's ports.
    pub fn devices(&self) -> &[D] {
        &self.devices
    }

    /// The devices, to ask them what they lost.
    pub fn devices_mut(&mut self) -> &mut [D] {
        &mut self.devices
    }

    /// How punctual the deliveries were so far.
    pub fn lateness(&self) -> Lateness {
        self.lateness
    }

    /// Tells the node something that came from no device, and hands out what follows from it.
    ///
    /// # Errors
    /// If a device is gone.
    pub fn act(&mut self, act: impl FnOnce(&mut N, Instant)) -> io::Result<()> {
        let now = self.clock.now().max(self.told);
        self.told = now;
        act(&mut self.node, now);
        self.hand_out(now, Duration::ZERO)
    }

    /// Fires every timer due by `now`, each at its own time.
    fn catch_up(&mut self, now: Instant) -> io::Result<()> {
        while let Some((due, _)) = self.node.poll_timeout()
            && due <= now
        {
            let at = due.max(self.told);
            self.told = at;
            self.node.handle_timeout(at);
            self.hand_out(at, now.saturating_since(due))?;
        }
        Ok(())
    }

    /// Hands over what the devices still hold to merge it with others.
    ///
    /// # Errors
    /// If a device is gone.
    pub fn flush(&mut self) -> io::Result<()> {
        self.devices.iter_mut().try_for_each(Device::flush)
    }

    /// Gives the node what the device at `port` has; `false` if it has nothing.
    fn take_in(&mut self, now: Instant, port: Port) -> io::Result<bool> {
        let Some(device) = self.devices.get_mut(usize::from(port.0)) else {
            return Ok(false);
        };
        let mut packets = std::mem::take(&mut self.packets);
        let result = device.receive(&mut packets);
        let now = now.max(self.told);
        self.told = now;
        let has_some = !packets.is_empty();
        for payload in packets.drain(..) {
            let input = Input::Frame(Frame::packet(payload), RxVector::wired(now));
            self.node.handle_input(now, port, input);
            self.hand_out(now, Duration::ZERO)?;
        }
        self.packets = packets;
        result.map(|()| has_some)
    }

    /// Drains the node into the devices.
    fn hand_out(&mut self, now: Instant, behind: Duration) -> io::Result<()> {
        while let Some((port, outgoing)) = self.node.poll_transmit(now) {
            let Some(device) = self.devices.get_mut(usize::from(port.0)) else {
                continue;
            };
            self.lateness.delivered += 1;
            self.lateness.late += u64::from(behind > PUNCTUAL);
            self.lateness.worst = self.lateness.worst.max(behind);
            device.send(outgoing.frame)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
