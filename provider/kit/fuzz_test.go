package kit_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/kit"
)

func FuzzDecodeStrict(f *testing.F) {
	for _, raw := range []string{
		``, `{}`, `[]`, `null`, `{"size":"s","disks":[{"size":1}],"latency":{"create":"1s"},"memory":"1Gi","labels":{"a":"b"}}`,
		`{"sice":1,"size":"a","size":"b"}`, `{"disks":[{"size":"big"}]}`, `{"memory":"12345678901234567890e999999999"}`, `{"memory":1E+99999999}`,
		`{"memory":"1\u0065999999999"}`, `{"sizes":[{"a":"1e9999"}]}`, nested("[", "]", 30), nested(`{"k":`, "}", 30), `{"a":"\`, strings.Repeat("[", 2000),
	} {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var s spec
		at := time.Now()
		err := kit.DecodeStrict(raw, &s)
		if took := time.Since(at); took > budget {
			t.Errorf("took %v", took)
		}
		for err != nil {
			many, ok := err.(interface{ Unwrap() []error })
			if !ok {
				break
			}
			err = many.Unwrap()[0]
		}
		if e, ok := errors.AsType[*provider.Error](err); err != nil && (!ok || e.Kind != provider.Invalid || len(e.Field) > 1<<10) {
			t.Errorf("%v is not Invalid, or names a field of any length", err)
		}
	})
}

func FuzzClip(f *testing.F) {
	f.Add("grüße", 5)
	f.Add("\xff\xfe", 3)
	f.Fuzz(func(t *testing.T, text string, most int) {
		most = 3 + (most&0xffff)%5000
		got := provider.Clip(text, most)
		if len(got) > most || provider.Clip(got, most) != got || strings.ToValidUTF8(got, "") != got {
			t.Errorf("%q is cut to %q", text, got)
		}
	})
}
