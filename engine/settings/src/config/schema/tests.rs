//! What the schema says against what reads a job.

use super::*;

/// The names in the schema are those that reading a job accepts, all of them: serde lists them in its error.
#[test]
fn coordinates_are_those_of_lambda() {
    let schema = coordinate(&mut SchemaGenerator::default());
    let names: Vec<String> = schema
        .get("oneOf")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .map(|one| format!("`{}`", one["const"].as_str().unwrap()))
        .collect();
    let error = serde_json::from_value::<Variant>("none of them".into()).unwrap_err().to_string();
    let valid = error.split("expected one of ").nth(1).unwrap();
    assert_eq!(names.join(", "), valid);
}
