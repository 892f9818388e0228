//! octitrate.
