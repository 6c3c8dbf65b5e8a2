//! TLS with certificates made here: who is trusted, who is not, and what is said of it.

use crate::common;

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

use common::ask;
use recinto_engine::Request;
use recinto_remote::{Address, Config, Key, Kind, Vendor};
use recinto_testkit::service::recording;
use rustls::{
    ServerConfig, ServerConnection, StreamOwned,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};

/// A service with a certificate for `names` of its own; its address, and the certificate.
fn service(names: &[&str]) -> (String, String) {
    let names = names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let made = rcgen::generate_simple_self_signed(names).unwrap();
    let pem = made.cert.pem();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let crypto = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(crypto)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = StreamOwned::new(connection, stream);
            let mut seen = Vec::new();
            let mut buffer = [0; 4096];
            // A client that does not trust it ends the line here.
            while let Ok(read @ 1..) = stream.read(&mut buffer) {
                seen.extend_from_slice(&buffer[..read]);
                if seen.ends_with(b"}") {
                    let _ = stream.write_all(&recording("chat-whole"));
                    stream.conn.send_close_notify();
                    let _ = stream.flush();
                    break;
                }
            }
        }
    });
    (format!("https://localhost:{port}/v1"), pem)
}

fn config(url: &str, ca: Option<&str>) -> Config {
    let vendor = Vendor::from_name("openai").unwrap();
    let mut config = Config::new(vendor, "gpt-4.1");
    config.base_url = Some(Address::read("openai", "base_url", url).unwrap());
    config.key = Some(Key::new(vendor, "sk-secreto").unwrap());
    config.ca = ca.map(|pem| pem.as_bytes().to_vec());
    config
}

#[test]
fn who_is_trusted() {
    let (url, own) = service(&["localhost"]);
    let (_, other) = service(&["localhost"]);
    let (elsewhere, its) = service(&["example.com"]);
    let request = Request::user("¿Qué?");
    let cases = [
        ("its own certificate", &url, Some(own.as_str()), None),
        ("another's", &url, Some(other.as_str()), Some("cannot be trusted")),
        ("for another name", &elsewhere, Some(its.as_str()), Some("for another name")),
    ];
    for (name, url, ca, want) in cases {
        match (ask(config(url, ca), &request).0, want) {
            (Ok(answer), None) => assert!(answer.text.starts_with("¡Hola"), "{name}"),
            (Err(error), Some(part)) => {
                assert_eq!(error.kind(), Kind::Unavailable, "{name}: {error}");
                assert!(error.to_string().contains(part), "{name}: {error}");
            }
            (found, _) => panic!("{name}: {:?}", found.err()),
        }
    }
    // The system's list does not have it; where there is none, that is said.
    match recinto_remote::Remote::open(config(&url, None)) {
        Ok(_) => {
            let error = ask(config(&url, None), &request).0.err().unwrap();
            assert!(error.to_string().contains("nobody who is trusted here"), "{error}");
        }
        Err(error) => assert!(error.to_string().contains("ca_file"), "{error}"),
    }
}

/// A proxy that lets lines through and keeps what it was asked; its address.
fn proxy() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let asked = Arc::<Mutex<Vec<String>>>::default();
    let all = Arc::clone(&asked);
    thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && client.read(&mut byte).is_ok_and(|n| n == 1) {
                head.push(byte[0]);
            }
            let head = String::from_utf8(head).unwrap();
            let target = head.split(' ').nth(1).unwrap_or_default().to_owned();
            all.lock().unwrap().push(head);
            let Ok(mut service) = TcpStream::connect(&target) else { continue };
            client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").unwrap();
            let (mut up, mut down) = (client.try_clone().unwrap(), service.try_clone().unwrap());
            thread::spawn(move || std::io::copy(&mut up, &mut service));
            thread::spawn(move || std::io::copy(&mut down, &mut client));
        }
    });
    (url, asked)
}

#[test]
fn a_proxy_sees_where_and_not_what() {
    let (url, own) = service(&["localhost"]);
    let (through, asked) = proxy();
    let mut config = config(&url, Some(&own));
    config.proxy = Some(Address::read("openai", "proxy", &through).unwrap());
    let answer = ask(config, &Request::user("canary")).0.unwrap_or_else(|e| panic!("{e}"));
    assert!(answer.text.starts_with("¡Hola"));
    let asked = asked.lock().unwrap();
    let host = url.trim_start_matches("https://").trim_end_matches("/v1");
    assert_eq!(asked.len(), 1);
    assert!(asked[0].starts_with(&format!("CONNECT {host} HTTP/1.1\r\n")), "{}", asked[0]);
    assert!(!asked[0].contains("canary") && !asked[0].contains("secreto"), "{}", asked[0]);
}
