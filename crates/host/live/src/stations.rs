//! The stations as the run sees them: devices to carry packets, and a supervisor to talk to.

use std::ffi::OsString;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};

use nix::sched::CloneFlags;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::Pid;
use windfall_ip::RouteMetric;

use crate::congestion;
use crate::control::{Control, Message};
use crate::device::StationDevice;
use crate::device::mtu::MtuSetter;
use crate::error::{ErrorContext, LiveError, Result};
use crate::hints::Hints;
use crate::keeper::Keeper;
use crate::lifetime::end_with_this_process;
use crate::namespace;
use crate::obstacle;
use crate::plan::{DeviceKind, LivePlan, Program, ProgramOutput};
use crate::program;
use crate::supervisor::{self, SupervisorTask};
use crate::system;
use windfall_system::Identity;

/// Stations that were built, whose programs wait for [`begin`](Self::begin).
///
/// When this is dropped, and when the process ends, everything in the stations is killed.
#[derive(Debug)]
pub struct Stations {
    control: Control,
    supervisor: Pid,
    /// The devices, each with the number of its station.
    devices: Vec<(u16, OwnedFd)>,
    /// The device behind which the NAT gateway is, if the plan has one.
    outside: Option<OwnedFd>,
    /// The senders of hints of damage, one for each station.
    hints: Vec<Arc<Mutex<Hints>>>,
    kind: DeviceKind,
    /// The devices' stations, by number and name, and names, in the order of the network's ports.
    names: Vec<(usize, String, String)>,
    /// Name and network namespace of each station.
    stations: Vec<(String, OwnedFd)>,
    /// The address of each station's neighbour.
    neighbours: Vec<Option<IpAddr>>,
    /// The namespaces that all stations share.
    shared: Vec<OwnedFd>,
    /// The sockets that listen at the ports of the plan.
    listeners: Vec<OwnedFd>,
    /// The sockets that listen under the name of the plan's door, one in each station.
    doors: Vec<OwnedFd>,
    /// It takes back what is outside, after the programs inside have ended.
    keeper: Option<Keeper>,
}

impl Stations {
    /// Builds stations, and starts no program yet.
    ///
    /// `others` are programs beside the command: started before it, ended after it. They and the
    /// command run as the user who called through sudo, if there is one and the plan does not ask
    /// for root.
    ///
    /// # Errors
    /// If the process has more than one thread, since a copy of it would keep the locks of the
    /// others for ever; if there is no /proc; if the system does not allow it, or the plan asks for
    /// what does not exist.
    pub fn build(plan: LivePlan, command: Option<Program>, others: Vec<Program>) -> Result<Self> {
        if !obstacle::has_proc() {
            return Err(LiveError::NoProc);
        }
        namespace::require_one_thread()?;
        let parameters = plan.stations.iter().flat_map(|station| &station.parameters);
        let mut chosen: Vec<_> = parameters.filter(|(key, _)| key == congestion::KEY).collect();
        chosen.dedup();
        chosen.into_iter().try_for_each(|(_, name)| congestion::allow(name))?;
        for metric in plan.stations.iter().flat_map(|station| &station.metrics) {
            if let RouteMetric::Congestion(name) = metric {
                congestion::require(name)?;
            }
        }
        let identity = Identity::of_caller(plan.as_root)?;
        let names = plan.ports.iter().map(|&(number, device)| {
            let station = &plan.stations[number];
            (number, station.name.clone(), station.devices[device].name.clone())
        });
        let names = names.collect();
        let neighbours = plan.stations.iter().map(|station| station.neighbour).collect();
        let moving = plan.interfaces.clone();
        let keeper = Keeper::start(&plan)?;
        let mut work = SupervisorTask { plan, others, command, own_user: true, identity };
        let (supervisor, control) = spawn(&mut work)?;
        let mut built = Self {
            control,
            supervisor,
            devices: Vec::new(),
            outside: None,
            hints: Vec::new(),
            kind: DeviceKind::Tun,
            names,
            stations: Vec::new(),
            neighbours,
            shared: Vec::new(),
            listeners: Vec::new(),
            doors: Vec::new(),
            keeper,
        };
        built.send(&Message::Go)?;
        while !built.take_message()? {}
        if let Some(keeper) = &mut built.keeper {
            keeper.arrange(&built.stations, &moving)?;
        }
        Ok(built)
    }

    /// Takes one message of the time of building; `true` when everything stands.
    fn take_message(&mut self) -> Result<bool> {
        match self.receive()? {
            Message::Device(station, device) => self.devices.push((station, device)),
            Message::Outside(device) => self.outside = Some(device),
            Message::Station(name, namespace) => self.stations.push((name, namespace)),
            Message::Hints(hints) => self.hints.push(Arc::new(Mutex::new(Hints::new(hints)))),
            Message::Namespaces(shared) => self.shared = shared,
            Message::Listener(socket) => self.listeners.push(socket),
            Message::Door(socket) => self.doors.push(socket),
            Message::Ready(kind) => {
                self.kind = kind;
                return Ok(true);
            }
            Message::Failed(status, why) => return Err(LiveError::Stations { status, why }),
            _ => {}
        }
        Ok(false)
    }

    /// Returns the kind of the devices.
    #[must_use]
    pub fn kind(&self) -> DeviceKind {
        self.kind
    }

    /// Returns what sets the MTU of the device at a port of the network; the devices must not have
    /// been taken out yet.
    ///
    /// # Errors
    /// If there is no such device, or the system has no descriptors left.
    pub fn mtu_setter(&self, port: usize) -> Result<MtuSetter> {
        let doing = || "prepare to set the MTU of a device".into();
        let device = self.devices.get(port).zip(self.names.get(port));
        let Some(((_, ours), (station, _, name))) = device else {
            return Err(io::Error::from(io::ErrorKind::NotFound)).context(doing);
        };
        let hints = self.hints[*station].lock().unwrap_or_else(PoisonError::into_inner);
        let setter = MtuSetter::new(hints.socket().context(doing)?, name);
        match self.kind {
            DeviceKind::Tun => Ok(setter),
            DeviceKind::Packet => {
                ours.try_clone().and_then(|it| setter.with_packet_socket(it)).context(doing)
            }
        }
    }

    /// Takes out the devices, in the order of the network's ports.
    pub fn take_devices(&mut self) -> Vec<StationDevice> {
        let devices = std::mem::take(&mut self.devices);
        let device = |(station, device): (u16, OwnedFd)| {
            let made = StationDevice::new(device, self.kind).with_own_end();
            match self.hints.get(usize::from(station)) {
                Some(hints) => made.with_hints(Arc::clone(hints)),
                None => made,
            }
        };
        devices.into_iter().map(device).collect()
    }

    /// Takes out the device behind which the NAT gateway is, with its kind.
    pub(crate) fn take_outside(&mut self) -> Option<(OwnedFd, DeviceKind)> {
        Some((self.outside.take()?, self.kind))
    }

    /// Takes out the sockets that listen at the ports of the plan, in its order.
    pub fn take_listeners(&mut self) -> Vec<OwnedFd> {
        std::mem::take(&mut self.listeners)
    }

    /// Takes out the sockets that listen in the stations under the name of the plan's door.
    pub(crate) fn take_doors(&mut self) -> Vec<OwnedFd> {
        std::mem::take(&mut self.doors)
    }

    /// A command that runs a program of the run's own in a station, beside the programs there and
    /// out of their sight: as the user who called through sudo, if there is one. It ends with this
    /// process.
    ///
    /// # Errors
    /// If there is no such station, or the system has no descriptors left.
    pub fn helper(&self, station: &str, arguments: Vec<OsString>) -> Result<Command> {
        let found = self.stations.iter().find(|(name, _)| name == station);
        let (_, network) = found
            .ok_or_else(|| LiveError::NoSuchRun(format!("the run has no station \"{station}\"")))?;
        // The user namespace gives the right to the others; names resolve by the mounts.
        let [mounts, user] = [0, 2].map(|place| self.shared.get(place));
        let [of_user, of_mounts] = [CloneFlags::CLONE_NEWUSER, CloneFlags::CLONE_NEWNS];
        let all = user.map(|it| (it, of_user)).into_iter().chain(mounts.map(|it| (it, of_mounts)));
        let namespaces: std::io::Result<Vec<_>> = all
            .chain([(network, CloneFlags::CLONE_NEWNET)])
            .map(|(namespace, kind)| Ok((namespace.try_clone()?, kind)))
            .collect();
        let namespaces = namespaces.context(|| "copy a descriptor".into())?;
        let identity = Identity::of_caller(false)?;
        let output = ProgramOutput::Inherit;
        let environment = Vec::new();
        let program = Program { station: 0, arguments, environment, interactive: false, output };
        let mut command = program::prepare(&program, namespaces, identity.as_ref(), user.is_some());
        end_with_this_process(&mut command);
        Ok(command)
    }

    /// Returns the number and the name of the station, and the name of the device, at a port of the
    /// network.
    pub(crate) fn device(&self, port: usize) -> (usize, &str, &str) {
        let (number, station, device) = &self.names[port];
        (*number, station, device)
    }

    /// Lets the programs start; from now on packets have to be carried.
    ///
    /// # Errors
    /// If the stations are gone.
    pub fn begin(&self) -> Result<()> {
        self.send(&Message::Go)
    }

    /// Returns the stations by name, with their network namespaces.
    pub(crate) fn namespaces(&self) -> &[(String, OwnedFd)] {
        &self.stations
    }

    /// Returns the addresses of the stations' neighbours.
    pub(crate) fn neighbours(&self) -> &[Option<IpAddr>] {
        &self.neighbours
    }

    /// Returns the mount, process and, if it is a new one, user namespace of all stations.
    pub(crate) fn shared_namespaces(&self) -> &[OwnedFd] {
        &self.shared
    }

    /// Returns the process that takes back what is outside, if there is one.
    pub(crate) fn keeper(&self) -> Option<&Keeper> {
        self.keeper.as_ref()
    }

    /// Returns that process, for its end to be noted.
    pub(crate) fn keeper_mut(&mut self) -> Option<&mut Keeper> {
        self.keeper.as_mut()
    }

    /// Sends a message to the supervisor.
    pub(crate) fn send(&self, message: &Message) -> Result<()> {
        self.control.send(message).map_err(|_| LiveError::Killed)
    }

    /// Waits for a message of the supervisor.
    pub(crate) fn receive(&self) -> Result<Message> {
        self.control.receive().context(|| "hear the stations".into())?.ok_or(LiveError::Killed)
    }
}

/// Starts the supervisor: in a user namespace of its own, unless everything in the stations is
/// root's anyway.
///
/// Root needs none to build stations, and so goes without where the system makes none, or where a
/// station is a namespace of others, which none of its own may enter; the user behind sudo has no
/// rights there then.
fn spawn(work: &mut SupervisorTask) -> Result<(Pid, Control)> {
    let needed = !system::privileged();
    for own_user in [true, false] {
        let is_inside = work.plan.stations.iter().all(|station| station.namespace.is_none());
        work.own_user = own_user && is_inside && (needed || work.identity.is_some());
        let spawned =
            namespace::spawn_supervisor(work.own_user, |control| supervisor::run(control, work));
        if spawned.is_ok() || needed || !work.own_user {
            return spawned;
        }
    }
    unreachable!("the second attempt asks for no user namespace")
}

impl AsFd for Stations {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.control.as_fd()
    }
}

impl Drop for Stations {
    fn drop(&mut self) {
        let _ = kill(self.supervisor, Signal::SIGKILL);
        // Returns when the last process of the namespace is gone.
        let _ = waitpid(self.supervisor, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_built_beside_another_thread() {
        let (end, wait) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || wait.recv().is_err());
        let built = Stations::build(LivePlan::default(), None, Vec::new());
        assert!(matches!(built, Err(LiveError::Threads(2..))), "{built:?}");
        drop(end);
        other.join().expect("it ends");
    }
}
