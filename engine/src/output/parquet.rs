//! λ and ∂V/∂λ as Parquet, which pandas, Polars and DuckDB read, and `alchemlyb` for free energies along λ.
//!
//! `lambda.parquet` holds the columns of `lambda.csv` as float64, and pH, temperature and unit of energy in the attributes of the data frame.
//!
//! `dhdl.parquet` holds ∂V/∂λ/RT with time and λ of every column as its index, as `alchemlyb.parsing.parquet.extract_dHdl` expects it.
//! Frames of equal λ are one state there, so it is meant for runs at fixed λ, such as the windows of a calibration.
//!
//! Formats: parquet.apache.org; pandas.pydata.org/docs/development/developer.html.

use super::series::LambdaSeries;
use super::sites::SitesFile;
use super::tables::WALKER;
use crate::atomic::write_atomic;
use crate::error::{Error, Result};
use forcefield::units::GAS_CONSTANT;
use parquet::basic::{Repetition, Type as Physical};
use parquet::data_type::DoubleType;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

/// File with the columns of `lambda.csv`.
pub const LAMBDA: &str = "lambda.parquet";
/// File with ∂V/∂λ for alchemlyb.
pub const DHDL: &str = "dhdl.parquet";

/// Attributes of a data frame, as pandas keeps them.
const ATTRIBUTES: &str = "PANDAS_ATTRS";

type Column<'a> = (String, Cow<'a, [f64]>);

/// Writes both files into the folder of a run.
///
/// # Errors
/// [`Error::File`] if a file cannot be written.
pub fn write(folder: &Path, series: &LambdaSeries, sites: &SitesFile) -> Result<()> {
    for (name, content) in [(LAMBDA, lambda(series, sites)?), (DHDL, dhdl(series, sites.temperature)?)] {
        write_atomic(&folder.join(name), "write", &content)?;
    }
    Ok(())
}

/// Content of [`LAMBDA`].
fn lambda(series: &LambdaSeries, sites: &SitesFile) -> Result<Vec<u8>> {
    let mut columns: Vec<Column> = vec![("time (ps)".into(), Cow::Borrowed(&series.time))];
    if !series.walker.is_empty() {
        columns.push((WALKER.into(), series.walker.iter().map(|&walker| f64::from(walker)).collect()));
    }
    for ((name, lambda), dvdl) in series.sites.iter().zip(&series.lambda).zip(&series.dvdl) {
        columns.push((format!("lambda {name}"), Cow::Borrowed(lambda)));
        columns.push((format!("dV/dlambda {name} (kJ/mol)"), Cow::Borrowed(dvdl)));
    }
    let attributes = json!({ "ph": sites.ph, "temperature": sites.temperature, "energy_unit": "kJ/mol" });
    encode(&columns, &[(ATTRIBUTES, attributes)])
}

/// Content of [`DHDL`]: reduced derivatives by time and λ.
fn dhdl(series: &LambdaSeries, temperature: f64) -> Result<Vec<u8>> {
    let mut columns: Vec<Column> = Vec::new();
    for (name, dvdl) in series.sites.iter().zip(&series.dvdl) {
        columns.push((name.clone(), dvdl.iter().map(|dvdl| dvdl / (GAS_CONSTANT * temperature)).collect()));
    }
    columns.push(("time".into(), Cow::Borrowed(&series.time)));
    for (name, lambda) in series.sites.iter().zip(&series.lambda) {
        columns.push((format!("{name}-lambda"), Cow::Borrowed(lambda)));
    }
    let names: Vec<&String> = columns.iter().map(|(name, _)| name).collect();
    let described = |name: &&String| json!({ "name": name, "field_name": name, "pandas_type": "float64", "numpy_type": "float64", "metadata": null });
    let labels = json!({
        "name": null, "field_name": null, "pandas_type": "unicode", "numpy_type": "object", "metadata": { "encoding": "UTF-8" }
    });
    let frame = json!({
        "index_columns": names[series.sites.len()..],
        "column_indexes": [labels],
        "columns": names.iter().map(described).collect::<Vec<Value>>(),
        "creator": { "library": "octitrate", "version": env!("CARGO_PKG_VERSION") },
        "pandas_version": "2.1.0",
    });
    let attributes = json!({ "temperature": temperature, "energy_unit": "kT" });
    encode(&columns, &[("pandas", frame), (ATTRIBUTES, attributes)])
}

fn encode(columns: &[Column], metadata: &[(&str, Value)]) -> Result<Vec<u8>> {
    written(columns, metadata).map_err(|e| Error::input(format!("the numbers cannot be written as Parquet: {e}"), ""))
}

fn written(columns: &[Column], metadata: &[(&str, Value)]) -> std::result::Result<Vec<u8>, ParquetError> {
    let field = |(name, _): &Column| {
        let builder = Type::primitive_type_builder(name, Physical::DOUBLE).with_repetition(Repetition::REQUIRED);
        builder.build().map(Arc::new)
    };
    let fields = columns.iter().map(field).collect::<std::result::Result<Vec<_>, _>>()?;
    let schema = Type::group_type_builder("schema").with_fields(fields).build()?;
    let pair = |(key, value): &(&str, Value)| KeyValue::new((*key).to_string(), value.to_string());
    let properties = WriterProperties::builder()
        .set_created_by(concat!("octitrate version ", env!("CARGO_PKG_VERSION")).into())
        .set_dictionary_enabled(false)
        .set_key_value_metadata(Some(metadata.iter().map(pair).collect()));
    let mut file = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties.build()))?;
    let mut group = file.next_row_group()?;
    for (_, values) in columns {
        if let Some(mut column) = group.next_column()? {
            column.typed::<DoubleType>().write_batch(values, None, None)?;
            column.close()?;
        }
    }
    group.close()?;
    file.into_inner()
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    /// Names of the columns, rows, and the pairs of key and value.
    type Table = (Vec<String>, Vec<Vec<f64>>, Vec<(String, String)>);

    fn read(content: Vec<u8>) -> Table {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, content).unwrap();
        let reader = SerializedFileReader::new(std::fs::File::open(&path).unwrap()).unwrap();
        let rows = reader.get_row_iter(None).unwrap().map(|row| row.unwrap());
        let number = |field: &Field| if let Field::Double(x) = field { *x } else { panic!("not a double") };
        let rows: Vec<Vec<f64>> =
            rows.map(|row| row.get_column_iter().map(|(_, field)| number(field)).collect()).collect();
        let file = reader.metadata().file_metadata();
        let names = file.schema().get_fields().iter().map(|field| field.name().to_string()).collect();
        let pairs = file.key_value_metadata().unwrap().iter();
        (names, rows, pairs.map(|pair| (pair.key.clone(), pair.value.clone().unwrap())).collect())
    }

    #[test]
    fn both_files_are_read_back() {
        let series = LambdaSeries {
            time: vec![0.0, 0.1 + 0.2],
            sites: vec!["GLU 2".into(), "HIS 5:HSP".into()],
            lambda: vec![vec![0.25, -0.01], vec![1.0, 0.0]],
            dvdl: vec![vec![-3.5, 1e-300], vec![2.0, 4.0]],
            walker: vec![3, 1],
            cut: false,
        };
        let sites = SitesFile { ph: Some(4.25), temperature: 300.0, ..SitesFile::default() };
        let (names, rows, pairs) = read(lambda(&series, &sites).unwrap());
        assert_eq!(names[..3], ["time (ps)", "walker", "lambda GLU 2"]);
        assert_eq!(names[3..], ["dV/dlambda GLU 2 (kJ/mol)", "lambda HIS 5:HSP", "dV/dlambda HIS 5:HSP (kJ/mol)"]);
        assert_eq!(rows, [[0.0, 3.0, 0.25, -3.5, 1.0, 2.0], [0.1 + 0.2, 1.0, -0.01, 1e-300, 0.0, 4.0]]);
        let attributes: Value = serde_json::from_str(&pairs[0].1).unwrap();
        assert_eq!((pairs[0].0.as_str(), &attributes["ph"]), (ATTRIBUTES, &json!(4.25)));

        let (names, rows, pairs) = read(dhdl(&series, 300.0).unwrap());
        assert_eq!(names, ["GLU 2", "HIS 5:HSP", "time", "GLU 2-lambda", "HIS 5:HSP-lambda"]);
        assert!((rows[0][0] + 3.5 / (GAS_CONSTANT * 300.0)).abs() < 1e-12);
        assert_eq!(rows[1][2..], [0.1 + 0.2, -0.01, 0.0]);
        let frame: Value = serde_json::from_str(&pairs[0].1).unwrap();
        assert_eq!(frame["index_columns"], json!(["time", "GLU 2-lambda", "HIS 5:HSP-lambda"]));
    }
}
