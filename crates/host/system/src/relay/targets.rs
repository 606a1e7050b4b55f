//! The targets of a port.

use std::cell::Cell;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::rc::Rc;

use tokio::sync::oneshot;

/// Addresses and names with ports, in the order in which they are tried.
#[derive(Clone, Debug)]
pub(crate) struct Targets {
    texts: Rc<[String]>,
    /// The address that has answered last, with which the next client begins: a host reports only a
    /// few refusals a second.
    answered: Rc<Cell<Option<SocketAddr>>>,
}

impl Targets {
    pub(crate) fn new(targets: &[String]) -> Self {
        Self { texts: targets.into(), answered: Rc::default() }
    }

    /// Returns their addresses, each once; a name may have several.
    pub(crate) async fn addresses(&self) -> Vec<SocketAddr> {
        let mut all = Vec::new();
        for target in &*self.texts {
            let found = match target.parse() {
                Ok(address) => vec![address],
                Err(_) => resolved(target.clone()).await,
            };
            for address in found {
                if !all.contains(&address) {
                    all.push(address);
                }
            }
        }
        all
    }

    /// Returns the number of the address that has answered last, or that of the first.
    pub(crate) fn answering(&self, addresses: &[SocketAddr]) -> usize {
        let answered = self.answered.get();
        addresses.iter().position(|address| Some(*address) == answered).unwrap_or_default()
    }

    /// Notes that an address has answered.
    pub(crate) fn note_answer(&self, address: SocketAddr) {
        self.answered.set(Some(address));
    }
}

/// Returns the addresses of a name. A resolver may take long, so that a thread waits for it, if the
/// system has one left.
async fn resolved(name: String) -> Vec<SocketAddr> {
    let look_up =
        |name: &str| -> io::Result<Vec<SocketAddr>> { Ok(name.to_socket_addrs()?.collect()) };
    let (sender, found) = oneshot::channel();
    let own = name.clone();
    let work = move || drop(sender.send(look_up(&own).unwrap_or_default()));
    match std::thread::Builder::new().spawn(work) {
        Ok(_) => found.await.unwrap_or_default(),
        Err(_) => look_up(&name).unwrap_or_default(),
    }
}
