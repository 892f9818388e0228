//! Comparison of the layouts of shared structures: what a device reports against what the host has.

use super::arguments::Out;
use super::{Device, DeviceError, Launch, Source};
use crate::arguments;

arguments! {
    /// Arguments of the kernel that reports layouts.
    struct ReportArgs<'a> {
        /// Size of each structure, then place and size of each of its fields.
        numbers: Out<'a, i64>,
    }
}

/// For tests: whether a device lays out all structures that the arguments of a source are made of as the host does. The device itself
/// measures them, in a kernel made for that.
///
/// # Errors
/// [`DeviceError::Layout`] names the first difference; sources that do not compile; a lost device.
pub fn check_layouts(device: &Device, source: &Source) -> Result<(), DeviceError> {
    let layouts = source.layouts();
    let (mut expected, mut lines) = (Vec::new(), String::new());
    let mut report = |what: String, value: usize| {
        lines.push_str(&format!("    a.numbers[{}] = (long long)({what});\n", expected.len()));
        expected.push((what, value));
    };
    for layout in layouts.defined() {
        let name = layout.name;
        report(format!("sizeof({name})"), layout.size);
        for field in &layout.fields {
            report(format!("(char *)&(({name} *)0)->{} - (char *)0", field.name), field.offset);
            report(format!("sizeof({name}::{})", field.name), field.size);
        }
    }
    let kernel = format!("KERNEL void report(const __grid_constant__ ReportArgs a) {{\n{lines}}}\n");
    let module = device.compile(&source.with_text("layouts", kernel).kernel::<ReportArgs<'static>>("report"))?;
    let (stream, numbers) = (device.stream()?, device.zeros::<i64>(expected.len())?);
    let arguments = ReportArgs { numbers: (&numbers).into() };
    stream.launch(&module.kernel::<ReportArgs<'static>>("report")?, Launch::new(1, 1), arguments)?;
    for ((what, host), found) in expected.into_iter().zip(numbers.read(&stream)?) {
        if i64::try_from(host) != Ok(found) {
            return Err(DeviceError::Layout { what, host, device: found });
        }
    }
    Ok(())
}
