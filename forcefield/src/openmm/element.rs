//! One element of the XML, with errors that know their line.

use std::path::Path;
use std::str::FromStr;

use roxmltree::Node;

use super::error::{SystemXmlError, SystemXmlProblem};

/// An element and the file it is in.
#[derive(Clone, Copy)]
pub(super) struct Element<'a> {
    node: Node<'a, 'a>,
    file: &'a Path,
}

impl<'a> Element<'a> {
    pub fn new(node: Node<'a, 'a>, file: &'a Path) -> Self {
        Self { node, file }
    }

    /// Tag.
    pub fn name(&self) -> &'a str {
        self.node.tag_name().name()
    }

    /// "HarmonicBondForce", or with its name where it has another: "CustomBondForce 'LennardJones14'".
    pub fn title(&self) -> String {
        let kind = self.node.attribute("type").unwrap_or(self.name());
        match self.node.attribute("name").filter(|name| !name.is_empty() && *name != kind) {
            Some(name) => format!("{kind} '{name}'"),
            None => kind.into(),
        }
    }

    /// `<Bond> of HarmonicBondForce`: what a message calls this element.
    fn words(&self) -> String {
        let force = self.node.ancestors().skip(1).find(|node| node.has_tag_name("Force"));
        match force {
            Some(node) => format!("<{}> of {}", self.name(), Self { node, file: self.file }.title()),
            None if self.node.has_tag_name("Force") => self.title(),
            None => format!("<{}>", self.name()),
        }
    }

    pub fn error(&self, problem: SystemXmlProblem) -> SystemXmlError {
        let line = self.node.document().text_pos_at(self.node.range().start).row as usize;
        SystemXmlError { file: self.file.into(), line, problem: Box::new(problem) }
    }

    /// The error that this force has something that is not supported.
    pub fn unsupported(&self, what: impl Into<String>) -> SystemXmlError {
        self.error(SystemXmlProblem::Unsupported { force: self.title(), what: what.into() })
    }

    /// All elements inside.
    pub fn elements(self) -> impl Iterator<Item = Element<'a>> {
        let file = self.file;
        self.node.children().filter(Node::is_element).map(move |node| Element { node, file })
    }

    /// The first element inside of this tag.
    pub fn child(self, name: &str) -> Option<Element<'a>> {
        self.elements().find(|one| one.name() == name)
    }

    /// The elements inside the element `name` inside this one; none if there is no such element.
    pub fn children(self, name: &str) -> impl Iterator<Item = Element<'a>> + use<'a> {
        self.child(name).into_iter().flat_map(Element::elements)
    }

    /// An attribute, if it is there.
    pub fn optional(&self, attribute: &str) -> Option<&'a str> {
        self.node.attribute(attribute)
    }

    /// An attribute.
    pub fn text(&self, attribute: &str) -> Result<&'a str, SystemXmlError> {
        self.optional(attribute).ok_or_else(|| {
            self.error(SystemXmlProblem::Missing { element: self.words(), what: format!("attribute {attribute}") })
        })
    }

    pub fn invalid(&self, attribute: &str, valid: impl Into<String>) -> SystemXmlError {
        let found = self.optional(attribute).unwrap_or_default().into();
        let attribute = attribute.into();
        self.error(SystemXmlProblem::Value { element: self.words(), attribute, found, valid: valid.into() })
    }

    fn value<T: FromStr>(&self, attribute: &str, valid: &str) -> Result<T, SystemXmlError> {
        self.text(attribute)?.trim().parse().map_err(|_| self.invalid(attribute, valid))
    }

    /// A finite number.
    pub fn real(&self, attribute: &str) -> Result<f64, SystemXmlError> {
        const VALID: &str = "a finite number";
        let value: f64 = self.value(attribute, VALID)?;
        if value.is_finite() { Ok(value) } else { Err(self.invalid(attribute, VALID)) }
    }

    /// A positive number.
    pub fn positive(&self, attribute: &str) -> Result<f64, SystemXmlError> {
        let value = self.real(attribute)?;
        if value > 0.0 { Ok(value) } else { Err(self.invalid(attribute, "a positive number")) }
    }

    /// A whole number.
    pub fn whole(&self, attribute: &str) -> Result<u32, SystemXmlError> {
        self.value(attribute, "a whole number")
    }

    /// A flag, 0 or 1; `default` if it is not there.
    pub fn flag(&self, attribute: &str, default: bool) -> Result<bool, SystemXmlError> {
        match self.optional(attribute) {
            None => Ok(default),
            Some("0") => Ok(false),
            Some("1") => Ok(true),
            Some(_) => Err(self.invalid(attribute, "0 or 1")),
        }
    }

    /// N different particles of `n_atoms`, counted from 0.
    pub fn atoms<const N: usize>(&self, attributes: [&str; N], n_atoms: usize) -> Result<[u32; N], SystemXmlError> {
        let mut atoms = [0; N];
        for (k, attribute) in attributes.into_iter().enumerate() {
            let valid = || format!("a particle from 0 to {}", n_atoms.saturating_sub(1));
            let atom: u32 = self.text(attribute)?.trim().parse().map_err(|_| self.invalid(attribute, valid()))?;
            if atom as usize >= n_atoms {
                return Err(self.invalid(attribute, valid()));
            }
            if atoms[..k].contains(&atom) {
                return Err(self.error(SystemXmlProblem::RepeatedAtom { element: self.words(), atom }));
            }
            atoms[k] = atom;
        }
        Ok(atoms)
    }
}
