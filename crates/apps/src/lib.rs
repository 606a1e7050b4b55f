//! Applications as machines that speak socket commands.
