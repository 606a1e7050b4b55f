//! Receives bodies over SAP: several at once on one connection.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use windfall_socket::{Message, MessageKind, Mode, Received, SapError, SapSocket};

use crate::assembly::{Assembler, DeliveredBody};
use crate::control::{CONTROL_STREAM, Control, TransferToken};
use crate::quota::real_time;

/// The time without a message after which a body is given up.
const PATIENCE: Duration = Duration::from_secs(20);
/// The time without a message after which a body is whole whose sender has ended, though pieces of
/// it are missing.
const QUIET: Duration = Duration::from_millis(500);
/// The same time if one of its last pieces has arrived.
const AT_ITS_END: Duration = Duration::from_millis(100);
/// The time between two looks at the clock.
const TURN: windfall_socket::Duration = windfall_socket::Duration::from_millis(25);
/// The time for which a connection is kept that carries nothing.
const IDLE: Duration = Duration::from_secs(30);

/// A body that is arriving.
struct Arriving {
    assembler: Assembler,
    last: Instant,
    done: oneshot::Sender<Option<DeliveredBody>>,
    progress: Arc<AtomicU64>,
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
    state: Mutex<State>,
    /// The token of the first transfer, once it has arrived.
    name: OnceLock<TransferToken>,
}

impl Link {
    pub(crate) fn new(socket: SapSocket) -> Arc<Self> {
        Arc::new(Self { socket, state: Mutex::default(), name: OnceLock::new() })
    }

    pub(crate) fn server(&self) -> SocketAddr {
        self.socket.peer_addr()
    }

    /// Returns the name by which the server knows the connection.
    pub(crate) fn name(&self) -> Option<TransferToken> {
        self.name.get().copied()
    }

    /// Gives the connection the name of a transfer that has arrived, if it has none.
    pub(crate) fn set_name(&self, token: TransferToken) {
        self.name.get_or_init(|| token);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Expects the next transfer; `None` if the connection takes no more. Each transfer has a
    /// stream of its own, so numbers are never used again.
    pub(crate) fn expect(
        &self,
        token: TransferToken,
        progress: Arc<AtomicU64>,
    ) -> Option<(u16, oneshot::Receiver<Option<DeliveredBody>>)> {
        let mut state = self.state();
        if state.is_closed {
            return None;
        }
        state.number = state.number.checked_add(1)?;
        let (done, body) = oneshot::channel();
        let (assembler, last) = (Assembler::new(token), real_time());
        let number = state.number;
        state.arriving.insert(number, Arriving { assembler, last, done, progress });
        Some((number, body))
    }

    /// Asks the server for the body of a token that is expected.
    pub(crate) fn ask(&self, transfer: u16, token: TransferToken) -> Result<(), SapError> {
        let data = Control::Ask(token).encode(transfer);
        self.socket.send_message(&Message { stream: CONTROL_STREAM, mode: Mode::Precise, data })
    }

    /// Starts the thread that receives.
    pub(crate) fn start(self: &Arc<Self>) {
        let link = Arc::clone(self);
        thread::spawn(move || link.run());
    }

    fn run(&self) {
        self.socket.set_timeout(Some(TURN));
        let mut looked = real_time();
        let mut busy = looked;
        loop {
            match self.socket.recv() {
                Ok(Some(message)) => self.take(message),
                Err(SapError::TimedOut) => {}
                Ok(None) | Err(_) => break,
            }
            let now = real_time();
            if now.duration_since(looked) < TURN.into() {
                continue;
            }
            looked = now;
            if self.end_quiet(now) {
                busy = now;
            } else if now.duration_since(busy) > IDLE {
                break;
            }
        }
        let mut state = self.state();
        state.is_closed = true;
        for (_, arriving) in core::mem::take(&mut state.arriving) {
            let _ = arriving.done.send(arriving.assembler.finish());
        }
    }

    fn take(&self, message: Received) {
        let length = message.data.len() as u64;
        let mut state = self.state();
        let (transfer, control) = match message.kind {
            MessageKind::Precise => match Control::decode(message.data.clone()) {
                Some((transfer, control)) => (transfer, Some(control)),
                None => return,
            },
            _ => (message.stream, None),
        };
        let Some(arriving) = state.arriving.get_mut(&transfer) else { return };
        arriving.last = real_time();
        arriving.progress.fetch_add(length, Ordering::Relaxed);
        match control {
            Some(control) => arriving.assembler.control(control),
            None => arriving.assembler.piece(message),
        }
        if arriving.assembler.is_complete() {
            finish(&mut state, transfer);
        }
    }

    /// Ends the transfers that get nothing more; returns whether any is left.
    fn end_quiet(&self, now: Instant) -> bool {
        let mut state = self.state();
        let is_over = |arriving: &Arriving| {
            let patience = match (arriving.assembler.has_ended(), &arriving.assembler) {
                (false, _) => PATIENCE,
                (true, assembler) if assembler.is_at_its_end() => AT_ITS_END,
                (true, _) => QUIET,
            };
            arriving.done.is_closed() || now.duration_since(arriving.last) >= patience
        };
        let over = state.arriving.iter().filter(|(_, it)| is_over(it)).map(|(number, _)| *number);
        for transfer in over.collect::<Vec<_>>() {
            finish(&mut state, transfer);
        }
        !state.arriving.is_empty()
    }
}

fn finish(state: &mut State, transfer: u16) {
    if let Some(arriving) = state.arriving.remove(&transfer) {
        let _ = arriving.done.send(arriving.assembler.finish());
    }
}
