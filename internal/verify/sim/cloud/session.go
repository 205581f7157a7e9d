package cloud

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/millwright-dev/millwright/provider"
)

// Call is one request to the cloud: find, create, initialize, delete or list.
type Call struct {
	Verb string
	Ref  provider.Ref
	// Given are the IDs of the instances that a deletion names.
	Given []string
	// Choice is the requested choice of a creation, At the place.
	Choice provider.Choice
	At     Place
}

// Gate stands between a session and the cloud. It makes the call or does not, and returns the caller's result.
type Gate func(c Call, do func() error) error

// Provider gives access to the cloud through a gate.
type Provider struct {
	Cloud *Cloud
	Gate  Gate
	// Untagged: new instances have no owner tags.
	Untagged bool
}

var _ provider.Provider = Provider{}

// CredentialKey is the key of the required credentials.
const CredentialKey = "token"

// Name implements [provider.Provider].
func (Provider) Name() string { return "sim" }

// Open implements [provider.Provider]. It accepts any spec, and none, unless the cloud refuses it.
func (p Provider) Open(_ context.Context, class provider.Class) (provider.Session, error) {
	if class.Cluster == "" {
		return nil, provider.InvalidField("cluster", "must be set")
	}
	if p.Cloud.Refuses != nil && (class.Spec != nil || p.Cloud.Demanding) {
		if err := p.Cloud.Refuses(); err != nil {
			return nil, err
		}
	}
	return session{Provider: p, class: class}, nil
}

type session struct {
	provider.Base
	Provider
	class provider.Class
}

// Traits implements [provider.Session]: a listing shows all instances, for any spec.
func (s session) Traits() provider.Traits {
	return provider.Traits{
		Scope: provider.WholeAccount, ReadLag: s.Cloud.Lag, Choices: slices.Clone(s.Cloud.Choices), RebootsOnce: s.Cloud.Power == Once,
	}
}

// Account implements [provider.Session].
func (s session) Account(context.Context) (string, error) {
	if !s.Cloud.Named {
		return "", provider.ErrNoAccount
	}
	err := s.call(Call{Verb: "account"}, func() error { return nil })
	if err != nil {
		return "", err
	}
	return placeOf(s.class).Account, nil
}

var _ provider.Sizer = session{}

// Size implements [provider.Sizer]: a machine has as many CPUs as its spec has bytes,
// and as many MiB.
func (s session) Size(context.Context) (provider.Size, error) {
	n := int64(len(s.class.Spec))
	return provider.Size{VCPU: n, MemoryMiB: n}, nil
}

// call denies calls without credentials.
func (s session) call(c Call, do func() error) error {
	return s.Gate(c, func() error {
		if len(s.class.Credentials[CredentialKey]) == 0 {
			return provider.Errorf(provider.Denied, "not authorized")
		}
		return do()
	})
}

// Find implements [provider.Session].
func (s session) Find(_ context.Context, ref provider.Ref) (out []provider.Instance, err error) {
	err = s.call(Call{Verb: "find", Ref: ref}, func() error {
		at := placeOf(s.class)
		for _, m := range append(s.Cloud.find(at, ref), s.Cloud.namesakes(at, ref)...) {
			out = append(out, s.instance(m))
		}
		return nil
	})
	return out, err
}

// Create implements [provider.Session].
func (s session) Create(ctx context.Context, ref provider.Ref, want provider.Want) (i provider.Instance, err error) {
	if s.Untagged {
		s.class.Owner, ref.Namespace = "", ""
	}
	err = s.call(Call{Verb: "create", Ref: ref, Choice: named(s.Cloud.Choices, want.Choice), At: placeOf(s.class)}, func() error {
		m, err := s.Cloud.create(ctx, s.class, ref, tokenIn(ctx, ref.Token(s.class.Cluster)), want)
		if err == nil {
			i = s.instance(m)
		}
		return err
	})
	if err != nil {
		return provider.Instance{}, err
	}
	return i, nil
}

// retoken is the key of the value that [Retoken] puts into a context.
type retoken struct{}

// Retoken lets creations under ctx use the nth wrong client token, as a provider with its own
// tokens does; 0 is the right token.
func Retoken(ctx context.Context, n int) context.Context { return context.WithValue(ctx, retoken{}, n) }

func tokenIn(ctx context.Context, token string) string {
	if n, _ := ctx.Value(retoken{}).(int); n > 0 {
		return fmt.Sprintf("%s/%d", token, n)
	}
	return token
}

// Delete implements [provider.Session].
func (s session) Delete(_ context.Context, ref provider.Ref, given []provider.Instance) (done bool, err error) {
	var ids []string
	for _, i := range given {
		ids = append(ids, i.ID)
	}
	err = s.call(Call{Verb: "delete", Ref: ref, Given: ids}, func() (err error) {
		done, err = s.Cloud.remove(placeOf(s.class), ref, given)
		return err
	})
	return done && err == nil, err
}

// List implements [provider.Session].
func (s session) List(context.Context) iter.Seq2[provider.Instance, error] {
	return func(yield func(provider.Instance, error) bool) {
		err := s.call(Call{Verb: "list"}, func() error { return nil })
		if err != nil {
			yield(provider.Instance{}, err)
			return
		}
		for _, m := range s.Cloud.machines {
			if s.Cloud.Cut() {
				yield(provider.Instance{}, provider.Errorf(provider.Transient, "the next page cannot be read"))
				return
			}
			if s.Cloud.shows(m) && m.Place == placeOf(s.class) && !s.Cloud.hides(m) && !yield(s.instance(m), nil) {
				return
			}
		}
	}
}

var _ provider.LeftoverLister = session{}

// Leftovers implements [provider.LeftoverLister].
func (s session) Leftovers(context.Context) iter.Seq2[provider.Leftover, error] {
	return func(yield func(provider.Leftover, error) bool) {
		err := s.call(Call{Verb: "list parts"}, func() error { return nil })
		if err != nil {
			yield(provider.Leftover{}, err)
			return
		}
		for _, p := range s.Cloud.Parts("") {
			if s.Cloud.Now().Before(p.listed) || p.Place != placeOf(s.class) || s.Cloud.user(p) != nil {
				continue
			}
			if !yield(provider.Leftover{Kind: p.Name, ID: p.UID + "/" + p.Name, UID: p.UID, Owner: p.Owner, Namespace: p.Namespace}, nil) {
				return
			}
		}
	}
}

func (s session) instance(m *Machine) provider.Instance {
	name := strings.TrimPrefix(m.Host, Renamed)
	i := provider.Instance{
		ID: m.ID, UID: m.UID, Name: m.Name, ProviderID: m.ProviderID(), NodeName: name,
		Owner: m.Owner, Namespace: m.Namespace,
		Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: m.IP}, {Type: corev1.NodeInternalDNS, Address: name}},
		Created:   m.Created, Zone: m.Choice.Zone, Type: m.Choice.Type,
	}
	if s.Cloud.Unforetold {
		i.NodeName = ""
	}
	now := s.Cloud.Now()
	if now.Before(m.marked) {
		i.Owner, i.Namespace = "", ""
	}
	i.Fault, _, _ = m.Fault(now)
	switch {
	case !m.Exists(now):
		i.State = provider.Terminated
	case m.leaves(now):
		i.State = provider.Stopping
	case i.Fault != nil:
		i.State = provider.Stopped
	case !m.startsEventually(), now.Before(m.booted):
		i.State = provider.Pending
	case m.off:
		i.State, i.Uninitialized = provider.Stopped, true
	default:
		i.State = provider.Running
	}
	i.RawState = string(i.State)
	return i
}
