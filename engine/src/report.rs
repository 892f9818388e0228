//! What people read: pages (HTML), plots (SVG), tables (CSV) and the short tables that end a command.

pub mod analysis;
pub mod calibration;
pub mod comparison;
pub mod exchange;
pub mod page;
pub mod pka;
pub mod plot;
mod text;
