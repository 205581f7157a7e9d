package machine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/controller/machine"
	"github.com/millwright-dev/millwright/internal/runtime/node"
	"github.com/millwright-dev/millwright/provider"
	"github.com/millwright-dev/millwright/providers/kubemark"
)

const clusterLabel = "machine.openshift.io/cluster-api-cluster"

// kubemarked drives the machine with the real kubemark provider, whose first
// Create may lose its reply, and which may be exchanged for another account.
type kubemarked[M client.Object] struct {
	*rig[M]
	account provider.Provider
	// lose is how many replies of Create get lost; broken is what opens no
	// session any more, not even a bare one.
	// mute is why no session can tell its account.
	lose   int
	broken bool
	mute   func() error
}

func kubemarkRig[M client.Object](t *testing.T, g *rig[M]) *kubemarked[M] {
	k := &kubemarked[M]{rig: g}
	k.account = newAccount(t, g)
	k.restarted()
	return k
}

func newAccount[M client.Object](t *testing.T, g *rig[M]) provider.Provider {
	t.Helper()
	p, err := kubemark.New(kubemark.Config{Clock: g.clock})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const kubemarkSpec = `{"apiVersion":"kubemarkproviderconfig.k8s.io/v1beta1","kind":"KubemarkMachineProviderConfig","userDataSecret":{"name":"user"}}`

func openshiftKubemark(t *testing.T) *kubemarked[*machinev1.Machine] {
	return kubemarkRig(t, openshiftRig(t, func(m *machinev1.Machine) { m.Spec.ProviderSpec.Value.Raw = []byte(kubemarkSpec) }))
}

func gardenerKubemark(t *testing.T) *kubemarked[*v1alpha1.Machine] {
	return kubemarkRig(t, gardenerRig(t))
}

// restarted is a new process.
func (k *kubemarked[M]) restarted() {
	k.r = machine.New(machine.Options[M]{
		Client: k.control, Live: fresh{k.control}, Clock: k.clock, Dialect: k.lens, Resolver: resolver(k.lens, k.control), Provider: k, Recorder: k.events,
		Nodes: node.New(k.target, k.target, k.clock),
	})
}

func (k *kubemarked[M]) Name() string { return k.account.Name() }

func (k *kubemarked[M]) Open(ctx context.Context, c provider.Class) (provider.Session, error) {
	if k.broken {
		return nil, provider.InvalidField("region", "there is no such region")
	}
	s, err := k.account.Open(ctx, c)
	if err != nil {
		return nil, err
	}
	return lossy{s, &k.lose, &k.mute}, nil
}

type lossy struct {
	provider.Session
	lose *int
	mute *func() error
}

func (s lossy) Unwrap() any { return s.Session }

func (s lossy) Account(ctx context.Context) (string, error) {
	if *s.mute != nil {
		if err := (*s.mute)(); err != nil {
			return "", err
		}
	}
	return s.Session.Account(ctx)
}

func (s lossy) Create(ctx context.Context, ref provider.Ref, w provider.Want) (provider.Instance, error) {
	i, err := s.Session.Create(ctx, ref, w)
	if err == nil && *s.lose > 0 {
		*s.lose--
		return provider.Instance{}, errors.New("connection reset by peer")
	}
	return i, err
}

// passes are n, two seconds apart. What they object to is for the object to say.
func (k *kubemarked[M]) passes(n int) {
	for range n {
		_, _ = k.try("m-1")
		k.clock.Step(2 * time.Second)
	}
}

func (k *kubemarked[M]) existing(cluster string) (out []provider.Instance) {
	k.Helper()
	s, err := k.account.Open(k.Context(), provider.Class{API: k.lens.API(), Cluster: cluster})
	if err != nil {
		k.Fatal(err)
	}
	for i, err := range s.List(k.Context()) {
		if err != nil {
			k.Fatal(err)
		}
		if i.Exists() {
			out = append(out, i)
		}
	}
	return out
}

func (k *kubemarked[M]) relabel(to string) {
	k.change(func(m M) {
		labels := m.GetLabels()
		if labels[clusterLabel] = to; to == "" {
			delete(labels, clusterLabel)
		}
		m.SetLabels(labels)
	})
}

func (k *kubemarked[M]) gone() bool {
	err := k.control.Get(k.Context(), client.ObjectKey{Namespace: ns, Name: "m-1"}, k.lens.New())
	return client.IgnoreNotFound(err) == nil && err != nil
}

func condition(m *machinev1.Machine, kind machinev1.ConditionType) machinev1.Condition {
	for _, c := range m.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return machinev1.Condition{}
}

// TestRelabelled: an edit of the label by which the instance was placed moves
// nothing: not of a running machine, which stays so, says it, and takes its
// instance along when it goes.
func TestRelabelled(t *testing.T) {
	for _, to := range []string{"green", ""} {
		t.Run("to "+to, func(t *testing.T) {
			k := openshiftKubemark(t)
			k.passes(3)
			k.relabel(to)
			k.passes(3)
			m := k.read()
			if phase := ptr.Deref(m.Status.Phase, ""); phase == "Failed" || len(k.existing("blue")) != 1 || len(k.existing("green")) != 0 {
				t.Errorf("phase %s, instances in blue %v, in green %v", phase, k.existing("blue"), k.existing("green"))
			}
			if c := condition(m, machinev1.InstanceExistsCondition); to != "" && (c.Status != corev1.ConditionTrue || !strings.Contains(c.Message, `in cluster "blue"`)) {
				t.Errorf("InstanceExists: %+v", c)
			}
			k.delete()
			k.passes(4)
			if !k.gone() || len(k.existing("blue")) > 0 {
				t.Errorf("released: %v, and %v is left", k.gone(), k.existing("blue"))
			}
		})
	}
}

// TestRelabelledAfterALostReply: what was asked for without an answer is looked
// for where it was asked for, by a process that knows only the object.
func TestRelabelledAfterALostReply(t *testing.T) {
	k := openshiftKubemark(t)
	k.lose = 1
	k.passes(1)
	k.relabel("green")
	k.restarted()
	k.passes(5)
	if blue, green := k.existing("blue"), k.existing("green"); len(blue) != 1 || len(green) != 0 {
		t.Errorf("instances in blue %v, in green %v: want one, in blue", blue, green)
	}
}

// TestUnlabelledAfterALostReply: nor is it left behind when the machine goes.
func TestUnlabelledAfterALostReply(t *testing.T) {
	k := openshiftKubemark(t)
	k.lose = 1
	k.passes(1)
	k.relabel("")
	k.restarted()
	k.passes(1)
	k.delete()
	k.passes(5)
	if !k.gone() || len(k.existing("blue")) > 0 {
		t.Errorf("released: %v, and %v is left", k.gone(), k.existing("blue"))
	}
}

// TestInvalidProvesNothing: a spec that opens no session any more is no proof that
// none was opened before.
func TestInvalidProvesNothing(t *testing.T) {
	t.Run("openshift", func(t *testing.T) { invalidProvesNothing(t, openshiftKubemark, "blue") })
	t.Run("gardener", func(t *testing.T) { invalidProvesNothing(t, gardenerKubemark, ns) })
}

func invalidProvesNothing[M client.Object](t *testing.T, rigOf func(*testing.T) *kubemarked[M], cluster string) {
	k := rigOf(t)
	k.lose, k.broken = 1, true
	k.passes(2)
	k.delete()
	if k.passes(2); !k.gone() {
		t.Errorf("nothing was asked for, and the machine stays: %+v", k.lens.View(k.read()))
	}

	k = rigOf(t)
	k.lose = 1
	k.passes(1)
	k.broken = true
	k.restarted()
	k.delete()
	if k.passes(4); k.gone() {
		t.Fatalf("released, and %v is left", k.existing(cluster))
	}
	k.broken = false
	if k.passes(4); !k.gone() || len(k.existing(cluster)) > 0 {
		t.Errorf("released: %v, and %v is left", k.gone(), k.existing(cluster))
	}
}

// TestAccountExchanged: credentials that open another account show an account
// without instances, which says nothing about the machine.
func TestAccountExchanged(t *testing.T) {
	t.Run("openshift", func(t *testing.T) { accountExchanged(t, openshiftKubemark(t), "blue") })
	t.Run("gardener", func(t *testing.T) { accountExchanged(t, gardenerKubemark(t), ns) })
}

func accountExchanged[M client.Object](t *testing.T, k *kubemarked[M], cluster string) {
	k.passes(3)
	first, second := k.account, newAccount(t, k.rig)
	k.account = second
	k.restarted()
	k.told()
	k.passes(3)
	if s := k.lens.View(k.read()).Stage; s == "Failed" {
		t.Errorf("stage %s", s)
	}
	if told := strings.Join(k.told(), "\n"); strings.Count(told, "OtherAccount") != 1 {
		t.Errorf("not told once: %s", told)
	}
	k.delete()
	k.passes(4)
	if k.gone() {
		t.Fatal("released, and its instance runs in the account that was its own")
	}
	if said := k.spoken(); !strings.Contains(said, "the credentials are for account") {
		t.Errorf("the object does not say why: %s", said)
	}
	k.account = first
	if k.passes(4); !k.gone() || len(k.existing(cluster)) > 0 {
		t.Errorf("released: %v, and %v is left", k.gone(), k.existing(cluster))
	}
}

// TestNoSecondInAnotherAccount: nor is an instance made there in place of one
// whose reply was lost.
func TestNoSecondInAnotherAccount(t *testing.T) {
	k := gardenerKubemark(t)
	k.lose = 1
	k.passes(1)
	k.makesNoSecond(t, ns)
}

// makesNoSecond: nothing is made with the credentials of another account, and with
// those of its own, the machine has one instance.
func (k *kubemarked[M]) makesNoSecond(t *testing.T, cluster string) {
	t.Helper()
	first := k.account
	k.account = newAccount(t, k.rig)
	k.restarted()
	k.passes(5)
	if made := k.existing(cluster); len(made) > 0 {
		t.Fatalf("a second instance was made: %v", made)
	}
	k.account = first
	if k.passes(60); len(k.existing(cluster)) != 1 || k.lens.View(k.read()).Recorded.ProviderID == "" {
		t.Errorf("instances %v, machine %+v", k.existing(cluster), k.lens.View(k.read()))
	}
}

// TestNothingIsBoughtInAnUnknownAccount: after a lost reply it would be impossible to find out that other
// credentials open another account.
func TestNothingIsBoughtInAnUnknownAccount(t *testing.T) {
	t.Run("openshift", func(t *testing.T) {
		unknownAccount(t, openshiftKubemark(t), "blue", func(m *machinev1.Machine) string {
			return condition(m, machinev1.InstanceExistsCondition).Message
		})
	})
	t.Run("gardener", func(t *testing.T) {
		unknownAccount(t, gardenerKubemark(t), ns, func(m *v1alpha1.Machine) string { return m.Status.LastOperation.Description })
	})
}

var errUntold = provider.Errorf(provider.Transient, "the account cannot be told")

// TestAccountIsToldWithinThePass: a question that fails, and is due again before its
// pass has come to an end, since a write takes so long.
func TestAccountIsToldWithinThePass(t *testing.T) {
	k := gardenerKubemark(t)
	asked := 0
	k.mute = func() error {
		if asked++; asked > 1 {
			return nil
		}
		return errUntold
	}
	k.control.refuse = func(string) error {
		k.clock.Step(time.Minute)
		return nil
	}
	for range 5 {
		k.pass()
	}
	if len(k.existing(ns)) != 1 || !k.lens.View(k.read()).HasOrigin() {
		t.Errorf("instances %v, machine %+v", k.existing(ns), k.lens.View(k.read()))
	}
}

func unknownAccount[M client.Object](t *testing.T, k *kubemarked[M], cluster string, says func(M) string) {
	k.mute, k.lose = func() error { return errUntold }, 1
	k.passes(2)
	k.mute = nil
	if made := k.existing(cluster); len(made) > 0 {
		t.Errorf("nobody could tell the account, and %v was made", made)
	}
	if said := says(k.read()); !strings.Contains(said, "the account cannot be told") {
		t.Errorf("the object does not say why: %q", said)
	}
	if k.passes(1); !k.lens.View(k.read()).HasOrigin() {
		k.passes(10)
	}
	k.makesNoSecond(t, cluster)
}

// spoken is what the object says about its deletion.
func (k *kubemarked[M]) spoken() string {
	switch m := any(k.read()).(type) {
	case *v1alpha1.Machine:
		return m.Status.LastOperation.Description
	case *machinev1.Machine:
		return condition(m, machinev1.InstanceExistsCondition).Message
	}
	return ""
}
