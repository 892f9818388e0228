//! FMM.
