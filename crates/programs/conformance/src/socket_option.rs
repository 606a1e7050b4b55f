//! Options of sockets, where the engine has a setting for them.

use windfall_base::Duration;
use windfall_files::packet_script::{Argument, Call};
use windfall_tcp::{CongestionControl, Connection, Cork, Keepalive, TcpConfig};

use crate::argument::{Step, expect_number, names, number};
use crate::cookie;
use crate::socket::{Role, Socket, errno, errno_number};
use crate::verdict::Stop;
use crate::world::World;

/// Options that change nothing that a script can see here.
const WITHOUT_EFFECT: [&str; 12] = [
    "IP_TOS",
    "IP_FREEBIND",
    "TCP_INQ",
    "SO_TXTIME",
    "SO_REUSEADDR",
    "SO_REUSEPORT",
    "SO_PRIORITY",
    "SO_MARK",
    "SO_DEBUG",
    "IPV6_TCLASS",
    "IP_MTU_DISCOVER",
    "IPV6_V6ONLY",
];

/// Returns the name of the option, and its value, a number or a list of one.
fn named(call: &Call) -> Result<(&str, Option<&Argument>), Stop> {
    let Some(Argument::Name(name)) = call.arguments.get(2) else {
        return Stop::unsupported(format!("{} without the name of an option", call.name));
    };
    let value = match call.arguments.get(3) {
        Some(Argument::List(values)) => values.first(),
        other => other,
    };
    Ok((name, value))
}

pub(crate) fn set(world: &mut World, call: &Call) -> Result<Step, Stop> {
    let (name, value) = named(call)?;
    let opens_fast = world.system.clients_open_fast;
    let keepalive = world.system.keepalive;
    let fd = number(call, 0)?;
    let sockets = &mut world.sockets;
    let tcp = &mut world.machine.tcp;
    let Some(socket) = sockets.get_mut(&fd) else { return Ok(Step::failure("EBADF")) };
    if WITHOUT_EFFECT.contains(&name) {
        return Ok(Step::SUCCESS);
    }
    if name == "SO_ZEROCOPY" {
        socket.uncopied.is_on = value.and_then(Argument::number) != Some(0);
        return Ok(Step::SUCCESS);
    }
    if name == "SO_LINGER" {
        return set_linger(socket, value);
    }
    if name == "TCP_FASTOPEN_KEY" {
        let Some(Argument::Text(text)) = value else {
            return Stop::unsupported("TCP_FASTOPEN_KEY with such a value");
        };
        let Some(key) = cookie::bytes(text) else { return Ok(Step::failure("EINVAL")) };
        socket.cookie_key = Some(key);
        let listens = socket.role == Role::Listening;
        if listens {
            world.use_key(Some(key));
        }
        return Ok(Step::SUCCESS);
    }
    let number = value.and_then(Argument::number);
    match (name, number) {
        ("TCP_FASTOPEN_CONNECT", Some(on)) => {
            socket.may_defer = on != 0;
            if on != 0 && !opens_fast {
                return Ok(Step::failure("EOPNOTSUPP"));
            }
        }
        ("TCP_NOTSENT_LOWAT", Some(bytes)) => {
            socket.unsent_mark = bytes;
            return Ok(Step::SUCCESS);
        }
        ("TCP_CORK" | "TCP_NODELAY", Some(on)) => {
            if let Some(id) = socket.stream() {
                let holds = name == "TCP_CORK" && on != 0;
                let _ = tcp.cork(id, if holds { Cork::On } else { Cork::Off });
            }
            if name == "TCP_CORK" {
                return Ok(Step::SUCCESS);
            }
        }
        _ => {}
    }
    if name == "SO_KEEPALIVE" && socket.config.keepalive.is_none() && number != Some(0) {
        socket.config.keepalive = Some(keepalive);
    }
    if socket.stream().is_some() && name.starts_with("TCP_KEEP") {
        // Keepalives of a connection that is open are not seen by a script that ends before.
        return Ok(Step::SUCCESS);
    }
    let mut config = socket.config.clone();
    match value {
        Some(Argument::Text(text)) if name == "TCP_CONGESTION" => {
            config.congestion_control = congestion_control(text)?;
        }
        // The buffers of an open connection grow by themselves, and hold what they held.
        Some(Argument::Number(_))
            if matches!(name, "SO_SNDBUF" | "SO_RCVBUF") && socket.stream().is_some() => {}
        Some(Argument::Number(value)) => apply(&mut config, name, *value)?,
        _ => return Stop::unsupported(format!("{name} with such a value")),
    }
    // A connection that is open keeps what it began with.
    if config != socket.config && socket.role != Role::Fresh {
        return Stop::unsupported(format!("{name} on a socket that listens or is connected"));
    }
    socket.config = config;
    Ok(Step::SUCCESS)
}

fn set_linger(socket: &mut Socket, value: Option<&Argument>) -> Result<Step, Stop> {
    let field = |name: &str, at: usize| {
        let positional = match value {
            Some(Argument::Fields(fields)) => fields.get(at).map(|(_, value)| value),
            _ => None,
        };
        let found = value.and_then(|value| value.field(name)).or(positional);
        found.and_then(Argument::number)
    };
    match (field("onoff", 0), field("linger", 1)) {
        (Some(0), _) => socket.resets = false,
        (Some(_), Some(0)) => socket.resets = true,
        _ => return Stop::unsupported("SO_LINGER with a time"),
    }
    Ok(Step::SUCCESS)
}

/// Returns the algorithm that a kernel calls by this name; Reno is `newreno` in FreeBSD.
pub(crate) fn congestion_control(name: &str) -> Result<CongestionControl, Stop> {
    let linux_name = if name == "newreno" { "reno" } else { name };
    let found = CongestionControl::BUILT_IN.iter().find(|it| it.linux_name() == Ok(linux_name));
    match found {
        Some(found) => Ok(*found),
        None => Stop::unsupported(format!("congestion control {name}")),
    }
}

/// Sets what an option of sockets stands for; scripts set some of them on connections that are
/// accepted later, so that those are of the listener here.
pub(crate) fn apply(config: &mut TcpConfig, name: &str, value: i64) -> Result<(), Stop> {
    let seconds = || Duration::from_secs(value.clamp(1, 1 << 20) as u64);
    let bytes = || value.clamp(1, 1 << 30) as usize;
    let keepalive =
        |config: &mut TcpConfig| *config.keepalive.get_or_insert_with(Keepalive::default);
    match name {
        "TCP_NODELAY" => config.nagle = value == 0,
        "TCP_MAXSEG" => config.mss = config.mss.min(value.clamp(88, 65_535) as u16),
        "TCP_SYNCNT" => config.syn_retries = value.clamp(0, 255) as u8,
        "TCP_LINGER2" => config.fin_wait = seconds(),
        "TCP_FASTOPEN" => config.fast_open = value != 0,
        "TCP_FASTOPEN_CONNECT" => config.fast_open = value != 0,
        "SO_SNDBUF" => config.send_buffer = bytes().into(),
        "SO_RCVBUF" => config.receive_buffer = bytes().into(),
        "SO_KEEPALIVE" if value == 0 => config.keepalive = None,
        "SO_KEEPALIVE" => config.keepalive = Some(keepalive(config)),
        "TCP_KEEPIDLE" => {
            config.keepalive = Some(Keepalive { idle: seconds(), ..keepalive(config) });
        }
        "TCP_KEEPINTVL" => {
            config.keepalive = Some(Keepalive { interval: seconds(), ..keepalive(config) });
        }
        "TCP_KEEPCNT" => {
            let probes = value.clamp(1, 255) as u8;
            config.keepalive = Some(Keepalive { probes, ..keepalive(config) });
        }
        _ => return Stop::unsupported(name),
    }
    Ok(())
}

pub(crate) fn get(world: &mut World, call: &Call) -> Result<Step, Stop> {
    let (name, value) = named(call)?;
    let fd = number(call, 0)?;
    let Some(socket) = world.sockets.get(&fd) else { return Ok(Step::failure("EBADF")) };
    let connection = world.connection(socket);
    let config = connection.map_or(&socket.config, Connection::config);
    let system = world.system.keepalive;
    let found = match name {
        "SO_ERROR" => {
            let error =
                connection.and_then(windfall_tcp::Connection::error).filter(|_| !socket.told);
            let error = error.map_or("0", errno);
            return take_error(world, fd, value, error);
        }
        "TCP_CONGESTION" => {
            let name = config.congestion_control.name();
            return match value {
                Some(Argument::Text(wanted)) if wanted != name => {
                    Stop::instead("the congestion control differs", wanted, name)
                }
                _ => Ok(Step::SUCCESS),
            };
        }
        // Systems report sizes of their own: twice what was asked for, or whole segments.
        "SO_RCVBUF" | "SO_SNDBUF" => return Ok(Step::SUCCESS),
        "TCP_NODELAY" => i64::from(!config.nagle),
        "TCP_MAXSEG" => connection.map_or(i64::from(config.mss), |it| it.segment_size() as i64),
        "TCP_SYNCNT" => i64::from(config.syn_retries),
        "SO_KEEPALIVE" => i64::from(config.keepalive.is_some()),
        "TCP_KEEPIDLE" => seconds_of(config.keepalive.unwrap_or(system).idle),
        "TCP_KEEPINTVL" => seconds_of(config.keepalive.unwrap_or(system).interval),
        "TCP_KEEPCNT" => i64::from(config.keepalive.unwrap_or(system).probes),
        "TCP_KEEPINIT" => world.system.patience,
        "TCP_NOTSENT_LOWAT" => socket.unsent_mark,
        "TCP_FASTOPEN" => i64::from(config.fast_open),
        _ => return Stop::unsupported(name),
    };
    expect_number(name, value, found)
}

fn seconds_of(span: Duration) -> i64 {
    span.as_secs_f64() as i64
}

/// Compares the pending error of a socket, by its name or its number, and takes it away.
fn take_error(
    world: &mut World,
    fd: i64,
    value: Option<&Argument>,
    error: &str,
) -> Result<Step, Stop> {
    if let Some(socket) = world.sockets.get_mut(&fd) {
        socket.told |= error != "0";
    }
    let same = match value {
        Some(Argument::Number(0)) => error == "0",
        Some(Argument::Number(number)) => *number == errno_number(error),
        None | Some(Argument::Any) => true,
        other => names(other).is_some_and(|names| names == [error]),
    };
    if same {
        Ok(Step::SUCCESS)
    } else {
        Stop::instead("SO_ERROR differs", format!("{value:?}"), error)
    }
}
