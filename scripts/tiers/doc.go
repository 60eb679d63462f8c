// Command tiers runs the module's tests tier by tier and says what ran, what
// was skipped and why. Without arguments it runs every tier but vm-arm64; otherwise
// those named:
//
//	go run ./scripts/tiers [unit|live|peer|vm|vm-6.1|vm-nobpf|vm-arm64]…
//
// A test belongs to the tier that its name says. TestLive… needs the running
// kernel, TestPeer… compares with another tool; every other test, example and
// fuzz seed is the unit tier, which runs anywhere without privileges. The
// packages of the live and peer tiers run one after another, because what they
// sample is the one machine. The vm tiers run the live tests on other kernels
// (scripts/vmrun), as many guests at a time as there are CPUs: an emulated one
// keeps one CPU busy. There a skip is a failure where the kernel is known to have
// what the test needs.
//
// The status is 1 if a test failed, if a package did not build, or if a tier
// ran nothing: a tier whose every test was skipped has shown nothing.
package main
