//! The NAT gateway of the stations: the host's network and resolver behind the far end.
//!
//! A helper, slirp4netns, runs on the host's side and serves a device in the far station. The
//! far station forwards, and answers for the near one on that device, so that no addresses need be
//! translated.

use std::fs;
use std::io::Read;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use nix::fcntl::{FcntlArg, FdFlag, OFlag, fcntl};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;

use crate::error::{ErrorContext, LiveError, Result};
use crate::plan::{DeviceKind, LivePlan, RoutePlan};
use crate::program::installed;
use crate::stations::Stations;

/// The name of the helper.
const HELPER: &str = "slirp4netns";
/// The address of the host in the stations.
pub const HOST: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 2, 2));
/// The helper's device in the far station.
const DEVICE: &str = "out0";

impl LivePlan {
    /// Routes everything without another route through the far station; see [`NatGateway`].
    pub fn add_nat(&mut self, near: usize, far: usize, gateway: IpAddr) {
        let anywhere = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        self.stations[near].routes.push(RoutePlan {
            destination: anywhere,
            prefix: 0,
            gateway: Some(gateway),
            device: 0,
        });
        let far = &mut self.stations[far];
        far.forwards = true;
        let answer = ("net.ipv4.conf.default.proxy_arp".to_owned(), "1".to_owned());
        far.parameters.push(answer);
        self.has_nat = true;
    }
}

/// The host's network behind one station, as long as this exists and the process lives.
#[derive(Debug)]
pub struct NatGateway {
    helper: Child,
}

impl NatGateway {
    /// Opens the gateway behind a station, by its number in the plan; `host_loopback` says whether
    /// it also reaches what listens on the host's loopback alone.
    ///
    /// # Errors
    /// If no helper is installed, or it fails.
    pub fn open(stations: &Stations, station: usize, host_loopback: bool) -> Result<Self> {
        if installed(HELPER).is_none() {
            return Err(LiveError::NatMissing);
        }
        if stations.kind() != DeviceKind::Tun {
            return Err(LiveError::NatForbidden);
        }
        let (ready, theirs) =
            nix::unistd::pipe2(OFlag::O_CLOEXEC).context(|| "make a pipe".into())?;
        let (_, network) = &stations.namespaces()[station];
        let mut kept = vec![theirs.as_raw_fd(), network.as_raw_fd()];
        let mut command = Command::new(HELPER);
        command.args(["--configure", "--mtu=65520", "--netns-type=path"]);
        // It reads packets that programs under test have made.
        command.args(["--enable-sandbox", "--enable-seccomp"]);
        command.args((!host_loopback).then_some("--disable-host-loopback"));
        command.arg(format!("--ready-fd={}", theirs.as_raw_fd()));
        if let Some(user) = stations.user_namespace() {
            command.arg(format!("--userns-path=/proc/self/fd/{}", user.as_raw_fd()));
            kept.push(user.as_raw_fd());
        }
        command.arg(format!("/proc/self/fd/{}", network.as_raw_fd())).arg(DEVICE);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let prepare = move || {
            set_pdeathsig(Signal::SIGKILL)?;
            for descriptor in &kept {
                // SAFETY: the parent holds these descriptors open until the helper has started.
                let descriptor = unsafe { BorrowedFd::borrow_raw(*descriptor) };
                fcntl(descriptor, FcntlArg::F_SETFD(FdFlag::empty()))?;
            }
            Ok(())
        };
        // SAFETY: the closure makes system calls only; the process has a single thread.
        unsafe { command.pre_exec(prepare) };
        let helper = command.spawn();
        let helper =
            helper.map_err(|source| LiveError::Spawn { program: HELPER.into(), source })?;
        drop(theirs);
        let mut gateway = Self { helper };
        gateway.await_readiness(ready)?;
        Ok(gateway)
    }

    /// Waits until the helper is ready, or has ended.
    fn await_readiness(&mut self, ready: OwnedFd) -> Result<()> {
        let mut word = [0];
        match fs::File::from(ready).read(&mut word) {
            Ok(1) => Ok(()),
            _ => {
                let mut reason = String::new();
                if let Some(errors) = &mut self.helper.stderr {
                    let _ = errors.read_to_string(&mut reason);
                }
                let reason = reason.trim().replace('\n', "; ");
                Err(LiveError::NatFailed { program: HELPER, reason })
            }
        }
    }
}

impl Drop for NatGateway {
    fn drop(&mut self) {
        let _ = self.helper.kill();
        let _ = self.helper.wait();
    }
}
