package cloud

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/pagination"

	"github.com/millwright-dev/millwright/provider"
)

// session implements [provider.Session] and optional interfaces of sessions.
type session struct {
	provider.Base
	provider *Provider
	scope
}

// call is one call of a session, with its client.
type call struct {
	*session
	client *client
}

var _ provider.Session = &session{}

// Account implements [provider.Session]: the project's ID.
func (s *session) Account(ctx context.Context) (string, error) {
	c, err := s.connect(ctx)
	if err != nil {
		return "", err
	}
	return c.project, nil
}

// readLag is how far listings of servers may lag: Nova shows at once what it has accepted, unless its
// databases are replicated.
const readLag = 5 * time.Second

// Traits implements [provider.Session].
func (s *session) Traits() provider.Traits {
	return provider.Traits{Scope: s.scopeName(), Source: s.source(), ReadLag: readLag, Choices: s.choices(), Identify: identify}
}

// scopeName names the region and the owner of the listed servers.
func (s scope) scopeName() string {
	return strings.Join(append([]string{s.plan.cloud, s.plan.region}, s.plan.owning...), " ")
}

// choices returns the spec's only choice. If it names no zone, Nova chooses any, so its capacity is that of
// all zones.
func (s scope) choices() []provider.Choice {
	if s.bare {
		return nil
	}
	return []provider.Choice{{Name: s.plan.choice(), Region: s.region(), Zone: s.plan.zone, Type: s.plan.flavor}}
}

// choice is the name of the only one.
func (p plan) choice() string { return p.flavor + " in " + cmp.Or(p.zone, "any zone") }

// Differences implements [provider.Session] for the properties that Nova shows of a server.
func (s *session) Differences(_ provider.Ref, i provider.Instance) (out []string) {
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

// Find implements [provider.Session].
func (s *session) Find(ctx context.Context, ref provider.Ref) ([]provider.Instance, error) {
	c, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	found, err := call{s, c}.find(ctx, ref)
	if err != nil {
		return nil, fmt.Errorf("look for servers of %s: %w", ref.Name, s.observe(err))
	}
	out := make([]provider.Instance, 0, len(found))
	for _, v := range found {
		out = append(out, s.toInstance(c, v))
	}
	return out, nil
}

// find returns the servers that may be ref's: by provider ID, by UID, by name without a UID.
func (c call) find(ctx context.Context, ref provider.Ref) (found []servers.Server, err error) {
	add := func(v servers.Server) {
		if !slices.ContainsFunc(found, func(f servers.Server) bool { return f.ID == v.ID }) {
			found = append(found, v)
		}
	}
	if id := identify(ref.ProviderID); id != "" {
		v, err := get(ctx, c.client, id)
		if err != nil {
			return nil, err
		}
		if v != nil && c.owns(v.Metadata, tagsOf(*v)) {
			add(*v)
		}
	}
	if ref.UID != "" {
		err := c.eachOwn(ctx, servers.ListOpts{Tags: tagUID + ref.UID}, func(v servers.Server) bool {
			if v.Metadata[metaUID] == ref.UID {
				add(v)
			}
			return true
		})
		if err != nil {
			return nil, err
		}
	}
	// The filter is a regular expression, and ignores case.
	err = c.eachOwn(ctx, servers.ListOpts{Name: "^" + regexp.QuoteMeta(ref.Name) + "$"}, func(v servers.Server) bool {
		if uid := v.Metadata[metaUID]; v.Name == ref.Name && (uid == "" || uid == ref.UID) {
			add(v)
		}
		return true
	})
	return found, err
}

// get is the server with the ID; nil if it does not exist.
func get(ctx context.Context, c *client, id string) (*servers.Server, error) {
	v, err := servers.Get(ctx, c.compute, id).Extract()
	r := refusalOf(err)
	switch {
	case isGone(err), r.own() && r.status == http.StatusBadRequest: // an invalid ID names no server
		return nil, nil //nolint:nilnil // It does not exist.
	case err != nil:
		return nil, classify(err)
	}
	return v, nil
}

// each yields the servers that a listing selects, page by page, until yield returns false.
func each(ctx context.Context, c *client, o servers.ListOpts, yield func(servers.Server) bool) error {
	err := servers.List(c.compute, o).EachPage(ctx, func(_ context.Context, page pagination.Page) (bool, error) {
		all, err := servers.ExtractServers(page)
		if err != nil {
			return false, err
		}
		return !slices.ContainsFunc(all, func(v servers.Server) bool { return !yield(v) }), nil
	})
	return classify(err)
}

// eachOwn is each for the servers in the session's scope, with the causes of their failures. It does not
// read the causes of other servers, and does not depend on Nova's answer about them.
func (c call) eachOwn(ctx context.Context, o servers.ListOpts, yield func(servers.Server) bool) error {
	var failed error
	err := each(ctx, c.client, o, func(v servers.Server) bool {
		if !c.owns(v.Metadata, tagsOf(v)) {
			return true
		}
		v, failed = withCause(ctx, c.client, v)
		return failed == nil && yield(v)
	})
	return errors.Join(err, failed)
}

// withCause is the server with the cause of its failure: listings show the causes of one cell only, and a
// server that found no host is in another.
func withCause(ctx context.Context, c *client, v servers.Server) (servers.Server, error) {
	if v.Status != "ERROR" || !v.LaunchedAt.IsZero() || v.Fault.Message != "" {
		return v, nil
	}
	again, err := get(ctx, c, v.ID)
	if err != nil || again == nil {
		return v, err
	}
	return *again, nil
}

// List implements [provider.Session].
func (s *session) List(ctx context.Context) iter.Seq2[provider.Instance, error] {
	return func(yield func(provider.Instance, error) bool) {
		c, err := s.connect(ctx)
		if err != nil {
			yield(provider.Instance{}, err)
			return
		}
		stopped := false
		err = call{s, c}.eachOwn(ctx, s.listing(), func(v servers.Server) bool {
			stopped = !yield(s.toInstance(c, v), nil)
			return !stopped
		})
		if err != nil && !stopped {
			yield(provider.Instance{}, fmt.Errorf("list servers: %w", s.observe(err)))
		}
	}
}

// listing selects servers that may be in scope: for machine.sapcloud.io all, since the original tags no
// servers.
func (s scope) listing() servers.ListOpts {
	if s.class.API == provider.OpenShift {
		return servers.ListOpts{TagsAny: tagOriginal + "," + tagOurs}
	}
	return servers.ListOpts{}
}

func tagsOf(v servers.Server) []string {
	if v.Tags == nil {
		return nil
	}
	return *v.Tags
}
