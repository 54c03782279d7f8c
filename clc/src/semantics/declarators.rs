//! Types as declarators make them.
