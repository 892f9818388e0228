//! Force field.
