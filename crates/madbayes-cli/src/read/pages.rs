//! A check on the pages of a Parquet file, so that a damaged count does not set aside endless memory.

use ::parquet::basic::{Encoding, Type};
use ::parquet::column::page::{Page, PageMetadata, PageReader};
use ::parquet::errors::{ParquetError, Result};

/// Hands on the pages of another reader whose counts are possible.
pub(super) struct CheckedPages {
    /// The reader of the pages.
    pub inner: Box<dyn PageReader>,
    /// The type of the values.
    pub kind: Type,
    /// How many values the column has in this row group; no page has more.
    pub most_values: usize,
    /// Whether the column may have missing values, so that a page starts with levels.
    pub optional: bool,
}

impl CheckedPages {
    fn check(&self, page: &Page) -> Result<()> {
        let impossible = || ParquetError::General("a page has more values than it can hold".to_owned());
        let count = page.num_values() as usize;
        match page {
            Page::DictionaryPage { buf, .. } => {
                let smallest = match self.kind {
                    Type::INT64 | Type::DOUBLE => 8,
                    Type::INT96 => 12,
                    Type::INT32 | Type::FLOAT | Type::BYTE_ARRAY => 4,
                    Type::BOOLEAN | Type::FIXED_LEN_BYTE_ARRAY => 1,
                };
                if count > buf.len() / smallest {
                    return Err(impossible());
                }
            }
            Page::DataPage { buf, encoding, .. } => {
                // The levels come first, after their length in four bytes.
                let levels = buf.first_chunk().map_or(0, |&length| u32::from_le_bytes(length) as usize);
                let start = if self.optional { levels.saturating_add(4) } else { 0 };
                self.check_values(buf.get(start..).unwrap_or_default(), *encoding, count).ok_or_else(impossible)?;
            }
            Page::DataPageV2 { buf, encoding, def_levels_byte_len, rep_levels_byte_len, .. } => {
                let start = *def_levels_byte_len as usize + *rep_levels_byte_len as usize;
                self.check_values(buf.get(start..).unwrap_or_default(), *encoding, count).ok_or_else(impossible)?;
            }
        }
        Ok(())
    }

    /// Compares the counts; texts with delta encoding repeat theirs in the data, and memory is set aside for it.
    fn check_values(&self, data: &[u8], encoding: Encoding, count: usize) -> Option<()> {
        if count > self.most_values {
            return None;
        }
        if matches!(encoding, Encoding::DELTA_LENGTH_BYTE_ARRAY | Encoding::DELTA_BYTE_ARRAY) {
            let mut numbers = data;
            let (_block_size, _blocks) = (variable_number(&mut numbers)?, variable_number(&mut numbers)?);
            if variable_number(&mut numbers)? > count as u64 {
                return None;
            }
        }
        Some(())
    }
}

fn variable_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..63).step_by(7) {
        let byte = *bytes.split_off_first()?;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

impl Iterator for CheckedPages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for CheckedPages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.inner.get_next_page()?;
        if let Some(page) = &page {
            self.check(page)?;
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.inner.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.inner.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.inner.at_record_boundary()
    }
}
