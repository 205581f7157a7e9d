package rehearsal

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/internal/demo/fleet"
	"github.com/millwright-dev/millwright/internal/verify/record"
)

// story is a fleet on a cloud, and its history.
type story struct {
	t       *testing.T
	fleet   *fleet.Fleet
	cloud   string
	chapter string
	pools   []*pool
	// dir has the audit log.
	dir string
	// foreigners are the keys of instances of another cluster.
	foreigners map[string]bool
}

// few is the usual number of machines of a pool, many a temporary one.
const (
	few  = 3
	many = 8
)

// create starts both samples.
func (s *story) create() {
	if err := s.fleet.Create(s.t.Context(), fmt.Appendf(nil, check, healthTimeout)); err != nil {
		s.t.Fatal(err)
	}
	s.apply(few, false, deployed(s.samples()))
	s.rests()
}

// foreign plants an instance of another cluster in the same account for each API. It resembles our instances, but has other
// names of cluster, control plane and machine. It must stay until the end.
func (s *story) foreign() {
	s.foreigners = map[string]bool{}
	var system corev1.Namespace
	if err := s.fleet.Client.Get(s.t.Context(), client.ObjectKey{Name: "kube-system"}, &system); err != nil {
		s.t.Fatal(err)
	}
	for _, p := range s.pools {
		m := s.of(p)[0]
		cluster := p.GetLabels()["machine.openshift.io/cluster-api-cluster"]
		if !openShift(p.Unstructured) {
			cluster = p.GetNamespace()
		}
		planted := s.plant(s.living(m.UID)[0],
			m.UID, string(uuid.NewUUID()), m.Name, strings.Replace(m.Name, "mill", "neighbour", 1),
			string(system.UID), string(uuid.NewUUID()), cluster, "neighbour", "shoot--", "neighbour--")
		s.foreigners[planted.Key()] = true
	}
}

// roll replaces all machines with machines of another template.
func (s *story) roll() {
	before := s.machines()
	for _, p := range s.pools {
		s.change(p)
	}
	s.until("all machines are new", func() string {
		for uid := range s.machines() {
			if m, old := before[uid]; old {
				return m.Name + " is still there"
			}
		}
		return s.wrong()
	})
}

// drain deletes machines whose pods may not be evicted yet.
func (s *story) drain() {
	var going []fleet.Machine
	var budgets []*policyv1.PodDisruptionBudget
	for n, p := range s.pools {
		m := s.of(p)[0]
		going, budgets = append(going, m), append(budgets, s.guard(fmt.Sprintf("held-%d", n), m.Node))
	}
	for _, m := range going {
		s.remove(m)
	}
	s.until("the nodes are closed", func() string {
		for _, m := range going {
			var node corev1.Node
			if err := s.fleet.Client.Get(s.t.Context(), client.ObjectKey{Name: m.Node}, &node); err != nil {
				s.t.Fatal(err)
			}
			if !node.Spec.Unschedulable {
				return m.Node + " takes pods"
			}
		}
		return ""
	})
	s.unchanged(3*time.Second, going)
	for _, b := range budgets {
		s.patch(b, `{"spec":{"minAvailable":0}}`)
	}
	s.replaced(going)
}

// guard runs a pod on a node, with a budget that allows no eviction.
func (s *story) guard(name, node string) *policyv1.PodDisruptionBudget {
	labels := map[string]string{"app": name}
	pod := &corev1.Pod{Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c", Image: "none"}}}}
	pod.Namespace, pod.Name, pod.Labels = "default", name, labels
	one := intstr.FromInt32(1)
	b := &policyv1.PodDisruptionBudget{Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: &one}}
	b.Namespace, b.Name = "default", name
	b.Spec.Selector = selector(labels)
	for _, o := range []client.Object{serviceAccount(), pod, b} {
		if err := s.fleet.Client.Create(s.t.Context(), o); client.IgnoreAlreadyExists(err) != nil {
			s.t.Fatalf("%s: create %T: %v", s.chapter, o, err)
		}
	}
	s.until("the budget counts the pod", func() string {
		if err := s.fleet.Client.Get(s.t.Context(), client.ObjectKeyFromObject(b), b); err != nil {
			s.t.Fatal(err)
		}
		if b.Status.CurrentHealthy != 1 {
			return fmt.Sprintf("it counts %d", b.Status.CurrentHealthy)
		}
		return ""
	})
	return b
}

// heal terminates instances at the cloud.
func (s *story) heal() {
	var going []fleet.Machine
	for _, p := range s.pools {
		m := s.of(p)[0]
		s.post("do/terminate?on=" + query(s.living(m.UID)[0].ID))
		going = append(going, m)
	}
	s.replaced(going)
}

// orphan plants instances that resemble ours but have no machine.
func (s *story) orphan() {
	began := time.Now()
	var planted []record.Life
	for _, p := range s.pools {
		m := s.of(p)[1]
		planted = append(planted, s.plant(s.living(m.UID)[0], m.UID, string(uuid.NewUUID()), m.Name, strings.Replace(m.Name, "mill", "orphan", 1)))
	}
	s.until("orphans are collected", func() string {
		for _, i := range planted {
			for _, now := range s.lives() {
				if now.ID == i.ID && now.Lives() {
					return now.Name + " is " + now.State
				}
			}
		}
		return ""
	})
	if took := time.Since(began); took < 5*time.Second {
		s.t.Errorf("%s: they were collected after %s, before the grace period was over", s.chapter, took)
	}
	s.rests()
}

// kill ends the machine controller while it creates and deletes machines, each time after the cloud has executed a request and
// before it has answered.
func (s *story) kill() {
	for _, p := range s.pools {
		s.scale(p, many)
	}
	for range 3 {
		s.interrupt()
	}
	s.rests()
	for _, p := range s.pools {
		s.scale(p, few)
	}
	s.interrupt()
	s.rests()
}

// interrupt kills the machine controller at a request that changes a resource, if there is one, and starts it again.
func (s *story) interrupt() {
	raw, err := json.Marshal(map[string]any{"writes": true, "done": true, "stall": true, "times": 1, "share": 0.3})
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.fleet.Cloud.Ask(s.t.Context(), http.MethodPost, "faults", raw); err != nil {
		s.t.Fatal(err)
	}
	s.until("a request of the controller stalls", func() string {
		var faults []any
		s.ask(http.MethodGet, "faults", &faults)
		if len(faults) > 0 && s.wrong() != "" {
			return "none did"
		}
		return ""
	})
	s.crash()
	s.ask(http.MethodDelete, "faults", nil)
}

// crash kills the machine controller and starts it again.
func (s *story) crash() {
	s.t.Helper()
	for _, c := range s.fleet.Controllers {
		if c.Program == fleet.Sets {
			continue
		}
		if err := s.fleet.KillController(s.t.Context(), c); err != nil {
			s.t.Fatal(err)
		}
		if _, err := s.fleet.StartController(c.Program); err != nil {
			s.t.Fatal(err)
		}
		return
	}
	s.t.Fatalf("%s: no machine controller runs", s.chapter)
}

// revoke makes the cloud refuse all credentials while machines are created and deleted. Then the secrets get valid credentials.
func (s *story) revoke() {
	s.post("do/revoke")
	lived, going := s.lives(), []fleet.Machine{}
	for _, p := range s.pools {
		m := s.of(p)[0]
		s.remove(m)
		going = append(going, m)
		s.scale(p, few+1)
	}
	s.until("machines of both APIs report the refusal", func() string { return s.untold(going) })
	s.unchanged(3*time.Second, going)
	if now := s.lives(); len(now) != len(lived) {
		s.t.Errorf("%s: there were %d instances before, and there are %d although the cloud refused all credentials", s.chapter, len(lived), len(now))
	}
	s.rotate(s.issue(""))
	// A user does no more than that, and machines do not wait for the pauses after a denial.
	began := time.Now()
	s.replaced(going)
	if took := time.Since(began); took > wakeup {
		s.t.Errorf("%s: machines continued %s after their secrets were corrected", s.chapter, took)
	}
}

// wakeup limits the time of a machine after its credentials were corrected, with a drain, the end of its instance and a
// replacement. It is less than the shortest pause after a denial, which is a minute.
const wakeup = 45 * time.Second

// refusals are the messages of clouds for invalid credentials: of AWS, Alibaba Cloud, Entra, Google, Keystone, vCenter, an API server, IAM of Yandex Cloud and of IBM Cloud, and Prism Central.
var refusals = regexp.MustCompile(`AuthFailure|InvalidAccessKeyId|AADSTS|invalid_grant|HTTP 401|Login failure|takes the credentials of the kubeconfig no more|Unauthenticated|BXNIM0415E|not_authorized|: Unauthorized`)

// untold returns a pool in which no machine reports the refusal, among the deleted and the new machines.
func (s *story) untold(going []fleet.Machine) string {
	now := s.machines()
	for _, m := range going {
		if said := now[m.UID].Why; !refusals.MatchString(said) {
			return fmt.Sprintf("%s, which is being deleted, reports %q", m.Name, said)
		}
	}
	for _, p := range s.pools {
		told := slices.ContainsFunc(s.of(p), func(m fleet.Machine) bool { return m.Node == "" && refusals.MatchString(m.Why) })
		if !told {
			return "no machine of " + p.GetName() + " reports why it has no instance"
		}
	}
	return ""
}

// accounts creates additional pools in another account.
func (s *story) accounts() {
	s.apply(few-1, true, elsewhere(deployed(s.samples()), s.issue("other")))
	s.rests()
	machines, of := s.machines(), map[bool]string{}
	for _, i := range s.living("") {
		if s.foreigners[i.Key()] {
			continue
		}
		other := s.owner(machines[i.UID()]).other
		if of[other] == "" {
			of[other] = i.Account
		}
		if of[other] != i.Account || of[true] == of[false] {
			s.t.Errorf("%s: %s is in account %q, others of its account are in %q, and those of the other one in %q", s.chapter, i.Name, i.Account, of[other], of[!other])
		}
	}
}

// end scales all pools to zero.
func (s *story) end() {
	for _, p := range s.pools {
		s.scale(p, 0)
	}
	s.rests()
}

// remove deletes a machine, as a user does.
func (s *story) remove(m fleet.Machine) {
	if err := s.fleet.Client.Delete(s.t.Context(), s.object(m), client.Preconditions{UID: (*types.UID)(&m.UID)}); err != nil {
		s.t.Fatalf("%s: delete machine %s: %v", s.chapter, m.Name, err)
	}
}

// object returns a machine as an object.
func (s *story) object(m fleet.Machine) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(s.owner(m).GroupVersionKind())
	o.SetKind("Machine")
	o.SetNamespace(m.Namespace)
	o.SetName(m.Name)
	return o
}

// replaced waits until machines are deleted and replaced.
func (s *story) replaced(going []fleet.Machine) {
	s.t.Helper()
	s.until("machines are replaced", func() string {
		now := s.machines()
		for _, m := range going {
			if is, there := now[m.UID]; there {
				return fmt.Sprintf("%s is %s: %s", m.Name, is.Phase, is.Why)
			}
		}
		return s.wrong()
	})
}

// unchanged checks for a while that machines under deletion keep their instances.
func (s *story) unchanged(during time.Duration, going []fleet.Machine) {
	for end := time.Now().Add(during); time.Now().Before(end); time.Sleep(500 * time.Millisecond) {
		for _, m := range going {
			if n := len(s.living(m.UID)); n != 1 {
				s.t.Fatalf("%s: machine %s, which may not be deleted yet, has %d instances", s.chapter, m.Name, n)
			}
		}
	}
}
