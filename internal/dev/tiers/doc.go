// Command tiers runs the module's tests tier by tier and reports what ran, what was
// skipped and why. Without arguments it runs the gate: live, then unit and peer together while
// a guest runs. Otherwise it runs the named tiers; all means every tier:
//
//	go run ./internal/dev/tiers [all|unit|live|peer|vm|vm-6.1|vm-6.12|vm-7|vm-nobpf|vm-arm64|vm-arm64-pmu]…
//
// A test belongs to the tier that its name says. TestLive… needs the running
// kernel, TestPeer… compares with another tool; every other test, example and
// fuzz seed is in the unit tier, which runs anywhere without privileges. The vm tiers
// run all live tests on other kernels (internal/dev/vmrun). They run at most one guest per
// CPU at the same time, because an emulated guest keeps a CPU busy. In a guest, a skip is a
// failure if the kernel is known to have what the test needs.
//
// The gate's guest runs the live tests that the host's kernel had to skip. If the live
// tests ran on the host and in guests, the last lines report which of them ran on no
// kernel, and bin/live-tests.txt lists where each one ran.
//
// The exit status is 1 if a test failed, if a package did not build, if a tier ran
// nothing, or if a live test ran on no kernel: a test that was skipped everywhere shows
// nothing.
package main
