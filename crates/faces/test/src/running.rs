//! Links that are up.

use std::ffi::OsString;
use std::io::{self, PipeWriter, Write as _};
use std::os::fd::AsRawFd as _;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::io::FdFlags;
use serde_json::{Value, json};

use crate::control::Control;
use crate::error::LinkError;
use crate::program::{cannot_run, now, output, sleep};
use crate::settings::Change;
use crate::station::Station;

/// The time that a link takes at most to come up, and a program to listen.
const PATIENCE: Duration = Duration::from_secs(30);
/// The time from one look at what takes a while to the next.
const LOOK: Duration = Duration::from_millis(10);

/// A link that is up. Threads may share it; it ends when it is dropped, or with this process,
/// however that ends, and every program in it ends as well.
#[derive(Debug)]
pub struct RunningLink {
    program: OsString,
    name: String,
    run: Option<Child>,
    /// The run ends when this is closed.
    lifeline: Option<PipeWriter>,
    control: Control,
}

impl RunningLink {
    pub(crate) fn up(
        program: OsString,
        name: String,
        options: &[OsString],
        scenario: &[u8],
    ) -> Result<Self, LinkError> {
        let (run, lifeline) = spawn(&program, &name, options, scenario)?;
        let control = Control::new(String::new());
        let mut link = Self { program, name, run: Some(run), lifeline: Some(lifeline), control };
        let address = link.wait_until_up()?;
        link.control = Control::new(address);
        Ok(link)
    }

    /// Waits for the address of the control socket.
    fn wait_until_up(&mut self) -> Result<String, LinkError> {
        let deadline = now() + PATIENCE;
        loop {
            if let Some(address) = self.find()? {
                return Ok(address);
            }
            let Some(run) = &mut self.run else { return Err(gone()) };
            let has_ended = matches!(run.try_wait(), Ok(Some(_)) | Err(_));
            if has_ended || now() > deadline {
                let _ = run.kill();
                let said = self.run.take().map(Child::wait_with_output);
                return Err(match said {
                    Some(Ok(said)) if has_ended => LinkError::of_program(&said.stderr),
                    _ => LinkError::new("the link did not come up in 30 s"),
                });
            }
            sleep(LOOK);
        }
    }

    /// Returns where the run listens, once it does.
    fn find(&self) -> Result<Option<String>, LinkError> {
        let listed = output(Command::new(&self.program).args(["ls", "--json"]))?;
        let process = self.run.as_ref().map(Child::id);
        let rows = listed.stdout.split(|byte| *byte == b'\n');
        let mut rows = rows.filter_map(|row| serde_json::from_slice::<Value>(row).ok());
        let is_own =
            |row: &Value| row["name"] == self.name && row["pid"].as_u64() == process.map(u64::from);
        Ok(rows.find(is_own).and_then(|row| row["socket"].as_str().map(str::to_owned)))
    }

    /// Returns the name of the run, by which `windfall status` finds it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the near end, which sends on the uplink.
    #[must_use]
    pub fn near(&self) -> Station<'_> {
        self.station("near")
    }

    /// Returns the far end.
    #[must_use]
    pub fn far(&self) -> Station<'_> {
        self.station("far")
    }

    /// Changes the link now, whole or not at all; returns the time in seconds of the run.
    ///
    /// # Errors
    /// If a setting makes no sense or cannot change while a link runs.
    pub fn set(&self, change: &Change) -> Result<f64, LinkError> {
        let reply = self.ask(&json!({"do": "set", "change": change.to_json()}))?;
        Ok(reply["at"].as_f64().unwrap_or_default())
    }

    /// Sets the faults of the connections to a port: `far:80 reset 1s`; `far:80 none` clears them.
    ///
    /// # Errors
    /// If there is no such fault or station.
    pub fn fault(&self, fault: &str) -> Result<(), LinkError> {
        self.ask(&json!({"do": "fault", "fault": fault})).map(|_| ())
    }

    /// Returns how the link fares: settings, counts, rates and delays of each direction, as
    /// `docs/reference/control.md` describes them.
    ///
    /// # Errors
    /// If the link is gone.
    pub fn status(&self) -> Result<Value, LinkError> {
        self.ask(&json!({"do": "status"}))
    }

    /// Returns the windows of 250 ms that ended after a time in seconds.
    ///
    /// # Errors
    /// If the link is gone.
    pub fn samples(&self, since: f64) -> Result<Vec<Value>, LinkError> {
        let mut reply = self.ask(&json!({"do": "samples", "since": since}))?;
        Ok(reply["samples"].as_array_mut().map(core::mem::take).unwrap_or_default())
    }

    /// Returns the scenario with the changes so far, which repeats the run.
    ///
    /// # Errors
    /// If the link is gone.
    pub fn scenario(&self) -> Result<String, LinkError> {
        let reply = self.ask(&json!({"do": "scenario"}))?;
        Ok(reply["scenario"].as_str().unwrap_or_default().to_owned())
    }

    /// Sends a request of the control socket, and returns the reply. Threads take turns.
    ///
    /// # Errors
    /// If the run refuses, or does not answer within 30 s: the request is withdrawn then.
    pub fn ask(&self, request: &Value) -> Result<Value, LinkError> {
        self.control.ask(request)
    }

    fn station(&self, name: &'static str) -> Station<'_> {
        Station { program: &self.program, run: &self.name, control: &self.control, name }
    }

    /// Waits until a program at the far end listens on this port, on TCP or UDP.
    ///
    /// # Errors
    /// If none does within 30 s.
    pub fn wait_port(&self, port: u16) -> Result<(), LinkError> {
        self.far().wait_port(port, PATIENCE)
    }

    /// Ends the link and every program in it; returns the summary of the run.
    ///
    /// # Errors
    /// If the run failed, or was disturbed more than [`max_late`](crate::Link::max_late) allows.
    pub fn end(mut self) -> Result<Value, LinkError> {
        self.stop()
    }

    fn stop(&mut self) -> Result<Value, LinkError> {
        let asked = self.ask(&json!({"do": "end"}));
        self.lifeline = None;
        let run = self.run.take().ok_or_else(gone)?;
        let said = run.wait_with_output();
        let said = said.map_err(|error| LinkError::of_system("cannot wait for the run", error))?;
        if !said.status.success() {
            let text = LinkError::of_program(&said.stderr);
            let is_silent = said.stderr.is_empty();
            let code = said.status;
            return Err(if is_silent {
                LinkError::new(format!("the run ended with {code}"))
            } else {
                text
            });
        }
        asked?;
        // What a run says of itself, such as a warning, is not lost.
        let _ = io::stderr().write_all(&said.stderr);
        serde_json::from_slice(&said.stdout)
            .map_err(|error| LinkError::new(format!("the summary is no JSON: {error}")))
    }
}

impl Drop for RunningLink {
    fn drop(&mut self) {
        if self.run.is_some()
            && let Err(error) = self.stop()
        {
            let _ = writeln!(io::stderr(), "the link {}: {error}", self.name);
        }
    }
}

/// Starts the run, and gives it the scenario and one end of a pipe.
fn spawn(
    program: &OsString,
    name: &str,
    options: &[OsString],
    scenario: &[u8],
) -> Result<(Child, PipeWriter), LinkError> {
    let fail = |error| LinkError::of_system("cannot make a pipe for the run", error);
    let (theirs, lifeline) = io::pipe().map_err(fail)?;
    rustix::io::fcntl_setfd(&theirs, FdFlags::empty()).map_err(|error| fail(error.into()))?;
    let mut up = Command::new(program);
    up.args(["up", "-", "-q", "--json", "--name", name, "--lifeline"]);
    up.arg(theirs.as_raw_fd().to_string()).args(options);
    up.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut run = up.spawn().map_err(|error| cannot_run(&up, error))?;
    if let Some(mut stdin) = run.stdin.take() {
        // A run that has refused its options reads nothing; it says why.
        let _ = stdin.write_all(scenario);
    }
    Ok((run, lifeline))
}

fn gone() -> LinkError {
    LinkError::new("the run has ended")
}
