mod abuse;
mod lifecycle;
mod network;
mod profile;
mod rules;
