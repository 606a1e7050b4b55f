//! The settings of a socket and what it can tell of its connection.

use std::ffi::{c_char, c_int, c_long, c_void};
use std::ops::Range;

use windfall_socket::{
    Carrier, Decision, Duration, Mode, Received, SapConfig, SapError, SapSocket, SharedKey,
    Tolerance,
};

use crate::failure::{CallResult, Failure};
use crate::memory::text_of;
use crate::message::{ArrivedMessage, MessageRange};
use crate::socket::Socket;

/// The maximum number of ranges of a message or a repair.
const RANGES: usize = 8;

/// Returns the mode of a number of `sap.h`.
pub(crate) fn mode_of(number: c_int, protected: usize) -> CallResult<Mode> {
    match number {
        0 => Ok(Mode::Precise),
        1 => Ok(Mode::Approximate { protected }),
        other => {
            let text = format!("{other} is neither SAP_PRECISE nor SAP_APPROX");
            Err(Failure::new(libc::EINVAL, text))
        }
    }
}

//= S0.17
/// Sets the mode of the following messages. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_set_mode(sock: *mut Socket, mode: c_int, protected: usize) -> c_int {
    let socket = socket!(sock, -1);
    let set = mode_of(mode, protected).and_then(|mode| socket.set(|settings| settings.mode = mode));
    socket.error.report(set, -1)
}

/// Makes the following messages approximate, exact in ranges. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_set_ranges(
    sock: *mut Socket,
    ranges: *const MessageRange,
    count: usize,
) -> c_int {
    let socket = socket!(sock, -1);
    // SAFETY: the caller passes `count` ranges, or null.
    let ranges = unsafe { ranges_of(ranges, count) };
    let set = ranges.and_then(|ranges| socket.set(|settings| settings.mode = Mode::Ranges(ranges)));
    socket.error.report(set, -1)
}

/// Copies ranges of the caller.
///
/// # Safety
/// `ranges` is null or leads to `count` ranges.
unsafe fn ranges_of(ranges: *const MessageRange, count: usize) -> CallResult<Vec<Range<usize>>> {
    if count > 0 && ranges.is_null() || count > 1 << 16 {
        return Err(Failure::new(libc::EINVAL, format!("there are no {count} ranges")));
    }
    // SAFETY: the pointer is not null where it is used, and leads to that many ranges.
    let ranges = (0..count).map(|index| unsafe { ranges.add(index).read() });
    let ranges: Vec<_> = ranges.map(|range| range.start..range.end).collect();
    match ranges.iter().find(|range| range.start > range.end) {
        Some(Range { start, end }) => {
            let text = format!("a range cannot end at {end} before its start at {start}");
            Err(Failure::new(libc::EINVAL, text))
        }
        None => Ok(ranges),
    }
}

/// Converts milliseconds to a duration; `None` if they are negative.
fn span(milliseconds: c_int) -> Option<Duration> {
    u64::try_from(milliseconds).ok().map(Duration::from_millis)
}

/// Sets the longest time that a call waits. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_set_timeout(sock: *mut Socket, milliseconds: c_int) -> c_int {
    let socket = socket!(sock, -1);
    socket.error.report(socket.set(|settings| settings.timeout = span(milliseconds)), -1)
}

/// Sets how long a close waits without progress. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_set_linger(sock: *mut Socket, milliseconds: c_int) -> c_int {
    let socket = socket!(sock, -1);
    let linger = span(milliseconds).ok_or_else(|| {
        Failure::new(libc::EINVAL, format!("a close cannot wait for {milliseconds} ms"))
    });
    let set = linger.and_then(|linger| socket.set(|settings| settings.linger = Some(linger)));
    socket.error.report(set, -1)
}

/// Lets calls fail instead of waiting. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_set_nonblocking(sock: *mut Socket, on: c_int) -> c_int {
    let socket = socket!(sock, -1);
    socket.error.report(socket.set(|settings| settings.nonblocking = on != 0), -1)
}

/// Sends and receives approximate messages newest first. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_set_newest_first(sock: *mut Socket, on: c_int) -> c_int {
    let socket = socket!(sock, -1);
    socket.error.report(socket.set(|settings| settings.newest_first = on != 0), -1)
}

/// Limits the memory of the messages of all sockets. See `sap.h`.
#[unsafe(no_mangle)]
pub extern "C" fn sap_limit_memory(bytes: usize) {
    windfall_socket::limit_memory(bytes);
}

/// Sets the pre-shared key. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_set_key(sock: *mut Socket, key: *const [u8; 32]) -> c_int {
    let socket = socket!(sock, -1);
    // SAFETY: the pointer is null or points to 32 bytes that do not change during the call.
    let key = unsafe { key.as_ref() }.copied().map(SharedKey::new);
    socket.error.report(socket.set_option(|options| options.key = key), -1)
}

/// Sets the profile of the protocol. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_set_profile(sock: *mut Socket, profile: c_int) -> c_int {
    let socket = socket!(sock, -1);
    let config = match profile {
        0 => Ok(SapConfig::standard()),
        1 => Ok(SapConfig::paper()),
        other => {
            let text = format!("{other} is neither SAP_STANDARD nor SAP_PAPER");
            Err(Failure::new(libc::EINVAL, text))
        }
    };
    let set = config.and_then(|config| socket.set_option(|options| options.config = config));
    socket.error.report(set, -1)
}

/// Returns the carrier with this name; `None` without a name.
///
/// # Safety
/// `name` is null or a string that ends with a zero.
pub(crate) unsafe fn carrier_of(name: *const c_char) -> CallResult<Option<Carrier>> {
    // SAFETY: as the caller promises.
    let name = unsafe { text_of(name) }?;
    let carrier = name.map(str::parse::<Carrier>).transpose();
    carrier.map_err(|error| Failure::new(libc::EINVAL, error.to_string()))
}

/// Sets the carrier of the datagrams. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_set_carrier(sock: *mut Socket, name: *const c_char) -> c_int {
    let socket = socket!(sock, -1);
    // SAFETY: the caller passes a string that ends with a zero, or null.
    let carrier = unsafe { carrier_of(name) };
    let set = carrier.and_then(|carrier| socket.set_option(|options| options.carrier = carrier));
    socket.error.report(set, -1)
}

/// Sets the stream of the following messages. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_set_stream(sock: *mut Socket, stream: u16) -> c_int {
    let socket = socket!(sock, -1);
    socket.error.report(socket.set(|settings| settings.stream = stream), -1)
}

//= S1.67
/// Sets the damage that the application tolerates. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_set_tolerance(
    sock: *mut Socket,
    bit_errors: f64,
    loss: c_int,
    in_order: c_int,
    protected: usize,
) -> c_int {
    let socket = socket!(sock, -1);
    let tolerance = Tolerance { bit_errors, loss: loss != 0, in_order: in_order != 0, protected };
    let legal = tolerance.validated().map_err(|error| Failure::from(SapError::from(error)));
    let set = legal.and_then(|legal| socket.set(|settings| settings.tolerance = Some(legal)));
    socket.error.report(set, -1)
}

/// A function of C that judges a message.
type Check = unsafe extern "C" fn(
    *mut c_void,
    *const ArrivedMessage,
    *mut MessageRange,
    *mut usize,
) -> c_int;

/// The caller's pointer for its check.
struct Context(*mut c_void);

// SAFETY: `sap.h` requires that the check can be called by any thread that uses the socket.
unsafe impl Send for Context {}

impl Context {
    fn judge(&self, check: Check, message: &Received) -> Decision {
        let mut ranges = [MessageRange::default(); RANGES];
        let mut count = RANGES;
        let lent = ArrivedMessage::lend(message);
        // SAFETY: the message, the ranges and their number live through the call; the caller
        // promises that the function is one of this kind.
        let decision = unsafe { check(self.0, lent, ranges.as_mut_ptr(), &raw mut count) };
        let asked = ranges.iter().take(count).filter(|range| range.start < range.end);
        match decision {
            0 => Decision::Accept,
            2 => Decision::Repair(asked.map(|range| range.start..range.end).collect()),
            _ => Decision::Discard,
        }
    }
}

//= S0.26
/// Sets the check of the application. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_set_check(
    sock: *mut Socket,
    check: Option<Check>,
    context: *mut c_void,
) -> c_int {
    let socket = socket!(sock, -1);
    let context = Context(context);
    let set = socket.connected().map(|open| {
        open.set_check(check.map(|check| -> windfall_socket::MessageCheck {
            Box::new(move |message| context.judge(check, message))
        }));
        0
    });
    socket.error.report(set, -1)
}

/// Returns what the connection knows of itself, or `otherwise` without one.
fn ask<T>(socket: &Socket, otherwise: T, question: impl FnOnce(&SapSocket) -> T) -> T {
    socket.socket.get().map_or(otherwise, question)
}

/// Returns the length of the longest message. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_max_message(sock: *const Socket) -> usize {
    ask(socket!(sock, 0), 0, SapSocket::max_message)
}

/// Returns the length of the longest message in one datagram. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_max_whole(sock: *const Socket) -> usize {
    ask(socket!(sock, 0), 0, SapSocket::max_whole)
}

/// Returns for how long the peer has been silent. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_silence(sock: *const Socket) -> c_long {
    ask(socket!(sock, -1), -1, |open| {
        open.silence().map_or(0, |silence| (silence.as_nanos() / 1_000_000) as c_long)
    })
}

/// Returns the round-trip time. See `sap.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sap_round_trip(sock: *const Socket) -> c_long {
    ask(socket!(sock, -1), -1, |open| {
        open.round_trip().map_or(-1, |span| (span.as_nanos() / 1000) as c_long)
    })
}
