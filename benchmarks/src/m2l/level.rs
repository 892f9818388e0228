//! One dense level on a device, with the lists and operators of its scheme.

use bytemuck::Pod;
use fmm::device::products::{self, Lists, Multiplier, Products, Tiling, row_length};
use fmm::harmonics::count;
use kernels::Real;
use kernels::device::{Buffer, Device, DeviceError, Kernel, Launch, Source, Stream};

use super::arguments::{ClusterArgs, SliceArgs, SymmetricArgs, WalkArgs};
use super::operators::{Symmetry, classes, exchange, matrices, offsets, place, sign_bits};
use super::{LEVEL, M2lError, MAX_ORDER, Scheme};

/// Threads of a block of the schemes that have one thread for each coefficient.
const THREADS: usize = 128;

/// Source coefficients that clusters hold in shared memory at a time.
const SLICE: usize = 8;

/// Most blocks that share the source coefficients of a cluster.
const MAX_SLICES: usize = 8;

/// Boxes of a tile of the symmetric scheme.
const SYMMETRIC_BOXES: usize = 8;

/// The boxes of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Boxes {
    /// Boxes along each axis.
    pub n: usize,
    /// Whether endless copies of the level surround it.
    pub periodic: bool,
}

impl Boxes {
    /// Number of boxes.
    pub fn count(&self) -> usize {
        self.n.pow(3)
    }
}

/// M2L of a level of n × n × n boxes by one scheme.
pub struct M2lLevel<T: Real + Pod> {
    order: usize,
    boxes: Boxes,
    pairs: usize,
    operators: Buffer<T>,
    multipoles: Buffer<T>,
    locals: Buffer<T>,
    work: Work<T>,
}

/// What a scheme needs besides operators and expansions.
enum Work<T: Real> {
    Walk {
        kernel: Kernel<WalkArgs<'static, T>>,
        slots: Buffer<i32>,
        launch: Launch,
    },
    Clusters {
        kernel: Kernel<ClusterArgs<'static, T>>,
        add: Kernel<SliceArgs<'static, T>>,
        offsets: Buffer<i32>,
        launch: Launch,
        slices: usize,
        parts: Option<Buffer<T>>,
    },
    Symmetric {
        kernel: Kernel<SymmetricArgs<'static, T>>,
        lists: [Buffer<u32>; 4],
        tables: [Buffer<u32>; 2],
        launch: Launch,
    },
    Products(Products<T>),
}

impl<T: Real + Pod> M2lLevel<T> {
    /// A level with multipoles of zero. `parts`: jobs of a tile of the products, by default as many as fill the device.
    ///
    /// # Errors
    /// [`M2lError`].
    pub fn new(
        device: &Device,
        scheme: Scheme,
        order: usize,
        level: Boxes,
        parts: Option<usize>,
    ) -> Result<Self, M2lError> {
        if order > MAX_ORDER {
            return Err(M2lError::Order { order });
        }
        let n = level.n;
        if n == 0 || n > 128 || !n.is_multiple_of(4) {
            return Err(M2lError::Size { n });
        }
        if scheme == Scheme::Tensor && size_of::<T>() != 4 {
            return Err(M2lError::Precision);
        }
        let vectors: Vec<_> = match scheme {
            Scheme::Symmetric => classes(),
            _ => offsets(),
        };
        let vectors: Vec<_> = vectors.iter().map(|u| u.map(|u| -f64::from(u))).collect();
        let (boxes, row) = (level.count(), row_length(order));
        Ok(Self {
            order,
            boxes: level,
            pairs: pairs(level),
            operators: device.upload(&matrices(order, &vectors))?,
            multipoles: device.zeros(boxes * row)?,
            locals: device.zeros(boxes * row)?,
            work: Work::new(device, scheme, order, level, parts)?,
        })
    }

    /// Elements of a row of coefficients, [`count`] of them and zeros.
    pub fn row_length(&self) -> usize {
        row_length(self.order)
    }

    /// Multipoles: a row for each box, z fastest; numbers beyond [`count`] of the order must be zero.
    pub fn multipoles(&self) -> &Buffer<T> {
        &self.multipoles
    }

    /// Local expansions, as the multipoles.
    pub fn locals(&self) -> &Buffer<T> {
        &self.locals
    }

    /// Number of translations.
    pub fn pairs(&self) -> usize {
        self.pairs
    }

    /// Floating-point operations of as many products of a matrix and a vector, whatever the scheme saves.
    pub fn flops(&self) -> f64 {
        2.0 * (count(self.order) * count(self.order)) as f64 * self.pairs as f64
    }

    /// Overwrites the local expansions with what the multipoles make.
    ///
    /// # Errors
    /// The device.
    pub fn enqueue(&self, stream: &Stream) -> Result<(), DeviceError> {
        let (n, periodic) = (self.boxes.n as i32, i32::from(self.boxes.periodic));
        let (multipoles, locals, operators) = (self.multipoles.arg(), self.locals.arg(), self.operators.arg());
        match &self.work {
            Work::Walk { kernel, slots, launch } => {
                let slots = slots.arg();
                stream.launch(kernel, *launch, WalkArgs { multipoles, locals, operators, slots, n, periodic })
            }
            Work::Clusters { kernel, add, offsets, launch, slices, parts } => {
                let arguments = ClusterArgs {
                    multipoles,
                    out: parts.as_ref().map_or(locals, |parts| parts.arg()),
                    operators,
                    offsets: offsets.arg(),
                    n_offsets: offsets.len() as i32,
                    n,
                    periodic,
                };
                stream.launch(kernel, *launch, arguments)?;
                let Some(parts) = parts else { return Ok(()) };
                let length = self.locals.len();
                let arguments = SliceArgs { parts: parts.arg(), locals, slices: *slices as i32, length: length as i32 };
                stream.launch(add, Launch::for_each(length, THREADS as u32), arguments)
            }
            Work::Symmetric {
                kernel,
                lists: [targets, starts, entries, sources],
                tables: [signs, exchange],
                launch,
            } => {
                let arguments = SymmetricArgs {
                    multipoles,
                    locals,
                    operators,
                    targets: targets.arg(),
                    starts: starts.arg(),
                    entries: entries.arg(),
                    sources: sources.arg(),
                    bitsets: signs.arg(),
                    exchange: exchange.arg(),
                };
                stream.launch(kernel, *launch, arguments)
            }
            Work::Products(products) => {
                products.enqueue(stream, &self.operators, &self.multipoles, &self.locals, Default::default())
            }
        }
    }
}

impl<T: Real + Pod> Work<T> {
    fn new(
        device: &Device,
        scheme: Scheme,
        order: usize,
        level: Boxes,
        parts: Option<usize>,
    ) -> Result<Self, M2lError> {
        let (k, row, boxes, element) = (count(order), row_length(order), level.count(), size_of::<T>());
        let module = device.compile(&source::<T>(scheme, order))?;
        let walk = |name, blocks: [u32; 3], threads: u32, shared: usize| -> Result<Self, M2lError> {
            let (kernel, slots) = (module.kernel(name)?, device.upload(&slots())?);
            let launch = Launch::new(blocks, threads).with_shared((shared * element) as u32);
            Ok(Self::Walk { kernel, slots, launch })
        };
        let across = row.div_ceil(THREADS);
        match scheme {
            Scheme::Naive => {
                let blocks = (boxes * k).div_ceil(256) as u32;
                walk("naive", [blocks, 1, 1], 256, 0)
            }
            Scheme::Dynamic => walk("grouped", [boxes as u32, 1, 1], 256, 8 * k),
            Scheme::Basic => walk("basic", [boxes as u32, across as u32, 1], THREADS as u32, row),
            Scheme::Siblings => walk("siblings", [boxes as u32 / 8, across as u32, 1], THREADS as u32, 8 * row),
            Scheme::Clusters | Scheme::Slices => {
                let slices = if scheme == Scheme::Slices { (row / SLICE).min(MAX_SLICES) } else { 1 };
                let offsets: Vec<_> = offsets().into_iter().map(|u| place(u) as i32).collect();
                Ok(Self::Clusters {
                    kernel: module.kernel("clusters")?,
                    add: module.kernel("add_slices")?,
                    offsets: device.upload(&offsets)?,
                    launch: Launch::new([boxes as u32 / 64, across as u32, slices as u32], THREADS as u32)
                        .with_shared((512 * SLICE * element) as u32),
                    slices,
                    parts: (slices > 1).then(|| device.zeros(slices * boxes * row)).transpose()?,
                })
            }
            Scheme::Symmetric => {
                let classes = classes();
                let key = |u| {
                    let symmetry = Symmetry::of(u);
                    let class = classes.binary_search(&symmetry.class).unwrap_or_default() as u32;
                    class << 4 | u32::from(symmetry.exchanged) << 3 | symmetry.reflections
                };
                let lists = lists(SYMMETRIC_BOXES, level, key);
                let depth = symmetric_depth(element);
                let shared = depth * row + SYMMETRIC_BOXES * (depth + row);
                Ok(Self::Symmetric {
                    kernel: module.kernel("symmetric")?,
                    launch: Launch::new(lists.tiles() as u32, row.next_multiple_of(32) as u32)
                        .with_shared((shared * element) as u32),
                    lists: [
                        device.upload(&lists.targets)?,
                        device.upload(&lists.starts)?,
                        device.upload(&lists.entries)?,
                        device.upload(&lists.sources)?,
                    ],
                    tables: [device.upload(&sign_bits(order))?, device.upload(&exchange(order))?],
                })
            }
            Scheme::Gemm | Scheme::Tensor => {
                let slots = slots();
                let lists = lists(products::BOXES, level, |u| slots[place(u)] as u32);
                let multiplier = match scheme {
                    Scheme::Tensor => tensor_cores(order),
                    _ => Multiplier::fused(order, element),
                };
                Ok(Self::Products(Products::with(device, &lists, multiplier, parts)?))
            }
        }
    }
}

/// Source coefficients that the symmetric scheme holds in shared memory at a time.
fn symmetric_depth(element: usize) -> usize {
    128 / element
}

/// Kernels of a scheme in numbers of type `T`.
pub fn source<T: Real>(scheme: Scheme, order: usize) -> Source {
    let (k, row, element) = (count(order), row_length(order), size_of::<T>());
    let source = |name, text| {
        let real = if element == 4 { "float" } else { "double" };
        Source::new(name, text).header(LEVEL).define("REAL", real).define("K", k).define("ROW", row)
    };
    match scheme {
        Scheme::Naive => source("naive", include_str!("naive.cu")).kernel::<WalkArgs<'static, T>>("naive"),
        Scheme::Dynamic => source("grouped", include_str!("grouped.cu")).kernel::<WalkArgs<'static, T>>("grouped"),
        Scheme::Symmetric => source("symmetric", include_str!("symmetric.cu"))
            .define("BOXES", SYMMETRIC_BOXES)
            .define("DEPTH", symmetric_depth(element))
            .define("THREADS", row.next_multiple_of(32))
            .define("WORDS", k.div_ceil(32))
            .kernel::<SymmetricArgs<'static, T>>("symmetric"),
        Scheme::Basic | Scheme::Siblings | Scheme::Clusters | Scheme::Slices => {
            source("blocking", include_str!("blocking.cu"))
                .define("THREADS", THREADS)
                .kernel::<WalkArgs<'static, T>>("basic")
                .kernel::<WalkArgs<'static, T>>("siblings")
                .kernel::<ClusterArgs<'static, T>>("clusters")
                .kernel::<SliceArgs<'static, T>>("add_slices")
        }
        Scheme::Gemm => Multiplier::fused(order, element).source(),
        Scheme::Tensor => tensor_cores(order).source(),
    }
}

/// Products in single precision on tensor cores, from numbers split in two.
fn tensor_cores(order: usize) -> Multiplier {
    let plain = Tiling::new(order, 4);
    // Fragments of operators are read without bank conflicts from rows that are 8 modulo 16 numbers apart.
    let matrix_row = if plain.columns % 16 == 8 { plain.columns } else { plain.columns + 8 };
    let tiling = Tiling { matrix_row, threads: 128, ..plain };
    Multiplier { tiling, name: "tensor", text: include_str!("tensor.cu") }
}

/// Operator of each offset within three boxes, −1 for near ones.
fn slots() -> Vec<i32> {
    let mut out = vec![-1; 343];
    for (slot, u) in (0..).zip(offsets()) {
        out[place(u)] = slot;
    }
    out
}

/// Calls `visit(offset, source)` for all boxes that box `i` receives from.
pub fn sources_of(Boxes { n, periodic }: Boxes, i: usize, mut visit: impl FnMut([i32; 3], usize)) {
    let size = n as i32;
    let c = [i / (n * n), i / n % n, i % n].map(|c| c as i32);
    for child in 0..216 {
        // A child of a neighbour of the parent.
        let at = [child / 36, child / 6 % 6, child % 6];
        let u = [0, 1, 2].map(|a| at[a] - 2 - (c[a] & 1));
        let to = [0, 1, 2].map(|a| c[a] + u[a]);
        let inside = to.iter().all(|x| (0..size).contains(x));
        if u.iter().any(|u| u.abs() > 1) && (inside || periodic) {
            let [x, y, z] = to.map(|x| x.rem_euclid(size) as usize);
            visit(u, (x * n + y) * n + z);
        }
    }
}

/// Number of translations on a level.
fn pairs(Boxes { n, periodic }: Boxes) -> usize {
    if periodic {
        return 189 * n * n * n;
    }
    let size = n as i32;
    // Source boxes of a target per axis: all children of near parents, and those that touch.
    let along = |reach: &dyn Fn(i32) -> [i32; 2]| -> usize {
        let inside = |c: i32| reach(c).map(|x| x.clamp(0, size));
        (0..size).map(|c| (inside(c)[1] - inside(c)[0]) as usize).sum()
    };
    along(&|c| [(c & !1) - 2, (c & !1) + 4]).pow(3) - along(&|c| [c - 1, c + 2]).pow(3)
}

/// Lists of a level, boxes grouped by octant, in tiles along the Morton curve of the parents.
fn lists(boxes: usize, level: Boxes, key: impl Fn([i32; 3]) -> u32) -> Lists {
    let n = level.n;
    let mut parents: Vec<[usize; 3]> =
        (0..n * n * n / 8).map(|i| [i / (n / 2 * (n / 2)), i / (n / 2) % (n / 2), i % (n / 2)]).collect();
    parents.sort_by_key(|c| c.iter().fold(0, |key, c| key << 1 | spread(*c as u64)));
    let group = |octant: usize| -> Vec<u32> {
        let side = [octant >> 2, octant >> 1 & 1, octant & 1];
        let row = |c: &[usize; 3]| {
            let [x, y, z] = [0, 1, 2].map(|a| 2 * c[a] + side[a]);
            ((x * n + y) * n + z) as u32
        };
        parents.iter().map(row).collect()
    };
    let groups: Vec<_> = (0..8).map(group).collect();
    Lists::new(boxes, &groups, |target, list| {
        sources_of(level, target as usize, |u, source| list.push((key(u), source as u32)));
    })
}

/// The bits of a coordinate, two places apart each: a third of a Morton key.
fn spread(x: u64) -> u64 {
    (0..13).fold(0, |out, bit| out | (x >> bit & 1) << (3 * bit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_of_tensor_cores_fit_twice() {
        for order in 0..=MAX_ORDER {
            let tiling = tensor_cores(order).tiling;
            assert!(tiling.shared(316) <= 113 * 1024, "{tiling:?}");
            assert!(tiling.threads <= 256 && tiling.depth.is_multiple_of(4), "{tiling:?}");
        }
    }
}
