//! Receives bodies over SAP: several at once on one connection.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use windfall_socket::{Message, MessageKind, Mode, Received, SapError, SapSocket};

use crate::arriving::ArrivingBody;
use crate::assembly::{Assembler, DeliveredBody};
use crate::blocking::STACK;
use crate::memory::BodyMemory;
use crate::quota::real_time;
use windfall_bodies::{CONTROL_STREAM, Control, STALL, TransferToken};

/// The reason of a body that came over TCP since the peer did not answer over SAP.
pub(crate) const NO_ANSWER: &str = "no-answer";

/// The reason of a body that came over TCP since the system has no thread for it.
pub(crate) const NO_THREAD: &str = "no-thread";

/// The time without a message after which a body is given up.
const PATIENCE: Duration = Duration::from_secs(20);
/// The time to wait once the last piece has come: the sender sends what is missing again until it
/// has heard nothing for 10 s, and its last message needs time to arrive.
const SETTLED: Duration = Duration::from_secs(12);
/// The time without a message after which a body is whole whose sender has ended, though pieces of
/// it are missing, at least and at most: for the order that a path may change, as in TCP's RACK a
/// quarter of the round trip, and all of it once the path has changed the order (RFC 8985, section
/// 7.1).
const REORDERING: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(100));
/// The time between two looks at the clock while something arrives, and while nothing does.
const TURN: Duration = Duration::from_millis(5);
const REST: Duration = Duration::from_millis(50);
/// The time for which a connection is kept that carries nothing.
const IDLE: Duration = Duration::from_secs(30);

/// The first transfer of a connection.
const FIRST: u16 = 1;

/// A body of a transfer: all of it, or one that is read as it arrives.
pub(crate) enum Delivery {
    Whole(DeliveredBody),
    Arriving(ArrivingBody),
}

impl Delivery {
    /// Returns the length of the body.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Whole(body) => body.length(),
            Self::Arriving(body) => body.length(),
        }
    }
}

/// A body that is arriving.
struct Arriving {
    assembler: Assembler,
    last: Instant,
    /// Present until the body has come, or begun where it is read as it arrives.
    done: Option<oneshot::Sender<Result<Delivery, String>>>,
    progress: Arc<AtomicU64>,
}

impl Arriving {
    /// Tells whether nothing waits for the body any more.
    fn is_abandoned(&self) -> bool {
        self.done.as_ref().map_or(self.assembler.is_abandoned(), oneshot::Sender::is_closed)
    }

    /// Passes on what has come.
    fn finish(self) {
        let Some(done) = self.done else { return };
        let void = self.assembler.void();
        let body = self.assembler.finish().map(Delivery::Whole);
        let _ = done.send(
            body.ok_or_else(|| void.map_or_else(|| NO_ANSWER.to_owned(), |why| why.to_string())),
        );
    }
}

/// A body that is asked for over SAP.
pub(crate) struct AskedBody {
    /// The name of its transfer.
    pub(crate) token: TransferToken,
    /// All of it travels as precise messages.
    pub(crate) is_precise: bool,
    /// The bytes that have arrived.
    pub(crate) progress: Arc<AtomicU64>,
}

/// A body that is expected on a connection.
pub(crate) struct Expected(oneshot::Receiver<Result<Delivery, String>>);

impl Expected {
    /// Waits for the body.
    ///
    /// # Errors
    /// The reason for which it must come over TCP.
    pub(crate) async fn complete(self) -> Result<Delivery, String> {
        self.0.await.unwrap_or_else(|_| Err(NO_ANSWER.to_owned()))
    }
}

#[derive(Default)]
struct State {
    arriving: BTreeMap<u16, Arriving>,
    /// The number of the transfer before.
    number: u16,
    is_closed: bool,
}

/// A connection to a server, on which bodies arrive.
pub(crate) struct Link {
    socket: SapSocket,
    /// The memory of all bodies.
    memory: BodyMemory,
    state: Mutex<State>,
    /// The token of the first transfer, once the server has begun with it.
    name: OnceLock<TransferToken>,
}

impl Link {
    pub(crate) fn new(socket: SapSocket, memory: BodyMemory) -> Arc<Self> {
        socket.set_patience_with_queues(STALL);
        Arc::new(Self { socket, memory, state: Mutex::default(), name: OnceLock::new() })
    }

    pub(crate) fn server(&self) -> SocketAddr {
        self.socket.peer_addr()
    }

    /// Returns the name by which the server knows the connection.
    pub(crate) fn name(&self) -> Option<TransferToken> {
        self.name.get().copied()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Expects the next transfer, whose body is read as it arrives if it is precise; `None` if
    /// the connection takes no more. Each transfer has a stream of its own, so numbers are never
    /// used again.
    pub(crate) fn expect(&self, asked: &AskedBody) -> Option<(u16, Expected)> {
        let mut state = self.state();
        if state.is_closed {
            return None;
        }
        state.number = state.number.checked_add(1)?;
        let (done, body) = oneshot::channel();
        let assembler = Assembler::new(asked.token, asked.is_precise, self.memory.clone());
        let last = real_time();
        let done = Some(done);
        let number = state.number;
        let progress = Arc::clone(&asked.progress);
        state.arriving.insert(number, Arriving { assembler, last, done, progress });
        Some((number, Expected(body)))
    }

    /// Asks the server for the body of a token that is expected.
    pub(crate) fn ask(&self, transfer: u16, token: TransferToken) -> Result<(), SapError> {
        let data = Control::Ask(token).encode(transfer);
        self.socket.send_message(&Message { stream: CONTROL_STREAM, mode: Mode::Precise, data })
    }

    /// Starts the thread that receives.
    ///
    /// # Errors
    /// If the system has none left.
    pub(crate) fn start(self: &Arc<Self>) -> io::Result<()> {
        let link = Arc::clone(self);
        let thread = thread::Builder::new().name("link".to_owned()).stack_size(STACK);
        thread.spawn(move || link.run()).map(drop)
    }

    fn run(&self) {
        let mut looked = real_time();
        let mut busy = looked;
        let mut turn = TURN;
        loop {
            self.socket.set_timeout(Some(turn.into()));
            match self.socket.recv() {
                Ok(Some(message)) => self.take(message),
                Err(SapError::TimedOut) => {}
                Ok(None) | Err(_) => break,
            }
            let now = real_time();
            if now.duration_since(looked) < turn {
                continue;
            }
            looked = now;
            let is_busy = self.end_quiet(now);
            turn = if is_busy { TURN } else { REST };
            if is_busy {
                busy = now;
            } else if now.duration_since(busy) > IDLE {
                break;
            }
        }
        let mut state = self.state();
        state.is_closed = true;
        core::mem::take(&mut state.arriving).into_values().for_each(Arriving::finish);
    }

    fn take(&self, message: Received) {
        let length = message.data.len() as u64;
        let mut state = self.state();
        let (transfer, control) = match message.kind {
            MessageKind::Precise => match Control::decode(message.data.clone()) {
                Ok((transfer, control)) => (transfer, Some(Ok(control))),
                Err(why) => match Control::transfer_of(&message.data) {
                    Some(transfer) => (transfer, Some(Err(why))),
                    None => return,
                },
            },
            _ => (message.stream, None),
        };
        let Some(arriving) = state.arriving.get_mut(&transfer) else { return };
        arriving.last = real_time();
        arriving.progress.fetch_add(length, Ordering::Relaxed);
        match control {
            Some(Ok(control)) => arriving.assembler.control(control),
            Some(Err(why)) => arriving.assembler.refuse(why.into()),
            None => arriving.assembler.piece(message),
        }
        if let Some(body) = arriving.assembler.take_begun()
            && let Some(done) = arriving.done.take()
        {
            let _ = done.send(Ok(Delivery::Arriving(body)));
        }
        if transfer == FIRST && arriving.assembler.has_begun() {
            self.name.get_or_init(|| arriving.assembler.token());
        }
        if arriving.assembler.is_complete() {
            finish(&mut state, transfer);
        }
    }

    /// Ends the transfers that get nothing more; returns whether any is left.
    fn end_quiet(&self, now: Instant) -> bool {
        let round = self.socket.round_trip().map(Duration::from);
        let mut state = self.state();
        let is_over = |arriving: &Arriving| {
            arriving.is_abandoned()
                || now.duration_since(arriving.last) >= patience(&arriving.assembler, round)
        };
        let over = state.arriving.iter().filter(|(_, it)| is_over(it)).map(|(number, _)| *number);
        for transfer in over.collect::<Vec<_>>() {
            finish(&mut state, transfer);
        }
        !state.arriving.is_empty()
    }
}

/// Returns the time without a message after which nothing more of a body is expected, on a path of
/// this round trip.
fn patience(body: &Assembler, round: Option<Duration>) -> Duration {
    if !body.has_ended() {
        return if body.has_last_piece() { SETTLED } else { PATIENCE };
    }
    let (least, most) = REORDERING;
    if body.is_reordered() {
        return round.map_or(most, |round| (round + least).min(5 * most));
    }
    round.map_or(2 * least, |round| (round / 4).clamp(least, most))
}

fn finish(state: &mut State, transfer: u16) {
    state.arriving.remove(&transfer).into_iter().for_each(Arriving::finish);
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use windfall_bodies::BodyPlan;
    use windfall_socket::Integrity;

    use super::*;

    fn piece(number: u32) -> Received {
        Received {
            stream: 0,
            kind: MessageKind::Approximate,
            number,
            data: Bytes::from_static(&[7; 10]),
            exact: Vec::new(),
            integrity: Integrity::Intact,
            missing: Vec::new(),
        }
    }

    #[test]
    fn a_body_that_has_ended_is_waited_for_no_longer_than_the_path_reorders() {
        let millis = |number| Some(Duration::from_millis(number));
        let token = TransferToken::default();
        let mut body = Assembler::new(token, false, BodyMemory::default());
        assert_eq!(patience(&body, millis(8)), PATIENCE);
        let plan = BodyPlan { token, piece: 10, length: 20, exact: Vec::new() };
        body.control(Control::Plan(plan, Bytes::new()));
        assert_eq!(patience(&body, millis(8)), PATIENCE);
        body.piece(piece(1));
        assert_eq!(patience(&body, millis(8)), SETTLED);
        body.control(Control::End);
        for (round, waits) in [(8, 10), (100, 25), (2_000, 100)] {
            assert_eq!(Some(patience(&body, millis(round))), millis(waits));
        }
        assert_eq!(Some(patience(&body, None)), millis(20));
        body.piece(piece(1));
        assert_eq!(Some(patience(&body, millis(100))), millis(25));
        body.piece(piece(0));
        for (round, waits) in [(8, 18), (100, 110), (2_000, 500)] {
            assert_eq!(Some(patience(&body, millis(round))), millis(waits), "it reorders");
        }
    }
}
