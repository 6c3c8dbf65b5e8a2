//! A service on loopback that answers as it is told, connection by connection, and keeps what was
//! asked. For tests of what is sent elsewhere; nothing leaves the machine.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

/// What is done with a connection after its request was read.
#[derive(Clone)]
pub enum Act {
    /// These bytes are sent, then it is closed.
    Send(Vec<u8>),
    /// The same, so many bytes at a time.
    Steps(Vec<u8>, usize),
    /// These bytes, then nothing more; it stays open.
    Hang(Vec<u8>),
    /// These bytes, one after the other with a pause before each.
    Drip(Vec<u8>, Duration),
}

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Its first line.
    pub line: String,
    /// Headers, names in small letters.
    pub headers: Vec<(String, String)>,
    /// Its body.
    pub body: Vec<u8>,
}

impl Seen {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|row| row.0 == name).map(|row| row.1.as_str())
    }
}

/// A service; it ends when it is dropped.
pub struct Service {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    over: Arc<AtomicBool>,
}

impl Service {
    /// Does the first of `acts` with the first connection, and so on; the last one with all others.
    pub fn start(acts: Vec<Act>) -> Service {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port of this machine");
        let address = listener.local_addr().expect("its address");
        let (seen, over) = (Arc::<Mutex<Vec<Seen>>>::default(), Arc::<AtomicBool>::default());
        let (all, ended) = (Arc::clone(&seen), Arc::clone(&over));
        thread::spawn(move || {
            for (count, stream) in listener.incoming().flatten().enumerate() {
                if ended.load(Ordering::Relaxed) {
                    return;
                }
                let act = acts.get(count).or(acts.last()).cloned();
                let (all, ended) = (Arc::clone(&all), Arc::clone(&ended));
                thread::spawn(move || {
                    if let (Some(seen), Some(act)) = (read(&stream), act) {
                        all.lock().expect("no thread failed").push(seen);
                        // Whoever asks may be gone.
                        let _ = answer(stream, &act, &ended);
                    }
                });
            }
        });
        Service { address, seen, over }
    }

    /// Sends each of these recordings, in turn.
    pub fn of(recordings: &[&str]) -> Service {
        Service::start(recordings.iter().map(|name| Act::Send(recording(name))).collect())
    }

    /// Its address, with a path as services have one.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Its host and port.
    pub fn host(&self) -> String {
        self.address.to_string()
    }

    /// A table of a `recinto.toml` that lets what nobody labelled leave to it, as `provider`.
    pub fn policy(&self, provider: &str) -> String {
        let host = self.host();
        format!(
            "[[policy.allow]]\nprovider = \"{provider}\"\nhost = \"{host}\"\n\
             labels = [\"unlabelled\"]\n"
        )
    }

    /// What was asked so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect("no thread failed").clone()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address);
    }
}

/// The bytes of a recording of `crates/remote/tests/recordings`; its head has lines that end as
/// HTTP wants them.
pub fn recording(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../remote/tests/recordings");
    let path = folder.join(format!("{name}.http"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let (head, body) = text.split_once("\n\n").unwrap_or((&text, ""));
    let head = head.trim_end().replace('\n', "\r\n");
    format!("{head}\r\n\r\n{body}").into_bytes()
}

fn read(stream: &TcpStream) -> Option<Seen> {
    stream.set_read_timeout(Some(Duration::from_secs(30))).ok()?;
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let (mut headers, mut length) = (Vec::new(), 0usize);
    loop {
        let mut row = String::new();
        reader.read_line(&mut row).ok()?;
        let row = row.trim_end();
        if row.is_empty() {
            break;
        }
        let (name, value) = row.split_once(':')?;
        let (name, value) = (name.to_ascii_lowercase(), value.trim().to_owned());
        if name == "content-length" {
            length = value.parse().ok()?;
        }
        headers.push((name, value));
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Seen { line: line.trim_end().to_owned(), headers, body })
}

fn answer(mut stream: TcpStream, act: &Act, over: &AtomicBool) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    match act {
        Act::Send(bytes) => stream.write_all(bytes),
        Act::Steps(bytes, step) => {
            for part in bytes.chunks(*step) {
                stream.write_all(part)?;
                stream.flush()?;
            }
            Ok(())
        }
        Act::Hang(bytes) => {
            stream.write_all(bytes)?;
            while !over.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(10));
            }
            Ok(())
        }
        Act::Drip(bytes, pause) => {
            for byte in bytes {
                thread::sleep(*pause);
                if over.load(Ordering::Relaxed) {
                    break;
                }
                stream.write_all(&[*byte])?;
            }
            Ok(())
        }
    }
}
