// Command tiers runs the module's tests tier by tier and says what ran, what
// was skipped and why. Without arguments it runs every tier; otherwise those
// named:
//
//	go run ./scripts/tiers [unit|live|peer]…
//
// A test belongs to the tier that its name says. TestLive… needs the running
// kernel, TestPeer… compares with another tool; every other test, example and
// fuzz seed is the unit tier, which runs anywhere without privileges. The
// packages of the live and peer tiers run one after another, because what they
// sample is the one machine.
//
// The status is 1 if a test failed, if a package did not build, or if a tier
// ran nothing: a tier whose every test was skipped has shown nothing.
package main
