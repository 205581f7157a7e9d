package lifecycle_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

func TestDoubted(t *testing.T) {
	recorded := []string{"cloud:///a/i-1", "cloud:///a/i-2", "cloud:///a/i-3"}
	listed := []provider.Instance{{ID: "i-1", ProviderID: "cloud:///a/i-1"}, {ID: "i-2", ProviderID: "cloud:///a/i-2"}}
	for _, c := range []struct {
		reason string
		listed []provider.Instance
		err    error
		want   string
	}{
		{"most of what others have is listed", listed, nil, ""},
		{"next to nothing is", listed[:1], nil, "1 of the 3 instances"},
		{"a listing that broke off says nothing, whatever it has shown", listed, errors.New("page 2: reset"), "as a whole: page 2: reset"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			got := lifecycle.Doubted(recorded, c.listed, c.err)
			if !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
				t.Errorf("%s: %q", c.reason, got)
			}
		})
	}
}
