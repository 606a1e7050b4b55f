//! The arguments of system calls, and how far a call has come.

use windfall_base::Instant;
use windfall_files::packet_script::{Argument, Call};

use crate::socket::Socket;
use crate::verdict::Stop;
use crate::world::World;

/// The progress of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// It returns this, with the name of the error.
    Done(i64, Option<&'static str>),
    /// It blocks; until the time, if there is one.
    Waits(Option<Instant>),
}

impl Step {
    pub(crate) const SUCCESS: Self = Self::Done(0, None);

    pub(crate) fn failure(errno: &'static str) -> Self {
        Self::Done(-1, Some(errno))
    }
}

/// The memory of a call that blocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    pub(crate) started: Instant,
    /// Bytes written so far.
    pub(crate) written: usize,
    /// No more is taken than the SYN carries.
    pub(crate) is_on_syn: bool,
}

impl Progress {
    pub(crate) fn new(started: Instant) -> Self {
        Self { started, written: 0, is_on_syn: false }
    }
}

/// Returns the argument `at` as a number.
pub(crate) fn number(call: &Call, at: usize) -> Result<i64, Stop> {
    let value = call.arguments.get(at).and_then(Argument::number);
    value.map_or_else(
        || Stop::unsupported(format!("{} without a number as argument {at}", call.name)),
        Ok,
    )
}

/// Returns the names of the argument `at`, which are joined by `|`.
pub(crate) fn names(value: Option<&Argument>) -> Option<Vec<&str>> {
    match value? {
        Argument::Name(name) => Some(vec![name]),
        Argument::Number(0) => Some(Vec::new()),
        Argument::Or(parts) if parts.iter().all(|part| name_of(part).is_some()) => Some(
            parts
                .iter()
                .filter_map(|part| {
                    if let Argument::Name(name) = part { Some(name.as_str()) } else { None }
                })
                .collect(),
        ),
        _ => None,
    }
}

/// Returns the name that an argument consists of.
fn name_of(value: &Argument) -> Option<String> {
    match value {
        Argument::Name(name) => Some(name.clone()),
        _ => None,
    }
}

/// Returns the socket that the first argument names, or the failure of the call.
pub(crate) fn with<'a>(
    world: &'a mut World,
    call: &Call,
) -> Result<Result<&'a mut Socket, Step>, Stop> {
    let fd = number(call, 0)?;
    Ok(world.sockets.get_mut(&fd).ok_or_else(|| Step::failure("EBADF")))
}

/// Returns what the first argument names, or lets the call fail.
macro_rules! socket {
    ($world:expr, $call:expr) => {
        match with($world, $call)? {
            Ok(socket) => socket,
            Err(step) => return Ok(step),
        }
    };
}
pub(crate) use socket;

/// Lets a call succeed if `value`, a number or a list of one, is `found`.
pub(crate) fn expect_number(
    what: &str,
    value: Option<&Argument>,
    found: i64,
) -> Result<Step, Stop> {
    let wanted = match value {
        Some(Argument::List(values)) => values.first(),
        other => other,
    };
    match wanted {
        Some(Argument::Number(wanted)) if *wanted == found => Ok(Step::SUCCESS),
        Some(Argument::Any) | None => Ok(Step::SUCCESS),
        Some(Argument::Number(wanted)) => {
            Stop::instead(format!("{what} differ"), wanted.to_string(), found.to_string())
        }
        Some(other) => Stop::unsupported(format!("{other:?} as a number")),
    }
}
