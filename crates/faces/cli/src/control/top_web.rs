//! `windfall top --web`: the live view of a run as a page on the loopback device.

use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use windfall_control::protocol::RunRequest;
use windfall_control::{ControlClient, ControlError};
use windfall_view::browser::{AccessToken, Dashboard, Guard, RunLink, RunLinkError};
use windfall_view::terminal::Screen;
use windfall_web::{AccessLog, BlockingService, ServerLimits};

use crate::exit::{CliError, Completion, Result};
use crate::web::{Signals, block_on, listen};

/// The time from one look at the run to the next.
const TICK: Duration = Duration::from_millis(250);
/// Connections of browsers at the same time.
const CONNECTIONS: usize = 64;

/// A run behind its control socket.
struct Watched {
    client: ControlClient,
    has_ended: bool,
}

impl RunLink for Watched {
    fn ask(&mut self, request: &RunRequest) -> std::result::Result<Value, RunLinkError> {
        if self.has_ended {
            return Err(RunLinkError::Ended);
        }
        self.client.ask(request).map_err(|error| match error {
            ControlError::Refused(why) => RunLinkError::Refused(why),
            _ if self.client.has_ended() => {
                self.has_ended = true;
                RunLinkError::Ended
            }
            error => {
                let text = error.to_string();
                // A connection on which an answer is missing serves no further request.
                if let Ok(client) = ControlClient::connect(Some(self.client.name())) {
                    self.client = client;
                }
                RunLinkError::Silent(text)
            }
        })
    }
}

/// Serves the page until the program is told to end.
pub(super) fn run(client: ControlClient, port: u16) -> Result {
    let name = client.name().to_owned();
    block_on(async move {
        let mut signals = Signals::take_over()?;
        let listener = listen(IpAddr::V4(Ipv4Addr::LOCALHOST), port).await?;
        let at = listener.local_addr()?;
        let token = AccessToken::new(random()?);
        let nonce = AccessToken::new(random()?);
        let guard = Guard::new(token.clone(), at.port());
        let watched = Watched { client, has_ended: false };
        let dashboard = Arc::new(Dashboard::new(&name, watched, guard, nonce.as_str()));
        dashboard.look();
        let looking = Arc::clone(&dashboard);
        std::thread::Builder::new().spawn(move || {
            loop {
                Screen::wait(TICK);
                looking.look();
            }
        })?;
        writeln!(std::io::stdout(), "http://{at}/{}/", token.as_str())?;
        let service = BlockingService::new(move |request: &_| dashboard.answer(request));
        let limits = ServerLimits { connections: CONNECTIONS, ..ServerLimits::default() };
        let log = Arc::new(AccessLog::none());
        tokio::select! {
            never = windfall_web::serve(listener, Arc::new(service), limits, log) => match never {},
            _ = signals.next() => Ok(Completion::Success),
        }
    })
}

/// Returns random bytes that no other program can guess.
fn random() -> Result<[u8; 16]> {
    let mut bytes = [0; 16];
    let filled = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    match filled {
        Ok(count) if count == bytes.len() => Ok(bytes),
        _ => Err(CliError::new("the system has no random bytes for the address of the page")),
    }
}
