//! Types that mean the same to the host and to kernels, and structures made of them.
//!
//! A structure that both sides read is defined once, in Rust, with [`structure!`](crate::structure). The macro makes it `#[repr(C)]` and
//! [`Pod`](bytemuck::Pod) and writes its definition in CUDA C++ into every source whose arguments mention it, followed by
//! `static_assert`s on its size and on the size and alignment of each field, which fix the offsets. Kernels that would see another layout do not
//! compile.
//!
//! | Rust | field in C++ | element that a pointer leads to |
//! |---|---|---|
//! | `f32`, `f64` | `float`, `double` | the same |
//! | `i32`, `u32`, `i64`, `u64`, `u8` | `int`, `unsigned`, `long long`, `unsigned long long`, `unsigned char` | the same |
//! | `[T; N]` | `T name[N]` | `int2`, `uint4`, `real4`, … for N = 2, 3, 4 |
//! | a structure | its name | its name |

/// A type with the same size, alignment and meaning on the host and on devices.
///
/// # Safety
/// The declaration of [`declaration`](Self::declaration) must have the size and alignment of the Rust type, every value that the device
/// writes must be valid in Rust, and [`addresses`](Self::addresses) must leave out no pointer.
pub unsafe trait Shared: Copy {
    /// Bytes of what a pointer leads to; 0 for what is not a pointer.
    const POINTEE: usize = 0;

    /// Declaration of a variable `name` in CUDA C++.
    fn declaration(name: &str) -> String;

    /// Name of the type as that of the elements of an array on the device, `lanes` numbers side by side.
    fn element(lanes: usize) -> String;

    /// Adds the structures that the type is made of, inner ones first.
    fn add_layouts(_all: &mut Layouts) {}

    /// Gives `found` the address in each pointer of this value; null pointers may be among them.
    fn addresses(&self, _found: &mut dyn FnMut(u64)) {}
}

macro_rules! numbers {
    ($($t:ty: $plain:literal, $vector:literal;)*) => {$(
        // SAFETY: fundamental types of the same size and alignment with all their bit patterns valid.
        unsafe impl Shared for $t {
            fn declaration(name: &str) -> String {
                format!("{} {name}", $plain)
            }

            fn element(lanes: usize) -> String {
                if lanes == 1 { $plain.into() } else { format!("{}{lanes}", $vector) }
            }
        }
    )*};
}

numbers! {
    u8: "unsigned char", "uchar";
    i32: "int", "int";
    u32: "unsigned", "uint";
    i64: "long long", "longlong";
    u64: "unsigned long long", "ulonglong";
    f32: "float", "real";
    f64: "double", "real";
}

// SAFETY: an array of C++ has its elements side by side like one of Rust.
unsafe impl<T: Shared, const N: usize> Shared for [T; N] {
    fn declaration(name: &str) -> String {
        T::declaration(&format!("{name}[{N}]"))
    }

    fn element(lanes: usize) -> String {
        T::element(lanes * N)
    }

    fn add_layouts(all: &mut Layouts) {
        T::add_layouts(all);
    }
}

/// Where a structure has one of its fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// Bytes before it.
    pub offset: usize,
    /// Its bytes.
    pub size: usize,
    /// What its address is a multiple of, in bytes.
    pub alignment: usize,
    /// Bytes of what it points to; 0 if it is not a pointer, or one to something that the kernels define.
    pub pointee: usize,
    /// Its declaration in C++.
    pub declaration: String,
}

/// How the host lays out a structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Its name, the same in Rust and in C++.
    pub name: &'static str,
    /// Its bytes.
    pub size: usize,
    /// Its fields in their order.
    pub fields: Vec<Field>,
}

impl Layout {
    /// Definition in C++, with assertions that it is laid out as here.
    fn definition(&self) -> String {
        let name = self.name;
        let fields: String = self.fields.iter().map(|f| format!("    {};\n", f.declaration)).collect();
        let mut out = format!("struct {name} {{\n{fields}}};\n");
        let size = self.size;
        out.push_str(&format!("static_assert(sizeof({name}) == {size}, \"size of {name}\");\n"));
        // Fields follow each other as closely as their alignment allows, in Rust (`repr(C)`) as in C++. Sizes and alignments therefore fix the
        // places, for which older versions of NVRTC have no operator; a test has them reported by the device.
        for Field { name: field, size, alignment, pointee, .. } in &self.fields {
            let of = format!("{name}::{field}");
            let mut test = format!("sizeof({of}) == {size} && alignof(decltype({of})) == {alignment}");
            if *pointee > 0 {
                test.push_str(&format!(" && sizeof(*(({name} *)0)->{field}) == {pointee}"));
            }
            out.push_str(&format!("static_assert({test}, \"{name}::{field}\");\n"));
        }
        out
    }
}

/// Structures of one source in the order in which they can be defined, each once.
#[derive(Clone, Debug, Default)]
pub struct Layouts {
    defined: Vec<Layout>,
    /// Structures that are only pointed to: kernels define them.
    named: Vec<&'static str>,
}

impl Layouts {
    /// Adds a structure whose parts have been added before.
    ///
    /// # Panics
    /// If another structure has the same name: a fault of the calling code, found by its first compilation.
    pub fn define(&mut self, layout: Layout) {
        match self.defined.iter().find(|known| known.name == layout.name) {
            Some(known) => assert_eq!(*known, layout, "two structures named {}", layout.name),
            None => self.defined.push(layout),
        }
    }

    /// Adds the name of a structure that the kernels define themselves.
    pub fn name(&mut self, name: &'static str) {
        if !self.named.contains(&name) && !name.starts_with("real") {
            self.named.push(name);
        }
    }

    /// The structures.
    pub fn defined(&self) -> &[Layout] {
        &self.defined
    }

    /// All of them in C++.
    pub(super) fn text(&self) -> String {
        let named = self.named.iter().map(|name| format!("struct {name};\n"));
        named.chain(self.defined.iter().map(Layout::definition)).collect()
    }
}

/// Defines structures that the host and kernels share: `#[repr(C)]` in Rust, and the same in CUDA C++ wherever arguments mention them.
///
/// Fields are numbers, arrays of them, or other such structures, with no padding between or after them (checked when it compiles).
/// Structures are `Clone`, `Copy`, `Debug`, `PartialEq` and [`Pod`](bytemuck::Pod), so that a [`Buffer`](crate::device::Buffer) may hold them.
///
/// ```
/// kernels::structure! {
///     /// Edges of a box.
///     pub struct Cell {
///         /// Lengths, nm.
///         pub edges: [f64; 3],
///     }
/// }
/// assert_eq!(size_of::<Cell>(), 24);
/// ```
#[macro_export]
macro_rules! structure {
    ($(
        $(#[$meta:meta])*
        $vis:vis struct $name:ident {
            $( $(#[$field_meta:meta])* $field_vis:vis $field:ident: $ty:ty, )+
        }
    )+) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[repr(C)]
        $vis struct $name {
            $( $(#[$field_meta])* $field_vis $field: $ty, )+
        }

        const _: () = {
            const fn is_pod<T: $crate::device::Pod>() {}
            $( is_pod::<$ty>(); )+
            assert!(::core::mem::size_of::<$name>() == 0 $( + ::core::mem::size_of::<$ty>() )+, "padding in a shared structure");
        };

        // SAFETY: all fields are, and zero is a value of each.
        unsafe impl $crate::device::Zeroable for $name {}

        // SAFETY: `repr(C)`, all fields are Pod, and there is no padding between or after them: both are checked above.
        unsafe impl $crate::device::Pod for $name {}

        // SAFETY: the declaration names the structure defined by the layout below, whose sizes and alignments the compiler of kernels
        // checks.
        unsafe impl $crate::device::Shared for $name {
            fn declaration(name: &str) -> String {
                format!("{} {name}", stringify!($name))
            }

            fn element(lanes: usize) -> String {
                assert!(lanes == 1, "no vectors of {}", stringify!($name));
                stringify!($name).into()
            }

            fn add_layouts(all: &mut $crate::device::Layouts) {
                $( <$ty as $crate::device::Shared>::add_layouts(all); )+
                all.define($crate::device::Layout {
                    name: stringify!($name),
                    size: ::core::mem::size_of::<Self>(),
                    fields: vec![$( $crate::device::Field {
                        name: stringify!($field),
                        offset: ::core::mem::offset_of!(Self, $field),
                        size: ::core::mem::size_of::<$ty>(),
                        alignment: ::core::mem::align_of::<$ty>(),
                        pointee: 0,
                        declaration: <$ty as $crate::device::Shared>::declaration(stringify!($field)),
                    }, )+],
                });
            }
        }
    )+};
}
