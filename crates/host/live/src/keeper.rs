//! What a run has outside its stations, and the process that takes it back.
//!
//! The keeper is a child of the run which makes names for the stations' network namespaces in a
//! folder, as `ip netns` has them, and moves interfaces into stations. It takes all of that back
//! when the run is gone, however that ended: then its connection closes. So it survives what kills
//! the run alone; if it is killed itself, the run says so and takes everything back
//! at its end. Names that are
//! left when both were killed are recognised by the next run that wants them.

mod names;

use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::CloneFlags;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{Pid, setsid};
use windfall_netlink::RealInterface;

use crate::control::{Control, Message};
use crate::error::{ErrorContext, LiveError, Result};
use crate::namespace;
use crate::plan::LivePlan;
use crate::system;

/// The process that keeps what a run has outside; when this is dropped, all of it is taken back.
#[derive(Debug)]
pub(crate) struct Keeper {
    /// `None` when it is gone, or told to go.
    control: Option<Control>,
    process: Pid,
    /// Names and moved interfaces, in case that it is killed.
    made: Kept,
    /// The files below the names, whose locks say that the run is there.
    _locks: Vec<File>,
}

impl Keeper {
    /// Starts a keeper, if the plan has anything outside its stations.
    ///
    /// # Errors
    /// If this process may not change what is outside, or has more than one thread.
    pub(crate) fn start(plan: &LivePlan) -> Result<Option<Self>> {
        if plan.names.is_none() && plan.interfaces.is_empty() {
            return Ok(None);
        }
        if !system::privileged() {
            return Err(LiveError::NamesForbidden);
        }
        for name in plan.stations.iter().map(|station| station.name.as_str()) {
            if plan.names.is_some() && (name.contains('/') || name.starts_with('.')) {
                return Err(LiveError::NoFileName(name.to_owned()));
            }
        }
        let mut made = Kept::default();
        let locks = names::claim(plan, &mut made);
        let keep = |control: &Control| {
            // What a terminal or a killed group gets is not for this process, and of all processes
            // of a run, the one that puts the machine right is the last to be ended for memory.
            let _ = setsid();
            let _ = fs::write("/proc/self/oom_score_adj", "-1000");
            made.clone().serve(plan, control);
            0
        };
        let started = locks.and_then(|locks| {
            let started = namespace::spawn(CloneFlags::empty(), keep);
            Ok((locks, started.context(|| "start the keeper of the names".into())?))
        });
        let (_locks, (process, control)) = started.inspect_err(|_| made.take_back())?;
        Ok(Some(Self { control: Some(control), process, made, _locks }))
    }

    /// Gives these stations of a plan their names, and moves interfaces into those of these
    /// numbers.
    pub(crate) fn arrange(
        &mut self,
        stations: &[(String, OwnedFd)],
        interfaces: &[(usize, RealInterface)],
    ) -> Result<()> {
        let copy =
            |namespace: &OwnedFd| namespace.try_clone().context(|| "copy a descriptor".into());
        for (name, namespace) in stations {
            self.ask(&Message::Station(name.clone(), copy(namespace)?))?;
        }
        for (number, (station, interface)) in interfaces.iter().enumerate() {
            let namespace = copy(&stations[*station].1)?;
            self.made.moved.push((interface.clone(), Arc::new(copy(&namespace)?)));
            self.ask(&Message::Interface(number as u16, namespace))?;
        }
        Ok(())
    }

    /// The socket at which it is seen that the keeper is gone.
    pub(crate) fn socket(&self) -> Option<BorrowedFd<'_>> {
        self.control.as_ref().map(AsFd::as_fd)
    }

    /// Notes that the keeper is gone, and says how it ended; its work is then done when this is
    /// dropped.
    pub(crate) fn note_end(&mut self) -> String {
        drop(self.control.take());
        let ended = match system::retry(|| waitpid(self.process, None)) {
            Ok(WaitStatus::Signaled(_, signal, _)) => format!("was ended by {signal}"),
            _ => "has ended".to_owned(),
        };
        format!("the process {}, which takes names and interfaces back, {ended}", self.process)
    }

    fn ask(&self, message: &Message) -> Result<()> {
        let Some(control) = &self.control else { return Ok(()) };
        control.send(message).map_err(|_| LiveError::Killed)?;
        match control.receive().context(|| "hear the keeper".into())? {
            Some(Message::Finished) => Ok(()),
            Some(Message::Failed(status, why)) => Err(LiveError::Stations { status, why }),
            _ => Err(LiveError::Killed),
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // It takes everything back when it reads the end.
        let was_there = self.control.take().is_some();
        let ended = was_there.then(|| system::retry(|| waitpid(self.process, None)));
        if let Some(Ok(WaitStatus::Signaled(process, signal, _))) = ended {
            complain(&format_args!(
                "the process {process}, which takes names and interfaces back, was ended by \
                 {signal}: taking them back without it"
            ));
        }
        if matches!(ended, None | Some(Ok(WaitStatus::Signaled(..)))) {
            self.made.take_back();
        }
    }
}

/// Names and moved interfaces outside the stations.
#[derive(Clone, Debug, Default)]
struct Kept {
    /// The folder of the names, if it was made for them.
    folder: Option<PathBuf>,
    names: Vec<PathBuf>,
    /// The interfaces that were moved, each with where it is.
    moved: Vec<(RealInterface, Arc<OwnedFd>)>,
}

impl Kept {
    /// Does what the run asks for until the run is gone, and takes it back.
    fn serve(mut self, plan: &LivePlan, control: &Control) {
        while let Ok(Some(message)) = control.receive() {
            let done = match message {
                Message::Station(name, namespace) => mount_name(plan, &name, &namespace),
                Message::Interface(number, station) => {
                    self.move_in(&plan.interfaces[usize::from(number)].1, station)
                }
                _ => Ok(()),
            };
            let answer = match done {
                Ok(()) => Message::Finished,
                Err(error) => Message::Failed(error.exit_code(), error.to_string()),
            };
            let _ = control.send(&answer);
        }
        self.take_back();
    }

    fn move_in(&mut self, interface: &RealInterface, station: OwnedFd) -> Result<()> {
        let moved = interface.move_in(station.as_fd());
        // Noted in any case, since it may have come half the way.
        self.moved.push((interface.clone(), Arc::new(station)));
        moved.context(|| format!("move the interface {} into the station", interface.name()))
    }

    fn take_back(&self) {
        for (interface, station) in &self.moved {
            // One that is not there has never left, or its other end is gone.
            match interface.move_back(station.as_fd()) {
                Err(error) if !is_missing(&error) => {
                    complain(&format_args!("cannot move {} back: {error}", interface.name()));
                }
                _ => {}
            }
        }
        for path in self.names.iter().rev() {
            let _ = umount2(path, MntFlags::MNT_DETACH);
            if let Err(error) = fs::remove_file(path) {
                complain(&format_args!("cannot remove {}: {error}", path.display()));
            }
        }
        if let Some(folder) = &self.folder {
            // Others may have put something there.
            let _ = fs::remove_dir(folder);
        }
    }
}

/// Mounts the namespace of a station over its name, if it has one.
fn mount_name(plan: &LivePlan, name: &str, namespace: &OwnedFd) -> Result<()> {
    let Some(folder) = &plan.names else { return Ok(()) };
    let path = folder.join(name);
    bind(namespace, &path)
        .context(|| format!("give the network namespace of {name} the name {}", path.display()))
}

/// Says what went wrong: nothing else hears it.
fn complain(what: &dyn Display) {
    let _ = writeln!(io::stderr(), "windfall: {what}");
}

/// Tells whether there is no interface of the name.
fn is_missing(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::ENODEV as i32) || error.kind() == io::ErrorKind::NotFound
}

/// Mounts a namespace over a file.
fn bind(namespace: &OwnedFd, path: &Path) -> nix::Result<()> {
    let none = None::<&str>;
    let source = format!("/proc/self/fd/{}", namespace.as_raw_fd());
    mount(Some(&*source), path, none, MsFlags::MS_BIND, none)
}
