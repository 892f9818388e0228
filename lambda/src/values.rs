//! Values of all forms of all sites, indexed by site.
//!
//! Weights λ_sα, derivatives ∂V/∂λ_sα and coordinates ξ of all sites are flat lists, one site after the other, because they are stored,
//! sent to devices and written to tables as such. [`SiteLayout`] knows where the values of each site lie in such a list; [`SiteValues`] is
//! a list with its layout: `weights.site(s)[form]` is λ of one form of site `s`, and `&weights` serves as `&[f64]` where a flat list is
//! wanted.
//!
//! Units: those of the values.

use std::ops::{Deref, DerefMut, Range};
use std::sync::Arc;

/// Where the values of each site lie in a flat list of those of all sites. Clones share their memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteLayout {
    /// First value of each site, and the end.
    starts: Arc<[usize]>,
}

impl SiteLayout {
    /// The layout of sites with so many values each.
    pub fn new(sizes: impl IntoIterator<Item = usize>) -> Self {
        let ends = sizes.into_iter().scan(0, |end, size| {
            *end += size;
            Some(*end)
        });
        Self { starts: std::iter::once(0).chain(ends).collect() }
    }

    /// Number of sites.
    pub fn n_sites(&self) -> usize {
        self.starts.len() - 1
    }

    /// Number of values of all sites.
    pub fn n_values(&self) -> usize {
        self.starts[self.n_sites()]
    }

    /// First value of each site, and the end: one number more than there are sites.
    pub fn starts(&self) -> &[usize] {
        &self.starts
    }

    /// Place of the values of site `site` in a flat list.
    ///
    /// # Panics
    /// If there is no such site.
    pub fn range(&self, site: usize) -> Range<usize> {
        self.starts[site]..self.starts[site + 1]
    }

    /// Places of the values of all sites, in their order.
    pub fn ranges(&self) -> impl ExactSizeIterator<Item = Range<usize>> + '_ {
        self.starts.windows(2).map(|ends| ends[0]..ends[1])
    }

    /// Zeros in this layout.
    pub fn zeros(&self) -> SiteValues {
        SiteValues { values: vec![0.0; self.n_values()], layout: self.clone() }
    }

    /// A flat list in this layout; `None` if it has another length.
    pub fn with_values(&self, values: Vec<f64>) -> Option<SiteValues> {
        (values.len() == self.n_values()).then(|| SiteValues { values, layout: self.clone() })
    }
}

/// Values of all sites with their layout. It dereferences to the flat list.
#[derive(Clone, Debug, PartialEq)]
pub struct SiteValues {
    values: Vec<f64>,
    layout: SiteLayout,
}

impl SiteValues {
    /// Values of site `site`, one for each form.
    ///
    /// # Panics
    /// If there is no such site.
    pub fn site(&self, site: usize) -> &[f64] {
        &self.values[self.layout.range(site)]
    }

    /// The same to be changed.
    ///
    /// # Panics
    /// If there is no such site.
    pub fn site_mut(&mut self, site: usize) -> &mut [f64] {
        &mut self.values[self.layout.range(site)]
    }

    /// The values of each site, in the order of the sites.
    pub fn sites(&self) -> impl ExactSizeIterator<Item = &[f64]> {
        self.layout.ranges().map(|range| &self.values[range])
    }

    /// The same to be changed.
    pub fn sites_mut(&mut self) -> impl Iterator<Item = &mut [f64]> {
        let mut rest = &mut self.values[..];
        self.layout.ranges().map(move |range| {
            let (site, behind) = std::mem::take(&mut rest).split_at_mut(range.len());
            rest = behind;
            site
        })
    }

    /// Where the values of each site lie in the flat list.
    pub fn layout(&self) -> &SiteLayout {
        &self.layout
    }
}

impl Default for SiteValues {
    /// No sites.
    fn default() -> Self {
        SiteLayout::new([]).zeros()
    }
}

impl Deref for SiteValues {
    type Target = [f64];

    fn deref(&self) -> &[f64] {
        &self.values
    }
}

impl DerefMut for SiteValues {
    fn deref_mut(&mut self) -> &mut [f64] {
        &mut self.values
    }
}

impl IntoIterator for SiteValues {
    type Item = f64;
    type IntoIter = std::vec::IntoIter<f64>;

    /// The values of the flat list.
    fn into_iter(self) -> Self::IntoIter {
        self.values.into_iter()
    }
}

impl<'a> IntoIterator for &'a SiteValues {
    type Item = &'a f64;
    type IntoIter = std::slice::Iter<'a, f64>;

    /// The values of the flat list.
    fn into_iter(self) -> Self::IntoIter {
        self.values.iter()
    }
}

/// From the values of each site.
impl<V: AsRef<[f64]>> FromIterator<V> for SiteValues {
    fn from_iter<I: IntoIterator<Item = V>>(sites: I) -> Self {
        let (mut values, mut sizes) = (Vec::new(), Vec::new());
        for site in sites {
            values.extend_from_slice(site.as_ref());
            sizes.push(site.as_ref().len());
        }
        Self { values, layout: SiteLayout::new(sizes) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites_have_their_values_and_the_flat_list_all_of_them() {
        let mut weights: SiteValues = [vec![0.2, 0.8], vec![], vec![0.1, 0.3, 0.6]].into_iter().collect();
        assert_eq!(weights.layout().starts(), [0, 2, 2, 5]);
        assert_eq!(
            (weights.site(0), weights.site(1), weights.site(2)),
            (&[0.2, 0.8][..], &[][..], &[0.1, 0.3, 0.6][..])
        );
        assert_eq!(weights.sites().map(<[f64]>::len).collect::<Vec<_>>(), [2, 0, 3]);
        weights.site_mut(2)[1] = 0.5;
        weights.sites_mut().for_each(|site| site.iter_mut().for_each(|w| *w *= 2.0));
        assert_eq!(weights[..], [0.4, 1.6, 0.2, 1.0, 1.2]);
    }

    #[test]
    fn a_layout_takes_lists_of_its_length_only() {
        let layout = SiteLayout::new([2, 3]);
        assert_eq!((layout.n_sites(), layout.n_values(), layout.range(1)), (2, 5, 2..5));
        assert_eq!(layout.with_values(vec![1.0; 5]).unwrap().site(1), [1.0; 3]);
        assert_eq!(layout.with_values(vec![1.0; 4]), None);
        assert_eq!(SiteValues::default().layout().n_sites(), 0);
    }
}
