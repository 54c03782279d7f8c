//! Analyses of functions. They do not change the function, are owned by their user, and are computed again after an edit.
//!
//! - [`Cfg`]: predecessors, reverse postorder;
//! - [`DomTree`]: dominators and post-dominators;
//! - [`Frontiers`]: dominance frontiers;
//! - [`LoopForest`]: natural loops, and whether the graph is irreducible;
//! - [`cyclic_components`]: the cycles of an irreducible graph;
//! - [`Liveness`]: values live into each block;
//! - [`Cold`]: cold blocks;
//! - [`UseCounts`]: how often each value is used; [`Users`]: by which instructions;
//! - [`written_args`]: the arguments that a kernel writes through.

mod cfg;
mod cold;
mod cycles;
mod dom;
mod frontiers;
mod liveness;
mod loops;
mod uses;
mod written;

pub use cfg::Cfg;
pub use cold::Cold;
pub use cycles::cyclic_components;
pub use dom::DomTree;
pub use frontiers::Frontiers;
pub use liveness::Liveness;
pub use loops::{Loop, LoopForest, LoopId};
pub use uses::{Argument, UseCounts, Users};
pub use written::written_args;
