package decorate

import (
	"context"
	"errors"
	"fmt"

	jsonpatch "github.com/evanphx/json-patch/v5"

	"github.com/millwright-dev/millwright/provider"
)

// Fallback decorates p so that machines may also be created from the fallbacks of their class
// ([provider.Class.Fallbacks]), as further choices after those of the spec ([provider.Traits]).
//
// The class's own session answers everything but the choice: it finds, lists and removes the instances of
// all specs. An unusable fallback does not affect machines that need none: it is left out, and the error of
// a creation that finds all else exhausted names the reason.
func Fallback(p provider.Provider) provider.Provider { return falling{p} }

type falling struct{ provider.Provider }

func (p falling) Unwrap() any { return p.Provider }

func (p falling) Open(ctx context.Context, class provider.Class) (provider.Session, error) {
	fallbacks := class.Fallbacks
	class.Fallbacks = nil
	base, err := p.Provider.Open(ctx, class)
	if err != nil || len(fallbacks) == 0 {
		return base, err
	}
	s := &fallbackSession{Session: base, named: []named{{session: base}}}
	for n, patch := range fallbacks {
		other, err := p.fallback(ctx, class, base, patch)
		if err != nil {
			s.unusable = append(s.unusable, fmt.Errorf("fallback %d is not tried: %w", n+1, err))
			continue
		}
		s.named = append(s.named, named{fmt.Sprintf("fallback %d: ", n+1), other})
	}
	s.traits = withChoices(base.Traits(), s.named)
	return s, nil
}

// fallback opens the class with a patched spec.
func (p falling) fallback(ctx context.Context, class provider.Class, base provider.Session, patch []byte) (provider.Session, error) {
	spec, err := jsonpatch.MergePatch(class.Spec, patch)
	if err != nil {
		return nil, fmt.Errorf("it is no merge patch of the spec: %w", err)
	}
	class.Spec = spec
	other, err := p.Provider.Open(ctx, class)
	if err != nil {
		return nil, err
	}
	mine, its := base.Traits(), other.Traits()
	if mine.Scope == "" || mine.Scope != its.Scope {
		return nil, errors.New("its instances would not be found beside the spec's own: only what an instance is made of may differ")
	}
	if len(mine.Choices) == 0 || len(its.Choices) == 0 {
		return nil, errors.New("this infrastructure does not tell where capacity of the spec is counted")
	}
	return other, nil
}

// named is a session of one spec, and the prefix of the names of its choices.
type named struct {
	prefix  string
	session provider.Session
}

// fallbackSession is a session of a class with fallbacks: its own spec's, then one of each fallback.
type fallbackSession struct {
	provider.Session
	named  []named
	traits provider.Traits
	// unusable says why some fallbacks are left out.
	unusable []error
}

func (s *fallbackSession) Unwrap() any { return s.Session }

// Traits implements [provider.Session].
func (s *fallbackSession) Traits() provider.Traits { return s.traits }

// withChoices are the traits of the class's own session with the choices of all specs. Of two choices with
// the same capacity the first stays.
func withChoices(own provider.Traits, all []named) provider.Traits {
	type place struct{ region, zone, kind string }
	seen := map[place]bool{}
	own.Choices = nil
	for _, n := range all {
		rank := len(own.Choices) // the choices of a fallback come after all before it, also if they are equal
		for _, c := range n.session.Traits().Choices {
			if at := (place{c.Region, c.Zone, c.Type}); !seen[at] {
				seen[at] = true
				c.Name, c.Equal = n.prefix+c.Name, c.Equal && len(own.Choices) > rank
				own.Choices = append(own.Choices, c)
			}
		}
	}
	return own
}

// Create calls the session that the choice belongs to.
func (s *fallbackSession) Create(ctx context.Context, ref provider.Ref, want provider.Want) (provider.Instance, error) {
	of, choice := named{session: s.Session}, want.Choice
	for _, n := range s.named {
		for _, c := range n.session.Traits().Choices {
			if n.prefix+c.Name == want.Choice {
				of, choice = n, c.Name
			}
		}
	}
	want.Choice = choice
	i, err := of.session.Create(ctx, ref, want)
	return i, s.explain(err)
}

// explain adds to an Exhausted error why fallbacks are left out.
func (s *fallbackSession) explain(err error) error {
	e, ok := errors.AsType[*provider.Error](err)
	if !ok || e.Kind != provider.Exhausted || len(s.unusable) == 0 {
		return err
	}
	told := *e
	told.Err = errors.Join(append([]error{e.Err}, s.unusable...)...)
	return &told
}

// Differences is empty if the instance matches any of the specs.
func (s *fallbackSession) Differences(ref provider.Ref, i provider.Instance) (own []string) {
	for n, of := range s.named {
		differences := of.session.Differences(ref, i)
		if len(differences) == 0 {
			return nil
		}
		if n == 0 {
			own = differences
		}
	}
	return own
}

// As answers [provider.As] for capabilities that depend on all specs.
func (s *fallbackSession) As(target any) bool {
	t, ok := target.(*provider.Sizer)
	return ok && stand(&interception{inner: s.Session}, t, func(provider.Sizer) provider.Sizer { return fallbackSizer{s} })
}

type fallbackSizer struct{ s *fallbackSession }

// Size is the spec's own, limited to the smallest size of all fallbacks.
func (c fallbackSizer) Size(ctx context.Context) (least provider.Size, err error) {
	for n, of := range c.s.named {
		sizer, ok := provider.As[provider.Sizer](of.session)
		if !ok {
			continue
		}
		size, err := sizer.Size(ctx)
		if err != nil {
			return provider.Size{}, err
		}
		if n == 0 {
			least = size
			continue
		}
		least.VCPU, least.GPU, least.MemoryMiB = min(least.VCPU, size.VCPU), min(least.GPU, size.GPU), min(least.MemoryMiB, size.MemoryMiB)
		least.MaxPods, least.EphemeralStorageMiB = min(least.MaxPods, size.MaxPods), min(least.EphemeralStorageMiB, size.EphemeralStorageMiB)
	}
	return least, nil
}
