//! Clift's runtime: everything between a checked API call and the machine.
//!
//! Knows no OpenCL handle and no compiler: commands, launches and memory come in as plain values, kernels as entries
//! described in [`clift_include::abi`].
