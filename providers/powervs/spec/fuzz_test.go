package spec_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/millwright-dev/millwright/provider/admissiontest"
	"github.com/millwright-dev/millwright/providers/powervs/spec"
)

// filledIn are the fields that Default puts a value in.
var filledIn = []string{"userDataSecret", "credentialsSecret", "systemType", "processorType", "processors", "memoryGiB"}

// judge checks what is true of any spec. Default may fill in these, where they are empty.
func judge(t rapid.TB, raw []byte) {
	admissiontest.Holds(t, spec.Admitter{}, admissiontest.Admission(raw), func(path string, was any) bool {
		return admissiontest.Empty(was) && slices.ContainsFunc(filledIn, func(name string) bool { return strings.EqualFold(path, "."+name) })
	})
}

func TestAnySpec(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw, err := json.Marshal(admissiontest.Draw(t, spec.Admitter{}.SpecShape(),
			"ID", "Name", "RegEx", "s922", "e880", "e980", "Shared", "Dedicated", "0.5", "-1", "NaN"))
		if err != nil {
			t.Fatal(err)
		}
		judge(t, raw)
	})
}

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
		judge(t, []byte(raw))
		if took := time.Since(at); took > 5*time.Second {
			t.Errorf("took %v", took)
		}
	})
}
