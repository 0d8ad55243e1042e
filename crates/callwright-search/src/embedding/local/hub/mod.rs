//! Models of a hub: which files make one, and fetching them into a folder.

mod download;
mod repository;

pub use download::DownloadWatcher;

pub(in crate::embedding) use download::fetch;

#[cfg(test)]
mod tests;
