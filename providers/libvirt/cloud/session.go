package cloud

import (
	"context"
	"fmt"
	"iter"

	"github.com/digitalocean/go-libvirt"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/libvirt/spec"
)

// session is a class opened.
type session struct {
	provider *Provider
	class    provider.Class
	// spec is nil where the class has lost it: what is there is found and removed.
	spec *spec.Config
	uri  string
}

var _ interface {
	provider.Session
	provider.Sizer
	provider.Initializer
	provider.Maintainer
	provider.LeftoverLister
	provider.Powerer
} = &session{}

// with hands an errand to calls, and drops the host's client when the host denies it.
func (s *session) with(ctx context.Context, calls func(errand) error) error {
	key := provider.KeyOf(nil, s.uri, "")
	c, err := s.provider.clients.Get(ctx, key, func(context.Context) (*conn, error) { return newConn(s.uri) })
	if err == nil {
		err = calls(errand{s, c})
		if provider.KindOf(err) == provider.Denied { // the next one logs in anew, and a daemon has few places
			c.hangUp()
		}
	}
	return s.provider.clients.Observe(key, err)
}

// Account implements [provider.Session]: the host's UUID, and which of its instances of libvirt it is.
func (s *session) Account(ctx context.Context) (id string, err error) {
	err = s.with(ctx, func(e errand) error {
		t, err := e.c.traitsOf(ctx)
		if err == nil {
			id = t.account
		}
		return err
	})
	return id, err
}

// Traits implements [provider.Session]. The scope is the host, and the pool by which domains are known that carry no marks.
func (s *session) Traits() provider.Traits {
	return provider.Traits{Scope: s.uri + " " + s.poolName(), Choices: s.choices(), RebootsOnce: true, Identify: identify}
}

// choices returns the spec's only choice. Where the host has no memory for it, it may have some for a fallback that is smaller.
func (s *session) choices() []provider.Choice {
	if s.spec == nil {
		return nil
	}
	return []provider.Choice{{Name: choice(s.spec), Type: typeOf(s.spec.DomainVcpu, s.spec.DomainMemory)}}
}

// choice is the name of the only one.
func choice(c *spec.Config) string {
	return fmt.Sprintf("%d CPUs with %d MiB", c.DomainVcpu, c.DomainMemory)
}

// typeOf is what people read as the type of an instance, which is a label of its machine, too.
func typeOf(vcpus, memoryMiB int64) string { return fmt.Sprintf("%dcpu-%dmib", vcpus, memoryMiB) }

// poolName is empty where the class has no spec.
func (s *session) poolName() string {
	if s.spec == nil {
		return ""
	}
	return s.spec.Pool()
}

// owns reports whether a domain is in the class's ownership scope. The path of the pool is asked for once, and only if it is needed.
type owns struct {
	errand
	path  string
	asked bool
}

func (o *owns) domain(ctx context.Context, d *domain) (bool, error) {
	if d.marked {
		return d.Cluster == o.class.Cluster, nil
	}
	pool := o.poolName()
	if pool != "" && !o.asked {
		var err error
		if o.path, err = (storage{o.errand}).poolPath(ctx, pool); err != nil {
			return false, err
		}
		o.asked = true
	}
	return d.original(pool, o.path), nil
}

// Find implements [provider.Session]. libvirt has no index of metadata: all domains are read.
func (s *session) Find(ctx context.Context, ref provider.Ref) (all []provider.Instance, err error) {
	err = s.with(ctx, func(e errand) error {
		found, err := e.find(ctx, ref)
		if err != nil {
			return err
		}
		for _, d := range found {
			i, err := e.instance(ctx, d)
			if is(err, libvirt.ErrNoDomain) {
				continue
			}
			if err != nil {
				return err
			}
			all = append(all, i)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for domains of %s: %w", ref.Name, err)
	}
	return all, nil
}

// find returns the domains that may be ref's.
func (e errand) find(ctx context.Context, ref provider.Ref) (found []*domain, err error) {
	own := owns{errand: e}
	err = e.domains(ctx, func(d *domain) (bool, error) {
		e.recognize(d, ref)
		ok, err := e.may(ctx, &own, d, ref)
		if ok {
			found = append(found, d)
		}
		return true, err
	})
	return found, err
}

// recognize gives a domain its marks back that has the UUID of ref's: somebody took them away.
func (e errand) recognize(d *domain, ref provider.Ref) {
	if !d.marked && ref.UID != "" && d.UUID == uuidFor(e.session, ref) {
		d.marks = marks{Cluster: e.class.Cluster, UID: ref.UID, Name: ref.Name}
	}
}

func (e errand) may(ctx context.Context, own *owns, d *domain, ref provider.Ref) (bool, error) {
	if d.UID != "" && !d.marked {
		return true, nil
	}
	named := ref.Name != "" && !d.marked && d.Domain.Name == ref.Name
	recorded := ref.ProviderID != "" && d.id() == uuidOf(ref.ProviderID)
	if !named && !recorded && (ref.UID == "" || d.UID != ref.UID) {
		return false, nil
	}
	return own.domain(ctx, d)
}

// List implements [provider.Session].
func (s *session) List(ctx context.Context) iter.Seq2[provider.Instance, error] {
	return func(yield func(provider.Instance, error) bool) {
		stopped := false
		err := s.with(ctx, func(e errand) error {
			own := owns{errand: e}
			return e.domains(ctx, func(d *domain) (bool, error) {
				ok, err := own.domain(ctx, d)
				if err != nil || !ok {
					return true, err
				}
				i, err := e.instance(ctx, d)
				if err != nil {
					return is(err, libvirt.ErrNoDomain), dropGone(err)
				}
				stopped = !yield(i, nil)
				return !stopped, nil
			})
		})
		if err != nil && !stopped {
			yield(provider.Instance{}, fmt.Errorf("list domains of cluster %s: %w", s.class.Cluster, err))
		}
	}
}

// dropGone is no error where a domain has gone meanwhile.
func dropGone(err error) error {
	if is(err, libvirt.ErrNoDomain) {
		return nil
	}
	return err
}
