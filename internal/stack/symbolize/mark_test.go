package symbolize_test

import (
	"testing"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/stack/symbolize"
)

func TestAPlaceWhereTheStackIsSwitchedIsAMark(t *testing.T) {
	p := symbolizer(t, symbolize.Options{}).Profile(set(nil, []callchain.Frame{{Object: callchain.Marks, Offset: callchain.MarkSwitch}}), nil)
	if f := p.Frames[0]; f.Name != "[stack switch]" || !p.Objects[f.Object].Marks {
		t.Errorf("frame %+v of %+v", f, p.Objects[f.Object])
	}
}
