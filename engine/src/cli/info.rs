//! `info`: what this program and this machine can do.

use octitrate::backend::choice::Choice;
use octitrate::error::{Error, Result};
use std::process::ExitCode;

/// Prints version, machine, methods and the library of titratable residues.
///
/// # Errors
/// [`Error::Input`] if a device that was asked for is not there.
pub fn info(device: Choice) -> Result<ExitCode> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    line!("octitrate {}", env!("CARGO_PKG_VERSION"));
    line!();
    line!("machine         {} {}, {cores} cores, {}", std::env::consts::OS, std::env::consts::ARCH, vectors());
    for (index, gpu) in octitrate::backend::choice::gpus().iter().enumerate() {
        line!("{:<15} {gpu}", if index == 0 { "GPU" } else { "" });
    }
    line!("{:<15} {}", "computed by", device.open()?);
    line!(
        "electrostatics  FMM, order 0 to {}, f32 or f64; open, or periodic in three dimensions (tin-foil)",
        fmm::MAX_ORDER
    );
    line!("dynamics        leap-frog, SETTLE, SHAKE; v-rescale, C-rescale; steepest descent");
    line!("input           GROMACS .gro, .top and .itp");
    line!("output          CSV, Parquet, XTC, GRO, SVG, HTML");
    line!();
    line!("titratable residues");
    let library = lambda::SiteLibrary::builtin().map_err(|e| Error::input(e.to_string(), ""))?;
    for entry in &library.entries {
        let pka = entry.pka.map_or_else(|| "buffer   ".into(), |pka| format!("pKa {pka:>5.2}"));
        let found = match entry.terminus {
            Some(_) => format!("\"{} ALA 1\"", entry.name),
            None => entry.residues.join(" "),
        };
        let (name, forms, status) = (&entry.name, entry.forms.len(), entry.correction.status());
        line!("  {name:<6} {pka}   {forms} forms, {}, {status}; {found}", entry.force_field);
    }
    Ok(ExitCode::SUCCESS)
}

/// The instructions that the near field uses here.
fn vectors() -> &'static str {
    match kernels::Isa::best() {
        kernels::Isa::Avx512 => "AVX-512",
        kernels::Isa::Avx2 => "AVX2",
        kernels::Isa::Neon => "NEON",
        kernels::Isa::Portable => "no vector instructions: portable kernels",
    }
}
