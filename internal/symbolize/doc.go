// Package symbolize turns a collector's window into a finished profile: it
// gives each distinct frame its name, once, by the tables of package symbols.
//
// It runs at report time, on its own goroutine, and keeps what it has learned
// from one window to the next. Files are read through the readers that the
// window carries, so that processes that have exited and files that are gone
// symbolize too.
package symbolize
