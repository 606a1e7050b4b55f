//! The terminal of the run: programs may take it, and it must come back.

use std::io;

use nix::sys::termios::{self, SetArg, Termios};
use nix::unistd::Pid;

/// The state of the terminal before the programs had it.
#[derive(Debug)]
pub(crate) struct Terminal {
    /// The foreground group and the settings; `None` where there is no terminal, or it is not ours.
    before: Option<(Pid, Termios)>,
}

impl Terminal {
    /// Notes the state of the terminal at the standard input, if this process has it.
    pub(crate) fn of_this_process() -> Self {
        let group = nix::unistd::tcgetpgrp(io::stdin()).ok();
        let ours = group.filter(|group| *group == nix::unistd::getpgrp());
        let settings = termios::tcgetattr(io::stdin()).ok();
        Self { before: ours.zip(settings) }
    }

    /// Takes the terminal back if a program kept it. The signal by which a background process is
    /// stopped for this must be blocked.
    pub(crate) fn restore(&self) {
        let Some((group, settings)) = &self.before else { return };
        if nix::unistd::tcgetpgrp(io::stdin()) != Ok(*group) {
            let _ = nix::unistd::tcsetpgrp(io::stdin(), *group);
            let _ = termios::tcsetattr(io::stdin(), SetArg::TCSADRAIN, settings);
        }
    }
}
