//! Wire formats at and below the link: bits on the air, without any state.
