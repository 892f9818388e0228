//! Lists of numbers in a checkpoint, such as the positions of all atoms, in little room and to the last bit.
//!
//! An f64 is eight bytes. The highest two, sign, exponent and four binary digits, are alike in the positions of a box or in velocities at one temperature; the others
//! are noise. So bytes are sorted by their place into eight planes, and planes are compressed (DEFLATE, RFC 1951, doi:10.17487/RFC1951) from the highest on until one
//! gets no shorter: that one and all below are stored as they are. Numbers that repeat, such as masses of water or a list of zeros, nearly vanish.
//!
//! Layout, all numbers u64 in little endian: how many f64 there are; then of each plane its length in bytes and its bytes. A plane with as many bytes as there are numbers
//! is not compressed.
//!
//! [`serialize`] and [`deserialize`] are for `#[serde(with = "crate::packed")]` at a `Vec` of `f64` or of vectors of them. Sequences of numbers, as checkpoints had them up
//! to version 4, are read too.

use bytemuck::Pod;
use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::inflate::decompress_to_vec_with_limit;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serializer};
use std::marker::PhantomData;

/// Bytes of an f64, and so the number of planes.
const PLANES: usize = size_of::<f64>();

/// Of 0 to 10. Level 1 takes 1 ms for the positions of 13 000 atoms; the next ones take twice as long for 1 % less.
const LEVEL: u8 = 1;

/// The bytes of so many numbers, by the layout of this module.
fn pack(values: &[f64]) -> Vec<u8> {
    let mut packed = Vec::with_capacity(size_of_val(values) + PLANES * (PLANES + 1));
    let mut put = |bytes: &[u8]| packed.extend_from_slice(bytes);
    let length = |n: usize| (n as u64).to_le_bytes();
    put(&length(values.len()));
    let mut shrinks = true;
    for plane in (0..PLANES).rev() {
        let plain: Vec<u8> = values.iter().map(|value| value.to_le_bytes()[plane]).collect();
        let compressed = shrinks.then(|| compress_to_vec(&plain, LEVEL)).filter(|short| short.len() < plain.len());
        shrinks = compressed.is_some();
        let bytes = compressed.unwrap_or(plain);
        put(&length(bytes.len()));
        put(&bytes);
    }
    packed
}

/// The numbers that [`pack`] was given; none if these are not bytes that it gives.
fn unpack(packed: &[u8]) -> Option<Vec<f64>> {
    let mut rest = packed;
    let mut take = |n: usize| rest.split_off(..n);
    let length = |bytes: &[u8]| usize::try_from(u64::from_le_bytes(bytes.try_into().ok()?)).ok();
    let count = length(take(PLANES)?)?;
    let mut values: Vec<[u8; PLANES]> = Vec::new();
    for plane in (0..PLANES).rev() {
        let stored = length(take(PLANES)?)?;
        let bytes = take(stored)?;
        let plain = if stored == count { bytes.to_vec() } else { decompress_to_vec_with_limit(bytes, count).ok()? };
        if plain.len() != count {
            return None;
        }
        values.resize(count, [0; PLANES]);
        values.iter_mut().zip(plain).for_each(|(value, byte)| value[plane] = byte);
    }
    rest.is_empty().then(|| values.into_iter().map(f64::from_le_bytes).collect())
}

/// Writes a list of f64, or of vectors of them, as bytes.
///
/// # Errors
/// Those of the serializer.
pub fn serialize<T: Pod, S: Serializer>(values: &[T], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bytes(&pack(bytemuck::cast_slice(values)))
}

/// Reads what [`serialize`] wrote, or a sequence of the same.
///
/// # Errors
/// Bytes that [`serialize`] does not write; those of the deserializer.
pub fn deserialize<'de, T: Pod + Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    deserializer.deserialize_any(Values(PhantomData))
}

struct Values<T>(PhantomData<T>);

impl<'de, T: Pod + Deserialize<'de>> Visitor<'de> for Values<T> {
    type Value = Vec<T>;

    fn expecting(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        formatter.write_str("packed numbers")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Vec<T>, E> {
        let values = unpack(bytes).ok_or_else(|| E::custom("packed numbers are damaged"))?;
        let whole = bytemuck::try_cast_slice(&values).map_err(|_| E::custom("a vector lacks a component"))?;
        Ok(whole.to_vec())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut numbers: A) -> Result<Vec<T>, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = numbers.next_element()? {
            values.push(value);
        }
        Ok(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{RandomStream, indexed_generator};
    use rand_chacha::rand_core::Rng;

    /// Numbers from one to two, of which all digits are noise.
    fn noise(n: u64) -> Vec<f64> {
        let mut rng = indexed_generator(1, RandomStream::Thermostat, 0, 0);
        (0..n).map(|_| f64::from_bits(1_f64.to_bits() | (rng.next_u64() >> 12))).collect()
    }

    #[test]
    fn every_bit_comes_back() {
        let odd = [0.0, -0.0, f64::MIN_POSITIVE, 5e-324, f64::MAX, -1.0 / 3.0, f64::INFINITY, f64::from_bits(!0)];
        for values in [Vec::new(), vec![1.5], odd.to_vec(), vec![0.0; 1000], noise(1000), odd.repeat(300)] {
            let bits = |values: &[f64]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&unpack(&pack(&values)).unwrap()), bits(&values));
        }
    }

    #[test]
    fn what_is_alike_takes_no_room_and_noise_no_more_than_it_has() {
        let length = |values: &[f64]| pack(values).len();
        assert!(length(&vec![0.0; 30_000]) < 2000);
        assert!(length(&[-0.834, 0.417, 0.417].repeat(10_000)) < 5000);
        // Sign and exponent are known, and the 52 digits are noise.
        let n = 30_000;
        let (noise, room) = (length(&noise(n)) as f64 / n as f64, 52.0 / 8.0);
        assert!(noise > room && noise < room + 0.1, "{noise} bytes for each number");
    }

    #[test]
    fn other_bytes_are_refused() {
        for packed in [pack(&[0.0; 100]), pack(&noise(20))] {
            assert!((0..packed.len()).all(|length| unpack(&packed[..length]).is_none()));
            assert!(unpack(&[&packed[..], &[0]].concat()).is_none());
            // More numbers than there are, up to what no memory holds.
            for count in [packed[0] as u64 + 1, u64::MAX] {
                let mut longer = packed.clone();
                longer[..PLANES].copy_from_slice(&count.to_le_bytes());
                assert!(unpack(&longer).is_none());
            }
        }
    }
}
