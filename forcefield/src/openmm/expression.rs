//! Energy expressions of OpenMM's custom forces: parsed and evaluated.
//!
//! `energy; name = value; …`: a formula with + − * / ^, functions, numbers, and names, which are variables or definitions that follow. Powers
//! bind tighter than signs, and to the right. Format: OpenMM User Guide 8, "Writing Custom Expressions".
//!
//! A formula becomes a list of steps that push numbers on a stack and combine those on its top. A definition is computed where it is first used and kept in a slot
//! for all later uses. So the list is never longer than the text, and only the parser is recursive, up to [`DEEPEST`].

use std::collections::HashMap;

/// Deepest nesting of parentheses, functions, powers and definitions.
const DEEPEST: usize = 200;

/// A table of values at whole numbers.
#[derive(Clone, Debug)]
pub(super) struct Table {
    /// Size along the first index; with one index the size of all.
    pub size: usize,
    /// Entry i + size · j.
    pub values: Vec<f64>,
}

impl Table {
    /// The entry at these indices, rounded; not a number outside of the table.
    fn at(&self, indices: &[f64]) -> f64 {
        let whole = |x: f64| (x >= 0.0).then_some((x + 0.5).floor() as usize);
        let index = match *indices {
            [i] => whole(i),
            [i, j] => whole(i).zip(whole(j)).filter(|(i, _)| *i < self.size).map(|(i, j)| i + self.size * j),
            _ => None,
        };
        index.and_then(|index| self.values.get(index)).copied().unwrap_or(f64::NAN)
    }
}

/// A formula whose variables are numbered.
#[derive(Clone, Debug)]
pub(super) struct Expression {
    steps: Vec<Step>,
    tables: Vec<Table>,
    /// Number of definitions that are used.
    slots: usize,
}

/// What is done with the stack.
#[derive(Clone, Copy, Debug)]
enum Step {
    Number(f64),
    Variable(usize),
    /// Puts the number on top into a slot, too.
    Keep(usize),
    /// Pushes the number that was kept in a slot.
    Kept(usize),
    Negative,
    Binary(u8),
    /// A function of the uppermost numbers.
    Call(Function, usize),
    /// A table at the uppermost numbers.
    Table(usize, usize),
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
        let (table_names, tables): (Vec<String>, Vec<Table>) = tables.into_iter().unzip();
        let mut parser = Parser {
            variables,
            tables: table_names,
            names: HashMap::new(),
            definitions: Vec::new(),
            text: energy.as_bytes(),
            at: 0,
            depth: 0,
            steps: Vec::new(),
            slots: 0,
        };
        for part in parts {
            let (name, value) = part.split_once('=').ok_or_else(|| format!("'{part}' is no definition"))?;
            parser.names.insert(name.trim(), parser.definitions.len());
            parser.definitions.push(Definition { text: value.trim(), state: State::Unused });
        }
        parser.formula()?;
        Ok(Self { steps: parser.steps, tables, slots: parser.slots })
    }

    /// Its value; not finite where it has none.
    pub fn value(&self, variables: &[f64]) -> f64 {
        let mut stack: Vec<f64> = Vec::new();
        let mut kept = vec![f64::NAN; self.slots];
        for step in &self.steps {
            let (taken, result) = match *step {
                Step::Number(value) => (0, value),
                Step::Variable(index) => (0, variables[index]),
                Step::Kept(slot) => (0, kept[slot]),
                Step::Keep(slot) => {
                    kept[slot] = stack[stack.len() - 1];
                    continue;
                }
                Step::Negative => (1, -stack[stack.len() - 1]),
                Step::Binary(operator) => (2, combined(operator, stack[stack.len() - 2], stack[stack.len() - 1])),
                Step::Call(function, count) => (count, function(&stack[stack.len() - count..])),
                Step::Table(index, count) => (count, self.tables[index].at(&stack[stack.len() - count..])),
            };
            stack.truncate(stack.len() - taken);
            stack.push(result);
        }
        stack[0]
    }
}

fn combined(operator: u8, a: f64, b: f64) -> f64 {
    match operator {
        b'+' => a + b,
        b'-' => a - b,
        b'*' => a * b,
        b'/' => a / b,
        _ if b.fract() == 0.0 && b.abs() < 100.0 => a.powi(b as i32),
        _ => a.powf(b),
    }
}

/// What a name stands for.
#[derive(Clone, Copy)]
struct Definition<'a> {
    text: &'a str,
    state: State,
}

/// What has become of a definition.
#[derive(Clone, Copy)]
enum State {
    Unused,
    /// The parser is inside of it.
    Open,
    /// Its value is in this slot.
    Kept(usize),
}

struct Parser<'a> {
    variables: &'a [String],
    /// Names of the tables.
    tables: Vec<String>,
    /// Which definition a name has.
    names: HashMap<&'a str, usize>,
    definitions: Vec<Definition<'a>>,
    /// The energy, or the definition that is parsed.
    text: &'a [u8],
    at: usize,
    depth: usize,
    steps: Vec<Step>,
    slots: usize,
}

impl Parser<'_> {
    /// All of the text.
    fn formula(&mut self) -> Result<(), String> {
        self.sum()?;
        match self.peek() {
            None => Ok(()),
            Some(found) => Err(format!("'{}' is not expected", found as char)),
        }
    }

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

    /// What `inner` parses, one level deeper.
    fn nested(&mut self, inner: fn(&mut Self) -> Result<(), String>) -> Result<(), String> {
        if self.depth == DEEPEST {
            return Err(format!(
                "it is nested too deep; valid are {DEEPEST} levels of parentheses, functions, powers and definitions"
            ));
        }
        self.depth += 1;
        inner(self)?;
        self.depth -= 1;
        Ok(())
    }

    fn sum(&mut self) -> Result<(), String> {
        self.nested(|parser| {
            parser.product()?;
            while let Some(operator) = parser.take(b"+-") {
                parser.product()?;
                parser.steps.push(Step::Binary(operator));
            }
            Ok(())
        })
    }

    fn product(&mut self) -> Result<(), String> {
        self.signed()?;
        while let Some(operator) = self.take(b"*/") {
            self.signed()?;
            self.steps.push(Step::Binary(operator));
        }
        Ok(())
    }

    fn signed(&mut self) -> Result<(), String> {
        let mut negative = false;
        while let Some(sign) = self.take(b"+-") {
            negative ^= sign == b'-';
        }
        self.power()?;
        self.steps.extend(negative.then_some(Step::Negative));
        Ok(())
    }

    fn power(&mut self) -> Result<(), String> {
        self.atom()?;
        if self.take(b"^").is_some() {
            self.nested(Self::signed)?;
            self.steps.push(Step::Binary(b'^'));
        }
        Ok(())
    }

    fn atom(&mut self) -> Result<(), String> {
        match self.peek() {
            Some(b'(') => {
                self.at += 1;
                self.sum()?;
                self.take(b")").map(|_| ()).ok_or_else(|| "a parenthesis is not closed".into())
            }
            Some(first) if first.is_ascii_digit() || first == b'.' => self.number(),
            Some(first) if first.is_ascii_alphabetic() || first == b'_' => self.name(),
            Some(found) => Err(format!("'{}' is not expected", found as char)),
            None => Err("it ends too early".into()),
        }
    }

    fn number(&mut self) -> Result<(), String> {
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
        self.steps.push(Step::Number(text.parse().map_err(|_| format!("'{text}' is no number"))?));
        Ok(())
    }

    fn name(&mut self) -> Result<(), String> {
        let start = self.at;
        while self.text.get(self.at).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_') {
            self.at += 1;
        }
        let name = String::from_utf8_lossy(&self.text[start..self.at]).into_owned();
        if self.take(b"(").is_some() {
            return self.call(&name);
        }
        if let Some(&index) = self.names.get(name.as_str()) {
            return self.defined(&name, index);
        }
        let variable = self.variables.iter().position(|one| *one == name);
        self.steps.push(variable.map(Step::Variable).ok_or_else(|| format!("{name} is not known"))?);
        Ok(())
    }

    /// The arguments of a function or a table, whose parenthesis is open, and what is done with them.
    fn call(&mut self, name: &str) -> Result<(), String> {
        self.sum()?;
        let mut arguments = 1;
        while self.take(b",").is_some() {
            self.sum()?;
            arguments += 1;
        }
        self.take(b")").ok_or("a parenthesis is not closed")?;
        let table = self.tables.iter().position(|one| one == name).map(|index| Step::Table(index, arguments));
        let function = || FUNCTIONS.iter().find(|(known, count, _)| *known == name && *count == arguments);
        let step = table.or_else(|| function().map(|one| Step::Call(one.2, arguments)));
        self.steps.push(step.ok_or_else(|| format!("{name}() is not known"))?);
        Ok(())
    }

    /// The value of a definition: computed where it is used first, from its slot everywhere else.
    fn defined(&mut self, name: &str, index: usize) -> Result<(), String> {
        let Definition { text, state } = self.definitions[index];
        match state {
            State::Kept(slot) => self.steps.push(Step::Kept(slot)),
            State::Open => return Err(format!("{name} is defined by itself")),
            State::Unused => {
                self.definitions[index].state = State::Open;
                let outer = (self.text, self.at);
                (self.text, self.at) = (text.as_bytes(), 0);
                self.formula()?;
                (self.text, self.at) = outer;
                self.definitions[index].state = State::Kept(self.slots);
                self.steps.push(Step::Keep(self.slots));
                self.slots += 1;
            }
        }
        Ok(())
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
            ("a; a = a + 1", "a is defined by itself"),
            ("a; a = b; b = 2*c; c = r + a", "a is defined by itself"),
            ("r; k", "'k' is no definition"),
        ] {
            let error = value(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
        // Outside of the table.
        assert!(value("t(2, 0)").unwrap().is_nan());
    }

    /// Formulas that a program writes: sums have no limit, and what is nested has one, so that none of them ends the process.
    #[test]
    fn long_formulas_are_computed_and_deep_ones_are_told() {
        assert_eq!(value(&vec!["0*r"; 200_000].join("+")), Ok(0.0));
        assert_eq!(value(&vec!["r"; 200_000].join("-")), Ok(2.0 - 2.0 * 199_999.0));
        assert_eq!(value(&format!("1{}", "/r*2".repeat(200_000))), Ok(1.0));
        assert_eq!(value(&format!("{}r", "-".repeat(200_001))), Ok(-2.0));
        let nested = |open: &str, n: usize, close: &str| format!("{}r{}", open.repeat(n), close.repeat(n));
        let chain = |n: usize| (0..n).map(|k| format!("a{k}; a{k} = ")).collect::<String>() + "r";
        let deep = |n: usize| {
            [
                nested("(", n, ")"),
                nested("-(", n, ")"),
                nested("1^", n, ""),
                nested("1^-", n, ""),
                nested("abs(", n, ")"),
                nested("min(r, ", n, ")"),
                chain(n),
            ]
        };
        for (good, bad) in deep(DEEPEST - 1).iter().zip(deep(DEEPEST)) {
            assert!(value(good).unwrap().abs() <= 2.0, "{good}");
            assert!(value(&bad).unwrap_err().contains("too deep; valid are 200 levels"), "{bad}");
        }
        for text in deep(100_000) {
            assert!(value(&text).unwrap_err().contains("too deep"), "{}", &text[..20]);
        }
    }

    /// Each of these would be 2¹⁰⁰ terms if definitions were copied where they are used.
    #[test]
    fn definitions_are_computed_once() {
        let doubled: String = (0..100).map(|k| format!("a{k}; a{k} = a{0} + ", k + 1)).collect();
        assert_eq!(value(&format!("{doubled}a100; a100 = 0*r")).map(|v| v.to_bits()), Ok(0));
        let (found, expected) = (value(&format!("{doubled}a100; a100 = r")), 2f64.powi(101));
        assert_eq!(found, Ok(expected));
    }
}
