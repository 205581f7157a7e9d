package collect_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/engine/explain"
	"github.com/millwright-dev/millwright/internal/plugin/collect"
)

// exhausted is a machine of set mill-2 for which there is no room.
func exhausted() *v1alpha1.Machine {
	return gardenerMachine("CrashLoopBackOff", 12*time.Minute, operationG("Create", "Failed", "ResourceExhausted", "machine codes error: code = [ResourceExhausted] message = [no capacity in zone a]"), func(m *v1alpha1.Machine) {
		m.Name, m.UID, m.OwnerReferences[0].UID = "mill-2-a", "uid-2-a", "uid-set-2"
	})
}

// blocked is a machine whose pod a budget keeps.
func blocked() []client.Object {
	return list(openshiftMachine("Deleting", 9*time.Hour, withNodeO, deletedO(time.Hour)), cordoned(node("True", "", "", 8*time.Hour)), pod("web-1", "n-1", "True", ""), budget(1, 1, 1))
}

// clusters are namespaces, nodes, certificate requests and trees.
func clusters(t *testing.T) []situation {
	approved := request(t, "uid-o", "n-1", time.Hour, usages)
	approved.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue}}
	foreign := request(t, "uid-o", "n-1", time.Hour, usages)
	foreign.Spec.SignerName = "example.com/x"
	joining := openshiftMachine("Provisioned", 13*time.Minute, provisionedO)
	running := openshiftMachine("Running", 5*time.Hour, withNodeO)
	well := node("True", "", "", 4*time.Hour)
	return []situation{
		{name: "namespace-empty", ask: "namespace/blue", state: explain.Unknown, reason: "NothingThere"},
		{name: "namespace-in-order", ask: "ns/blue", state: explain.Healthy, reason: "NothingWrong", objects: list(class, running, openshiftSet(1, 1, 1), well)},
		{name: "namespace-worst-first", ask: "ns/blue", state: explain.Stuck, reason: "DisruptionBudget", objects: append(blocked(),
			class, exhausted(), gardenerSet(2, 1, 0, ofDeployment(nil)), openshiftSet(1, 1, 0))},
		{name: "node-of-machine", ask: "node/n-1", state: explain.Stuck, reason: "DisruptionBudget", objects: blocked()},
		{name: "node-healthy", ask: "no/n-1", state: explain.Healthy, reason: "Running", objects: list(running, well)},
		{name: "node-of-nobody", ask: "node/n-1", state: explain.Healthy, reason: "NodeWithoutMachine", objects: list(well)},
		{name: "node-of-nobody-unready", ask: "nodes/n-1", state: explain.Degraded, reason: "NodeWithoutMachine", objects: list(silent)},
		{name: "csr-refused", ask: "csr/csr-1", state: explain.Degraded, reason: "TokenGone", objects: list(joining, request(t, "uid-o", "n-1", 10*time.Minute, usages))},
		{name: "csr-of-nobody", ask: "csr/csr-1", state: explain.Waiting, reason: "CertificatePending", objects: list(request(t, "uid-other", "n-9", 10*time.Second, usages))},
		{name: "csr-approved", ask: "certificatesigningrequests.certificates.k8s.io/csr-1", state: explain.Healthy, reason: "Approved", objects: list(joining, approved)},
		{name: "csr-foreign", ask: "csr/csr-1", state: explain.Waiting, reason: "RequestOfOthers", objects: list(foreign)},
		{name: "tree-deployment", ask: "md/mill", tree: true, state: explain.Degraded, reason: "ProgressDeadlineExceeded", objects: append(rollout(1, 1,
			gardenerDeployment(progress("False", "ProgressDeadlineExceeded", "no progress for 10m0s: 2 of 2 machines updated, 1 old left"), func(d *v1alpha1.MachineDeployment) {
				d.Spec.Replicas, d.Status.Replicas, d.Status.UpdatedReplicas, d.Status.AvailableReplicas, d.Status.ReadyReplicas = 2, 3, 2, 2, 2
			}), nil), class, exhausted())},
		{name: "tree-set", ask: "machineset/mill-a", tree: true, state: explain.Degraded, reason: "DisruptionBudget", objects: append(blocked(), openshiftSet(2, 2, 2),
			openshiftMachine("Running", 5*time.Hour, withNodeO, func(m *machinev1.Machine) { m.Name, m.UID = "mill-a-y", "uid-y" }))},
		{name: "tree-machine", ask: machineX, tree: true, state: explain.Healthy, reason: "Running", objects: list(running, well)},
	}
}

// TestHeadlineOfAnUnservedNamespace: a controller that serves one namespace is not reported as inactive
// because a set in another namespace waits for it, and its lease is reported once. If it has not reconciled
// an object beside others that it has, or any object, that is the headline.
func TestHeadlineOfAnUnservedNamespace(t *testing.T) {
	unseen := func(s *machinev1.MachineSet) { s.Name, s.UID, s.Generation = "waits", "uid-waits", 2 }
	elsewhere := func(s *machinev1.MachineSet) { unseen(s); s.Namespace = "green" }
	for name, c := range map[string]struct {
		objects  []client.Object
		headline bool
	}{
		"another namespace": {list(openshiftSet(0, 0, 0), openshiftSet(2, 0, 0, elsewhere)), false},
		"the same":          {list(openshiftSet(0, 0, 0), openshiftSet(2, 0, 0, unseen)), true},
		"the only one":      {list(openshiftSet(2, 0, 0, elsewhere)), true},
	} {
		t.Run(name, func(t *testing.T) {
			k := cluster(t, nil, append(atWork(), c.objects...)...)
			a, err := collect.Ask(t.Context(), now, collect.Clusters{Control: k, Target: k}, collect.Question{Kind: "Namespace", Name: "west", Everywhere: true})
			if err != nil {
				t.Fatal(err)
			}
			leases := 0
			if got := strings.Contains(a.Sentence, "machine-controller-manager holds its lease, but has not acted on 1 object"); got != c.headline {
				t.Errorf("headline %v, want %v: %s", got, c.headline, a.Sentence)
			}
			for _, b := range a.Because {
				if strings.HasPrefix(b.Source, "lease ") {
					leases++
				}
				if strings.HasPrefix(b.Message, "MachineSet green/waits was changed") && strings.Count(b.Message, "it is held by") != 1 {
					t.Errorf("the lease is not told once: %s", b.Message)
				}
			}
			if want := map[bool]int{true: 1}[c.headline]; leases != want {
				t.Errorf("%d causes quote a lease, want %d: %v", leases, want, a.Because)
			}
		})
	}
}

// TestAnotherTarget: where the cluster that is asked for nodes is not the one that the machine
// joined, its nodes are not about the machine, alone, in its set and in all namespaces: neither
// theirs that have its name nor theirs that lack. The same holds where its controller says that it
// asks another one.
func TestAnotherTarget(t *testing.T) {
	const joined = `{"uid":"uid-o","joined":{"cluster":"first","node":"n-1","uid":"uid-n"}}`
	const says = "the machine joined the cluster whose namespace kube-system has the UID first, and the cluster that answers has second: check the kubeconfig"
	record := conditionO("InstanceRecord", "True", "Recorded", joined, time.Hour)
	saysSo := conditionO("NodeExists", "Unknown", "TargetClusterReplaced", says, time.Minute)
	accepted := func(m *machinev1.Machine) {
		m.Annotations = map[string]string{"millwright.dev/target-cluster": "second"}
	}
	for name, c := range map[string]struct {
		cluster types.UID
		change  []func(*machinev1.Machine)
		state   explain.State
	}{
		"the same":                 {"first", nil, explain.Healthy},
		"another":                  {"second", nil, explain.Stuck},
		"another, accepted":        {"second", []func(*machinev1.Machine){accepted}, explain.Healthy},
		"the controller's another": {"first", []func(*machinev1.Machine){saysSo}, explain.Stuck},
	} {
		t.Run(name, func(t *testing.T) {
			system := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: c.cluster}}
			m := openshiftMachine("Running", 5*time.Hour, append(slices.Clone(c.change), withNodeO, record)...)
			k := cluster(t, nil, append(atWork(), system, m, openshiftSet(1, 1, 1), node("True", "", "", 4*time.Hour))...)
			for _, q := range []collect.Question{{Kind: "Machine", Name: m.Name}, {Kind: "MachineSet", Name: "mill-a"}, {Kind: "Namespace", Name: "west", Everywhere: true}} {
				a, err := ask(t, k, q)
				if err != nil {
					t.Fatal(err)
				}
				frozen := strings.Contains(fmt.Sprint(a.Sentence, a.Because), "is frozen: the target cluster is not the cluster that it joined")
				if frozen != (c.state == explain.Stuck) || a.State == explain.Healthy != (c.state == explain.Healthy) {
					t.Errorf("%s: %s %s %v", q.Kind, a.State, a.Sentence, a.Because)
				}
				if strings.Contains(a.Next, "kubelet") {
					t.Errorf("%s: leads astray: %s", q.Kind, a.Next)
				}
			}
		})
	}
}

// TestRequestDecidedMeanwhile: a request that is approved while the answer is put together, and
// whose token is deleted with that, was not refused.
func TestRequestDecidedMeanwhile(t *testing.T) {
	for _, approve := range []bool{false, true} {
		var k client.Reader
		listed := false
		asked := request(t, "uid-o", "n-1", 10*time.Minute, usages)
		meanwhile := func(what string) error {
			if what == "*v1.CertificateSigningRequestList" {
				listed = true
				return nil
			}
			if !approve || !listed {
				return nil
			}
			approve = false
			done := asked.DeepCopy()
			if err := k.Get(t.Context(), client.ObjectKeyFromObject(asked), done); err != nil {
				return err
			}
			done.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue}}
			return k.(client.Client).Status().Update(t.Context(), done)
		}
		want := map[bool]string{false: "TokenGone", true: "AwaitingNode"}[approve]
		k = cluster(t, meanwhile, append(atWork(), openshiftMachine("Provisioned", 13*time.Minute, provisionedO), asked)...)
		a, err := ask(t, k, collect.Question{Kind: "Machine", Name: "mill-a-x"})
		if err != nil || a.Reason != want {
			t.Errorf("%s, want %s: %s %v", a.Reason, want, a.Sentence, err)
		}
	}
}

// TestOverviewOfMany: however much is wrong, the answer stays short, and costs no look
// at each machine.
func TestOverviewOfMany(t *testing.T) {
	calls := 0
	counted := func(string) error { calls++; return nil }
	var objects []client.Object
	for i := range 100 {
		objects = append(objects, openshiftMachine("Failed", time.Hour, func(m *machinev1.Machine) { m.Name = fmt.Sprintf("mill-%03d", i) }))
	}
	a, err := ask(t, cluster(t, counted, objects...), collect.Question{Kind: "Namespace", Name: ns})
	if err != nil || a.State != explain.Failed || len(a.Because) != 21 || !strings.Contains(a.Because[20].Message, "80 more objects") {
		t.Errorf("%+v, %v", a, err)
	}
	if calls > 200 {
		t.Errorf("%d calls for 100 machines", calls)
	}
}

// TestOverviewEverywhere: all namespaces are explained together, a set is no echo of a
// machine of another namespace, and each kind is listed once.
func TestOverviewEverywhere(t *testing.T) {
	failed := func(namespace string) client.Object {
		return openshiftMachine("Failed", time.Hour, func(m *machinev1.Machine) {
			m.Namespace = namespace
			m.OwnerReferences[0].UID = "uid-set-o"
		})
	}
	lists := map[string]int{}
	counted := func(what string) error { lists[what]++; return nil }
	for _, test := range []struct {
		reason  string
		objects []client.Object
		state   explain.State
		wrong   int
	}{
		{"nothing is there", nil, explain.Unknown, 0},
		{"all is well", list(class), explain.Healthy, 0},
		{"the set repeats its machine", list(failed("green"), openshiftSet(1, 1, 0, func(s *machinev1.MachineSet) { s.Namespace = "green" })), explain.Failed, 1},
		{"two namespaces", list(failed("green"), failed("blue"), class), explain.Failed, 2},
		{"a set without its machine is no echo of that elsewhere", list(failed("blue"), openshiftSet(1, 0, 0, func(s *machinev1.MachineSet) { s.Namespace = "green" })), explain.Failed, 2},
	} {
		t.Run(test.reason, func(t *testing.T) {
			clear(lists)
			a, err := ask(t, cluster(t, counted, append(atWork(), test.objects...)...), collect.Question{Kind: "Namespace", Name: "west", Everywhere: true})
			if err != nil || a.State != test.state || len(a.Because) != test.wrong || !strings.HasPrefix(a.Sentence, "Cluster west ") {
				t.Errorf("%s: %+v, %v", test.reason, a, err)
			}
			for _, kind := range []string{"*v1beta1.MachineList", "*v1beta1.MachineSetList", "*v1alpha1.MachineList"} {
				if lists[kind] > 2 { // there are two kinds of this name
					t.Errorf("%s: %s was listed %d times", test.reason, kind, lists[kind])
				}
			}
		})
	}
}

// TestOverviewMentionsOtherNamespaces: a user who names no namespace asks about the fleet.
func TestOverviewMentionsOtherNamespaces(t *testing.T) {
	failed := openshiftMachine("Failed", time.Hour, func(m *machinev1.Machine) { m.Namespace = "green" })
	objects := append(atWork(), class, failed)
	for _, test := range []struct {
		reason string
		refuse func(string) error
		q      collect.Question
		want   bool
	}{
		{"no namespace was named", nil, collect.Question{Kind: "Namespace", Name: ns}, true},
		{"one was named", nil, collect.Question{Kind: "Namespace", Name: ns, Namespace: ns}, false},
		{"the namespace of the failure", nil, collect.Question{Kind: "Namespace", Name: "green"}, false},
	} {
		a, err := ask(t, cluster(t, test.refuse, objects...), test.q)
		if got := strings.Contains(a.Next, "why -A"); err != nil || got != test.want {
			t.Errorf("%s: %+v, %v: names other namespaces %t, want %t", test.reason, a, err, got, test.want)
		}
	}
}

// TestOverviewUnread: a namespace that cannot be read is not in order.
func TestOverviewUnread(t *testing.T) {
	q := collect.Question{Kind: "Namespace", Name: ns}
	if a, err := ask(t, cluster(t, func(string) error { return errors.New("connection refused") }), q); err == nil {
		t.Errorf("nothing could be read, and it answers %s", a.Sentence)
	}
	a, err := ask(t, cluster(t, forbid("*v1beta1.MachineList"), class), q)
	if err != nil || len(a.Gaps) == 0 || !strings.Contains(a.Gaps[0], "machines.machine.openshift.io") {
		t.Errorf("%+v, %v: want what was not seen", a, err)
	}
}

// TestOverviewOfManySets: each set is compared with all others, which has to stay cheap.
func TestOverviewOfManySets(t *testing.T) {
	var objects []client.Object
	for i := range 800 {
		objects = append(objects, openshiftSet(0, 0, 0, func(s *machinev1.MachineSet) {
			s.Name, s.UID = fmt.Sprintf("mill-%03d", i), types.UID(fmt.Sprint("uid-", i))
			s.Spec.Selector = selector(s.Name)
			s.Spec.Template.Labels = s.Spec.Selector.MatchLabels
		}))
	}
	c := cluster(t, nil, append(atWork(), objects...)...)
	began := time.Now()
	a, err := ask(t, c, collect.Question{Kind: "Namespace", Name: "west", Everywhere: true})
	if err != nil || a.State != explain.Healthy {
		t.Errorf("%+v, %v", a, err)
	}
	if took := time.Since(began); took > 10*time.Second { // it takes a quarter of a second, and took 24 s
		t.Errorf("took %s", took)
	}
}
