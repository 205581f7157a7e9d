package machine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/provider"
)

// chooser offers the choices, by name and zone.
type chooser []provider.Choice

func (c chooser) Choices(provider.Ref) []provider.Choice { return c }

func zones(names ...string) (out chooser) {
	for _, n := range names {
		out = append(out, provider.Choice{Name: n, Zone: n, Type: "large"})
	}
	return out
}

// chooses lets the cloud of g have the choices; what is asked for is noted.
func chooses[M client.Object](g *rig[M], choices chooser, answers func(choice string) error) *[]string {
	asked := &[]string{}
	g.cloud.offers = func(target any) bool {
		c, ok := target.(*provider.Chooser)
		if ok {
			*c = choices
		}
		return ok
	}
	g.cloud.answers = func(choice string) error {
		*asked = append(*asked, choice)
		return answers(choice)
	}
	return asked
}

func exhausted(s provider.Scope, names ...string) func(string) error {
	return func(choice string) error {
		if len(names) > 0 && !slices.Contains(names, choice) {
			return nil
		}
		return provider.ExhaustedIn(s, "no room for %s", choice)
	}
}

// TestNextChoice: what is exhausted is passed over within the pass, and nobody hears of it.
func TestNextChoice(t *testing.T) {
	g := openshiftRig(t)
	asked := chooses(g, zones("a", "b", "c"), exhausted(provider.ScopeType, "a"))
	g.pass()
	if !slices.Equal(*asked, []string{"a", "b"}) || len(g.cloud.instances) != 1 {
		t.Errorf("asked for %q, %d instances", *asked, len(g.cloud.instances))
	}
	if m := g.read(); ptr.Deref(m.Spec.ProviderID, "") == "" || m.Status.ErrorReason != nil {
		t.Errorf("provider ID %v, error %v", m.Spec.ProviderID, m.Status.ErrorReason)
	}
	for _, e := range g.told() {
		if strings.Contains(e, "no room") {
			t.Errorf("an instance was made, and people hear: %s", e)
		}
	}
}

// TestAccountExhausted: no zone is tried when the account has no quota; all choices are told, once each, and the infrastructure is
// asked again when that may help.
func TestAccountExhausted(t *testing.T) {
	g := gardenerRig(t, held[*v1alpha1.Machine](gardenerFinalizer))
	asked := chooses(g, zones("a", "b", "c"), exhausted(provider.ScopeAccount))
	if res := g.pass(); res.RequeueAfter != 10*time.Minute {
		t.Errorf("looked at again after %v, want 10m", res.RequeueAfter)
	}
	if !slices.Equal(*asked, []string{"a"}) {
		t.Errorf("asked for %q", *asked)
	}
	op := g.read().Status.LastOperation
	if want := "message = [none of 3 choices has capacity: a, b, c (no room for a)]"; op.ErrorCode != "ResourceExhausted" || !strings.Contains(op.Description, want) {
		t.Errorf("%s: %s", op.ErrorCode, op.Description)
	}
	g.clock.Step(9 * time.Minute)
	g.pass()
	if len(*asked) != 1 {
		t.Errorf("asked for %q within the pause", *asked)
	}
	g.cloud.answers = nil
	g.clock.Step(time.Minute)
	g.pass()
	if len(g.cloud.instances) != 1 {
		t.Error("no instance was made although there is room by now")
	}
}

// named is the account that credentials open.
type named string

func (n named) Account(context.Context) (string, error) { return string(n), nil }

// TestOthersKnow: what one machine finds exhausted no other asks for, in the account that the infrastructure names, or by credentials;
// a new process asks once.
func TestOthersKnow(t *testing.T) {
	for name, tells := range map[string]bool{"account": true, "credentials": false} {
		t.Run(name, func(t *testing.T) {
			g := openshiftRig(t)
			asked := chooses(g, zones("a", "b"), exhausted(provider.ScopeZone, "a"))
			offers := g.cloud.offers
			g.cloud.offers = func(target any) bool {
				if a, ok := target.(*provider.Accounter); ok && tells {
					*a = named("4711")
					return true
				}
				return offers(target)
			}
			g.pass()
			another := func(n int, want ...string) {
				t.Helper()
				m := openshiftMachine(func(m *machinev1.Machine) {
					m.Name, m.UID = fmt.Sprintf("m-%d", n), types.UID(fmt.Sprintf("uid-%d", n))
				})
				if err := g.control.WithWatch.Create(t.Context(), m); err != nil {
					t.Fatal(err)
				}
				i := &g.cloud.next
				i.ID, i.ProviderID, i.NodeName = fmt.Sprintf("i-%d", n), fmt.Sprintf("memory:///i-%d", n), fmt.Sprintf("node-%d", n)
				if _, err := g.try(m.Name); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(*asked, want) || len(g.cloud.instances) != n {
					t.Errorf("asked for %q, want %q; %d instances", *asked, want, len(g.cloud.instances))
				}
			}
			another(2, "a", "b", "b")
			g.restart()
			another(3, "a", "b", "b", "a", "b")
		})
	}
}

// TestNoOtherChoiceForALostReply: it is looked for until listings have caught up, and then the same choice is asked for again,
// although a better one is worth a try by then.
func TestNoOtherChoiceForALostReply(t *testing.T) {
	g := openshiftRig(t)
	g.cloud.lag = 2 * time.Minute
	lost := errors.New("connection reset")
	asked := chooses(g, zones("a", "b"), func(choice string) error {
		if choice == "a" {
			return provider.ExhaustedIn(provider.ScopeType, "no room")
		}
		return lost
	})
	g.pass()
	for range 3 {
		g.clock.Step(30 * time.Second)
		g.pass()
	}
	if !slices.Equal(*asked, []string{"a", "b"}) {
		t.Fatalf("asked for %q while the instance may not be listed yet", *asked)
	}
	lost = nil
	g.clock.Step(30 * time.Second)
	g.pass()
	if !slices.Equal(*asked, []string{"a", "b", "b"}) || len(g.cloud.instances) != 1 {
		t.Errorf("asked for %q, %d instances", *asked, len(g.cloud.instances))
	}
}

// TestManyChoices: a pass asks for a few, and the next one goes on.
func TestManyChoices(t *testing.T) {
	g := openshiftRig(t)
	var names []string
	for n := range 7 {
		names = append(names, fmt.Sprintf("zone-%d", n))
	}
	asked := chooses(g, zones(names...), exhausted(provider.ScopeType))
	if res := g.pass(); res.RequeueAfter != 500*time.Millisecond || len(*asked) != 5 {
		t.Errorf("%d were asked for in one pass, the next is after %v", len(*asked), res.RequeueAfter)
	}
	g.clock.Step(500 * time.Millisecond)
	if res := g.pass(); res.RequeueAfter != time.Minute-500*time.Millisecond || !slices.Equal(*asked, names) {
		t.Errorf("asked for %q, the next after %v", *asked, res.RequeueAfter)
	}
}
