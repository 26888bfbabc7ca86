//! TLS towards the server, by the configuration's `sslmode`: a configuration in, what makes handshakes
//! out. Speaks no protocol.

use std::path::Path;
use std::sync::Arc;

use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_postgres_rustls::MakeRustlsConnect;
use tokio_rustls::rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::crypto::{
    CryptoProvider, verify_tls12_signature, verify_tls13_signature,
};
use tokio_rustls::rustls::{
    ClientConfig, DigitallySignedStruct, Error as Fault, RootCertStore, SignatureScheme,
};

use super::{Config, Sslmode};

/// What makes handshakes; where TLS is off it is never asked.
pub(super) fn make(config: &Config) -> Result<MakeRustlsConnect, String> {
    let provider = Arc::new(default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let tls = match config.sslmode {
        Sslmode::VerifyFull => {
            builder.with_root_certificates(roots(config.ca_file.as_deref())?).with_no_client_auth()
        }
        Sslmode::Disable | Sslmode::Require => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Believing(provider)))
            .with_no_client_auth(),
    };
    Ok(MakeRustlsConnect::new(tls))
}

fn roots(file: Option<&Path>) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    let Some(file) = file else {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() {
            return Err("the system has no root certificates: name yours in `ca_file`".to_owned());
        }
        return Ok(roots);
    };
    let fail = |why: String| format!("`ca_file` `{}` {why}", file.display());
    let found = CertificateDer::pem_file_iter(file)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| fail(format!("cannot be read: {error}")))?;
    for certificate in found {
        roots.add(certificate).map_err(|error| fail(format!("holds no root: {error}")))?;
    }
    if roots.is_empty() {
        return Err(fail("holds no certificate".to_owned()));
    }
    Ok(roots)
}

/// Believes every certificate, as `sslmode=require` does everywhere; signatures are still checked.
#[derive(Debug)]
struct Believing(Arc<CryptoProvider>);

impl ServerCertVerifier for Believing {
    fn verify_server_cert(
        &self,
        _certificate: &CertificateDer<'_>,
        _between: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Fault> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Fault> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Fault> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
