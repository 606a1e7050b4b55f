//! One end of a link.

use std::ffi::OsStr;
use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command};
use std::time::Duration;

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};

use crate::control::Control;
use crate::error::LinkError;
use crate::program::{now, output, sleep};

/// The time from one look at the ports of a station to the next.
const LOOK: Duration = Duration::from_millis(20);
/// The files of the kernel that list ports.
const PORTS: &str = "cat /proc/net/tcp /proc/net/tcp6 /proc/net/udp /proc/net/udp6 2>/dev/null; :";

/// One end of a link. What runs there sees nothing of the network but the link, and finds the other
/// end by its name, `near` or `far`.
#[derive(Clone, Copy, Debug)]
pub struct Station<'l> {
    pub(crate) program: &'l OsStr,
    /// The name of the run.
    pub(crate) run: &'l str,
    pub(crate) control: &'l Control,
    pub(crate) name: &'static str,
}

impl Station<'_> {
    /// Returns its name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns its IPv4 address.
    ///
    /// # Errors
    /// If the link is gone.
    pub fn address(&self) -> Result<Ipv4Addr, LinkError> {
        let status = self.control.ask(&serde_json::json!({"do": "status"}))?;
        let mut stations = status["stations"].as_array().into_iter().flatten();
        let own = stations.find(|station| station["name"] == self.name);
        let address = own.and_then(|station| station["addresses"][0].as_str()?.parse().ok());
        address.ok_or_else(|| LinkError::new(format!("{} has no address", self.name)))
    }

    /// Returns a command that runs a program here, to add arguments to and to start.
    ///
    /// The program ends with the link at the latest. If there is no such program, the command
    /// starts and ends with 127, as a shell does.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(self.program);
        command.args(["exec", "--run", self.run, self.name, "--"]).arg(program);
        command
    }

    /// Returns a command that runs a line of the shell here.
    #[must_use]
    pub fn shell(&self, line: &str) -> Command {
        let mut command = self.command("/bin/sh");
        command.args(["-c", line]);
        command
    }

    /// Tells whether a program here listens on this port of TCP, or has it of UDP.
    ///
    /// # Errors
    /// If the link is gone.
    pub fn listens_on(&self, port: u16) -> Result<bool, LinkError> {
        let read = output(&mut self.shell(PORTS))?;
        if !read.status.success() {
            return Err(LinkError::of_program(&read.stderr));
        }
        Ok(is_listed(&String::from_utf8_lossy(&read.stdout), port))
    }

    /// Waits until a program here listens on this port, on TCP or UDP.
    ///
    /// # Errors
    /// If none does within `limit`, or the link is gone.
    pub fn wait_port(&self, port: u16, limit: Duration) -> Result<(), LinkError> {
        let deadline = now() + limit;
        while !self.listens_on(port)? {
            if now() > deadline {
                let name = self.name;
                let text = format!("nothing listens on port {port} of {name} in {limit:?}");
                return Err(LinkError::new(text));
            }
            sleep(LOOK);
        }
        Ok(())
    }

    /// Waits until a program here listens on this port, on TCP or UDP, as long as `server` runs.
    ///
    /// # Errors
    /// If none does within `limit`, the server has ended with a failure, or the link is gone. A
    /// server that ends without one may have gone into the background.
    pub fn wait_server(
        &self,
        port: u16,
        server: &mut Child,
        limit: Duration,
    ) -> Result<(), LinkError> {
        let deadline = now() + limit;
        while !self.listens_on(port)? {
            let ended = server
                .try_wait()
                .map_err(|error| LinkError::of_system("cannot look at the server", error))?
                .filter(|status| !status.success());
            let why = match ended {
                Some(status) => format!("its server ended with {status}"),
                None if now() > deadline => format!("waited for {limit:?}"),
                None => {
                    sleep(LOOK);
                    continue;
                }
            };
            let name = self.name;
            return Err(LinkError::new(format!("nothing listens on port {port} of {name}: {why}")));
        }
        Ok(())
    }

    /// Listens here on a port of TCP, for the threads of this process; 0 takes any.
    ///
    /// # Errors
    /// If the port is taken.
    pub fn listen(&self, port: u16) -> Result<TcpListener, LinkError> {
        self.socket("listen", &format!("0.0.0.0:{port}")).map(TcpListener::from)
    }

    /// Connects from here by TCP to an address or a name with a port, such as `far:80`.
    ///
    /// # Errors
    /// If nothing answers there.
    pub fn connect(&self, target: &str) -> Result<TcpStream, LinkError> {
        self.socket("connect", target).map(TcpStream::from)
    }

    /// Returns a socket of UDP here at this port, for the threads of this process; 0 takes any.
    ///
    /// # Errors
    /// If the port is taken.
    pub fn udp(&self, port: u16) -> Result<UdpSocket, LinkError> {
        self.socket("udp", &format!("0.0.0.0:{port}")).map(UdpSocket::from)
    }

    /// Has a socket made here and handed over: it belongs to this end, whoever holds it.
    fn socket(&self, kind: &str, address: &str) -> Result<OwnedFd, LinkError> {
        let fail = |error| LinkError::of_system("cannot take a socket of the station", error);
        let (ours, theirs) = UnixStream::pair().map_err(fail)?;
        let mut command = self.command(self.program);
        command.args(["relay", "socket", kind, address]).stdin(OwnedFd::from(theirs));
        let made = output(&mut command)?;
        if !made.status.success() {
            return Err(LinkError::of_program(&made.stderr));
        }
        // The command holds its end of the pair.
        drop(command);
        receive(&ours).map_err(fail)
    }
}

fn receive(from: &UnixStream) -> std::io::Result<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let mut parts = [IoSliceMut::new(&mut byte)];
    recvmsg(from, &mut parts, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let descriptors = ancillary.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    let descriptor = descriptors.last();
    descriptor.ok_or_else(|| std::io::ErrorKind::UnexpectedEof.into())
}

/// Tells whether the rows of `/proc/net/tcp` and its like have a socket that waits at a port.
fn is_listed(rows: &str, port: u16) -> bool {
    let end = format!(":{port:04X}");
    rows.lines().any(|row| {
        let mut words = row.split_whitespace().skip(1);
        let local = words.next();
        let state = words.nth(1);
        // 0A is LISTEN of TCP, 07 an unconnected socket of UDP.
        local.is_some_and(|it| it.ends_with(&end)) && matches!(state, Some("0A" | "07"))
    })
}

#[cfg(test)]
mod tests {
    use super::is_listed;

    #[test]
    fn ports_are_read_from_the_rows_of_the_kernel() {
        let rows = "  sl  local_address rem_address   st tx_queue\n   \
            0: 00000000:1F40 00000000:0000 0A 00000000:00000000\n   \
            1: 0100007F:1F41 0100007F:0016 01 00000000:00000000\n   \
            2: 00000000:14E9 00000000:0000 07 00000000:00000000\n";
        assert!(is_listed(rows, 8000) && is_listed(rows, 5353));
        assert!(!is_listed(rows, 8001) && !is_listed(rows, 22));
    }
}
