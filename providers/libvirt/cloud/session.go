package cloud

import (
	"context"
	"fmt"
	"iter"

	"github.com/digitalocean/go-libvirt"

	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/libvirt/spec"
)

// session is an open class.
type session struct {
	provider *Provider
	class    provider.Class
	// spec is nil if the class has no spec any more; then the session only finds and deletes.
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

// with runs calls with a client, and drops the client if the host denies access.
func (s *session) with(ctx context.Context, calls func(call) error) error {
	key := provider.KeyOf(nil, s.uri, "")
	c, err := s.provider.clients.Get(ctx, key, func(context.Context) (*conn, error) { return newConn(s.uri) })
	if err == nil {
		err = calls(call{s, c})
		if provider.KindOf(err) == provider.Denied { // the next call logs in again; a daemon accepts few connections
			c.hangUp()
		}
	}
	return s.provider.clients.Observe(key, err)
}

// Account implements [provider.Session]: the URI of the libvirt instance, and the UUID of its host.
func (s *session) Account(ctx context.Context) (id string, err error) {
	err = s.with(ctx, func(c call) error {
		t, err := c.conn.traitsOf(ctx)
		if err == nil {
			id = t.account
		}
		return err
	})
	return id, err
}

// Traits implements [provider.Session]. The scope is the host, and the pool by which domains without metadata
// are recognized.
func (s *session) Traits() provider.Traits {
	return provider.Traits{Scope: s.uri + " " + s.poolName(), Choices: s.choices(), RebootsOnce: true, Identify: identify}
}

// choices returns the spec's only choice. If the host lacks the memory for it, a smaller fallback may fit.
func (s *session) choices() []provider.Choice {
	if s.spec == nil {
		return nil
	}
	return []provider.Choice{{Name: choice(s.spec), Type: typeOf(s.spec.DomainVcpu, s.spec.DomainMemory)}}
}

// choice is the name of the only choice.
func choice(c *spec.Config) string {
	return fmt.Sprintf("%d CPUs with %d MiB", c.DomainVcpu, c.DomainMemory)
}

// typeOf is the type of an instance. It is also a label of the machine.
func typeOf(vcpus, memoryMiB int64) string { return fmt.Sprintf("%dcpu-%dmib", vcpus, memoryMiB) }

// poolName is empty if the class has no spec.
func (s *session) poolName() string {
	if s.spec == nil {
		return ""
	}
	return s.spec.Pool()
}

// ownership decides whether domains are in the class's ownership scope. It reads the path of the pool once,
// and only if necessary.
type ownership struct {
	call
	path  string
	asked bool
}

func (o *ownership) includes(ctx context.Context, d *domain) (bool, error) {
	if d.marked {
		return d.Cluster == o.class.Cluster, nil
	}
	pool := o.poolName()
	if pool != "" && !o.asked {
		var err error
		if o.path, err = (storage{o.call}).poolPath(ctx, pool); err != nil {
			return false, err
		}
		o.asked = true
	}
	return d.original(pool, o.path), nil
}

// Find implements [provider.Session]. libvirt has no index of metadata, so Find reads all domains.
func (s *session) Find(ctx context.Context, ref provider.Ref) (all []provider.Instance, err error) {
	err = s.with(ctx, func(c call) error {
		found, err := c.find(ctx, ref)
		if err != nil {
			return err
		}
		for _, d := range found {
			i, err := c.toInstance(ctx, d)
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
		return nil, fmt.Errorf("find domains of %s: %w", ref.Name, err)
	}
	return all, nil
}

// find returns the domains that may be ref's.
func (c call) find(ctx context.Context, ref provider.Ref) (found []*domain, err error) {
	own := ownership{call: c}
	err = c.domains(ctx, func(d *domain) (bool, error) {
		c.recognize(d, ref)
		ok, err := c.may(ctx, &own, d, ref)
		if ok {
			found = append(found, d)
		}
		return true, err
	})
	return found, err
}

// recognize sets the ownership of a domain that has lost its metadata, but has the UUID of ref's domain.
func (c call) recognize(d *domain, ref provider.Ref) {
	if !d.marked && ref.UID != "" && d.UUID == uuidFor(c.session, ref) {
		d.marks = marks{Cluster: c.class.Cluster, UID: ref.UID, Name: ref.Name}
	}
}

func (c call) may(ctx context.Context, own *ownership, d *domain, ref provider.Ref) (bool, error) {
	if d.UID != "" && !d.marked {
		return true, nil
	}
	named := ref.Name != "" && !d.marked && d.Domain.Name == ref.Name
	recorded := ref.ProviderID != "" && d.id() == uuidOf(ref.ProviderID)
	if !named && !recorded && (ref.UID == "" || d.UID != ref.UID) {
		return false, nil
	}
	return own.includes(ctx, d)
}

// List implements [provider.Session].
func (s *session) List(ctx context.Context) iter.Seq2[provider.Instance, error] {
	return func(yield func(provider.Instance, error) bool) {
		stopped := false
		err := s.with(ctx, func(c call) error {
			own := ownership{call: c}
			return c.domains(ctx, func(d *domain) (bool, error) {
				ok, err := own.includes(ctx, d)
				if err != nil || !ok {
					return true, err
				}
				i, err := c.toInstance(ctx, d)
				if err != nil {
					return is(err, libvirt.ErrNoDomain), ignoreMissing(err)
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

// ignoreMissing drops the error of a domain that was deleted meanwhile.
func ignoreMissing(err error) error {
	if is(err, libvirt.ErrNoDomain) {
		return nil
	}
	return err
}
