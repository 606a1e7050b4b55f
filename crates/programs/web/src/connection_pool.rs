//! The connections that this end has opened, one to each server, on which bodies arrive.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use windfall_socket::{CloseReason, Reason, SapError, SapOptions};

use crate::blocking::blocking;
use crate::memory::BodyMemory;
use crate::quota::real_time;
use crate::receiving::{AskedBody, Expected, Link, NO_ANSWER, NO_THREAD};
use windfall_bodies::TransferToken;

/// The reason of a body that came over TCP since the two ends have different keys of SAP, or one
/// of them none.
pub const KEYS_DIFFER: &str = "keys-differ";

/// The time for which a server is not asked over SAP after a connection to it has failed.
const AFTER_FAILURE: Duration = Duration::from_secs(30);

/// Returns the reason for which a body comes over TCP after a connection of SAP has failed.
pub(crate) fn reason_of(error: &SapError) -> &'static str {
    match error {
        SapError::Closed(CloseReason::Refused(Reason::Key)) => KEYS_DIFFER,
        _ => NO_ANSWER,
    }
}

/// The connections, by the authority of their server. Each lives as long as its thread.
#[derive(Default)]
pub(crate) struct SapConnectionPool(Mutex<BTreeMap<String, Arc<Place>>>);

/// The place of the connection to one server.
#[derive(Default)]
struct Place {
    state: Mutex<PlaceState>,
    /// Held by the one that opens the connection; the others wait for it, and share it.
    turn: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct PlaceState {
    link: Weak<Link>,
    failure: Option<(Instant, &'static str)>,
}

impl PlaceState {
    /// Returns the reason for which no connection is opened now.
    fn failure(&self) -> Option<&'static str> {
        self.failure
            .filter(|(at, _)| real_time().duration_since(*at) < AFTER_FAILURE)
            .map(|(_, reason)| reason)
    }

    fn is_of_use(&self) -> bool {
        self.link.strong_count() > 0 || self.failure().is_some()
    }
}

impl Place {
    fn state(&self) -> MutexGuard<'_, PlaceState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SapConnectionPool {
    fn places(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Place>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the connection to a server, if it is open.
    pub(crate) fn known(&self, server: &str) -> Option<Arc<Link>> {
        let place = self.places().get(server).cloned()?;
        place.state().link.upgrade()
    }

    /// Returns the reason for which the server is not asked over SAP, after a failure.
    pub(crate) fn failure(&self, server: &str) -> Option<&'static str> {
        let place = self.places().get(server).cloned()?;
        place.state().failure()
    }

    /// Forgets a connection that brings nothing.
    pub(crate) fn forget(&self, link: &Arc<Link>) {
        self.places().retain(|_, place| !Weak::ptr_eq(&place.state().link, &Arc::downgrade(link)));
    }

    /// Forgets a connection that its server does not know by this name.
    pub(crate) fn forget_named(&self, name: TransferToken) {
        self.places().retain(|_, place| {
            place.state().link.upgrade().is_none_or(|link| link.name() != Some(name))
        });
    }

    /// Asks for the body of a token on the connection to a server, and opens it if there is none.
    /// Of those that find none at the same time one opens it.
    ///
    /// # Errors
    /// The reason for which the body must come over TCP.
    pub(crate) async fn ask(
        &self,
        name: &str,
        server: SocketAddr,
        options: SapOptions,
        memory: &BodyMemory,
        asked: &AskedBody,
    ) -> Result<(Arc<Link>, Expected), &'static str> {
        let place = {
            let mut places = self.places();
            places.retain(|_, it| it.state().is_of_use() || Arc::strong_count(it) > 1);
            Arc::clone(places.entry(name.to_owned()).or_default())
        };
        let turn = place.turn.lock().await;
        if let Some(reason) = place.state().failure() {
            return Err(reason);
        }
        let known = place.state().link.upgrade().filter(|link| link.server() == server);
        let expected = known.and_then(|link| {
            let expected = link.expect(asked)?;
            Some((link, expected))
        });
        let is_known = expected.is_some();
        let (link, (transfer, body)) = match expected {
            Some(expected) => expected,
            None => {
                let connect = move || options.connect(server);
                let socket = blocking(connect).await.map_err(|_| NO_THREAD)?;
                let socket = socket.map_err(|error| {
                    let reason = reason_of(&error);
                    place.state().failure = Some((real_time(), reason));
                    reason
                })?;
                let link = Link::new(socket, memory.clone());
                link.start().map_err(|_| NO_THREAD)?;
                let state = PlaceState { link: Arc::downgrade(&link), failure: None };
                *place.state() = state;
                let expected = link.expect(asked);
                (link, expected.ok_or(NO_ANSWER)?)
            }
        };
        // The server names a connection by what it is asked for first, so that the others wait.
        let turn = Some(turn).filter(|_| !is_known);
        let asking = Arc::clone(&link);
        let token = asked.token;
        let asked = blocking(move || asking.ask(transfer, token)).await;
        drop(turn);
        match asked {
            Ok(Ok(())) => Ok((link, body)),
            _ => Err(NO_ANSWER),
        }
    }
}
