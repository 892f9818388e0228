//! What titrates, whatever the name of the form or the force field is.
//!
//! Names of residues as GROMACS, AMBER, CHARMM, OpenMM and the library of this program have them; those at the ends of chains have an N, C or Z in front.

use lambda::site::SiteRequest;
use std::fmt;

/// Names of the residues that titrate, the usual one first.
const NAMES: [&[&str]; 7] = [
    &["ASP", "ASH", "ASPH", "ASPP", "AS3", "AS4", "D"],
    &["GLU", "GLH", "GLUH", "GLUP", "GL3", "GL4", "E"],
    &["HIS", "HIP", "HISH", "HSP", "HSD", "HSE", "HID", "HIE", "HISD", "HISE", "H"],
    &["LYS", "LYSH", "LYN", "LSN", "K"],
    &["TYR", "TYM", "Y"],
    &["CYS", "CYSH", "CYM", "CYSD", "CYX", "C"],
    &["ARG", "ARN", "R"],
];
const AMINO: [&str; 6] = ["NTERM", "N-TERM", "N-TERMINUS", "N TERM", "NT", "N+"];
const CARBOXYL: [&str; 6] = ["CTERM", "C-TERM", "C-TERMINUS", "C TERM", "CT", "C-"];

/// What titrates in a residue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Group {
    /// The amino end of a chain.
    Amino,
    /// The carboxyl end of a chain.
    Carboxyl,
    /// The side chain of a residue of this usual name.
    SideChain(String),
}

impl Group {
    /// From the name of a residue or of an end; `None` for an empty one.
    pub fn named(name: &str) -> Option<Self> {
        let name = name.trim().to_ascii_uppercase();
        if AMINO.contains(&name.as_str()) {
            return Some(Self::Amino);
        }
        if CARBOXYL.contains(&name.as_str()) {
            return Some(Self::Carboxyl);
        }
        (!name.is_empty()).then(|| Self::SideChain(usual(&name)))
    }

    /// Of a site by the parts of its name: the end is its entry, `cterm ZGL3 56`.
    pub fn of(site: &SiteRequest) -> Self {
        let entry = site.entry.as_deref().unwrap_or_default().to_ascii_lowercase();
        match (entry.starts_with("nterm"), entry.starts_with("cterm")) {
            (true, _) => Self::Amino,
            (_, true) => Self::Carboxyl,
            _ => Self::SideChain(usual(&site.name.to_ascii_uppercase())),
        }
    }

    /// Whether it is an acid, a histidine or an end: what the pKa values of proteins are mostly compared by.
    pub fn is_usual(&self) -> bool {
        match self {
            Self::Amino | Self::Carboxyl => true,
            Self::SideChain(name) => ["ASP", "GLU", "HIS"].contains(&name.as_str()),
        }
    }
}

/// The usual name of a residue, or the name itself if it is not known.
fn usual(name: &str) -> String {
    let known = |name: &str| NAMES.iter().find(|names| names.contains(&name)).map(|names| names[0]);
    // One letter in front says that the residue is at an end; a rest of one letter is none.
    let at_an_end = || name.strip_prefix(['N', 'C', 'Z']).filter(|rest| rest.len() > 2).and_then(known);
    known(name).or_else(at_an_end).unwrap_or(name).to_string()
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Amino => "N-term",
            Self::Carboxyl => "C-term",
            Self::SideChain(name) => name,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_and_ends_have_one_name() {
        let names = |list: &[&str]| list.iter().map(|name| Group::named(name).unwrap().to_string()).collect::<Vec<_>>();
        assert_eq!(names(&["GLU", "glh", "GL3", "ZGL3", "NGL3", "CGLU", "GLUP"]), vec!["GLU"; 7]);
        assert_eq!(names(&["HSP", "ZHIP", "hie", "NHIS"]), vec!["HIS"; 4]);
        assert_eq!(names(&["CYS", "CCYS", "ZCYS", "NLYS", "SEP"]), ["CYS", "CYS", "CYS", "LYS", "SEP"]);
        assert_eq!(
            names(&["N-term", "nterm", "N+", "C-term", "C-"]),
            ["N-term", "N-term", "N-term", "C-term", "C-term"]
        );
        assert_eq!(Group::named(" "), None);
        let site = |name: &str| Group::of(&name.parse().unwrap());
        assert_eq!((site("cterm ZGL3 56"), site("2:nterm MET 1")), (Group::Carboxyl, Group::Amino));
        assert_eq!(
            (site("glu3 ZGL3 56"), site("1:AS3 2#1")),
            (Group::named("GLU").unwrap(), Group::named("ASP").unwrap())
        );
        assert!(site("HIP 1").is_usual() && site("cterm ZLYS 1").is_usual() && !site("LYS 1").is_usual());
    }
}
