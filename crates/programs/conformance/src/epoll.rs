//! `epoll`: descriptors that a program waits for together.

use windfall_base::Duration;
use windfall_files::packet_script::{Argument, Call};
use windfall_tcp::{Connection, TcpState};

use crate::argument::{Progress, Step, names, number};
use crate::socket::{EDGE, Epoll, Interest, ONCE, Role, Socket};
use crate::verdict::Stop;
use crate::world::World;

/// Events that are told without being asked for.
const ALWAYS: [&str; 2] = ["EPOLLERR", "EPOLLHUP"];
/// The word among the events that one of several programs is told.
const EXCLUSIVE: &str = "EPOLLEXCLUSIVE";

/// Makes an `epoll` under the descriptor `fd`.
pub(crate) fn create(world: &mut World, fd: i64) -> Step {
    world.epolls.insert(fd, Epoll::default());
    Step::Done(fd, None)
}

/// Sets what an `epoll` waits for, as `epoll_ctl` does.
pub(crate) fn control(world: &mut World, call: &Call) -> Result<Step, Stop> {
    let epoll = number(call, 0)?;
    let fd = number(call, 2)?;
    let wanted = call.arguments.get(3).and_then(|event| event.field("events"));
    let wanted: Vec<String> =
        names(wanted).unwrap_or_default().into_iter().map(str::to_owned).collect();
    let known =
        ["EPOLLIN", "EPOLLOUT", "EPOLLRDHUP", "EPOLLERR", "EPOLLHUP", EDGE, ONCE, EXCLUSIVE];
    if let Some(name) = wanted.iter().find(|name| !known.contains(&name.as_str())) {
        return Stop::unsupported(name.clone());
    }
    let Some(epoll) = world.epolls.get_mut(&epoll) else { return Ok(Step::failure("EBADF")) };
    let interest = Interest { events: wanted, ..Interest::default() };
    match names(call.arguments.get(1)).as_deref() {
        Some(["EPOLL_CTL_ADD"]) if epoll.interests.contains_key(&fd) => {
            return Ok(Step::failure("EEXIST"));
        }
        Some(["EPOLL_CTL_MOD"]) if !epoll.interests.contains_key(&fd) => {
            return Ok(Step::failure("ENOENT"));
        }
        Some(["EPOLL_CTL_ADD" | "EPOLL_CTL_MOD"]) => drop(epoll.interests.insert(fd, interest)),
        Some(["EPOLL_CTL_DEL"]) => drop(epoll.interests.remove(&fd)),
        _ => return Stop::unsupported("this command of epoll_ctl"),
    }
    Ok(Step::SUCCESS)
}

/// `epoll_wait`, of one descriptor, which the event of the call names.
pub(crate) fn wait(world: &mut World, call: &Call, progress: &Progress) -> Result<Step, Stop> {
    let epoll = number(call, 0)?;
    let timeout = number(call, 3)?;
    if !world.epolls.contains_key(&epoll) {
        return Ok(Step::failure("EBADF"));
    }
    let found = ready(world, epoll);
    let ends = u64::try_from(timeout)
        .ok()
        .map(|it| progress.started.saturating_add(Duration::from_millis(it)));
    if found.is_empty() && ends.is_none_or(|ends| world.machine.now < ends) {
        return Ok(Step::Waits(ends));
    }
    let shown = call.arguments.get(1);
    let field = |name: &str| shown.and_then(|event| event.field(name));
    let wanted_fd = field("fd").and_then(Argument::number);
    let mut wanted = names(field("events")).unwrap_or_default();
    wanted.sort_unstable();
    let told = found.iter().find(|(fd, _)| wanted_fd.is_none_or(|wanted| wanted == *fd));
    let mut got = told.map(|(_, events)| events.clone()).unwrap_or_default();
    got.sort();
    if wanted != got {
        return Stop::instead("events of epoll differ", wanted.join("|"), got.join("|"));
    }
    Ok(Step::Done(found.len() as i64, None))
}

/// Takes what is ready, by descriptor.
fn ready(world: &mut World, epoll: i64) -> Vec<(i64, Vec<String>)> {
    let Some(interests) = world.epolls.get(&epoll).map(|it| it.interests.clone()) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (fd, mut interest) in interests {
        let Some(socket) = world.sockets.get(&fd) else { continue };
        let connection = world.connection(socket);
        let acknowledged = connection.map_or(0, Connection::acknowledged);
        let is_done = socket.uncopied.is_done(acknowledged);
        let mut events: Vec<String> = readiness_of(world, socket)
            .into_iter()
            .map(|name| name.replacen("POLL", "EPOLL", 1))
            .collect();
        if is_done && !events.iter().any(|it| it == "EPOLLERR") {
            events.push("EPOLLERR".to_owned());
        }
        let has_room = events.iter().any(|it| it == "EPOLLOUT");
        let came = connection.map_or(0, |it| it.operations().data_received);
        let done = if is_done { acknowledged } else { 0 };
        events.retain(|name| interest.has(name) || ALWAYS.contains(&name.as_str()));
        let is_new = interest.seen.is_none_or(|(data, sends, room)| {
            (came > data && interest.has("EPOLLIN")) || done > sends || (has_room && !room)
        });
        let is_told = !events.is_empty() && !interest.spent && (is_new || !interest.has(EDGE));
        interest.seen = Some((came, done, has_room));
        if is_told {
            interest.spent = interest.has(ONCE);
            found.push((fd, events));
        }
        if let Some(epoll) = world.epolls.get_mut(&epoll) {
            epoll.interests.insert(fd, interest);
        }
    }
    found
}

/// Names everything that a socket is ready for.
pub(crate) fn readiness_of(world: &World, socket: &Socket) -> Vec<&'static str> {
    let connection = world.connection(socket);
    let state = connection.map(windfall_tcp::Connection::state);
    let over = state.is_none_or(|it| it == TcpState::Closed) && socket.role != Role::Listening;
    let open = socket.deferred || !matches!(state, Some(TcpState::SynSent | TcpState::SynReceived));
    let finished = connection.is_some_and(windfall_tcp::Connection::at_end)
        || matches!(
            state,
            Some(TcpState::CloseWait | TcpState::LastAck | TcpState::Closing | TcpState::TimeWait)
        );
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
    let ready = is.into_iter().filter(|(_, is)| *is);
    let mut found: Vec<_> = ready.map(|(name, _)| name).collect();
    if over {
        found.push("POLLHUP");
        if connection.is_some_and(|it| it.error().is_some()) && !socket.told {
            found.push("POLLERR");
        }
    }
    found
}
