//! The requests of the page, and what is known of the run.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use hyper::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName,
    HeaderValue, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use hyper::{Method, Request, Response, StatusCode};
use serde::Deserialize as _;
use serde_json::{Value, json};
use windfall_control::protocol::{RunRequest, ScenarioText};
use windfall_output::strict_json;
use windfall_scenario::{Change, Direction, Settings as _};

use crate::browser::guard::Guard;
use crate::browser::history::History;
use crate::browser::page;

/// The resources of a server that other sites may not load.
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
/// The seconds of a view that begins.
const VIEW: f64 = 300.0;

/// Why a run did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunLinkError {
    /// The run refused, and says why.
    Refused(String),
    /// The run has ended.
    Ended,
    /// The run does not answer now.
    Silent(String),
}

/// A way to ask a run, by the requests of its control socket; the page reads the replies.
pub trait RunLink: Send {
    /// Asks the run, and waits for its answer.
    ///
    /// # Errors
    /// If it refuses, or does not answer.
    fn ask(&mut self, request: &RunRequest) -> Result<Value, RunLinkError>;
}

/// The knowledge of the run.
#[derive(Default)]
struct Known {
    status: Value,
    history: History,
    /// The reason for which nothing new is known.
    trouble: Option<RunLinkError>,
}

/// A run on a page: what was seen of it, and the answers to a browser's requests.
pub struct Dashboard<R> {
    name: String,
    guard: Guard,
    nonce: String,
    known: Mutex<Known>,
    run: Mutex<R>,
}

/// The content of an answer: its type, its text, and the name under which it is saved.
struct Content {
    kind: &'static str,
    text: String,
    file: Option<String>,
}

type Outcome = Result<Content, (StatusCode, String)>;

impl<R: RunLink> Dashboard<R> {
    /// A page about the run of this name; `nonce` is random, and no one else knows it.
    pub fn new(name: &str, run: R, guard: Guard, nonce: &str) -> Self {
        Self {
            name: name.to_owned(),
            guard,
            nonce: nonce.to_owned(),
            known: Mutex::default(),
            run: Mutex::new(run),
        }
    }

    /// Looks at the run; call it a few times a second.
    pub fn look(&self) {
        let since = self.known().history.last();
        let asked = self
            .ask(&RunRequest::Status)
            .and_then(|status| Ok((status, self.ask(&RunRequest::Samples { since })?)));
        let mut known = self.known();
        match asked {
            Ok((status, samples)) => {
                known.status = status;
                known.history.take(&samples);
                known.trouble = None;
            }
            Err(error) => known.trouble = Some(error),
        }
    }

    /// Answers a request; may wait for the run.
    pub fn answer(&self, request: &Request<Bytes>) -> Response<Bytes> {
        let outcome = self.guard.check(request).and_then(|path| self.content(path, request));
        let (status, content) = match outcome {
            Ok(content) => (StatusCode::OK, content),
            Err((status, why)) => {
                let text = json!({ "error": why }).to_string();
                (status, Content { kind: "application/json", text, file: None })
            }
        };
        let mut response = Response::new(Bytes::from(content.text));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        let mut put = |name, value: &str| {
            if let Ok(value) = HeaderValue::from_str(value) {
                headers.insert(name, value);
            }
        };
        put(CONTENT_TYPE, content.kind);
        put(CONTENT_SECURITY_POLICY, &page::policy(&self.nonce));
        put(X_CONTENT_TYPE_OPTIONS, "nosniff");
        put(X_FRAME_OPTIONS, "DENY");
        put(REFERRER_POLICY, "no-referrer");
        put(RESOURCE_POLICY, "same-origin");
        put(CACHE_CONTROL, "no-store");
        if let Some(file) = content.file {
            put(CONTENT_DISPOSITION, &format!("attachment; filename=\"{file}\""));
        }
        response
    }

    fn content(&self, path: &str, request: &Request<Bytes>) -> Outcome {
        let json = |text| Ok(Content { kind: "application/json", text, file: None });
        let kind = "application/json";
        let method = request.method();
        match (method.as_str(), path) {
            ("GET", "") => {
                let kind = "text/html; charset=utf-8";
                Ok(Content { kind, text: page::page(&self.nonce), file: None })
            }
            ("GET", "view") => json(self.view(since(request.uri().query()))),
            ("GET", "settings") => json(settings().to_string()),
            ("GET", "seen.csv") => {
                let text = self.known().history.to_csv();
                Ok(Content { kind: "text/csv; charset=utf-8", text, file: self.file("csv") })
            }
            ("GET", "seen.json") => {
                let known = self.known();
                let status = &known.status;
                let samples = known.history.to_json(0.0);
                let text = format!("{{\"status\":{status},\"samples\":{samples}}}\n");
                Ok(Content { kind, text, file: self.file("json") })
            }
            ("GET", "scenario.toml") => {
                let reply = self.ask(&RunRequest::Scenario).map_err(refused)?;
                let text = ScenarioText::deserialize(reply).unwrap_or_default().scenario;
                Ok(Content { kind: "application/toml", text, file: self.file("toml") })
            }
            ("POST", "set") => {
                let change = self.ask(&of_body(request.body())?).map_err(refused)?;
                json(change.to_string())
            }
            _ if *method != Method::GET && *method != Method::POST => {
                Err((StatusCode::METHOD_NOT_ALLOWED, "ask by GET or POST".to_owned()))
            }
            _ => Err((StatusCode::NOT_FOUND, "there is nothing of this name".to_owned())),
        }
    }

    /// The content of the page: the status, and the windows that ended after `since`.
    fn view(&self, since: Option<f64>) -> String {
        let known = self.known();
        let status = &known.status;
        let trouble = match &known.trouble {
            None => Value::Null,
            Some(RunLinkError::Ended) => "the run has ended".into(),
            Some(RunLinkError::Refused(why) | RunLinkError::Silent(why)) => why.as_str().into(),
        };
        let ended = known.trouble == Some(RunLinkError::Ended);
        let name = Value::from(self.name.as_str());
        let samples = known.history.to_json(since.unwrap_or(known.history.last() - VIEW));
        format!(
            "{{\"name\":{name},\"status\":{status},\"trouble\":{trouble},\"ended\":{ended},\
             \"samples\":{samples}}}"
        )
    }

    /// The name of a file to save, of characters that every system takes.
    fn file(&self, ending: &str) -> Option<String> {
        let name: String = self
            .name
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' })
            .collect();
        Some(format!("{name}.{ending}"))
    }

    fn ask(&self, request: &RunRequest) -> Result<Value, RunLinkError> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner).ask(request)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The time from which on windows are asked for.
fn since(query: Option<&str>) -> Option<f64> {
    let parts = query.unwrap_or_default().split('&');
    parts.filter_map(|part| part.strip_prefix("since=")?.parse().ok()).next()
}

/// The request to the run that a page may make: a change of a link, or faults of a port.
fn of_body(body: &[u8]) -> Result<RunRequest, (StatusCode, String)> {
    let members = match strict_json::from_slice(body) {
        Ok(Value::Object(members)) => members,
        Ok(_) => return refuse("this is no JSON object"),
        Err(error) => return refuse(&format!("this is no JSON object: {error}")),
    };
    let mut named = members.into_iter();
    match (named.next(), named.next()) {
        (Some((name, Value::Object(change))), None) if name == "change" => {
            Ok(RunRequest::Set { change })
        }
        (Some((name, Value::String(fault))), None) if name == "fault" => {
            Ok(RunRequest::Fault { fault })
        }
        _ => refuse("send {\"change\": {...}} or {\"fault\": \"...\"}"),
    }
}

/// Returns the answer to a request that cannot be read.
fn refuse(why: &str) -> Result<RunRequest, (StatusCode, String)> {
    Err((StatusCode::BAD_REQUEST, why.to_owned()))
}

fn refused(error: RunLinkError) -> (StatusCode, String) {
    match error {
        RunLinkError::Refused(why) => (StatusCode::UNPROCESSABLE_ENTITY, why),
        RunLinkError::Ended => (StatusCode::GONE, "the run has ended".to_owned()),
        RunLinkError::Silent(why) => (StatusCode::GATEWAY_TIMEOUT, why),
    }
}

/// The settings that a link may change, with their meaning and an example.
fn settings() -> Value {
    let names: Vec<&str> = Change::names().collect();
    let rows = Direction::TABLE.iter().filter(|row| names.contains(&row.name));
    rows.map(|row| json!({ "name": row.name, "meaning": row.help(), "example": row.example }))
        .collect()
}

#[cfg(test)]
mod tests;
