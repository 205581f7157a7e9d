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
	class provider.Class
	plan  plan
	// bare says that the class has no spec any more: the session finds and deletes.
	bare    bool
	project string
	from    clusterConfig
}

// call calls Compute Engine for a scope.
type call struct {
	*scope
	clients *kit.Clients[*client]
	key     provider.ClientKey
	client  *client
}

// session implements [provider.Session]; the optional interfaces are in capability.go and in the files of
// their subjects.
type session struct{ *call }

var _ provider.Session = &session{}

// observe classifies err; nil stays nil.
func (c *call) observe(ctx context.Context, err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return c.clients.Observe(c.key, classify(ended(ctx, err), fmt.Sprintf(format, args...)))
}

func formatID(id uint64) string { return strconv.FormatUint(id, 10) }

// pageSize is the API's maximum.
const pageSize = 500

// instances yields those of the project that match the filter, of every zone.
func (c *call) instances(ctx context.Context, filter string) iter.Seq2[*compute.Instance, error] {
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
				yield(nil, c.observe(ctx, err, "list instances of project %s", c.project))
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

// forProject returns a caller for the project of ref's instance. A class without a spec only has the project of
// the credentials, which may have changed; one with a spec never loses a machine silently.
func (c *call) forProject(ref provider.Ref) (*call, error) {
	a, ok := parseProviderID(ref.ProviderID)
	switch {
	case !ok || a.project == c.project:
		return c, nil
	case !c.bare:
		return nil, denied("the machine's instance is in project %q by its provider ID, and its class is of project %q", provider.Clip(a.project, 100), c.project)
	}
	there := *c.scope
	there.project = a.project
	return &call{scope: &there, clients: c.clients, key: c.key, client: c.client}, nil
}

// findResult are the instances of a machine.
type findResult struct {
	// instances are the instances that may be its.
	instances []provider.Instance
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
	if a, ok := parseProviderID(ref.ProviderID); ok {
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

// find finds the instances of ref, or the operations for it if there is no instance.
func (c *call) find(ctx context.Context, ref provider.Ref) (v findResult, err error) {
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
			v.instances = append(v.instances, c.toInstance(i))
		} else {
			v.taken[tail(i.Zone)+"/"+i.Name] = true
		}
	}
	if len(v.instances) > 0 {
		return v, nil
	}
	op, err := c.lastInsert(ctx, ref)
	if err != nil || op == nil {
		return v, err
	}
	if i, ok := c.pendingInstance(ref, op); ok {
		v.instances, v.request = append(v.instances, i), op.ClientOperationId
	}
	return v, nil
}

// matches reports whether an instance may be ref's: by its UID, by the provider ID or, where it has no UID, by its name.
func (s *scope) matches(ref provider.Ref, i *compute.Instance) bool {
	if !s.ours(i) {
		return false
	}
	uid := i.Labels[uidLabel]
	recorded, ok := parseProviderID(ref.ProviderID)
	return ref.UID != "" && uid == ref.UID || uid == "" && i.Name == ref.Name ||
		ok && recorded == instanceRef{s.project, tail(i.Zone), i.Name}
}

// Find implements [provider.Session].
func (s *session) Find(ctx context.Context, ref provider.Ref) ([]provider.Instance, error) {
	c, err := s.forProject(ref)
	if err != nil {
		return nil, err
	}
	v, err := c.find(ctx, ref)
	return v.instances, err
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
			if s.ours(i) && !yield(s.toInstance(i), nil) {
				return
			}
		}
	}
}
