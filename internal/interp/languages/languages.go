// Package languages lists the runtimes that ringtap finds in processes.
package languages

import (
	"github.com/ringtap/ringtap/internal/interp"
	"github.com/ringtap/ringtap/internal/interp/perl"
	"github.com/ringtap/ringtap/internal/interp/php"
	"github.com/ringtap/ringtap/internal/interp/python"
	"github.com/ringtap/ringtap/internal/interp/ruby"
)

// Detectors are those of all languages.
func Detectors() []interp.Detector {
	return []interp.Detector{python.Detect, php.Detect, perl.Detect, ruby.Detect}
}
