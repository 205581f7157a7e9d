package spec_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func FuzzAdmit(f *testing.F) {
	for _, raw := range []string{
		minimal, whole, ``, `null`, `[]`, `{}`, `{"processors":"1e999999999"}`, `{"processors":1E+99999999}`, sized("e980", "memoryGiB", 15308),
		`{"SystemType":"","a":"\ud83d\ude00\u007f"}`, `{"a":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + `}`,
	} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if !utf8.ValidString(raw) {
			return // no API server sends it
		}
		at := time.Now()
		judge(t, raw)
		if took := time.Since(at); took > 5*time.Second {
			t.Errorf("took %v", took)
		}
	})
}
