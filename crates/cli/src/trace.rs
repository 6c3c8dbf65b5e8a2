//! Whether spans are written, and where: the setting `trace_file`.

use recinto_provider::Settings;

use crate::failure::Failure;

/// Begins to write the spans of this process to the file that `settings` name, if they name one.
///
/// # Errors
///
/// This program cannot write spans; the file cannot be written, or others could read it.
#[cfg(feature = "otel")]
pub fn start(settings: &Settings) -> Result<(), Failure> {
    let Some(file) = &settings.trace_file else { return Ok(()) };
    settings.traces_content()?;
    crate::otlp::Exporter::start(&file.value).map_err(|error| {
        let what = format!("cannot write spans to {}: {error}", file.value.display());
        Failure::running(what).hint(&format!("`trace_file` is set by {}", file.source))
    })
}

/// The same where the feature is off.
#[cfg(not(feature = "otel"))]
pub fn start(settings: &Settings) -> Result<(), Failure> {
    match &settings.trace_file {
        None => Ok(()),
        Some(file) => {
            let what =
                format!("`trace_file` is set ({}), and this program writes no spans", file.source);
            Err(Failure::of_kind(crate::exit::Exit::Usage, "not-built", what)
                .hint("build it with the feature `otel`, or take the setting away"))
        }
    }
}
