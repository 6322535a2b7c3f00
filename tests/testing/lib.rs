//! What the unit tests of gosling's members share: random input, and the memory that code takes.

pub use arbtest::arbitrary;

pub mod counting_allocator;
pub mod memory_ratio;
pub mod property_testing;
