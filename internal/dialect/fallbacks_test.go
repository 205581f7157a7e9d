package dialect_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/millwright"
	"github.com/millwright-dev/millwright/internal/dialect"
)

func TestFallbacks(t *testing.T) {
	with := func(text string) client.Object {
		o := &corev1.Secret{}
		o.SetAnnotations(map[string]string{millwright.Fallback: text})
		return o
	}
	none := &corev1.Secret{}
	for reason, tc := range map[string]struct {
		objects []client.Object
		want    string
	}{
		"nobody has any":                {[]client.Object{none, none}, ""},
		"those of the set":              {[]client.Object{none, with(`[{"zone":"b"}, {"type":"m"}]`)}, `{"zone":"b"}|{"type":"m"}`},
		"the machine's own come first":  {[]client.Object{with(`[{"zone":"c"}]`), with(`[{"zone":"b"}]`)}, `{"zone":"c"}`},
		"a machine may want none":       {[]client.Object{with(`[]`), with(`[{"zone":"b"}]`)}, ""},
		"what is no list is told later": {[]client.Object{with(`{"zone":"b"`)}, `{"zone":"b"`},
	} {
		t.Run(reason, func(t *testing.T) {
			var got []string
			for _, f := range dialect.Fallbacks(tc.objects...) {
				got = append(got, string(f))
			}
			if text := strings.Join(got, "|"); text != tc.want {
				t.Errorf("%s: %s, want %s", reason, text, tc.want)
			}
		})
	}
}
