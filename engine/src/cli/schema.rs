//! `schema`: the job file as a JSON schema for editors, or as the chapter of the manual.

use super::arguments::SchemaArguments;
use octitrate::config::schema;
use std::process::ExitCode;

/// Prints the schema, or the chapter that is made from it.
pub fn schema(arguments: &SchemaArguments) -> ExitCode {
    let schema = schema::schema();
    if arguments.markdown {
        print!("{}", schema::markdown(&schema));
    } else {
        println!("{schema:#}");
    }
    ExitCode::SUCCESS
}
