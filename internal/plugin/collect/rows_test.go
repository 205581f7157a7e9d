package collect_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/explain"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/engine/postmortem"
	"github.com/millwright-dev/millwright/internal/plugin/collect"
)

// row is a fault that the trial introduced on purpose, with its number in the trial. The field in has the case of
// machine.openshift.io, the field too the case of machine.sapcloud.io. A case is nil if the API cannot have the
// fault.
type row struct {
	number  string
	what    string
	in, too *broken
	// apart says why state, reason, sentence and next step differ between the APIs. It is empty if they are equal
	// except for names. Causes may differ, because they quote objects.
	apart string
}

// broken has a question about a cluster of one API, and the expected answer.
type broken struct {
	ask     string
	objects []client.Object
	// leases has the leases in the cluster. nil stands for the leases of running controllers.
	leases []client.Object
	reason string
	// names has words that the sentence, a cause or the next step must contain, because the user needs them to
	// continue.
	names []string
	// never has words that the answer must not contain.
	never []string
	// refuse is called before each read. nil permits all reads.
	refuse func(what string) error
}

const (
	setA, setB = "machineset/mill-a", "machineset/mill-b"
	mdO, mdG   = "md.machine.openshift.io/mill", "md.machine.sapcloud.io/mill"
)

func refusedO(text string) *machinev1.Machine {
	return openshiftMachine("Failed", time.Hour, func(m *machinev1.Machine) {
		m.Status.ErrorReason, m.Status.ErrorMessage = ptr.To(machinev1.InvalidConfigurationMachineError), ptr.To(text)
	})
}

func failedG(code, text string) *v1alpha1.Machine {
	return gardenerMachine("CrashLoopBackOff", 6*time.Minute, operationG("Create", "Failed", code, fmt.Sprintf("Cloud provider message - machine codes error: code = [%s] message = [%s]", code, text)))
}

// uncreatedO returns a machine whose condition InstanceExists says why no instance exists.
func uncreatedO(status corev1.ConditionStatus, reason, text, spec string) *machinev1.Machine {
	return openshiftMachine("Provisioning", 6*time.Minute, conditionO("InstanceExists", status, reason, text, 5*time.Minute), func(m *machinev1.Machine) {
		m.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: []byte(spec)}
	})
}

func withSecret(name string) *v1alpha1.MachineClass {
	c := class.DeepCopy()
	c.CredentialsSecretRef = &corev1.SecretReference{Name: name}
	return c
}

func secret(name string) *corev1.Secret {
	s := &corev1.Secret{}
	s.Namespace, s.Name = ns, name
	return s
}

// made returns the rows about machines without an instance or without a node.
func made() []row {
	const oneClass = "the Gardener API retries where the machine of the OpenShift API fails"
	const noKind = "the OpenShift API keeps no kind of a failure before the machine has failed"
	stay := func(m *machinev1.Machine) { m.Status.LastUpdated = ptr.To(ago(9 * time.Minute)) }
	return []row{
		{
			number: "1, 2", what: "typo in the provider spec, or in the class", apart: oneClass,
			in: &broken{ask: machineX, reason: "Failed", names: []string{"numCors", "template of MachineSet mill-a"}, objects: list(openshiftSet(1, 1, 0), refusedO(`spec.providerSpec.value.numCors: unknown field "numCors"`))},
			too: &broken{ask: machineY, reason: "InvalidConfiguration", names: []string{"numCors", "machineclass small"}, objects: list(class,
				failedG("InvalidArgument", `machineclass small: providerSpec.numCors: unknown field "numCors"`))},
		},
		{
			number: "3", what: "wrong value", apart: oneClass,
			in:  &broken{ask: machineX, reason: "Failed", names: []string{"numCores", "template"}, objects: list(openshiftSet(1, 1, 0), refusedO(`spec.providerSpec.value.numCores: quantities must match the regular expression`))},
			too: &broken{ask: machineY, reason: "InvalidConfiguration", names: []string{"numCores", "machineclass small"}, objects: list(class, failedG("InvalidArgument", `machineclass small: providerSpec.numCores: quantities must match the regular expression`))},
		},
		{
			number: "4", what: "wrong kind of provider spec",
			in: &broken{ask: machineX, reason: "Failed", names: []string{"AWSMachineProviderConfig", "template"}, objects: list(openshiftSet(1, 1, 0), refusedO(`spec.providerSpec.value.kind: "AWSMachineProviderConfig" is not "KubemarkMachineProviderConfig"`))},
		},
		{
			number: "5, 6", what: "missing secret", apart: "each API has its own pauses between attempts",
			in: &broken{ask: machineX, reason: "SecretMissing", names: []string{"create secret blue/nope"}, objects: list(
				uncreatedO("Unknown", "ErrorCheckingProvider", `Failed to check if machine exists: spec.providerSpec.value.credentialsSecret.name: read secret blue/nope: secrets "nope" not found`, `{"credentialsSecret":{"name":"nope"}}`))},
			too: &broken{ask: machineY, reason: "SecretMissing", names: []string{"create secret blue/nope"}, objects: list(withSecret("nope"),
				failedG("Unavailable", "machineclass small: secretRef: no secret with the key userData; secret blue/nope does not exist"))},
		},
		{
			number: "7", what: "missing class",
			too: &broken{ask: machineY, reason: "ClassUnavailable", names: []string{"create machineclass small in namespace blue"}, objects: list(failedG("Unavailable", "spec.class.name: read machineclass small: not found"))},
		},
		{
			number: "8, 9", what: "quota", apart: noKind,
			in: &broken{ask: machineX, reason: "CreateFailed", names: []string{"quota of 20 CPUs"}, objects: list(
				uncreatedO("False", "InstanceNotCreated", "Instance has not been created: create instance: quota of 20 CPUs is used up", `{}`))},
			too: &broken{ask: machineY, reason: "ResourceExhausted", names: []string{"quota of 20 CPUs", "raise the quota"}, objects: list(class, failedG("ResourceExhausted", "create instance: quota of 20 CPUs is used up"))},
		},
		{
			number: "9", what: "quota, after the instance was accepted",
			in: &broken{ask: machineX, reason: "Failed", names: []string{"no room in zone a", "raise the quota"}, objects: list(openshiftSet(1, 1, 0), openshiftMachine("Failed", time.Hour, func(m *machinev1.Machine) {
				m.Status.ErrorReason, m.Status.ErrorMessage = ptr.To(machinev1.InsufficientResourcesMachineError), ptr.To("no room in zone a")
			}))},
		},
		{
			number: "10, 11", what: "the node never joins",
			in: &broken{ask: machineX, reason: "AwaitingNode", names: []string{"no certificate request", "console of the instance"}, objects: list(
				openshiftMachine("Provisioned", 9*time.Minute, provisionedO, stay))},
			too: &broken{ask: machineY, reason: "AwaitingNode", names: []string{"no certificate request", "console of the instance"}, objects: list(class, gardenerMachine("Pending", 9*time.Minute, func(m *v1alpha1.Machine) {
				m.Spec.ProviderID, m.Status.CurrentStatus.LastUpdateTime = "test:///i-1", ago(9*time.Minute)
			}))},
		},
		{
			number: "10", what: "the node has not joined after two minutes",
			in: &broken{ask: machineX, reason: "AwaitingNode", names: []string{"no certificate request", "Next: wait"}, objects: list(openshiftMachine("Provisioned", 2*time.Minute, provisionedO, func(m *machinev1.Machine) {
				m.Status.LastUpdated = ptr.To(ago(2 * time.Minute))
			}))},
			too: &broken{ask: machineY, reason: "AwaitingNode", names: []string{"no certificate request", "Next: wait"}, objects: list(class, gardenerMachine("Pending", 2*time.Minute, func(m *v1alpha1.Machine) {
				m.Spec.ProviderID, m.Status.CurrentStatus.LastUpdateTime = "test:///i-1", ago(2*time.Minute)
			}))},
		},
		{
			number: "30", what: "credentials refused", apart: noKind + "; a failed query is distinguished from a failed creation",
			in: &broken{ask: machineX, reason: "LookupFailed", names: []string{"do not have the infrastructure's password", "the credentials in secret blue/cloud"}, objects: list(secret("cloud"),
				uncreatedO("Unknown", "ErrorCheckingProvider", "Failed to check if machine exists: the credentials do not have the infrastructure's password", `{"credentialsSecret":{"name":"cloud"}}`))},
			too: &broken{ask: machineY, reason: "PermissionDenied", names: []string{"do not have the infrastructure's password", "the credentials in secret blue/cloud"}, objects: list(secret("cloud"), withSecret("cloud"),
				failedG("PermissionDenied", "the credentials do not have the infrastructure's password"))},
		},
		{
			number: "33", what: "the machine controller is dead, and a machine is new",
			in:  &broken{ask: machineX, reason: "ControllerNotRunning", names: []string{"no machine controller is running"}, leases: dead(), objects: list(openshiftMachine("Provisioning", 77*time.Second))},
			too: &broken{ask: machineY, reason: "ControllerNotRunning", names: []string{"no machine controller is running"}, leases: dead(), objects: list(class, gardenerMachine("", 77*time.Second))},
		},
	}
}

// dead returns leases that stopped machine controllers have released.
func dead() []client.Object {
	return list(lease("cluster-api-provider-test-leader", "", 77*time.Second), lease("machine-controller", "", 77*time.Second))
}

// lost returns the rows about machines that have worked.
func lost(t *testing.T) []row {
	const gives = "a machine of the Gardener API fails if its node is deleted or silent, the OpenShift API leaves that to health checks"
	killed := func(m *v1alpha1.Machine) { m.Annotations = map[string]string{dialect.StoppedAnnotation: "exited"} }
	return []row{
		{
			number: "15, 16", what: "node deleted by kubectl", apart: gives,
			in:  &broken{ask: machineX, reason: "NodeMissing", names: []string{"node n-1 does not exist", "delete the machine"}, objects: list(openshiftMachine("Running", 5*time.Hour, withNodeO))},
			too: &broken{ask: machineY, reason: "NodeMissing", names: []string{"node n-1 does not exist", "replaced"}, objects: list(class, gardenerMachine("Running", 5*time.Hour, withNodeG))},
		},
		{
			number: "15", what: "node deleted by kubectl, some time ago",
			too: &broken{ask: "machine/mill-b-gone", reason: "NodeDeleted", names: []string{"because its node had been deleted"}, objects: list(keptFor(t, postmortem.NodeDeleted, "node n-1 was deleted"))},
		},
		{
			number: "17, 18", what: "instance killed from outside", apart: gives,
			in:  &broken{ask: machineX, reason: "InstanceStopped", names: []string{"exited", "without a health check no controller replaces"}, objects: list(openshiftMachine("Running", 5*time.Hour, withNodeO, stoppedO), silent)},
			too: &broken{ask: machineY, reason: "InstanceStopped", names: []string{"exited", "becomes Failed and is replaced"}, objects: list(class, gardenerMachine("Unknown", 8*time.Minute, withNodeG, killed), silent)},
		},
		{
			number: "27", what: "set deleted, its machines orphaned",
			in:  &broken{ask: machineX, reason: "Running", names: []string{"no set owns the machine"}, objects: list(openshiftMachine("Running", 5*time.Hour, withNodeO, func(m *machinev1.Machine) { m.OwnerReferences = nil }), node("True", "", "", 4*time.Hour))},
			too: &broken{ask: machineY, reason: "Running", names: []string{"no set owns the machine"}, objects: list(class, gardenerMachine("Running", 5*time.Hour, withNodeG, func(m *v1alpha1.Machine) { m.OwnerReferences = nil }), node("True", "", "", 4*time.Hour))},
		},
	}
}

// leaving returns the rows about objects under deletion.
func leaving() []row {
	blocked := func(o ...client.Object) []client.Object {
		return append(o, cordoned(node("True", "", "", 8*time.Hour)), pod("web-1", "n-1", "True", ""), budget(3, 3, 3))
	}
	hook := func(m *machinev1.Machine) {
		m.Spec.LifecycleHooks.PreDrain = []machinev1.LifecycleHook{{Name: "backup", Owner: "velero"}}
	}
	hooked := list(node("True", "", "", 8*time.Hour), openshiftMachine("Deleting", 9*time.Hour, withNodeO, deletedO(time.Hour), hook))
	foreign := []string{"acme.io/asset-db"}
	budgetSays := []string{"3 of 3 pods are healthy, and at least 3 must be", "web/web-1"}
	return []row{
		{
			number: "12, 13", what: "budget that allows none",
			in:  &broken{ask: machineX, reason: "DisruptionBudget", names: budgetSays, objects: blocked(openshiftMachine("Deleting", 9*time.Hour, withNodeO, deletedO(time.Hour)))},
			too: &broken{ask: machineY, reason: "DisruptionBudget", names: budgetSays, objects: blocked(class, gardenerMachine("Terminating", 9*time.Hour, withNodeG, deletedG(time.Hour)))},
		},
		{
			number: "13", what: "budget that allows none, and the set of the machine",
			in:  &broken{ask: setA, reason: "DisruptionBudget", names: budgetSays, objects: blocked(openshiftSet(3, 3, 3), openshiftMachine("Deleting", 9*time.Hour, withNodeO, deletedO(time.Hour)))},
			too: &broken{ask: setB, reason: "DisruptionBudget", names: budgetSays, objects: blocked(class, gardenerSet(3, 3, 3), gardenerMachine("Terminating", 9*time.Hour, withNodeG, deletedG(time.Hour)))},
		},
		{number: "14", what: "pre-drain hook that no program removes", in: &broken{ask: machineX, reason: "PreDrainHookPresent", names: []string{"backup", "velero"}, objects: hooked}},
		{number: "14", what: "pre-drain hook that no program removes, and the set of the machine", in: &broken{ask: setA, reason: "PreDrainHookPresent", names: []string{"not in order", "velero"}, objects: append(hooked, openshiftSet(1, 1, 1))}},
		{
			number: "25", what: "foreign finalizer",
			in:  &broken{ask: machineX, reason: "ForeignFinalizer", names: foreign, objects: list(openshiftMachine("Deleting", 9*time.Hour, deletedO(time.Hour), func(m *machinev1.Machine) { m.Finalizers = foreign }))},
			too: &broken{ask: machineY, reason: "ForeignFinalizer", names: foreign, objects: list(class, gardenerMachine("Terminating", 9*time.Hour, deletedG(time.Hour), func(m *v1alpha1.Machine) { m.Finalizers = foreign }))},
		},
		{
			number: "33", what: "the machine controller is dead, and a machine is deleted",
			in: &broken{ask: machineX, reason: "ControllerNotRunning", names: []string{"no machine controller is running"}, leases: dead(), objects: list(
				openshiftMachine("Deleting", 9*time.Hour, deletedO(time.Hour), startedO(lifecycle.DeletionInstance, time.Hour), provisionedO))},
			too: &broken{ask: machineY, reason: "ControllerNotRunning", names: []string{"no machine controller is running"}, leases: dead(), objects: list(class,
				gardenerMachine("Terminating", 9*time.Hour, deletedG(time.Hour), startedG(lifecycle.DeletionInstance, time.Hour), func(m *v1alpha1.Machine) { m.Spec.ProviderID = "test:///i-1" }))},
		},
		{number: "besides", what: "class deleted while it is used", too: &broken{ask: "machineclass/small", reason: "InUse", names: []string{"Machine mill-b-y"}, objects: list(
			func() client.Object {
				c := class.DeepCopy()
				c.DeletionTimestamp, c.Finalizers = ptr.To(ago(time.Minute)), []string{"machine.sapcloud.io/machine-controller"}
				return c
			}(), gardenerMachine("Running", time.Hour))}},
	}
}

// checked returns the rows about health checks. One API has health checks, which select machines of either API.
func checked() []row {
	rows := map[string]string{"check-empty": "19: health check that selects nothing", "check-invalid": "20: health check with the operator Equals", "check-restricted": "22: maxUnhealthy short circuit"}
	names := map[string][]string{"check-empty": {"spec.selector"}, "check-invalid": {"Equals"}, "check-restricted": {"total: 3, unhealthy: 2", "spec.maxUnhealthy"}}
	var out []row
	for _, s := range others() {
		if number, what, ok := strings.Cut(rows[s.name], ": "); ok {
			out = append(out, row{number: number, what: what, in: &broken{ask: s.ask, reason: s.reason, names: names[s.name], objects: s.objects}})
		}
	}
	return out
}

// pools returns the rows about sets and deployments.
func pools() []row {
	held := "8 of 9 machines would go at once, 3 may (30%); annotation millwright.dev/approve-mass-deletion: 8 approves it"
	paused := rolloutO(1, 9)
	pauseO(paused)
	shuffle := list(gardenerDeployment(func(d *v1alpha1.MachineDeployment) {
		d.Spec.Strategy.Type = "Shuffle"
		d.Annotations = map[string]string{"millwright.dev/rollout-max-failures": "three"}
	}))
	return []row{
		{
			number: "23", what: "paused deployment with a change waiting",
			in:  &broken{ask: mdO, reason: "DeploymentPaused", names: []string{"1 of 10 machines is updated", "set spec.paused to false"}, objects: paused},
			too: &broken{ask: mdG, reason: "DeploymentPaused", names: []string{"1 of 10 machines is updated", "set spec.paused to false"}, objects: rollout(1, 9, gardenerDeployment(func(d *v1alpha1.MachineDeployment) { d.Spec.Paused = true }), nil)},
		},
		{
			number: "24", what: "rollout to what cannot be made", apart: "the OpenShift API has no classes, and gives the machine up",
			in: &broken{ask: mdO, reason: "Failed", names: []string{"unknown size", "template"}, objects: append(rolloutO(1, 2), func() client.Object {
				m := refusedO("spec.providerSpec.value.size: unknown size")
				m.Name, m.UID, m.OwnerReferences[0].Name, m.OwnerReferences[0].UID = "mill-2-x", "uid-2-x", "mill-2", "uid-set-mill-2"
				return m
			}())},
			too: &broken{ask: mdG, reason: "ClassUnavailable", names: []string{"create machineclass small in namespace blue"}, objects: append(rollout(1, 9, gardenerDeployment(), nil), func() client.Object {
				m := failedG("Unavailable", "spec.class.name: read machineclass small: not found")
				m.OwnerReferences[0].Name, m.OwnerReferences[0].UID = "mill-2", "uid-set-2"
				return m
			}())},
		},
		{
			number: "26", what: "two sets with one selector",
			in:  &broken{ask: setA, reason: "SelectorShared", names: []string{"mill-twin", "its own labels"}, objects: list(openshiftSet(0, 0, 0), openshiftSet(0, 0, 0, func(s *machinev1.MachineSet) { s.Name, s.UID = "mill-twin", "uid-twin" }))},
			too: &broken{ask: setB, reason: "SelectorShared", names: []string{"mill-twin", "its own labels"}, objects: list(gardenerSet(0, 0, 0), gardenerSet(0, 0, 0, func(s *v1alpha1.MachineSet) { s.Name, s.UID = "mill-twin", "uid-twin" }))},
		},
		{
			number: "28", what: "selector that does not match the template",
			in:  &broken{ask: setA, reason: "InvalidSpec", names: []string{"spec.template.metadata.labels"}, objects: list(openshiftSet(3, 0, 0, func(s *machinev1.MachineSet) { s.Spec.Template.Labels = map[string]string{"name": "other"} }))},
			too: &broken{ask: setB, reason: "InvalidSpec", names: []string{"spec.template.metadata.labels"}, objects: list(gardenerSet(3, 0, 0, func(s *v1alpha1.MachineSet) { s.Spec.Template.Labels = map[string]string{"name": "other"} }))},
		},
		{
			number: "31", what: "unknown strategy, and an annotation that cannot be read", apart: "each API names the strategies that it has",
			in:  &broken{ask: mdO, reason: "InvalidSpec", names: []string{"Shuffle", "rollout-max-failures"}, objects: shuffled()},
			too: &broken{ask: mdG, reason: "InvalidSpec", names: []string{"Shuffle", "rollout-max-failures"}, objects: shuffle},
		},
		{
			number: "32", what: "scaled down by more than was allowed at once",
			in: &broken{ask: setA, reason: "DeletionHeld", names: []string{"8 of 9 machines", "approve-mass-deletion"}, objects: list(openshiftSet(1, 9, 9, func(s *machinev1.MachineSet) {
				s.Status.Conditions = []machinev1.Condition{{Type: "DeletionHeld", Status: "True", Reason: "MassDeletion", Message: held, LastTransitionTime: ago(time.Hour)}}
			}))},
			too: &broken{ask: setB, reason: "DeletionHeld", names: []string{"8 of 9 machines", "approve-mass-deletion"}, objects: list(gardenerSet(1, 9, 9, func(s *v1alpha1.MachineSet) {
				s.Status.Conditions = []v1alpha1.MachineSetCondition{{Type: v1alpha1.MachineSetReplicaFailure, Status: "True", Reason: "DeletionHeld", Message: held, LastTransitionTime: ago(time.Hour)}}
			}))},
		},
	}
}

// sameNames replaces the names that differ between the APIs.
var sameNames = strings.NewReplacer("mill-a-x", "MACHINE", "mill-b-y", "MACHINE", "mill-a", "SET", "mill-b", "SET", " (limit 20m)", "",
	"machine.openshift.io", "API", "machine.sapcloud.io", "API")

// TestRows: the answer about each fault is as expected, and both APIs use the same words for the same fault. Rows 21
// and 29 are missing, because the API server refuses these objects.
func TestRows(t *testing.T) {
	var page strings.Builder
	all, ran := slices.Concat(made(), lost(t), leaving(), checked(), pools()), 0
	for _, r := range all {
		t.Run(r.number+" "+r.what, func(t *testing.T) { ran++; r.check(t, &page) })
	}
	if ran == len(all) {
		golden(t, "rows.md", []byte(page.String()))
	}
}

// check compares the answers about a row with the expected ones, and appends the answers to page.
func (r row) check(t *testing.T, page *strings.Builder) {
	t.Helper()
	fmt.Fprintf(page, "## %s: %s\n", r.number, r.what)
	if r.apart != "" {
		fmt.Fprintf(page, "Not the same, because %s.\n", r.apart)
	}
	var answers []string
	for _, b := range []*broken{r.in, r.too} {
		if b == nil {
			continue
		}
		a := b.answer(t)
		text := a.Text(now)
		fmt.Fprintf(page, "\n%s\n", text)
		b.holds(t, a)
		if a.State == explain.Healthy && r.number != "27" {
			t.Errorf("%s: the state is Healthy:\n%s", b.ask, text)
		}
		answers = append(answers, sameNames.Replace(fmt.Sprintln(a.State, a.Reason, a.Sentence, a.Next)))
	}
	if same := len(answers) < 2 || answers[0] == answers[1]; same != (r.apart == "") {
		t.Errorf("the answers are equal: %v; apart says %q:\n%s", same, r.apart, strings.Join(answers, "\n"))
	}
}

// holds checks the reason and the words of an answer.
func (b *broken) holds(t *testing.T, a explain.Answer) {
	t.Helper()
	text := a.Text(now)
	if a.Reason != b.reason {
		t.Errorf("%s: reason %s (%s), want %s:\n%s", b.ask, a.Reason, a.State, b.reason, text)
	}
	for _, name := range b.names {
		if !strings.Contains(text, name) {
			t.Errorf("%s: the answer lacks %q:\n%s", b.ask, name, text)
		}
	}
	for _, name := range b.never {
		if strings.Contains(text, name) {
			t.Errorf("%s: the answer has %q:\n%s", b.ask, name, text)
		}
	}
}

// answer returns the plugin's answer to the question of b.
func (b *broken) answer(t *testing.T) explain.Answer {
	t.Helper()
	q, err := collect.Parse(b.ask)
	if err != nil {
		t.Fatal(err)
	}
	return b.asked(t, q)
}

// asked returns the plugin's answer to another question about the same cluster.
func (b *broken) asked(t *testing.T, q collect.Question) explain.Answer {
	t.Helper()
	leases := b.leases
	if leases == nil {
		leases = atWork()
	}
	c := cluster(t, b.refuse, slices.Concat(b.objects, leases)...)
	a, err := collect.Ask(t.Context(), now, collect.Clusters{Control: c, Target: c}, q)
	if err != nil {
		t.Fatal(err)
	}
	return a
}
