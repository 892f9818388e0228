//! The job file as a JSON schema, for editors and for the manual, made from the types that read it.
//!
//! Descriptions are the comments of the fields, defaults those of `Default`. What JSON Schema has no word for stands beside it:
//!
//! | keyword | says |
//! |---|---|
//! | `x-absent` | what an optional key without a default means where it is not given |
//! | `x-quantity`, `x-units` | what a text with a unit measures, and the units |
//!
//! Every key is required, has a default or has `x-absent`, and has a description: `tests/schema.rs` looks. The dialect is draft 07, which
//! every editor with schemas for TOML knows; nothing is referred to, so that each key holds all that is known of it.
//!
//! JSON Schema draft 07: json-schema.org/draft-07.

mod markdown;

pub use markdown::markdown;

use super::Config;
use lambda::coordinate::Variant;
use schemars::generate::SchemaSettings;
use schemars::transform::transform_subschemas;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::Value;

/// The schema of a job file.
pub fn schema() -> Value {
    let settings = SchemaSettings::draft07().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.with_transform(tidy).into_generator().into_root_schema_for::<Config>();
    schema.insert("title".into(), "Job of octitrate".into());
    schema.insert("description".into(), "One molecular dynamics job: a run, a titration or a calibration.".into());
    schema.to_value()
}

/// What the Rust types say and TOML has no use for is taken out: null, values of sections, defaults that stand for something else, and
/// line breaks in sentences.
fn tidy(schema: &mut Schema) {
    transform_subschemas(&mut tidy, schema);
    without_null(schema);
    let is_section = schema.get("properties").is_some() || schema.get("x-absent").is_some();
    if is_section {
        schema.remove("default");
    }
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    }
}

/// An optional key is absent or has its type: TOML has no null.
fn without_null(schema: &mut Schema) {
    let is_null = |value: &Value| value == "null" || value.get("type").is_some_and(|kind| kind == "null");
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|kind| !is_null(kind));
        if let [only] = &types[..] {
            let only = only.clone();
            schema.insert("type".into(), only);
        }
    }
    let Some(Value::Array(alternatives)) = schema.get_mut("anyOf") else { return };
    alternatives.retain(|one| !is_null(one));
    if let [Value::Object(only)] = &alternatives[..] {
        let only = only.clone();
        schema.remove("anyOf");
        for (keyword, value) in only {
            // The words of the key come before those of its type.
            schema.ensure_object().entry(keyword).or_insert(value);
        }
    }
}

/// What may stand in `coordinate`: names and sentences of [`Variant`], which another crate defines.
pub(super) fn coordinate(_: &mut SchemaGenerator) -> Schema {
    let one = |variant: Variant, words: &str| {
        let name = serde_json::to_value(variant).unwrap_or_default();
        json_schema!({ "type": "string", "const": name, "description": words })
    };
    json_schema!({ "oneOf": [
        one(Variant::Linear, "The weights themselves, with walls that keep them near 0 to 1."),
        one(Variant::Hypersphere, "Points on a sphere; the weights are squares of their coordinates (an angle for two forms)."),
        one(Variant::Nexp, "Exponents; the weights are normalised exponentials."),
    ] })
}

#[cfg(test)]
mod tests;
