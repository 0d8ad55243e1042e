"""Measures proxies beside each other, for bench/run. docs/benchmarks/proxy-throughput.md documents the method."""
