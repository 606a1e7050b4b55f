//! The side of a control socket that asks.

use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize as _, Serialize};
use serde_json::Value;
use windfall_live::{LiveError, control_socket};

use crate::protocol::{
    Changed, Done, FORMAT, RunRefusal, RunRequest, RunStatus, Samples, ScenarioText, line,
};

/// The time after which a run that does not answer is taken to have stopped.
const PATIENCE: Duration = Duration::from_secs(10);
/// The time after which a run that was not watched has measured something.
const MEASURED: Duration = Duration::from_millis(300);
/// The time from one look at a run that ends to the next.
const LOOK: Duration = Duration::from_millis(5);
/// The longest reply, in bytes.
const LONGEST_REPLY: u64 = 256 << 20;

/// Why a run did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// There is no such run.
    #[error(transparent)]
    Live(#[from] LiveError),
    /// A run that was to go on by itself has ended.
    #[error("{line}")]
    Ended {
        /// Its exit status.
        code: u8,
        /// The last line that it printed.
        line: String,
    },
    /// The run refused.
    #[error("{0}")]
    Refused(String),
    /// The run is gone or stopped.
    #[error("the run \"{name}\" does not answer: {source}")]
    Silent {
        /// The name of the run.
        name: String,
        /// The error of the connection.
        source: std::io::Error,
    },
}

impl ControlError {
    /// The exit status that belongs to the error, if one does.
    #[must_use]
    pub fn exit_code(&self) -> Option<u8> {
        match self {
            Self::Live(error) => Some(error.exit_code()),
            Self::Ended { code, .. } => Some(*code),
            Self::Refused(_) | Self::Silent { .. } => None,
        }
    }
}

/// The reply of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Heard<A> {
    /// The reply, as its type has it.
    pub answer: A,
    /// The whole reply, for whoever passes it on.
    pub json: Value,
}

/// A run in a list: its name, its socket, and what it says if it answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RunRow {
    /// The name of the run.
    pub name: String,
    /// The address of its socket.
    pub socket: String,
    /// True if it answers; else nothing more is known.
    pub answers: bool,
    /// The kind of the run: `run` or `up`.
    pub kind: Option<String>,
    /// The process of the run.
    pub pid: Option<u32>,
    /// Seconds since its start.
    pub seconds: Option<f64>,
    /// The names of its stations.
    pub stations: Vec<String>,
    /// The command line that started it.
    pub command: Option<String>,
}

/// A connection to a run.
#[derive(Debug)]
pub struct ControlClient {
    name: String,
    address: String,
    socket: BufReader<UnixStream>,
}

impl ControlClient {
    /// Connects to the run of this name, or to the only one.
    ///
    /// # Errors
    /// If there is none or several; names those that are there.
    pub fn connect(run: Option<&str>) -> Result<Self, ControlError> {
        Ok(Self::of(control_socket::choose(run)?))
    }

    /// Connects to every run of this user.
    #[must_use]
    pub fn all() -> Vec<Self> {
        control_socket::find().into_iter().map(Self::of).collect()
    }

    /// The status of the run of this name, or without a name of all runs that answer.
    ///
    /// # Errors
    /// If there is no such run.
    pub fn all_statuses(run: Option<&str>) -> Result<Vec<RunStatus>, ControlError> {
        let runs = match run {
            Some(_) => vec![Self::connect(run)?],
            None => Self::all(),
        };
        Ok(runs
            .into_iter()
            .filter_map(|mut run| run.measured_status().ok().map(|heard| heard.answer))
            .collect())
    }

    fn of(run: control_socket::RunSocket) -> Self {
        let _ = run.socket.set_read_timeout(Some(PATIENCE));
        let _ = run.socket.set_write_timeout(Some(PATIENCE));
        Self { name: run.name, address: run.address, socket: BufReader::new(run.socket) }
    }

    /// Waits no longer than this for an answer.
    pub fn set_patience(&mut self, limit: Duration) {
        let _ = self.socket.get_ref().set_read_timeout(Some(limit));
    }

    /// Tells whether the run is gone, after it did not answer.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        !control_socket::find().iter().any(|run| run.name == self.name)
    }

    /// The name of the run.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The address of its socket.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Asks the run, and waits for its answer, a reply of [`protocol`](crate::protocol) or JSON.
    ///
    /// # Errors
    /// If it refuses, or does not answer.
    pub fn ask<A: DeserializeOwned>(&mut self, request: &RunRequest) -> Result<A, ControlError> {
        Ok(self.hear(request)?.answer)
    }

    /// Asks the run as [`ask`](Self::ask) does, and keeps the whole reply.
    fn hear<A: DeserializeOwned>(
        &mut self,
        request: &RunRequest,
    ) -> Result<Heard<A>, ControlError> {
        let heard = self.exchange(request).map_err(|source| {
            // A request whose client is gone is not served.
            let _ = self.socket.get_ref().shutdown(std::net::Shutdown::Both);
            let name = self.name.clone();
            ControlError::Silent { name, source }
        })?;
        heard.map_err(|refusal| ControlError::Refused(refusal.error))
    }

    /// Asks how the run fares.
    ///
    /// # Errors
    /// Those of [`ask`](Self::ask), and if the run speaks another version of the protocol.
    pub fn status(&mut self) -> Result<Heard<RunStatus>, ControlError> {
        let heard = self.hear::<RunStatus>(&RunRequest::Status)?;
        let RunStatus { format, .. } = &heard.answer;
        if format != FORMAT {
            let name = &self.name;
            return Err(ControlError::Refused(format!(
                "the run \"{name}\" speaks \"{format}\" and this program \"{FORMAT}\": \
                 use the version of windfall that started the run"
            )));
        }
        Ok(heard)
    }

    /// Asks for the status of the run; one that was not watched is watched for a moment before.
    ///
    /// # Errors
    /// Those of [`status`](Self::status).
    pub fn measured_status(&mut self) -> Result<Heard<RunStatus>, ControlError> {
        let heard = self.status()?;
        if heard.answer.links.iter().all(|link| link.recent.is_some()) {
            return Ok(heard);
        }
        sleep(MEASURED);
        self.status()
    }

    /// Asks for the windows that ended after `since`, in seconds.
    ///
    /// # Errors
    /// Those of [`ask`](Self::ask).
    pub fn samples(&mut self, since: f64) -> Result<Samples, ControlError> {
        self.ask(&RunRequest::Samples { since })
    }

    /// Asks for the scenario that repeats the run, as the text of a file.
    ///
    /// # Errors
    /// Those of [`ask`](Self::ask).
    pub fn scenario(&mut self) -> Result<String, ControlError> {
        Ok(self.ask::<ScenarioText>(&RunRequest::Scenario)?.scenario)
    }

    /// Changes a link, or the faults of a port: a request that
    /// [`of_words`](crate::request::of_words) makes.
    ///
    /// # Errors
    /// Those of [`ask`](Self::ask).
    pub fn change(&mut self, request: &RunRequest) -> Result<Heard<Changed>, ControlError> {
        self.hear(request)
    }

    /// Describes the run in a list.
    pub fn row(&mut self) -> RunRow {
        let row =
            RunRow { name: self.name.clone(), socket: self.address.clone(), ..RunRow::default() };
        let Ok(status) = self.ask::<RunStatus>(&RunRequest::Status) else { return row };
        RunRow {
            answers: true,
            kind: Some(status.kind),
            pid: Some(status.pid),
            seconds: Some(status.t),
            stations: status.stations.into_iter().map(|station| station.name).collect(),
            command: Some(status.command),
            ..row
        }
    }

    fn exchange<A: DeserializeOwned>(
        &mut self,
        request: &RunRequest,
    ) -> std::io::Result<Result<Heard<A>, RunRefusal>> {
        let socket = self.socket.get_mut();
        let limit = socket.read_timeout().ok().flatten().unwrap_or(PATIENCE);
        let late = |error| too_late(error, limit);
        socket.write_all(format!("{}\n", line(request)).as_bytes()).map_err(late)?;
        let mut reply = String::new();
        if self.socket.by_ref().take(LONGEST_REPLY).read_line(&mut reply).map_err(late)? == 0 {
            return Err(std::io::Error::other("it has ended"));
        }
        let json: Value = serde_json::from_str(&reply).map_err(std::io::Error::other)?;
        if let Ok(refusal) = RunRefusal::deserialize(&json) {
            return Ok(Err(refusal));
        }
        let answer = A::deserialize(&json).map_err(std::io::Error::other)?;
        Ok(Ok(Heard { answer, json }))
    }

    /// Tells the run to end, which another client may have done already.
    ///
    /// # Errors
    /// If it refuses, or does not answer.
    pub fn end(&mut self) -> Result<(), ControlError> {
        match self.ask::<Done>(&RunRequest::End) {
            Err(ControlError::Silent { source, .. }) if source.kind() != ErrorKind::TimedOut => {
                Ok(())
            }
            outcome => outcome.map(drop),
        }
    }

    /// Waits until the run is gone.
    ///
    /// # Errors
    /// If it is still there after `limit`.
    pub fn wait_for_end(&mut self, limit: Duration) -> Result<(), ControlError> {
        let _ = self.socket.get_ref().set_read_timeout(Some(limit));
        let mut rest = Vec::new();
        match self.socket.read_to_end(&mut rest) {
            Err(source) if source.kind() != std::io::ErrorKind::ConnectionReset => {
                let name = self.name.clone();
                Err(ControlError::Silent { name, source: too_late(source, limit) })
            }
            _ => {
                // It closes its connections just before its socket.
                while !self.has_ended() {
                    sleep(LOOK);
                }
                Ok(())
            }
        }
    }
}

/// Says of a timeout how long it was, and that what was asked for is withdrawn.
fn too_late(error: std::io::Error, limit: Duration) -> std::io::Error {
    if error.kind() != std::io::ErrorKind::WouldBlock {
        return error;
    }
    let limit = limit.as_secs_f64();
    let text = format!("nothing within {limit} s; what it was asked is withdrawn");
    std::io::Error::new(std::io::ErrorKind::TimedOut, text)
}

#[expect(clippy::disallowed_methods, reason = "runs go on in real time")]
fn sleep(span: Duration) {
    std::thread::sleep(span);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_another_one_ends_is_told_to_end_all_the_same() {
        for hears in [true, false] {
            let (near, far) = UnixStream::pair().expect("two sockets");
            let name = "going".to_owned();
            let address = String::new();
            let mut client = ControlClient { name, address, socket: BufReader::new(near) };
            let run = std::thread::spawn(move || {
                // What is left unread resets the connection.
                hears.then(|| (&far).read(&mut [0; 64]).expect("a request"));
            });
            client.end().expect("it has ended");
            run.join().expect("no panic");
        }
    }

    #[test]
    fn what_a_run_that_stands_still_was_asked_is_withdrawn() {
        let (near, mut far) = UnixStream::pair().expect("two sockets");
        let mut client = ControlClient {
            name: "held".to_owned(),
            address: String::new(),
            socket: BufReader::new(near),
        };
        client.set_patience(Duration::from_millis(20));
        let error = client.ask::<Done>(&RunRequest::Scenario).expect_err("no answer");
        let said = error.to_string();
        assert!(said.contains("nothing within 0.02 s; what it was asked is withdrawn"), "{said}");
        // The run finds the connection closed behind the request.
        let mut found = String::new();
        far.read_to_string(&mut found).expect("an end");
        assert_eq!(found, "{\"do\":\"scenario\"}\n");
    }

    /// A client of a run that gives this one reply.
    fn of_reply(reply: &str) -> (ControlClient, UnixStream) {
        let (near, far) = UnixStream::pair().expect("two sockets");
        (&far).write_all(format!("{reply}\n").as_bytes()).expect("room");
        let name = "office".to_owned();
        let address = "/run/office".to_owned();
        (ControlClient { name, address, socket: BufReader::new(near) }, far)
    }

    #[test]
    fn a_run_of_another_version_is_told_from_one_that_can_be_read() {
        let reply = r#"{"ok":true,"format":"windfall-control/2"}"#;
        let error = of_reply(reply).0.status().expect_err("another version").to_string();
        let said =
            "\"office\" speaks \"windfall-control/2\" and this program \"windfall-control/1\"";
        assert!(error.contains(said), "{error}");
        let own = r#"{"ok":true,"format":"windfall-control/1","mood":"fine"}"#;
        let heard = of_reply(own).0.status().expect("a status");
        assert_eq!(heard.json["mood"], "fine");
    }

    #[test]
    fn a_refusal_is_no_answer() {
        let error = of_reply(r#"{"error":"no such link"}"#).0.scenario().expect_err("a refusal");
        assert_eq!(error.to_string(), "no such link");
    }

    #[test]
    fn a_run_in_a_list_is_the_line_that_it_has_always_been() {
        let reply = r#"{"ok":true,"kind":"up","pid":7,"t":1.5,"command":"windfall up",
            "stations":[{"name":"a","addresses":[]}]}"#;
        let reply = reply.replace('\n', "");
        let expected = r#"{"answers":true,"command":"windfall up","kind":"up","name":"office","#;
        let rest = r#""pid":7,"seconds":1.5,"socket":"/run/office","stations":["a"]}"#;
        assert_eq!(line(&of_reply(&reply).0.row()), format!("{expected}{rest}"));
        let (mut client, far) = of_reply("");
        drop(far);
        let expected = r#"{"answers":false,"command":null,"kind":null,"name":"office","pid":null,"#;
        let rest = r#""seconds":null,"socket":"/run/office","stations":[]}"#;
        assert_eq!(line(&client.row()), format!("{expected}{rest}"));
    }
}
