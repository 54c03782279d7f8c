//! What the machine has that decides how kernels are compiled. Asks nothing of a backend or of the IR's functions.

pub mod machine;
