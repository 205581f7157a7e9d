package gardener_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/millwright-dev/millwright/adapters/gardener/internal/reference"
	"github.com/millwright-dev/millwright/dev/clouds/double"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/provider/providertest"
)

// beyond are the checks that a driver's interface cannot pass, each with what the interface lacks. The suite
// runs them nevertheless, and they must fail.
var beyond = map[string]string{
	"owner":         "a driver writes no owner on an instance",
	"owner unknown": "a driver writes no namespace on an instance",
	"another owner": "a driver writes no owner on an instance",
	"class gone":    "a driver is given all that it knows with each call, and can do nothing without the spec",
}

// chance are the checks that pass or fail by chance.
var chance = map[string]string{
	"create concurrently": "a driver has no token, and Nova no unique names: the lease alone keeps processes apart",
}

// fresh are the checks that restart the process: the new one has just begun.
var fresh = map[string]bool{"crash after create": true, "listing lag": true, "delete repeated": true, "reply lost": true}

// TestConformance: the contract of the engine, with a driver that blocks for minutes.
func TestConformance(t *testing.T) {
	for name, habits := range map[string]reference.Habits{
		"all calls": {}, "without a status": {NoStatus: true}, "with an initialization": {Initializes: true},
		"shows what it removed": {Removal: reference.Removal{Shows: time.Hour}}, "lists what it removed": {Removal: reference.Removal{Shows: time.Hour, Lists: true}},
		"fails for what it removed": {Removal: reference.Removal{Shows: time.Hour, Refuses: true}},
	} {
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
	err := c.Run(b.t.Context(), b.harness(fresh[c.Name]), provider.Gardener)
	why, excused := beyond[c.Name]
	switch {
	case providertest.Skipped(err):
		b.t.Skip(err)
	case excused && err == nil:
		b.t.Errorf("it is met, and said to be beyond drivers: %s", why)
	case excused:
		b.t.Skipf("%s: %v", why, err)
	case err != nil:
		b.t.Errorf("%s: %v", c.Reason, err)
	}
}

// harness is the bench's harness. If processes are fresh, one ends when the next begins, which has read
// nothing yet.
func (b *bench) harness(fresh bool) providertest.Harness {
	all, end := b.life, context.CancelFunc(func() {})
	return providertest.Harness{
		Start: func() provider.Provider {
			if end(); !fresh {
				return b.start()
			}
			b.life, end = context.WithCancel(all)
			defer func() { b.settled = false }()
			return b.start()
		},
		Class: class,
		APIs:  []string{provider.Gardener},
		ProviderID: map[string]*regexp.Regexp{
			provider.Gardener: regexp.MustCompile(`^openstack:///RegionOne/[0-9a-f-]{36}$`),
		},
		Changed: func(c provider.Class) provider.Class {
			c.Spec = []byte(strings.ReplaceAll(string(c.Spec), `"keyName":"k",`, ``))
			return c
		},
		Incomparable: true, // only the driver can compare
		PageSize:     pageSize, Patience: time.Hour,
		Knobs: providertest.Knobs{
			Advance: time.Sleep,
			Inject:  b.inject,
			Lag: func(d time.Duration) error {
				return b.cloud.Do("lag", d.String())
			},
			Plant: func(c provider.Class, i provider.Instance) error {
				if i.UID != "" {
					return providertest.Skip("drivers write no UID on instances")
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
				c = class(c.API, c.Cluster)
				c.Credentials["password"] = []byte("other")
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
	case !ok, f.Duplicate:
		return providertest.Skip(fmt.Sprintf("%s cannot fail in that way", v))
	case f.Kind == provider.Throttled:
		return providertest.Skip("drivers have no code for a rate limit")
	case f.Partial > 0:
		operation += ".next"
	}
	b.server.Inject(double.Fault{
		Failure: double.Failure{Kind: string(f.Kind)}, Operation: operation, Times: 1, Done: f.Done, Stall: f.Stall, Delay: f.Slow,
	})
	return nil
}
