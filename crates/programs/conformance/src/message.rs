//! Messages: `sendmsg` and `recvmsg`, and what Linux tells of data that it sent without copying.

use windfall_files::packet_script::{Argument, Call};
use windfall_tcp::Connection;

use crate::argument::{Step, names, number, socket, with};
use crate::verdict::Stop;
use crate::world::World;

/// Returns the bytes that the message of a call has room for, or holds.
pub(crate) fn length(call: &Call) -> Result<i64, Stop> {
    let parts = call.arguments.get(1).and_then(|message| message.field("msg_iov"));
    let Some(Argument::List(parts)) = parts else {
        return Stop::unsupported(format!("{} without msg_iov", call.name));
    };
    let part = |part: &Argument| match part {
        Argument::Fields(fields) => fields.last().and_then(|(_, length)| length.number()),
        _ => None,
    };
    match parts.iter().map(part).sum::<Option<i64>>() {
        Some(length) => Ok(length),
        None => Stop::unsupported(format!("{} with such a msg_iov", call.name)),
    }
}

/// Tells whether a call reads the queue of errors.
pub(crate) fn is_of_errors(call: &Call) -> bool {
    names(call.arguments.get(2)).is_some_and(|names| names.contains(&"MSG_ERRQUEUE"))
}

/// `recvmsg` with `MSG_ERRQUEUE`: the next sends without copying that are done.
pub(crate) fn errors(world: &mut World, call: &Call) -> Result<Step, Stop> {
    let fd = number(call, 0)?;
    let socket = socket!(world, call);
    if !socket.uncopied.is_on {
        return Stop::unsupported("the queue of errors, but for SO_ZEROCOPY");
    }
    let id = socket.stream();
    let connection = id.and_then(|id| world.machine.connection(id));
    let acknowledged = connection.map_or(u64::MAX, Connection::acknowledged);
    let done = world.sockets.get_mut(&fd).and_then(|it| it.uncopied.take(acknowledged));
    let Some((first, last)) = done else { return Ok(Step::failure("EAGAIN")) };
    for (name, found) in [("ee_info", first), ("ee_data", last)] {
        match control(call).and_then(|it| it.field("cmsg_data")).and_then(|it| it.field(name)) {
            Some(Argument::Number(wanted)) if *wanted != i64::from(found) => {
                return Stop::instead(
                    format!("{name} differs"),
                    wanted.to_string(),
                    found.to_string(),
                );
            }
            _ => {}
        }
    }
    Ok(Step::SUCCESS)
}

/// Compares what `TCP_INQ` tells beside a message: the bytes that are left to read.
pub(crate) fn check_left(call: &Call, connection: Option<&Connection>) -> Result<(), Stop> {
    let Some(control) = control(call) else { return Ok(()) };
    let is_left = names(control.field("cmsg_type")).is_some_and(|it| it == ["TCP_CM_INQ"]);
    let Some(wanted) = control.field("cmsg_data").and_then(Argument::number) else {
        return Ok(());
    };
    if !is_left {
        return Stop::unsupported("control messages but those of TCP_INQ and SO_ZEROCOPY");
    }
    // The end of the stream counts as a byte, once all before it is read.
    let left =
        |it: &Connection| it.readable() as i64 + i64::from(it.readable() == 0 && it.at_end());
    let found = connection.map_or(0, left);
    if found == wanted {
        return Ok(());
    }
    Stop::instead("the bytes left differ", wanted.to_string(), found.to_string())
}

/// Returns the first control message of a call.
fn control(call: &Call) -> Option<&Argument> {
    match call.arguments.get(1)?.field("msg_control")? {
        Argument::List(messages) => messages.first(),
        _ => None,
    }
}
