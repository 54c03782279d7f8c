//! Shared helpers of Clift's end-to-end tests.
