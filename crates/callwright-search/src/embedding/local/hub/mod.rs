//! Models of a hub: their files, and the download to a folder.

mod download;
mod repository;

pub use download::DownloadWatcher;

pub(in crate::embedding) use download::fetch;

#[cfg(test)]
mod tests;
