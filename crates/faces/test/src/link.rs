//! Links that are not up yet.

use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::error::LinkError;
use crate::program::output;
use crate::running::RunningLink;
use crate::settings::{settings, spelled};

/// Options that make no sense here, and what to do instead.
const INSTEAD: [(&str, &str); 12] = [
    ("far", "start programs there by far().command"),
    ("far-output", "set stdout and stderr of far().command"),
    ("far-may-fail", "look at what the command returns"),
    ("wait-port", "call wait_port"),
    ("net", "only `windfall run` has it"),
    ("net-host-loopback", "only `windfall run` has it"),
    ("as-root", "only `windfall run` has it"),
    ("scenario", "a link is made of settings alone: run `windfall up FILE`"),
    ("generate", "call scenario"),
    ("json", "end returns the summary"),
    ("quiet", "end returns the summary"),
    ("detach", "the link ends when it is dropped"),
];

/// The links that this process has made, for their names.
static COUNT: AtomicU32 = AtomicU32::new(0);

/// A link between the stations `near` and `far`, as its settings describe it.
///
/// Settings have the names that the options of `windfall run` have; the methods are those that
/// tests ask for most, [`setting`](Self::setting) takes every one.
///
/// ```
/// # use windfall_test::Link;
/// let link = Link::new().rate("2Mbps").ber(1e-5).setting("queue", 20).uplink("loss", "1%");
/// assert_eq!(link.words(), ["--rate=2Mbps", "--ber=0.00001", "--queue=20", "--uplink-loss=1%"]);
/// ```
#[derive(Clone, Debug)]
pub struct Link {
    words: Vec<String>,
    options: Vec<OsString>,
    name: Option<String>,
    program: OsString,
}

impl Default for Link {
    fn default() -> Self {
        let program = std::env::var_os("WINDFALL").unwrap_or_else(|| "windfall".into());
        Self { words: Vec::new(), options: Vec::new(), name: None, program }
    }
}

impl Link {
    /// Returns a link without limit, delay or errors.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a setting of both directions by its name.
    #[must_use]
    pub fn setting(mut self, name: &str, value: impl Display) -> Self {
        self.words.push(format!("--{}={value}", spelled(name)));
        self
    }

    /// Sets a setting of the uplink, from near to far.
    #[must_use]
    pub fn uplink(self, name: &str, value: impl Display) -> Self {
        self.setting(&format!("uplink-{name}"), value)
    }

    /// Sets a setting of the downlink, from far to near.
    #[must_use]
    pub fn downlink(self, name: &str, value: impl Display) -> Self {
        self.setting(&format!("downlink-{name}"), value)
    }

    settings!();

    /// Sets the seed: the same seed hits the same frames in the same bits.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        self.setting("seed", seed)
    }

    /// Passes damaged packets up, in place of dropping them.
    #[must_use]
    pub fn accept_damaged(self) -> Self {
        self.setting("accept-damaged", "on")
    }

    /// Writes the event log to a file.
    #[must_use]
    pub fn log(self, file: impl AsRef<Path>) -> Self {
        self.of_run("log", file.as_ref().as_os_str())
    }

    /// Writes a capture to a file.
    #[must_use]
    pub fn pcap(self, file: impl AsRef<Path>) -> Self {
        self.of_run("pcap", file.as_ref().as_os_str())
    }

    /// Writes series to a file, as CSV, JSON lines or Parquet by its name.
    #[must_use]
    pub fn series(self, file: impl AsRef<Path>) -> Self {
        self.of_run("series", file.as_ref().as_os_str())
    }

    /// Sets the lateness beyond which [`RunningLink::end`] fails, such as `1ms:1%`.
    #[must_use]
    pub fn max_late(self, limit: impl Display) -> Self {
        self.of_run("max-late", limit.to_string().as_ref())
    }

    /// Sets faults of the connections to a port from the beginning, such as `far:80 reset 1s`.
    #[must_use]
    pub fn fault(self, fault: impl Display) -> Self {
        self.of_run("fault", fault.to_string().as_ref())
    }

    /// Adds a further word for `windfall up`.
    #[must_use]
    pub fn option(mut self, word: impl Into<OsString>) -> Self {
        self.options.push(word.into());
        self
    }

    /// Sets the name of the run, by which `windfall status` finds it.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the program, in place of the variable `WINDFALL` or the one on the path.
    #[must_use]
    pub fn program(mut self, program: impl Into<OsString>) -> Self {
        self.program = program.into();
        self
    }

    /// Returns the options of `windfall run` that describe the link.
    #[must_use]
    pub fn words(&self) -> &[String] {
        &self.words
    }

    /// Brings the link up.
    ///
    /// # Errors
    /// If a setting makes no sense, or the machine has no namespaces for this user; with the words
    /// of `windfall`.
    pub fn start(self) -> Result<RunningLink, LinkError> {
        let mut names =
            self.words.iter().filter_map(|word| word.strip_prefix("--")?.split('=').next());
        let refused = names.find_map(|name| INSTEAD.iter().find(|(it, _)| *it == name));
        if let Some((name, instead)) = refused {
            return Err(LinkError::new(format!("a link takes no {name}: {instead}")));
        }
        let mut generate = Command::new(&self.program);
        generate.args(["run", "--generate"]).args(&self.words).stdin(Stdio::null());
        let made = output(&mut generate)?;
        if !made.status.success() {
            return Err(LinkError::of_program(&made.stderr));
        }
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = self.name.unwrap_or_else(|| format!("rust-{}-{number}", std::process::id()));
        RunningLink::up(self.program, name, &self.options, &made.stdout)
    }

    fn of_run(self, name: &str, value: &OsStr) -> Self {
        let mut word = OsString::from(format!("--{name}="));
        word.push(value);
        self.option(word)
    }
}
