// Package languages lists the runtimes that ringtap finds in processes.
package languages

import (
	"github.com/ringtap/ringtap/internal/runtimes/interp"
	"github.com/ringtap/ringtap/internal/runtimes/perl"
	"github.com/ringtap/ringtap/internal/runtimes/php"
	"github.com/ringtap/ringtap/internal/runtimes/python"
	"github.com/ringtap/ringtap/internal/runtimes/ruby"
)

// Detectors returns the detectors of all languages.
func Detectors() []interp.Detector {
	return []interp.Detector{python.Detect, php.Detect, perl.Detect, ruby.Detect}
}
