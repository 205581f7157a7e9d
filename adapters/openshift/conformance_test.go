package openshift_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/adapters/openshift/internal/reference"
	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/providertest"
)

// beyond are the checks that an actuator's interface cannot pass, each with what the interface lacks. The
// suite runs them nevertheless, and they must fail.
var beyond = map[string]string{
	"found by provider ID": "an actuator tells no name of an instance: it goes by that of the machine",
	"owner unknown":        "an actuator writes no namespace on an instance",
	"one without UID":      unlisted,
	"foreign namesake":     unlisted,
	"foreign provider ID":  unlisted,
	"only what is given":   "an actuator tells of one instance for a machine",
	"rotated credentials":  "an actuator reads its credentials itself, whatever class a session was opened with",
	"owner":                "an actuator writes no owner on an instance",
	"another owner":        "an actuator writes no owner on an instance",
}

const unlisted = "actuators have no listing: what nobody has asked about is not listed"

// chance are the checks that pass or fail by chance.
var chance = map[string]string{
	"create concurrently": "an actuator has no token, and Nova no unique names: the lease alone keeps processes apart",
}

// fresh are the checks that restart the process: the new one has just begun.
var fresh = map[string]bool{"crash after create": true, "listing lag": true, "delete repeated": true, "reply lost": true}

// TestConformance: the contract of the engine, with an actuator that blocks for minutes and with one that
// does not.
func TestConformance(t *testing.T) {
	for name, habits := range map[string]reference.Habits{"returns at once": {}, "blocks": {Blocks: true}} {
		t.Run(name, func(t *testing.T) {
			for _, c := range providertest.Checks() {
				t.Run(c.Name, func(t *testing.T) {
					inBubble(t, habits, func(b *bench) { b.conforms(c) })
				})
			}
		})
	}
}

func (b *bench) conforms(c providertest.Check) {
	if why := chance[c.Name]; why != "" {
		b.t.Skip(why)
	}
	err := c.Run(b.t.Context(), b.harness(fresh[c.Name]), provider.OpenShift)
	why, excused := beyond[c.Name]
	switch {
	case providertest.Skipped(err):
		b.t.Skip(err)
	case excused && err == nil:
		b.t.Errorf("it is met, and said to be beyond actuators: %s", why)
	case excused:
		b.t.Skipf("%s: %v", why, err)
	case err != nil:
		b.t.Errorf("%s: %v", c.Reason, err)
	}
}

// declaring is a provider in a control cluster that has a Machine for each ref of a call: actuators need
// Machines.
type declaring struct {
	provider.Provider
	b *bench
}

func (d declaring) Unwrap() any { return d.Provider }

func (d declaring) Open(ctx context.Context, c provider.Class) (provider.Session, error) {
	s, err := d.Provider.Open(ctx, c)
	return declared{s, d.b, c}, err
}

type declared struct {
	provider.Session
	b     *bench
	class provider.Class
}

func (d declared) Unwrap() any { return d.Session }

func (d declared) Find(ctx context.Context, ref provider.Ref) ([]provider.Instance, error) {
	d.declare(ref)
	return d.Session.Find(ctx, ref)
}

func (d declared) Create(ctx context.Context, ref provider.Ref, want provider.Want) (provider.Instance, error) {
	d.declare(ref)
	return d.Session.Create(ctx, ref, want)
}

func (d declared) declare(ref provider.Ref) {
	if ref.UID != "" {
		d.b.declare(ref, d.class)
	}
}

// harness is the bench's harness. If processes are fresh, one ends when the next begins, which has read
// nothing yet.
func (b *bench) harness(fresh bool) providertest.Harness {
	all, end := b.life, context.CancelFunc(func() {})
	return providertest.Harness{
		Start: func() provider.Provider {
			if end(); !fresh {
				return declaring{b.start(), b}
			}
			b.life, end = context.WithCancel(all)
			defer func() { b.settled = false }()
			return declaring{b.start(), b}
		},
		Class: class,
		APIs:  []string{provider.OpenShift},
		ProviderID: map[string]*regexp.Regexp{
			provider.OpenShift: regexp.MustCompile(`^openstack:///RegionOne/[0-9a-f-]{36}$`),
		},
		Changed: func(c provider.Class) provider.Class {
			c.Spec = []byte(strings.ReplaceAll(string(c.Spec), `"nova"`, `""`))
			return c
		},
		Incomparable: true, // only the actuator can compare
		PageSize:     pageSize, Patience: time.Hour,
		Knobs: providertest.Knobs{
			Advance: time.Sleep,
			Inject:  b.inject,
			Lag: func(d time.Duration) error {
				return b.cloud.Do("lag", d.String())
			},
			Plant: func(c provider.Class, i provider.Instance) error {
				if i.UID != "" {
					return providertest.Skip("actuators write no UID on instances")
				}
				b.plant(c.Cluster, i.Name)
				return nil
			},
			Remove: func(c provider.Class, id string) error {
				return b.cloud.Do("terminate", b.servers(c.Cluster)[id][0])
			},
			Count: func(c provider.Class) (n, _ int, _ error) {
				for _, ids := range b.servers(c.Cluster) {
					n += len(ids)
				}
				return n, 0, nil
			},
			Rotate: func(c provider.Class) (provider.Class, error) {
				b.cloud.SetPassword("machines", "other")
				b.password("other")
				return c, nil
			},
		},
	}
}

// operations maps a verb to the cloud's operations that serve it.
var operations = map[providertest.Verb]string{
	providertest.Find: "nova.GET.servers.detail", providertest.Create: "nova.POST.servers", providertest.Delete: "nova.DELETE.servers.id",
	providertest.List: "nova.GET.servers.detail",
}

func (b *bench) inject(v providertest.Verb, f providertest.Fault) error {
	operation, ok := operations[v]
	switch {
	case !ok, f.Duplicate, v == providertest.List:
		return providertest.Skip(fmt.Sprintf("%s cannot fail in that way", v))
	case f.Kind == provider.Throttled, f.Kind == provider.Denied:
		return providertest.Skip("actuators have no reason for a call that is refused, or made too often")
	case f.Partial > 0:
		operation += ".next"
	}
	b.server.Inject(double.Fault{
		Failure: double.Failure{Kind: string(f.Kind)}, Operation: operation, Times: 1, Done: f.Done, Stall: f.Stall, Delay: f.Slow,
	})
	return nil
}
