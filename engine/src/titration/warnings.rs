//! What a person should know of the sites of a job before trusting its pKa values.

use super::find::Found;
use forcefield::Topology;
use forcefield::topology::CHARGE_TOLERANCE;
use lambda::SiteLibrary;
use lambda::site::Site;

/// Warns of side chains at the ends of chains, and of ends of other residues than that of the model compound.
pub(super) fn at_chain_ends(topology: &Topology, library: &SiteLibrary, sites: &[Site]) -> Option<String> {
    let is_far = |site: &&Site| {
        let (Some(entry), Some(&residue)) = (library.entry_of(site), site.residues.first()) else { return false };
        let name = topology.residues[residue as usize].name.as_str();
        // ZALA is the end of a chain that the model ACE-ALA-COOH has, too.
        let of_model = entry.model_compound.iter().flat_map(|model| model.split('-')).any(|part| name.ends_with(part));
        match entry.terminus {
            Some(_) => !of_model,
            None => !entry.backbone.is_empty() && lambda::site::is_chain_end(topology, residue),
        }
    };
    let far: Vec<&str> = sites.iter().filter(is_far).map(|site| site.name.as_str()).collect();
    (!far.is_empty()).then(|| {
        format!(
            "{}: at the ends of chains force fields have other charges than in the model compounds, so that the corrections V_MM are off by an \
             unknown amount there, as much as 3 pK units for the side chain of a carboxyl-terminal glutamic acid",
            far.join(", ")
        )
    })
}

/// Warns of the background that compensates a charge.
pub(super) fn background(found: &[Found<'_>], charge: f64) -> Option<String> {
    let mut range = [charge; 2];
    for one in found {
        let changes = |form: usize| one.site.net_charge(form) - one.site.net_charge(0);
        let (least, most) =
            (1..one.site.forms.len()).map(changes).fold((0.0_f64, 0.0_f64), |(a, b), q| (a.min(q), b.max(q)));
        range = [range[0] + least, range[1] + most];
    }
    let [low, high] = range;
    (high - low > CHARGE_TOLERANCE || low.abs() > CHARGE_TOLERANCE).then(|| {
        format!(
            "the net charge moves between {high:+.2} and {low:+.2} e with λ and is compensated by a uniform background: \
             free energies depend on the size of the box and on what is in it (a protein of low charge density shifts pKa values); \
             titration.compensation = \"buffers\" keeps it neutral"
        )
    })
}
