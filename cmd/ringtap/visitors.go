package main

import (
	"github.com/ringtap/ringtap/internal/readmem/athit"
	"github.com/ringtap/ringtap/internal/readmem/atsample"
	"github.com/ringtap/ringtap/internal/readmem/helper"
	"github.com/ringtap/ringtap/internal/runtimes/languages"
)

// visitors returns, by name, what this program can do at a sample when it runs as the helper:
// see package helper.
func visitors() map[string]helper.NewVisitor {
	return map[string]helper.NewVisitor{
		athit.Visitor:    athit.NewVisitors(),
		atsample.Visitor: atsample.NewVisitors(languages.Detectors()),
	}
}
