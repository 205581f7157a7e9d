package cloud

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/millwright-dev/millwright/provider"
)

// session is an open class.
type session struct {
	provider *Provider
	class    provider.Class
	creds    credentials
	where    clusterConfig
	key      provider.ClientKey
	// group is that of the machines; empty: any in the subscription, since the class has no spec and the
	// credentials name none.
	group string
	ours  ownership
	plan  *plan // nil: the class has no spec
}

var (
	_ provider.Session        = &session{}
	_ provider.Sizer          = &session{}
	_ provider.Powerer        = &session{}
	_ provider.Maintainer     = &session{}
	_ provider.ConsoleReader  = &session{}
	_ provider.LeftoverLister = &session{}
)

// call is a session with its client.
type call struct {
	*session
	*client
}

func (s *session) newCall(ctx context.Context) (call, error) {
	c, err := s.client(ctx)
	return call{session: s, client: c}, err
}

// Account implements [provider.Session]: the subscription, once the credentials have opened the directory.
func (s *session) Account(ctx context.Context) (string, error) {
	c, err := s.client(ctx)
	if err != nil {
		return "", err
	}
	if _, err := c.token.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{c.scope}}); err != nil {
		return "", s.observe(err, "log in")
	}
	return strings.ToLower(c.subscription), nil
}

// readLag is how far listings may lag: the Resource Manager's copies in several regions agree after
// seconds. Reads of one machine by its name never lag, but the answer that it does not exist may come from
// a copy that does not have it yet.
const readLag = 10 * time.Second

// Traits implements [provider.Session].
func (s *session) Traits() provider.Traits {
	return provider.Traits{Scope: s.scopeName(), Source: s.where.source(), ReadLag: readLag, Choices: s.choices()}
}

// scopeName names the resource group, and the tags by which the spec records the cluster.
func (s *session) scopeName() string {
	return strings.ToLower(strings.Join(append([]string{s.creds.subscription, s.group}, s.ours.keys...), " "))
}

// Differences implements [provider.Session].
func (s *session) Differences(_ provider.Ref, i provider.Instance) (out []string) {
	d := s.plan
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
