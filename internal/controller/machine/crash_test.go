package machine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/controller/machine"
	"github.com/millwright-dev/millwright/internal/runtime/node"
	"github.com/millwright-dev/millwright/provider"
)

// ordeal is what goes wrong in the life of a machine, once: the process is killed
// before one of its effects, or the reply to one of them is lost. The effects are
// its writes to both clusters and the calls that change the infrastructure.
type ordeal struct {
	// at counts effects from 0; lost chooses the reply.
	at   int
	lost bool
	// lag is how far the infrastructure's listings run behind, promised how far it says that they do.
	lag, promised time.Duration
	// choosy: there are two choices, of which the first has no room, and a request is known again by its choice and attempt alone.
	choosy bool
	made   map[string]provider.Instance

	seen []string
	dead bool
}

var errOrdeal = errors.New("connection reset by peer")

// effect lets do happen, or not.
func (o *ordeal) effect(name string, do func() error) error {
	if o.dead {
		return errOrdeal
	}
	now := len(o.seen) == o.at
	o.seen = append(o.seen, name)
	if now && !o.lost {
		o.dead = true
		return errOrdeal
	}
	if err := do(); !now {
		return err
	}
	return errOrdeal
}

// client is c as the process that suffers sees it.
func (o *ordeal) client(c client.WithWatch) client.WithWatch {
	kind := func(v client.Object) string { return fmt.Sprintf("%T", v) }
	return interceptor.NewClient(c, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, v client.Object, opts ...client.CreateOption) error {
			return o.effect("create "+kind(v), func() error { return c.Create(ctx, v, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, v client.Object, opts ...client.DeleteOption) error {
			return o.effect("delete "+kind(v), func() error { return c.Delete(ctx, v, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, v client.Object, p client.Patch, opts ...client.PatchOption) error {
			return o.effect("patch "+kind(v), func() error { return c.Patch(ctx, v, p, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, v client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			return o.effect("patch "+kind(v)+"/"+sub, func() error { return c.SubResource(sub).Patch(ctx, v, p, opts...) })
		},
		SubResourceCreate: func(ctx context.Context, c client.Client, sub string, v, s client.Object, opts ...client.SubResourceCreateOption) error {
			return o.effect("create "+kind(v)+"/"+sub, func() error { return c.SubResource(sub).Create(ctx, v, s, opts...) })
		},
	})
}

// brittle is the infrastructure as the process that suffers sees it.
type brittle struct {
	*cloud
	o   *ordeal
	now func() time.Time
}

func (b brittle) Open(context.Context, provider.Class) (provider.Session, error) { return b, nil }

func (b brittle) Account(context.Context) (string, error) { return "one", nil }

func (b brittle) Traits() provider.Traits {
	t := b.cloud.Traits()
	t.ReadLag = b.o.promised
	return t
}

func (b brittle) Find(ctx context.Context, ref provider.Ref) ([]provider.Instance, error) {
	found, err := b.cloud.Find(ctx, ref)
	return slices.DeleteFunc(found, func(i provider.Instance) bool { return b.now().Before(i.Created.Add(b.o.lag)) }), err
}

func (b brittle) Create(ctx context.Context, ref provider.Ref, want provider.Want) (i provider.Instance, err error) {
	err = b.o.effect("make "+want.Choice, func() (err error) {
		if want.Choice == "a" {
			return provider.ExhaustedIn(provider.ScopeZone, "no room")
		}
		token := fmt.Sprint(want.Choice, want.Attempt)
		if was, known := b.o.made[token]; known && b.o.choosy {
			i = was
			return nil
		}
		defer func() { b.o.made[token] = i }()
		if b.o.choosy && len(b.o.made) > 0 {
			i = b.instances[0]
			i.ID = fmt.Sprintf("i-%d", 1+b.count("Create"))
			b.instances = append(b.instances, i)
			return nil
		}
		b.next.ID = fmt.Sprintf("i-%d", 1+b.count("Create"))
		b.next.Created, b.next.Uninitialized = b.now(), true
		i, err = b.cloud.Create(ctx, ref, want)
		return err
	})
	return i, err
}

func (b brittle) Initialize(_ context.Context, _ provider.Ref, i provider.Instance) error {
	return b.o.effect("initialize", func() error {
		for n := range b.instances {
			if b.instances[n].ID == i.ID {
				b.instances[n].Uninitialized = false
			}
		}
		return nil
	})
}

func (b brittle) Delete(ctx context.Context, ref provider.Ref, given []provider.Instance) (done bool, err error) {
	err = b.o.effect("remove", func() (err error) {
		done, err = b.cloud.Delete(ctx, ref, given)
		return err
	})
	return done, err
}

// suffer lets a machine live and be deleted under the ordeal, and returns the
// effects that it took.
func suffer[M client.Object](t *testing.T, g *rig[M], o *ordeal) []string {
	t.Helper()
	g.cloud.deletions = 1
	ids := map[string]bool{}
	var r *machine.Reconciler[M]
	o.made = map[string]provider.Instance{}
	if o.choosy {
		chooses(g, zones("a", "b"), func(string) error { return nil })
	}
	start := func() {
		target := o.client(g.target)
		r = machine.New(machine.Options[M]{
			Client: o.client(g.control), Live: o.client(g.control), Clock: g.clock, Dialect: g.lens, Resolver: resolver(g.lens, g.control), Provider: brittle{g.cloud, o, g.clock.Now}, Recorder: g.events,
			Nodes: node.New(target, target, g.clock),
		})
		o.dead = false
	}
	pass := func() {
		res, _ := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKey{Namespace: ns, Name: "m-1"}})
		if o.dead {
			start()
		}
		for _, i := range g.cloud.instances {
			ids[i.ID] = true
		}
		if len(ids) > 1 {
			t.Fatalf("instances %v were made for one machine", ids)
		}
		g.clock.Step(max(res.RequeueAfter, time.Second))
	}
	start()
	joined := false
	for range 30 {
		if pass(); len(g.cloud.instances) > 0 && !joined {
			g.joins()
			joined = true
		}
	}
	v := g.lens.View(g.read())
	if v.Stage != "Running" || v.Recorded.ProviderID == "" || len(g.cloud.instances) != 1 || g.cloud.instances[0].Uninitialized {
		t.Fatalf("stage %s, provider ID %q, instances %+v", v.Stage, v.Recorded.ProviderID, g.cloud.instances)
	}
	g.delete()
	g.clock.SetTime(g.read().GetDeletionTimestamp().Time)
	for range 30 {
		pass()
		if g.gone() && len(g.cloud.instances) > 0 {
			t.Fatal("the machine is gone and its instance is not")
		}
	}
	var nodes corev1.NodeList
	if err := g.target.List(t.Context(), &nodes); err != nil {
		t.Fatal(err)
	}
	if !g.gone() || len(nodes.Items) > 0 {
		t.Fatalf("gone %v, %d nodes, instances %q", g.gone(), len(nodes.Items), g.there())
	}
	return o.seen
}

// TestCrashPoints: whichever effect of a life is the last one before the process is killed, and whichever
// reply is lost, there is one instance, it is recorded, and in the end no instance is left.
func TestCrashPoints(t *testing.T) {
	inBothAPIs(t, crashes{
		needs: []string{"make ", "initialize", "remove"},
		lags:  []listingLag{{0, 0}, {7 * time.Second, 7 * time.Second}},
	})
}

// TestSafetyCrashPointsOfChoices: so it is where a request that is repeated otherwise than it was made makes a second instance, and listings run
// further behind than the infrastructure says.
func TestSafetyCrashPointsOfChoices(t *testing.T) {
	inBothAPIs(t, crashes{
		choosy: true, needs: []string{"make a", "make b"},
		lags: []listingLag{{7 * time.Second, 0}, {7 * time.Second, 2 * time.Second}},
	})
}

// listingLag is how far listings run behind, and how far the infrastructure says that they do.
type listingLag struct{ real, promised time.Duration }

// crashes are the ordeals of a life that has these effects.
type crashes struct {
	choosy bool
	needs  []string
	lags   []listingLag
}

func inBothAPIs(t *testing.T, c crashes) {
	t.Run("openshift", func(t *testing.T) {
		crashPoints(t, c, func(t *testing.T) *rig[*machinev1.Machine] { return openshiftRig(t) })
	})
	t.Run("gardener", func(t *testing.T) {
		crashPoints(t, c, func(t *testing.T) *rig[*v1alpha1.Machine] { return gardenerRig(t) })
	})
}

func crashPoints[M client.Object](t *testing.T, c crashes, get func(*testing.T) *rig[M]) {
	plain := suffer(t, get(t), &ordeal{at: -1, choosy: c.choosy})
	for _, need := range c.needs {
		if !slices.Contains(plain, need) {
			t.Fatalf("a life without trouble has the effects %q, and not %q", plain, need)
		}
	}
	for at, effect := range plain {
		for _, lag := range c.lags {
			for _, lost := range []bool{false, true} {
				t.Run(fmt.Sprintf("%d %s, reply lost %v, lag %v", at, effect, lost, lag), func(t *testing.T) {
					suffer(t, get(t), &ordeal{at: at, lost: lost, choosy: c.choosy, lag: lag.real, promised: lag.promised})
				})
			}
		}
	}
}
