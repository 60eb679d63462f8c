package main

import (
	"github.com/ringtap/ringtap/internal/exacttext"
	"github.com/ringtap/ringtap/internal/interp/languages"
	"github.com/ringtap/ringtap/internal/moment"
	"github.com/ringtap/ringtap/perfevent/near"
)

// visitors are what this program does as the helper that looks at threads while they stand
// still: see package near.
func visitors() map[string]near.New {
	return map[string]near.New{
		exacttext.Visitor: exacttext.NewVisitors(),
		moment.Visitor:    moment.NewVisitors(languages.Detectors()),
	}
}
