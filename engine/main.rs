//! octitrate.
fn main() {}
