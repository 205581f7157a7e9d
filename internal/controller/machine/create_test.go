package machine_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/controller/readyourwrites"
	"github.com/millwright-dev/millwright/internal/engine/bootstrap"
	"github.com/millwright-dev/millwright/provider"
)

func conflict() error {
	return apierrors.NewConflict(schema.GroupResource{Resource: "machines"}, "m-1", errors.New("changed"))
}

// TestFinalizerBeforeCreate: nothing is bought for an object that may vanish.
func TestFinalizerBeforeCreate(t *testing.T) {
	g := openshiftRig(t)
	g.cloud.before = func(call string) {
		if call == "Create" && !slices.Contains(g.read().Finalizers, openshiftFinalizer) {
			t.Error("Create was called before the finalizer was stored")
		}
	}
	g.pass()
	if g.cloud.count("Create") != 1 {
		t.Fatal("Create was not called")
	}
	h := openshiftRig(t)
	h.control.refuse = func(string) error { return conflict() }
	if _, err := h.try("m-1"); !apierrors.IsConflict(err) {
		t.Errorf("a finalizer that cannot be stored: %v", err)
	}
	if h.cloud.count("Create") != 0 {
		t.Error("an instance was made although the finalizer is not stored")
	}
}

// TestStartedByInitialize: an instance that is made switched off is started by Initialize, and is starting from then on.
func TestStartedByInitialize(t *testing.T) {
	for _, row := range []struct {
		state provider.State
		want  string
	}{
		{provider.Stopped, "Provisioning"},
		{provider.Running, "Provisioned"},
	} {
		g := openshiftRig(t)
		g.cloud.next.State, g.cloud.next.Uninitialized = row.state, true
		g.pass()
		if g.cloud.count("Initialize") != 1 {
			t.Fatal("Initialize was not called in the pass that made the instance")
		}
		if phase := ptr.Deref(g.read().Status.Phase, ""); phase != row.want {
			t.Errorf("of an instance that was %s, the phase is %s, want %s", row.state, phase, row.want)
		}
	}
}

// TestConflictAfterCreate: the instance was made and could not be recorded. The
// next pass finds it.
func TestConflictAfterCreate(t *testing.T) {
	g := gardenerRig(t, held[*v1alpha1.Machine](gardenerFinalizer))
	g.control.refuse = func(string) error { return conflict() }
	if _, err := g.try("m-1"); !apierrors.IsConflict(err) {
		t.Fatalf("the write was refused, and the pass came to %v", err)
	}
	if told := g.told(); len(told) > 0 {
		t.Errorf("what was not stored is told: %q", told)
	}
	g.control.refuse = nil
	g.restart()
	g.pass()
	if n := g.cloud.count("Create"); n != 1 || len(g.cloud.instances) != 1 {
		t.Errorf("%d calls of Create, %d instances, want one of each", n, len(g.cloud.instances))
	}
	if m := g.read(); m.Spec.ProviderID != "memory:///i-1" || m.Labels["node"] != "node-1" {
		t.Errorf("the instance that was found is not recorded: %q", m.Spec.ProviderID)
	}
}

// TestLostReply: the cloud made the instance, and its answer did not arrive.
func TestLostReply(t *testing.T) {
	g := openshiftRig(t)
	g.cloud.createErr, g.cloud.replyLost = errors.New("connection reset"), true
	if res := g.pass(); res.RequeueAfter != 500*time.Millisecond {
		t.Errorf("tried again after %v, want 500ms", res.RequeueAfter)
	}
	g.cloud.createErr = nil
	g.clock.Step(500 * time.Millisecond)
	g.pass()
	if len(g.cloud.instances) != 1 || ptr.Deref(g.read().Spec.ProviderID, "") == "" {
		t.Errorf("%d instances, provider ID %v", len(g.cloud.instances), g.read().Spec.ProviderID)
	}
}

// TestLostReplyIsNotForgotten: listings run behind, so the instance whose reply was lost is not shown yet. Whatever ends
// the retry meanwhile, none is asked for before it can be.
func TestLostReplyIsNotForgotten(t *testing.T) {
	for name, meanwhile := range map[string]func(g *rig[*machinev1.Machine]){
		"a hook is put on the machine": func(g *rig[*machinev1.Machine]) {
			g.change(func(m *machinev1.Machine) {
				m.Generation++
				m.Spec.LifecycleHooks.PreDrain = []machinev1.LifecycleHook{{Name: "copy", Owner: "backup"}}
			})
		},
		"its boot data are renewed": func(g *rig[*machinev1.Machine]) {
			if err := g.control.WithWatch.Patch(t.Context(), userData("boot again"), client.MergeFrom(userData(""))); err != nil {
				t.Fatal(err)
			}
		},
		"a question fails": func(g *rig[*machinev1.Machine]) {
			g.cloud.findErr = errors.New("throttled")
			g.clock.Step(time.Second)
			g.pass()
			g.cloud.findErr = nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := openshiftRig(t)
			g.cloud.lag = time.Minute
			g.cloud.createErr, g.cloud.replyLost = errors.New("connection reset"), true
			g.pass()
			made := g.cloud.instances
			g.cloud.createErr, g.cloud.instances = nil, nil
			meanwhile(g)
			g.clock.Step(30 * time.Second)
			g.pass()
			if n := g.cloud.count("Create"); n != 1 {
				t.Errorf("an instance was asked for %d times within the time by which listings are behind", n)
			}
			g.cloud.instances = made
			g.clock.Step(time.Minute)
			g.pass()
			if n := g.cloud.count("Create"); n != 1 || ptr.Deref(g.read().Spec.ProviderID, "") == "" {
				t.Errorf("%d calls of Create, provider ID %v", n, g.read().Spec.ProviderID)
			}
		})
	}
}

// TestLostReplyOfAnInstanceThatDied: it is recorded, so that its loss is known.
func TestLostReplyOfAnInstanceThatDied(t *testing.T) {
	g := gardenerRig(t, bySet[*v1alpha1.Machine](gardenerFinalizer))
	g.cloud.createErr, g.cloud.replyLost, g.cloud.forgets, g.cloud.lag = errors.New("connection reset"), true, true, 2*time.Second
	g.pass()
	g.cloud.createErr = nil
	g.cloud.instances[0].State = provider.Terminated
	for range 5 {
		g.clock.Step(3 * time.Second)
		g.pass()
	}
	if n := g.cloud.count("Create"); n != 2 {
		t.Errorf("an instance that is gone was asked for %d times, want twice: with a lost reply, and for the reply", n)
	}
	if m := g.read(); m.Spec.ProviderID != "memory:///i-1" {
		t.Errorf("provider ID %q", m.Spec.ProviderID)
	}
}

// TestStaleCache: what is acted on is what was written last, and not the object of before
// that, which the cache still shows.
func TestStaleCache(t *testing.T) {
	g := openshiftRig(t, held[*machinev1.Machine](openshiftFinalizer))
	before := g.read()
	g.pass()
	g.written()
	g.control.stale = before
	if res := g.pass(); res.RequeueAfter <= 0 || res.RequeueAfter > readyourwrites.Patience {
		t.Errorf("a machine whose write the cache hides is looked at again after %v", res.RequeueAfter)
	}
	if n := g.cloud.count("Create"); n != 1 || len(g.written()) > 0 {
		t.Errorf("with a stale object: %d calls of Create, or something was written", n)
	}
	g.joins()
	g.pass()
	if phase := ptr.Deref(g.liveMachine().Status.Phase, ""); phase != "Running" {
		t.Errorf("phase %q: it does not go on by what it wrote", phase)
	}
	g.control.stale = nil
	g.pass()
	if phase := ptr.Deref(g.read().Status.Phase, ""); phase != "Running" {
		t.Errorf("phase %q once the cache has caught up", phase)
	}
}

// TestRetryDelay: an attempt that failed is not repeated before its time,
// whatever else wakes the machine, and a new spec gets a new try.
func TestRetryDelay(t *testing.T) {
	g := gardenerRig(t, held[*v1alpha1.Machine](gardenerFinalizer))
	g.cloud.createErr = provider.Errorf(provider.Exhausted, "no capacity")
	if res := g.pass(); res.RequeueAfter != 10*time.Minute {
		t.Errorf("exhausted: again in %v, want 10m", res.RequeueAfter)
	}
	g.written()
	g.clock.Step(4 * time.Minute)
	if res := g.pass(); res.RequeueAfter != 6*time.Minute || g.cloud.count("Create") != 1 {
		t.Errorf("woken early: again in %v, want 6m; %d calls of Create, want 1", res.RequeueAfter, g.cloud.count("Create"))
	}
	g.wrote("nothing has changed")
	m := g.read()
	m.Generation++
	if err := g.control.WithWatch.Patch(t.Context(), m, client.MergeFrom(g.read())); err != nil {
		t.Fatal(err)
	}
	g.cloud.createErr = nil
	g.pass()
	if g.cloud.count("Create") != 2 {
		t.Error("a new spec did not get a new try")
	}
}

// TestTransientBackOff doubles the pauses.
func TestTransientBackOff(t *testing.T) {
	g := openshiftRig(t)
	g.cloud.createErr = errors.New("connection reset")
	for i, want := range []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second} {
		res := g.pass()
		if res.RequeueAfter != want || g.cloud.count("Create") != i+1 {
			t.Fatalf("failure %d: again in %v after %d calls, want %v", i+1, res.RequeueAfter, g.cloud.count("Create"), want)
		}
		g.clock.Step(res.RequeueAfter)
	}
}

// TestFailedLookup: not to know is not to have none.
func TestFailedLookup(t *testing.T) {
	g := openshiftRig(t, held[*machinev1.Machine](openshiftFinalizer))
	g.cloud.findErr = provider.Errorf(provider.Denied, "not allowed")
	g.pass()
	if g.cloud.count("Create") != 0 {
		t.Error("an instance was made although the cloud did not answer")
	}
}

// TestUserData: rendered per machine, with a token where it is asked for, which
// goes once it has served.
func TestUserData(t *testing.T) {
	g := openshiftRig(t)
	boot := userData("join <<BOOTSTRAP_TOKEN>> as <<MACHINE_NAME>>")
	if err := g.control.WithWatch.Patch(t.Context(), boot, client.MergeFrom(userData(""))); err != nil {
		t.Fatal(err)
	}
	g.pass()
	var tokens corev1.SecretList
	list := func() int {
		if err := g.target.List(t.Context(), &tokens, client.InNamespace("kube-system")); err != nil {
			t.Fatal(err)
		}
		return len(tokens.Items)
	}
	if list() != 1 {
		t.Fatalf("%d tokens, want one", len(tokens.Items))
	}
	d := tokens.Items[0].Data
	want := "join " + string(d["token-id"]) + "." + string(d["token-secret"]) + " as m-1"
	if g.cloud.userData != want {
		t.Errorf("user data %q, want %q", g.cloud.userData, want)
	}
	g.joins()
	g.pass()
	if list() != 0 {
		t.Error("the token is left although the node has joined")
	}
}

// TestTokenOutlivesAnOlderNode: what has the machine's address was there before its
// token was made. The token stays until its own node has joined, or it is released,
// also when that other node goes.
func TestTokenOutlivesAnOlderNode(t *testing.T) {
	g := openshiftRig(t)
	if err := g.control.WithWatch.Patch(t.Context(), userData("join <<BOOTSTRAP_TOKEN>>"), client.MergeFrom(userData(""))); err != nil {
		t.Fatal(err)
	}
	token := bootstrap.Token{
		ID: bootstrap.TokenID("uid-1", 0), Secret: "0123456789abcdef", Expires: start.Add(24 * time.Hour),
		Owner: bootstrap.Owner{Key: ns + "/m-1", UID: "uid-1"},
	}.Object()
	token.CreationTimestamp = metav1.NewTime(start)
	if err := g.target.WithWatch.Create(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	there := func() bool {
		return g.target.WithWatch.Get(t.Context(), client.ObjectKeyFromObject(token), &corev1.Secret{}) == nil
	}
	g.pass()
	g.joins()
	for range 2 {
		if g.pass(); ptr.Deref(g.read().Status.Phase, "") != "Running" || !there() {
			t.Errorf("phase %q, token there %v", ptr.Deref(g.read().Status.Phase, ""), there())
		}
	}
	g.forgetNode()
	for range 2 {
		if g.pass(); !there() {
			t.Error("the token went with the node of another")
		}
	}
	g.delete()
	g.clock.Step(time.Minute)
	if g.some(3); !g.gone() || there() {
		t.Errorf("gone %v, token there %v", g.gone(), there())
	}
}

// TestTokenIsDroppedInTheEnd: the deletion of a token that failed is tried again, also by the next process,
// and whatever the user data says meanwhile.
func TestTokenIsDroppedInTheEnd(t *testing.T) {
	for _, r := range []struct {
		reason string
		before func(*rig[*machinev1.Machine])
		passes int
	}{
		{"the API server was busy", func(*rig[*machinev1.Machine]) {}, 2},
		{"and the process ended", func(g *rig[*machinev1.Machine]) { g.pass(); g.restart() }, 2},
		{"the user data asks for none any more", func(g *rig[*machinev1.Machine]) {
			if err := g.control.WithWatch.Patch(t.Context(), userData("boot"), client.MergeFrom(userData(""))); err != nil {
				t.Fatal(err)
			}
		}, 2},
	} {
		g := openshiftRig(t)
		if err := g.control.WithWatch.Patch(t.Context(), userData("join <<BOOTSTRAP_TOKEN>>"), client.MergeFrom(userData(""))); err != nil {
			t.Fatal(err)
		}
		g.pass()
		g.joins()
		failures := 1
		g.target.refuse = func(w string) error {
			if w == "delete Secret" && failures > 0 {
				failures--
				return apierrors.NewTooManyRequestsError("busy")
			}
			return nil
		}
		r.before(g)
		var last time.Duration
		for range r.passes {
			last = g.pass().RequeueAfter
		}
		var tokens corev1.SecretList
		if err := g.target.List(t.Context(), &tokens, client.InNamespace("kube-system")); err != nil || len(tokens.Items) != 0 || failures != 0 {
			t.Errorf("%s: %d tokens are left, again in %v: %v", r.reason, len(tokens.Items), last, err)
		}
	}
}

// TestUserDataMissing: an instance without boot data would never join.
func TestUserDataMissing(t *testing.T) {
	g := openshiftRig(t)
	if err := g.control.WithWatch.Delete(t.Context(), userData("")); err != nil {
		t.Fatal(err)
	}
	res := g.pass()
	if g.cloud.count("Create") != 0 || res.RequeueAfter == 0 {
		t.Errorf("%d calls of Create, again in %v", g.cloud.count("Create"), res.RequeueAfter)
	}
	if told := strings.Join(g.told(), "\n"); !strings.Contains(told, "userDataSecret.name") {
		t.Errorf("the field is not named: %q", told)
	}
}

// TestReleaseWaitsForToken: after the release of a machine nothing would delete its token.
func TestReleaseWaitsForToken(t *testing.T) {
	for _, tt := range []struct {
		reason  string
		refusal error
		want    bool
	}{
		{"the API server is busy", apierrors.NewTooManyRequestsError("busy"), false},
		{"the token may not be touched, now or ever", apierrors.NewForbidden(corev1.Resource("secrets"), "x", nil), true},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			g := openshiftRig(t)
			if err := g.control.WithWatch.Patch(t.Context(), userData("join <<BOOTSTRAP_TOKEN>>"), client.MergeFrom(userData(""))); err != nil {
				t.Fatal(err)
			}
			g.pass()
			g.delete()
			failures := 0
			g.target.refuse = func(w string) error {
				if w == "delete Secret" && failures == 0 {
					failures++
					return tt.refusal
				}
				return nil
			}
			for passes := 0; failures == 0 && passes < 10; passes++ {
				_, _ = g.try("m-1") // that may fail
				g.clock.Step(time.Minute)
			}
			if failures != 1 || g.gone() != tt.want {
				t.Fatalf("%d refusals, gone %v, want %v", failures, g.gone(), tt.want)
			}
			for passes := 0; !g.gone() && passes < 10; passes++ {
				g.pass()
				g.clock.Step(time.Minute)
			}
			var tokens corev1.SecretList
			if err := g.target.List(t.Context(), &tokens, client.InNamespace("kube-system")); err != nil || len(tokens.Items) > 0 != tt.want {
				t.Errorf("%d tokens are left, %v", len(tokens.Items), err)
			}
			if !g.gone() {
				t.Error("not gone in the end")
			}
		})
	}
}
