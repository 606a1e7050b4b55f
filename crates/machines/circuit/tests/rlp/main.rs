//! Entities of RLP against each other, frame by frame.

mod circuit;
mod decoder;
mod figures;
mod procedures;
mod timeslots;
mod transfer;
