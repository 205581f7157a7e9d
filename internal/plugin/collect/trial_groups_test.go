package collect_test

import (
	"errors"
	"testing"
	"time"

	machinev1 "github.com/openshift/api/machine/v1beta1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/millwright-dev/millwright/api/gardener/v1alpha1"
	"github.com/millwright-dev/millwright/internal/dialect"
	"github.com/millwright-dev/millwright/internal/engine/explain"
	"github.com/millwright-dev/millwright/internal/engine/lifecycle"
	"github.com/millwright-dev/millwright/internal/plugin/collect"
)

// cannotMakeO and cannotMakeG return a set whose controller could not create machines, with the text of the error.
func cannotMakeO(text string) *machinev1.MachineSet {
	return openshiftSet(2, 1, 1, func(s *machinev1.MachineSet) {
		s.Status.Conditions = []machinev1.Condition{
			{Type: "ReplicaFailure", Status: "True", Reason: "FailedCreate", Message: text, LastTransitionTime: ago(time.Hour)},
			{Type: "Ready", Status: "False", Reason: "MachinesUnavailable", Message: "available machines: 1 of 2; existing machines: 1"},
		}
	})
}

func cannotMakeG(text string) *v1alpha1.MachineSet {
	return gardenerSet(2, 1, 1, func(s *v1alpha1.MachineSet) {
		s.Status.Conditions = []v1alpha1.MachineSetCondition{{Type: v1alpha1.MachineSetReplicaFailure, Status: "True", Reason: "FailedCreate", Message: text, LastTransitionTime: ago(time.Hour)}}
	})
}

func trialsGroups() []trial {
	const webhook = `create machine mill-a-1: Internal error occurred: failed calling webhook "guard.acme.io": connection refused`
	const denied = `create machine mill-a-1: admission webhook "guard.acme.io" denied the request: label cost-center is missing`
	const quota = `create machine mill-a-1: machines is forbidden: exceeded quota: objects, requested: count/machines=1, used: 3, limited: 3`
	twinO, twinG := func(s *machinev1.MachineSet) { s.Name, s.UID = "mill-twin", "uid-twin" }, func(s *v1alpha1.MachineSet) { s.Name, s.UID = "mill-twin", "uid-twin" }
	otherO := func(s *machinev1.MachineSet) { s.Spec.Template.Labels = map[string]string{"name": "other"} }
	otherG := func(s *v1alpha1.MachineSet) { s.Spec.Template.Labels = map[string]string{"name": "other"} }
	canary := gardenerDeployment(func(d *v1alpha1.MachineDeployment) {
		d.Annotations = map[string]string{"millwright.dev/rollout-canary": "one"}
	})
	ending := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns, DeletionTimestamp: ptr.To(ago(time.Hour)), Finalizers: []string{"kubernetes"}}}
	ending.Status.Conditions = []corev1.NamespaceCondition{{Type: corev1.NamespaceFinalizersRemaining, Status: "True", Message: "Some content in the namespace has finalizers remaining: acme.io/keep in 1 resource instances"}}
	names := []string{"has been in deletion", "acme.io/keep"}
	return []trial{
		{"22", "canary that is no number", nil, &broken{ask: mdG, reason: "InvalidSpec", names: []string{"rollout-canary", "one"}, objects: rollout(1, 9, canary, nil)}},
		{
			"37", "two sets with one selector", &broken{ask: setA, reason: "SelectorShared", names: []string{"mill-twin"}, objects: list(openshiftSet(0, 0, 0), openshiftSet(0, 0, 0, twinO))},
			&broken{ask: setB, reason: "SelectorShared", names: []string{"mill-twin"}, objects: list(gardenerSet(0, 0, 0), gardenerSet(0, 0, 0, twinG))},
		},
		{
			"38", "selector that does not match the template", &broken{ask: setA, reason: "InvalidSpec", names: []string{"spec.template.metadata.labels"}, objects: list(openshiftSet(3, 0, 0, otherO))},
			&broken{ask: setB, reason: "InvalidSpec", names: []string{"spec.template.metadata.labels"}, objects: list(gardenerSet(3, 0, 0, otherG))},
		},
		{
			"39", "a webhook refuses machines", &broken{ask: setA, reason: "FailedCreate", names: []string{"make sure that the service behind admission webhook guard.acme.io answers"}, never: []string{"Next: wait"}, objects: list(cannotMakeO(webhook))},
			&broken{ask: setB, reason: "FailedCreate", names: []string{"make sure that the service behind admission webhook guard.acme.io answers"}, objects: list(cannotMakeG(webhook))},
		},
		{
			"40", "a quota refuses machines", &broken{ask: setA, reason: "FailedCreate", names: []string{"exceeded quota", "raise resource quota objects of namespace blue"}, never: []string{"Next: wait"}, objects: list(cannotMakeO(quota))},
			&broken{ask: setB, reason: "FailedCreate", names: []string{"exceeded quota", "raise resource quota objects of namespace blue"}, objects: list(cannotMakeG(quota))},
		},
		{
			"39", "a webhook denies machines", &broken{ask: setA, reason: "FailedCreate", names: []string{"change the value that admission webhook guard.acme.io refuses"}, objects: list(cannotMakeO(denied))},
			&broken{ask: setB, reason: "FailedCreate", names: []string{"change the value that admission webhook guard.acme.io refuses"}, objects: list(cannotMakeG(denied))},
		},
		{
			"39", "the API server refuses machines for another reason", &broken{ask: setA, reason: "FailedCreate", names: []string{"fix the named cause"}, objects: list(cannotMakeO("create machine mill-a-1: etcdserver: no space"))},
			&broken{ask: setB, reason: "FailedCreate", names: []string{"fix the named cause"}, objects: list(cannotMakeG("create machine mill-a-1: etcdserver: no space"))},
		},
		{
			"39", "a webhook denies the machines of a rollout", nil, &broken{ask: mdG, reason: "FailedCreate", names: []string{"cannot create or delete the machines of its rollout: 1 of 10 machines is updated", "guard.acme.io"}, objects: func() []client.Object {
				o := rollout(1, 9, gardenerDeployment(), nil)
				o[1].(*v1alpha1.MachineSet).Status.Conditions = cannotMakeG(denied).Status.Conditions
				return o
			}()},
		},
		{"40", "a quota refuses machines, as an event of the original reports", &broken{ask: setA, reason: "ReconcileError", names: []string{"exceeded quota"}, never: []string{"Next: wait"}, objects: list(openshiftSet(2, 1, 1), told("uid-set-o", "ReconcileError", quota, 2*time.Minute))}, nil},
		{"41", "rollout to a missing class", nil, &broken{ask: mdG, reason: "ClassUnavailable", names: []string{"is being rolled: 2 of 10 machines are updated", "create machineclass small in namespace blue"}, objects: append(rollout(1, 9, gardenerDeployment(), nil), func() client.Object {
			m := failedG("Unavailable", "spec.class.name: read machineclass small: not found")
			m.OwnerReferences[0].Name, m.OwnerReferences[0].UID = "mill-2", "uid-set-2"
			return m
		}())}},
		{"43", "namespace in deletion, held by another's object", &broken{ask: "ns/blue", reason: "NamespaceDeleting", names: names, never: []string{"list the machines of all namespaces"}, objects: list(ending)}, nil},
		{"43", "namespace in deletion, with a set", &broken{ask: "ns/blue", reason: "NamespaceDeleting", names: append(names, "MachineSet blue/mill-a"), objects: list(ending, openshiftSet(2, 0, 0))}, nil},
	}
}

func trialsControllers() []trial {
	strangers := list(lease("cluster-api-provider-machineset-leader", "stranger_42", time.Second), lease("machine-controller-manager", "stranger_42", time.Second),
		lease("cluster-api-provider-test-leader", "pod-1", time.Second), lease("machine-controller", "pod-1", time.Second))
	unseenO := openshiftSet(3, 0, 0, func(s *machinev1.MachineSet) { s.Generation = 2 })
	unseenG := gardenerSet(3, 0, 0, func(s *v1alpha1.MachineSet) { s.Generation = 2 })
	wellO := list(openshiftMachine("Running", 5*time.Hour, withNodeO), node("True", "", "", 4*time.Hour), openshiftSet(1, 1, 1))
	wellG := list(class, gardenerMachine("Running", 5*time.Hour, withNodeG), node("True", "", "", 4*time.Hour), gardenerSet(1, 1, 1))
	headline := []string{"is not in order: the machine controller is not running", "lease kube-system/"}
	none := []string{"no machine controller is running"}
	return []trial{
		{
			"35", "machine controller wedged", &broken{ask: machineX, reason: "ControllerNotRunning", names: none, leases: dead(), objects: list(openshiftMachine("Provisioning", 77*time.Second))},
			&broken{ask: machineY, reason: "ControllerNotRunning", names: none, leases: dead(), objects: list(class, gardenerMachine("", 77*time.Second))},
		},
		{
			"35", "machine controller dead, and no work for it", &broken{ask: "ns/blue", reason: "ControllerNotRunning", names: headline, leases: dead(), objects: wellO},
			&broken{ask: "ns/blue", reason: "ControllerNotRunning", names: headline, leases: dead(), objects: wellG},
		},
		{
			"36", "leases of the sets' controller held by a stranger", &broken{ask: setA, reason: "ControllerNotRunning", names: []string{"stranger_42"}, leases: strangers, objects: list(unseenO)},
			&broken{ask: setB, reason: "ControllerNotRunning", names: []string{"stranger_42"}, leases: strangers, objects: list(unseenG)},
		},
		{
			"36", "leases held by a stranger, and no work for the controller", &broken{ask: "ns/blue", reason: "ControllerNotRunning", names: []string{"is not in order: the machine-controller-manager", "stranger_42"}, leases: strangers, objects: wellO},
			&broken{ask: "ns/blue", reason: "ControllerNotRunning", names: []string{"is not in order: the machine-controller-manager", "stranger_42"}, leases: strangers, objects: wellG},
		},
		{
			"36", "a leader that does not act", &broken{ask: setA, reason: "NotSeen", names: []string{"it is held by pod-2"}, objects: list(unseenO)},
			&broken{ask: setB, reason: "NotSeen", names: []string{"it is held by pod-2"}, objects: list(unseenG)},
		},
		{
			"36", "a leader that does not act, in the namespace", &broken{ask: "ns/blue", reason: "ControllerNotRunning", names: []string{"holds its lease, but has not acted on 1 object", "it is held by pod-2"}, objects: list(unseenO)},
			&broken{ask: "ns/blue", reason: "ControllerNotRunning", names: []string{"holds its lease, but has not acted on 1 object", "it is held by pod-2"}, objects: list(unseenG)},
		},
		{"36", "a failed machine, whose set has no controller", nil, &broken{
			ask: machineY, reason: "ControllerNotRunning", names: []string{"stranger_42"}, never: []string{"Next: wait"}, leases: strangers,
			objects: list(class, gardenerMachine("Failed", time.Hour, operationG("Create", "Failed", "ResourceExhausted", "machine codes error: code = [ResourceExhausted] message = [no room]"))),
		}},
	}
}

// trialsClouds returns trials with error messages of clouds.
func trialsClouds() []trial {
	given := func(code, text string) *v1alpha1.Machine {
		m := failedG(code, text)
		m.Spec.ProviderID, m.Annotations = "test:///i-1", map[string]string{dialect.StoppedAnnotation: "terminated"}
		return m
	}
	failed := func(reason machinev1.MachineStatusError, text string, change ...func(*machinev1.Machine)) *machinev1.Machine {
		return openshiftMachine("Failed", time.Hour, append(change, failedO(reason, text))...)
	}
	const denial = "the infrastructure accepted the instance, and it failed: Client.InvalidKMSKey.InvalidState: AccessDenied to the key of the volume"
	const room = "the infrastructure accepted the instance, and it failed: Server.InsufficientInstanceCapacity: no room in zone a"
	aws := withSpec(`{"subnet":{"filters":[{"name":"tag:Name","values":["blue-private"]}]},"placement":{"region":"us-east-1","availabilityZone":"us-east-1aa"}}`)
	noSubnet := failed(machinev1.InvalidConfigurationMachineError, "spec.providerSpec.value.subnet: no subnet passes the filters", aws)
	tags := []string{"identifying tags of the instance"}
	return []trial{
		{
			"16", "accepted, then denied", &broken{ask: machineX, reason: "Failed", names: []string{"AccessDenied", "grant them the named permission"}, objects: list(failed(machinev1.CreateMachineError, denial))},
			&broken{ask: machineY, reason: "InstanceGivenUp", names: []string{"AccessDenied", "grant them the named permission"}, never: []string{"start the instance"}, objects: list(class, given("PermissionDenied", denial))},
		},
		{
			"17", "accepted, then exhausted", &broken{ask: machineX, reason: "Failed", names: []string{"no room in zone a", "raise the quota"}, objects: list(failed(machinev1.InsufficientResourcesMachineError, room))},
			&broken{ask: machineY, reason: "InstanceGivenUp", names: []string{"no room in zone a", "raise the quota"}, never: []string{"start the instance"}, objects: list(class, given("ResourceExhausted", room))},
		},
		{
			"18", "accepted, then invalid", &broken{ask: machineX, reason: "Failed", names: []string{"snapshot", "template"}, objects: list(failed(machinev1.InvalidConfigurationMachineError, "the infrastructure accepted the instance, and it failed: snapshot snap-1 is too big"))},
			&broken{ask: machineY, reason: "InstanceGivenUp", names: []string{"snapshot", "machineclass small"}, never: []string{"start the instance"}, objects: list(class, given("InvalidArgument", "the infrastructure accepted the instance, and it failed: snapshot snap-1 is too big"))},
		},
		{
			"46", "image missing", &broken{ask: machineX, reason: "Failed", names: []string{"ami-0", "template"}, objects: list(failed(machinev1.InvalidConfigurationMachineError, "spec.providerSpec.value.ami: InvalidAMIID.NotFound: The image id '[ami-0]' does not exist"))},
			&broken{ask: machineY, reason: "InvalidConfiguration", names: []string{"ami-0"}, objects: list(class, failedG("InvalidArgument", "providerSpec.ami: InvalidAMIID.NotFound: The image id '[ami-0]' does not exist"))},
		},
		{
			"47", "instance type with a typo", &broken{ask: machineX, reason: "Failed", names: []string{"m5.lagre", "template"}, objects: list(failed(machinev1.InvalidConfigurationMachineError, "spec.providerSpec.value.instanceType: InvalidParameterValue: m5.lagre"))},
			&broken{ask: machineY, reason: "InvalidConfiguration", names: []string{"m5.lagre"}, objects: list(class, failedG("InvalidArgument", "providerSpec.machineType: InvalidParameterValue: m5.lagre"))},
		},
		{
			"48", "subnet missing", &broken{ask: machineX, reason: "Failed", names: []string{"no subnet passes the filters", "blue-private"}, objects: list(noSubnet)},
			&broken{ask: machineY, reason: "InvalidConfiguration", names: []string{"subnet-9"}, objects: list(class, failedG("InvalidArgument", "providerSpec.networkInterfaces(0).subnetID: InvalidSubnetID.NotFound: subnet-9"))},
		},
		{"49", "zone with a typo", &broken{ask: machineX, reason: "Failed", names: []string{"us-east-1aa", "blue-private"}, objects: list(noSubnet)}, nil},
		{
			"50", "wrong keys", &broken{ask: machineX, reason: "LookupFailed", names: []string{"AuthFailure", "secret blue/cloud"}, objects: list(secret("cloud"),
				uncreatedO("Unknown", "ErrorCheckingProvider", "Failed to check if machine exists: AuthFailure: AWS was not able to validate the provided access credentials", `{"credentialsSecret":{"name":"cloud"}}`))},
			&broken{ask: machineY, reason: "PermissionDenied", names: []string{"AuthFailure", "secret blue/cloud"}, objects: list(secret("cloud"), withSecret("cloud"), failedG("PermissionDenied", "AuthFailure: AWS was not able to validate the provided access credentials"))},
		},
		{
			"52", "instance terminated by hand", &broken{ask: machineX, reason: "Failed", names: []string{"its instance does not exist any more", "who terminated the instance"}, never: []string{"fix the cause"}, objects: list(failed(machinev1.UpdateMachineError, "can't find created instance"))},
			&broken{ask: machineY, reason: "InstanceStopped", names: []string{"terminated"}, objects: list(class, silent, gardenerMachine("Unknown", 8*time.Minute, withNodeG, func(m *v1alpha1.Machine) { m.Annotations = map[string]string{dialect.StoppedAnnotation: "terminated"} }))},
		},
		{"54", "tag of the cluster removed", &broken{ask: machineX, reason: "InstanceContradicted", names: tags, objects: list(node("True", "", "", 8*time.Hour), openshiftMachine("Running", 9*time.Hour, withNodeO, conditionO("InstanceExists", "Unknown", string(lifecycle.ReasonContradicted), "the infrastructure lists no instance, but node n-1 is Ready", time.Hour)))}, nil},
	}
}

// trialsKeys returns trials with Millwright annotations: guards, invalid values and unknown keys.
func trialsKeys() []trial {
	withO := func(key, value string) []client.Object {
		return list(openshiftSet(0, 0, 0, func(s *machinev1.MachineSet) { s.Annotations = map[string]string{key: value} }))
	}
	withG := func(key, value string) []client.Object {
		return list(gardenerSet(0, 0, 0, func(s *v1alpha1.MachineSet) { s.Annotations = map[string]string{key: value} }))
	}
	share := []string{"millwright.dev/max-deletion-share", `"30"`, "20%"}
	typo := []string{"millwright.dev/max-deletion-shares", "did you mean millwright.dev/max-deletion-share?"}
	deployment := rollout(1, 0, gardenerDeployment(func(d *v1alpha1.MachineDeployment) {
		d.Spec.Replicas, d.Status.Replicas, d.Status.ReadyReplicas, d.Status.AvailableReplicas = 1, 1, 1, 1
		d.Annotations = map[string]string{"millwright.dev/rollout-cannary": "1"}
	}), nil)
	growO := func(s *machinev1.MachineSet) {
		s.Annotations = map[string]string{"millwright.dev/max-creation-share": "50%"}
	}
	growG := func(s *v1alpha1.MachineSet) {
		s.Annotations = map[string]string{"millwright.dev/max-creation-share": "50%"}
	}
	grow := []string{"999999 machines would be added to 1", "approve-mass-creation"}
	joinedO := list(openshiftMachine("Running", 5*time.Hour, withNodeO), node("True", "", "", 4*time.Hour))
	joinedG := list(class, gardenerMachine("Running", 5*time.Hour, withNodeG), node("True", "", "", 4*time.Hour))
	return []trial{
		{
			"45", "a million replicas under the guard of growth", &broken{ask: setA, reason: "CreationHeld", names: grow, objects: append(joinedO, openshiftSet(1_000_000, 1, 1, growO))},
			&broken{ask: setB, reason: "CreationHeld", names: grow, objects: append(joinedG, gardenerSet(1_000_000, 1, 1, growG))},
		},
		{
			"20", "an invalid share", &broken{ask: setA, reason: "UnreadableAnnotation", names: share, objects: withO("millwright.dev/max-deletion-share", "30")},
			&broken{ask: setB, reason: "UnreadableAnnotation", names: share, objects: withG("millwright.dev/max-deletion-share", "30")},
		},
		{
			"21", "a key that does not exist", &broken{ask: setA, reason: "UnknownAnnotation", names: typo, objects: withO("millwright.dev/max-deletion-shares", "30%")},
			&broken{ask: setB, reason: "UnknownAnnotation", names: typo, objects: withG("millwright.dev/max-deletion-shares", "30%")},
		},
		{"21", "a canary that does not exist", nil, &broken{ask: mdG, reason: "UnknownAnnotation", names: []string{"its annotation millwright.dev/rollout-cannary is unknown", "did you mean millwright.dev/rollout-canary?"}, objects: deployment}},
	}
}

// trialsUntried returns situations that the report of the trial lists as not tried.
func trialsUntried(t *testing.T) []trial {
	t.Helper()
	denied := request(t, "uid-o", "n-1", 10*time.Minute, usages)
	denied.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateDenied, Status: corev1.ConditionTrue, Reason: "KubectlDeny", Message: "This CSR was denied by kubectl certificate deny."}}
	deniedG := request(t, "uid-g", "n-1", 10*time.Minute, usages)
	deniedG.Status = denied.Status
	addressed := func(m *machinev1.Machine) {
		m.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalDNS, Address: "ip-10-0-0-1"}}
	}
	renamed := request(t, "uid-o", "my-own-name", 10*time.Minute, usages)
	noKinds := func(what string) error {
		if what == "*v1.NamespaceList" || what == "*v1.Namespace" {
			return nil
		}
		return &meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: what}}
	}
	down := func(what string) error {
		if what == "*v1.NodeList" || what == "*v1.Node" || what == "*v1.CertificateSigningRequestList" {
			return errors.New(`Get "https://api.example.com:6443/api/v1/nodes": connect: connection refused`)
		}
		return nil
	}
	return []trial{
		{
			"besides", "certificate request denied by hand", &broken{ask: machineX, reason: "CertificateDenied", names: []string{"KubectlDeny", "csr-1"}, objects: list(denied, joiningO(12*time.Minute))},
			&broken{ask: machineY, reason: "CertificateDenied", names: []string{"KubectlDeny", "csr-1"}, objects: list(deniedG, class, joiningG(12*time.Minute))},
		},
		{"besides", "kubelet under another name", &broken{ask: machineX, reason: "NoMachine", names: []string{"my-own-name", "check the name with which the kubelet registers"}, objects: list(renamed, token("uid-o", "blue/mill-a-x"), joiningO(12*time.Minute, addressed))}, nil},
		{"besides", "CRDs missing", &broken{ask: "ns/blue", reason: "NoKinds", names: []string{"install the CRDs"}, never: []string{"kubectl get machines"}, refuse: noKinds}, nil},
		{
			"besides", "API server of the machines' cluster down", &broken{ask: machineX, reason: "NodeLookupFailed", names: []string{"connection refused", "its node cannot be read"}, refuse: down, objects: list(openshiftMachine("Running", 5*time.Hour, withNodeO))},
			&broken{ask: machineY, reason: "NodeLookupFailed", names: []string{"connection refused", "its node cannot be read"}, refuse: down, objects: list(class, gardenerMachine("Running", 5*time.Hour, withNodeG))},
		},
		{
			"besides", "role of the machine controller missing", &broken{ask: machineX, reason: "NotSeen", names: []string{"it is held by pod-1", "no controller has acted on it"}, objects: list(openshiftMachine("", 5*time.Minute, func(m *machinev1.Machine) { m.Finalizers = nil }))},
			&broken{ask: machineY, reason: "NotSeen", names: []string{"it is held by pod-1", "no controller has acted on it"}, objects: list(class, gardenerMachine("", 5*time.Minute, func(m *v1alpha1.Machine) { m.Finalizers = nil }))},
		},
	}
}

// TestHeadlineFirst: the answer reports a controller that does not run before the problems of objects.
func TestHeadlineFirst(t *testing.T) {
	b := &broken{leases: dead(), objects: list(refusedO("no"), openshiftSet(1, 1, 0))}
	a := b.asked(t, collect.Question{Kind: "Namespace", Name: "west", Everywhere: true})
	if a.State != explain.Failed || a.Reason != explain.ReasonUnattended || len(a.Because) < 3 || a.Because[0].Reason != explain.ReasonUnattended {
		t.Error(a.Text(now))
	}
}
