package cloud

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/api/compute/v1"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/kit"
)

// scope has the ownership scope, and the marks of its instances.
type scope struct {
	class    provider.Class
	template template
	// bare says that the class has no spec any more: the session finds and deletes.
	bare    bool
	project string
	from    surroundings
}

// caller calls Compute Engine for a scope.
type caller struct {
	*scope
	clients *kit.Clients[*client]
	key     provider.ClientKey
	client  *client
}

// session implements [provider.Session]; the optional interfaces are in capability.go and in the files of
// their subjects.
type session struct{ *caller }

var _ provider.Session = &session{}

// observed classifies err; nil stays nil.
func (c *caller) observed(ctx context.Context, err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return c.clients.Observe(c.key, classified(ended(ctx, err), fmt.Sprintf(format, args...)))
}

func formatID(id uint64) string { return strconv.FormatUint(id, 10) }

// pageSize is the API's maximum.
const pageSize = 500

// instances yields those of the project that match the filter, of every zone.
func (c *caller) instances(ctx context.Context, filter string) iter.Seq2[*compute.Instance, error] {
	return func(yield func(*compute.Instance, error) bool) {
		call := c.client.compute.Instances.AggregatedList(c.project).MaxResults(pageSize).Context(ctx)
		if filter != "" {
			call = call.Filter(filter)
		}
		for more := true; more; {
			page, err := call.Do()
			if err == nil {
				err = completeInstances(page)
			}
			if err != nil {
				yield(nil, c.observed(ctx, err, "list instances of project %s", c.project))
				return
			}
			for _, scope := range slices.Sorted(maps.Keys(page.Items)) {
				for _, i := range page.Items[scope].Instances {
					if !yield(i, nil) {
						return
					}
				}
			}
			call, more = call.PageToken(page.NextPageToken), page.NextPageToken != ""
		}
	}
}

// home returns a caller for the project of ref's instance. A class without a spec only has the project of
// the credentials, which may have changed; one with a spec never loses a machine silently.
func (c *caller) home(ref provider.Ref) (*caller, error) {
	a, ok := addressOf(ref.ProviderID)
	switch {
	case !ok || a.project == c.project:
		return c, nil
	case !c.bare:
		return nil, denied("the machine's instance is in project %q by its provider ID, and its class is of project %q", provider.Clip(a.project, 100), c.project)
	}
	there := *c.scope
	there.project = a.project
	return &caller{scope: &there, clients: c.clients, key: c.key, client: c.client}, nil
}

// view are the instances of a machine.
type view struct {
	// of are the instances that may be its.
	of []provider.Instance
	// request is the ID of the request for an instance that only an operation shows; empty: there is no
	// such instance.
	request string
	// taken are the names, with their zones, of other instances.
	taken map[string]bool
}

// filterOf matches instances that may be ref's, or have one of the names.
func (s *scope) filterOf(ref provider.Ref, names ...string) string {
	var terms []string
	if ref.UID != "" {
		terms = append(terms, fmt.Sprintf("(labels.%s = %q)", uidLabel, ref.UID))
	}
	if a, ok := addressOf(ref.ProviderID); ok {
		names = append(names, a.name)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if nameForm.MatchString(name) {
			terms = append(terms, fmt.Sprintf("(name = %q)", name))
		}
	}
	return strings.Join(terms, " OR ")
}

// look finds the instances of ref, or the operations for it if there is no instance.
func (c *caller) look(ctx context.Context, ref provider.Ref) (v view, err error) {
	v.taken = map[string]bool{}
	filter := c.filterOf(ref, ref.Name)
	if filter == "" {
		return v, nil
	}
	for i, err := range c.instances(ctx, filter) {
		if err != nil {
			return v, err
		}
		if c.matches(ref, i) {
			v.of = append(v.of, c.seen(i))
		} else {
			v.taken[tail(i.Zone)+"/"+i.Name] = true
		}
	}
	if len(v.of) > 0 {
		return v, nil
	}
	op, err := c.begun(ctx, ref)
	if err != nil || op == nil {
		return v, err
	}
	if i, ok := c.foretold(ref, op); ok {
		v.of, v.request = append(v.of, i), op.ClientOperationId
	}
	return v, nil
}

// matches reports whether an instance may be ref's: by its UID, by the provider ID or, where it has no UID, by its name.
func (s *scope) matches(ref provider.Ref, i *compute.Instance) bool {
	if !s.ours(i) {
		return false
	}
	uid := i.Labels[uidLabel]
	recorded, ok := addressOf(ref.ProviderID)
	return ref.UID != "" && uid == ref.UID || uid == "" && i.Name == ref.Name ||
		ok && recorded == address{s.project, tail(i.Zone), i.Name}
}

// Find implements [provider.Session].
func (s *session) Find(ctx context.Context, ref provider.Ref) ([]provider.Instance, error) {
	c, err := s.home(ref)
	if err != nil {
		return nil, err
	}
	v, err := c.look(ctx, ref)
	return v.of, err
}

// List implements [provider.Session]. Gardener's original recognizes its instances by network tags, by
// which the API cannot list, so that List reads all instances of the project.
func (s *session) List(ctx context.Context) iter.Seq2[provider.Instance, error] {
	filter := ""
	if cluster, _ := s.ownTags(); cluster == "" && s.class.API == provider.OpenShift {
		filter = fmt.Sprintf("labels.%s:*", s.clusterLabel())
	}
	return func(yield func(provider.Instance, error) bool) {
		for i, err := range s.instances(ctx, filter) {
			if err != nil {
				yield(provider.Instance{}, err)
				return
			}
			if s.ours(i) && !yield(s.seen(i), nil) {
				return
			}
		}
	}
}
