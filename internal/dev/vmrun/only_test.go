package main

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestAListOfTestsChoosesThoseAndNoOthers(t *testing.T) {
	got, err := onlyPatterns("m/a TestOne\nm/b TestOther/x\nm/a TestTwo\nm/a TestDeep/s/1+1\nm/a TestDeep/s/2\n")
	want := map[string][]string{
		"m/a": {`^(TestOne|TestTwo)$`, `^TestDeep$/^s$/^(1\+1|2)$`},
		"m/b": {`^TestOther$/^(x)$`},
	}
	if err != nil || !maps.EqualFunc(got, want, slices.Equal) {
		t.Errorf("patterns %q, %v; want %q", got, err, want)
	}
	for text, says := range map[string]string{"": "no test", "m/a\n": `"m/a\n"`, " TestOne\n": `" TestOne\n"`} {
		if got, err := onlyPatterns(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %q, %v; want an error that has %s", text, got, err, says)
		}
	}
}
