mod abuse;
mod bits;
mod lifecycle;
mod model;
mod network;
mod profile;
mod rules;
mod sealed;
