//! What people call sites: as in the entry that the protein was built from, `Glu 15`, and not as in the job, `GL3 15`.
//!
//! Everything that is read calls a site by its label: terminal, log, warnings, reports. Names of the job stay where programs read them, in columns of tables and
//! in `sites.toml`, and in errors about what the job says.

use super::SiteRecord;
use lambda::site::{ResiduePlace, SiteRequest};
use std::collections::{BTreeSet, HashMap};

/// Amino acids by their three letters.
const AMINO: [&str; 20] = [
    "ALA", "ARG", "ASN", "ASP", "CYS", "GLN", "GLU", "GLY", "HIS", "ILE", "LEU", "LYS", "MET", "PHE", "PRO", "SER",
    "THR", "TRP", "TYR", "VAL",
];

/// What stands between the site of a step and another one that it titrates with.
pub const OF_BOTH: &str = " proton of it and ";

/// The labels of all sites by their names.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Labels(HashMap<String, String>);

impl Labels {
    /// Of sites by their names and, where the job says them, their places in the entry.
    pub fn new<'a>(sites: impl IntoIterator<Item = (&'a str, Option<&'a ResiduePlace>)>) -> Self {
        let sites: Vec<_> = sites.into_iter().collect();
        let chains: BTreeSet<&str> = sites.iter().filter_map(|(_, place)| place.as_ref()?.chain.as_deref()).collect();
        let labels: Vec<String> = sites.iter().map(|(name, place)| label(name, *place, chains.len() > 1)).collect();
        // Sites that would be called alike keep their names.
        let is_alone = |label: &String| labels.iter().filter(|other| *other == label).count() == 1;
        let named = sites.iter().zip(&labels).filter(|(_, label)| is_alone(label));
        let mut all: HashMap<String, String> =
            named.map(|((name, _), label)| (name.to_string(), label.clone())).collect();
        for (name, _) in &sites {
            all.entry(name.to_string()).or_insert_with(|| name.to_string());
        }
        Self(all)
    }

    /// Of these sites.
    pub fn of_sites<'a>(sites: impl IntoIterator<Item = &'a SiteRecord>) -> Self {
        Self::new(sites.into_iter().map(|site| (site.name.as_str(), site.place.as_ref())))
    }

    /// The label of a site, of a step of its titration (`GL3 15, 2nd proton`), or of another group by its name alone.
    pub fn of(&self, name: &str) -> String {
        if let Some(label) = self.0.get(name) {
            return label.clone();
        }
        match name.split_once(", ") {
            Some((site, step)) => match step.split_once(OF_BOTH) {
                Some((number, other)) => format!("{}, {number}{OF_BOTH}{}", self.of(site), self.of(other)),
                None => format!("{}, {step}", self.of(site)),
            },
            None => label(name, None, false),
        }
    }

    /// The name of the site that is called so, by its name in the job or by its label. A name comes before a label of another site.
    pub fn name_of(&self, text: &str) -> Option<&str> {
        let named = self.0.get_key_value(text);
        named.or_else(|| self.0.iter().find(|(_, label)| *label == text)).map(|(name, _)| name.as_str())
    }

    /// The name of a site in the job, with its label where that is another one: `GL3 15 (Glu 15)`, but `LYS 4`.
    pub fn name_and_label(&self, name: &str) -> String {
        let label = self.of(name);
        if label.to_uppercase() == name.to_uppercase() { name.to_string() } else { format!("{name} ({label})") }
    }

    /// The labels of these sites, as a list in a sentence.
    pub fn list(&self, names: impl IntoIterator<Item = impl AsRef<str>>) -> String {
        names.into_iter().map(|name| self.of(name.as_ref())).collect::<Vec<_>>().join(", ")
    }
}

/// A site as people call it: `Glu 15` for `GL3 15`, `N-term Met 1`, by the chain and number of the entry where the job says them, with the chain where there are `several`.
fn label(name: &str, place: Option<&ResiduePlace>, several: bool) -> String {
    let Ok(site) = name.parse::<SiteRequest>() else { return name.into() };
    // A name that takes more to be told from others keeps it.
    if site.which.is_some() && place.is_none() || !site.name.is_ascii() {
        return name.into();
    }
    let usual = usual_name(&site.name);
    // Molecules beside amino acids keep the name that files give them.
    let is_amino = AMINO.contains(&usual);
    let usual = if is_amino { usual[..1].to_string() + &usual[1..].to_lowercase() } else { usual.to_string() };
    let (number, insertion, chain) = match place {
        Some(place) => (place.number, place.insertion, place.chain.clone().filter(|_| several)),
        None => (site.number, site.insertion, site.molecule.map(|molecule| molecule.to_string())),
    };
    let insertion = insertion.map_or(String::new(), String::from);
    let chain = chain.map_or(String::new(), |chain| format!(" ({chain})"));
    let end = match site.entry.as_deref() {
        Some("nterm") => "N-term ",
        Some("cterm") => "C-term ",
        _ => "",
    };
    format!("{end}{usual} {number}{insertion}{chain}")
}

/// Three letters of the residue that is meant, whatever its form or place in the chain is called: 3Dmol and people know GLU, not ZGL3.
pub fn usual_name(name: &str) -> &str {
    let known = |name: &str| -> Option<&'static str> {
        Some(match name {
            "GLU" | "GLH" | "GL3" | "GLUP" => "GLU",
            "ASP" | "ASH" | "AS3" | "ASPP" => "ASP",
            "HIS" | "HIP" | "HID" | "HIE" | "HSP" | "HSD" | "HSE" => "HIS",
            "LYS" | "LYN" | "LSN" => "LYS",
            "CYS" | "CYM" | "CYX" | "CYSD" => "CYS",
            "TYR" | "TYM" => "TYR",
            "ARG" | "ARN" => "ARG",
            _ => return None,
        })
    };
    let inner = || name.strip_prefix(['N', 'C', 'Z']).filter(|inner| inner.len() == 3);
    known(name).or_else(|| known(inner()?)).or_else(inner).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites_are_called_as_people_call_them() {
        let names = ["ZGL3 56", "nterm MET 1", "cterm ZGL3 56", "2:LYS 4", "HSP 5", "buffer", "ASP 7#2", "ACD 1"];
        let labels = |places: &[(usize, &str)]| {
            let places: Vec<(usize, ResiduePlace)> =
                places.iter().map(|(site, place)| (*site, place.parse().unwrap())).collect();
            let place = |site: usize| places.iter().find(|(known, _)| *known == site).map(|(_, place)| place);
            Labels::new(names.iter().enumerate().map(|(k, name)| (*name, place(k))))
        };
        let found = labels(&[]);
        assert_eq!(
            names.map(|name| found.of(name)),
            ["Glu 56", "N-term Met 1", "C-term Glu 56", "Lys 4 (2)", "His 5", "buffer", "ASP 7#2", "ACD 1"]
        );
        assert_eq!(found.of("ZGL3 56, 2nd proton"), "Glu 56, 2nd proton");
        assert_eq!(found.of("ZGL3 56, 1st proton of it and HSP 5"), "Glu 56, 1st proton of it and His 5");
        assert_eq!(["ZGL3 56", "LYS 4"].map(|name| found.name_and_label(name)), ["ZGL3 56 (Glu 56)", "LYS 4"]);
        // A group that is no site is called as its name alone says.
        assert_eq!(found.of("nterm THR 5"), "N-term Thr 5");
        assert_eq!(found.list(["HSP 5", "buffer"]), "His 5, buffer");
        // By the places of the entry, with chains where there are two of them.
        let of = |places: &[(usize, &str)]| [0, 3].map(|site| labels(places).of(names[site]));
        assert_eq!(of(&[(0, "H 100A"), (3, "L 4")]), ["Glu 100A (H)", "Lys 4 (L)"]);
        assert_eq!(of(&[(0, "H 100A"), (3, "H 4")]), ["Glu 100A", "Lys 4"]);
    }

    /// A job may name a site as reports do. Where residues have other numbers in the entry, one text may be the name of a site and the label of another.
    #[test]
    fn sites_are_found_by_their_names_and_labels() {
        let places: [ResiduePlace; 2] = ["15", "3"].map(|place| place.parse().unwrap());
        let labels = Labels::new([("ACD 3", Some(&places[0])), ("ACD 8", Some(&places[1])), ("AS3 4", None)]);
        assert_eq!(["ACD 3", "ACD 8", "AS3 4"].map(|name| labels.of(name)), ["ACD 15", "ACD 3", "Asp 4"]);
        let found = ["ACD 15", "ACD 3", "ACD 8", "Asp 4", "AS3 4", "Asp 3"].map(|text| labels.name_of(text));
        assert_eq!(found, [Some("ACD 3"), Some("ACD 3"), Some("ACD 8"), Some("AS3 4"), Some("AS3 4"), None]);
    }

    /// Protects readers of systems in which a residue stands twice with one number: who could tell them apart?
    #[test]
    fn sites_that_would_be_called_alike_keep_their_names() {
        let place: ResiduePlace = "15".parse().unwrap();
        let labels = Labels::new([("1:GL3 15", Some(&place)), ("2:GL3 15", Some(&place)), ("AS3 3", None)]);
        assert_eq!(["1:GL3 15", "2:GL3 15", "AS3 3"].map(|name| labels.of(name)), ["1:GL3 15", "2:GL3 15", "Asp 3"]);
        assert_eq!(labels.of("1:GL3 15, 2nd proton"), "1:GL3 15, 2nd proton");
    }
}
