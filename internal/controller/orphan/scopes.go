package orphan

import (
	"cmp"
	"context"
	"slices"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/orphan"
	"github.com/millwright-dev/millwright/provider"
)

// scope is a set of instances that one listing shows.
type scope struct {
	key    string
	memory orphan.Memory
	// class is one of those that list it, session is opened from that class.
	class   provider.Class
	session provider.Session
	// anchors are the objects from which its classes were read, templates first; machines are the UIDs of
	// the machines whose instances it has.
	anchors  []client.Object
	machines map[string]bool
	// untagged says that all APIs of its classes agree about instances without a machine's UID.
	untagged bool
	// anonymous says that an event has reported to its classes that no instance is collected.
	anonymous bool
}

// find updates c.scopes by the present classes. A scope without classes is still listed as long as it shows
// anything.
func (c *Collector) find(ctx context.Context) error {
	log := logr.FromContextOrDiscard(ctx)
	found := map[string]*scope{}
	opened := map[provider.ClientKey]*scope{}
	for _, k := range c.Kinds {
		classes, err := k.Classes(ctx)
		if err != nil {
			return err
		}
		for _, class := range classes {
			if class.Err != nil && provider.KindOf(class.Err) != provider.Invalid || class.Cluster == "" {
				c.Metrics.failed("class")
				log.V(1).Info("instances of a class cannot be listed", "object", client.ObjectKeyFromObject(class.Anchor), "why", class.Err)
				continue
			}
			id := dialect.ClassKey(class.Class)
			if _, known := opened[id]; !known {
				opened[id] = c.open(ctx, class.Class, found)
			}
			if s := opened[id]; s != nil {
				s.anchors = append(s.anchors, class.Anchor)
				s.machines[class.Machine] = true
				s.untagged = s.untagged && class.Untagged
			}
		}
	}
	c.keep(found)
	return nil
}

// open opens the class and returns the scope that it lists; nil if it cannot be opened.
func (c *Collector) open(ctx context.Context, class provider.Class, found map[string]*scope) *scope {
	session, err := c.Provider.Open(ctx, class)
	if err != nil {
		c.Metrics.failed("open")
		logr.FromContextOrDiscard(ctx).Info("instances of a class cannot be listed", "cluster", class.Cluster, "why", err.Error())
		return nil
	}
	key := dialect.ScopeKey(class, session.Traits())
	if found[key] == nil {
		found[key] = &scope{key: key, class: class, session: session, machines: map[string]bool{}, untagged: true}
	}
	return found[key]
}

// keep carries the state over. A scope without a class is dropped if the same place is listed with other
// credentials; the removals of the last hour still count there.
func (c *Collector) keep(found map[string]*scope) {
	place := func(s *scope) string { return s.class.Cluster + "/" + s.class.Region }
	listed := map[string]bool{}
	for _, s := range found {
		listed[place(s)] = true
	}
	for key, old := range c.scopes {
		switch s := found[key]; {
		case s != nil:
			s.memory, s.anonymous = old.memory, old.anonymous
		case !listed[place(old)]:
			old.anchors, old.machines = nil, map[string]bool{}
			found[key] = old
		}
	}
	for key, old := range c.scopes {
		if found[key] != nil {
			continue
		}
		for _, s := range found {
			if c.scopes[s.key] == nil && place(s) == place(old) {
				s.memory.Begun = append(s.memory.Begun, old.memory.Begun...)
			}
		}
	}
	c.scopes = found
}

// sorted are the scopes in a stable order.
func (c *Collector) sorted() []*scope {
	out := make([]*scope, 0, len(c.scopes))
	for _, s := range c.scopes {
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b *scope) int { return cmp.Compare(a.key, b.key) })
	return out
}

// approved returns the approvals on the anchors: the number of removals, and the instances. An unreadable
// approval is invalid, and is reported.
func (s *scope) approved() (n int, named []string, err error) {
	for _, a := range s.anchors {
		some, these, bad := orphan.ParseOrphanApproval(a.GetAnnotations())
		n, named, err = max(n, some), append(named, these...), cmp.Or(err, bad)
	}
	return n, named, err
}
