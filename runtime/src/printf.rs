//! OpenCL C's `printf`: parses formats and prints values.
