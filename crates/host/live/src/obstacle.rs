//! The reasons why a system makes no namespaces, and the remedy for each.

use std::fs;
use std::io;
use std::path::Path;

use nix::errno::Errno;

use crate::system;

/// Separates a failure from its remedy in the text of an error.
pub(crate) const REMEDY: &str = "; remedy: ";
/// The obstacle where a system shows no processes, of whose files every part of a run reads.
pub(crate) const NO_PROC: &str = "/proc is not mounted";
/// The command by which root shows them again.
pub(crate) const MOUNT_PROC: &str = "mount -t proc proc /proc";

/// The remedy of a process that may open too few files.
pub(crate) const RAISE_OPEN_FILES: &str = "ulimit -n 1024";

/// Tells whether `/proc` is there.
pub(crate) fn has_proc() -> bool {
    Path::new("/proc/self").exists()
}

/// The flags by which containers may make namespaces.
const DOCKER: &str = "docker run --security-opt seccomp=unconfined \
                      --security-opt apparmor=unconfined --security-opt systempaths=unconfined \
                      (or docker run --privileged)";
const PODMAN: &str = "podman run --security-opt seccomp=unconfined --security-opt unmask=ALL";

/// A kind of container around this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Container {
    Docker,
    Podman,
    Other,
}

/// The conditions that may keep this process from making namespaces.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Surroundings {
    /// Its user is root, of whatever namespace.
    is_root: bool,
    /// A seccomp filter decides which system calls it may make.
    is_filtered: bool,
    /// Its root directory is no mount point, as in most chroots.
    is_chrooted: bool,
    container: Option<Container>,
    /// The value of `user.max_user_namespaces`.
    most_user_namespaces: Option<u64>,
    /// `kernel.unprivileged_userns_clone`, which Debian's kernels have.
    unprivileged: Option<u64>,
    /// `kernel.apparmor_restrict_unprivileged_userns`, which Ubuntu's kernels have.
    apparmor: Option<u64>,
}

impl Surroundings {
    /// Returns those of this process.
    pub(crate) fn of_this_process() -> Self {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mode = status.lines().find_map(|line| line.strip_prefix("Seccomp:"));
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let is_root_mounted = mounts.lines().any(|line| line.split(' ').nth(4) == Some("/"));
        Self {
            is_root: nix::unistd::geteuid().is_root(),
            is_filtered: mode.is_some_and(|mode| mode.trim() == "2"),
            is_chrooted: !mounts.is_empty() && !is_root_mounted,
            container: container(),
            most_user_namespaces: parameter("user/max_user_namespaces"),
            unprivileged: parameter("kernel/unprivileged_userns_clone"),
            apparmor: parameter("kernel/apparmor_restrict_unprivileged_userns"),
        }
    }

    /// Returns why the system refused namespaces or mounts with this error, and the remedy.
    fn explain(&self, error: &io::Error) -> (String, String) {
        let (why, fix) = match error.raw_os_error().map(Errno::from_raw) {
            Some(Errno::ENOSPC | Errno::EUSERS) if self.most_user_namespaces == Some(0) => (
                "user namespaces are switched off (user.max_user_namespaces is 0)",
                self.allow("sysctl user.max_user_namespaces=10000"),
            ),
            Some(Errno::ENOSPC | Errno::EUSERS) => (
                "a limit on their number or depth is reached",
                "end other runs, nest fewer, or let root raise user.max_user_namespaces, \
                 user.max_pid_namespaces, user.max_mnt_namespaces and user.max_net_namespaces"
                    .to_owned(),
            ),
            Some(Errno::EAGAIN) => (
                "no more processes are allowed",
                "end some, or raise the limit (`ulimit -u`, pids.max of the control group)"
                    .to_owned(),
            ),
            Some(Errno::ENOMEM) => {
                ("there is too little memory", "end something, or allow more".to_owned())
            }
            Some(Errno::EMFILE) => ("too few files may be open", RAISE_OPEN_FILES.to_owned()),
            Some(Errno::EINVAL | Errno::ENOSYS) => {
                ("this kernel has no user namespaces", self.be_root())
            }
            _ => self.explain_refusal(),
        };
        (why.to_owned(), fix)
    }

    /// Explains why this process may not do what the kernel could do.
    fn explain_refusal(&self) -> (&'static str, String) {
        if self.is_filtered {
            let why = "a filter of system calls (seccomp) forbids them, as the default profile of \
                       containers does";
            return (why, self.unconfine());
        }
        if self.is_chrooted && !self.is_root {
            let why = "in a chroot only root may make them";
            let fix = "run as root, or enter the system by systemd-nspawn instead of chroot";
            return (why, fix.to_owned());
        }
        if self.unprivileged == Some(0) {
            let why = "ordinary users may not make them (kernel.unprivileged_userns_clone is 0)";
            return (why, self.allow("sysctl kernel.unprivileged_userns_clone=1"));
        }
        if self.apparmor == Some(1) {
            let why = "AppArmor keeps ordinary users from them \
                       (kernel.apparmor_restrict_unprivileged_userns is 1)";
            return (why, self.allow("sysctl kernel.apparmor_restrict_unprivileged_userns=0"));
        }
        if self.container.is_some() {
            return ("the container has no right to them", self.unconfine());
        }
        if self.is_root {
            let why = "this root lacks CAP_SYS_ADMIN or CAP_NET_ADMIN";
            return (why, "give it both capabilities".to_owned());
        }
        ("ordinary users may not make them", "run as root".to_owned())
    }

    /// The remedy of becoming root, in a container that of being privileged.
    fn be_root(&self) -> String {
        match (self.container, self.is_root) {
            (None, false) => "run as root".to_owned(),
            (None, true) => "give this root CAP_SYS_ADMIN and CAP_NET_ADMIN".to_owned(),
            _ => "start the container with --privileged".to_owned(),
        }
    }

    /// The remedy of a command of root's on the machine itself.
    fn allow(&self, command: &str) -> String {
        let place = if self.container.is_some() { " of the machine" } else { "" };
        format!("let root{place} run `{command}`, or {}", self.be_root())
    }

    /// The remedy of a container without the default profile.
    fn unconfine(&self) -> String {
        match self.container {
            Some(Container::Docker) => DOCKER.to_owned(),
            Some(Container::Podman) => PODMAN.to_owned(),
            _ => format!("{DOCKER}, {PODMAN}, or let whatever set the filter allow namespaces"),
        }
    }
}

/// Returns why this process cannot make namespaces or mounts, after this error, with the remedy.
pub(crate) fn explain(error: &io::Error) -> String {
    let (why, fix) = Surroundings::of_this_process().explain(error);
    format!("{why}{REMEDY}{fix}")
}

/// Returns what to append to this error of an action that a filter of system calls may forbid.
pub(crate) fn of_filter(error: &io::Error) -> String {
    let surroundings = Surroundings::of_this_process();
    match error.raw_os_error().map(Errno::from_raw) {
        Some(Errno::EPERM | Errno::EACCES | Errno::ENOSYS) if surroundings.is_filtered => {
            let fix = surroundings.unconfine();
            format!(", since a filter of system calls (seccomp) forbids it{REMEDY}{fix}")
        }
        _ => of_limit(error),
    }
}

/// Returns the remedy to append to this error if a limit of the process is reached.
pub(crate) fn of_limit(error: &io::Error) -> String {
    match error.raw_os_error().map(Errno::from_raw) {
        Some(Errno::EMFILE) => format!("{REMEDY}{RAISE_OPEN_FILES}"),
        _ => String::new(),
    }
}

/// Returns the remedy where stations cannot have kernel parameters of their own.
pub(crate) fn unmask() -> String {
    match container() {
        Some(Container::Podman) => PODMAN.to_owned(),
        _ if system::privileged() => "mount -o remount,rw /proc/sys".to_owned(),
        Some(Container::Docker) => DOCKER.to_owned(),
        _ => format!("{DOCKER}, {PODMAN}"),
    }
}

fn container() -> Option<Container> {
    if exists("/.dockerenv") {
        Some(Container::Docker)
    } else if exists("/run/.containerenv") {
        Some(Container::Podman)
    } else if exists("/run/systemd/container") || std::env::var_os("container").is_some() {
        Some(Container::Other)
    } else {
        None
    }
}

/// Returns whether a path exists.
fn exists(path: &str) -> bool {
    Path::new(path).exists()
}

/// Reads a kernel parameter that is a number, if the kernel has it.
fn parameter(path: &str) -> Option<u64> {
    fs::read_to_string(format!("/proc/sys/{path}")).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const USER: Surroundings = Surroundings {
        is_root: false,
        is_filtered: false,
        is_chrooted: false,
        container: None,
        most_user_namespaces: Some(10_000),
        unprivileged: None,
        apparmor: None,
    };

    fn explained(surroundings: Surroundings, errno: Errno) -> String {
        let (why, fix) = surroundings.explain(&errno.into());
        format!("{why}{REMEDY}{fix}")
    }

    #[test]
    fn too_few_open_files_have_a_remedy_and_other_errors_have_none() {
        assert!(of_limit(&Errno::EMFILE.into()).contains("ulimit -n"));
        assert_eq!(of_limit(&Errno::ENOENT.into()), "");
    }

    #[test]
    fn each_obstacle_has_its_name_and_its_remedy() {
        let docker = Some(Container::Docker);
        let root = Surroundings { is_root: true, ..USER };
        for (surroundings, errno, parts) in [
            (USER, Errno::EPERM, ["ordinary users", "run as root"]),
            (USER, Errno::ENOSPC, ["limit", "user.max_net_namespaces"]),
            (USER, Errno::EAGAIN, ["processes", "pids.max"]),
            (USER, Errno::EINVAL, ["no user namespaces", "run as root"]),
            (root, Errno::EPERM, ["CAP_SYS_ADMIN", "capabilities"]),
            (
                Surroundings { is_filtered: true, container: docker, ..root },
                Errno::EPERM,
                ["seccomp", "docker run --security-opt seccomp=unconfined"],
            ),
            (
                Surroundings { is_filtered: true, ..USER },
                Errno::EPERM,
                ["seccomp", "podman run --security-opt seccomp=unconfined"],
            ),
            (
                Surroundings { container: docker, ..root },
                Errno::EACCES,
                ["container", "apparmor=unconfined"],
            ),
            (Surroundings { is_chrooted: true, ..USER }, Errno::EPERM, ["chroot", "run as root"]),
            (
                Surroundings { unprivileged: Some(0), ..USER },
                Errno::EPERM,
                ["kernel.unprivileged_userns_clone is 0", "unprivileged_userns_clone=1"],
            ),
            (
                Surroundings { apparmor: Some(1), ..USER },
                Errno::EACCES,
                ["AppArmor", "apparmor_restrict_unprivileged_userns=0"],
            ),
            (
                Surroundings { most_user_namespaces: Some(0), ..USER },
                Errno::ENOSPC,
                ["user.max_user_namespaces is 0", "run as root"],
            ),
            (
                Surroundings { most_user_namespaces: Some(0), container: docker, ..root },
                Errno::ENOSPC,
                ["switched off", "--privileged"],
            ),
        ] {
            let text = explained(surroundings, errno);
            assert!(parts.iter().all(|part| text.contains(part)), "{text}");
            assert!(!(surroundings.is_root && text.contains("run as root")), "{text}");
        }
    }
}
