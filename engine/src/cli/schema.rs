//! `schema`: the job file as a JSON schema for editors, or as the chapter of the manual.

use super::arguments::SchemaArguments;
use octitrate::config::schema;
use octitrate::error::Result;
use std::process::ExitCode;

/// Prints the schema, or the chapter that is made from it.
///
/// # Errors
/// [`octitrate::error::Error::File`] if it cannot be written.
pub fn schema(arguments: &SchemaArguments) -> Result<ExitCode> {
    let schema = schema::schema();
    if arguments.markdown {
        part!("{}", schema::markdown(&schema));
    } else {
        line!("{schema:#}");
    }
    Ok(ExitCode::SUCCESS)
}
