//! The entries of a zip archive in memory, as NumPy writes it into an NPZ file.

use anyhow::{Context, Result, bail};
use std::cell::RefCell;
use std::io::{Cursor, Read};
use zip::ZipArchive;

/// DEFLATE makes at most this many bytes out of one: a larger size in the directory is damage, not data.
const LARGEST_RATIO: u64 = 1032;

/// An archive that has been opened.
pub(super) struct Archive<'a>(RefCell<ZipArchive<Cursor<&'a [u8]>>>);

/// One file inside the archive.
pub(super) struct Entry<'a> {
    /// Its name.
    pub name: String,
    archive: &'a Archive<'a>,
    index: usize,
    size: usize,
}

impl<'a> Archive<'a> {
    /// Reads the archive's directory.
    pub fn open(bytes: &'a [u8]) -> Result<Self> {
        let archive = ZipArchive::new(Cursor::new(bytes)).context("the zip archive is cut off or damaged")?;
        Ok(Archive(RefCell::new(archive)))
    }

    /// Its files.
    pub fn entries(&'a self) -> Result<Vec<Entry<'a>>> {
        let mut archive = self.0.borrow_mut();
        let mut entries = Vec::with_capacity(archive.len());
        for index in 0..archive.len() {
            let file = archive.by_index_raw(index).context("the zip archive is damaged")?;
            let name = file.name().to_owned();
            if file.is_dir() {
                continue;
            }
            if file.encrypted() {
                bail!("\"{name}\" is encrypted: save it without a password");
            }
            if file.size() > file.compressed_size().saturating_mul(LARGEST_RATIO) {
                bail!("\"{name}\" cannot be as large as it says: the file is damaged");
            }
            entries.push(Entry { name, archive: self, index, size: file.size() as usize });
        }
        Ok(entries)
    }
}

impl Entry<'_> {
    /// The whole content, checked against its checksum.
    pub fn unpack(&self) -> Result<Vec<u8>> {
        let content = self.unpack_head(usize::MAX)?;
        if content.len() != self.size {
            bail!("\"{}\" is cut off: the file is damaged", self.name);
        }
        Ok(content)
    }

    /// The first bytes of the content, at most `length` of them.
    pub fn unpack_head(&self, length: usize) -> Result<Vec<u8>> {
        let mut archive = self.archive.0.borrow_mut();
        let file = archive.by_index(self.index).with_context(|| format!("\"{}\" cannot be unpacked", self.name))?;
        let mut content = Vec::new();
        file.take(length.min(self.size.saturating_add(1)) as u64)
            .read_to_end(&mut content)
            .with_context(|| format!("\"{}\" cannot be unpacked: the file is damaged", self.name))?;
        Ok(content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archive_without_directory_is_refused() {
        let error = Archive::open(b"PK\x03\x04 and then nothing").err().unwrap();
        assert!(error.to_string().contains("damaged"));
    }
}
