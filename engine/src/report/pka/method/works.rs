//! Works that the paragraph of the method cites, those of force fields and waters aside (`parameters.rs`).

/// A work that is cited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Work {
    /// Authors, journal, year, volume, page.
    pub words: &'static str,
    /// Its DOI.
    pub doi: &'static str,
}

pub(super) const fn work(words: &'static str, doi: &'static str) -> Work {
    Work { words, doi }
}

pub(super) const LAMBDA: Work = work(
    "S. Donnini, F. Tegeler, G. Groenhof, H. Grubmüller, J. Chem. Theory Comput. 2011, 7, 1962",
    "10.1021/ct200061r",
);
pub(super) const NEUTRAL: Work = work(
    "S. Donnini, R. T. Ullmann, G. Groenhof, H. Grubmüller, J. Chem. Theory Comput. 2016, 12, 1040",
    "10.1021/acs.jctc.5b01160",
);
pub(super) const HAMILTONIAN: Work = work(
    "B. Kohnke, E. Briand, C. Kutzner, H. Grubmüller, J. Chem. Theory Comput. 2025, 21, 1787",
    "10.1021/acs.jctc.4c01319",
);
pub(super) const MULTIPOLES: Work =
    work("L. Greengard, V. Rokhlin, J. Comput. Phys. 1987, 73, 325", "10.1016/0021-9991(87)90140-9");
pub(super) const SHAKE: Work = work(
    "J.-P. Ryckaert, G. Ciccotti, H. J. C. Berendsen, J. Comput. Phys. 1977, 23, 327",
    "10.1016/0021-9991(77)90098-5",
);
pub(super) const SETTLE: Work =
    work("S. Miyamoto, P. A. Kollman, J. Comput. Chem. 1992, 13, 952", "10.1002/jcc.540130805");
pub(super) const RESCALING: Work =
    work("G. Bussi, D. Donadio, M. Parrinello, J. Chem. Phys. 2007, 126, 014101", "10.1063/1.2408420");
pub(super) const MIDDLE: Work = work(
    "Z. Zhang, X. Liu, K. Yan, M. E. Tuckerman, J. Liu, J. Phys. Chem. A 2019, 123, 6056",
    "10.1021/acs.jpca.9b02771",
);
pub(super) const CELL: Work = work("M. Bernetti, G. Bussi, J. Chem. Phys. 2020, 153, 114107", "10.1063/5.0020514");
pub(super) const CELL_AXES: Work =
    work("V. Del Tatto, P. Raiteri, M. Bernetti, G. Bussi, Appl. Sci. 2022, 12, 1139", "10.3390/app12031139");
pub(super) const EXCHANGE: Work =
    work("Y. Sugita, Y. Okamoto, Chem. Phys. Lett. 1999, 314, 141", "10.1016/S0009-2614(99)01123-9");
pub(super) const EXCHANGE_PH: Work =
    work("Y. Meng, A. E. Roitberg, J. Chem. Theory Comput. 2010, 6, 1401", "10.1021/ct900676b");
pub(super) const MBAR: Work =
    work("M. R. Shirts, J. D. Chodera, J. Chem. Phys. 2008, 129, 124105", "10.1063/1.2978177");
pub(super) const EQUILIBRATION: Work =
    work("J. D. Chodera, J. Chem. Theory Comput. 2016, 12, 1799", "10.1021/acs.jctc.5b00784");
pub(super) const MODELS: Work = work(
    "R. L. Thurlkill, G. R. Grimsley, J. M. Scholtz, C. N. Pace, Protein Sci. 2006, 15, 1214",
    "10.1110/ps.051840806",
);
pub(super) const MODEL_ASP: Work =
    work("G. R. Grimsley, J. M. Scholtz, C. N. Pace, Protein Sci. 2009, 18, 247", "10.1002/pro.19");
pub(super) const OPENMM: Work = work("P. Eastman et al., J. Phys. Chem. B 2024, 128, 109", "10.1021/acs.jpcb.3c06662");
pub(super) const PROPKA: Work = work(
    "M. H. M. Olsson, C. R. Søndergaard, M. Rostkowski, J. H. Jensen, J. Chem. Theory Comput. 2011, 7, 525",
    "10.1021/ct100578z",
);
pub(super) const CUFIX: [Work; 2] = [
    work("J. Yoo, A. Aksimentiev, J. Chem. Theory Comput. 2016, 12, 430", "10.1021/acs.jctc.5b00967"),
    work("J. Yoo, A. Aksimentiev, Phys. Chem. Chem. Phys. 2018, 20, 8432", "10.1039/C7CP08185E"),
];
pub(super) const SCREENING: Work =
    work("I. V. Leontyev, A. A. Stuchebrukhov, arXiv 2015, 1505.04576", "10.48550/arXiv.1505.04576");
pub(super) const PICTURES: Work =
    work("N. Rego, D. Koes, Bioinformatics 2015, 31, 1322", "10.1093/bioinformatics/btu829");
