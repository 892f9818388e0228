//! λ, ∂V/∂λ and V_pH as Parquet, which pandas, Polars and DuckDB read, and `alchemlyb` for free energies.
//!
//! `lambda.parquet` holds the columns of `lambda.csv` as float64, and pH, temperature and unit of energy in the attributes of the data frame.
//!
//! `dhdl.parquet` holds ∂V/∂λ/RT of runs at fixed λ, the windows of a calibration, with time and λ of every column as its index, as
//! `alchemlyb.parsing.parquet.extract_dHdl` expects it. Where λ moves there is no such file: frames of equal λ would not be samples of one state.
//!
//! `u_nk.parquet` holds V_pH/RT that the weights of every frame have at every pH of a titration, with time and the pH of the run as its index and
//! one column for each pH, as `alchemlyb.parsing.parquet.extract_u_nk` expects it. Nothing but V_pH depends on the pH, so that these are the
//! reduced energies of the states up to what is the same for all of them, and MBAR over pH is exact.
//!
//! Formats: parquet.apache.org; pandas.pydata.org/docs/development/developer.html; alchemlyb.readthedocs.io.

use super::series::LambdaSeries;
use super::sites::SitesFile;
use super::tables::WALKER;
use crate::atomic::write_atomic;
use crate::error::{Error, InputError, Result};
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
const DHDL: &str = "dhdl.parquet";
/// File with V_pH at every pH for alchemlyb.
pub const U_NK: &str = "u_nk.parquet";

/// λ of a run at fixed λ differ by rounding alone.
const FIXED: f64 = 1e-5;

/// Attributes of a data frame, as pandas keeps them.
const ATTRIBUTES: &str = "PANDAS_ATTRS";

type Column<'a> = (String, Cow<'a, [f64]>);

/// Writes [`LAMBDA`] into the folder of a run, and [`DHDL`] if no λ has moved.
///
/// # Errors
/// [`Error::File`] if a file cannot be written.
pub fn write(folder: &Path, series: &LambdaSeries, sites: &SitesFile) -> Result<()> {
    write_atomic(&folder.join(LAMBDA), "write", &lambda(series, sites)?)?;
    match dhdl(&[series], sites.temperature)? {
        Some(content) => write_atomic(&folder.join(DHDL), "write", &content),
        None => Ok(()),
    }
}

/// Writes [`DHDL`] of windows at fixed λ, all of them in one file.
///
/// # Errors
/// [`Error::File`] if the file cannot be written, [`Error::Input`] if windows have other columns than the first, or λ has moved.
pub fn write_windows(folder: &Path, windows: &[LambdaSeries], temperature: f64) -> Result<()> {
    let path = folder.join(DHDL);
    let refused =
        |message: &str| Err(InputError::new(message, "the windows of one job belong together").in_file(&path).into());
    if windows.iter().any(|window| window.sites != windows[0].sites) {
        return refused("the windows have different columns in lambda.csv");
    }
    match dhdl(&windows.iter().collect::<Vec<_>>(), temperature)? {
        Some(content) => write_atomic(&path, "write", &content),
        None => refused("λ has moved in a window"),
    }
}

/// Writes [`U_NK`] into the folder of a run at pH `ph`: `energies[state][frame]` are V_pH/RT at each pH of `states`.
///
/// # Errors
/// [`Error::File`] if the file cannot be written.
pub fn write_reduced(
    folder: &Path,
    (time, ph): (&[f64], f64),
    (states, energies): (&[f64], &[Vec<f64>]),
    temperature: f64,
) -> Result<()> {
    write_atomic(&folder.join(U_NK), "write", &u_nk((time, ph), (states, energies), temperature)?)
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

/// Content of [`DHDL`]: reduced derivatives by time and λ, one window after the other; `None` if λ has moved in one of them.
fn dhdl(windows: &[&LambdaSeries], temperature: f64) -> Result<Option<Vec<u8>>> {
    let sites = &windows[0].sites;
    let mut columns: Vec<Column> = sites.iter().map(|name| (name.clone(), Cow::Owned(Vec::new()))).collect();
    columns.push(("time".into(), Cow::Owned(Vec::new())));
    columns.extend(sites.iter().map(|name| (format!("{name}-lambda"), Cow::Owned(Vec::new()))));
    for series in windows {
        let (dvdl, rest) = columns.split_at_mut(sites.len());
        for ((_, column), dvdl) in dvdl.iter_mut().zip(&series.dvdl) {
            column.to_mut().extend(dvdl.iter().map(|dvdl| dvdl / (GAS_CONSTANT * temperature)));
        }
        rest[0].1.to_mut().extend(&series.time);
        for ((_, column), lambda) in rest[1..].iter_mut().zip(&series.lambda) {
            let first = lambda.first().copied().unwrap_or_default();
            if lambda.iter().any(|lambda| (lambda - first).abs() > FIXED) {
                return Ok(None);
            }
            // One state has one λ to the last bit.
            column.to_mut().extend(lambda.iter().map(|_| first));
        }
    }
    let frame = described(&columns, sites.len().., ("unicode", "object"));
    encode(&columns, &[("pandas", frame), (ATTRIBUTES, reduced(temperature))]).map(Some)
}

/// Content of [`U_NK`].
fn u_nk((time, ph): (&[f64], f64), (states, energies): (&[f64], &[Vec<f64>]), temperature: f64) -> Result<Vec<u8>> {
    let state = |(ph, energies): (&f64, &'_ Vec<f64>)| -> Column { (format!("{ph:?}"), Cow::Owned(energies.clone())) };
    let mut columns: Vec<Column> = states.iter().zip(energies).map(state).collect();
    columns.push(("time".into(), Cow::Borrowed(time)));
    columns.push(("pH".into(), Cow::Owned(vec![ph; time.len()])));
    // The columns are named by numbers, which pandas makes of their texts.
    let frame = described(&columns, states.len().., ("float64", "float64"));
    encode(&columns, &[("pandas", frame), (ATTRIBUTES, reduced(temperature))])
}

/// Attributes of energies in units of RT.
fn reduced(temperature: f64) -> Value {
    json!({ "temperature": temperature, "energy_unit": "kT" })
}

/// What pandas keeps of a data frame: `index` are the columns that are its index, `names` the types of the names of the others.
fn described(columns: &[Column], index: std::ops::RangeFrom<usize>, names: (&str, &str)) -> Value {
    let column = |(name, _): &Column| json!({ "name": name, "field_name": name, "pandas_type": "float64", "numpy_type": "float64", "metadata": null });
    let encoding = if names.0 == "unicode" { json!({ "encoding": "UTF-8" }) } else { Value::Null };
    let labels = json!({
        "name": null, "field_name": null, "pandas_type": names.0, "numpy_type": names.1, "metadata": encoding
    });
    json!({
        "index_columns": columns[index].iter().map(|(name, _)| name).collect::<Vec<_>>(),
        "column_indexes": [labels],
        "columns": columns.iter().map(column).collect::<Vec<Value>>(),
        "creator": { "library": "octitrate", "version": env!("CARGO_PKG_VERSION") },
        "pandas_version": "2.1.0",
    })
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
        let folder = temp_dir::TempDir::new().unwrap();
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
    fn a_table_is_read_back() {
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
    }

    fn window(lambda: f64, dvdl: [f64; 2]) -> LambdaSeries {
        LambdaSeries {
            time: vec![0.0, 0.1 + 0.2],
            sites: vec!["GLU 2".into(), "buffer".into()],
            lambda: vec![vec![lambda; 2], vec![1.0 - lambda, 1.0 - lambda + 1e-6]],
            dvdl: vec![dvdl.to_vec(), vec![2.0, 4.0]],
            ..LambdaSeries::default()
        }
    }

    /// The index is time and λ; λ is the same to the last bit in all frames of a window, since equal λ are one state for alchemlyb.
    #[test]
    fn windows_are_in_one_file() {
        let (first, second) = (window(0.25, [-3.5, 1e-300]), window(0.5, [1.0, 2.0]));
        let (names, rows, pairs) = read(dhdl(&[&first, &second], 300.0).unwrap().unwrap());
        assert_eq!(names, ["GLU 2", "buffer", "time", "GLU 2-lambda", "buffer-lambda"]);
        assert!((rows[0][0] + 3.5 / (GAS_CONSTANT * 300.0)).abs() < 1e-12);
        assert_eq!(rows[1][2..], [0.1 + 0.2, 0.25, 0.75]);
        assert_eq!((rows.len(), &rows[2][3..]), (4, &[0.5, 0.5][..]));
        let frame: Value = serde_json::from_str(&pairs[0].1).unwrap();
        assert_eq!(frame["index_columns"], json!(["time", "GLU 2-lambda", "buffer-lambda"]));
        let folder = temp_dir::TempDir::new().unwrap();
        let other = LambdaSeries { sites: vec!["GLU 2".into(), "GLU 3".into()], ..second.clone() };
        assert!(write_windows(folder.path(), &[first.clone(), other], 300.0).is_err());
        write_windows(folder.path(), &[first, second], 300.0).unwrap();
        assert!(folder.path().join(DHDL).exists());
    }

    /// Where λ moves, frames of equal λ are no samples of a state, and there is no file.
    #[test]
    fn a_run_with_free_lambda_has_no_dhdl() {
        let folder = temp_dir::TempDir::new().unwrap();
        let mut series = window(0.25, [1.0, 2.0]);
        series.lambda[0][1] = 0.26;
        assert!(dhdl(&[&series], 300.0).unwrap().is_none());
        write(folder.path(), &series, &SitesFile::default()).unwrap();
        assert!(folder.path().join(LAMBDA).exists() && !folder.path().join(DHDL).exists());
    }

    #[test]
    fn energies_at_every_ph_are_read_back() {
        let energies = [vec![0.5, -1.0], vec![2.0, 1e-300]];
        let (names, rows, pairs) = read(u_nk((&[0.0, 0.5], 4.25), (&[4.0, 4.25], &energies), 300.0).unwrap());
        assert_eq!(names, ["4.0", "4.25", "time", "pH"]);
        assert_eq!(rows, [[0.5, 2.0, 0.0, 4.25], [-1.0, 1e-300, 0.5, 4.25]]);
        let frame: Value = serde_json::from_str(&pairs[0].1).unwrap();
        assert_eq!(frame["index_columns"], json!(["time", "pH"]));
        assert_eq!(frame["column_indexes"][0]["numpy_type"], json!("float64"));
    }
}
