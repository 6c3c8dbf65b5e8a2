//! Sessions as bytes: written to be gone on with later, by the same model only.
//!
//! All numbers are little-endian. In order: [`MAGIC`]; u32 format; u32 numerics revision; SHA-256
//! of the architecture's text; SHA-256 of the weights; u32 type of keys and values; u64 ids; u32
//! caches; for each cache u32 heads, u32 key size, u32 value size, u64 window (0: none); the ids,
//! u32 each; for each cache the pages that a later position can still see, of each only the
//! positions that were fed; SHA-256 of everything before it.
//!
//! The header tells every length, and it is compared with the model before anything is read
//! into memory. Such a file holds what was said, as ids in plain numbers: it is data to be kept
//! like the conversation itself, and who may read or write it is for its owner to say. The
//! checksum finds damage, not forgery.

use std::{
    io::{self, Read, Write},
    ops::Range,
};

use recinto_arch::Cache;
use recinto_kernels::{KvType, NUMERICS, PAGE};
use recinto_os::Wiped;
use recinto_receipt::Hasher;

use crate::{
    batch::unknown_id,
    error::{Error, Kind, guarded},
    mark::{State, first_seen},
    model::Model,
    session::{Session, SessionOptions, position_bytes},
};

const MAGIC: &[u8; 16] = b"recinto session\n";
/// Format of these bytes; another number is refused.
const FORMAT: u32 = 1;
/// Bytes of a checksum.
const DIGEST: usize = 32;
/// Bytes that are given to the system at once.
const PIECE: usize = 64 << 10;

impl Session {
    /// Writes the session, to be gone on with by [`Model::resume`]. Waits for the digest of the
    /// weights, which binds the two. The bytes hold every id that was fed: whoever can read them
    /// can read the conversation.
    pub fn save(&self, to: &mut impl Write) -> Result<(), Error> {
        guarded(|| {
            let header = header(&self.model, self.kv(), self.position())?;
            let mut sink = Sink::new(to, self.model.0.lock_memory)?;
            self.write(&header, &mut sink)
                .and_then(|()| sink.finish())
                .map_err(|e| Error::new(Kind::Transfer, format!("cannot write the session: {e}")))
        })
    }

    fn write(&self, header: &[u8], sink: &mut Sink<'_>) -> io::Result<()> {
        sink.put(header)?;
        for id in self.ids() {
            sink.put(&id.to_le_bytes())?;
        }
        for (shape, kv) in self.model.program().caches.iter().zip(&self.state.caches) {
            kv.write(saved_of(shape, self.position()), &mut |bytes| sink.put(bytes))?;
        }
        Ok(())
    }
}

impl Model {
    /// Goes on with what [`Session::save`] wrote: the session stands where the saved one stood,
    /// and gives the same bits from there. Reads no byte behind its end. Waits for the digest of
    /// the weights.
    ///
    /// Refused are bytes of another model, another numerics revision, another type of keys and
    /// values than `options` asks for, and bytes that are cut or damaged; memory is taken only
    /// for what this model's own shapes and the session's context allow, as it fills.
    pub fn resume(&self, from: &mut impl Read, options: &SessionOptions) -> Result<Session, Error> {
        guarded(|| Session::read(self, from, options))
    }
}

impl Session {
    fn read(
        model: &Model,
        from: &mut dyn Read,
        options: &SessionOptions,
    ) -> Result<Session, Error> {
        let empty = Session::new(model, options)?;
        let want = header(model, options.kv, 0)?;
        let mut source = Source::new(from, model.0.lock_memory)?;
        // First what every header has: one of another model may be shorter than this one's.
        let mut got = vec![0; want.len()];
        source.reading(FIXED as u64);
        source.take(&mut got[..FIXED]).map_err(broken)?;
        agree(&want[..FIXED], &got[..FIXED])?;
        source.reading((want.len() - FIXED) as u64);
        source.take(&mut got[FIXED..]).map_err(broken)?;
        let position = agree(&want, &got)?;
        let (needed, available) = (position, empty.context() as u64);
        if needed > available {
            let what = format!("the saved session has {needed} positions, the context {available}");
            let size = |n| usize::try_from(n).unwrap_or(usize::MAX);
            let kind = Kind::Overflow { needed: size(needed), available: size(available) };
            return Err(Error::new(kind, what).hint("ask for a larger context"));
        }
        // Not above the context, so a size in memory.
        let position = position as usize;
        let mut state = State::new(model, options.kv);
        let ranges = model
            .program()
            .caches
            .iter()
            .map(|shape| (saved_of(shape, position), position_bytes(shape, options.kv)));
        let bytes =
            ranges.clone().map(|(range, one)| (range.len() as u64).saturating_mul(one as u64));
        let bytes = bytes.fold(0, u64::saturating_add);
        model.afford(bytes, "keys and values of the saved session")?;
        source.reading(bytes.saturating_add(4 * position as u64 + DIGEST as u64));
        let mut left = position;
        let mut piece = [0; 4096];
        while left > 0 {
            let some = &mut piece[..(4 * left).min(4096)];
            source.take(some).map_err(broken)?;
            let ids = &mut state.ids;
            ids.try_reserve(ids.len() + some.len() / 4).map_err(|_| model.no_memory())?;
            some.as_chunks::<4>().0.iter().for_each(|id| ids.push(u32::from_le_bytes(*id)));
            left -= some.len() / 4;
            zeroize::Zeroize::zeroize(some);
        }
        for ((range, _), kv) in ranges.zip(&mut state.caches) {
            let read = kv.read(range, &mut |bytes| source.take(bytes));
            read.map_err(|e| match e.kind() {
                io::ErrorKind::OutOfMemory => model.no_memory(),
                _ => broken(e),
            })?;
        }
        source.finish()?;
        unknown_id(&state.ids, model.program().vocabulary).map_err(|_| {
            Error::new(Kind::Saved, "the saved session has a token id this model does not know")
        })?;
        if state.ids.refused() {
            return Err(model.no_memory());
        }
        Ok(Session::of(model, empty.context(), state))
    }
}

/// The positions of a layer that are saved: what a later one can still see, from the front of its
/// page on.
fn saved_of(shape: &Cache, position: usize) -> Range<usize> {
    first_seen(shape, position) / PAGE * PAGE..position
}

/// What a saved session begins with, up to its ids.
fn header(model: &Model, kind: KvType, position: usize) -> Result<Vec<u8>, Error> {
    let [architecture, weights] = model.identity()?;
    let number = KvType::ALL.iter().position(|one| *one == kind).unwrap_or_default() as u32;
    let caches = &model.program().caches;
    let mut out = Vec::with_capacity(FIXED + SHAPE * caches.len());
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&FORMAT.to_le_bytes());
    out.extend_from_slice(&NUMERICS.to_le_bytes());
    out.extend_from_slice(architecture.as_bytes());
    out.extend_from_slice(weights.as_bytes());
    out.extend_from_slice(&number.to_le_bytes());
    out.extend_from_slice(&(position as u64).to_le_bytes());
    out.extend_from_slice(&(caches.len() as u32).to_le_bytes());
    for shape in caches {
        for size in [shape.kv_heads, shape.key_dim, shape.value_dim] {
            out.extend_from_slice(&(size as u32).to_le_bytes());
        }
        out.extend_from_slice(&(shape.window.unwrap_or(0) as u64).to_le_bytes());
    }
    Ok(out)
}

/// Bytes before the shapes, and of one shape.
const FIXED: usize = 16 + 4 + 4 + 2 * DIGEST + 4 + 8 + 4;
const SHAPE: usize = 3 * 4 + 8;

/// Compares a header with the one this model would write, part by part; how many positions the
/// saved session has.
fn agree(want: &[u8], got: &[u8]) -> Result<u64, Error> {
    const POSITION: Range<usize> = 92..100;
    let parts = [
        (0..16, "this is not a saved session", None),
        (16..20, "the saved session has a format this version does not know", None),
        (20..24, "the saved session is of another numerics revision", Some(AGAIN)),
        (24..56, "the saved session is of another architecture", Some(AGAIN)),
        (56..88, "the saved session is of other weights", Some(AGAIN)),
        (88..92, "the saved session keeps keys and values in another type", Some(KV)),
        (POSITION.end..want.len(), "the saved session has other layers than this model", None),
    ];
    for (range, what, hint) in parts {
        if want[range.clone()] != got[range] {
            let error = Error::new(Kind::Saved, what);
            return Err(hint.into_iter().fold(error, Error::hint));
        }
    }
    Ok(u64::from_le_bytes(*got[POSITION].first_chunk().expect("eight bytes")))
}

const AGAIN: &str = "feed the text again; a session only goes on with what it was made by";
const KV: &str = "ask for the type it was saved with";

fn broken(error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => {
            Error::new(Kind::Saved, "the saved session ends too early").hint("it was cut short")
        }
        _ => Error::new(Kind::Transfer, format!("cannot read the saved session: {error}")),
    }
}

/// Writes in large pieces, hashing them.
struct Sink<'a> {
    to: &'a mut dyn Write,
    held: Wiped<u8>,
    hasher: Hasher,
}

impl<'a> Sink<'a> {
    fn new(to: &'a mut dyn Write, lock: bool) -> Result<Sink<'a>, Error> {
        Ok(Sink { to, held: piece(lock)?, hasher: Hasher::new() })
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.held.len() + bytes.len() > PIECE {
            self.flush()?;
        }
        self.held.extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.hasher.update(&self.held);
        self.to.write_all(&self.held)?;
        self.held.clear();
        Ok(())
    }

    fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        self.to.write_all(self.hasher.finish().as_bytes())?;
        self.to.flush()
    }
}

/// Reads in large pieces, hashing what is taken and never reading further than it was told.
struct Source<'a> {
    from: &'a mut dyn Read,
    held: Wiped<u8>,
    /// What of `held` was taken.
    at: usize,
    /// Bytes that may still be read.
    left: u64,
    hasher: Hasher,
}

impl<'a> Source<'a> {
    fn new(from: &'a mut dyn Read, lock: bool) -> Result<Source<'a>, Error> {
        Ok(Source { from, held: piece(lock)?, at: 0, left: 0, hasher: Hasher::new() })
    }

    /// `more` bytes of the session follow.
    fn reading(&mut self, more: u64) {
        self.left = more;
    }

    fn take(&mut self, to: &mut [u8]) -> io::Result<()> {
        let mut done = 0;
        while done < to.len() {
            if self.at == self.held.len() {
                self.fill()?;
            }
            let some = &self.held[self.at..];
            let some = &some[..some.len().min(to.len() - done)];
            to[done..done + some.len()].copy_from_slice(some);
            self.hasher.update(some);
            done += some.len();
            self.at += some.len();
        }
        Ok(())
    }

    fn fill(&mut self) -> io::Result<()> {
        let some = usize::try_from(self.left).unwrap_or(usize::MAX).min(PIECE);
        if some == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.held.try_resize(some)?;
        let read = loop {
            match self.from.read(&mut self.held) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        // On an error nothing is held: what was in the piece has been taken.
        let read = read.inspect_err(|_| self.at = self.held.len())?;
        self.held.truncate(read);
        self.at = 0;
        self.left -= read as u64;
        match read {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }

    /// Compares the checksum at the end.
    fn finish(mut self) -> Result<(), Error> {
        let want = std::mem::take(&mut self.hasher).finish();
        let mut got = [0; DIGEST];
        self.take(&mut got).map_err(broken)?;
        match got == *want.as_bytes() {
            true => Ok(()),
            false => Err(Error::new(Kind::Saved, "the saved session is damaged")
                .hint("its checksum does not fit; feed the text again")),
        }
    }
}

/// An empty buffer of one piece.
fn piece(lock: bool) -> Result<Wiped<u8>, Error> {
    let mut held = Wiped::new(lock);
    let refused = held.try_reserve(PIECE).is_err() || held.refused();
    match refused {
        true => Err(Error::new(Kind::Memory, "no memory to pass a session on")),
        false => Ok(held),
    }
}
