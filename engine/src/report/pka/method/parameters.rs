//! Works that force fields and waters are from, by the names that corrections and the preparation have.

use super::works::{Work, work};

const AMBER99SB_ILDN: Work = work("K. Lindorff-Larsen et al., Proteins 2010, 78, 1950", "10.1002/prot.22711");
const FF14SB: Work = work("J. A. Maier et al., J. Chem. Theory Comput. 2015, 11, 3696", "10.1021/acs.jctc.5b00255");
const FF19SB: Work = work("C. Tian et al., J. Chem. Theory Comput. 2020, 16, 528", "10.1021/acs.jctc.9b00591");
const CHARMM36M: Work = work("J. Huang et al., Nat. Methods 2017, 14, 71", "10.1038/nmeth.4067");
const TIP3P: Work = work(
    "W. L. Jorgensen, J. Chandrasekhar, J. D. Madura, R. W. Impey, M. L. Klein, J. Chem. Phys. 1983, 79, 926",
    "10.1063/1.445869",
);
/// With Lennard-Jones on the hydrogens.
const TIP3P_CHARMM: Work = work("A. D. MacKerell Jr. et al., J. Phys. Chem. B 1998, 102, 3586", "10.1021/jp973084f");
const OPC: Work =
    work("S. Izadi, R. Anandakrishnan, A. V. Onufriev, J. Phys. Chem. Lett. 2014, 5, 3863", "10.1021/jz501780a");

/// A force field for proteins as its authors write it; another as it is called.
pub(super) fn written(name: &str) -> &str {
    match name {
        "amber99sb-ildn" => "AMBER99SB-ILDN",
        "charmm36m" => "CHARMM36m",
        "charmm36m-ecc" => "CHARMM36m with scaled charges",
        other => other,
    }
}

/// Those of a force field for proteins; none of another.
pub(super) fn of_force_field(name: &str) -> &'static [Work] {
    match name {
        "amber99sb-ildn" => &[AMBER99SB_ILDN],
        "ff14SB" => &[FF14SB],
        "ff19SB" => &[FF19SB],
        "charmm36m" | "charmm36m-ecc" => &[CHARMM36M],
        _ => &[],
    }
}

/// Those of a water; none of another.
pub(super) fn of_water(name: &str) -> &'static [Work] {
    match name {
        "TIP3P" => &[TIP3P],
        "CHARMM TIP3P" => &[TIP3P, TIP3P_CHARMM],
        "OPC" => &[OPC],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Their folders are called by force field and water, and their conditions name the water.
    #[test]
    fn all_corrections_that_come_with_octitrate_have_works() {
        let corrections = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("python/octitrate/corrections");
        let mut waters = std::collections::BTreeSet::new();
        for folder in
            std::fs::read_dir(corrections).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir())
        {
            let (field, _) = folder.file_name().unwrap().to_str().unwrap().rsplit_once('-').unwrap();
            assert!(!of_force_field(field).is_empty(), "{field}");
            for file in std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
                let text = std::fs::read_to_string(file).unwrap();
                let named = text.lines().filter_map(|line| line.strip_prefix("water = \"")?.strip_suffix('"'));
                waters.extend(named.map(String::from));
            }
        }
        assert_eq!(Vec::from_iter(&waters), ["CHARMM TIP3P", "OPC", "TIP3P"]);
        assert!(waters.iter().all(|water| !of_water(water).is_empty()) && !of_force_field("amber99sb-ildn").is_empty());
        assert_eq!((of_force_field("gaff2"), of_water("SPC/E")), (&[][..], &[][..]));
    }
}
