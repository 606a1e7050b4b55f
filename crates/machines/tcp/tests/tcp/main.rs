//! The engine as a whole: two endpoints and whatever a wire can do to them.

mod account;
mod adversity;
mod budget;
mod corruption;
mod exchange;
mod identity;
mod manners;
mod model;
mod overshoot;
mod pair;
mod path;
mod receiving;
mod recovery;
mod rfc2525;
mod robustness;
mod scripts;
mod sending;
mod settings;
mod timeline;
mod transaction;
