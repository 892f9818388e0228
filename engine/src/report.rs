//! What people read: pages (HTML), plots (SVG), tables (CSV) and the short tables that end a command.

pub mod analysis;
pub(crate) mod calibration;
pub(crate) mod comparison;
pub(crate) mod exchange;
pub mod page;
pub(crate) mod pka;
pub mod plot;
mod text;
