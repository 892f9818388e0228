//! Virtual sites: the elements inside a `<Particle>` that say how it follows others.

use super::element::Element;
use super::error::{SystemXmlError, SystemXmlProblem};
use crate::virtual_sites::{VirtualSite, VirtualSiteKind};

/// The virtual site that particle `site` of `n_atoms` is.
pub(super) fn read(element: &Element<'_>, site: u32, n_atoms: usize) -> Result<VirtualSite, SystemXmlError> {
    const THREE: [&str; 3] = ["p1", "p2", "p3"];
    let real = |name: &str| element.real(name);
    match element.name() {
        "TwoParticleAverageSite" => {
            let parents = element.atoms(["p1", "p2"], n_atoms)?;
            Ok(VirtualSite::average2(site, parents, [real("w1")?, real("w2")?]))
        }
        "ThreeParticleAverageSite" => {
            let parents = element.atoms(THREE, n_atoms)?;
            Ok(VirtualSite::average3(site, parents, [real("w1")?, real("w2")?, real("w3")?]))
        }
        "OutOfPlaneSite" => {
            let parents = element.atoms(THREE, n_atoms)?;
            Ok(VirtualSite::out_of_plane(site, parents, [real("w12")?, real("w13")?, real("wc")?]))
        }
        "LocalCoordinatesSite" => {
            let (mut parents, mut weights) = (Vec::new(), [const { Vec::new() }; 3]);
            for k in 1.. {
                let parent = format!("p{k}");
                if element.optional(&parent).is_none() {
                    break;
                }
                let [parent] = element.atoms([parent.as_str()], n_atoms)?;
                parents.push(parent);
                for (weights, axis) in weights.iter_mut().zip(["wo", "wx", "wy"]) {
                    weights.push(real(&format!("{axis}{k}"))?);
                }
            }
            let ([origin, x, y], position) = (weights, [real("pos1")?, real("pos2")?, real("pos3")?]);
            Ok(VirtualSite { site, parents, kind: VirtualSiteKind::LocalCoordinates { origin, x, y, position } })
        }
        kind => Err(element.error(SystemXmlProblem::VirtualSite { atom: site as usize + 1, kind: kind.into() })),
    }
}
