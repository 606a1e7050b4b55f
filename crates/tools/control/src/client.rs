//! The side of a control socket that asks.

use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use serde_json::Value;
use windfall_live::{LiveError, control_socket};

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
    pub fn all_statuses(run: Option<&str>) -> Result<Vec<Value>, ControlError> {
        let runs = match run {
            Some(_) => vec![Self::connect(run)?],
            None => Self::all(),
        };
        Ok(runs.into_iter().filter_map(|mut run| run.measured_status().ok()).collect())
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

    /// Asks the run, and waits for its answer.
    ///
    /// # Errors
    /// If it refuses, or does not answer.
    pub fn ask(&mut self, request: &Value) -> Result<Value, ControlError> {
        let reply = self.exchange(request).map_err(|source| {
            // A request whose client is gone is not served.
            let _ = self.socket.get_ref().shutdown(std::net::Shutdown::Both);
            let name = self.name.clone();
            ControlError::Silent { name, source }
        })?;
        match reply.get("error").and_then(Value::as_str) {
            Some(error) => Err(ControlError::Refused(error.to_owned())),
            None => Ok(reply),
        }
    }

    /// Asks for the status of the run; one that was not watched is watched for a moment before.
    ///
    /// # Errors
    /// Those of [`ask`](Self::ask).
    pub fn measured_status(&mut self) -> Result<Value, ControlError> {
        let request = serde_json::json!({ "do": "status" });
        let status = self.ask(&request)?;
        let mut links = status["links"].as_array().into_iter().flatten();
        if links.all(|link| !link["recent"].is_null()) {
            return Ok(status);
        }
        sleep(MEASURED);
        self.ask(&request)
    }

    /// Describes the run in a list: its name, its socket, and what it says if it answers.
    pub fn row(&mut self) -> Value {
        let status = self.ask(&serde_json::json!({ "do": "status" })).unwrap_or_default();
        let stations = status["stations"].as_array().into_iter().flatten();
        let stations: Vec<_> = stations.filter_map(|it| it["name"].as_str()).collect();
        serde_json::json!({
            "name": self.name, "socket": self.address, "answers": !status.is_null(),
            "kind": status["kind"], "pid": status["pid"], "seconds": status["t"],
            "stations": stations, "command": status["command"],
        })
    }

    fn exchange(&mut self, request: &Value) -> std::io::Result<Value> {
        let socket = self.socket.get_mut();
        let limit = socket.read_timeout().ok().flatten().unwrap_or(PATIENCE);
        let late = |error| too_late(error, limit);
        socket.write_all(format!("{request}\n").as_bytes()).map_err(late)?;
        let mut line = String::new();
        if self.socket.by_ref().take(LONGEST_REPLY).read_line(&mut line).map_err(late)? == 0 {
            return Err(std::io::Error::other("it has ended"));
        }
        serde_json::from_str(&line).map_err(std::io::Error::other)
    }

    /// Tells the run to end, which another client may have done already.
    ///
    /// # Errors
    /// If it refuses, or does not answer.
    pub fn end(&mut self) -> Result<(), ControlError> {
        match self.ask(&serde_json::json!({ "do": "end" })) {
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
            let (name, address) = ("going".to_owned(), String::new());
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
        let error = client.ask(&serde_json::json!({ "do": "set" })).expect_err("no answer");
        let said = error.to_string();
        assert!(said.contains("nothing within 0.02 s; what it was asked is withdrawn"), "{said}");
        // The run finds the connection closed behind the request.
        let mut found = String::new();
        far.read_to_string(&mut found).expect("an end");
        assert_eq!(found, "{\"do\":\"set\"}\n");
    }
}
