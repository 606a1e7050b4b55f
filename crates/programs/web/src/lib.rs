//! HTTP/1.1 whose bodies may travel over SAP: precisely, or approximately where damage is bearable.
//!
//! - [`Site`] serves a folder, [`Gateway`] stands before another server; [`serve`] runs either.
//! - [`Fetcher`] asks for bodies and receives them by SAP or TCP, and repairs them.
//! - [`Proxy`] does so for programs that know nothing of SAP.
//! - [`BlockingService`] is any other service whose bodies are held whole.
//!
//! The headers and the messages are specified in `docs/reference/web.md`.

mod address;
mod arriving;
mod assembly;
mod blocking;
mod calls;
mod conditional;
mod connection_limiter;
mod connection_pool;
mod content_range;
mod delivery;
mod fetch;
mod fetch_error;
mod fetched_file;
mod file_body;
mod forward;
mod gateway;
mod idle_timeout;
mod later_version;
mod listing;
mod log;
mod media_types;
mod memory;
mod offer;
mod proxy;
mod quota;
mod receiving;
mod redirection;
mod repair;
mod reply;
mod resolver;
mod rules;
mod sap_connections;
mod server;
mod site;
mod small;
mod sparse;
mod under_way;
mod unwanted_body;
mod upgrade;
mod userinfo;
mod versions;
mod workers;
mod write_through;

pub use address::{file_name, parse_address};
pub use arriving::ArrivingBody;
pub use assembly::{BodyDamage, DeliveredBody};
pub use connection_pool::KEYS_DIFFER;
pub use delivery::{BodyDelivery, DeliverySettings};
pub use fetch::{Fetched, FetchedBody, Fetcher, FetcherSettings, SapDirection};
pub use fetch_error::{FetchError, check_authority};
pub use fetched_file::FetchedFile;
pub use gateway::Gateway;
pub use log::AccessLog;
pub use media_types::{BadTypeList, TypeList};
pub use memory::{BodyMemory, HeldMemory, MemorySpent};
pub use offer::{SapOffer, SapOpener};
pub use proxy::Proxy;
pub use redirection::of_other_host;
pub use repair::Repair;
pub use rules::{DeliveryRules, RulesError};
pub use server::{ServerLimits, WebService, serve};
pub use site::Site;
pub use small::BlockingService;

pub use hyper::header::{AUTHORIZATION, HeaderName, HeaderValue, IF_RANGE, RANGE};
pub use hyper::{HeaderMap, StatusCode, Uri};
