package cloud

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// session is a class opened.
type session struct {
	provider *Provider
	class    provider.Class
	creds    credentials
	where    surroundings
	key      provider.ClientKey
	// group is where machines are; empty: anywhere in the subscription, since the class has no spec and the credentials name none.
	group string
	lagging
	ours   ownership
	design *design // nil: the class has no spec
}

var (
	_ provider.Session        = &session{}
	_ provider.Accounter      = &session{}
	_ provider.Scoper         = &session{}
	_ provider.Lagger         = &session{}
	_ provider.Chooser        = &session{}
	_ provider.Comparer       = &session{}
	_ provider.StatusReporter = &session{}
	_ provider.Sizer          = &session{}
	_ provider.Powerer        = &session{}
	_ provider.Maintainer     = &session{}
	_ provider.ConsoleReader  = &session{}
	_ provider.LeftoverLister = &session{}
	_ provider.Sourced        = &session{}
)

// scene is a session with its client.
type scene struct {
	*session
	*client
}

func (s *session) scene(ctx context.Context) (scene, error) {
	c, err := s.client(ctx)
	return scene{session: s, client: c}, err
}

// readLag is how far listings may run behind: the copies of what the Resource Manager knows, in several regions, agree after seconds.
const readLag = 10 * time.Second

// lagging is what runs behind.
type lagging struct{}

// ReadLag implements [provider.Lagger]. Reads of one machine by its name are never behind, but an answer that nothing is there may come from
// a copy that has not heard of it.
func (lagging) ReadLag() time.Duration { return readLag }

// Scope implements [provider.Scoper]: the resource group, and the keys of tags by which the spec owns.
func (s *session) Scope() string {
	return strings.ToLower(strings.Join(append([]string{s.creds.subscription, s.group}, s.ours.keys...), " "))
}

// Differences implements [provider.Comparer].
func (s *session) Differences(_ provider.Ref, i provider.Instance) (out []string) {
	d := s.design
	if d == nil {
		return nil
	}
	has := choice{zone: i.Zone, size: strings.ToLower(i.Type)}
	fits := slices.ContainsFunc(d.choices, func(c choice) bool {
		return strings.ToLower(c.size) == has.size && (c.zone == "" || c.zone == has.zone)
	})
	differ := func(field, is, says string) {
		if is != "" && says != "" && !strings.EqualFold(is, says) {
			out = append(out, fmt.Sprintf("%s: the instance has %q, the spec says %q", d.fields[field], is, says))
		}
	}
	if first := d.choices[0]; !fits {
		differ(fieldSize, i.Type, first.size)
		differ(fieldZone, cmp.Or(i.Zone, "none"), first.zone)
	}
	differ(fieldLocation, i.Region, d.location)
	return out
}
