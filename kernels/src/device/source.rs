//! Kernel sources, and arguments of launches.

use bytemuck::Pod;

/// Text of kernels in CUDA C++, with what specialises it.
#[derive(Clone, Debug)]
pub struct Source {
    name: &'static str,
    headers: Vec<&'static str>,
    text: &'static str,
    defines: Vec<(String, String)>,
    options: Vec<&'static str>,
}

impl Source {
    /// Kernels `text`, called `name` in messages.
    pub fn new(name: &'static str, text: &'static str) -> Self {
        Self { name, headers: Vec::new(), text, defines: Vec::new(), options: Vec::new() }
    }

    /// With `#define key value`.
    #[must_use]
    pub fn define(mut self, key: &str, value: impl ToString) -> Self {
        self.defines.push((key.into(), value.to_string()));
        self
    }

    /// With other text before it.
    #[must_use]
    pub fn header(mut self, text: &'static str) -> Self {
        self.headers.push(text);
        self
    }

    /// With an option for the compiler of a GPU, such as `--use_fast_math`.
    #[must_use]
    pub fn option(mut self, option: &'static str) -> Self {
        self.options.push(option);
        self
    }

    /// Name in messages.
    pub fn name(&self) -> &'static str {
        self.name
    }

    pub(super) fn options(&self) -> &[&'static str] {
        &self.options
    }

    /// Everything that the compiler reads, `first` at its head.
    pub(super) fn whole(&self, first: &str) -> String {
        let mut out = String::from(first);
        for (key, value) in &self.defines {
            out.push_str(&format!("#define {key} {value}\n"));
        }
        out.push_str(include_str!("prelude.cuh"));
        for text in self.headers.iter().chain([&self.text]) {
            out.push('\n');
            out.push_str(text);
        }
        out
    }

    /// Names of all kernels: `KERNEL … void name(`.
    pub(super) fn kernels(&self) -> Vec<String> {
        let texts = self.headers.iter().chain([&self.text]);
        let after = texts.flat_map(|text| text.split("KERNEL ").skip(1));
        after
            .filter_map(|rest| {
                let name = |text: &str| text.split('(').next().unwrap_or_default().trim().to_string();
                let (_, mut rest) = rest.split_once("void ")?;
                if name(rest) == "__launch_bounds__" {
                    rest = after_brackets(rest)?;
                }
                let name = name(rest);
                (!name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_')).then_some(name)
            })
            .collect()
    }
}

/// What follows the first pair of brackets.
fn after_brackets(text: &str) -> Option<&str> {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' if depth == 1 => return Some(&text[at + 1..]),
            ')' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Largest argument passed by value, bytes.
const LARGEST: usize = 256;

/// An argument of a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Arg {
    bytes: [u64; LARGEST / 8],
}

impl Arg {
    /// A number or a `repr(C)` struct by value.
    ///
    /// # Panics
    /// If it is larger than 256 bytes: a fault of the calling code, found by its first launch.
    pub fn value<T: Pod>(value: &T) -> Self {
        let given = bytemuck::bytes_of(value);
        assert!(given.len() <= LARGEST, "kernel argument of {} bytes", given.len());
        let mut bytes = [0; LARGEST / 8];
        bytemuck::bytes_of_mut(&mut bytes)[..given.len()].copy_from_slice(given);
        Self { bytes }
    }

    pub(super) fn pointer(&mut self) -> *mut std::ffi::c_void {
        self.bytes.as_mut_ptr().cast()
    }
}

macro_rules! by_value {
    ($($t:ty)*) => {$(
        impl From<$t> for Arg {
            fn from(value: $t) -> Self {
                Self::value(&value)
            }
        }
    )*};
}
by_value!(i32 u32 i64 u64 f32 f64);

/// Arguments of a launch: `args![&buffer, 3_i32, 1.5_f64]`.
#[macro_export]
macro_rules! args {
    ($($arg:expr),* $(,)?) => {
        &[$($crate::device::Arg::from($arg)),*]
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_found_by_name() {
        let text = "KERNEL void first(int n) {}\nDEVICE void no(int) {}\nKERNEL __launch_bounds__(128) void second(\n float x) {}
            KERNEL void __launch_bounds__((N + 1) * 2) third(int n) {}";
        assert_eq!(Source::new("x", text).kernels(), ["first", "second", "third"]);
    }
}
