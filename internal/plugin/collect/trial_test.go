package collect_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/api/openshift/machine/lenient"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/explain"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/plugin/collect"
)

// trial is a situation of the second trial by users, with its number in that trial. o is the case of
// machine.openshift.io, g of machine.sapcloud.io. A case is nil if the API does not have the situation.
type trial struct {
	number, what string
	o, g         *broken
}

// TestTrial: for each situation, the answer has the expected reason and the words that the user needs, and no
// misleading words. The answers about the machine's set and about all namespaces report the machine's problem, too.
func TestTrial(t *testing.T) {
	for _, r := range slices.Concat(trialsMade(), trialsJoining(t), trialsRunning(), trialsLeaving(), trialsGroups(), trialsControllers(), trialsClouds(), trialsKeys(), trialsUntried(t)) {
		for api, b := range map[string]*broken{"o": r.o, "g": r.g} {
			if b == nil {
				continue
			}
			t.Run(r.number+" "+r.what+"/"+api, func(t *testing.T) {
				a := b.answer(t)
				b.holds(t, a)
				if a.Kind == "Machine" && a.State != explain.Healthy && a.Reason != "Gone" {
					b.alike(t, a)
				}
			})
		}
	}
}

// TestTrialIsWhole: the tests have each situation of the trial, except the situations in without.
func TestTrialIsWhole(t *testing.T) {
	without := map[string]string{"44": "refused by the API server", "51": "the simulator answers differently from the cloud"}
	seen := map[string]bool{}
	for _, r := range slices.Concat(trialsMade(), trialsJoining(t), trialsRunning(), trialsLeaving(), trialsGroups(), trialsControllers(), trialsClouds(), trialsKeys()) {
		for _, n := range strings.Fields(r.number) {
			seen[n] = true
		}
	}
	for n := 1; n <= 56; n++ {
		if number := strconv.Itoa(n); !seen[number] && without[number] == "" {
			t.Errorf("no test has situation %d of the trial", n)
		}
	}
}

// alike asks about the set of the machine, and about all namespaces. Both answers must have the sentence and the
// first cause of a.
func (b *broken) alike(t *testing.T, a explain.Answer) {
	t.Helper()
	with := *b
	set := setA
	if a.API == "machine.sapcloud.io" {
		set = setB
	}
	if !slices.ContainsFunc(b.objects, func(o client.Object) bool { return o.GetUID() == "uid-set-o" || o.GetUID() == "uid-set-g" }) {
		if a.API == "machine.sapcloud.io" {
			with.objects = append(slices.Clone(b.objects), gardenerSet(1, 1, 0))
		} else {
			with.objects = append(slices.Clone(b.objects), openshiftSet(1, 1, 0))
		}
	}
	q, err := collect.Parse(set)
	if err != nil {
		t.Fatal(err)
	}
	ofSet := with.asked(t, q)
	ofAll := with.asked(t, collect.Question{Kind: "Namespace", Name: "west", Everywhere: true})
	for _, other := range []explain.Answer{ofSet, ofAll} {
		text := other.Text(now)
		for _, want := range []string{strings.TrimSuffix(a.Sentence, "."), firstCause(a)} {
			if !strings.Contains(text, want) {
				t.Errorf("the answer about the machine:\n%s\nthe answer about %s lacks %q:\n%s", a.Text(now), other.Subject, want, text)
			}
		}
	}
}

func firstCause(a explain.Answer) string {
	if len(a.Because) == 0 {
		return ""
	}
	return strings.TrimRight(a.Because[0].Message, ". ")
}

func trialsMade() []trial {
	withUserData := func(names ...string) *v1alpha1.MachineClass {
		c := class.DeepCopy()
		c.SecretRef = &corev1.SecretReference{Namespace: ns, Name: names[0]}
		return c
	}
	return []trial{
		{
			"1 2", "field typo", &broken{ask: machineX, reason: "Failed", names: []string{"numCors", "template of MachineSet mill-a", "delete the machine"}, objects: list(refusedO(`spec.providerSpec.value.numCors: unknown field "numCors"`))},
			&broken{ask: machineY, reason: "InvalidConfiguration", names: []string{"numCors", "correct the named field of machineclass small"}, objects: list(class, failedG("InvalidArgument", `machineclass small: providerSpec.numCors: unknown field "numCors"`))},
		},
		{"3", "wrong kind of spec", &broken{ask: machineX, reason: "Failed", names: []string{"AWSMachineProviderConfig", "template"}, objects: list(refusedO(`spec.providerSpec.value.kind: "AWSMachineProviderConfig" is not "KubemarkMachineProviderConfig"`))}, nil},
		{
			"4 5", "secret missing", &broken{ask: machineX, reason: "SecretMissing", names: []string{"create secret blue/nope"}, objects: list(uncreatedO("Unknown", "ErrorCheckingProvider", `Failed to check if machine exists: spec.providerSpec.value.credentialsSecret.name: read secret blue/nope: secrets "nope" not found`, `{"credentialsSecret":{"name":"nope"}}`))},
			&broken{ask: machineY, reason: "SecretMissing", names: []string{"create secret blue/nope"}, never: []string{"attempt"}, objects: list(withSecret("nope"), failedG("Unavailable", "machineclass small: secretRef: no secret with the key userData; secret blue/nope does not exist"))},
		},
		{
			"6 7", "secret without the key", &broken{ask: machineX, reason: "CreateFailed", names: []string{"secret blue/boot has no key userData", "every attempt to create one has failed"}, objects: list(secret("boot"), uncreatedO("False", "InstanceNotCreated", "Instance has not been created: spec.providerSpec.value.userDataSecret.name: secret blue/boot has no key userData", `{"userDataSecret":{"name":"boot"}}`))},
			&broken{ask: machineY, reason: "CreateFailed", names: []string{"no secret with the key userData", "the secrets that it names are blue/boot"}, objects: list(secret("boot"), withUserData("boot"), failedG("Unavailable", "machineclass small: secretRef: no secret with the key userData"))},
		},
		{
			"8 9", "secret in a wrong namespace, credentials missing", &broken{ask: machineX, reason: "SecretMissing", names: []string{"create secret blue/cloud"}, objects: list(uncreatedO("Unknown", "ErrorCheckingProvider", `Failed to check if machine exists: read secret blue/cloud: secrets "cloud" not found`, `{"credentialsSecret":{"name":"cloud"}}`))},
			&broken{ask: machineY, reason: "SecretMissing", names: []string{"create secret red/nope"}, objects: list(func() client.Object {
				c := withSecret("nope")
				c.CredentialsSecretRef.Namespace = "red"
				return c
			}(), failedG("Unavailable", "machineclass small: secret red/nope does not exist"))},
		},
		{"10", "class missing", nil, &broken{ask: machineY, reason: "ClassUnavailable", names: []string{"create machineclass small in namespace blue"}, objects: list(failedG("Unavailable", "spec.class.name: read machineclass small: not found"))}},
		{"11", "kind of the class is another", nil, &broken{ask: machineY, reason: "Running", names: []string{"AWSMachineClass", "as MachineClass"}, objects: list(class, node("True", "", "", 4*time.Hour), gardenerMachine("Running", 5*time.Hour, withNodeG, func(m *v1alpha1.Machine) { m.Spec.Class.Kind = "AWSMachineClass" }))}},
		{
			"12 13", "quota", &broken{ask: machineX, reason: "CreateFailed", names: []string{"quota of 20 CPUs", "every attempt to create one has failed", "raise the quota"}, never: []string{"attempts to make it fail"}, objects: list(uncreatedO("False", "InstanceNotCreated", "Instance has not been created: create instance: quota of 20 CPUs is used up", `{}`))},
			&broken{ask: machineY, reason: "ResourceExhausted", names: []string{"quota of 20 CPUs", "raise the quota"}, objects: list(class, failedG("ResourceExhausted", "create instance: quota of 20 CPUs is used up"))},
		},
		{
			"19", "zone with a blank", &broken{ask: machineX, reason: "Failed", names: []string{"zone", `"eu 1"`, "template"}, objects: list(openshiftMachine("Failed", time.Hour, withSpec(`{"zone":"eu 1"}`), failedO("InvalidConfiguration", "spec.providerSpec.value.zone: must match a label")))},
			&broken{ask: machineY, reason: "InvalidConfiguration", names: []string{"zone", "machineclass small"}, objects: list(class, failedG("InvalidArgument", "machineclass small: providerSpec.zone: must match a label"))},
		},
		{"56", "memory too small", &broken{ask: machineX, reason: "Failed", names: []string{"memoryMiB", "template"}, objects: list(refusedO("spec.providerSpec.value.memoryMiB: 1 is less than 64"))}, nil},
	}
}

func withSpec(spec string) func(*machinev1.Machine) {
	return func(m *machinev1.Machine) { m.Spec.ProviderSpec.Value = &runtime.RawExtension{Raw: []byte(spec)} }
}

func failedO(reason machinev1.MachineStatusError, text string) func(*machinev1.Machine) {
	return func(m *machinev1.Machine) { m.Status.ErrorReason, m.Status.ErrorMessage = &reason, &text }
}

// joiningO and joiningG return a machine that has had an instance for the time d, and has no node.
func joiningO(d time.Duration, change ...func(*machinev1.Machine)) *machinev1.Machine {
	return openshiftMachine("Provisioned", d, append(change, provisionedO, func(m *machinev1.Machine) { m.Status.LastUpdated = ptr.To(ago(d)) })...)
}

func joiningG(d time.Duration, change ...func(*v1alpha1.Machine)) *v1alpha1.Machine {
	return gardenerMachine("Pending", d, append(change, func(m *v1alpha1.Machine) {
		m.Spec.ProviderID, m.Status.CurrentStatus.LastUpdateTime = "test:///i-1", ago(d)
	})...)
}

func trialsJoining(t *testing.T) []trial {
	console := []string{"no certificate request", "console of the instance"}
	stray := named(node("True", "", "", 9*time.Hour), "mill-a-x")
	strayG := named(node("True", "", "", 9*time.Hour), "mill-b-y")
	another := named(node("True", "", "", 9*time.Hour), "mill-a-x")
	another.Spec.ProviderID = "test:///i-other"
	waits := func(uid, name, key string) []client.Object {
		return list(request(t, uid, name, 29*time.Minute, usages), token(uid, key))
	}
	taken := []string{"exists already", "delete the existing node with this name"}
	return []trial{
		{
			"14 15", "never joins, after a while", &broken{ask: machineX, reason: "AwaitingNode", names: console, objects: list(joiningO(30 * time.Minute))},
			&broken{ask: machineY, reason: "AwaitingNode", names: console, objects: list(class, joiningG(12*time.Minute))},
		},
		{
			"14", "never joins, after 150 s", &broken{ask: machineX, reason: "AwaitingNode", names: console, never: []string{"Next: wait."}, objects: list(joiningO(150 * time.Second))},
			&broken{ask: machineY, reason: "AwaitingNode", names: console, never: []string{"Next: wait."}, objects: list(class, joiningG(150*time.Second))},
		},
		{
			"55", "bootstrap token deleted before boot", &broken{ask: machineX, reason: "AwaitingNode", names: []string{"bootstrap token does not exist", "no certificate request"}, never: []string{"Next: wait."}, objects: list(joiningO(69 * time.Second))},
			&broken{ask: machineY, reason: "AwaitingNode", names: []string{"bootstrap token does not exist", "no certificate request"}, never: []string{"Next: wait."}, objects: list(class, joiningG(69*time.Second))},
		},
		{
			"34", "a node of the machine's name is there", &broken{ask: machineX, reason: "NodeExists", names: taken, never: []string{"whether an approver runs"}, objects: append(waits("uid-o", "mill-a-x", "blue/mill-a-x"), stray, joiningO(30*time.Minute))},
			&broken{ask: machineY, reason: "NodeExists", names: taken, never: []string{"whether an approver runs"}, objects: append(waits("uid-g", "mill-b-y", "blue/mill-b-y"), strayG, class, joiningG(30*time.Minute))},
		},
		{
			"34", "a node of the machine's name is there, and nothing asks", &broken{ask: machineX, reason: "NodeNameTaken", names: []string{"node mill-a-x", "delete node mill-a-x", "test:///i-other"}, objects: list(another, joiningO(30*time.Minute))},
			&broken{ask: machineY, reason: "NodeNameTaken", names: []string{"node mill-b-y", "delete node mill-b-y"}, objects: list(strayG, class, joiningG(30*time.Minute))},
		},
		{"34", "the request of such a machine", &broken{ask: "csr/csr-1", reason: "NodeExists", names: []string{"delete the existing node with this name"}, objects: append(waits("uid-o", "mill-a-x", "blue/mill-a-x"), stray, joiningO(30*time.Minute))}, nil},
	}
}

func trialsRunning() []trial {
	stopped := func(m *v1alpha1.Machine) { m.Annotations = map[string]string{dialect.StoppedAnnotation: "exited"} }
	empty := check("workers", func(c *lenient.MachineHealthCheck) {
		c.CreationTimestamp, c.Status.ExpectedMachines, c.Status.CurrentHealthy = ago(time.Hour), ptr.To[int64](0), ptr.To[int64](0)
	})
	counted := func(c *lenient.MachineHealthCheck) {
		c.CreationTimestamp, c.Status.ExpectedMachines, c.Status.CurrentHealthy = ago(time.Hour), ptr.To[int64](1), ptr.To[int64](1)
	}
	restricted := check("workers", func(c *lenient.MachineHealthCheck) {
		c.CreationTimestamp, c.Status.ExpectedMachines, c.Status.CurrentHealthy = ago(time.Hour), ptr.To[int64](3), ptr.To[int64](1)
	}, saysC("RemediationAllowed", "TooManyUnhealthy", "Remediation is not allowed, the number of not started or unhealthy machines exceeds maxUnhealthy (total: 3, unhealthy: 2, maxUnhealthy: 0)"))
	starting := check("workers", func(c *lenient.MachineHealthCheck) {
		c.CreationTimestamp, c.Status.ExpectedMachines, c.Status.CurrentHealthy = ago(time.Hour), ptr.To[int64](2), ptr.To[int64](0)
	}, saysC("RemediationAllowed", "TooManyUnhealthy", "Remediation is not allowed, the number of not started or unhealthy machines exceeds maxUnhealthy (total: 2, unhealthy: 2, maxUnhealthy: 1)"))
	starting.Status.Conditions[len(starting.Status.Conditions)-1].Severity = machinev1.ConditionSeverityInfo
	running := openshiftMachine("Running", 5*time.Hour, withNodeO)
	return []trial{
		{"23", "health check that selects nothing", &broken{ask: "mhc/workers", reason: "NoMachines", names: []string{"spec.selector", "--show-labels"}, objects: list(empty)}, nil},
		{"24", "health checks that overlap", &broken{ask: "mhc/workers", reason: "SharedMachines", names: []string{"pool"}, objects: list(check("workers", counted), check("pool", counted), running, node("True", "", "", 4*time.Hour))}, nil},
		{"25", "short circuit", &broken{ask: "mhc/workers", reason: "TooManyUnhealthy", names: []string{"total: 3, unhealthy: 2", "spec.maxUnhealthy"}, objects: list(restricted)}, nil},
		{"besides", "short circuit while machines only start", &broken{ask: "mhc/workers", reason: "MachinesStart", names: []string{"remediates nothing while machines start", "Next: wait"}, objects: list(starting)}, nil},
		{
			"31 53", "instance killed or stopped", &broken{ask: machineX, reason: "InstanceStopped", names: []string{"exited"}, objects: list(openshiftMachine("Running", 5*time.Hour, withNodeO, stoppedO), silent)},
			&broken{ask: machineY, reason: "InstanceStopped", names: []string{"exited"}, objects: list(class, gardenerMachine("Unknown", 8*time.Minute, withNodeG, stopped), silent)},
		},
		{
			"32", "kubelet wedged", &broken{ask: machineX, reason: "NodeUnhealthy", names: []string{"Kubelet stopped posting node status", "kubectl describe node n-1"}, objects: list(openshiftMachine("Running", 5*time.Hour, withNodeO), silent)},
			&broken{ask: machineY, reason: "NodeUnhealthy", names: []string{"Kubelet stopped posting node status", "becomes Failed"}, objects: list(class, gardenerMachine("Unknown", 8*time.Minute, withNodeG), silent)},
		},
		{
			"33", "node deleted by hand", &broken{ask: machineX, reason: "NodeMissing", names: []string{"node n-1 does not exist", "delete the machine"}, objects: list(openshiftMachine("Running", 5*time.Hour, withNodeO))},
			&broken{ask: machineY, reason: "NodeMissing", names: []string{"node n-1 does not exist", "replaced"}, objects: list(class, gardenerMachine("Running", 5*time.Hour, withNodeG))},
		},
	}
}

func trialsLeaving() []trial {
	blocked := func(b *policyv1.PodDisruptionBudget, p *corev1.Pod, o ...client.Object) []client.Object {
		return append(o, cordoned(node("True", "", "", 8*time.Hour)), p, b)
	}
	bare := pod("web-1", "n-1", "True", "")
	bare.OwnerReferences = nil
	broken0 := budget(1, 0, 0)
	broken0.Spec.MinAvailable, broken0.Spec.MaxUnavailable = nil, ptr.To(intstr.FromInt32(0))
	broken0.Status.Conditions = []metav1.Condition{{Type: policyv1.DisruptionAllowedCondition, Status: "False", Reason: policyv1.SyncFailedReason, Message: "found no controllers for pod \"web-1\"", LastTransitionTime: ago(time.Hour)}}
	never := budget(2, 2, 2)
	never.Spec.MinAvailable, never.Spec.MaxUnavailable = nil, ptr.To(intstr.FromString("0%"))
	uncounted := budget(1, 0, 0)
	uncounted.Spec.MinAvailable, uncounted.Spec.MaxUnavailable = nil, ptr.To(intstr.FromInt32(0))
	zero := []string{"allows 0 disruptions (spec.maxUnavailable is 0)", "allows no disruption even with all pods healthy"}
	goingO, goingG := openshiftMachine("Deleting", 9*time.Hour, withNodeO, deletedO(time.Hour)), gardenerMachine("Terminating", 9*time.Hour, withNodeG, deletedG(time.Hour))
	hook := openshiftMachine("Deleting", 9*time.Hour, withNodeO, deletedO(time.Hour), conditionO("Drained", "True", "", "", time.Minute), func(m *machinev1.Machine) {
		m.Spec.LifecycleHooks.PreTerminate = []machinev1.LifecycleHook{{Name: "backup", Owner: "velero"}}
	})
	foreign := func(o client.Object) client.Object { o.SetFinalizers([]string{"acme.io/asset-db"}); return o }
	held := node("Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.", time.Hour)
	held.DeletionTimestamp, held.Finalizers = ptr.To(ago(10*time.Minute)), []string{"acme.io/inventory"}
	held.Annotations = map[string]string{"machine.openshift.io/machine": "blue/mill-a-x"}
	heldG := held.DeepCopy()
	heldG.Annotations, heldG.Labels = nil, map[string]string{"node.gardener.cloud/machine-name": "mill-b-y"}
	byFinalizer := []string{"acme.io/inventory", "remove the finalizer only if this program will never run again"}
	volumes := func(o ...client.Object) []client.Object {
		return append(o, cordoned(node("True", "", "", 8*time.Hour)), attachment())
	}
	cannot, spec := []string{"cannot be computed", "found no controllers", "delete pod web/web-1 by hand"}, []string{"spec.maxUnavailable is 0%", "allows no disruption even with all pods healthy"}
	astray := []string{"of 0 pods", "Next: wait"}
	return []trial{
		{
			"26", "budget that allows none", &broken{ask: machineX, reason: "DisruptionBudget", names: []string{"3 of 3 pods are healthy", "web/web-1"}, objects: blocked(budget(3, 3, 3), pod("web-1", "n-1", "True", ""), goingO)},
			&broken{ask: machineY, reason: "DisruptionBudget", names: []string{"3 of 3 pods are healthy", "web/web-1"}, objects: blocked(budget(3, 3, 3), pod("web-1", "n-1", "True", ""), class, goingG)},
		},
		{
			"42", "budget over a bare pod that cannot be computed", &broken{ask: machineX, reason: "DisruptionBudget", names: cannot, never: astray, objects: blocked(broken0, bare, goingO)},
			&broken{ask: machineY, reason: "DisruptionBudget", names: cannot, never: astray, objects: blocked(broken0, bare, class, goingG)},
		},
		{
			"42", "budget that never allows a disruption", &broken{ask: machineX, reason: "DisruptionBudget", names: spec, never: astray, objects: blocked(never, pod("web-1", "n-1", "True", ""), goingO, pod("web-2", "n-2", "False", "CrashLoopBackOff"))},
			&broken{ask: machineY, reason: "DisruptionBudget", names: spec, never: astray, objects: blocked(never, pod("web-1", "n-1", "True", ""), class, goingG)},
		},
		{
			"42", "budget of 0 over a bare pod, which counts no pods", &broken{ask: machineX, reason: "DisruptionBudget", names: zero, never: astray, objects: blocked(uncounted, bare, goingO)},
			&broken{ask: machineY, reason: "DisruptionBudget", names: zero, never: astray, objects: blocked(uncounted, bare, class, goingG)},
		},
		{"27", "pre-terminate hook", &broken{ask: machineX, reason: "PreTerminateHookPresent", names: []string{"backup", "velero"}, objects: list(hook, node("True", "", "", 8*time.Hour))}, nil},
		{
			"28", "foreign finalizer on the machine", &broken{ask: machineX, reason: "ForeignFinalizer", names: []string{"acme.io/asset-db"}, objects: list(foreign(openshiftMachine("Deleting", 9*time.Hour, deletedO(time.Hour))))},
			&broken{ask: machineY, reason: "ForeignFinalizer", names: []string{"acme.io/asset-db"}, objects: list(class, foreign(gardenerMachine("Terminating", 9*time.Hour, deletedG(time.Hour))))},
		},
		{
			"29", "foreign finalizer on the node, the machine does not exist", &broken{ask: "node/n-1", reason: "NodeDeleting", names: byFinalizer, never: []string{"find out who created the node"}, objects: list(held)},
			&broken{ask: "node/n-1", reason: "NodeDeleting", names: byFinalizer, never: []string{"find out who created the node"}, objects: list(heldG)},
		},
		{"29", "the machine of that node", &broken{ask: machineX, reason: "Gone", names: append(byFinalizer, "node n-1"), objects: list(held)}, &broken{ask: machineY, reason: "Gone", names: append(byFinalizer, "node n-1"), objects: list(heldG)}},
		{"29", "foreign finalizer on the node, the machine waits for it", &broken{ask: "node/n-1", reason: "Deleting", names: byFinalizer[:1], objects: list(held, openshiftMachine("Deleting", 9*time.Hour, withNodeO, deletedO(time.Hour), startedO(lifecycle.DeletionNode, time.Minute)))}, nil},
		{"30", "volume that never detaches", nil, &broken{ask: machineY, reason: "VolumeStillAttached", names: []string{"pv-1", "device is busy"}, objects: volumes(class, goingG)}},
	}
}
