package machine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/provider"
)

// infrastructure is where a machine's instances are: their class, and the session that was opened from it.
// It carries out requests and returns their results; the pass decides what follows.
type infrastructure struct {
	// session is nil if none could be opened.
	session provider.Session
	class   dialect.Class
	// lacks says what of the class could not be read, as the end of a sentence.
	lacks string
}

// openInfrastructure opens a session from a class; unread says what of it could not be read. For a machine
// under deletion the rest suffices: without user data, without credentials, and in the end without a spec
// except for the region.
func openInfrastructure(ctx context.Context, from provider.Provider, class dialect.Class, unread error, deleting bool) (infrastructure, error) {
	i, err := infrastructure{class: class, lacks: class.Absent}, unread
	if err == nil || deleting {
		if err != nil {
			i.lacks = "; " + err.Error()
		}
		i.session, err = from.Open(ctx, class.Class)
		err = i.lacking(class.Objection(err))
	}
	if err != nil && deleting && provider.KindOf(err) == provider.Invalid {
		bare := class.Class
		bare.Spec = nil
		if bare.Region == "" {
			names, _ := dialect.ReadSpec(from, class.API, class.Spec) // it is known that the spec is unreadable
			bare.Region = names.Region
		}
		if s, bareErr := from.Open(ctx, bare); bareErr == nil {
			i.session, err = s, nil
		}
	}
	if err != nil {
		i.session = nil
	}
	return i, err
}

// lacking adds to a refusal what of the class could not be read: that may be the cause.
func (i *infrastructure) lacking(err error) error {
	if err == nil || i.lacks == "" {
		return err
	}
	return fmt.Errorf("%w%s", err, i.lacks)
}

// place is where the class requests instances; its account is not known yet.
func (i *infrastructure) place() lifecycle.Origin {
	if i.session == nil {
		return lifecycle.Origin{}
	}
	return lifecycle.Origin{Cluster: i.class.Cluster, Region: i.class.Region, Zone: i.class.Zone}
}

// account is the account of the credentials; empty if it cannot be reported.
func (i *infrastructure) account(ctx context.Context) (string, error) {
	if i.session == nil {
		return "", nil
	}
	account, err := i.session.Account(ctx)
	switch {
	case errors.Is(err, provider.ErrNoAccount):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("tell which account the credentials open: %w", err)
	}
	return account, nil
}

// scope is the key of the scope that the session lists.
func (i *infrastructure) scope() string { return dialect.ScopeKey(i.class.Class, i.traits()) }

// same reports whether both provider IDs belong to one instance.
func (i *infrastructure) same(a, b string) bool { return provider.SameInstance(i.session, a, b) }

// traits are the session's; the zero value if none could be opened.
func (i *infrastructure) traits() provider.Traits {
	if i.session == nil {
		return provider.Traits{}
	}
	return i.session.Traits()
}

// rebootPower is how the session reboots.
func (i *infrastructure) rebootPower() lifecycle.RebootPower {
	_, ok := provider.As[provider.Powerer](i.session)
	switch {
	case !ok:
		return ""
	case i.traits().RebootsOnce:
		return lifecycle.RebootsOnce
	}
	return lifecycle.RebootsEachTime
}

// list lists the scope.
func (i *infrastructure) list(ctx context.Context, now time.Time) listing {
	l := listing{at: now}
	for one, err := range i.session.List(ctx) {
		if err != nil {
			l.err = err
			break
		}
		l.instances = append(l.instances, one)
	}
	return l
}

// initialize completes an instance after its creation.
func (i *infrastructure) initialize(ctx context.Context, ref provider.Ref, one provider.Instance) error {
	s, ok := provider.As[provider.Initializer](i.session)
	if !ok {
		return nil
	}
	return s.Initialize(ctx, ref, one)
}

// unkept reports whether the instance may differ from its class.
func (i *infrastructure) unkept(ref provider.Ref, one *provider.Instance) bool {
	s, ok := provider.As[provider.Maintainer](i.session)
	return ok && one != nil && s.Unkept(ref, *one)
}

// maintain keeps the resources of the instance as its class says.
func (i *infrastructure) maintain(ctx context.Context, ref provider.Ref, one provider.Instance) error {
	s, ok := provider.As[provider.Maintainer](i.session)
	if !ok {
		return nil
	}
	return s.Maintain(ctx, ref, one)
}

// reboot restarts the instance, once per request if the provider can ensure that.
func (i *infrastructure) reboot(ctx context.Context, ref provider.Ref, one provider.Instance, request string) error {
	s, ok := provider.As[provider.Powerer](i.session)
	if !ok {
		return provider.Errorf(provider.Invalid, "the provider cannot reboot")
	}
	return s.Power(ctx, ref, one, provider.Reboot, request)
}

// remove requests the removal of the machine's instances, and reports whether they are terminated.
func (i *infrastructure) remove(ctx context.Context, ref provider.Ref, owned []provider.Instance) (bool, error) {
	done, err := i.session.Delete(ctx, ref, owned)
	return done, i.lacking(err)
}
