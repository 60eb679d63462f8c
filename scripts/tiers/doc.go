// Command tiers runs the module's tests tier by tier and reports what ran, what was
// skipped and why. Without arguments it is the gate: live, then unit and peer together, beside
// a guest. Otherwise it runs the tiers that are named; all is every one of them:
//
//	go run ./scripts/tiers [all|unit|live|peer|vm|vm-6.1|vm-6.12|vm-7|vm-nobpf|vm-arm64|vm-arm64-pmu]…
//
// A test belongs to the tier that its name says. TestLive… needs the running
// kernel, TestPeer… compares with another tool; every other test, example and
// fuzz seed is the unit tier, which runs anywhere without privileges. The vm tiers
// run all live tests on other kernels (scripts/vmrun), as many guests at a time as
// there are CPUs: an emulated one keeps one CPU busy. There a skip is a failure where
// the kernel is known to have what the test needs.
//
// The gate's guest runs the live tests that the host's kernel had to skip. When
// the live tests ran on the host and in guests, the last lines report which of them
// ran on no kernel, and bin/live-tests.txt which one ran where.
//
// The status is 1 if a test failed, if a package did not build, if a tier ran
// nothing, or if a live test ran on no kernel: a test that was skipped everywhere has
// shown nothing.
package main
