//! The NAT gateway of the stations: the host's network and resolver behind the far end.
//!
//! The far station has one more device, which is made like those of links. A helper, slirp4netns,
//! runs on the host's side and exchanges frames with it over a socket, so that it needs neither a
//! TUN device nor any right in the stations. A process of the run carries the packets between the
//! two. The far station forwards for the near one, and the helper answers to any address, so that
//! no addresses need be translated in between.

mod carrier;

use std::fs;
use std::io::{self, Read};
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, OFlag, fcntl};
use nix::sched::CloneFlags;
use nix::sys::signal::{Signal, kill};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, connect, socket};
use nix::sys::wait::waitpid;
use nix::unistd::Pid;

use crate::error::{ErrorContext, LiveError, Result};
use crate::lifetime::end_with_this_process;
use crate::namespace;
use crate::plan::{DevicePlan, LivePlan, RoutePlan};
use crate::program::{self, installed};
use crate::stations::Stations;
use crate::system;

/// The name of the helper.
const HELPER: &str = "slirp4netns";
/// The address of the host in the stations.
pub const HOST: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 2, 2));
/// The address of the far station on its device to the helper, with the length of the prefix.
const FAR: (IpAddr, u8) = (IpAddr::V4(Ipv4Addr::new(10, 0, 2, 100)), 24);
/// The far station's device to the helper.
const DEVICE: &str = "out0";
/// The longest packet of that device, in bytes; the helper takes no longer ones.
const MTU: u32 = 65_520;
/// The name of the helper's socket in its folder.
const SOCKET: &str = "socket";
/// Attempts to connect to the helper, a millisecond apart.
const ATTEMPTS: u32 = 10_000;
/// Folders that are tried for the helper's socket.
const FOLDERS: u32 = 100;

impl LivePlan {
    /// Routes everything without another route through the far station; see [`NatGateway`].
    pub fn add_nat(&mut self, near: usize, far: usize, gateway: IpAddr) {
        self.stations[near].routes.push(default_route(gateway, 0));
        let station = &mut self.stations[far];
        let device = station.devices.len();
        station.devices.push(DevicePlan { name: DEVICE.into(), mtu: MTU, addresses: vec![FAR] });
        station.routes.push(default_route(HOST, device));
        station.forwards = true;
        self.nat = Some((far, device));
    }
}

/// Returns a default route by way of a gateway.
fn default_route(gateway: IpAddr, device: usize) -> RoutePlan {
    RoutePlan {
        destination: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        prefix: 0,
        gateway: Some(gateway),
        device,
    }
}

/// The host's network behind one station, as long as this exists and the process lives.
#[derive(Debug)]
pub struct NatGateway {
    helper: Child,
    /// The process that carries the packets.
    carrier: Option<Pid>,
}

impl NatGateway {
    /// Opens the gateway behind the station that the plan names; `host_loopback` says whether it
    /// also reaches what listens on the host's loopback alone.
    ///
    /// # Errors
    /// If no helper is installed, or it fails, or the plan names no station.
    pub fn open(stations: &mut Stations, host_loopback: bool) -> Result<Self> {
        if installed(HELPER).is_none() {
            return Err(LiveError::NatMissing);
        }
        // Missing, it would look like the helper.
        program::no_input()?;
        let device = stations.take_outside().ok_or_else(|| failed("the plan has no gateway"))?;
        let folder = Folder::new().context(|| "make a folder for the helper of --net".into())?;
        let (ready, theirs) =
            nix::unistd::pipe2(OFlag::O_CLOEXEC).context(|| "make a pipe".into())?;
        let helper = command(&folder.0.join(SOCKET), &theirs, host_loopback).spawn();
        let helper =
            helper.map_err(|source| LiveError::Spawn { program: HELPER.into(), source })?;
        drop(theirs);
        let mut gateway = Self { helper, carrier: None };
        let socket = gateway.connect(&folder.0.join(SOCKET))?;
        gateway.await_readiness(ready)?;
        let carry = |_: &_| carrier::carry(&device, &socket);
        let (carrier, _) = namespace::spawn(CloneFlags::empty(), carry)
            .context(|| "start the process that carries packets of --net".into())?;
        gateway.carrier = Some(carrier);
        Ok(gateway)
    }

    /// Connects to the helper as soon as it listens.
    fn connect(&mut self, path: &Path) -> Result<OwnedFd> {
        let address = UnixAddr::new(path).context(|| format!("name {}", path.display()))?;
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let socket = socket(AddressFamily::Unix, SockType::SeqPacket, flags, None)
            .context(|| "make a socket".into())?;
        for _ in 0..ATTEMPTS {
            match connect(socket.as_raw_fd(), &address) {
                Ok(()) => return Ok(socket),
                Err(Errno::ENOENT | Errno::ECONNREFUSED | Errno::EAGAIN | Errno::EINTR) => {}
                Err(error) => return Err(error).context(|| format!("connect to {HELPER}")),
            }
            if !matches!(self.helper.try_wait(), Ok(None)) {
                break;
            }
            system::pause();
        }
        Err(self.failure())
    }

    /// Waits until the helper is ready, or has ended.
    fn await_readiness(&mut self, ready: OwnedFd) -> Result<()> {
        match fs::File::from(ready).read(&mut [0]) {
            Ok(1) => Ok(()),
            _ => Err(self.failure()),
        }
    }

    /// Ends the helper and returns what it said.
    fn failure(&mut self) -> LiveError {
        let _ = self.helper.kill();
        let mut said = String::new();
        if let Some(errors) = &mut self.helper.stderr {
            let _ = errors.read_to_string(&mut said);
        }
        // Versions before 1.2 speak to TUN devices alone.
        if said.contains("target-type") {
            return LiveError::NatOld;
        }
        failed(&said.trim().replace('\n', "; "))
    }
}

fn failed(reason: &str) -> LiveError {
    LiveError::NatFailed { program: HELPER, reason: reason.to_owned() }
}

/// The command that starts the helper; it listens at `path` and writes to `ready` when it carries.
fn command(path: &Path, ready: &OwnedFd, host_loopback: bool) -> Command {
    let mut command = Command::new(installed(HELPER).unwrap_or_else(|| HELPER.into()));
    command.args(["--target-type=bess", &format!("--mtu={MTU}")]);
    // It reads packets that programs under test have made.
    command.args(["--enable-sandbox", "--enable-seccomp"]);
    command.args((!host_loopback).then_some("--disable-host-loopback"));
    command.arg(format!("--ready-fd={}", ready.as_raw_fd())).arg(path);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    // To shut itself in it has to be root, of a user namespace of its own if not of the system.
    let confined = !(system::privileged() && nix::unistd::geteuid().is_root());
    let kept = ready.as_raw_fd();
    let prepare = move || {
        // SAFETY: the parent holds the descriptor open until the helper has started.
        let kept = unsafe { BorrowedFd::borrow_raw(kept) };
        fcntl(kept, FcntlArg::F_SETFD(FdFlag::empty()))?;
        if confined {
            return become_own_root();
        }
        // It cannot shut itself in where the root directory is no mount point.
        nix::sched::unshare(CloneFlags::CLONE_NEWNS)?;
        Ok(namespace::make_private()?)
    };
    // SAFETY: the closure makes system calls and formats numbers; the process has a single thread.
    unsafe { command.pre_exec(prepare) };
    end_with_this_process(&mut command);
    command
}

/// Moves the process into a new user namespace in which its user is root.
fn become_own_root() -> io::Result<()> {
    let user = nix::unistd::geteuid();
    let group = nix::unistd::getegid();
    nix::sched::unshare(CloneFlags::CLONE_NEWUSER)?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("0 {user} 1\n"))?;
    fs::write("/proc/self/gid_map", format!("0 {group} 1\n"))
}

impl Drop for NatGateway {
    fn drop(&mut self) {
        if let Some(carrier) = self.carrier {
            let _ = kill(carrier, Signal::SIGKILL);
            let _ = waitpid(carrier, None);
        }
        let _ = self.helper.kill();
        let _ = self.helper.wait();
    }
}

/// A folder that only its user can enter; removed with the helper's socket when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> io::Result<Self> {
        let process = std::process::id();
        let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
        for number in 0..FOLDERS {
            let path = std::env::temp_dir().join(format!("windfall-net-{process}-{number}"));
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Nothing connects a second time.
        let _ = fs::remove_file(self.0.join(SOCKET));
        let _ = fs::remove_dir(&self.0);
    }
}
