//! Two network namespaces joined by a veth pair of 1500 bytes, as two machines by a cable.

use std::net::{IpAddr, Ipv4Addr};
use std::process::Command;
use std::sync::mpsc::{Sender, channel};

/// The variable that marks a process inside the first namespace.
const INSIDE: &str = "WINDFALL_BENCH_VETH";
/// The address at the far end.
const FAR: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 77, 1, 2));

type Work = Box<dyn FnOnce() + Send>;

/// The far end: a thread in a namespace of its own.
#[derive(Debug)]
pub struct Veth(Sender<Work>);

/// Returns whether this process was started by [`again`].
pub fn is_inside() -> bool {
    std::env::var_os(INSIDE).is_some()
}

/// Runs this program once more in a network namespace of its own; returns whether that worked.
pub fn again() -> bool {
    let Ok(me) = std::env::current_exe() else { return false };
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--net"]).arg(me).args(std::env::args_os().skip(1));
    command.env(INSIDE, "1").status().is_ok_and(|status| status.success())
}

fn ip(arguments: &str) -> bool {
    Command::new("ip").args(arguments.split(' ')).status().is_ok_and(|status| status.success())
}

impl Veth {
    /// Makes the second namespace and the cable.
    pub fn lay() -> Option<Self> {
        let (begun, started) = channel();
        let (ends, orders) = channel::<Work>();
        std::thread::spawn(move || {
            let fresh = nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNET).is_ok();
            let _ = begun.send(fresh.then(nix::unistd::gettid));
            orders.into_iter().for_each(|work| work());
        });
        let thread = started.recv().ok()??;
        let laid = ip("link add near mtu 1500 type veth peer name far mtu 1500")
            && ip(&format!("link set far netns {thread}"))
            && ip("address add 10.77.1.1/24 dev near")
            && ip("link set near up");
        let veth = Self(ends);
        let far = || ip("address add 10.77.1.2/24 dev far") && ip("link set far up");
        (laid && veth.run(far)?).then_some(veth)
    }

    /// Runs `work` at the far end, where the sockets that it opens stay.
    pub fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let (done, result) = channel();
        self.0.send(Box::new(move || drop(done.send(work())))).ok()?;
        result.recv().ok()
    }

    /// Returns the address at the far end.
    pub fn ip(&self) -> IpAddr {
        FAR
    }
}
