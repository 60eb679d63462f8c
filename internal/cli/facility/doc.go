// Package facility finds out which facilities the running kernel has, what ringtap uses in
// place of missing ones, and which commands work as a result. `ringtap check` prints both.
//
// A Need has choices in order of preference, and ringtap uses the first that is present.
// To find out, the package opens an event on this process and closes it again, or looks
// for the kernel's file. It changes nothing.
package facility
