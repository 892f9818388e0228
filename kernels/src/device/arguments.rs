//! Arguments of kernels: one structure for each, defined once.
//!
//! [`arguments!`](crate::arguments) makes of one definition the structure that the host fills in, its text in CUDA C++ with assertions on its
//! layout, and the promise that both are the same. A kernel takes the structure by value as its only parameter:
//!
//! ```text
//! KERNEL void scale(const __grid_constant__ ScaleArgs a) { … a.values[i] *= a.factor; … }
//! ```
//!
//! Pointers are [`In`] for what a kernel reads and [`Out`] for what it writes, or reads and writes. They are made of buffers, of
//! `Buffer<T>` also as pointers to `[T; N]`, N numbers side by side (`uint4`, `real4`).

use super::Buffer;
use super::shared::{Layouts, Shared};
use bytemuck::Pod;
use std::marker::PhantomData;

/// A pointer to memory of a device that a kernel reads; null if made by [`none`](Self::none).
#[repr(transparent)]
pub struct In<'a, T>(u64, PhantomData<&'a T>);

/// A pointer to memory of a device that a kernel writes, or reads and writes; null if made by [`none`](Self::none).
///
/// Devices write through shared references: what is written when follows from the order of streams.
#[repr(transparent)]
pub struct Out<'a, T>(u64, PhantomData<&'a T>);

macro_rules! pointers {
    ($($pointer:ident $constant:literal;)*) => {$(
        impl<T> Clone for $pointer<'_, T> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<T> Copy for $pointer<'_, T> {}

        impl<T> $pointer<'_, T> {
            /// The null pointer, for kernels that do without.
            pub fn none() -> Self {
                Self(0, PhantomData)
            }
        }

        impl<'a, T: Pod> $pointer<'a, T> {
            /// A pointer to element `first` of a buffer.
            ///
            /// # Panics
            /// If the buffer has no such element, counted from 0: a fault of the calling code.
            pub fn from_element(buffer: &'a Buffer<T>, first: usize) -> Self {
                assert!(first < buffer.len(), "element {first} of a buffer of {}, counted from 0", buffer.len());
                Self(buffer.address() + (first * size_of::<T>()) as u64, PhantomData)
            }

            /// A pointer to the part of type `T` that begins at byte `offset` of the first element of a buffer, such as a field of a
            /// structure (`std::mem::offset_of!`).
            ///
            /// # Panics
            /// If it does not lie within the buffer, or is not aligned: a fault of the calling code.
            pub fn within<S: Pod>(buffer: &'a Buffer<S>, offset: usize) -> Self {
                let room = buffer.len() * size_of::<S>();
                assert!(offset + size_of::<T>() <= room && offset.is_multiple_of(align_of::<T>()), "byte {offset} of {room}");
                Self(buffer.address() + offset as u64, PhantomData)
            }
        }

        impl<'a, T: Pod> From<&'a Buffer<T>> for $pointer<'a, T> {
            fn from(buffer: &'a Buffer<T>) -> Self {
                Self(buffer.address(), PhantomData)
            }
        }

        impl<'a, T: Pod, const N: usize> From<&'a Buffer<T>> for $pointer<'a, [T; N]> {
            fn from(buffer: &'a Buffer<T>) -> Self {
                Self(buffer.address(), PhantomData)
            }
        }

        impl<'a, T> From<Option<&'a Buffer<T>>> for $pointer<'a, T>
        where
            Self: From<&'a Buffer<T>>,
        {
            fn from(buffer: Option<&'a Buffer<T>>) -> Self {
                buffer.map_or(Self::none(), Self::from)
            }
        }

        // SAFETY: a pointer has 64 bits on every device that is supported, the emulator's included. Values are never read back.
        unsafe impl<T: Shared> Shared for $pointer<'_, T> {
            const POINTEE: usize = size_of::<T>();

            fn declaration(name: &str) -> String {
                Self::declaration_as(&T::element(1), name)
            }

            fn element(_lanes: usize) -> String {
                unreachable!("no arrays of pointers on devices")
            }

            fn add_layouts(all: &mut Layouts) {
                T::add_layouts(all);
            }

            fn addresses(&self, found: &mut dyn FnMut(u64)) {
                found(self.0);
            }
        }

        impl<T> $pointer<'_, T> {
            /// Declaration in C++ of a pointer `name` to elements of type `element`.
            pub fn declaration_as(element: &str, name: &str) -> String {
                format!(concat!($constant, "{} *{}"), element, name)
            }
        }
    )*};
}
pointers! {
    In "const ";
    Out "";
}

/// The arguments of a kernel, made by [`arguments!`](crate::arguments).
///
/// # Safety
/// The type must be `#[repr(C)]`, and [`add_layouts`](Self::add_layouts) must tell its layout with declarations of the same types. A kernel
/// that takes it must stay within the memory that its pointers lead to, for all launches that are made of it.
pub unsafe trait Arguments: Copy {
    /// Name of the structure in C++.
    const NAME: &'static str;

    /// The same with pointers into buffers that live for `'b`.
    type With<'b>: Shared;

    /// Adds the structure and all that it is made of.
    fn add_layouts(all: &mut Layouts);
}

/// Defines the arguments of kernels, each a structure with a lifetime, that of the buffers, and perhaps a number type.
///
/// Fields are [`In`] and [`Out`], numbers, structures of [`structure!`](crate::structure), or other
/// arguments that several kernels share.
/// `field: In<'a, u64> as Site` declares a pointer to elements of a type that the text of the kernels defines. By writing it you promise
/// that the kernel stays within the buffers of every launch; all else is checked. See [`crate::device`] for an example.
#[macro_export]
macro_rules! arguments {
    ($(
        $(#[$meta:meta])*
        $vis:vis struct $name:ident<$lifetime:lifetime $(, $number:ident: $bound:path)?> {
            $( $(#[$field_meta:meta])* $field:ident: $ty:ty $(as $element:ident)?, )+
        }
    )+) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy)]
        #[repr(C)]
        $vis struct $name<$lifetime $(, $number: $bound)?> {
            $( $(#[$field_meta])* pub $field: $ty, )+
        }

        // SAFETY: the declaration names the structure defined by the layout below, whose sizes and alignments the compiler of kernels
        // checks.
        unsafe impl<$lifetime $(, $number: $bound)?> $crate::device::Shared for $name<$lifetime $(, $number)?> {
            fn declaration(name: &str) -> String {
                format!("{} {name}", stringify!($name))
            }

            fn element(_lanes: usize) -> String {
                stringify!($name).into()
            }

            fn add_layouts(all: &mut $crate::device::Layouts) {
                <Self as $crate::device::Arguments>::add_layouts(all);
            }

            fn addresses(&self, found: &mut dyn FnMut(u64)) {
                $( $crate::device::Shared::addresses(&self.$field, found); )+
            }
        }

        // SAFETY: `repr(C)`, with the layout of the definition itself, which the compiler of kernels checks. That a kernel stays within its
        // buffers is what the author of the definition promises.
        unsafe impl<$lifetime $(, $number: $bound)?> $crate::device::Arguments for $name<$lifetime $(, $number)?> {
            const NAME: &'static str = stringify!($name);

            type With<'b> = $name<'b $(, $number)?>;

            fn add_layouts(all: &mut $crate::device::Layouts) {
                $(
                    <$ty as $crate::device::Shared>::add_layouts(all);
                    $( all.name(stringify!($element)); )?
                )+
                all.define($crate::device::Layout {
                    name: stringify!($name),
                    size: ::core::mem::size_of::<Self>(),
                    fields: vec![$( $crate::device::Field {
                        name: stringify!($field),
                        offset: ::core::mem::offset_of!(Self, $field),
                        size: ::core::mem::size_of::<$ty>(),
                        alignment: ::core::mem::align_of::<$ty>(),
                        pointee: $crate::pointee!($ty $(as $element)?),
                        declaration: $crate::declaration!($field: $ty $(as $element)?),
                    }, )+],
                });
            }
        }
    )+};
}

/// Declaration of a field of arguments; part of [`arguments!`](crate::arguments).
#[doc(hidden)]
#[macro_export]
macro_rules! declaration {
    ($field:ident: $ty:ty as $element:ident) => {
        <$ty>::declaration_as(stringify!($element), stringify!($field))
    };
    ($field:ident: $ty:ty) => {
        <$ty as $crate::device::Shared>::declaration(stringify!($field))
    };
}

/// Bytes of what a field of arguments points to, if that is known; part of [`arguments!`](crate::arguments).
#[doc(hidden)]
#[macro_export]
macro_rules! pointee {
    ($ty:ty as $element:ident) => {
        0
    };
    ($ty:ty) => {
        <$ty as $crate::device::Shared>::POINTEE
    };
}
