//! Who may vouch for the other end of a TLS line: the system's list, or the one that is set.

use std::{fs::File, io::Read};

use rustls::{
    RootCertStore,
    pki_types::{CertificateDer, pem::PemObject},
};

use crate::error::{Error, Kind};

/// Where systems keep their list: Debian and Ubuntu, Fedora and RHEL, openSUSE, Alpine and macOS.
/// No variable of the environment is looked at.
const PLACES: &[&str] = &[
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// Largest list that is read.
const LARGEST: u64 = 16 << 20;

/// The system's list.
pub(crate) fn system(provider: &'static str) -> Result<RootCertStore, Error> {
    for place in PLACES {
        let Ok(file) = File::open(place) else { continue };
        let mut pem = Vec::new();
        if file.take(LARGEST).read_to_end(&mut pem).is_ok() {
            let roots = read(&pem);
            if !roots.is_empty() {
                return Ok(roots);
            }
        }
    }
    let what = "this system has no list of certificates to trust";
    Err(Error::new(provider, Kind::Setting, what)
        .hint("install one (`ca-certificates`), or name a file with `ca_file`"))
}

/// The certificates in `pem`, and nobody else.
pub(crate) fn own(provider: &'static str, pem: &[u8]) -> Result<RootCertStore, Error> {
    let roots = read(pem);
    match roots.is_empty() {
        false => Ok(roots),
        true => Err(Error::new(provider, Kind::Setting, "`ca_file` holds no certificate")
            .hint("certificates in PEM, between BEGIN CERTIFICATE and END CERTIFICATE")),
    }
}

/// What can be used of it: system lists hold a few that nobody can.
fn read(pem: &[u8]) -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(CertificateDer::pem_slice_iter(pem).flatten());
    roots
}
