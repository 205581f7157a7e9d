package cloud

import (
	"fmt"

	"github.com/millwright-dev/millwright/provider"
)

var _ provider.Comparer = &session{}

// Differences implements [provider.Comparer] for what Nova shows of a server.
func (s scope) Differences(_ provider.Ref, i provider.Instance) (out []string) {
	if s.bare {
		return nil
	}
	add := func(field, is, want string) {
		if is != "" && want != "" && is != want {
			out = append(out, fmt.Sprintf("%s: the server has %q, the spec says %q", s.plan.paths[field], is, want))
		}
	}
	if !looksLikeID.MatchString(s.plan.flavor) {
		add("flavor", i.Type, s.plan.flavor)
	}
	add("zone", i.Zone, s.plan.zone)
	return out
}
