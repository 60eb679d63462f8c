// Package facility finds out what the running kernel offers to ringtap and what replaces
// missing facilities, and judges by that which commands work. `ringtap check` prints both.
//
// A Need has choices in order of preference, and ringtap uses the first that is present.
// To find out, the package opens an event on this process and closes it again, or looks
// for the kernel's file. It changes nothing.
package facility
