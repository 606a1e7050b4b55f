//! System calls on the sockets of the engine.

use std::sync::Arc;

use windfall_files::packet_script::{Argument, Call, Returned};
use windfall_tcp::{Connection, Cork, Listener, TcpError, TcpState, UseError};

use crate::argument::{Progress, Step, expect_number, names, number, socket, with};
use crate::epoll::{self, readiness_of};
use crate::flow::data;
use crate::message;
use crate::socket::{Role, Socket, errno};
use crate::socket_option;
use crate::verdict::Stop;
use crate::world::World;

type Attempt = Result<Step, Stop>;

/// Names of the calls that [`attempt`] knows.
const KNOWN: [&str; 29] = [
    "epoll_create",
    "epoll_create1",
    "epoll_ctl",
    "epoll_wait",
    "open",
    "sendfile",
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
        "epoll_create" | "epoll_create1" => Ok(epoll::create(world, descriptor(call)?)),
        "epoll_ctl" => epoll::control(world, call),
        "epoll_wait" => epoll::wait(world, call, progress),
        "open" => open_file(world, call),
        "sendfile" => send_file(world, call, progress),
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
    if kinds.contains(&"SOCK_STREAM") && is(2, &["IPPROTO_UDP"]) && is(0, &families) {
        return Ok(Step::failure("EPROTONOSUPPORT"));
    }
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

/// `open`: a file with as many bytes as are read.
fn open_file(world: &mut World, call: &Call) -> Attempt {
    let fd = descriptor(call)?;
    world.files.insert(fd);
    Ok(Step::Done(fd, None))
}

/// `sendfile`: writes what stands in a file.
fn send_file(world: &mut World, call: &Call, progress: &mut Progress) -> Attempt {
    if !world.files.contains(&number(call, 1)?) {
        return Ok(Step::failure("EBADF"));
    }
    let mut write_call = call.clone();
    write_call.name = "write".to_owned();
    write_call.arguments.remove(1);
    write(world, &write_call, progress)
}

fn listen(world: &mut World, call: &Call) -> Attempt {
    let local = world.local();
    let system = &world.system;
    let answers_ecn = system.answers_ecn;
    let answers_accurate_ecn = system.answers_accurate_ecn;
    let opens_fast = system.listeners_open_fast;
    let socket = socket!(world, call);
    if socket.role != Role::Fresh {
        return Ok(Step::failure("EINVAL"));
    }
    socket.role = Role::Listening;
    let key = socket.cookie_key;
    let mut config = socket.config.clone();
    config.fast_open |= opens_fast;
    config.ecn |= answers_ecn;
    config.accurate_ecn |= answers_accurate_ecn;
    let listener = Listener::new(Arc::new(config));
    let listened = world.machine.tcp.listen(local, listener);
    world.listens_anew = true;
    world.use_key(key);
    Ok(if listened.is_ok() { Step::SUCCESS } else { Step::failure("EADDRINUSE") })
}

fn accept(world: &mut World, call: &Call) -> Attempt {
    let socket = socket!(world, call);
    if socket.role != Role::Listening {
        return Ok(Step::failure("EINVAL"));
    }
    let config = socket.config.clone();
    let nonblocking = socket.nonblocking;
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
    let may_defer = socket.may_defer && call.name == "connect";
    let before = world.machine.departures.len();
    let Ok(id) = world.machine.tcp.connect(now, local, remote, config) else {
        return Ok(Some(Step::failure("EADDRNOTAVAIL")));
    };
    socket.role = Role::Stream(id);
    if let Some(local) = world.machine.connection(id).map(|it| it.path().local) {
        world.follow(local, remote);
    }
    world.machine.drain();
    if may_defer && world.machine.departures.len() == before {
        // With a cookie the SYN leaves with the first data.
        if let Some(socket) = world.sockets.get_mut(&fd) {
            socket.deferred = true;
        }
        return Ok(Some(Step::SUCCESS));
    }
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
        (TcpState::SynSent, _) if socket.deferred => Step::failure("EISCONN"),
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
    /// The record ends with these data.
    ends_record: bool,
    /// More follows soon.
    more: bool,
    /// They may connect, with data on the SYN.
    fast: bool,
}

/// Flags of Linux by their numbers, as far as they are known here.
const NUMBERS: [(i64, &str); 7] = [
    (0x2, "MSG_PEEK"),
    (0x40, "MSG_DONTWAIT"),
    (0x80, "MSG_EOR"),
    (0x4000, "MSG_NOSIGNAL"),
    (0x8000, "MSG_MORE"),
    (0x400_0000, "MSG_ZEROCOPY"),
    (0x2000_0000, "MSG_FASTOPEN"),
];

/// Names the flags of a number, if all are known.
fn names_of(number: i64) -> Option<Vec<&'static str>> {
    let known = NUMBERS.iter().filter(|(bit, _)| number & bit != 0);
    let all: i64 = known.clone().map(|(bit, _)| bit).sum();
    (all == number).then(|| known.map(|(_, name)| *name).collect())
}

/// Tells whether the buffer of a call is none, which a system refuses.
fn lacks_buffer(call: &Call) -> bool {
    matches!(call.arguments.get(1), Some(Argument::Name(name)) if name == "NULL")
}

fn flags(call: &Call, at: usize) -> Result<Flags, Stop> {
    let names = match call.arguments.get(at) {
        None => Some(Vec::new()),
        Some(Argument::Number(number)) => names_of(*number),
        it => names(it),
    };
    let Some(names) = names else {
        return Stop::unsupported(format!("flags of {}", call.name));
    };
    match names.iter().find(|name| !NUMBERS.iter().any(|(_, known)| known == *name)) {
        Some(name) => Stop::unsupported(*name),
        None => Ok(Flags {
            at_once: names.contains(&"MSG_DONTWAIT"),
            peeks: names.contains(&"MSG_PEEK"),
            uncopied: names.contains(&"MSG_ZEROCOPY"),
            ends_record: names.contains(&"MSG_EOR"),
            more: names.contains(&"MSG_MORE"),
            fast: names.contains(&"MSG_FASTOPEN"),
        }),
    }
}

fn read(world: &mut World, call: &Call) -> Attempt {
    let (most, at) = size(call)?;
    let Flags { at_once, peeks, .. } = flags(call, at)?;
    let fd = number(call, 0)?;
    let socket = socket!(world, call);
    let Some(id) = socket.stream() else { return Ok(Step::failure("ENOTCONN")) };
    if lacks_buffer(call) && most > 0 {
        return Ok(Step::failure("EFAULT"));
    }
    let first = socket.read.wrapping_add(1);
    let nonblocking = socket.nonblocking || at_once;
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
    let Flags { at_once, uncopied, ends_record, more, fast, .. } = flags(call, at)?;
    let fd = number(call, 0)?;
    let socket = socket!(world, call);
    let Some(id) = socket.stream() else { return Ok(Step::failure("EPIPE")) };
    if lacks_buffer(call) && len > 0 {
        return Ok(Step::failure("EFAULT"));
    }
    let nonblocking = socket.nonblocking || at_once;
    let begins = core::mem::take(&mut socket.deferred) && socket.written == 0;
    progress.is_on_syn |= begins;
    let is_opening = |world: &World| {
        world.machine.connection(id).is_some_and(|it| it.state() == TcpState::SynSent)
    };
    let may_open = world.sockets[&fd].config.fast_open;
    if is_opening(world) && !progress.is_on_syn && (!may_open || !is_bsd(world)) {
        let busy = if fast { "EALREADY" } else { "EAGAIN" };
        return Ok(if nonblocking { Step::failure(busy) } else { Step::Waits(None) });
    }
    if progress.is_on_syn && len == 0 {
        // The SYN carries the cookie alone; the connection is known.
        let _ = world.machine.tcp.open_without_data(id);
        world.machine.drain();
    }
    let first = world.sockets[&fd].written.wrapping_add(1);
    let mut room = len - progress.written;
    if progress.is_on_syn && nonblocking {
        // Linux leaves room for all options there may be.
        let on_syn = world.machine.connection(id).and_then(Connection::room_on_syn);
        room = on_syn.map_or(room, |most| room.min(usize::from(most)));
    }
    let bytes = data(first, room);
    if more {
        // The connection is there, as was just seen.
        let _ = world.machine.tcp.cork(id, Cork::More);
    } else if world.machine.connection(id).is_some_and(|it| it.cork_now() == Cork::More) {
        let _ = world.machine.tcp.cork(id, Cork::Off);
    }
    let taken = match world.machine.tcp.write_bytes(id, bytes) {
        Ok(taken) => taken,
        Err(UseError::Over(error)) => return Ok(fail_once(world, fd, error, "EPIPE")),
        Err(_) => return Ok(Step::failure("EPIPE")),
    };
    if ends_record && progress.written + taken == len {
        let _ = world.machine.tcp.end_record(id);
    }
    world.machine.drain();
    progress.written += taken;
    if let Some(socket) = world.sockets.get_mut(&fd) {
        socket.written = socket.written.wrapping_add(taken as u32);
        if uncopied && taken > 0 {
            socket.uncopied.note(socket.written.into());
        }
    }
    if progress.is_on_syn && is_opening(world) {
        if !nonblocking {
            return Ok(Step::Waits(None));
        }
        if len == 0 {
            return Ok(Step::failure("EINPROGRESS"));
        }
    }
    Ok(match progress.written {
        written if written == len => Step::Done(len as i64, None),
        0 if nonblocking => Step::failure("EAGAIN"),
        written if nonblocking => Step::Done(written as i64, None),
        _ => Step::Waits(None),
    })
}

/// Tells whether the script is one for FreeBSD, whose sockets keep what is written before they are
/// connected.
fn is_bsd(world: &World) -> bool {
    world.system.tcp.manner.whole_segments
}

/// Sends; with `MSG_FASTOPEN` it connects with data on the SYN (RFC 7413, section 4).
fn send_to(world: &mut World, call: &Call, progress: &mut Progress) -> Attempt {
    let at = if call.name == "sendmsg" { 2 } else { 3 };
    let Flags { fast, at_once, .. } = flags(call, at)?;
    let opens_fast = world.system.clients_open_fast;
    let is_linux = !is_bsd(world);
    let is_fresh = socket!(world, call).role == Role::Fresh;
    if is_fresh && lacks_buffer(call) {
        return Ok(Step::failure("EFAULT"));
    }
    let socket = socket!(world, call);
    if is_fresh && !fast && socket.config.fast_open && !is_linux {
        // FreeBSD connects by the first sendto, and keeps the data until it is connected.
        begin(world, call)?;
        progress.is_on_syn = false;
        return write(world, call, progress);
    }
    if is_fresh && fast {
        let family = call.arguments.get(4);
        let is_unspecific = matches!(family, Some(Argument::Name(name)) if name == "AF_UNSPEC");
        if !opens_fast || is_unspecific {
            return Ok(Step::failure("EOPNOTSUPP"));
        }
        socket.config.fast_open = true;
        let nonblocking = socket.nonblocking || at_once;
        progress.is_on_syn = true;
        let before = world.machine.departures.len();
        begin(world, call)?;
        // Without a cookie the SYN that asks for one has left already.
        if world.machine.departures.len() > before {
            progress.is_on_syn = false;
            if nonblocking {
                return Ok(Step::failure("EINPROGRESS"));
            }
        }
    }
    write(world, call, progress)
}

fn close(world: &mut World, call: &Call) -> Attempt {
    let fd = number(call, 0)?;
    if world.files.remove(&fd) || world.epolls.remove(&fd).is_some() {
        return Ok(Step::SUCCESS);
    }
    world.epolls.values_mut().for_each(|epoll| epoll.forget(fd));
    let Some(socket) = world.sockets.remove(&fd) else { return Ok(Step::failure("EBADF")) };
    let now = world.machine.now;
    let local = world.local();
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
        let mut left = wanted.clone();
        let mut right = found.clone();
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
    let always = ["POLLHUP", "POLLERR"];
    let mut found = readiness_of(world, socket);
    found.retain(|name| asked.contains(name) || always.contains(name));
    Ok(found)
}
