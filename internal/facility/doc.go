// Package facility finds out what the running kernel offers to ringtap and what
// is used in the place of what it does not: the table of `ringtap check`.
//
// A Need has choices in order of preference; the first that is present is used.
// Presence is found by trying (an event is opened on this process and closed
// again) or by the file that the kernel shows for it; nothing is changed.
package facility
