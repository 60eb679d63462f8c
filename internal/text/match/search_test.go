package match

import "testing"

func TestTheNearestNamesAreClose(t *testing.T) {
	candidates := []string{"on-cpu", "off-cpu", "check"}
	for word, want := range map[string]string{
		"oncpu": "did you mean on-cpu?", "of-cpu": "did you mean on-cpu or off-cpu?", "offcpu": "did you mean off-cpu?",
		"chekc": "did you mean check?", "libc": "", "version": "", "": "",
	} {
		if got := DidYouMean(Near(word, candidates)); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}

func TestTheQuestionListsUpToThreeNames(t *testing.T) {
	if got, want := DidYouMean([]string{"a", "b", "c"}), "did you mean a, b or c?"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAPatternTakesSlashesAsItTakesLetters(t *testing.T) {
	for _, test := range []struct {
		pattern, name string
		want          bool
	}{
		{"*MIMEHeader.Get", "net/textproto.MIMEHeader.Get", true},
		{"net/*.Get", "net/http/cookiejar.Get", true},
		{"net/*.Get", "net.Get", false},
		{"net?http.Get", "net/http.Get", true},
		{"net/http", "net/http.Get", true},
		{"", "net/http.Get", true},
		{"sched:*", "sched:sched_switch", true},
	} {
		matches, err := Search(test.pattern)
		if got := matches(test.name); got != test.want || err != nil {
			t.Errorf("%q matches %q: %v, %v", test.pattern, test.name, got, err)
		}
	}
}
