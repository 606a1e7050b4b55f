//! The loop: real time in, packets in, packets out.

use std::io;

use windfall_base::{Duration, Frame, Input, Instant, Node, Payload, Port, RxVector};

/// Deliveries at most this much behind their due time count as punctual.
pub const PUNCTUAL: Duration = Duration::from_millis(1);
/// A loop that does nothing for this long disturbs the run.
pub const PAUSE: Duration = Duration::from_millis(10);
/// The longest queue of a device, in calls of [`Device::receive`] that each give all they may.
const QUEUE: u32 = 40;

/// The source of an [`EventLoop`]'s time, and its way to wait.
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

    /// The latest time at which nothing of what the last [`wait`](Self::wait) reported had happened
    /// yet; `None` if it was there when the wait began.
    ///
    /// It lies before the end of the wait if the process could not run when it should have: it
    /// was stopped, or others had the processor.
    fn quiet_until(&mut self) -> Option<Instant> {
        Some(self.now())
    }
}

/// One end of the network: a kernel's network device that carries bare IP packets.
pub trait Device {
    /// Appends the packets that wait on the device; a bounded number, and never blocks.
    ///
    /// # Errors
    /// If the device is gone. A packet that makes no sense is no error: the device counts it.
    fn receive(&mut self, packets: &mut Vec<Payload>) -> io::Result<()>;

    /// Returns the time for which the oldest packet of the last [`receive`](Self::receive) had
    /// waited on the device; `None` where it is unknown.
    fn waited(&mut self) -> Option<Duration> {
        None
    }

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

/// The delay of a run behind its own time, for want of processor time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lateness {
    /// Packets delivered to a device.
    pub delivered: u64,
    /// Of them, later than [`PUNCTUAL`] after their due time.
    pub late: u64,
    /// Packets read from a device.
    pub read: u64,
    /// Of them, those that may have waited there for longer than [`PUNCTUAL`].
    pub read_late: u64,
    /// Packets that were delivered or read later than the limit of the run.
    pub beyond: u64,
    /// The worst of all deliveries and reads.
    pub worst: Duration,
    /// Times at which the loop stood still for longer than [`PAUSE`] with something to do: the
    /// process was stopped, others had the processor, or one turn took that long.
    pub pauses: u64,
    /// The sum of the pauses.
    pub paused: Duration,
    /// The longest pause.
    pub longest_pause: Duration,
}

impl Lateness {
    /// Notes a delivery or a read that was `behind`; `true` if that is late.
    fn note(&mut self, behind: Duration) -> bool {
        self.worst = self.worst.max(behind);
        behind > PUNCTUAL
    }

    /// Notes that the loop stood still for this long.
    fn stood_still(&mut self, span: Duration) {
        if span > PAUSE {
            self.pauses += 1;
            self.paused = self.paused.saturating_add(span);
            self.longest_pause = self.longest_pause.max(span);
        }
    }
}

/// The state of a device's queue, as far as it is known.
#[derive(Clone, Copy, Debug, Default)]
struct Queue {
    /// The packets on the device came after this time.
    empty_at: Instant,
    /// Calls of [`Device::receive`] since `mark` that found something.
    calls: u32,
    /// The time of a read a whole queue ago.
    mark: Instant,
}

impl Queue {
    /// Notes that the device was empty at this time.
    fn note_empty(&mut self, at: Instant) {
        self.empty_at = self.empty_at.max(at);
    }

    /// Notes a read that found something, and says how long that may have waited.
    ///
    /// A device that is never empty holds no more than its queue has room for: what is read now
    /// came after what was read a whole queue ago.
    fn read(&mut self, now: Instant) -> Duration {
        self.calls += 1;
        if self.calls >= QUEUE {
            self.calls = 0;
            self.note_empty(self.mark);
            self.mark = now;
        }
        now.saturating_since(self.empty_at)
    }
}

/// Drives a node in the time of a [`Clock`]; `Port(i)` of the node is the i-th [`Device`].
///
/// Call [`turn`](Self::turn) for ever; between turns, drain the node's events and look at whatever
/// else the clock waits for. Timers fire with the time at which they were due, even if the loop
/// comes late, so that lateness never adds up and the node sees the timeline of the simulator.
#[derive(Debug)]
pub struct EventLoop<N, C, D> {
    node: N,
    clock: C,
    devices: Vec<D>,
    lateness: Lateness,
    ready: Vec<Port>,
    packets: Vec<Payload>,
    /// The last instant that the node was told: it must never see time go back.
    told: Instant,
    queues: Vec<Queue>,
    /// The due times of packets that the devices have got since the last flush.
    handed: Vec<Instant>,
    /// The end of the last wait.
    woke: Option<Instant>,
    /// Packets later than this count beside those that are not punctual.
    limit: Duration,
}

impl<N: Node, C: Clock, D: Device> EventLoop<N, C, D> {
    /// A loop around `node`, one device for each of its ports.
    pub fn new(node: N, clock: C, devices: Vec<D>) -> Self {
        let queues = vec![Queue::default(); devices.len()];
        Self {
            node,
            clock,
            devices,
            queues,
            handed: Vec::new(),
            woke: None,
            limit: PUNCTUAL,
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
        let now = self.wait(deadline)?;
        self.catch_up(now)?;
        self.flush()?;
        for i in 0..self.ready.len() {
            let port = self.ready[i];
            // The first packet is on its way before a second one is looked for.
            if self.receive_from_device(now, port)? {
                self.flush()?;
                self.receive_from_device(now, port)?;
            }
        }
        self.catch_up(now)?;
        self.flush()
    }

    /// Waits once, and notes when the loop stood still and which devices were empty.
    fn wait(&mut self, deadline: Option<Instant>) -> io::Result<Instant> {
        self.ready.clear();
        let began = self.clock.now();
        if let Some(woke) = self.woke {
            self.lateness.stood_still(began.saturating_since(woke));
        }
        self.clock.wait(deadline, &mut self.ready)?;
        let quiet = self.clock.quiet_until();
        let now = self.clock.now();
        self.woke = Some(now);
        if let Some(quiet) = quiet {
            self.lateness.stood_still(now.saturating_since(quiet));
        }
        for (port, queue) in (0..).zip(&mut self.queues) {
            let is_ready = self.ready.contains(&Port(port));
            queue.note_empty(if is_ready { quiet.unwrap_or_default() } else { now });
        }
        Ok(now)
    }

    /// Returns the driven node.
    pub fn node(&self) -> &N {
        &self.node
    }

    /// Returns the driven node, to drain its events.
    pub fn node_mut(&mut self) -> &mut N {
        &mut self.node
    }

    /// Gives the node back.
    pub fn into_node(self) -> N {
        self.node
    }

    /// Returns the clock of the loop.
    pub fn clock_mut(&mut self) -> &mut C {
        &mut self.clock
    }

    /// The devices, in the order of the node's ports.
    pub fn devices(&self) -> &[D] {
        &self.devices
    }

    /// The clock and the devices.
    pub fn parts(&self) -> (&C, &[D]) {
        (&self.clock, &self.devices)
    }

    /// The devices, to ask them what they lost.
    pub fn devices_mut(&mut self) -> &mut [D] {
        &mut self.devices
    }

    /// Returns the lateness of the deliveries so far.
    pub fn lateness(&self) -> Lateness {
        self.lateness
    }

    /// Sets the delay from which on packets count as beyond the limit of the run.
    pub fn set_limit(&mut self, limit: Duration) {
        self.limit = limit;
    }

    /// Tells the node something that came from no device, and hands out what follows from it.
    ///
    /// # Errors
    /// If a device is gone.
    pub fn act(&mut self, act: impl FnOnce(&mut N, Instant)) -> io::Result<()> {
        let now = self.clock.now().max(self.told);
        self.told = now;
        act(&mut self.node, now);
        self.transmit_to_device(now, now)
    }

    /// Fires every timer due by `now`, each at its own time.
    fn catch_up(&mut self, now: Instant) -> io::Result<()> {
        while let Some((due, _)) = self.node.poll_timeout()
            && due <= now
        {
            let at = due.max(self.told);
            self.told = at;
            self.node.handle_timeout(at);
            self.transmit_to_device(at, due)?;
        }
        Ok(())
    }

    /// Hands over what the devices still hold to merge it with others, and notes how late it is.
    ///
    /// # Errors
    /// If a device is gone.
    pub fn flush(&mut self) -> io::Result<()> {
        self.devices.iter_mut().try_for_each(Device::flush)?;
        if !self.handed.is_empty() {
            let now = self.clock.now();
            for due in self.handed.drain(..) {
                self.lateness.delivered += 1;
                let behind = now.saturating_since(due);
                let is_late = self.lateness.note(behind);
                self.lateness.beyond += u64::from(behind > self.limit);
                self.lateness.late += u64::from(is_late);
            }
        }
        Ok(())
    }

    /// Gives the node what the device at `port` has; `false` if it has nothing.
    fn receive_from_device(&mut self, now: Instant, port: Port) -> io::Result<bool> {
        let number = usize::from(port.0);
        let Some(device) = self.devices.get_mut(number) else {
            return Ok(false);
        };
        let at = self.clock.now();
        let mut packets = std::mem::take(&mut self.packets);
        let result = device.receive(&mut packets);
        if packets.is_empty() {
            self.queues[number].note_empty(at);
            self.packets = packets;
            return result.map(|()| false);
        }
        let waited = self.queues[number].read(at);
        let waited = match device.waited() {
            Some(known) => known.min(waited),
            // The upper bound is all that is known, and a short one is no sign of lateness.
            None if waited <= PUNCTUAL => Duration::ZERO,
            None => waited,
        };
        self.lateness.read += packets.len() as u64;
        if waited > self.limit {
            self.lateness.beyond += packets.len() as u64;
        }
        if self.lateness.note(waited) {
            self.lateness.read_late += packets.len() as u64;
        }
        let came = Instant::from_nanos(at.as_nanos().saturating_sub(waited.as_nanos()));
        let now = now.max(self.told);
        self.told = now;
        for payload in packets.drain(..) {
            let input = Input::Frame(Frame::packet(payload), RxVector::wired(now));
            self.node.handle_input(now, port, input);
            self.transmit_to_device(now, came)?;
        }
        self.packets = packets;
        result.map(|()| true)
    }

    /// Drains the node into the devices; what comes out was due at `due`.
    fn transmit_to_device(&mut self, now: Instant, due: Instant) -> io::Result<()> {
        while let Some((port, outgoing)) = self.node.poll_transmit(now) {
            let Some(device) = self.devices.get_mut(usize::from(port.0)) else {
                continue;
            };
            self.handed.push(due);
            device.send(outgoing.frame)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
