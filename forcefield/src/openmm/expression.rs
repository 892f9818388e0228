//! Energy expressions of OpenMM's custom forces: parsed and evaluated.
//!
//! `energy; name = value; …`: a formula with + − * / ^, functions, numbers, and names, which are variables or definitions that follow. Powers
//! bind tighter than signs, and to the right. Format: OpenMM User Guide 8, "Writing Custom Expressions".

use std::collections::HashMap;

/// Deepest nesting of parentheses, signs, powers and definitions.
const DEEPEST: usize = 200;

/// A table of values at whole numbers.
#[derive(Clone, Debug)]
pub(super) struct Table {
    /// Size along the first index; with one index the size of all.
    pub size: usize,
    /// Entry i + size · j.
    pub values: Vec<f64>,
}

/// A formula whose variables are numbered.
#[derive(Clone, Debug)]
pub(super) struct Expression {
    root: Node,
    tables: Vec<Table>,
}

#[derive(Clone, Debug)]
enum Node {
    Number(f64),
    Variable(usize),
    Negative(Box<Node>),
    Binary(u8, Box<Node>, Box<Node>),
    Call(Function, Vec<Node>),
    Table(usize, Vec<Node>),
}

type Function = fn(&[f64]) -> f64;

/// Functions by name and number of arguments.
const FUNCTIONS: [(&str, usize, Function); 20] = [
    ("sqrt", 1, |x| x[0].sqrt()),
    ("exp", 1, |x| x[0].exp()),
    ("log", 1, |x| x[0].ln()),
    ("sin", 1, |x| x[0].sin()),
    ("cos", 1, |x| x[0].cos()),
    ("tan", 1, |x| x[0].tan()),
    ("asin", 1, |x| x[0].asin()),
    ("acos", 1, |x| x[0].acos()),
    ("atan", 1, |x| x[0].atan()),
    ("abs", 1, |x| x[0].abs()),
    ("floor", 1, |x| x[0].floor()),
    ("ceil", 1, |x| x[0].ceil()),
    ("square", 1, |x| x[0] * x[0]),
    ("cube", 1, |x| x[0].powi(3)),
    ("step", 1, |x| if x[0] >= 0.0 { 1.0 } else { 0.0 }),
    ("delta", 1, |x| if x[0] == 0.0 { 1.0 } else { 0.0 }),
    ("min", 2, |x| x[0].min(x[1])),
    ("max", 2, |x| x[0].max(x[1])),
    ("pow", 2, |x| x[0].powf(x[1])),
    ("select", 3, |x| if x[0] != 0.0 { x[1] } else { x[2] }),
];

impl Expression {
    /// Parses `text` with these variables, by their numbers, and tables, by their names.
    ///
    /// # Errors
    /// What cannot be understood, in words.
    pub fn parse(text: &str, variables: &[String], tables: Vec<(String, Table)>) -> Result<Self, String> {
        let mut parts = text.split(';').map(str::trim).filter(|part| !part.is_empty());
        let energy = parts.next().ok_or("it is empty")?;
        let mut definitions = HashMap::new();
        for part in parts {
            let (name, value) = part.split_once('=').ok_or_else(|| format!("'{part}' is no definition"))?;
            definitions.insert(name.trim(), value.trim());
        }
        let (names, tables): (Vec<String>, Vec<Table>) = tables.into_iter().unzip();
        let scope = Scope { variables, definitions, tables: names };
        Ok(Self { root: scope.formula(energy, 0)?, tables })
    }

    /// Its value; not finite where it has none.
    pub fn value(&self, variables: &[f64]) -> f64 {
        self.of(&self.root, variables)
    }

    fn of(&self, node: &Node, variables: &[f64]) -> f64 {
        let all = |nodes: &[Node]| nodes.iter().map(|one| self.of(one, variables)).collect::<Vec<_>>();
        match node {
            Node::Number(value) => *value,
            Node::Variable(index) => variables[*index],
            Node::Negative(one) => -self.of(one, variables),
            Node::Binary(operator, a, b) => {
                let (a, b) = (self.of(a, variables), self.of(b, variables));
                match operator {
                    b'+' => a + b,
                    b'-' => a - b,
                    b'*' => a * b,
                    b'/' => a / b,
                    _ if b.fract() == 0.0 && b.abs() < 100.0 => a.powi(b as i32),
                    _ => a.powf(b),
                }
            }
            Node::Call(function, arguments) => function(&all(arguments)),
            Node::Table(index, arguments) => {
                let (table, at) = (&self.tables[*index], all(arguments));
                let whole = |x: f64| (x >= 0.0).then_some((x + 0.5).floor() as usize);
                let index = match at[..] {
                    [i] => whole(i),
                    [i, j] => whole(i).zip(whole(j)).filter(|(i, _)| *i < table.size).map(|(i, j)| i + table.size * j),
                    _ => None,
                };
                index.and_then(|index| table.values.get(index)).copied().unwrap_or(f64::NAN)
            }
        }
    }
}

struct Scope<'a> {
    variables: &'a [String],
    definitions: HashMap<&'a str, &'a str>,
    tables: Vec<String>,
}

impl Scope<'_> {
    fn formula(&self, text: &str, depth: usize) -> Result<Node, String> {
        let mut parser = Parser { scope: self, text: text.as_bytes(), at: 0, depth };
        let node = parser.sum()?;
        match parser.peek() {
            None => Ok(node),
            Some(found) => Err(format!("'{}' is not expected", found as char)),
        }
    }
}

struct Parser<'a> {
    scope: &'a Scope<'a>,
    text: &'a [u8],
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn peek(&mut self) -> Option<u8> {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    fn take(&mut self, wanted: &[u8]) -> Option<u8> {
        let found = self.peek().filter(|found| wanted.contains(found))?;
        self.at += 1;
        Some(found)
    }

    fn sum(&mut self) -> Result<Node, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err("it is nested too deep, or defines a name by itself".into());
        }
        let mut node = self.product()?;
        while let Some(operator) = self.take(b"+-") {
            node = Node::Binary(operator, Box::new(node), Box::new(self.product()?));
        }
        self.depth -= 1;
        Ok(node)
    }

    fn product(&mut self) -> Result<Node, String> {
        let mut node = self.signed()?;
        while let Some(operator) = self.take(b"*/") {
            node = Node::Binary(operator, Box::new(node), Box::new(self.signed()?));
        }
        Ok(node)
    }

    fn signed(&mut self) -> Result<Node, String> {
        let mut negative = false;
        while let Some(sign) = self.take(b"+-") {
            negative ^= sign == b'-';
        }
        let node = self.power()?;
        Ok(if negative { Node::Negative(Box::new(node)) } else { node })
    }

    fn power(&mut self) -> Result<Node, String> {
        let base = self.atom()?;
        if self.take(b"^").is_none() {
            return Ok(base);
        }
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err("it is nested too deep".into());
        }
        let exponent = self.signed()?;
        self.depth -= 1;
        Ok(Node::Binary(b'^', Box::new(base), Box::new(exponent)))
    }

    fn atom(&mut self) -> Result<Node, String> {
        match self.peek() {
            Some(b'(') => {
                self.at += 1;
                let node = self.sum()?;
                self.take(b")").map(|_| node).ok_or_else(|| "a parenthesis is not closed".into())
            }
            Some(first) if first.is_ascii_digit() || first == b'.' => self.number(),
            Some(first) if first.is_ascii_alphabetic() || first == b'_' => self.name(),
            Some(found) => Err(format!("'{}' is not expected", found as char)),
            None => Err("it ends too early".into()),
        }
    }

    fn number(&mut self) -> Result<Node, String> {
        let start = self.at;
        let mut previous = b' ';
        while let Some(&byte) = self.text.get(self.at) {
            let is_exponent = matches!(byte, b'e' | b'E');
            let is_sign = matches!(byte, b'+' | b'-') && matches!(previous, b'e' | b'E');
            if !(byte.is_ascii_digit() || byte == b'.' || is_exponent || is_sign) {
                break;
            }
            previous = byte;
            self.at += 1;
        }
        let text = String::from_utf8_lossy(&self.text[start..self.at]);
        text.parse().map(Node::Number).map_err(|_| format!("'{text}' is no number"))
    }

    fn name(&mut self) -> Result<Node, String> {
        let start = self.at;
        while self.text.get(self.at).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_') {
            self.at += 1;
        }
        let name = String::from_utf8_lossy(&self.text[start..self.at]).into_owned();
        if self.take(b"(").is_some() {
            let mut arguments = vec![self.sum()?];
            while self.take(b",").is_some() {
                arguments.push(self.sum()?);
            }
            self.take(b")").ok_or("a parenthesis is not closed")?;
            if let Some(index) = self.scope.tables.iter().position(|one| *one == name) {
                return Ok(Node::Table(index, arguments));
            }
            let known = FUNCTIONS.iter().find(|(known, count, _)| *known == name && *count == arguments.len());
            return known.map(|one| Node::Call(one.2, arguments)).ok_or_else(|| format!("{name}() is not known"));
        }
        if let Some(text) = self.scope.definitions.get(name.as_str()) {
            return self.scope.formula(text, self.depth);
        }
        let variable = self.scope.variables.iter().position(|one| *one == name);
        variable.map(Node::Variable).ok_or_else(|| format!("{name} is not known"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<f64, String> {
        let table = Table { size: 2, values: vec![1.0, 2.0, 3.0, 4.0] };
        let parsed = Expression::parse(text, &["r".into(), "k".into()], vec![("t".into(), table)])?;
        Ok(parsed.value(&[2.0, 5.0]))
    }

    #[test]
    fn powers_bind_tighter_than_signs_and_to_the_right() {
        for (text, expected) in [
            ("-r^2", -4.0),
            ("2^r^3", 256.0),
            ("r^-1", 0.5),
            ("1 - 2 - 3", -4.0),
            ("8/r/2*3", 6.0),
            ("-(r - k)*.5e+1", 15.0),
            ("min(a, 2*pi - a)^2; a = abs(r - k); pi = 3", 9.0),
            ("t(1, 0) + 10*t(0, 1)", 32.0),
            ("select(step(r - 3), 1, k)", 5.0),
        ] {
            assert_eq!(value(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_expression_is_told() {
        for (text, expected) in [
            ("", "it is empty"),
            ("r +", "it ends too early"),
            ("r r", "'r' is not expected"),
            ("(r", "not closed"),
            ("1.2.3", "'1.2.3' is no number"),
            ("q", "q is not known"),
            ("besselj(r)", "besselj() is not known"),
            ("min(r)", "min() is not known"),
            ("a; a = a + 1", "defines a name by itself"),
            ("r; k", "'k' is no definition"),
        ] {
            let error = value(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
        assert!(value(&"(".repeat(100_000)).unwrap_err().contains("too deep"));
        // Outside of the table.
        assert!(value("t(2, 0)").unwrap().is_nan());
    }
}
