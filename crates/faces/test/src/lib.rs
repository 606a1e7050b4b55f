//! Bad links for tests: a link between two network namespaces, with programs and sockets at both
//! ends.
//!
//! For a dev-dependency. The program `windfall` has to be on the path, or its place in the variable
//! `WINDFALL`; no root is needed where ordinary users may make namespaces, which `windfall doctor`
//! tells.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use windfall_test::{Change, Link};
//!
//! let link = Link::new().rate("2Mbps").ber(1e-5).start()?;
//! let mut server = link.far().shell("python3 -m http.server 8000").spawn()?;
//! link.wait_port(8000)?;
//! let page = link.near().shell("curl -s http://far:8000/").output()?;
//! assert!(page.status.success());
//! link.set(&Change::new().rate("100kbps").delay("80ms").over("2s"))?;
//! assert!(link.status()?["links"][0]["delivered"].as_u64() > Some(4));
//! let summary = link.end()?;
//! assert_eq!(summary["links"][0]["balances"], true);
//! # server.wait()?;
//! # Ok(())
//! # }
//! ```
//!
//! A thread of the test itself stands at an end through a socket of that end, without privileges:
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # use windfall_test::Link;
//! use std::io::Read as _;
//!
//! let link = Link::new().loss("5%").delay("20ms").start()?;
//! let listener = link.far().listen(4000)?;
//! let server = std::thread::spawn(move || listener.accept().map(|(client, _)| client));
//! let client = link.near().connect("far:4000")?;
//! drop(server.join());
//! assert_eq!((&client).read(&mut [0])?, 0);
//! # Ok(())
//! # }
//! ```
//!
//! - [`Link`]: a link that is not up yet, as its settings describe it.
//! - [`RunningLink`]: one that is up; it ends when it is dropped, with every program in it.
//! - [`Station`]: one end: programs and sockets.
//! - [`Change`]: new settings of a link that is up.

mod control;
mod error;
mod link;
mod program;
mod running;
mod settings;
mod station;

pub use error::LinkError;
pub use link::Link;
pub use running::RunningLink;
pub use settings::Change;
pub use station::Station;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
