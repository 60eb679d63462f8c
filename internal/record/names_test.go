package record

import (
	"slices"
	"testing"

	"github.com/ringtap/ringtap/internal/perfdata"
)

func TestGeneratedFunctionsThatReplacedOthersHaveNoName(t *testing.T) {
	got := withoutReplaced([]perfdata.Symbol{
		{Address: 0x3000, Size: 8, Name: "alone"},
		{Address: 0x1000, Size: 0x40, Name: "old"},
		{Address: 0x1020, Size: 8, Name: "new"},
		{Address: 0x1030, Size: 8, Name: "newer, within the old one"},
		{Address: 0x1040, Size: 8, Name: "right behind it"},
		{Address: 0x2000, Size: 8, Name: "first"},
		{Address: 0x2000, Size: 16, Name: "second at one place"},
	})
	want := []perfdata.Symbol{{Address: 0x1040, Size: 8, Name: "right behind it"}, {Address: 0x3000, Size: 8, Name: "alone"}}
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
