// Package manual writes what there is to read about a program's commands: the text of
// --help, manual pages, and the completion scripts of shells. All are views of one
// Program, so that they can't disagree.
//
// Help texts are written as people type them, and Parse reads them:
//
//	on-cpu [options] [-- COMMAND ARG...]
//
//	Paragraphs that say what the command does.
//
//	  ringtap on-cpu -d 5      an example and, two blanks and more apart, what it is of
//
//	Paragraphs with the details.
//
// A paragraph whose lines are indented stays as it is.
package manual
