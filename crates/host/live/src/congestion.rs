//! TCP's congestion control: what the kernel has, and what stations may use of it.
//!
//! In a network namespace the kernel takes only what `tcp_allowed_congestion_control` lists, root's
//! processes included. Root may extend that list, in the namespace in which the machine began.

use std::fs;
use std::process::{Command, Stdio};

use crate::error::{LiveError, Result};

/// The kernel parameter that chooses one.
pub(crate) const KEY: &str = "net.ipv4.tcp_congestion_control";
/// The file that lists what namespaces may use.
const ALLOWED: &str = "/proc/sys/net/ipv4/tcp_allowed_congestion_control";
/// The file that lists what the kernel has, loaded modules included.
const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

/// Those that stations may use.
pub(crate) fn allowed() -> Vec<String> {
    listed(ALLOWED)
}

/// Those that the kernel has.
pub(crate) fn available() -> Vec<String> {
    listed(AVAILABLE)
}

fn listed(path: &str) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace().map(str::to_owned).collect()
}

/// Sees to it that stations may use `name`; loads the module and extends the list as root.
///
/// # Errors
/// If the kernel does not have it or may not allow it, with those that there are.
pub(crate) fn allow(name: &str) -> Result<()> {
    if allowed().iter().any(|it| it == name) {
        return Ok(());
    }
    if !available().iter().any(|it| it == name) {
        load(name);
    }
    let mut list = allowed();
    list.push(name.to_owned());
    // The kernel refuses the whole list if it does not know one of them.
    let written = fs::write(ALLOWED, list.join(" "));
    if written.is_ok() && allowed().iter().any(|it| it == name) {
        return Ok(());
    }
    Err(LiveError::Congestion { name: name.to_owned(), why: refusal(name, &list.join(" ")) })
}

/// Sees to it that routes may name a congestion control: any that the kernel has.
///
/// # Errors
/// If the kernel does not have it, with those that it has.
pub(crate) fn require(name: &str) -> Result<()> {
    let has = || available().iter().any(|it| it == name);
    if !has() {
        load(name);
    }
    if has() {
        return Ok(());
    }
    Err(LiveError::Congestion { name: name.to_owned(), why: refusal(name, name) })
}

/// Says why stations cannot use a congestion control, and that `list` has to be allowed.
fn refusal(name: &str, list: &str) -> String {
    let known = available();
    let permitted = allowed().join(", ");
    if known.iter().any(|it| it == name) {
        return format!(
            "only {permitted} are allowed there; to allow it: \
             sudo sysctl -w net.ipv4.tcp_allowed_congestion_control=\"{list}\""
        );
    }
    let mut text = format!("the kernel has {}, of which {permitted} are allowed", known.join(", "));
    if is_plain(name) && !nix::unistd::geteuid().is_root() {
        text.push_str("; if it is a module of this kernel: sudo modprobe tcp_");
        text.push_str(name);
    }
    text
}

/// Tells whether this could be the name of a module.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

/// Loads the module of a congestion control where that is possible.
fn load(name: &str) {
    if is_plain(name) && nix::unistd::geteuid().is_root() {
        let mut command = Command::new("modprobe");
        command.args(["-q", "--", &format!("tcp_{name}")]);
        // What it cannot load is not there, and the list says so.
        let _ = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}
