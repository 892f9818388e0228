//! From a text to the tree of a selection, with the place of the first mistake.

use super::{KEYS, Key, Node, SelectionError, Value, WORDS};
use std::ops::RangeInclusive;

/// A selection that has been read.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    /// The whole text.
    pub text: String,
    /// What it says.
    pub root: Node,
}

impl Expression {
    /// Reads a selection.
    ///
    /// # Errors
    /// [`SelectionError::Syntax`] with the first place that is wrong.
    pub fn parse(text: &str) -> Result<Self, SelectionError> {
        let mut parser = Parser { text, tokens: tokens(text)?, next: 0 };
        let root = parser.either()?;
        match parser.peek() {
            None => Ok(Self { text: text.to_string(), root }),
            Some(_) => Err(parser.wrong("and, or, or the end of the text")),
        }
    }
}

/// A word, a quoted name, or a parenthesis, with the byte at which it starts.
#[derive(Clone, Debug, PartialEq)]
struct Token {
    at: usize,
    word: String,
    quoted: bool,
}

impl Token {
    fn is(&self, word: &str) -> bool {
        !self.quoted && self.word == word
    }
}

fn tokens(text: &str) -> Result<Vec<Token>, SelectionError> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let length = match c {
            c if c.is_whitespace() => {
                at += c.len_utf8();
                continue;
            }
            '(' | ')' => 1,
            '"' | '\'' => {
                let Some(end) = rest[1..].find(c) else {
                    let valid = format!("a name that ends with {c}");
                    let found = "a quotation mark that is not closed".into();
                    return Err(SelectionError::Syntax { text: text.into(), at, found, valid });
                };
                tokens.push(Token { at, word: rest[1..=end].into(), quoted: true });
                at += end + 2;
                continue;
            }
            _ => rest.find(|c: char| c.is_whitespace() || "()\"'".contains(c)).unwrap_or(rest.len()),
        };
        tokens.push(Token { at, word: rest[..length].into(), quoted: false });
        at += length;
    }
    Ok(tokens)
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    next: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next)
    }

    /// Goes on if the next token is this word.
    fn accept(&mut self, word: &str) -> bool {
        let found = self.peek().is_some_and(|token| token.is(word));
        self.next += usize::from(found);
        found
    }

    fn wrong(&self, valid: &str) -> SelectionError {
        let (at, found) = match self.peek() {
            Some(token) => (token.at, format!("\"{}\"", token.word)),
            None => (self.text.len(), "the end of the text".into()),
        };
        SelectionError::Syntax { text: self.text.into(), at, found, valid: format!("valid is {valid}") }
    }

    fn either(&mut self) -> Result<Node, SelectionError> {
        let mut node = self.all_of()?;
        while self.accept("or") {
            node = Node::Or(Box::new(node), Box::new(self.all_of()?));
        }
        Ok(node)
    }

    fn all_of(&mut self) -> Result<Node, SelectionError> {
        let mut node = self.one()?;
        while self.accept("and") {
            node = Node::And(Box::new(node), Box::new(self.one()?));
        }
        Ok(node)
    }

    fn one(&mut self) -> Result<Node, SelectionError> {
        if self.accept("not") {
            return Ok(Node::Not(Box::new(self.one()?)));
        }
        if self.accept("(") {
            let node = self.either()?;
            return if self.accept(")") { Ok(node) } else { Err(self.wrong("and, or, or )")) };
        }
        let token = self.peek().filter(|token| !token.quoted);
        let word = token.map_or("", |token| token.word.as_str());
        if let Some((_, word)) = WORDS.iter().find(|(name, _)| *name == word) {
            self.next += 1;
            return Ok(Node::Word(*word));
        }
        let Some((name, key)) = KEYS.iter().find(|(name, _)| *name == word) else {
            let words: Vec<&str> = WORDS.iter().map(|(name, _)| *name).collect();
            let keys: Vec<&str> = KEYS.iter().map(|(name, _)| *name).collect();
            return Err(self.wrong(&format!("{}, not, (, or {} with values", words.join(", "), keys.join(", "))));
        };
        self.next += 1;
        self.values(name, *key)
    }

    fn values(&mut self, name: &str, key: Key) -> Result<Node, SelectionError> {
        let mut values = Vec::new();
        while let Some(token) = self.peek() {
            if !token.quoted && ["and", "or", "not", "(", ")"].contains(&token.word.as_str()) {
                break;
            }
            let numbers = if token.quoted { None } else { range(&token.word) };
            match (key, numbers) {
                (Key::ResidueNumber | Key::Molecule, Some(numbers)) => values.push(Value::Numbers(numbers)),
                (Key::ResidueNumber, None) => return Err(self.wrong("a number of a residue, or a range such as 10-20")),
                _ => values.push(Value::Name(token.word.clone())),
            }
            self.next += 1;
        }
        if values.is_empty() {
            return Err(self.wrong(&format!("one value of {name} or more")));
        }
        Ok(Node::Key(key, values))
    }
}

/// `7`, `10-20`; ends that are in order.
fn range(text: &str) -> Option<RangeInclusive<i64>> {
    if let Ok(number) = text.parse() {
        return Some(number..=number);
    }
    // The sign of a negative first number is not the dash of the range.
    let dash = 1 + text.get(1..)?.find('-')?;
    let (first, last) = (text[..dash].parse().ok()?, text[dash + 1..].parse().ok()?);
    (first <= last).then_some(first..=last)
}
