//! What a run has outside its stations, and the process that takes it back.
//!
//! The keeper is a child of the run which makes names for the stations' network namespaces in a
//! folder, as `ip netns` has them, and moves interfaces into stations. It takes all of that back
//! when the run is gone, however that ended: then its connection closes. So it survives what kills
//! the run alone.

use std::fmt::Display;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::CloneFlags;
use nix::sys::wait::waitpid;
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
    /// `None` when this is being dropped.
    control: Option<Control>,
    process: Pid,
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
        if !namespace::privileged() {
            return Err(LiveError::NamesForbidden);
        }
        for name in plan.stations.iter().map(|station| station.name.as_str()) {
            if plan.names.is_some() && (name.contains('/') || name.starts_with('.')) {
                return Err(LiveError::NoFileName(name.to_owned()));
            }
        }
        let keep = |control: &Control| {
            // What a terminal or a killed group gets is not for this process.
            let _ = setsid();
            Kept::new(plan).serve(control);
            0
        };
        let (process, control) = namespace::spawn(CloneFlags::empty(), keep)
            .context(|| "start the keeper of the names".into())?;
        Ok(Some(Self { control: Some(control), process }))
    }

    /// Gives these stations of a plan their names, and moves interfaces into those of these
    /// numbers.
    pub(crate) fn arrange(&self, stations: &[(String, OwnedFd)], numbers: &[usize]) -> Result<()> {
        let copy =
            |namespace: &OwnedFd| namespace.try_clone().context(|| "copy a descriptor".into());
        for (name, namespace) in stations {
            self.ask(&Message::Station(name.clone(), copy(namespace)?))?;
        }
        for (interface, &station) in numbers.iter().enumerate() {
            self.ask(&Message::Interface(interface as u16, copy(&stations[station].1)?))?;
        }
        Ok(())
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
        drop(self.control.take());
        let _ = system::retry(|| waitpid(self.process, None));
    }
}

/// All that the keeper has made.
struct Kept<'a> {
    plan: &'a LivePlan,
    /// The folder of the names is the keeper's own.
    is_own: bool,
    names: Vec<PathBuf>,
    /// The interfaces that were moved, each with where it is.
    moved: Vec<(&'a RealInterface, OwnedFd)>,
}

impl<'a> Kept<'a> {
    fn new(plan: &'a LivePlan) -> Self {
        Self { plan, is_own: false, names: Vec::new(), moved: Vec::new() }
    }

    /// Does what the run asks for until the run is gone, and takes it back.
    fn serve(mut self, control: &Control) {
        while let Ok(Some(message)) = control.receive() {
            let done = match message {
                Message::Station(name, namespace) => self.name(&name, &namespace),
                Message::Interface(number, station) => self.move_in(number.into(), station),
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

    fn name(&mut self, name: &str, namespace: &OwnedFd) -> Result<()> {
        let Some(folder) = &self.plan.names else { return Ok(()) };
        let path = folder.join(name);
        if !folder.is_dir() {
            DirBuilder::new().recursive(true).mode(0o755).create(folder).context(|| {
                format!("make the folder {} of the stations' namespaces", folder.display())
            })?;
            self.is_own = true;
        }
        let shown = path.display();
        match OpenOptions::new().write(true).create_new(true).mode(0o444).open(&path) {
            Ok(_) => {}
            // What a machine that stopped has left: a file over which nothing is mounted.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && is_empty(&path) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(LiveError::NameTaken { path: shown.to_string() });
            }
            Err(error) => return Err(error).context(|| format!("make {shown}")),
        }
        let bound = bind(namespace, &path);
        // Noted first, so that the file goes in any case.
        self.names.push(path.clone());
        bound.context(|| format!("give the network namespace of {name} the name {shown}"))
    }

    fn move_in(&mut self, number: usize, station: OwnedFd) -> Result<()> {
        let (_, interface) = &self.plan.interfaces[number];
        let moved = interface.move_in(station.as_fd());
        // Noted in any case, since it may have come half the way.
        self.moved.push((interface, station));
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
        if let (Some(folder), true) = (&self.plan.names, self.is_own) {
            // Others may have put something there.
            let _ = fs::remove_dir(folder);
        }
    }
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

/// Tells whether a path is a plain file without contents.
fn is_empty(path: &Path) -> bool {
    // A namespace has no length either, and is on a device of its own.
    let (file, folder) = (fs::symlink_metadata(path), path.parent().map(fs::symlink_metadata));
    let (Ok(file), Some(Ok(folder))) = (file, folder) else { return false };
    file.is_file() && file.len() == 0 && file.dev() == folder.dev()
}
