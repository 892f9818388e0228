//! Sets of GPUs as a person names them: `0`, `0-7`, `0,2,5-6`, `all`.

use kernels::device::{DeviceError, probe};
use std::fmt;
use std::str::FromStr;

/// Numbers of GPUs below this one can be named.
const MOST: usize = 128;

/// Some GPUs by their numbers, or all there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gpus {
    /// A bit for each number; none: all.
    bits: u128,
}

impl Gpus {
    /// All GPUs there are.
    pub const ALL: Self = Self { bits: 0 };

    /// The GPU of this number, which must be below 128.
    pub fn one(number: usize) -> Self {
        Self { bits: 1 << number }
    }

    /// The numbers, rising; none if all are meant.
    pub fn named(self) -> Vec<usize> {
        (0..MOST).filter(|number| self.bits >> number & 1 == 1).collect()
    }

    /// The numbers of the GPUs that are there.
    ///
    /// # Errors
    /// The first that is named and not there; no GPU at all; no driver.
    pub fn present(self) -> Result<Vec<usize>, DeviceError> {
        let found = probe()?.len();
        self.among(found)
    }

    /// The same where `found` GPUs are there.
    fn among(self, found: usize) -> Result<Vec<usize>, DeviceError> {
        let wanted = if self == Self::ALL { (0..found.max(1)).collect() } else { self.named() };
        match wanted.iter().find(|number| **number >= found) {
            Some(&ordinal) => Err(DeviceError::NoDevice { ordinal, found }),
            None => Ok(wanted),
        }
    }
}

impl FromStr for Gpus {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        if text == "all" {
            return Ok(Self::ALL);
        }
        let number = |text: &str| text.parse::<usize>().ok().filter(|number| *number < MOST).ok_or(());
        let mut bits = 0;
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let range = number(first)?..=number(last)?;
            if range.is_empty() {
                return Err(());
            }
            range.for_each(|number| bits |= 1 << number);
        }
        Ok(Self { bits })
    }
}

impl fmt::Display for Gpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::ALL {
            return f.write_str("all");
        }
        let named = self.named();
        for (index, run) in named.chunk_by(|a, b| a + 1 == *b).enumerate() {
            let comma = if index > 0 { "," } else { "" };
            match run {
                [one] => write!(f, "{comma}{one}")?,
                [first, .., last] => write!(f, "{comma}{first}-{last}")?,
                [] => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_read_and_shown() {
        for (text, shown, numbers) in [
            ("3", "3", vec![3]),
            ("0-2", "0-2", vec![0, 1, 2]),
            ("5,0,2", "0,2,5", vec![0, 2, 5]),
            ("0-1,1-3,9", "0-3,9", vec![0, 1, 2, 3, 9]),
            ("all", "all", vec![]),
            ("99,127", "99,127", vec![99, 127]),
        ] {
            let set: Gpus = text.parse().unwrap();
            assert_eq!((set.to_string().as_str(), set.named()), (shown, numbers));
        }
        for text in ["", "-", "0-", "2-1", "0,,1", "0,x", "128", "ALL"] {
            assert!(text.parse::<Gpus>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_gpu_that_is_not_there_is_named() {
        let among = |text: &str, found| text.parse::<Gpus>().unwrap().among(found).map_err(|e| e.to_string());
        assert_eq!(among("0-3", 4), Ok(vec![0, 1, 2, 3]));
        assert_eq!(among("all", 2), Ok(vec![0, 1]));
        assert_eq!(among("0,2,7", 4), Err("no GPU 7: they are cuda:0 to cuda:3".into()));
        assert_eq!(among("all", 0), Err("no GPU 0: the driver sees none".into()));
    }
}
