package machine_test

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/millwright-dev/millwright/provider"
)

// cloud is an infrastructure in memory, with errors to order. One goroutine
// uses it.
type cloud struct {
	instances []provider.Instance
	// next is the instance that Create makes.
	next provider.Instance
	// The errors that the calls come to; openErr by the spec, so that a bare
	// session can be had. replyLost lets Create make the instance all the same.
	openErr                       func(provider.Class) error
	findErr, createErr, deleteErr error
	listErr                       error
	replyLost                     bool
	// deletions is how often Delete has to be called until the instance is terminated.
	deletions int
	lag       time.Duration
	// traits are those of sessions besides lag.
	traits provider.Traits
	// account is the one that credentials open; empty: it cannot be named.
	account string
	// forgets: a terminated instance is not found any more.
	forgets bool
	// differs is what instances differ in from their class.
	differs []string
	// offers are the optional capabilities that the test wants besides.
	offers func(target any) bool
	// answers is what Create comes to for a choice, where that is an error.
	answers func(choice string) error
	// before is called with the name of each call.
	before func(call string)

	calls    []string
	attempts []int
	userData string
	classes  []provider.Class
}

func (c *cloud) called(name string) {
	c.calls = append(c.calls, name)
	if c.before != nil {
		c.before(name)
	}
}

// count is how often a call was made.
func (c *cloud) count(name string) (n int) {
	for _, call := range c.calls {
		if call == name {
			n++
		}
	}
	return n
}

func (c *cloud) As(target any) bool { return c.offers != nil && c.offers(target) }

func (c *cloud) Name() string { return "memory" }

func (c *cloud) Open(_ context.Context, class provider.Class) (provider.Session, error) {
	c.classes = append(c.classes, class)
	if c.openErr != nil {
		if err := c.openErr(class); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *cloud) Find(_ context.Context, ref provider.Ref) (out []provider.Instance, err error) {
	c.called("Find")
	if c.findErr != nil {
		return nil, c.findErr
	}
	for _, i := range c.instances {
		if c.forgets && !i.Exists() {
			continue
		}
		if i.UID == ref.UID || provider.SameInstance(c, i.ProviderID, ref.ProviderID) || i.UID == "" && i.Name == ref.Name {
			out = append(out, i)
		}
	}
	return out, nil
}

func (c *cloud) Create(_ context.Context, ref provider.Ref, want provider.Want) (provider.Instance, error) {
	c.called("Create")
	c.attempts = append(c.attempts, want.Attempt)
	c.userData = string(want.UserData)
	if c.answers != nil {
		if err := c.answers(want.Choice); err != nil {
			return provider.Instance{}, err
		}
	}
	if c.createErr != nil && !c.replyLost {
		return provider.Instance{}, c.createErr
	}
	for _, i := range c.instances {
		if i.UID == ref.UID {
			return i, c.createErr
		}
	}
	i := c.next
	i.UID, i.Name = ref.UID, ref.Name
	c.instances = append(c.instances, i)
	return i, c.createErr
}

func (c *cloud) Delete(_ context.Context, ref provider.Ref, given []provider.Instance) (bool, error) {
	c.called("Delete")
	goes := func(i provider.Instance) bool {
		return i.UID == ref.UID || slices.ContainsFunc(given, func(g provider.Instance) bool { return g.ID == i.ID })
	}
	if c.deleteErr != nil {
		return false, c.deleteErr
	}
	if c.deletions > 0 {
		c.deletions--
		for i := range c.instances {
			if goes(c.instances[i]) {
				c.instances[i].State, c.instances[i].RawState = provider.Stopping, "stopping"
			}
		}
		return false, nil
	}
	c.instances = slices.DeleteFunc(c.instances, goes)
	return true, nil
}

func (c *cloud) List(context.Context) iter.Seq2[provider.Instance, error] {
	c.called("List")
	return func(yield func(provider.Instance, error) bool) {
		for _, i := range c.instances {
			if !yield(i, nil) {
				return
			}
		}
		if c.listErr != nil {
			yield(provider.Instance{}, c.listErr)
		}
	}
}

func (c *cloud) Traits() provider.Traits {
	t := c.traits
	t.ReadLag = c.lag
	return t
}

func (c *cloud) Account(context.Context) (string, error) {
	if c.account == "" {
		return "", provider.ErrNoAccount
	}
	return c.account, nil
}

func (*cloud) Status(provider.Instance) ([]byte, error) { return nil, nil }

func (c *cloud) Initialize(_ context.Context, _ provider.Ref, i provider.Instance) error {
	c.called("Initialize")
	for n := range c.instances {
		c.instances[n].Uninitialized = c.instances[n].Uninitialized && c.instances[n].ID != i.ID
	}
	return nil
}

func (c *cloud) Differences(provider.Ref, provider.Instance) []string { return c.differs }
