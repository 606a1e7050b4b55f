//! TCP over local retransmission: sections 3 and 4 of the paper, Figures 1 to 7.

mod bursts;
pub(crate) mod fig1;
pub(crate) mod fig2;
pub(crate) mod fig3;
pub(crate) mod fig4;
pub(crate) mod fig5;
pub(crate) mod fig6;
pub(crate) mod fig7;
pub(crate) mod hops;
mod measured;
pub(crate) mod residual;
mod senders;
mod spray;
pub(crate) mod steps;
