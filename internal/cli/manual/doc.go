// Package manual writes the text of --help, manual pages, and shell completion scripts.
// All are views of one Program, so that they cannot disagree.
//
// Help texts are written as people type them, and Parse reads them:
//
//	on-cpu [options] [-- COMMAND ARG...]
//
//	Paragraphs that say what the command does.
//
//	  ringtap on-cpu -d 5      an example and, after two or more blanks, what it shows
//
//	Paragraphs with the details.
//
// A paragraph whose lines are indented stays as it is.
package manual
