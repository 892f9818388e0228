//! Sources of kernels: their text, what specialises it, and the arguments that each kernel takes.

use super::Arguments;
use super::shared::Layouts;
use std::any::TypeId;
use std::borrow::Cow;

/// Text of kernels in CUDA C++, with what specialises it and the types of their arguments.
#[derive(Clone, Debug)]
pub struct Source {
    name: &'static str,
    headers: Vec<&'static str>,
    text: Cow<'static, str>,
    defines: Vec<(String, String)>,
    options: Vec<&'static str>,
    kernels: Vec<KernelType>,
    layouts: Layouts,
}

/// A kernel and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KernelType {
    pub name: &'static str,
    pub arguments: TypeId,
    /// Whether it may be started before the kernel ahead of it has ended.
    pub early: bool,
    structure: &'static str,
}

impl Source {
    /// Kernels `text`, called `name` in messages.
    pub fn new(name: &'static str, text: &'static str) -> Self {
        Self {
            name,
            headers: Vec::new(),
            text: text.into(),
            defines: Vec::new(),
            options: Vec::new(),
            kernels: Vec::new(),
            layouts: Layouts::default(),
        }
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

    /// With the kernel `name` that takes arguments of type `A`. The definition of `A` is put before the text, and the text does not compile
    /// if it has no kernel of this name and type, or if it lays out `A` in another way than Rust. Only such kernels can be launched.
    #[must_use]
    pub fn kernel<A: Arguments + 'static>(self, name: &'static str) -> Self {
        self.with_kernel::<A>(name, false)
    }

    /// The same for a kernel that a GPU may start before the kernel ahead of it in its stream has ended, so that it does not wait for the start of
    /// its blocks and for tables. All its threads call `await_predecessor` (`prelude.cuh`); before that they read nothing that the kernel ahead
    /// writes, and write nothing to memory that others see. Kernels farther ahead have ended: none lets the next one start before it has
    /// waited itself. The emulator finds threads that do not wait.
    #[must_use]
    pub fn early_kernel<A: Arguments + 'static>(self, name: &'static str) -> Self {
        self.with_kernel::<A>(name, true)
    }

    fn with_kernel<A: Arguments + 'static>(mut self, name: &'static str, early: bool) -> Self {
        A::add_layouts(&mut self.layouts);
        self.kernels.push(KernelType { name, arguments: TypeId::of::<A>(), early, structure: A::NAME });
        self
    }

    /// The same defines and structures around another text.
    pub(super) fn with_text(&self, name: &'static str, text: String) -> Self {
        Self { name, headers: Vec::new(), text: text.into(), kernels: Vec::new(), ..self.clone() }
    }

    /// Name in messages.
    pub fn name(&self) -> &'static str {
        self.name
    }

    pub(super) fn options(&self) -> &[&'static str] {
        &self.options
    }

    /// Kernels that can be launched.
    pub(super) fn kernels(&self) -> &[KernelType] {
        &self.kernels
    }

    /// Structures that the host and the kernels share.
    pub(super) fn layouts(&self) -> &Layouts {
        &self.layouts
    }

    /// Everything that the compiler reads.
    pub(super) fn whole(&self) -> String {
        let mut out = String::new();
        for (key, value) in &self.defines {
            out.push_str(&format!("#define {key} {value}\n"));
        }
        out.push_str(include_str!("prelude.cuh"));
        out.push('\n');
        out.push_str(&self.layouts.text());
        for text in self.headers.iter().copied().chain([&*self.text]) {
            out.push('\n');
            out.push_str(text);
        }
        for KernelType { name, structure, .. } in &self.kernels {
            out.push_str(&format!(
                "\nstatic_assert(same_type<decltype({name}), void({structure})>::value, \"kernel {name} takes {structure}\");\n"
            ));
        }
        out
    }
}
