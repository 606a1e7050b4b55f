//! System calls on the sockets of the engine.

use std::sync::Arc;

use windfall_base::Instant;
use windfall_packet_script::{Argument, Call, Returned};
use windfall_tcp::{Listener, TcpError, TcpState, UseError};

use crate::argument::{Step, expect_number, names, number, socket, with};
use crate::flow::data;
use crate::message;
use crate::socket::{Role, Socket, errno};
use crate::socket_option;
use crate::verdict::Stop;
use crate::world::World;

/// The memory of a call that blocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    pub(crate) started: Instant,
    /// Bytes written so far.
    written: usize,
    /// No more is taken than the SYN carries.
    is_on_syn: bool,
}

impl Progress {
    pub(crate) fn new(started: Instant) -> Self {
        Self { started, written: 0, is_on_syn: false }
    }
}

type Attempt = Result<Step, Stop>;

/// Names of the calls that [`attempt`] knows.
const KNOWN: [&str; 23] = [
    "sendmsg",
    "recvmsg",
    "socket",
    "bind",
    "listen",
    "accept",
    "accept4",
    "connect",
    "read",
    "recv",
    "recvfrom",
    "write",
    "send",
    "sendto",
    "close",
    "shutdown",
    "setsockopt",
    "getsockopt",
    "fcntl",
    "ioctl",
    "poll",
    "getsockname",
    "getpeername",
];

/// Tells whether there is such a call here.
pub(crate) fn is_known(name: &str) -> bool {
    KNOWN.contains(&name)
}

/// Makes a call, or goes on with one that blocks.
pub(crate) fn attempt(world: &mut World, call: &Call, progress: &mut Progress) -> Attempt {
    let step = match call.name.as_str() {
        "socket" => open(world, call),
        "bind" | "getsockname" | "getpeername" => {
            Ok(with(world, call)?.map_or_else(|step| step, |_| Step::SUCCESS))
        }
        "listen" => listen(world, call),
        "accept" | "accept4" => accept(world, call),
        "connect" => connect(world, call),
        "recvmsg" if message::is_of_errors(call) => message::errors(world, call),
        "read" | "recv" | "recvfrom" | "recvmsg" => read(world, call),
        "write" | "send" => write(world, call, progress),
        "sendto" | "sendmsg" => send_to(world, call, progress),
        "close" => close(world, call),
        "shutdown" => shutdown(world, call),
        "setsockopt" => socket_option::set(world, call),
        "getsockopt" => socket_option::get(world, call),
        "fcntl" => control(world, call),
        "ioctl" => count(world, call),
        "poll" => poll(world, call, progress),
        name => Stop::unsupported(name),
    };
    world.machine.drain();
    step
}

/// The most bytes that a call may read or write.
const MOST: usize = 64 << 20;

/// Returns the bytes that a call may read or is to write, and the place of its flags.
fn size(call: &Call) -> Result<(usize, usize), Stop> {
    if call.name.ends_with("msg") {
        return Ok((bytes(call, message::length(call)?)?, 2));
    }
    Ok((bytes(call, number(call, 2)?)?, 3))
}

fn bytes(call: &Call, number: i64) -> Result<usize, Stop> {
    match usize::try_from(number) {
        Ok(size) if size <= MOST => Ok(size),
        _ => Stop::unsupported(format!("{} of {number} bytes", call.name)),
    }
}

/// Returns the descriptor that a call gives out, which is the script's choice.
fn descriptor(call: &Call) -> Result<i64, Stop> {
    match call.returned {
        Returned::Value(fd) => Ok(fd),
        _ => Stop::unsupported(format!("{} without a descriptor as its result", call.name)),
    }
}

fn open(world: &mut World, call: &Call) -> Attempt {
    let is = |at: usize, known: &[&str]| match call.arguments.get(at) {
        Some(Argument::Name(name)) => known.contains(&name.as_str()),
        Some(Argument::Any | Argument::Number(0)) => true,
        _ => false,
    };
    let families = ["AF_INET", "AF_INET6", "PF_INET", "PF_INET6"];
    let kinds = names(call.arguments.get(1)).unwrap_or_default();
    let is_tcp = is(0, &families) && kinds.contains(&"SOCK_STREAM") && is(2, &["IPPROTO_TCP"]);
    if !is_tcp {
        return Stop::unsupported("a socket that is not one of TCP");
    }
    let fd = descriptor(call)?;
    let mut socket = Socket::new(world.system.tcp.clone(), Role::Fresh);
    socket.nonblocking = kinds.contains(&"SOCK_NONBLOCK");
    world.sockets.insert(fd, socket);
    Ok(Step::Done(fd, None))
}

fn listen(world: &mut World, call: &Call) -> Attempt {
    let (local, system) = (world.local(), &world.system);
    let (answers_ecn, answers_accurate_ecn) = (system.answers_ecn, system.answers_accurate_ecn);
    let opens_fast = system.listeners_open_fast;
    let socket = socket!(world, call);
    if socket.role != Role::Fresh {
        return Ok(Step::failure("EINVAL"));
    }
    socket.role = Role::Listening;
    let mut config = socket.config.clone();
    config.fast_open |= opens_fast;
    config.ecn |= answers_ecn;
    config.accurate_ecn |= answers_accurate_ecn;
    let listener = Listener::new(Arc::new(config));
    let listened = world.machine.tcp.listen(local, listener);
    Ok(if listened.is_ok() { Step::SUCCESS } else { Step::failure("EADDRINUSE") })
}

fn accept(world: &mut World, call: &Call) -> Attempt {
    let socket = socket!(world, call);
    if socket.role != Role::Listening {
        return Ok(Step::failure("EINVAL"));
    }
    let (config, nonblocking) = (socket.config.clone(), socket.nonblocking);
    let uncopied = socket.uncopied.clone();
    let flags = names(call.arguments.get(3)).unwrap_or_default();
    let Some(id) = world.machine.backlog.pop_front() else {
        return Ok(if nonblocking { Step::failure("EAGAIN") } else { Step::Waits(None) });
    };
    let fd = descriptor(call)?;
    let mut accepted = Socket::new(config, Role::Stream(id));
    accepted.uncopied = uncopied;
    accepted.nonblocking = flags.contains(&"SOCK_NONBLOCK");
    world.sockets.insert(fd, accepted);
    Ok(Step::Done(fd, None))
}

fn connect(world: &mut World, call: &Call) -> Attempt {
    let socket = socket!(world, call);
    match socket.role {
        Role::Fresh => begin(world, call).map(|step| step.unwrap_or(Step::Waits(None))),
        Role::Listening => Ok(Step::failure("EISCONN")),
        Role::Stream(_) => connected(world, call),
    }
}

/// Begins to connect; the step is that of a socket that does not block.
fn begin(world: &mut World, call: &Call) -> Result<Option<Step>, Stop> {
    let (local, remote) = world.ends();
    let now = world.machine.now;
    let fd = number(call, 0)?;
    let Some(socket) = world.sockets.get_mut(&fd) else { return Ok(Some(Step::failure("EBADF"))) };
    let config = Arc::new(socket.config.clone());
    let nonblocking = socket.nonblocking;
    let Ok(id) = world.machine.tcp.connect(now, local, remote, config) else {
        return Ok(Some(Step::failure("EADDRNOTAVAIL")));
    };
    socket.role = Role::Stream(id);
    if let Some(local) = world.machine.connection(id).map(|it| it.path().local) {
        world.follow(local, remote);
    }
    world.machine.drain();
    Ok(nonblocking.then_some(Step::failure("EINPROGRESS")))
}

/// The outcome of connecting, on a socket that has begun.
fn connected(world: &mut World, call: &Call) -> Attempt {
    let fd = number(call, 0)?;
    let Some(socket) = world.sockets.get(&fd) else { return Ok(Step::failure("EBADF")) };
    let connection = world.connection(socket);
    let state = connection.map_or(TcpState::Closed, windfall_tcp::Connection::state);
    let error = connection.and_then(windfall_tcp::Connection::error);
    let nonblocking = socket.nonblocking;
    Ok(match (state, error) {
        (TcpState::SynSent | TcpState::SynReceived, _) if nonblocking => Step::failure("EALREADY"),
        (TcpState::SynSent | TcpState::SynReceived, _) => Step::Waits(None),
        (_, Some(error)) => fail_once(world, fd, error, "ECONNABORTED"),
        _ if nonblocking => Step::failure("EISCONN"),
        _ => Step::SUCCESS,
    })
}

/// Tells the error of a connection, once; then `later`.
fn fail_once(world: &mut World, fd: i64, error: TcpError, later: &'static str) -> Step {
    match world.sockets.get_mut(&fd) {
        Some(socket) if !socket.told => {
            socket.told = true;
            Step::failure(errno(error))
        }
        _ => Step::failure(later),
    }
}

/// Flags of a call that sends or receives.
struct Flags {
    /// It must not block.
    at_once: bool,
    /// The bytes that it returns stay in the buffer.
    peeks: bool,
    /// The program is told when its data are no longer needed.
    uncopied: bool,
}

fn flags(call: &Call, at: usize) -> Result<Flags, Stop> {
    let Some(names) = call.arguments.get(at).map_or(Some(Vec::new()), |it| names(Some(it))) else {
        return Stop::unsupported(format!("flags of {}", call.name));
    };
    let known = ["MSG_DONTWAIT", "MSG_NOSIGNAL", "MSG_FASTOPEN", "MSG_PEEK", "MSG_ZEROCOPY"];
    match names.iter().find(|name| !known.contains(name)) {
        Some(name) => Stop::unsupported(*name),
        None => Ok(Flags {
            at_once: names.contains(&"MSG_DONTWAIT"),
            peeks: names.contains(&"MSG_PEEK"),
            uncopied: names.contains(&"MSG_ZEROCOPY"),
        }),
    }
}

fn read(world: &mut World, call: &Call) -> Attempt {
    let (most, at) = size(call)?;
    let Flags { at_once, peeks, .. } = flags(call, at)?;
    let fd = number(call, 0)?;
    let socket = socket!(world, call);
    let Some(id) = socket.stream() else { return Ok(Step::failure("ENOTCONN")) };
    let (first, nonblocking) = (socket.read.wrapping_add(1), socket.nonblocking || at_once);
    let shut = socket.shut[0];
    let readable = world.machine.connection(id).map_or(0, windfall_tcp::Connection::readable);
    if peeks && readable.min(most) > 0 {
        // The bytes are compared when they are read.
        return Ok(Step::Done(readable.min(most) as i64, None));
    }
    let mut taken = Vec::new();
    while taken.len() < most
        && let Ok(Some(bytes)) = world.machine.tcp.read(id, most - taken.len())
    {
        taken.extend_from_slice(&bytes);
    }
    if !taken.is_empty() {
        if taken != data(first, taken.len()) {
            return Stop::differs(format!("the bytes read from {first} on are wrong"));
        }
        if let Some(socket) = world.sockets.get_mut(&fd) {
            socket.read = socket.read.wrapping_add(taken.len() as u32);
        }
        message::check_left(call, world.machine.connection(id))?;
        return Ok(Step::Done(taken.len() as i64, None));
    }
    let connection = world.machine.connection(id);
    let error = connection.and_then(windfall_tcp::Connection::error);
    let ended = connection.is_none_or(|it| it.at_end() || it.state() == TcpState::Closed);
    Ok(match error {
        Some(error) if !world.sockets[&fd].told => fail_once(world, fd, error, ""),
        _ if ended || shut || most == 0 => Step::SUCCESS,
        _ if nonblocking => Step::failure("EAGAIN"),
        _ => Step::Waits(None),
    })
}

fn write(world: &mut World, call: &Call, progress: &mut Progress) -> Attempt {
    let (len, at) = size(call)?;
    let Flags { at_once, uncopied, .. } = flags(call, at)?;
    let fd = number(call, 0)?;
    let socket = socket!(world, call);
    let Some(id) = socket.stream() else { return Ok(Step::failure("EPIPE")) };
    let nonblocking = socket.nonblocking || at_once;
    let opening = world.machine.connection(id).is_some_and(|it| it.state() == TcpState::SynSent);
    if opening && !world.sockets[&fd].config.fast_open {
        return Ok(if nonblocking { Step::failure("EAGAIN") } else { Step::Waits(None) });
    }
    let first = world.sockets[&fd].written.wrapping_add(1);
    let mut room = len - progress.written;
    if progress.is_on_syn {
        // Linux leaves room for all options there may be.
        room = room.min(usize::from(world.peer_mss).saturating_sub(40));
    }
    let bytes = data(first, room);
    let taken = match world.machine.tcp.write_bytes(id, bytes) {
        Ok(taken) => taken,
        Err(UseError::Over(error)) => return Ok(fail_once(world, fd, error, "EPIPE")),
        Err(UseError::Finished | UseError::Unknown) => return Ok(Step::failure("EPIPE")),
    };
    world.machine.drain();
    progress.written += taken;
    if let Some(socket) = world.sockets.get_mut(&fd) {
        socket.written = socket.written.wrapping_add(taken as u32);
        if uncopied && taken > 0 {
            socket.uncopied.note(socket.written.into());
        }
    }
    Ok(match progress.written {
        written if written == len => Step::Done(len as i64, None),
        0 if nonblocking => Step::failure("EAGAIN"),
        written if nonblocking => Step::Done(written as i64, None),
        _ => Step::Waits(None),
    })
}

/// Sends; with `MSG_FASTOPEN` it connects with data on the SYN (RFC 7413, section 4).
fn send_to(world: &mut World, call: &Call, progress: &mut Progress) -> Attempt {
    let at = if call.name == "sendmsg" { 2 } else { 3 };
    let fast = names(call.arguments.get(at)).is_some_and(|names| names.contains(&"MSG_FASTOPEN"));
    let socket = socket!(world, call);
    if socket.role == Role::Fresh && !fast && socket.config.fast_open {
        // FreeBSD connects by the first sendto, and keeps the data until it is connected.
        begin(world, call)?;
        return write(world, call, progress);
    }
    if socket.role == Role::Fresh && fast {
        socket.config.fast_open = true;
        progress.is_on_syn = socket.nonblocking;
        let before = world.machine.departures.len();
        let step = begin(world, call)?;
        // Without a cookie the SYN that asks for one has left already.
        if world.machine.departures.len() > before
            && let Some(step) = step
        {
            return Ok(step);
        }
    }
    write(world, call, progress)
}

fn close(world: &mut World, call: &Call) -> Attempt {
    let fd = number(call, 0)?;
    let Some(socket) = world.sockets.remove(&fd) else { return Ok(Step::failure("EBADF")) };
    let (now, local) = (world.machine.now, world.local());
    match socket.role {
        Role::Fresh => {}
        Role::Listening => {
            world.machine.tcp.unlisten(local);
            while let Some(id) = world.machine.backlog.pop_front() {
                // A connection that was never accepted is reset; it may be gone already.
                let _ = world.machine.tcp.abort(id);
            }
        }
        // A connection that is gone needs no closing.
        Role::Stream(id) if socket.resets => drop(world.machine.tcp.abort(id)),
        Role::Stream(id) => drop(world.machine.tcp.close(now, id)),
    }
    Ok(Step::SUCCESS)
}

fn shutdown(world: &mut World, call: &Call) -> Attempt {
    let how = call.arguments.get(1);
    let (reading, writing) = match names(how).as_deref() {
        Some(["SHUT_RD"] | []) => (true, false),
        Some(["SHUT_WR"]) => (false, true),
        Some(["SHUT_RDWR"]) => (true, true),
        _ => return Stop::unsupported(format!("shutdown with {how:?}")),
    };
    let socket = socket!(world, call);
    let Some(id) = socket.stream() else { return Ok(Step::failure("ENOTCONN")) };
    socket.shut[0] |= reading;
    let connection = world.machine.connection(id);
    if connection.is_none_or(|it| it.state() == TcpState::Closed) {
        return Ok(Step::failure("ENOTCONN"));
    }
    if writing {
        // The connection is there, as was just seen.
        let _ = world.machine.tcp.shutdown(id);
    }
    Ok(Step::SUCCESS)
}

/// `fcntl`: the flags of a descriptor.
fn control(world: &mut World, call: &Call) -> Attempt {
    const READ_AND_WRITE: i64 = 0x2;
    const NONBLOCK: i64 = 0x800;
    let socket = socket!(world, call);
    match names(call.arguments.get(1)).as_deref() {
        Some(["F_GETFL"]) => {
            Ok(Step::Done(READ_AND_WRITE | if socket.nonblocking { NONBLOCK } else { 0 }, None))
        }
        Some(["F_SETFL"]) => {
            let flags = call.arguments.get(2);
            socket.nonblocking = match flags {
                Some(Argument::Number(bits)) => bits & NONBLOCK != 0,
                _ => names(flags).is_some_and(|names| names.contains(&"O_NONBLOCK")),
            };
            Ok(Step::SUCCESS)
        }
        _ => Stop::unsupported("this command of fcntl"),
    }
}

/// `ioctl`: bytes that wait in a buffer.
fn count(world: &mut World, call: &Call) -> Attempt {
    let fd = number(call, 0)?;
    let Some(socket) = world.sockets.get(&fd) else { return Ok(Step::failure("EBADF")) };
    let connection = world.connection(socket);
    let found = match names(call.arguments.get(1)).as_deref() {
        Some(["SIOCINQ" | "FIONREAD" | "TIOCINQ"]) => {
            connection.map_or(0, windfall_tcp::Connection::readable)
        }
        Some(["SIOCOUTQ" | "TIOCOUTQ"]) => {
            connection.map_or(0, windfall_tcp::Connection::unacknowledged)
        }
        _ => return Stop::unsupported("this command of ioctl"),
    };
    expect_number("bytes", call.arguments.get(2), found as i64)
}

fn poll(world: &mut World, call: &Call, progress: &Progress) -> Attempt {
    let Some(Argument::List(entries)) = call.arguments.first() else {
        return Stop::unsupported("poll without a list of descriptors");
    };
    let timeout = number(call, 2)?;
    let mut ready = 0;
    let mut wrong = None;
    for entry in entries {
        let found = readiness(world, entry)?;
        ready += i64::from(!found.is_empty());
        let wanted = names(entry.field("revents")).unwrap_or_default();
        let (mut left, mut right) = (wanted.clone(), found.clone());
        left.sort_unstable();
        right.sort_unstable();
        if left != right && wrong.is_none() {
            wrong = Some((wanted.join("|"), found.join("|")));
        }
    }
    let ends = u64::try_from(timeout)
        .ok()
        .map(|it| progress.started.saturating_add(windfall_base::Duration::from_millis(it)));
    if ready == 0 && ends.is_none_or(|ends| world.machine.now < ends) {
        return Ok(Step::Waits(ends));
    }
    match wrong {
        None => Ok(Step::Done(ready, None)),
        Some((wanted, found)) => Stop::instead("events of poll differ", wanted, found),
    }
}

/// Names what a descriptor of `poll` is ready for, of what is asked.
fn readiness(world: &World, entry: &Argument) -> Result<Vec<&'static str>, Stop> {
    let (Some(fd), Some(asked)) =
        (entry.field("fd").and_then(Argument::number), names(entry.field("events")))
    else {
        return Stop::unsupported("poll of something without descriptor and events");
    };
    let Some(socket) = world.sockets.get(&fd) else { return Ok(vec!["POLLNVAL"]) };
    let connection = world.connection(socket);
    let state = connection.map(windfall_tcp::Connection::state);
    let over = state.is_none_or(|it| it == TcpState::Closed) && socket.role != Role::Listening;
    let open = !matches!(state, Some(TcpState::SynSent | TcpState::SynReceived));
    let finished = connection.is_some_and(windfall_tcp::Connection::at_end);
    let waiting = match socket.role {
        Role::Listening => !world.machine.backlog.is_empty(),
        _ => connection.is_some_and(|it| it.readable() > 0),
    };
    let room = connection.is_some_and(|it| it.unacknowledged() < socket.config.send_buffer.initial);
    let is = [
        ("POLLIN", waiting || over || finished),
        ("POLLOUT", over || (room && open)),
        ("POLLRDHUP", over || finished),
    ];
    let mut found: Vec<_> = is
        .into_iter()
        .filter(|(name, is)| *is && asked.contains(name))
        .map(|(name, _)| name)
        .collect();
    if over {
        found.push("POLLHUP");
        if connection.is_some_and(|it| it.error().is_some()) && !socket.told {
            found.push("POLLERR");
        }
    }
    Ok(found)
}
